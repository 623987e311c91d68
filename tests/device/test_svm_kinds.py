# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""One-class machines and regressions answer what scikit-learn's answer; the vectors have fractions
and lie far from 0."""

import os

from raised import fails
from svm_kinds_vectors import ONE_CLASS, REGRESSION

from acclimate.svm import SVM
from acclimate.svm import kinds as _kinds  # noqa: F401  the extra of this file

PATH = "svm_kinds_test.bin"


def again(m):
    m.save(PATH)
    other = SVM.load(PATH)
    os.remove(PATH)
    assert repr(other) == repr(m) and other.kind == m.kind
    return other


def test_one_class_scores_are_those_of_scikit_learn():
    for case in ONE_CLASS:
        top = max([abs(v) for v in case["values"]])
        for state, near in (("float", 0.002), ("fixed", 0.02)):
            # Where a machine stops is no error of it: small scores are compared nearer the end.
            tol = 1e-4 if state == "float" and case["kernel"] != "linear" else 1e-3
            m = SVM(
                case["kernel"], kind="one-class", nu=0.25, state=state, tol=tol, **case["options"]
            )
            m.fit(case["x"])
            assert m.converged and not m.warning, (m, m.warning)
            for t in range(len(case["tests"])):
                row, want = case["tests"][t], case["values"][t]
                assert abs(m.decision(row) - want) < near * top + 0.002, (m, row, want)
                if abs(want) > near * top + 0.002:
                    assert m.predict(row) == case["labels"][t]
            other = again(m)
            assert [other.decision(r) for r in case["tests"]] == [
                m.decision(r) for r in case["tests"]
            ]


def test_regressions_answer_what_scikit_learn_answers():
    for case in REGRESSION:
        for state, near in (("float", 0.05), ("fixed", 0.1)):
            m = SVM(
                case["kernel"], kind="regression", epsilon=0.25, state=state, **case["options"]
            )
            m.fit(case["x"], case["y"])
            assert m.converged and not m.warning, (m, m.warning)
            for t in range(len(case["tests"])):
                row, want = case["tests"][t], case["values"][t]
                assert abs(m.predict(row) - want) < near, (m, row, m.predict(row), want)
                assert m.decision(row) == m.predict(row)
            other = again(m)
            assert [other.predict(r) for r in case["tests"]] == [
                m.predict(r) for r in case["tests"]
            ]


def test_a_cost_beyond_the_numbers_of_the_fixed_state_is_told():
    case = REGRESSION[1]
    m = SVM(C=16.0, kind="regression", epsilon=0.25, state="fixed", tol=0.2)
    m.fit(case["x"], case["y"])
    assert "off by" in m.warning


def test_a_threshold_from_held_back_rows_lets_the_asked_share_through():
    case = ONE_CLASS[0]
    m = SVM("rbf", kind="one-class", nu=0.5, gamma=0.0625).fit(case["x"][:16])
    held = case["x"][16:]
    assert sum([m.predict(r) < 0 for r in held]) > 4
    m.calibrate(held, share=0.15)
    assert sum([m.predict(r) < 0 for r in held]) == 2
    assert m.threshold < 0
    other = again(m)
    assert [other.predict(r) for r in held] == [m.predict(r) for r in held]
    m.calibrate(held, share=0)
    assert sum([m.predict(r) < 0 for r in held]) == 0
    fails(("share", "< 1", "1"), lambda: m.calibrate(held, share=1))
    fails(("X", "list of rows"), m.calibrate, bytearray(8))


def test_a_row_beyond_the_store_is_none_of_the_usual():
    case = ONE_CLASS[0]
    m = SVM("rbf", kind="one-class", gamma=0.0625, state="fixed").fit(case["x"])
    fails(("row", "-1000"), m.decision, [20, -1000])
    assert m.predict([20, -1000]) == -1
    fails(("row", "2", "3"), m.predict, [20, 101325, 0])
    fails(("row", "finite"), m.predict, [20, float("inf")])


def test_flat_buffers_scaling_and_reports():
    from array import array

    flat = array("b", [v for i in range(24) for v in (i % 5, 40 + i % 7)])
    m = SVM("rbf", kind="one-class", nu=0.25, gamma=0.5).fit(flat, 24)
    assert m.predict([2, 43]) == 1 and m.predict([30, 0]) == -1
    out = array("b", (0, 0))
    assert list(m.predict_many([[2, 43], [30, 0]], out)) == [1, -1]
    assert "-1" in m.report([[2, 43], [30, 0]], [1, -1])
    assert m.evaluate([[2, 43], [30, 0]], [1, 1]) == 0.5
    m = SVM(kind="regression", scale=True, epsilon=0.01)
    X = [[i, i * 1000 % 7919] for i in range(20)]
    y = [2 * row[0] + 5 for row in X]
    m.fit(X, y)
    assert abs(m.predict([10, 2081]) - 25) < 1
    assert m.evaluate(X, y) > 0.99 and "R2" in m.report(X, y)
    again(m)


def test_what_teaches_nothing_says_so():
    m = SVM(kind="regression", epsilon=10).fit([[0], [1], [2]], [5.0, 6.0, 7.0])
    assert m.warning.startswith("epsilon:") and abs(m.predict([9]) - 6) < 1e-6
    assert again(m).predict([9]) == m.predict([9])
    m = SVM("rbf", gamma=1.0, kind="regression", epsilon=10).fit([[0], [1]], [5.0, 6.0])
    assert abs(again(m).predict([9]) - 5.5) < 1e-6
    m = SVM("rbf", gamma=1.0, kind="one-class", nu=0.1).fit([[0], [1], [0.5]])
    assert m.warning.startswith("nu:")


def test_bad_input_is_named_and_changes_nothing():
    for options, words in (
        ({"kind": "two-class"}, ("kind", "one-class", "two-class")),
        ({"kind": "one-class", "nu": 0}, ("nu", "> 0", "0")),
        ({"kind": "one-class", "nu": 1.5}, ("nu", "1.5")),
        ({"kind": "one-class", "C": 2}, ("C", "nu")),
        ({"kind": "one-class", "budget": 9}, ("budget", "9")),
        ({"kind": "regression", "epsilon": -1}, ("epsilon", "-1")),
        ({"kind": "regression", "epsilon": float("nan")}, ("epsilon", "nan")),
        ({"kind": "regression", "class_weight": "balanced"}, ("class_weight",)),
    ):
        fails(words, lambda o=options: SVM(**o))
    X = [[0.0], [1.0], [2.5]]
    m = SVM(kind="regression").fit(X, [0, 1, 2])
    before = m.predict([1.5])
    for x, y, words in (
        (X, [0, 1], ("y", "3", "2")),
        (X, None, ("y", "none")),
        (X, [0, float("inf"), 2], ("y[1]", "finite")),
        (X, [0, 1, "a"], ("y[2]", "a")),
        ([[0], [1, 2], [3]], [0, 1, 2], ("X row 1",)),
    ):
        fails(words, m.fit, x, y)
        assert m.predict([1.5]) == before
    fails(("row", "1", "2"), m.predict, [1, 2])
    fails(("calibrate",), m.calibrate, X, [0, 1, 2])
    m = SVM("rbf", gamma=1.0, kind="one-class").fit([[0], [1], [2], [3]] * 4)
    fails(("y", "None"), m.fit, X, [0, 1, 2])
    fails(("X", "2 rows"), m.fit, [[1]])
    fails(("row", "finite"), m.predict, [float("nan")])
    fails(("fitted",), SVM(kind="one-class").predict, [1])


def test_steps_can_be_stopped():
    case = REGRESSION[0]
    m = SVM("rbf", C=4.0, kind="regression", gamma=0.0625)
    steps = m.fit_steps(case["x"], case["y"], 1)
    while next(steps) < 5:
        pass
    steps.close()
    assert 800 < m.predict(case["x"][0]) < 1000 and not m.converged
