# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Small problems with known answers; the same file runs on every runtime."""

from array import array

from acclimate.svm import SVM

XOR = [[0, 0], [0, 1], [1, 0], [1, 1]]
XOR_Y = [0, 1, 1, 0]


def labels(m, X):
    return [m.predict(r) for r in X]


def test_xor_needs_a_kernel():  # case: I14
    m = SVM(kernel="poly", C=100, degree=2, coef0=1, gamma=1.0).fit(XOR, XOR_Y)
    assert labels(m, XOR) == XOR_Y
    m = SVM(kernel="rbf", C=100, gamma=1.0).fit(XOR, XOR_Y)
    assert labels(m, XOR) == XOR_Y
    assert m.n_support == 4
    assert m.converged
    m = SVM(kernel="linear", C=100).fit(XOR, XOR_Y)
    assert len(set(labels(m, XOR))) == 1


def test_contradiction_ends_with_zero_bias():  # case: I14
    m = SVM(C=1.0).fit([[0], [0], [1], [1]], [0, 1, 0, 1])
    assert m.n_support == 4
    assert abs(m.decision([0])) < 1e-3


def test_last_feature_alone_can_carry_the_class():  # case: I13
    X = [[5, 5, 5, i & 1] for i in range(12)]
    m = SVM(C=10.0).fit(X, [i & 1 for i in range(12)])
    assert labels(m, X) == [i & 1 for i in range(12)]


def test_three_classes_are_all_reached():  # case: I6
    X = [[0, 0], [1, 0], [0, 1], [9, 9], [8, 9], [0, 9], [1, 9], [1, 8], [0, 8]]
    y = [7, 7, 7, 3, 3, 200, 200, 200, 200]
    for kernel in ("linear", "rbf"):
        m = SVM(kernel=kernel, C=10.0, gamma=0.1).fit(X, y)
        assert labels(m, X) == y
        assert len(m.decision(X[0])) == 3
        assert m.evaluate(X, y) == 1.0


def test_flat_buffers_and_lists_give_the_same_model():  # case: B9
    rows = [[i, 20 - i, (i * 7) % 5] for i in range(20)]
    y = bytes([0] * 10 + [1] * 10)
    flat = [v for r in rows for v in r]
    want = None
    for X in (rows, bytearray(flat), array("b", flat), array("h", flat), array("f", flat), flat):
        m = SVM(kernel="rbf", C=1.0, gamma=0.02).fit(X, y)
        got = [round(m.decision(r) * 100) for r in rows]
        want = want or got
        assert max([abs(got[i] - want[i]) for i in range(20)]) <= 1


def test_steps_can_be_stopped_and_leave_a_usable_model():  # case: G7
    m = SVM(kernel="rbf", C=100, gamma=1.0)
    steps = m.fit_steps(XOR, XOR_Y, 1)
    while not next(steps):  # the data are looked through first
        pass
    del steps
    assert m.predict([0, 0]) in (0, 1)
    assert not m.converged
    m.fit(XOR, XOR_Y)
    before = [m.decision(r) for r in XOR]
    steps = m.fit_steps(XOR, [1, 0, 0, 1], 1)
    while not next(steps):
        pass
    assert [m.decision(r) for r in XOR] == before


def test_repr_tells_the_state():
    m = SVM(C=2)
    assert "not fitted" in repr(m)
    m.fit(XOR, [0, 0, 1, 1])
    assert "2 classes" in repr(m) and "converged" in repr(m)
    m = SVM(kernel="rbf", C=100, gamma=1.0, max_iter=1).fit(XOR, XOR_Y)
    assert "gap" in repr(m) and not m.converged and m.gap > 0


def test_kernel_values():
    assert SVM().kernel([1, 2], [3, 4]) == 11
    assert SVM(kernel="poly", gamma=1, degree=2, coef0=1).kernel([1, 2], [3, 4]) == 144
    assert abs(SVM(kernel="rbf", gamma=0.5).kernel([0, 0], [1, 1]) - 0.3678794) < 1e-6


def test_class_weight_lifts_the_small_class():  # case: I8
    X = [[i] for i in range(20)] + [[12], [13], [14]]
    y = [0] * 20 + [1] * 3
    plain = SVM(kernel="rbf", C=1.0, gamma=0.1).fit(X, y)
    fair = SVM(kernel="rbf", C=1.0, gamma=0.1, class_weight="balanced").fit(X, y)
    assert sum(labels(plain, X[20:])) < sum(labels(fair, X[20:])) == 3
