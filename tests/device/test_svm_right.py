# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Data as sensors give them: far from 0, fractions, wide ranges; and warnings before use."""

import os
from array import array

from acclimate.svm import SVM

CORNERS = ((0, 0), (0, 8), (8, 0), (8, 8), (1, 1), (1, 7), (7, 1), (7, 7))
XOR = bytes((0, 1, 1, 0, 0, 1, 1, 0))
RAMP = [[i / 4, (i * 7 % 5) / 4] for i in range(12)]
HALVES = bytes(i > 5 for i in range(12))


def moved(rows, offset):
    return [[v + offset for v in row] for row in rows]


def check(state, offset, rows, y, **options):
    X = moved(rows, offset)
    m = SVM(state=state, **options).fit(X, y)
    assert m.converged and m.warning is None, (state, offset, m, m.warning)
    assert [m.predict(row) for row in X] == list(y), (state, offset, m)
    return m


def test_rows_far_from_zero_are_answered_right_whatever_the_offset():
    for state in ("float", "fixed"):
        for offset in (0, 1000, -10000, 30000, 100000):
            check(state, offset, CORNERS, XOR, kernel="rbf", gamma=0.05, C=10)
        for offset in (0, 1000, -10000):  # quarters there: what every runtime's floats hold
            check(state, offset, RAMP, HALVES, C=10)


def test_buffers_far_from_zero_are_answered_right_and_left_as_they_are():
    flat = array("f", [v + 10000 for row in CORNERS for v in row])
    m = SVM("rbf", gamma=0.05, C=10, state="float").fit(flat, XOR)
    assert flat[0] == 10000 and flat[3] == 10008
    assert [m.predict(flat[2 * i : 2 * i + 2]) for i in range(8)] == list(XOR)


def test_pascals_beside_degrees():
    X = [[101000 + 8 * i, 20 + (i & 1)] for i in range(10)]
    y = bytes(i > 4 for i in range(10))
    for state in ("float", "fixed"):
        m = SVM(state=state).fit(X, y)
        assert [m.predict(row) for row in X] == list(y), state


def test_a_model_of_moved_rows_comes_back_from_its_file():
    for state, rows in (("float", RAMP), ("fixed", RAMP), ("fixed", CORNERS)):
        X = moved(rows, 1000)
        y = HALVES if rows is RAMP else XOR
        m = SVM("rbf", gamma=0.5, C=10, state=state).fit(X, y)
        m.save("svm_right_test.bin")
        other = SVM.load("svm_right_test.bin")
        os.remove("svm_right_test.bin")
        for row in X:
            assert other.decision(row) == m.decision(row)


def test_a_row_that_a_moved_store_does_not_hold_is_refused_with_its_limits():
    m = SVM(state="fixed").fit([[20000, 7], [20010, 7]], bytes((0, 1)))
    assert m.scaler is not None
    for bad in (20005.5, 60000, -20000, float("nan"), float("inf")):
        try:
            m.predict([bad, 7])
        except ValueError as error:
            assert "row: expected" in str(error), error
        else:
            raise AssertionError(bad)


def test_polynomial_rows_are_not_moved():
    m = SVM("poly", gamma=1e-6, degree=2).fit(moved(CORNERS, 100), XOR)
    assert m.scaler is None


def test_samples_of_a_stream_far_from_zero_are_moved_by_the_first():
    m = SVM("rbf", gamma=0.05, C=10, budget=8)
    for row, label in zip(moved(CORNERS, 10000), XOR):  # noqa: B905  boards have no strict=
        m.add(row, label)
    assert [m.predict(row) for row in moved(CORNERS, 10000)] == list(XOR)


def test_a_fraction_is_scaled_as_a_real_number():
    m = SVM(scale=True).fit([[0, 0], [1, 1]], [0, 1])
    values = [m.decision([v, v]) for v in (0, 0.3, 0.7, 0.99)]
    assert values == sorted(values) and len(set(values)) == 4
    assert [m.predict([v, v]) for v in (0, 0.3, 0.7, 0.99)] == [0, 0, 1, 1]
    for bad in (float("nan"), float("inf")):
        try:
            m.predict([bad, 0])
        except ValueError as error:
            assert "finite" in str(error)
        else:
            raise AssertionError(bad)


def test_a_row_beyond_all_bounds_is_refused_by_a_scaled_store():
    m = SVM(state="fixed", storage="int16").fit([[0.5, 1], [2.5, 9]], [0, 1])
    for bad in (3e38, -3e38, 1e30, -1e30):
        try:
            m.predict([0.5, bad])
        except ValueError as error:
            assert "row: expected" in str(error)
        else:
            raise AssertionError(bad)


def test_the_fixed_state_trains_fractions_with_and_without_a_scaler():
    X = [[0.5, 1.5], [1.5, 2.5], [0.25, 0.75], [2.5, 0.5]]
    for scale in (False, True):
        m = SVM("rbf", C=100, gamma=1.0, state="fixed", scale=scale).fit(X, bytes((0, 0, 1, 1)))
        assert [m.predict(row) for row in X] == [0, 0, 1, 1]
    m.save("svm_right_test.bin")
    other = SVM.load("svm_right_test.bin")
    os.remove("svm_right_test.bin")
    assert [other.decision(row) for row in X] == [m.decision(row) for row in X]
    wide = [[0.5, 30000], [1.5, 30000], [0.25, -30000], [2.5, -30000]]
    m = SVM(state="fixed", scale=True).fit(wide, bytes((0, 0, 1, 1)))
    assert [m.predict(row) for row in wide] == [0, 0, 1, 1]


def warned(words, m, X, y):
    m.fit(X, y)
    assert m.warning, m
    for word in words:
        assert word in m.warning, m.warning


def test_what_learned_nothing_warns_with_the_next_step():
    X = [[i * 0.5, (i * 3 % 7) * 0.5] for i in range(12)]
    for state in ("float", "fixed"):
        warned(("max_iter", "3 steps"), SVM(C=1e4, max_iter=3, state=state), X, HALVES)
        many = bytes(i % 2 for i in range(12))
        warned(("gamma", "lower"), SVM("rbf", gamma=1e4, state=state), X, many)
        few = bytes(i > 10 for i in range(12))
        warned(("one class", "raise C"), SVM("rbf", gamma=1.0, C=0.01, state=state), X, few)
    m = SVM("rbf", gamma=0.5, C=1, state="float").fit(X, HALVES)
    assert m.warning is None
    m.max_iter = 1
    m.fit(X, HALVES)
    assert m.warning
    m.max_iter = 1000
    m.fit(X, HALVES)
    assert m.warning is None  # it speaks of the last training


def test_fixed_point_that_is_too_coarse_for_C_warns():
    X = [[(i * 5 % 13) / 8, (i * 7 % 11) / 8] for i in range(24)]
    y = bytes((row[0] * row[1] > 0.6) ^ (i % 9 == 0) for i, row in enumerate(X))
    warned(("state=",), SVM("rbf", gamma=0.2, C=1e4, state="fixed"), X, y)
    assert SVM("rbf", gamma=1.0, C=1, state="fixed").fit(X, y).warning is None


def test_a_fixed_polynomial_tells_how_far_off_it_may_be_alike_everywhere():
    seed, X = 7, []
    for i in range(25):  # odd: native code keeps two kernel values in a word
        row = []
        for _ in range(3):
            seed = (seed * 16333 + 12345) & 0xFFFF
            row.append(seed % 23 + i % 2 * 12)
        X.append(row)
    y = bytes(i % 2 for i in range(25))
    square = {"degree": 2, "gamma": 0.01, "coef0": 1.0}
    for off, options in (("2.1 of 25", square), ("22 of 1.2e+02", {"degree": 3, "gamma": 0.01})):
        m = SVM("poly", C=1, state="fixed", storage="int8", **options)
        for _ in m.fit_steps(X, y):
            pass
        assert m.warning and "may be off by " + off + ":" in m.warning, m.warning
    m = SVM("poly", C=0.001, state="fixed", degree=2, gamma=0.001, coef0=1.0).fit(X, y)
    assert "may be off" not in (m.warning or ""), m.warning


def test_rows_that_a_kernel_hardly_tells_apart_warn():
    X = [[i % 12 / 8000, (i * 7 % 11) / 8000] for i in range(24)]
    y = bytes(i % 12 > 5 for i in range(24))
    warned(("scale=",), SVM("rbf", gamma=0.1, C=10, state="float"), X, y)
    assert SVM("rbf", gamma=1e5, C=1, state="float").fit(X, y).warning is None


def test_a_file_whose_renaming_was_cut_is_found():
    m = SVM().fit(RAMP, HALVES)
    m.save("svm_right_test.bin")
    os.rename("svm_right_test.bin", "svm_right_test.bin.new")
    try:
        assert SVM.load("svm_right_test.bin").predict(RAMP[0]) == 0
    finally:
        os.remove("svm_right_test.bin.new")
    try:
        SVM.load("svm_right_test.bin")
    except OSError as error:
        assert error.args[0] == 2
    else:
        raise AssertionError("no file")


def test_bytes_of_the_other_sign_are_refused_not_read_as_others():
    m = SVM(storage="uint8").fit([[0, 200], [200, 0]], bytes((0, 1)))
    other = SVM(storage="int8").fit([[-100, 100], [100, -100]], bytes((0, 1)))
    for machine, row in ((m, array("b", (-1, 5))), (other, array("B", (5, 200)))):
        for call in (machine.predict, machine.decision):
            try:
                call(row)
            except ValueError as error:
                assert "whole numbers" in str(error), error
            else:
                raise AssertionError(row)
    assert m.predict(array("b", (0, 100))) == 0 and other.predict(array("B", (0, 100))) == 0


def test_a_signed_buffer_stays_signed():
    flat = array("b", (1, 100, 100, 1))
    m = SVM().fit(flat, bytes((0, 1)))
    assert m.predict(array("b", (-5, 90))) == 0


def test_many_rows_are_answered_as_one_by_one():
    rows = [row for row in CORNERS]
    flat = bytearray(v for row in rows for v in row)
    for options in ({"kernel": "rbf", "gamma": 0.05, "C": 10}, {}, {"scale": True}):
        for X in (flat, array("f", [v + 1000 for v in flat])):
            m = SVM(**options).fit(X, XOR)
            out = bytearray(8)
            assert m.predict_many(X, out) is out
            assert list(out) == [m.predict(X[2 * i : 2 * i + 2]) for i in range(8)]
            again = bytearray(8)
            m.predict_many([list(X[2 * i : 2 * i + 2]) for i in range(8)], again)
            assert again == out
    for bad in (bytearray(7), bytearray(4)):
        try:
            m.predict_many(X, bad)
        except ValueError as error:
            assert "expected" in str(error)
        else:
            raise AssertionError(len(bad))


def test_rows_of_any_kind_give_the_same_label():
    m = SVM("rbf", gamma=0.05, C=10).fit(CORNERS, XOR)
    for row, label in zip(CORNERS, XOR):  # noqa: B905
        for kind in (
            row,
            list(row),
            bytes(row),
            array("b", row),
            array("h", row),
            array("f", row),
        ):
            assert m.predict(kind) == label
    for bad in ((0,), (0, 1, 2), (0, 0.5), (0, -1), (0, 256), array("f", (0, 0.5))):
        try:
            m.predict(bad)
        except ValueError as error:
            assert "row: expected" in str(error)
        else:
            raise AssertionError(bad)


def test_one_class_for_all_rows_is_told_a_label_that_another_beats_is_not():
    def trained(counts):
        X = [[v + 20 * (label > 1), v] for label, n in enumerate(counts) for v in range(n)]
        y = [label for label, n in enumerate(counts) for v in range(n)]
        return SVM("rbf", gamma=0.001, C=0.1).fit(X, y)

    assert "one class" in trained((9, 2)).warning
    assert trained((9, 2, 9)).warning is None  # 1 is never answered, 0 and 2 are
    assert "one class" in trained((2, 2, 30)).warning  # 2 beats both, for all of their rows


def test_rows_are_alone_only_where_each_pair_of_labels_says_so():
    X = [[8 * i, 8 * (i % 5)] for i in range(24)]
    m = SVM("rbf", gamma=1.0).fit(X, [i % 3 for i in range(24)])
    assert m.warning.startswith("gamma")
    near = X[:8] + [[1 + 8 * i, 8 * (i % 5)] for i in range(8)] + X[16:]
    m = SVM("rbf", gamma=1.0).fit(near, [i // 8 for i in range(24)])
    assert m.warning is None  # the first two labels lie side by side


def test_errors_in_doubt_are_looked_at_before_a_warning():
    X = [[(i * 3 + j * 11 + i * i * j) % 101 for j in range(2)] for i in range(16)]
    y = [sum(row) * 3 + i * 7 % 101 > 350.5 for i, row in enumerate(X)]
    m = SVM("poly", degree=2, coef0=1.0, gamma=0.01, C=1, state="fixed").fit(X, y)
    assert m.converged and m.warning is None  # 1.4 of the limit, with a gap of 0.0101


def test_a_polynomial_far_from_zero_is_trained_and_warns_where_it_is_not_sure():
    # of this one float32 sees no difference between the rows, and no row supports anything
    lost = [
        [-29994, -29998, -30003.75],
        [-30001.75, -29994.5, -30000.5],
        [-30005.75, -29997.5, -29995.5],
        [-30005, -30006.5, -29996.5],
    ]
    cases = [(lost, bytes((0, 1, 0, 1)), 2)]
    for offset in (-10000, 10000, 30000):
        cases.extend((moved(rows, offset), y, 2) for rows, y in ((RAMP, HALVES), (CORNERS, XOR)))
        cases.append((moved(RAMP, offset), HALVES, 3))
    for state in ("float", "fixed"):
        for X, y, degree in cases:
            m = SVM("poly", C=0.1, degree=degree, state=state).fit(X, y)
            right = [m.predict(row) for row in X] == list(y)
            assert m.warning or right, (state, degree, X[0], m)
