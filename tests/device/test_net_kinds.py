# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "Python files fill 32 KB"}
"""Small inputs that once failed without a word, on every board."""

from acclimate import _native

_native.load("net")  # the largest block first

import net_checks  # noqa: E402
import net_vectors_kinds as v  # noqa: E402

from acclimate.net import Net  # noqa: E402


def fresh():
    return Net(bytearray(v.PROGRAM), v.WEIGHTS, seed=v.SEED)


def test_a_step_before_a_rate_is_refused_and_moves_nothing():  # case: F8
    net = fresh()
    assert "set_rate" in net_checks.refused(net.train_step, v.INPUTS[0], 0)
    assert "set_rate" in net_checks.refused(next, net.train([(v.INPUTS[0], 0)]))
    assert bytes(net.weights()) == v.WEIGHTS and net.moved == 0
    net.set_rate(0.05)
    net.train_step(v.INPUTS[0], 0)
    assert net.moved > 0


def test_a_channel_of_tiny_weights_keeps_its_bias():  # case: F14
    net_checks.check_predictions(v)


def test_counts_of_values_and_bytes_are_compared_and_both_named():  # case: F15
    net = fresh()
    n = net.input_bytes
    for count, room in (
        (2, n),
        (n - 1, n),
        (n + 1, n),
        (n + 3, n + 3),
        (n, n - 1),
        (0, n),
        (n, 0),
    ):
        out = bytearray(b"?" * room)
        text = net_checks.refused(net.quantize, [0.1] * count, out)
        assert "%d into %d bytes, got %d into %d" % (n, n, count, room) in text
        assert bytes(out) == b"?" * room
    out = bytearray(n)
    assert net.quantize([0.1] * n, out) is out and bytes(out) != bytes(n)


def test_a_convolution_at_the_end_is_the_classifier_and_learns():  # case: F17
    assert len(v.WEIGHTS) >= 15 + 12
    net_checks.check_training(v)
