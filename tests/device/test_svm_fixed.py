# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""The fixed-point state decides like the float32 state, on integers and on scaled fractions."""

from array import array

from acclimate.svm import SVM

X = [[(i * 37) % 50, (i * 11) % 30, i % 7] for i in range(40)]
Y = [1 if 2 * r[0] + r[1] + r[2] > 60 else 0 for r in X]
Y3 = [0 if r[0] < 15 else 1 if r[0] + r[1] < 45 else 2 for r in X]
OPTIONS = (
    dict(kernel="linear", C=1.0),
    dict(kernel="rbf", C=2.0, gamma=0.004),
    dict(kernel="poly", C=1.0, gamma=0.001, degree=2, coef0=1.0),
)


def both(options, X, y):
    a = SVM(state="float", **options).fit(X, y)
    b = SVM(state="fixed", **options).fit(X, y)
    return a, b


def test_two_classes_agree():  # case: H2, K9
    for options in OPTIONS:
        a, b = both(options, X, Y)
        assert a.converged and b.converged, (a, b)
        assert [a.predict(r) for r in X] == [b.predict(r) for r in X]
        assert max([abs(a.decision(r) - b.decision(r)) for r in X]) < 0.1


def test_three_classes_agree():
    for options in OPTIONS:
        a, b = both(options, X, Y3)
        same = sum([a.predict(r) == b.predict(r) for r in X])
        assert same >= 39, (options, same)


def test_fractions_are_scaled_to_int16():
    rows = [[v / 8 for v in r] for r in X]
    for options in OPTIONS:
        options = dict(options)
        if "gamma" in options:
            options["gamma"] *= 64
        else:
            options["C"] *= 64
        a, b = both(options, rows, Y)
        assert [a.predict(r) for r in rows] == [b.predict(r) for r in rows]
        assert max([abs(a.decision(r) - b.decision(r)) for r in rows]) < 0.1


def test_fixed_model_survives_its_file():
    import os

    for options in OPTIONS:
        m = SVM(state="fixed", **options).fit(X, Y3)
        m.save("svm_fixed_test.bin")
        other = SVM.load("svm_fixed_test.bin")
        for r in X:
            assert list(m.decision(r)) == list(other.decision(r))
    os.remove("svm_fixed_test.bin")


def test_rows_of_floats_are_read_as_numbers_by_a_store_of_whole_numbers():
    for storage, offset in (("uint8", 0), ("int8", -20), ("int16", 300)):
        rows = [[v + offset for v in r] for r in X]
        m = SVM(state="fixed", storage=storage).fit(rows, Y)
        labels = bytearray(len(X))
        flat = array("f", [v for r in rows for v in r])
        assert list(m.predict_many(flat, labels)) == [m.predict(r) for r in rows]
        for r in rows:
            assert m.predict(array("f", r)) == m.predict(r)
            assert m.decision(array("f", r)) == m.decision(r)
        for bad in (0.5, 1e6, float("nan")):
            try:
                m.predict(array("f", [offset, offset, bad]))
            except ValueError as error:
                assert "row: expected" in str(error)
            else:
                raise AssertionError("a store of " + storage + " holds no " + str(bad))


def test_a_pair_of_classes_answers_rows_of_a_larger_third_one():
    X = [[200 + 9 * (i % 4), 90 * (i // 4)] for i in range(12)]
    X += [[500 + i, 400 + i % 2] for i in range(6)]
    y = bytes([i > 5 for i in range(12)] + [2] * 6)
    for degree, near in ((2, 0.01), (3, 0.01)):
        options = {"degree": degree, "gamma": 1e-5, "coef0": 1.0, "C": 10}
        right = SVM("poly", state="float", **options).fit(X, y)
        found = SVM("poly", state="fixed", **options).fit(X, y)
        for row in X[12:]:
            a, b = right.decision(row)[0], found.decision(row)[0]
            assert abs(a - b) < near * abs(a), (degree, row, a, b)
