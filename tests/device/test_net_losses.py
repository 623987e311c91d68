# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "Python files fill 32 KB"}
"""Losses beside cross-entropy, with the native module or in Python, on every board."""

from array import array

from acclimate import _native

_native.load("net")  # the largest block first

import net_checks  # noqa: E402
import net_vectors_binary as binary  # noqa: E402
import net_vectors_same as same  # noqa: E402
import net_vectors_squared as squared  # noqa: E402


def trained(v):
    net = net_checks.open_net(v)
    for x, target, share in zip(v.INPUTS, v.LABELS, v.SHARES):  # noqa: B905
        assert net.train_step(x, target) == share
        assert net.loss() > 0
    assert net.moved == v.MOVED and net.rails == v.RAILS
    assert bytes(net.weights()) == v.TRAINED
    return net


def test_numbers_are_learned_to_the_reference_s_bytes():
    net = trained(squared)
    assert net.evaluate([(squared.INPUTS[0], squared.LABELS[0])]) > 0


def test_labels_are_learned_to_the_reference_s_bytes():
    trained(binary)


def test_an_autoencoder_learns_to_the_reference_s_bytes_and_scores():
    net = trained(same)
    assert net.anomaly_score(same.INPUTS[0]) > 0


def test_targets_are_refused():
    net = net_checks.open_net(squared)
    for bad in ((1, 2), (0, 0, float("nan")), (0, 0, 1e9), None):
        assert "target" in net_checks.refused(net.train_step, squared.INPUTS[0], bad)
    assert bytes(net.weights()) == squared.WEIGHTS


def test_targets_that_are_no_numbers_are_named():
    net = net_checks.open_net(squared)
    n = len(net.real_outputs())
    for bad in (None, "a", [1]):
        said = net_checks.refused(net.train_step, squared.INPUTS[0], [0] * (n - 1) + [bad])
        assert "target: number %d is %r" % (n - 1, bad) in said


def test_readings_that_were_not_quantized_are_refused():
    net = net_checks.open_net(squared)
    real = array("f", bytes(4 * net.input_bytes))
    assert "x: expected" in net_checks.refused(net.predict, real)
    assert "x: expected" in net_checks.refused(net.train_step, real, [0] * len(net.real_outputs()))
