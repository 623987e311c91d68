# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "Python files fill 32 KB"}
"""Attention, forward and backward, and programs of it that are damaged, on every board."""

from acclimate import _native

_native.load("net")  # the largest block first

import net_checks  # noqa: E402
import net_vectors_attention as v  # noqa: E402

import acclimate.net.attention  # noqa: E402, F401  (an extra)
from acclimate.net import Net, NetError  # noqa: E402


def test_predictions_are_the_reference_s():
    net_checks.check_predictions(v)


def test_training_through_attention_gives_the_reference_s_bytes():
    net_checks.check_training(v)


def outcome(program):
    """Train one step; return how it was refused, or None."""
    net = Net(program, v.WEIGHTS, check=False)
    net.set_rate(*v.RATE)
    try:
        net.train_step(v.INPUTS[0], v.LABELS[0])
    except NetError as error:
        return str(error)
    return None


def test_counts_and_places_that_do_not_fit_are_refused():
    for found in (v.ATTENTION, v.ATTENTION_GRADIENT):
        for value in (0, 127):
            for number in range(4, 9):  # rows, columns, channels, heads
                program = bytearray(v.PROGRAM)
                program[found[number]] = value
                assert "damaged" in str(outcome(program)), (found, number)
    # The record, q, k, v, y and the gradient: far outside.
    for found, numbers in ((v.ATTENTION, (0, 1, 2, 3, 9)), (v.ATTENTION_GRADIENT, (0, 1, 9, 11))):
        for number in numbers:
            program = bytearray(v.PROGRAM)
            at = found[number]
            assert program[at] > 127  # two bytes
            program[at], program[at + 1] = 0xFF, 0x7F
            assert "damaged" in str(outcome(program)), (found, number)
    program = bytearray(v.PROGRAM)
    program[v.ATTENTION_GRADIENT[12]] = 3  # of q, k or v
    assert "damaged" in str(outcome(program))
