# SPDX-License-Identifier: MIT
"""One-class machines and regressions: units, limits, thresholds, and errors counted by hand."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

from array import array
from math import exp

from raised import fails
from svm_kinds_vectors import ONE_CLASS, REGRESSION

from acclimate.svm import SVM, oneclass, regression
from acclimate.svm import kinds as _kinds  # noqa: F401  the extra of this file
from acclimate.svm.rows import PIECE


def near(a, b, share=1e-5):
    return abs(a - b) <= share * max(abs(a), abs(b), 1e-30)


# ---- regression -------------------------------------------------------------------------------


def test_answers_have_the_unit_of_the_targets():
    """Targets, C, epsilon and tol in another unit: the same machine, its answers in that unit."""
    case = REGRESSION[0]
    for state in ("float", "fixed"):
        found = []
        for unit in (1.0, 1024.0, 1 / 64):
            m = SVM(
                "rbf", C=4.0 * unit, gamma=0.0625, kind="regression", epsilon=0.25 * unit,
                tol=0.01 * unit, state=state,
            )  # fmt: skip
            m.fit(case["x"], [v * unit for v in case["y"]])
            found.append([m.predict(row) / unit for row in case["tests"]])
            found[-1] += [m.n_iter, m.gap / unit]
            assert m.converged
        for other in found[1:]:
            for one, two in zip(found[0], other):  # noqa: B905
                assert near(one, two), (state, one, two)


def constant(y, epsilon=10.0):
    """A machine that answers the middle of its targets, for they all lie within epsilon."""
    m = SVM(kind="regression", epsilon=epsilon).fit([[i] for i in range(len(y))], y)
    assert m.warning.startswith("epsilon: every target lies within it")
    return m


def test_all_targets_within_epsilon_are_answered_by_their_middle():
    for y, middle in (
        ((5.0, 6.0, 7.0), 6.0),
        ((7.0, 5.0, 6.0), 6.0),
        ((-3.0, 1.5), -0.75),
        ((4.0, 4.0), 4.0),
        ((1000.0, 1008.0, 1001.0), 1004.0),
    ):
        m = constant(y)
        assert near(m.predict([3]), middle) and m.decision([3]) == m.predict([3])


def test_the_unit_is_the_power_of_two_that_holds_half_of_the_range():
    for low, high, slope in (
        (0, 2, 1.0), (0, 2.5, 2.0), (-1, 1, 1.0), (-9, 7, 8.0), (0, 17, 16.0), (0, 32, 16.0),
        (100, 101, 0.5), (3, 3.5, 0.25), (0, 0.375, 0.25), (5, 5, 1.0), (0, 2.0**-110, 2.0**-100),
    ):  # fmt: skip
        before, seen = regression.SingleJob.__init__, []
        regression.SingleJob.__init__ = lambda *args: seen.append(args[-1])  # noqa: B023
        try:
            made = regression.RegressionJob(SVM(tol=0.5), (0, 0, 0, 2), None, low, high)
        finally:
            regression.SingleJob.__init__ = before
        assert (seen[0].slope, seen[0].offset) == (slope, (low + high) / 2), (low, high)
        assert made.tol == 0.5 / slope


def test_errors_are_those_that_one_counts_by_hand():
    m = constant((5.0, 6.0, 7.0))  # answers 6: errors of 1, 0, 1.5 and 3
    X, y = [[0]] * 4, [5.0, 6.0, 7.5, 9.0]
    wanted = 1 - 12.25 / 9.1875
    assert near(m.evaluate(X, y), wanted, 1e-4)
    rows = m.report(X, y).split("\n")
    assert rows[0] == "rows  mean error  root mean square  largest  R2"
    numbers = [float(word) for word in rows[1].split()]
    for number, by_hand in zip(numbers, (4, 1.375, 1.75, 3, wanted)):  # noqa: B905
        assert abs(number - by_hand) < 6e-4, rows[1]
    assert m.evaluate([[0]], [9.0]) == 0.0  # nothing to explain
    assert m.evaluate([[0], [0]], [4.0, 4.0]) == 0.0
    good = SVM(kind="regression", C=100.0, epsilon=0.01).fit([[0], [1], [2]], [0.0, 1.0, 2.0])
    assert 0.999 < good.evaluate([[0], [1], [2], [1]], [0.0, 1.0, 2.0, 1.0]) <= 1


def test_targets_are_finite_numbers_below_a_limit():
    X = [[0], [1], [2]]
    top = 2.0**125
    for bad, at in (
        ([0, float("nan"), 1], 1), ([float("-inf"), 0, 1], 0), ([0, 1, 2 * top], 2),
        ([0, -1.01 * top, 1], 1), ([0, "1", 2], 1), ([None, 1, 2], 0), ([0, 1, (2,)], 2),
    ):  # fmt: skip
        fails(("y[%d]: expected a finite number" % at,), SVM(kind="regression").fit, X, bad)
    for none in (None, [], ()):
        fails(
            ("y: expected a number for each row, got none",), SVM(kind="regression").fit, X, none
        )
    m = SVM(kind="regression", epsilon=top).fit(X, [-top, top, 0.0])
    assert m.predict([1]) == 0.0
    m = SVM(kind="regression", C=top).fit(X, array("f", (0.0, 1e30, 2e30)))
    assert 0.5e30 < m.predict([1]) < 1.5e30


def test_a_target_of_many_rows_counts_wherever_it_stands():
    """Targets are looked at some at a time."""
    for at in (0, 31, 63, 64, 99):
        y = [6.0] * 100
        y[at] = 10.0
        m = SVM("rbf", gamma=1.0, kind="regression", epsilon=3).fit([[0]] * 50 + [[9]] * 50, y)
        assert near(m.predict([4]), 8.0)


def test_others_go_on_while_targets_are_looked_at():
    for n in (1, PIECE - 1, PIECE, 3 * PIECE + 1):
        steps, pauses = regression.Regression.start(SVM(), None, [1.0] * n), 0
        try:
            while next(steps) is None:
                pauses += 1
        except ValueError:  # no rows
            assert pauses == n // PIECE
        else:
            raise AssertionError("no error")


def test_next_to_one_number_is_told_where_epsilon_does_not_ask_for_it():
    X, y = [[i] for i in range(6)], [i * 1e6 for i in range(6)]
    assert SVM(kind="regression", C=1.0).fit(X, y).warning.startswith("C: next to one number")
    m = SVM(kind="regression", C=1.0, epsilon=2.4e6).fit(X, y)
    assert m.warning is None or not m.warning.startswith("C: next"), m.warning


class Machine:
    pass


def test_numbers_of_a_file_are_looked_at():
    for bad in ((-1.0, 1.0, 0.0), (0.5, 0.0, 0.0), (0.5, -1.0, 0.0), (float("nan"), 1.0, 0.0)):
        fails(("epsilon >= 0 and slope > 0",), regression.Regression.read, Machine(), bad)
    m = Machine()
    answer = regression.Regression.read(m, (0.0, 0.5, -3.0))
    assert (m.kind, m.epsilon, answer.number(4.0)) == ("regression", 0.0, -1.0)
    for bad in ((0.0, 0.0), (1.5, 0.0), (-0.5, 0.0), (float("nan"), 0.0)):
        fails(("nu > 0 and <= 1",), oneclass.OneClass.read, Machine(), bad)
    m = Machine()
    oneclass.OneClass.read(m, (1.0, -2.5))
    assert (m.kind, m.nu, m.threshold, m.C) == ("one-class", 1.0, -2.5, 1.0)


# ---- one class --------------------------------------------------------------------------------


def usual(nu=0.25, **options):
    case = ONE_CLASS[0]
    m = SVM("rbf", kind="one-class", nu=nu, gamma=0.0625, **options)
    return m.fit(case["x"]), case["x"]


def test_of_what_was_learned_about_nu_lies_outside():
    """Schölkopf's bounds: at most a share of nu is refused, at least as many are supports."""
    for nu in (0.1, 0.25, 0.5, 0.9):
        m, rows = usual(nu, tol=1e-4)
        outside = sum([m.decision(row) < -1e-3 for row in rows])
        within = sum([m.decision(row) > 1e-3 for row in rows])
        assert outside <= nu * len(rows) <= len(rows) - within, nu


def test_nu_of_one_weighs_all_rows_alike():
    """The score is then the sum over all kernels, but for its constant: Parzen's windows."""
    for state, bearable in (("float", 0.01), ("fixed", 0.05)):
        for nu in (1.0, 0.99999):
            m, rows = usual(nu, tol=1e-4, state=state)
            sums = [sum([kernel(a, b) for b in rows]) for a in rows]
            for row, value in zip(rows, sums):  # noqa: B905
                # Of the densest row all others are on the other side of the border.
                assert abs(m.decision(row) - value + max(sums)) < bearable, (state, row)
            assert sum([m.predict(row) > 0 for row in rows]) <= 1


def kernel(a, b):
    return exp(-0.0625 * sum([(p - q) ** 2 for p, q in zip(a, b)]))  # noqa: B905


def test_a_threshold_is_the_score_with_that_share_below_it():
    m, rows = usual()
    scores = sorted([m.decision(row) for row in rows])
    n = len(rows)
    for held in (rows, rows[::-1], rows[n // 2 :] + rows[: n // 2]):
        for share in (0, 0.05, 0.1, 0.3, 0.5, 0.75, 0.99):
            m.calibrate(held, share=share)
            assert near(m.threshold, scores[int(share * n)]), share
            assert sum([m.predict(row) < 0 for row in held]) <= share * n
    for bad in (-0.1, 1, 1.5, float("nan"), "0.1", None):
        fails(("share: expected a number >= 0 and < 1",), lambda b=bad: m.calibrate(rows, share=b))
    for bad in ([], [1, 2], array("b", (1, 2)), (0.5,)):
        fails(("X: expected a list of rows",), m.calibrate, bad)


def test_a_row_is_usual_from_the_threshold_on():
    m, rows = usual()
    m.calibrate(rows, share=0.5)
    for row in rows:
        assert m.predict(row) == (1 if m.decision(row) >= m.threshold else -1)
    m.threshold = m.decision(rows[3])
    assert m.predict(rows[3]) == 1
    m.threshold = m.decision(rows[3]) + 1e-3
    assert m.predict(rows[3]) == -1


def test_how_many_rows_are_read():
    flat = array("b", [v for i in range(24) for v in (i % 5, 40 + i % 7)])
    m = SVM("rbf", kind="one-class", nu=0.25, gamma=0.5)
    rows = [list(flat[2 * i : 2 * i + 2]) for i in range(24)]
    found = [m.fit(flat, 24).decision(row) for row in rows]
    assert found == [m.fit(rows).decision(row) for row in rows]
    half = [m.fit(flat[:24], 12).decision(row) for row in rows]
    assert half == [m.fit(rows[:12]).decision(row) for row in rows] and half != found
    for bad in (25, "24", 24.0, [1] * 24):
        fails(("y: expected None or how many rows X has",), m.fit, rows, bad)
    for few in (0, 1):
        fails(("at least 2 rows, got %d" % few,), m.fit, rows[:few], few)
        fails(("at least 2 rows, got %d" % few,), m.fit, rows[:few])
    m.fit(rows[:2], 2)


def test_settings_are_taken_up_to_their_limits():
    for nu in (1, 1.0, 0.001):
        assert SVM(kind="one-class", nu=nu).nu == nu
    for bad in (0, -0.5, 1.01, float("nan"), "0.5", None):
        fails(("nu: expected a number > 0 and <= 1",), lambda b=bad: SVM(kind="one-class", nu=b))
    for C in (0.5, 2.0, 10):
        fails(("C: expected none",), lambda c=C: SVM(kind="one-class", C=c))
    rows = [[i] for i in range(10)]
    few = SVM("rbf", kind="one-class", nu=0.099, gamma=1.0).fit(rows)
    assert few.warning.startswith("nu: expected nu * rows >= 1, got 0.099 * 10")
    assert SVM("rbf", kind="one-class", nu=0.125, gamma=1.0).fit(rows).warning is None


def test_what_is_too_large_is_told_without_a_word_of_c():
    """A one-class machine has none."""
    X = [[100 + i % 3, 20 + i % 5] for i in range(20)]
    for factor in (1, 40, 400):
        rows = [[v * factor / 3 for v in row] for row in X]
        m = SVM("linear", kind="one-class", nu=0.3, state="fixed")
        try:
            told = m.fit(rows).warning or "X: "
        except ValueError as error:
            told = str(error)
        assert told[:3] == "X: " and "C" not in told.split(" ") and "C," not in told, told
    few = SVM("linear", kind="one-class", nu=0.1, state="float").fit(
        [[i % 2, 0] for i in range(20)]
    )
    assert few.warning.startswith("X: answers may be off by") and " C" not in few.warning


def test_what_is_no_row_is_refused_and_not_called_unusual():
    m = SVM("rbf", kind="one-class", nu=0.25, gamma=0.05).fit(array("b", range(10)), 10)
    assert m.predict([4]) == 1 and m.predict([100]) == -1
    for bad in (["4"], [None], "4", [4, 4], [], [float("nan")]):
        fails(("row",), m.predict, bad)
