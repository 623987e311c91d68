# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "Python files fill 32 KB"}
"""Calls of a network in an order that nobody planned: what is refused leaves it as it was."""

from array import array

from acclimate import _native

_native.load("net")  # the largest block first

import net_checks  # noqa: E402
import net_vectors_kinds as v  # noqa: E402

from acclimate.net import Net  # noqa: E402


def trained():
    net = net_checks.open_net(v)
    net.train_step(v.INPUTS[0], v.LABELS[0])
    return net


def test_a_reset_that_is_refused_leaves_state_rate_and_weights():
    net, other = trained(), trained()
    kept = bytes(net.weights(True))
    assert "weights: expected" in net_checks.refused(net.reset, v.WEIGHTS + b"1")
    for seed in (1 << 32, -1, 1.5, "a"):
        assert "seed: expected" in net_checks.refused(net.reset, v.WEIGHTS, seed)
    assert bytes(net.weights(True)) == kept
    shares = [n.train_step(v.INPUTS[1], v.LABELS[1]) for n in (net, other)]
    assert shares[0] == shares[1] and bytes(net.weights()) == bytes(other.weights())


def test_what_is_no_buffer_of_bytes_is_refused_by_its_name():
    net = trained()
    kept, x = bytes(net.weights(True)), v.INPUTS[0]
    for wrong in (None, list(x), "a" * len(x), 7, array("h", list(x))):
        assert "x: expected bytes, got" in net_checks.refused(net.predict, wrong)
        assert "x: expected bytes, got" in net_checks.refused(net.train_step, wrong, 0)
    n = len(v.WEIGHTS)
    for wrong in (None, list(v.WEIGHTS), "a" * n, array("h", [0] * n)):
        assert "weights: expected bytes, got" in net_checks.refused(net.load, wrong)
        assert "weights: expected bytes, got" in net_checks.refused(net.reset, wrong)
    size = Net.bytes_needed(v.PROGRAM)
    for wrong in (size, [0] * size, bytes(size), array("h", [0] * size)):
        text = net_checks.refused(Net, bytearray(v.PROGRAM), v.WEIGHTS, wrong)
        assert "arena: expected" in text
    assert bytes(net.weights(True)) == kept


def test_signed_bytes_are_taken_as_what_they_are_and_take_no_heap():
    net, other = net_checks.open_net(v), net_checks.open_net(v)
    x = v.INPUTS[0]
    signed = array("b", [byte - 256 if byte > 127 else byte for byte in x])
    net.load(array("b", [byte - 256 if byte > 127 else byte for byte in v.WEIGHTS]))
    assert net.predict(signed) == other.predict(x)
    net_checks.lock(net)
    net.train_step(signed, 1)
    net_checks.unlock(net)
    other.train_step(x, 1)
    assert bytes(net.weights()) == bytes(other.weights())


def test_a_rate_that_is_no_number_or_far_off_is_refused_and_the_old_one_stays():
    net = trained()
    kept = bytes(net.weights(True))
    for rate in (None, "a", [1], (1, 2), -1):
        assert "rate: expected" in net_checks.refused(net.set_rate, rate)
    for exponent in (None, 0.5, "a", 41, -101, 1 << 40):
        assert "exponent: expected" in net_checks.refused(net.set_rate, 1, exponent)
    assert bytes(net.weights(True)) == kept


def test_a_step_in_slices_does_not_go_on_after_another_pass():
    for other in (
        lambda net: net.predict(v.INPUTS[1]),
        lambda net: net.train_step(v.INPUTS[1], v.LABELS[1]),
        lambda net: next(net.train([(v.INPUTS[1], v.LABELS[1])], 2)),
    ):
        net = trained()
        slices = net.train([(v.INPUTS[0], v.LABELS[0])], 2)
        next(slices)
        other(net)
        assert "another pass" in net_checks.refused(next, slices)
        net.train_step(v.INPUTS[0], v.LABELS[0])


def test_between_two_steps_of_a_training_the_network_may_predict():
    net, steps = net_checks.open_net(v), 0
    for done in net.train(zip(v.INPUTS, v.LABELS)):  # noqa: B905
        if done > steps:
            steps = done
            net.predict(v.INPUTS[0])
    assert steps == len(v.INPUTS) and bytes(net.weights()) == v.TRAINED


class Rows:
    """As a Reservoir that holds nothing."""

    def __init__(self, width):
        self.width, self.count = width, 0


def test_fewer_old_rows_than_none_are_refused_before_a_step():
    net = trained()
    kept = bytes(net.weights(True))
    for old in (-1, 0.5, None, "a"):
        steps = net.train([(v.INPUTS[0], 0)], replay=Rows(net.input_bytes), old=old)
        assert "old: expected" in net_checks.refused(next, steps)
    assert bytes(net.weights(True)) == kept
    for _ in net.train([(v.INPUTS[0], 0)], 1 << 40, Rows(net.input_bytes), 0):
        pass
    assert bytes(net.weights(True)) != kept


def test_a_schedule_that_fails_moves_nothing_and_training_goes_on():
    net = trained()
    kept = bytes(net.weights(True))

    def schedule(step):
        raise OSError(5)

    net.set_rate(schedule)
    try:
        net.train_step(v.INPUTS[0], 0)
        raise AssertionError("no error")
    except OSError:
        pass
    assert bytes(net.weights(True)) == kept
    net.set_rate(*v.RATE)
    net.train_step(v.INPUTS[0], 0)
    assert bytes(net.weights(True)) != kept


def test_two_networks_over_one_program_do_not_meet():
    program = bytearray(v.PROGRAM)
    nets = [Net(program, v.WEIGHTS, seed=v.SEED) for _ in range(2)]
    for net in nets:
        net.set_rate(*v.RATE)
    for x, label in zip(v.INPUTS, v.LABELS):  # noqa: B905
        for net in nets:
            net.train_step(x, label)
    assert bytes(nets[0].weights()) == bytes(nets[1].weights()) == v.TRAINED
