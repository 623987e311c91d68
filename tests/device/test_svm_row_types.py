# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Rows in buffers of another type than the store: as lists of the same numbers, never as bits."""

from array import array

from acclimate.svm import SVM

BASE = [0, 0, 0, 1, 1, 0, 1, 1, 5, 5, 5, 6, 6, 5, 6, 6]
Y = [0, 0, 0, 0, 1, 1, 1, 1]


def data(code, factor, offset=0):
    return array(code, [v * factor + offset for v in BASE])


def answers(model, flat, make):
    return [model.predict(make(flat[i : i + 2])) for i in range(0, len(flat), 2)]


def test_wide_integers_are_no_bits_of_floats():
    for kernel in ("linear", "rbf", "poly"):
        X = data("i", 100000)  # kept as float32: items of the same size
        model = SVM(kernel=kernel, state="float").fit(X, Y)
        for make in (list, memoryview, lambda row: row):
            assert answers(model, X, make) == Y, kernel
        assert list(model.predict_many(X, bytearray(8))) == Y


def test_integers_far_from_zero_are_the_same_as_lists():
    for kernel in ("linear", "rbf"):
        X = data("i", 1, 1000000000)
        model = SVM(kernel=kernel).fit(X, Y)
        assert model.warning is None
        for make in (list, memoryview, lambda row: row):
            assert answers(model, X, make) == Y, kernel


def test_scale_takes_any_size_that_it_is_asked_for():
    for factor in (1e9, 1e12, 1e15, 1e18):
        for state in ("float", "fixed"):
            model = SVM(kernel="rbf", scale=True, state=state).fit(data("f", factor), Y)
            assert answers(model, data("f", factor), list) == Y, (factor, state)
    model = SVM(scale=True).fit([[0], [1 << 40], [3 << 40], [4 << 40]], [0, 0, 1, 1])
    assert [model.predict([k << 40]) for k in (0, 1, 3, 4)] == [0, 0, 1, 1]


def test_a_view_is_what_its_array_is():
    for storage, rows in (
        ("uint8", (array("b", (-1, 2)), array("h", (300, 2)), array("f", (1.5, 2)))),
        ("int8", (array("B", (200, 2)), array("h", (-300, 2)), array("f", (1.5, 2)))),
        ("int16", (array("H", (60000, 2)), array("i", (-100000, 2)), array("f", (1.5, 2)))),
    ):
        for kernel in ("linear", "rbf"):
            model = SVM(kernel=kernel, storage=storage).fit(data("h", 1), Y)
            for row in rows:
                for given in (row, memoryview(row), list(row)):
                    try:
                        model.predict(given)
                    except ValueError as error:
                        assert str(error).startswith("row: expected whole numbers "), error
                    else:
                        raise AssertionError((storage, kernel, row))
            assert model.predict(memoryview(array("f", (6, 6)))) == 1


def test_decisions_go_to_floats_only():
    model = SVM(kernel="rbf").fit(data("h", 1), Y)
    for out in (array("h", (0, 0)), bytearray(4)):
        before = bytes(out)
        try:
            model.decision([0, 0], out)
        except (TypeError, ValueError):
            assert bytes(out) == before
        else:
            raise AssertionError(out)
