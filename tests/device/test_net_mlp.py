# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "Python files fill 32 KB: test_net_on_32k.py freezes them"}
"""A small MLP predicts and trains all its weights, on the 32 KB board too."""

from acclimate import _native

_native.load("net")  # the largest block first

import net_checks  # noqa: E402
import net_vectors_mlp as v  # noqa: E402


def test_predictions_are_the_reference_s():  # case: J10
    net_checks.check_predictions(v)


def test_training_gives_the_reference_s_bytes():  # case: J10
    net_checks.check_training(v)


def test_a_generator_may_stop_anywhere():
    net_checks.check_generator(v)


def test_what_does_not_fit_is_refused_before_anything_changes():
    net_checks.check_refusals(v)


def test_accuracy_and_confidence():
    net = net_checks.open_net(v)
    assert net.bytes_needed(v.PROGRAM) == len(net._arena)
    right = [net.predict(x) for x in v.INPUTS]
    assert net.evaluate(list(zip(v.INPUTS, right))) == 1.0  # noqa: B905
    net.predict(v.INPUTS[0])
    assert 255 // 3 <= net.confidence() <= 255


def test_weights_go_to_another_net():
    program = bytearray(v.PROGRAM)
    first, second = net_checks.open_net(v, program), net_checks.open_net(v, program)
    first.train_step(v.INPUTS[0], v.LABELS[0])
    second.load(first.weights())
    assert second.weights() == first.weights() != v.WEIGHTS
