# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "Python files fill 32 KB: test_net_on_32k.py freezes them"}
"""A program with a sum that fits and places that do not: refused, on every runtime alike."""

from acclimate import _native

_native.load("net")  # the largest block first

import net_checks  # noqa: E402
import net_vectors_mlp as v  # noqa: E402

from acclimate.net import Net  # noqa: E402

_CONSTANTS, _OUTPUT, _TABLE, _OUTPUTS, _INPUT_BYTES, _INPUT = 12, 32, 44, 48, 28, 68


def changed(at, value, size=4):
    program = bytearray(v.PROGRAM)
    program[at : at + size] = value.to_bytes(size, "little")
    return program


def test_places_of_the_header_lie_inside():
    for at, value, size in (
        (_OUTPUT, 1 << 20, 4),
        (_OUTPUTS, 0, 2),
        (_OUTPUTS, 60000, 2),
        (_TABLE, 1 << 20, 4),
        (_INPUT, 1 << 20, 4),
    ):
        program = changed(at, value, size)
        found = net_checks.refused(lambda p=program: Net(p, v.WEIGHTS, check=False))
        assert "damaged" in found, (at, found)


def test_labels_that_are_no_class_are_refused():
    net = Net(v.PROGRAM, v.WEIGHTS)
    for label in (3, -1, None, 1.5, (1,), "1"):
        found = net_checks.refused(net.train_step, v.INPUTS[0], label)
        assert "label: expected 0 to 2" in found, label


def test_a_table_of_zeros_divides_nothing():
    number = int.from_bytes
    at = number(bytes(v.PROGRAM[12:16]), "little") + number(bytes(v.PROGRAM[44:48]), "little")
    program = bytearray(v.PROGRAM)
    program[at : at + 64] = bytes(64)
    net = Net(program, v.WEIGHTS, check=False)
    net.set_rate(*v.RATE)
    net.predict(v.INPUTS[0])
    assert net.confidence() == 0
    assert net.train_step(v.INPUTS[0], v.LABELS[0]) == 0


def test_instructions_that_name_what_is_not_there_are_refused():
    end = 76 + int.from_bytes(bytes(v.PROGRAM[16:18]), "little")
    program = bytearray(v.PROGRAM)
    refusals = 0
    for at in range(76, end):
        kept, program[at] = program[at], 120
        try:
            Net(program, v.WEIGHTS, check=False).predict(v.INPUTS[0])
        except ValueError as error:
            refusals += "program:" in str(error)
        program[at] = kept
    assert refusals > 3
