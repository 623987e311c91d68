# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Labels are answered as they were given, and kept in the file."""

import os

from raised import fails

from acclimate.svm import SVM
from acclimate.svm import labels as _labels  # noqa: F401  the extra of this file

PATH = "svm_labels_test.bin"
X = [[0.5, 0], [1, 0], [0, 1], [9, 9], [8, 9], [0, 9], [1, 9], [1, 8], [0, 8]]
GIVEN = (
    [-1, -1, -1, 100000, 100000, 7, 7, 7, 7],
    ["fine"] * 3 + ["worn"] * 2 + ["broken \u00fc"] * 4,
    [-1.0, -1, -1, 255, 255, 256, 256, 256, 256],
)


def again(m):
    m.save(PATH)
    other = SVM.load(PATH)
    os.remove(PATH)
    return other


def test_any_labels_are_answered_as_given():
    for y in GIVEN:
        for options in ({"kernel": "rbf", "gamma": 0.1}, {"state": "fixed"}):
            m = SVM(C=10.0, **options).fit(X, y)
            assert [m.predict(r) for r in X] == y
            assert m.evaluate(X, y) == 1 and str(y[0]) in m.report(X, y)
            out = [None] * 9
            m.predict_many(X, out)
            assert out == y
            other = again(m)
            assert [other.predict(r) for r in X] == y
            assert list(other.decision(X[0])) == list(m.decision(X[0]))


def test_two_labels_rise_as_scikit_learn_sorts_them():
    m = SVM().fit([[0], [1], [8], [9]], [1, 1, -1, -1])
    assert m.decision([9]) < 0 < m.decision([0])
    assert m.predict([9]) == -1


def test_weights_of_labels_go_by_the_labels_given():
    rows = [[i] for i in range(20)] + [[12], [13], [14]]
    y = ["no"] * 20 + ["yes"] * 3
    plain = SVM("rbf", gamma=0.1).fit(rows, y)
    fair = SVM("rbf", gamma=0.1, class_weight={"yes": 7}).fit(rows, y)
    count = [sum([m.predict(r) == "yes" for r in rows[20:]]) for m in (plain, fair)]
    assert count[0] < count[1] == 3
    fails(("class_weight[yes]", "-1"), SVM(class_weight={"yes": -1}).fit, rows, y)


def test_samples_are_added_with_labels_as_given():
    m = SVM(budget=8, C=10.0)
    for k in range(9):
        m.add(X[k], GIVEN[1][k])
    assert [m.predict(X[k]) for k in (0, 3, 8)] == [GIVEN[1][k] for k in (0, 3, 8)]
    other = again(m)
    other.add([20, 0], "new")
    assert other.predict([20, 0]) == "new" and other.predict(X[0]) == "fine"
    fails(("label", "fine", "3"), m.add, [1, 1], 3)
    m = SVM(budget=8, C=10.0)
    for k in range(8):
        m.add(X[k], GIVEN[0][k])
    assert m.predict(X[3]) == 100000


def test_labels_that_are_refused():
    m = SVM().fit([[0], [1]], ["a", "b"])
    for y, words in (
        ([0.5, -1], ("y[0]", "0.5")),
        ([float("nan"), 1], ("y[0]", "nan")),
        (["a", 1], ("y", "both")),
        ([None, 1], ("y[0]", "None")),
        ([1 << 31, 1], ("y[0]", "32 bits")),
        (["a", "a"], ("2 classes", "1")),
        (["a\0", "b"], ("y[0]", "zero")),
    ):
        fails(words, m.fit, [[0], [1]], y)
        assert m.predict([1]) == "b"
