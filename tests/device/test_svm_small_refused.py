# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21-pure": "the solver in Python needs more than 32 KB of RAM"}
"""What the small machine refuses by name instead of going on for ever."""

from array import array

from raised import fails

from acclimate.svm.small import SVM


def test_settings_that_are_no_finite_numbers_above_zero():
    for name in ("C", "tol", "max_iter"):
        for value in (0, -1, float("inf"), float("nan"), "1", None):
            fails((name, "> 0"), lambda n, v: SVM(**{n: v}), name, value)


def test_bytes_of_the_other_sign_are_numbers_that_both_types_hold():
    y = bytes((0, 0, 1, 1))
    m = SVM(storage="int8").fit(array("b", (-8, -7, 7, 8)), y)
    for row, label in ((bytearray((127,)), 1), (bytes((0,)), 1), (array("b", (-128,)), 0)):
        assert m.predict(row) == label == (m.decision(row) >= 0)
    for value in (128, 255):
        for row in (bytearray((value,)), bytes((value,)), array("B", (value,))):
            fails(("row", "-128..127", str(value)), m.predict, row)
            fails(("row", "-128..127", str(value)), m.decision, row)
    m = SVM().fit(bytearray((1, 2, 200, 201)), y)
    assert m.predict(array("b", (127,))) == 1 and m.predict(array("b", (0,))) == 0
    assert m.predict(memoryview(bytearray((200,)))) == 1
    for value in (-1, -128):
        fails(("row", "0..255", str(value)), m.predict, array("b", (value,)))


def test_what_is_no_buffer_is_refused_by_the_name_of_the_argument():
    X, y = bytearray((20, 0, 22, 1, 60, 9, 64, 8)), bytes((0, 0, 1, 1))
    m = SVM().fit(X, y)
    for value in (None, 5, 2.5, "ab", [], "abcd"):
        fails(("X, y",), SVM().fit, X, value)
        fails(("X",), SVM().fit, value, y)
        if value != "ab":  # on boards a text of the right length is a buffer of bytes
            fails(("row",), m.predict, value)
            fails(("row",), m.decision, value)
        fails(("X, y",), m.evaluate, X, value if value != "abcd" else 7)
        fails(("X, y",), m.report, value, y)
    for steps in ("1", 2.5, [1]):
        fails(("steps",), lambda v: list(m.fit_steps(X, y, v)), steps)
    fails(("max_iter",), SVM, 1.0, 1e-3, 1 << 40)
    fails(("arena", "bytearray"), SVM(arena=5).fit, X, y)
