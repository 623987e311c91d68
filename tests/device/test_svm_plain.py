# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "the module there trains in pieces only"}
"""`fit`, in native code where that can, gives the same machine as `fit_steps` in pieces."""

from array import array

from acclimate.svm import SVM, plain
from acclimate.svm import model as svm_model


def data(code, classes, n=24, d=3):
    """Rows of overlapping clouds in a flat buffer, and their labels."""
    step = {"b": 1, "B": 1, "h": 3, "f": 0.25}[code]
    seed, values = 7, []
    for i in range(n * d):
        seed = (seed * 16333 + 12345) & 0xFFFF
        values.append((seed % 23 + (i // d % classes) * 12) * step)
    return array(code, values), bytes(2 * (k % classes) + 1 for k in range(n))


def numbers(m):
    """Everything that a fitted machine is made of."""
    model = m._model
    found = [model.classes, model.code, model.n_iter, model.gap, model.converged, model.n_support]
    found += [m.warning, None if model.x is None else bytes(model.x)]
    for pair in model.pairs:
        found.append(pair.bias)
        for part in (pair.rows, pair.beta, pair.par, pair.w, pair.rounded):
            found.append(None if part is None else bytes(part))
    return found


def same(X, y, **options):
    """Train both ways and compare; then once more, over the model that is there."""
    pieces, once = SVM(**options), SVM(**options)
    for _ in pieces.fit_steps(X, y):
        pass
    once.fit(X, y)
    want = numbers(pieces)
    assert numbers(once) == want, (options, numbers(once), want)
    assert once.fit(X, y) is once and numbers(once) == want
    row = X[0] if isinstance(X, list) else X[: len(X) // len(y)]
    assert once.predict(row) == pieces.predict(row)
    return once


def test_both_ways_give_the_same_numbers():
    for code in "bBhf":
        for classes in (2, 3):
            X, y = data(code, classes)
            d = len(X) // len(y)
            rows = [list(X[d * k : d * k + d]) for k in range(len(y))]
            for options in (
                {"kernel": "linear", "C": 0.5},
                {"kernel": "linear", "C": 1000, "max_iter": 400},
                {"kernel": "rbf", "gamma": 0.02},
                {"kernel": "rbf", "C": 10},
                {"kernel": "poly", "degree": 2, "gamma": 0.01, "coef0": 1.0},
            ):
                same(X, y, **options)
                same(rows, list(y), **options)


def test_what_is_out_of_the_ordinary_warns_the_same():
    X, y = data("b", 2)
    assert "max_iter" in same(X, y, max_iter=3).warning
    assert "gamma" in same(X, y, kernel="rbf", gamma=10.0).warning
    assert "class" in same(X, y, kernel="rbf", gamma=1e-6, C=1e-6, tol=1).warning
    near, _ = data("f", 2)
    assert "answers may be off" in same(near, y, kernel="rbf", gamma=1e-8, C=10).warning
    for offset in (300, 1000):  # products lose the differences between rows
        raised = array("f", [v * 0.25 + offset for v in X])
        m = same(raised, y, kernel="poly", degree=2, gamma=0.01)
        assert "answers may be off" in m.warning, m.warning
    far = array("f", [v * 0.25 + 1000 for v in X])
    same(far, y, kernel="rbf", gamma=0.1)  # moved before it is stored
    wide = [
        [v * 1000 if k == 0 else v for k, v in enumerate(X[3 * i : 3 * i + 3])] for i in range(24)
    ]
    assert "scale" in same(wide, y, max_iter=500).warning
    same(X, y, storage="float32")
    same(array("h", X), y, storage="int16")


def test_bad_data_are_refused_alike_and_the_model_stays():
    X, y = data("f", 2)
    m = SVM().fit(X, y)
    before = numbers(m)
    rows = [list(X[3 * k : 3 * k + 3]) for k in range(24)]
    for bad_x, bad_y, word in (
        (X[:-1], y, "multiple"),
        (rows[:-1], y, "labels"),
        (rows, bytes(24), "classes"),
        (rows, [0.5] * 24, "y[0]"),
        (rows, bytes([255] * 24), "y[0]"),
        ([rows[0][:2]] + rows[1:], y, "row"),
        ([[float("nan")] * 3] + rows[1:], y, "finite"),
        ([["a"] * 3] + rows[1:], y, "numbers"),
        ("text", y, "X"),
    ):
        try:
            m.fit(bad_x, bad_y)
            raise AssertionError("accepted: " + word)
        except (ValueError, TypeError) as error:
            assert word in str(error) or word == "X", (word, error)
        assert numbers(m) == before, word


def test_rows_of_the_right_type_stay_where_they_are():
    X, y = data("b", 2)
    m = SVM(kernel="rbf", gamma=0.02).fit(X, y)
    if svm_model.native is not None:
        assert m._model.x is X
    if svm_model.native is not None and plain.fitting() is not None:
        assert plain.train(SVM(), X, y)
    assert m.predict(X[:3]) == y[0]
