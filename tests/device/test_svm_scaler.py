# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Features of very different ranges: a warning, and a scaler that works with integers."""

from acclimate.svm import SVM

# Raw counts of three sensors; the class is in the narrow one.
X = [[i * 1371 % 60000, 3 + (i & 1), 1000 + i * 37 % 300] for i in range(24)]
Y = [i & 1 for i in range(24)]


def test_wide_ranges_give_a_warning_that_says_what_to_do():  # case: I3
    m = SVM(max_iter=50).fit(X, Y)
    assert "feature 0" in m.warning and "scale=True" in m.warning
    assert SVM().fit([[0, 5], [50, 0]], [0, 1]).warning is None


def test_scaled_raw_counts_are_learned():  # case: I10
    for kernel in ("linear", "rbf"):
        m = SVM(kernel=kernel, C=10.0, gamma=0.3, scale=True).fit(X, Y)
        assert m.warning is None
        assert m.evaluate(X, Y) == 1.0


def test_integers_are_scaled_with_integers():
    m = SVM(scale=True).fit(X, Y)
    low = list(m.scaler.row(X[4]))
    high = list(m.scaler.row(X[5]))
    for v in low + high:
        assert isinstance(v, int)
    assert abs(high[1] - low[1] - 256) <= 2  # two deviations apart
    m.scaler.row([10**6, 3, 1000])
    assert m.scaler.saturated == 1


def test_fractions_are_scaled_in_float32():
    rows = [[v[0] / 7, v[1] / 3, v[2] / 9] for v in X]
    m = SVM(kernel="rbf", C=10.0, gamma=0.3, scale=True).fit(rows, Y)
    assert m.evaluate(rows, Y) == 1.0
    assert m.scaler.code == "f"


def test_constant_feature_is_harmless():
    m = SVM(scale=True).fit([[7, 1000 * i] for i in range(8)], [i // 4 for i in range(8)])
    assert m.predict([7, 7000]) == 1
    assert m.predict([7, 0]) == 0


def test_scaler_is_saved_with_the_model():
    import os

    for rows in (X, [[v / 7 for v in r] for r in X]):
        m = SVM(kernel="rbf", C=10.0, gamma=0.3, scale=True).fit(rows, Y)
        m.save("svm_scaler_test.bin")
        other = SVM.load("svm_scaler_test.bin")
        assert [other.decision(r) for r in rows] == [m.decision(r) for r in rows]
    os.remove("svm_scaler_test.bin")
