# SPDX-License-Identifier: MIT
"""Probabilities by hand: scikit-learn's sigmoids of values, numpy's shares of pairs of labels."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

from array import array
from math import exp

from raised import fails

from acclimate.svm import SVM
from acclimate.svm import labels as _labels  # noqa: F401  an extra of this file
from acclimate.svm import probability as module

# (value: rows of the first label and of the second), then a and b of
# sklearn.calibration._sigmoid_calibration of these, rounded to four places.
FITTED = (
    ("-1.9375 1 0|-0.8125 1 0|0.5 0 2|0.6875 0 1|0.875 0 1|1.25 0 1|1.375 0 1", -1.2296, -0.7813),
    (
        "-2.6875 1 0|-0.3125 1 0|-0.1875 1 0|0.0625 1 0|0.1875 2 0|0.375 1 0|0.5 0 2|0.5625 1 0"
        "|0.875 0 1|1.1875 1 0|1.3125 0 1|1.4375 1 0|1.6875 0 1|1.8125 0 1|2.1875 1 0|2.4375 0 1"
        "|2.6875 0 1|3.6875 0 1",
        -0.9808,
        1.1743,
    ),
    (
        "-4.625 1 0|-4.4375 1 0|-4 1 0|-3.875 1 0|-3.75 1 0|-3.5 0 1|-3.4375 1 0|-3.1875 2 0"
        "|-3.0625 1 0|-2.9375 1 0|-2.875 1 0|-2.8125 1 0|-2.75 1 0|-2.375 1 1|-2.25 0 1|-2.125 1 1"
        "|-1.8125 1 0|-1.6875 1 0|-1.5625 0 1|-1.375 0 2|-1.1875 1 0|-0.875 0 1|-0.75 0 1"
        "|-0.3125 0 1|0.375 0 1|0.4375 0 1",
        -1.2019,
        -2.2649,
    ),
)
# a and b of each pair, the pairs' values, and the shares that numpy.linalg.solve finds for the
# second method of Wu, Lin and Weng (2004).
COUPLED = (
    (
        (-2.77, -0.28, -2.36, -0.23, -0.84, -0.11),
        (-2.42, -0.28, -1.04),
        (0.1229, 0.3339, 0.5432),
    ),
    (
        (-2.69, -0.2, -1.94, 0.24, -1.6, -0.12, -1.84, 0.48, -1.42, -0.1, -1.01, 0.01),
        (1.85, 0.65, -0.61, -0.22, 0.65, 2.32),
        (0.3648, 0.1336, 0.3411, 0.1604),
    ),
    (
        (-0.91, 0.35, -2.92, -0.22, -1.09, -0.54, -1.99, 0.01, -2.75, -0.03, -1.22, 0.7, -0.49)
        + (0.37, -2.44, 0.1, -1.3, 0.56, -2.19, -0.1, -1.0, -0.46, -1.05, 0.29, -2.41, 0.29)
        + (-0.76, -0.11, -1.22, -0.39),
        (0.27, -2.99, 0.83, 0.59, -1.97, 0.07, -1.16, 0.91, -2.44, -1.1, 0.85, 1.39, -2.59)
        + (-0.6, 0.39),
        (0.1049, 0.1394, 0.2584, 0.137, 0.1379, 0.2224),
    ),
)


def points_of(text):
    return [tuple(map(float, part.split(" "))) for part in text.split("|")]


def plain():
    """A machine whose decision value is the row's number."""
    rows = [[-1.0], [1.0], [-1.0625], [1.0625]]  # with fractions, as those that come
    m = SVM("linear", C=10.0, state="float", tol=1e-5).fit(rows, [3, 8, 3, 8])
    for v in (-2.0, 0.25, 1.5):
        assert abs(m.decision([v]) - v) < 1e-3
    return m


def test_a_calibrated_machine_says_what_scikit_learn_s_sigmoid_says():
    for text, a, b in FITTED:
        m, X, y = plain(), [], []
        for value, below, above in points_of(text):
            X += [[value]] * int(below + above)
            y += [3] * int(below) + [8] * int(above)
        for rows, labels in ((X, y), (X[::-1], y[::-1])):
            m.calibrate(rows, labels)
            for k in range(-20, 21):
                found = m.predict_proba([k * 0.25])
                assert abs(found[1] - 1 / (1 + exp(a * k * 0.25 + b))) < 0.006, (a, k, found)
                assert abs(found[0] + found[1] - 1) < 1e-6


def test_the_best_sigmoid_of_given_points():
    for text, a, b in FITTED:
        for points in (points_of(text), points_of(text)[::-1]):
            steps = module._fit_pieces(points)
            count = 0
            while True:
                try:
                    next(steps)
                    count += 1
                except StopIteration as ended:
                    found = ended.value
                    break
            assert abs(found[0] - a) < 5e-3 and abs(found[1] - b) < 5e-3, (found, a, b)
            assert 2 < count < 30


def test_values_that_tell_nothing_leave_the_share_of_the_labels():
    """As Platt counts it: 3 of 4 rows stand for 3 * 4 / 5 + 1 / 3."""
    m = plain()
    m.calibrate([[0.0]] * 4, [8, 3, 8, 8])
    assert abs(m.predict_proba([0.0])[1] - (3 * 4 / 5 + 1 / 3) / 4) < 1e-3


def test_labels_that_are_apart_are_not_said_for_sure():
    m = plain()
    m.calibrate([[-2.0], [-1.0], [1.0], [2.0]] * 3, [3, 3, 8, 8] * 3)
    low, high = m.predict_proba([-1.5])[1], m.predict_proba([1.5])[1]
    assert 0.01 < low < 0.2 and abs(low + high - 1) < 0.01
    assert m.predict_proba([1000.0])[1] == 1.0 and m.predict_proba([-1000.0])[0] == 1.0


def test_rows_of_both_labels_are_needed():
    m = plain()
    for label in (3, 8):
        fails(("rows of labels 3 and 8",), m.calibrate, [[0.5], [-0.5]], [label, label])
    fails(("calibrate",), m.predict_proba, [0.5])
    fails(("X", "1 features", "2"), m.calibrate, [[0.5, 1.0]] * 2, [3, 8])


def test_the_shares_of_labels_contradict_their_pairs_least():
    for numbers, values, wanted in COUPLED:
        k = len(wanted)
        out = array("f", bytes(4 * k))
        module._couple(module.Sigmoids(array("f", numbers)), values, k, out)
        assert abs(sum(out) - 1) < 1e-5
        for t in range(k):
            assert abs(out[t] - wanted[t]) < 0.003, (k, list(out), wanted)


def test_pairs_that_are_sure_leave_one_label():
    for k in (3, 5):
        for best in range(k):
            values = []
            for i in range(k):
                for j in range(i + 1, k):
                    values.append(1000.0 if i == best else -1000.0 if j == best else 0.0)
            out = array("f", bytes(4 * k))
            numbers = array("f", (-1.0, 0.0) * len(values))
            module._couple(module.Sigmoids(numbers), values, k, out)
            assert out[best] > 0.99 and abs(sum(out) - 1) < 1e-5 and min(out) >= 0, list(out)


def test_joint_values_are_shares_of_exponentials():
    """Values are differences from the first; exp(1000) is none."""
    for values, wanted in (
        ((0.0, 0.0), (1 / 3, 1 / 3, 1 / 3)),
        ((1.0, -0.5), (0.33149, 0.12195, 0.54655)),
        ((-1000.0, 3.0), (0.0, 1.0, 0.0)),
        ((1000.0, 1000.0), (1.0, 0.0, 0.0)),
        ((-800.0, -800.0), (0.0, 0.5, 0.5)),
    ):
        out = array("f", bytes(12))
        module._shares(values, 3, out)
        for t in range(3):
            assert abs(out[t] - wanted[t]) < 1e-4, (values, list(out))


def test_where_the_probabilities_go():
    m = plain()
    m.calibrate([[-1.0], [-0.5], [0.75], [1.0], [0.0]], [3, 3, 8, 8, 3])
    found = m.predict_proba([0.25])
    assert len(found) == 2 and isinstance(found[0], float)
    out = array("f", (9.0, 9.0, 9.0))
    assert m.predict_proba([0.25], out) is out
    assert list(out) == [found[0], found[1], 9.0]
    kept = [5.0, 5.0]
    assert m.predict_proba([0.25], kept) is kept and abs(kept[0] - found[0]) < 1e-6
    whole = array("b", (7, 7))
    fails(("out", "2 real numbers"), m.predict_proba, [0.25], whole)
    assert list(whole) == [7, 7]
    fails(("out", "2 numbers", "1"), m.predict_proba, [0.25], array("f", (7.0,)))
    fails(("out", "2 real numbers"), m.predict_proba, [0.25], 7)
