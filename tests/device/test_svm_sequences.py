# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""What one call leaves behind for the next: stopped, refused and changed between the calls."""

import os
from array import array

from refusal import raised

from acclimate.svm import SVM
from acclimate.svm import kinds as _kinds  # noqa: F401  the extra of this file

PATH = "svm_sequences_test.bin"
X = [[i % 7, (i * 5) % 11, i // 7] for i in range(21)]
Y = [i // 7 for i in range(21)]
NAN = float("nan")


def again(m):
    m.save(PATH)
    other = SVM.load(PATH)
    os.remove(PATH)
    return other


def answers(m):
    return [m.predict(row) for row in X] + [tuple(m.predict_many(X, bytearray(21)))]


def values(m):
    out = array("f", (0, 0, 0))
    return [list(m.decision(row, out)) for row in X]


def test_samples_that_were_not_learned_are_in_no_file():
    for n in (8, 9, 10, 11):  # labels are padded to four in a file
        m = SVM("rbf", gamma=0.1, budget=30).fit(X[: 2 * n : 2], Y[: 2 * n : 2])
        steps = m.add_steps([1, 2, 3], 2, 1)
        for _ in range(8):  # the row is among the samples by now
            next(steps)
        assert len(m.samples.labels) == n + 1
        steps.close()
        other = again(m)
        assert bytes(other.samples.labels) == bytes(m.samples.labels) == bytes(Y[: 2 * n : 2])
        assert bytes(other.samples.x) == bytes(m.samples.x) == bytes(m._model.x)
        assert values(other) == values(m)


def test_a_machine_that_kept_no_samples_adds_none():
    for options in ({"scale": True}, {"kernel": "rbf", "gamma": 0.1}):
        m = SVM(**options).fit(X, Y)
        before = answers(m)
        m.budget = 30
        assert "budget" in raised(ValueError, m.add, [1, 2, 3], 1)
        assert answers(m) == before
        other = again(m)  # without samples
        assert other.samples is None and answers(other) == before
        assert "budget" in raised(ValueError, other.add, [1, 2, 3], 1)


def test_samples_of_a_former_training_are_not_those_of_this_one():
    m = SVM("rbf", gamma=0.1, budget=30).fit(X, Y)
    m.budget = 0
    m.fit(X[:14], Y[:14])
    m.budget = 30
    before = answers(m)
    assert "budget" in raised(ValueError, m.add, [1, 2, 3], 1)
    assert answers(m) == before and answers(again(m)) == before
    m.fit(X, Y)
    m.add([1, 2, 3], 1)
    assert len(m.samples.labels) == 22


def test_a_file_has_the_degree_of_the_training():
    m = SVM("poly", gamma=0.1, degree=3).fit(X, Y)
    before = answers(m)
    m.degree = 2
    other = again(m)
    assert other.degree == 3 and answers(other) == before


def test_a_first_training_that_is_stopped_anywhere_answers_and_is_saved():
    for options in (
        {"kernel": "rbf", "gamma": 0.1},
        {"kernel": "poly", "state": "fixed", "degree": 2},
        {"budget": 30},
    ):
        stop = saved = 0
        while True:
            m = SVM(**options)
            steps = m.fit_steps(X, Y, 4)
            count = 0
            for _ in steps:
                count += 1
                if count == stop:
                    break
            if count < stop:
                break
            steps.close()
            if m._job is not None:
                other, saved = again(m), saved + 1
                assert len(m._model.pairs) == 3 and values(other) == values(m), (options, stop)
                assert [other.predict(row) for row in X] == [m.predict(row) for row in X]
            stop += 1 if stop < 10 else 3 if stop < 40 else 11
        assert saved > 10


def test_products_beyond_float32_are_refused_not_halved_for_ever():
    for options, one in (
        (dict(kernel="poly", degree=9, C=1e30, gamma=100.0), 9),
        (dict(kernel="poly", degree=9, gamma=1e35), 9),
        (dict(kernel="poly", coef0=1e30, gamma=1e-10), 9),
        (dict(kernel="rbf", gamma=1e-36), 2.0**-24),
    ):
        m = SVM(state="fixed", **options)
        message = raised(ValueError, m.fit, [[0, 0], [one, one], [one, 0], [0, one]], [0, 1, 1, 0])
        assert message.startswith("C, gamma, coef0"), message
        assert "call fit first" in raised(
            ValueError, m.predict, [1, 1]
        )  # what has failed is no model
    y = [-3e38, 3e38, 0, 1]
    assert raised(ValueError, SVM(kind="regression").fit, X[:4], y).startswith("y[0]")


def test_a_first_training_that_failed_is_no_model():
    m = SVM(state="fixed", storage="float32")
    assert "storage" in raised(ValueError, m.fit, X, Y)
    assert "call fit first" in raised(ValueError, m.predict, [1, 1, 1])


def test_a_saved_and_a_loaded_machine_suspect_the_same_samples():
    m = SVM(C=0.01, budget=12)
    for k in range(40):  # every third label is wrong
        m.add([k * 7 % 13 + 20 * (k % 2), k * 5 % 11], (k % 2) ^ (k % 3 == 0))
    assert sum(m.samples.wrong)
    other = again(m)
    for k in range(12):
        for machine in (m, other):
            machine.add([k * 3 % 13 + 20 * (k % 2), k], k % 2)
        assert bytes(m.samples.x) == bytes(other.samples.x), k


def learning(**options):
    return SVM("rbf", gamma=0.1, budget=30, **options).fit(X, Y)


def size_of(m):
    m.save(PATH)
    size = os.stat(PATH)[6]
    os.remove(PATH)
    return size


def test_a_loaded_machine_learns_on_with_what_the_saved_one_had():
    usual = values(learning())
    for name, value in (
        ("class_weight", {1: 9.0, 7: 2.0}),
        ("class_weight", {0: 0.125}),
        ("class_weight", "balanced"),
        ("tol", 0.5),
        ("max_iter", 3),
    ):
        m = learning(**{name: value})
        other = again(m)
        assert getattr(other, name) == value
        for machine in (m, other):
            machine.add([1, 2, 3], 1)
            machine.add([2, 9, 1], 2)
        assert values(m) == values(other) != usual


def test_what_is_usual_and_what_learns_no_more_takes_no_room_in_a_file():
    usual = size_of(learning())
    assert usual == size_of(learning(tol=1e-3, max_iter=10000, class_weight=None))
    assert usual < size_of(learning(max_iter=9999))
    m = learning(class_weight={1: 1.0})
    m.budget = 0
    one, m.class_weight = size_of(m), None
    assert one == size_of(m) < usual


def test_a_first_sample_may_be_whole_floats_and_is_refused_by_name():
    m = SVM(budget=9)
    m.add([100.0, 2.0], 0)
    m.add([150.0, 3.0], 1)
    assert m.predict([151, 3]) == 1 and m.samples.code == "h"
    for storage in (None, "int16"):
        for row in (["a", 1], [None, 1], [NAN, 1], [1e39, 1]):
            m = SVM(budget=9, storage=storage)
            assert "row" in raised(ValueError, m.add, row, 0)
            assert m.samples is None
    for row in ([100.5, 2], [2**40, 2], [40000, 2**31]):
        assert "row" in raised(ValueError, SVM(budget=9, storage="int16").add, row, 0)
    m = SVM(budget=9, scale=True).fit(X[:9], [0, 1, 2] * 3)
    assert "row" in raised(ValueError, m.add, [None, 1, 1], 0) and "row" in raised(
        ValueError, m.add, ["a", 1, 1], 0
    )


def test_labels_that_out_does_not_hold_are_refused_not_cut():
    rows = [X[0], X[20]]
    m = SVM().fit(X, [200 if label else 3 for label in Y])
    assert list(m.predict_many(rows, bytearray(2))) == [3, 200]
    assert list(m.predict_many(array("B", rows[0] + rows[1]), array("h", (0, 0)))) == [3, 200]
    for made in (rows, array("B", rows[0] + rows[1])):
        assert "out" in raised(ValueError, m.predict_many, made, array("b", (0, 0)))
    assert "rows" in raised(ValueError, m.predict_many, array("B", [0] * 24), array("f", (0, 0)))
    outlier = SVM("rbf", gamma=0.1, kind="one-class").fit(X)
    assert list(outlier.predict_many([X[9], [90, 90, 90]], array("b", (0, 0)))) == [1, -1]
    assert "out" in raised(ValueError, outlier.predict_many, [X[9], [90, 90, 90]], bytearray(2))
    number = SVM(kind="regression").fit(X, [row[0] + 0.5 for row in X])
    assert "out" in raised(ValueError, number.predict_many, rows, bytearray(2))
    assert list(number.predict_many(rows, [0, 0])) == [number.predict(row) for row in rows]


def test_what_cannot_be_counted_or_weighed_is_named():
    for name, message in (
        ("X", raised(ValueError, SVM(kind="one-class").fit, (row for row in X))),
        ("y", raised(ValueError, SVM(kind="one-class").fit, X, 22)),
        ("y", raised(ValueError, SVM(kind="regression").fit, X, (label for label in Y))),
        ("y[1]", raised(ValueError, SVM(kind="regression").fit, X, [0, None] * 10 + [1])),
        ("class_weight", raised(ValueError, SVM(class_weight={1: "2"}).fit, X, Y)),
        ("coef0", raised(ValueError, lambda: SVM(coef0="1"))),
        ("budget", raised(ValueError, lambda: SVM(budget=2.5))),
        ("budget", raised(ValueError, lambda: SVM(budget=-1))),
        ("nu", raised(ValueError, lambda: SVM(kind="one-class", nu="1"))),
        ("epsilon", raised(ValueError, lambda: SVM(kind="regression", epsilon="1"))),
    ):
        assert message.startswith(name), message


def test_numbers_whose_squares_are_infinite_are_not_scaled_to_nothing():
    rows = [[1.5, 2.0], [2.5, 1e37], [3.5, 4.0], [0.5, 1.0]]
    for state in ("float", "fixed"):
        assert raised(ValueError, SVM(scale=True, state=state).fit, rows, [0, 1, 1, 0]).startswith(
            "X"
        )
