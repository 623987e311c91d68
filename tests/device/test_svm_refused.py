# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""What is no number, no row and no label is refused by name, whatever the machine."""

from array import array

from refusal import raised

from acclimate.svm import SVM
from acclimate.svm import kinds as _kinds  # noqa: F401  the extras of this file
from acclimate.svm import labels as _labels  # noqa: F401
from acclimate.svm import probability as _probability  # noqa: F401

X = [[i % 7, (i * 5) % 11, i // 7] for i in range(21)]
Y = [i // 11 for i in range(21)]
NAN = float("nan")


def no_rows():
    """Rows that have no length, or something else in them than numbers."""
    return ([None, 1, 2], ["1", 1, 2], [[1], 1, 2], "abc", 5, None, (v for v in (1, 2, 3)))


def test_rows_that_are_none_are_named_by_every_kind():
    for options in (
        {"kernel": "rbf", "gamma": 0.1},
        {"kernel": "rbf", "gamma": 0.1, "state": "fixed"},
        {"scale": True},
        {"kernel": "rbf", "gamma": 0.1, "kind": "one-class"},
        {"kernel": "rbf", "gamma": 0.1, "kind": "regression"},
    ):
        m = SVM(**options)
        m.fit(X, None if m.kind == "one-class" else Y)
        for call in (m.predict, m.decision):
            for row in no_rows():
                assert "row" in raised(ValueError, call, row), (options, row)


def test_a_row_beyond_the_store_is_an_anomaly_one_without_numbers_is_refused():
    m = SVM("rbf", gamma=0.1, kind="one-class").fit(X)
    assert m.predict([1000000, 1, 2]) == -1
    for row in ([NAN, 1, 2], [1, 2], [1, 2, 3, 4], [None, 1, 2]):
        assert "row" in raised(ValueError, m.predict, row)


def test_rows_to_add_that_are_none_change_nothing():
    for m in (SVM("rbf", gamma=0.1, budget=30).fit(X, Y), SVM(budget=30)):
        for row in no_rows():
            assert "row" in raised(ValueError, m.add, row, 1).lower(), row
        assert m.samples is None or bytes(m.samples.labels) == bytes(Y)
    m.add([1, 2], 0).add([8, 9], 1)
    assert m.predict([8, 8]) == 1


def test_settings_that_are_no_numbers_are_named():
    for name, value in (
        ("coef0", None),
        ("coef0", "1"),
        ("coef0", NAN),
        ("coef0", float("inf")),
        ("max_iter", 1 << 31),
        ("max_iter", 10**12),
        ("max_iter", 0),
        ("max_iter", None),
        ("tol", None),
        ("C", float("inf")),
        ("C", 3.5e38),
        ("coef0", -3.5e38),
        ("gamma", "a"),
    ):
        assert raised(ValueError, SVM, **{name: value}).startswith(name), (name, value)
    last = (2 - 2**-23) * 2.0**127  # of float32: the last that is taken
    assert SVM(C=last, coef0=-last).C == last
    for nu in (None, "a", 0, 2, NAN):
        assert "nu" in raised(ValueError, lambda nu: SVM(kind="one-class", nu=nu), nu)
    for eps in (None, "a", -1, NAN, float("inf")):
        assert "epsilon" in raised(ValueError, lambda v: SVM(kind="regression", epsilon=v), eps)
    assert SVM(max_iter=1 << 30, coef0=-2).max_iter == 1 << 30


def test_labels_beyond_32_bits_are_refused_not_cut():
    for label in (1 << 40, (1 << 40) + 1, 1 << 32):
        assert "32 bits" in raised(ValueError, SVM("rbf").fit, X, Y[:20] + [label])


def test_a_range_is_as_good_as_its_list():
    for kernel in ("linear", "rbf"):
        m = SVM(kernel, gamma=0.1).fit(range(21), Y)
        other = SVM(kernel, gamma=0.1).fit(list(range(21)), Y)
        assert [m.decision([k]) for k in range(21)] == [other.decision([k]) for k in range(21)]
        assert m.predict([3]) == 0 and m.predict([18]) == 1


def test_probabilities_need_room_for_real_numbers():
    m = SVM("rbf", gamma=0.1).fit(X, Y).calibrate(X, Y)
    for out in (bytearray(2), 5, (0, 0), bytes(2), [0], array("f", (0,))):
        assert "out" in raised(ValueError, m.predict_proba, X[0], out), out
    out = [0, 0, 7]
    assert m.predict_proba(X[0], out) is out and abs(sum(out) - 8) < 1e-6


def test_an_arena_that_is_none_is_named():
    for arena in (5, "", [1] * 4000, bytes(4000), 2.5, {}):
        text = raised(ValueError, SVM(arena=arena).fit, X, Y)
        assert text.startswith("arena: expected a bytearray, got"), text
    assert SVM(arena=bytearray(4000)).fit(X, Y).predict([2, 5, 2]) == 1
