# SPDX-License-Identifier: MIT
"""Random .tflite models: what is imported gives TensorFlow Lite Micro's numbers, or is refused."""

import numpy as np
import pytest

from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_tflite import network_from_tflite
from acclimate_host.model.import_tflite_mean import NOTE
from acclimate_host.model.int8 import Int8Run

runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")

from tflite_random import Random  # noqa: E402  (needs the wheel above)
from tflite_writer import FloatWriter, Writer, window  # noqa: E402

# Seeds, the least share of them that is compared, and how weights are stored for the interpreter:
# it has no float16.
KINDS = {
    "int8": (600, 0.5, "int8"),
    "float32": (400, 0.5, "float32"),
    "float16": (150, 0.5, "rounded"),
}
PLAIN = {"fusedActivationFunction": 0}


def theirs(net, outputs, samples):
    """Return the interpreter's outputs behind each other, or None where it has no such model."""
    try:
        model = runtime.Interpreter.from_bytes(net.finish(*outputs), arena_size=300_000)
    except RuntimeError:
        return None
    found = []
    for sample in samples:
        model.set_input(sample[None], 0)
        model.invoke()
        numbers = [model.get_output(i).ravel() for i in range(1 + len(outputs))]
        found.append(np.concatenate(numbers))
    return np.array(found, float)


def is_moved(made):
    """Tell whether the model only puts the channels of its input last, as converters begin."""
    readers = [op for op in made.net.graph.operators if made.net.first in list(op.inputs)]
    if made.names[0] != "TRANSPOSE" or len(readers) != 1 or made.net.last == made.net.first:
        return False
    axes = made.net.graph.tensors[readers[0].inputs[1]].buffer
    return made.net.model.buffers[axes].data.view(np.int32).tolist() == [0, 2, 3, 1]


def ours(made, network, samples):
    """Return the imported network's outputs in the order of the memory."""
    channels, height, width = network.graph[network.input].shape
    if not is_moved(made):
        samples = samples.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)
    run = (Int8Run if network.quantized else FloatRun)(network)
    edges = network.graph[network.output].shape
    found = run.predict(samples).reshape(-1, *edges).transpose(0, 2, 3, 1)
    return found.reshape(len(samples), -1).astype(float)


def step_of(made, network, wanted):
    """Return how far apart numbers may be; None for a model that is not compared.

    A softmax at the output is left out. A mean of both signs may be a step off, and says so.
    """
    may_differ = NOTE in network.notes
    if "SOFTMAX" in made.names or may_differ and "MEAN" in made.names[:-1]:
        return None
    return 1e-4 * max(1, np.abs(wanted).max()) if made.is_float else may_differ


@pytest.mark.parametrize("kind", KINDS)
def test_random_models_give_the_numbers_of_tflite_micro(kind):
    seeds, share, written = KINDS[kind]
    compared = 0
    for seed in range(seeds):
        made, other = Random(seed, kind), Random(seed, written)
        try:
            network = network_from_tflite(made.net.finish(*made.outputs), "m.tflite")
        except GraphError as error:
            assert "damaged" not in str(error), (seed, made.names, str(error))
            continue
        samples = made.samples()
        wanted = theirs(other.net, other.outputs, samples)
        step = None if wanted is None or not made.names else step_of(made, network, wanted)
        if step is None:
            continue
        apart = np.abs(ours(made, network, samples) - wanted).max()
        assert apart <= step, (seed, made.names, apart)
        compared += 1
    assert compared > share * seeds


def refused(net):
    with pytest.raises(GraphError) as caught:
        network_from_tflite(net.finish(), "m.tflite")
    return str(caught.value)


def same(net, outputs=()):
    """Check that a model gives the numbers of the interpreter; its input keeps its places."""
    random = np.random.default_rng(2)
    samples = random.normal(0, 1, (5, *net.shape_of(net.first)[1:])).astype(np.float32)
    network = network_from_tflite(net.finish(*outputs), "m.tflite")
    channels, height, width = network.graph[network.input].shape
    given = samples.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)
    got = FloatRun(network).predict(given)
    edges = network.graph[network.output].shape
    got = got.reshape(-1, *edges).transpose(0, 2, 3, 1).reshape(len(got), -1)
    assert got == pytest.approx(theirs(net, outputs, samples), abs=1e-5)


@pytest.mark.parametrize("scale", [0.0, -0.1, np.nan, np.inf])
@pytest.mark.parametrize("at", ["weight", "output"])
def test_a_scale_that_is_no_number_above_0_is_refused(scale, at):
    net = Writer((1, 4, 4, 3))
    net.layer("CONV_2D", (4, 3, 3, 3), (1, 2, 2, 4), 0.1, 0, 0, "Conv2DOptions",
              **window((1, 1), 1))  # fmt: skip
    op = net.graph.operators[-1]
    index = op.inputs[1] if at == "weight" else op.outputs[0]
    net.graph.tensors[index].quantization.scale[0] = scale
    net.op("TANH", (net.last,), (1, 2, 2, 4), 1 / 128, 0)
    text = refused(net)
    assert f"CONV_2D with a scale of {scale:g}: scales above 0" in text
    assert ("TANH with a scale" in text) == (at == "output")


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda n: n.op("SOFTMAX", (n.last,), (1, 4, 4), 0.01, 0, "SoftmaxOptions", beta=2.0),
         "SOFTMAX with beta 2: a beta of 1"),
        (lambda n: n.op("LEAKY_RELU", (n.last,), (1, 4, 4), 1.0, 0, "LeakyReluOptions", alpha=-1),
         "LEAKY_RELU with an alpha below 0 in int8: a positive alpha"),
        (lambda n: n.op("CONCATENATION", (n.last, n.last), (1, 4, 8), 0.05, 3,
                        "ConcatenationOptions", axis=2, fusedActivationFunction=1),
         "CONCATENATION with an activation: an activation behind it"),
        (lambda n: n.layer("FULLY_CONNECTED", (5, 16), (1, 5), 0.1, 0, 0, "FullyConnectedOptions",
                           weightsFormat=1),
         "FULLY_CONNECTED with weights in another order: as they are"),
        (lambda n: n.op("RESHAPE", (n.op("TANH", (n.last,), (1, 4, 4), 1 / 128, 0),
                                n.constant([2, 2, 2, 2])), (2, 2, 2, 2), 1 / 128, 0),
         "RESHAPE to (2, 2, 2, 2): at most four axes"),
        (lambda n: n.op("MEAN", (n.last, n.constant([2])), (1, 4), 0.05, 3, "ReducerOptions"),
         "MEAN over axes [2] of (1, 4, 4): mean over height and width"),
    ],
)  # fmt: skip
def test_options_that_would_be_lost_are_refused_by_name(change, words):
    net = Writer((1, 4, 4))
    net.op("ABS", (net.first,), (1, 4, 4), 0.1, 0)
    net.last = net.first
    change(net)
    text = refused(net)
    assert words in text and "ABS" in text


def test_scales_along_another_axis_are_refused():
    net = Writer((1, 4, 4, 4))
    net.layer("CONV_2D", (4, 1, 1, 4), (1, 4, 4, 4), 0.1, 0, 3, "Conv2DOptions",
              **window((1, 1), 1))  # fmt: skip
    assert "CONV_2D with scales along axis 3 of its weights: along axis 0" in refused(net)


def test_a_softmax_that_is_read_within_the_network_is_not_left_out():
    net = Writer((1, 4))
    y = net.op("SOFTMAX", (net.last,), (1, 4), 1 / 256, -128, "SoftmaxOptions", beta=1.0)
    net.op("MUL", (y, y), (1, 4), 1 / 256, -128, "MulOptions", **PLAIN)
    with pytest.raises(GraphError, match="SOFTMAX within the network: softmax at the output"):
        network_from_tflite(net.finish(y), "m.tflite")


def test_a_constant_along_another_axis_is_none_of_each_channel():
    for name, at in (("PRELU", (4, 1, 1)), ("MUL", (1, 4, 1, 1))):
        net = FloatWriter((1, 4, 3, 4), "float32")
        options = {} if name == "PRELU" else {"options": "MulOptions", **PLAIN}
        net.op(name, (net.last, net.number(np.arange(4.0).reshape(at))), (1, 4, 3, 4), **options)
        assert name in refused(net)


def test_an_input_that_is_moved_and_read_as_it_came_keeps_its_places():
    net = FloatWriter((1, 4, 4, 4), "float32")
    x = net.last
    moved = net.op("TRANSPOSE", (x, net.constant([0, 2, 3, 1])), (1, 4, 4, 4))
    net.op("SUB", (x, moved), (1, 4, 4, 4), "SubOptions", **PLAIN)
    same(net)


def test_a_flattened_signal_has_the_channels_that_the_file_says():
    net = FloatWriter((1, 4, 4, 3), "float32")
    flat = net.op("RESHAPE", (net.last, net.constant([1, 1, 1, 48])), (1, 1, 1, 48))
    net.layer("CONV_2D", (3, 1, 1, 48), (1, 1, 1, 3), 0, "Conv2DOptions", **window((1, 1), 1))
    mean = net.op("MEAN", (flat, net.constant([1, 2])), (1, 48), "ReducerOptions", keepDims=False)
    net.op("MUL", (mean, net.number(np.linspace(-1, 1, 48))), (1, 48), "MulOptions", **PLAIN)
    same(net, (flat,))


def test_a_pool_over_all_keeps_its_activation():
    net = FloatWriter((1, 4, 4, 3), "float32")
    net.op("AVERAGE_POOL_2D", (net.last,), (1, 1, 1, 3), "Pool2DOptions", filterHeight=4,
           filterWidth=4, **window((1, 1), 1, 1))  # fmt: skip
    same(net)


def test_parts_of_a_signal_go_on_on_their_own():
    net = FloatWriter((1, 6, 4, 4), "float32")
    x, tail = net.last, [net.constant(v) for v in ([0, -1, 0, 0], [1, 6, 4, 4], [1, 1, 1, 1])]
    last = net.op("STRIDED_SLICE", (x, *tail), (1, 4, 4), "StridedSliceOptions", beginMask=0,
                  endMask=0, shrinkAxisMask=2)  # fmt: skip
    net.layer("FULLY_CONNECTED", (5, 4), (1, 4, 5), 0, "FullyConnectedOptions", keepNumDims=True)
    left = net.op("SPLIT", (net.constant(3), x), (1, 6, 4, 2), "SplitOptions", numSplits=2)
    right = net.activation((1, 6, 4, 2))
    net.graph.operators[-1].outputs = [left, right]
    net.op("SUB", (right, left), (1, 6, 4, 2), "SubOptions", **PLAIN)
    same(net, (last, left))


def without_scale(net):
    net.layer("FULLY_CONNECTED", (5, 16), (1, 5), 0.1, 0, 0, "FullyConnectedOptions")
    net.graph.tensors[net.graph.operators[-1].inputs[1]].quantization = None


def sliced(**masks):
    def change(net):
        constants = [net.constant(v) for v in ([0, 0, 0], [1, 4, 4], [1, 1, 1])]
        names = ("beginMask", "endMask", "ellipsisMask", "newAxisMask", "shrinkAxisMask")
        fields = {**dict.fromkeys(names, 0), **masks}
        net.op("STRIDED_SLICE", (net.last, *constants), (1, 4, 4), 0.05, 3, "StridedSliceOptions",
               **fields)  # fmt: skip

    return change


def probability(net):
    """A softmax that is stored again, and then read."""
    net.op("SOFTMAX", (net.last,), (1, 4, 4), 1 / 256, -128, "SoftmaxOptions", beta=1.0)
    y = net.op("QUANTIZE", (net.last,), (1, 4, 4), 1 / 128, -128)
    net.op("RELU", (y,), (1, 4, 4), 1 / 128, -128)


@pytest.mark.parametrize(
    "change, words",
    [
        (sliced(newAxisMask=2), "STRIDED_SLICE to (1, 4, 4): constant places"),
        (sliced(ellipsisMask=1), "STRIDED_SLICE to (1, 4, 4): constant places"),
        (without_scale, "FULLY_CONNECTED with INT8 weights: constant int8 weights"),
        (lambda n: n.layer("FULLY_CONNECTED", (5, 3), (1, 5), 0.1, 0, 0, "FullyConnectedOptions"),
         "FULLY_CONNECTED over 3 of 16 values: over all values of its input, or of each row"),
        (probability, "SOFTMAX within the network"),
        (lambda n: n.another_input((2, 4), 0.05, 3), "2 inputs: each (1, height"),
    ],
)  # fmt: skip
def test_forms_that_have_no_place_here_are_refused_by_name(change, words):
    net = Writer((1, 4, 4))
    change(net)
    assert words in refused(net)


def test_two_inputs_of_a_wide_type_are_refused():
    net = Writer((1, 4))
    net.op("ADD", (net.last, net.another_input((1, 4))), (1, 4), 0.1, 0, "AddOptions", **PLAIN)
    for index in (net.first, *net.more):
        net.graph.tensors[index].type = 7
    assert "2 inputs (INT16, INT16): float32, or int8 of one scale" in refused(net)


def test_a_mean_over_two_rows_is_not_one_over_columns():
    net = Writer((1, 2, 3, 4))
    net.op("MEAN", (net.last, net.constant([2])), (1, 2, 4), 0.05, 3, "ReducerOptions")
    assert "MEAN over axes [2] of (1, 2, 3, 4)" in refused(net)


def test_a_stored_bias_has_the_steps_of_its_layer_s_sums():
    net = Writer((1, 4), 0.05)
    net.layer("FULLY_CONNECTED", (3, 4), (1, 3), 0.1, 0, 0, "FullyConnectedOptions")
    network = network_from_tflite(net.finish(), "m.tflite")
    weight, bias = (network.graph[name].scale for name in ("fc0.w", "fc0.b"))
    assert bias == pytest.approx(np.multiply(weight, network.graph["x"].scale))
