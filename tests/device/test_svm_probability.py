# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Probabilities are those of scikit-learn's sigmoids on the same held-back rows."""

import os

from raised import fails
from svm_kinds_vectors import PROBABILITY

from acclimate.svm import SVM
from acclimate.svm import labels as _labels  # noqa: F401  an extra of this file
from acclimate.svm import probability as _probability  # noqa: F401  the other

PATH = "svm_probability_test.bin"


def again(m):
    m.save(PATH)
    other = SVM.load(PATH)
    os.remove(PATH)
    return other


def test_two_labels():
    case = PROBABILITY
    for state in ("float", "fixed"):
        m = SVM("rbf", gamma=0.0625, state=state).fit(case["x"], case["y"])
        m.calibrate(case["held"], case["seen"])
        other = again(m)
        for t in range(len(case["tests"])):
            row = case["tests"][t]
            found = m.predict_proba(row)
            assert abs(found[1] - case["values"][t]) < 0.01, (found, case["values"][t])
            assert abs(found[0] + found[1] - 1) < 1e-6
            assert list(other.predict_proba(row)) == list(found)


def clouds(n, seed):
    X, y = [], []
    for i in range(n):
        seed = (seed * 1103 + 12345) & 0xFFFF
        a = seed >> 8
        seed = (seed * 1103 + 12345) & 0xFFFF
        b = seed >> 8
        label = i % 3
        X.append([a % 40 + 25 * (label == 1), b % 40 + 25 * (label == 2)])
        y.append(("one", "two", "three")[label])
    return X, y


def test_three_labels_are_right_about_as_often_as_they_say():
    X, y = clouds(30, 1)
    m = SVM("rbf", gamma=0.002, C=2.0).fit(X, y)
    held, seen = clouds(60, 9)
    m.calibrate(held, seen)
    tests, truth = clouds(60, 5)
    names = ("one", "three", "two")  # rising
    said = 0.0
    for k in range(60):
        found = m.predict_proba(tests[k])
        assert abs(sum(found) - 1) < 1e-4 and min(found) >= 0
        said += found[names.index(truth[k])]
    assert 0.6 < said / 60 < 0.95, said / 60
    again(m).predict_proba(tests[0])


def test_refused_and_forgotten():
    X, y = clouds(30, 1)
    m = SVM("rbf", gamma=0.002)
    fails(("fitted",), m.calibrate, X, y)
    m.fit(X, y)
    fails(("predict_proba", "calibrate"), m.predict_proba, X[0])
    fails(("y", "labels", "one"), m.calibrate, X[:2], y[:2])
    fails(("y", "four"), m.calibrate, X[:1], ["four"])
    fails(("X", "2", "1"), m.calibrate, [[1]], ["one"])
    m.calibrate(X, y)
    fails(("out", "3", "2"), m.predict_proba, X[0], bytearray(2))
    m.fit(X, y)
    fails(("calibrate",), m.predict_proba, X[0])
    steps = m.calibrate_steps(X, y)
    next(steps)
    steps.close()
    fails(("calibrate",), m.predict_proba, X[0])
