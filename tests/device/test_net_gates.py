# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "Python files fill 32 KB"}
"""Products, functions and moved elements, forward and backward, on every board."""

from acclimate import _native

_native.load("net")  # the largest block first

import net_checks  # noqa: E402
import net_vectors_gates as v  # noqa: E402
import net_vectors_recurrent  # noqa: E402
import net_vectors_svdf  # noqa: E402

import acclimate.net.recurrent  # noqa: E402, F401  (an extra)
from acclimate.net import Net  # noqa: E402


def test_predictions_are_the_reference_s():
    net_checks.check_predictions(v)


def test_training_through_gates_gives_the_reference_s_bytes():
    net_checks.check_training(v)


def test_a_recurrent_layer_goes_on_from_input_to_input():
    check_stream(net_vectors_recurrent)


def test_an_svdf_keeps_what_it_saw():
    check_stream(net_vectors_svdf)


def check_stream(v):
    net = Net(bytearray(v.PROGRAM), v.WEIGHTS)
    for x, wanted in zip(v.INPUTS, v.OUTPUTS):  # noqa: B905
        net.predict(x)
        assert bytes(net.outputs()) == wanted
