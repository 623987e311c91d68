# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM"}
"""One-class and regression at their borders: rows that are all the same, targets of any size."""

from acclimate.svm import SVM
from acclimate.svm import kinds as _kinds  # noqa: F401  the extra of this file


def test_rows_that_are_all_the_same_are_like_those():
    for state in ("float", "fixed"):
        for rows in ([[1]] * 8, [[7, 7]] * 50, [[0.5, 0.25]] * 20):
            for nu in (0.1, 0.3, 0.5):
                nu = max(nu, 1 / len(rows))
                m = SVM("rbf", kind="one-class", nu=nu, state=state).fit(rows)
                assert m.predict(rows[0]) == 1, (state, rows[0], nu)
                assert m.predict([v + 3 for v in rows[0]] if rows[0][0] >= 1 else [9, 9]) == -1


def test_where_all_rows_may_lie_outside_the_densest_lies_on_the_border():
    rows = [[0], [1], [2], [9]]
    for state in ("float", "fixed"):
        m = SVM("rbf", kind="one-class", nu=1, gamma=0.5, state=state).fit(rows)
        found = [m.decision(row) for row in rows]
        assert abs(found[1]) < 0.02 and abs(found[0] - found[2]) < 0.02, (state, found)
        # exp(-0.5) + exp(-2) + 1 beside 2 exp(-0.5) + 1, and 1 alone
        assert abs(found[0] + 0.4712) < 0.02 and abs(found[3] + 1.2131) < 0.02, (state, found)
        assert m.predict([9]) == -1


def test_a_new_training_forgets_the_threshold_of_the_one_before():
    rows = [[i] for i in range(9)]
    m = SVM("rbf", kind="one-class", nu=0.3).fit(rows)
    first = m.threshold
    m.calibrate([[50], [60], [70]], share=0.1)
    assert m.threshold < first and m.predict([60]) == 1
    m.fit(rows)
    assert m.threshold == first and m.predict([60]) == -1


def test_a_regression_that_answers_next_to_one_number_says_so():
    rows = [[i] for i in range(6)]
    for factor, warned in ((1, False), (1000, False), (1e6, True), (1e9, True)):
        m = SVM(kind="regression", C=100).fit(rows, [i * factor for i in range(6)])
        assert (m.warning is not None) == warned, (factor, m.warning)
        assert not warned or m.warning.startswith("C: next to one number"), m.warning
    good = SVM(kind="regression", C=1e9).fit(rows, [i * 1e6 for i in range(6)])
    assert abs(good.predict([5]) - 5e6) < 1e4


def test_a_budget_is_a_number_of_samples():
    for budget in (1, -1, float("nan"), float("inf"), 65536):
        try:
            SVM(budget=budget).add([1], 0)
        except ValueError as error:
            assert "budget: expected" in str(error), error
        else:
            raise AssertionError(budget)
