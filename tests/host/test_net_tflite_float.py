# SPDX-License-Identifier: MIT
"""Float .tflite files against TensorFlow Lite Micro, and files whose weights alone are small."""

import numpy as np
import pytest

from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_tflite import network_from_tflite
from acclimate_host.model.losses import ROWS_NOTE, SOFTMAX_NOTE
from acclimate_host.model.quantize import quantize
from harness.errors import naming

runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")

from tflite_writer import FloatWriter, window  # noqa: E402  (needs the wheel above)

SHAPE = (1, 9, 8, 3)


def written(stored):
    """Return a float model; `stored` says how its weights are kept."""
    net = FloatWriter(SHAPE, stored)
    net.layer("CONV_2D", (6, 3, 3, 3), (1, 5, 4, 6), 0, "Conv2DOptions", **window((2, 2), 0, 1))
    net.op("LEAKY_RELU", (net.last,), (1, 5, 4, 6), "LeakyReluOptions", alpha=0.25)
    net.op("MAXIMUM", (net.last, net.number(0.1)), (1, 5, 4, 6))
    net.layer("DEPTHWISE_CONV_2D", (1, 3, 3, 6), (1, 5, 4, 6), 3, "DepthwiseConv2DOptions",
              depthMultiplier=1, **window((1, 1), 0, 3))  # fmt: skip
    mean = (net.last, net.constant([1, 2]))
    net.op("MEAN", mean, (1, 1, 1, 6), "ReducerOptions", keepDims=True)
    net.op("RESHAPE", (net.last, net.constant([1, 6])), (1, 6), "ReshapeOptions")
    net.layer("FULLY_CONNECTED", (5, 6), (1, 5), 0, "FullyConnectedOptions")
    net.op("LOGISTIC", (net.last,), (1, 5))
    return net


def rescaled():
    """Constants at the input and behind layers, as Keras' Rescaling and normalization."""
    net = FloatWriter(SHAPE, "float32")
    plain = {"fusedActivationFunction": 0}
    net.op("MUL", (net.last, net.number(0.5)), SHAPE, "MulOptions", **plain)
    net.op("SUB", (net.number([0.3, -0.2, 1.1]), net.last), SHAPE, "SubOptions", **plain)
    net.layer("CONV_2D", (4, 3, 3, 3), (1, 7, 6, 4), 0, "Conv2DOptions", **window((1, 1), 1))
    net.op("MUL", (net.last, net.number([2, 0.4, 1, -1])), (1, 7, 6, 4), "MulOptions", **plain)
    shift = net.number([[[[0.1, 0.2, 0.3, -0.4]]]])
    net.op("ADD", (net.last, shift), (1, 7, 6, 4), "AddOptions", fusedActivationFunction=1)
    twice = net.op("DIV", (net.last, net.number(0.7)), (1, 7, 6, 4), "DivOptions", **plain)
    net.op("SUB", (twice, net.number(0.1)), (1, 7, 6, 4), "SubOptions", **plain)
    net.op("ADD", (net.last, twice), (1, 7, 6, 4), "AddOptions", **plain)
    return net


def given(count=7):
    return np.random.default_rng(4).normal(0, 1, (count, *SHAPE[1:])).astype(np.float32)


def ours(net):
    network = network_from_tflite(net.finish(), "m.tflite")
    assert not network.quantized
    return network, FloatRun(network).predict(given().transpose(0, 3, 1, 2))


@pytest.mark.parametrize("net", [written("float32"), rescaled()], ids=["layers", "rescaled"])
def test_a_float_model_gives_what_tflite_micro_gives(net):
    theirs = runtime.Interpreter.from_bytes(net.finish(), arena_size=100_000)
    wanted = []
    for sample in given():
        theirs.set_input(sample[None], 0)
        theirs.invoke()
        wanted.append(theirs.get_output(0).ravel())
    network, got = ours(net)
    edges = network.graph[network.output].shape
    got = got.reshape(-1, *edges).transpose(0, 2, 3, 1).reshape(len(got), -1)
    assert got == pytest.approx(np.array(wanted), abs=1e-5)


@pytest.mark.parametrize("stored, near", [("float16", 2e-3), ("int8", 0.05)])
def test_small_weights_are_made_real(stored, near):
    exact, got = ours(written("float32"))[1], ours(written(stored))[1]
    assert got == pytest.approx(exact, abs=near) and not np.array_equal(got, exact)


def test_a_float_model_becomes_int8():
    network, wanted = ours(written("float32"))
    small, report = quantize(network, given(200).transpose(0, 3, 1, 2))
    assert small.quantized and report.agreement > 0.8


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda n: n.op("QUANTIZE", (n.last,), SHAPE), ("QUANTIZE in a float", "throughout")),
        (
            lambda n: n.op("TRANSPOSE", (n.op("RELU", (n.last,), SHAPE), n.last), (1, 8, 9, 3)),
            ("TRANSPOSE to", "constant places"),
        ),
        (
            lambda n: n.op("MAXIMUM", (n.last, n.op("TANH", (n.last,), SHAPE)), SHAPE),
            ("MAXIMUM of two signals", "one number"),
        ),
        (
            lambda n: n.op("DIV", (n.last, n.op("TANH", (n.last,), SHAPE)), SHAPE, "DivOptions",
                           fusedActivationFunction=0),
            ("DIV of two signals", "a product or sum"),
        ),
        (
            lambda n: n.op("DIV", (n.number(2), n.last), SHAPE),
            ("DIV of a constant map", "a constant per channel"),
        ),
        (
            lambda n: n.op("SUB", (n.last, n.number(np.ones((1, 1, 8, 1)))), SHAPE),
            ("SUB of a constant map", "a constant per channel"),
        ),
    ],
)  # fmt: skip
def test_what_a_float_model_cannot_have_is_named(change, words):
    net = FloatWriter(SHAPE, "float32")
    net.op("TANH", (net.last,), SHAPE)
    change(net)
    with pytest.raises(GraphError, check=naming(*words)):
        network_from_tflite(net.finish(), "m.tflite")


@pytest.mark.parametrize("shape, note", [((1, 5), SOFTMAX_NOTE), ((1, 4, 5), ROWS_NOTE)])
def test_a_softmax_of_each_row_is_not_one_of_classes(shape, note):
    net = FloatWriter(shape, "float32")
    net.op("LOGISTIC", (net.last,), shape)
    net.op("SOFTMAX", (net.last,), shape, "SoftmaxOptions", beta=1.0)
    assert network_from_tflite(net.finish(), "m.tflite").notes == (note,)


def test_a_softmax_over_one_value_is_refused():
    net = FloatWriter((1, 4, 1), "float32")
    net.op("LOGISTIC", (net.last,), (1, 4, 1))
    net.op("SOFTMAX", (net.last,), (1, 4, 1), "SoftmaxOptions", beta=1.0)
    with pytest.raises(GraphError, match="SOFTMAX over 1 value: one over the classes"):
        network_from_tflite(net.finish(), "m.tflite")
