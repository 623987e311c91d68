# SPDX-License-Identifier: MIT
"""Gates, joined and moved tensors, several inputs and outputs: against TensorFlow Lite Micro."""

import numpy as np
import pytest

from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_tflite import network_from_tflite
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.quantize import quantize
from acclimate_host.model.tflite_file import FileGraph, FileOp, FileTensor, _with_branches
from harness.errors import naming

runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")

from tflite_writer import FloatWriter, Writer, window  # noqa: E402  (needs the wheel above)

SHAPE = (1, 6, 4, 8)
PLAIN = {"fusedActivationFunction": 0}


def sloped():
    """PReLU, more channels, a square root of the places, and large again."""
    net = FloatWriter(SHAPE, "float32")
    slopes = net.number(np.linspace(-0.5, 1.5, 8).reshape(1, 1, 8))
    x = net.op("PRELU", (net.last, slopes), SHAPE)
    amounts = net.constant([[0, 0], [0, 1], [1, 0], [2, 3]])
    net.op("PAD", (x, amounts), (1, 7, 5, 13), "PadOptions")
    large = net.op("DEPTH_TO_SPACE", (x,), (1, 12, 8, 2), "DepthToSpaceOptions", blockSize=2)
    net.op("SPACE_TO_DEPTH", (large,), (1, 3, 2, 32), "SpaceToDepthOptions", blockSize=4)
    half = net.constant([6, 4])
    net.op("RESIZE_BILINEAR", (net.last, half), (1, 6, 4, 32), "ResizeBilinearOptions",
           halfPixelCenters=True)  # fmt: skip
    net.op("SLICE", (net.last, net.constant([0, 1, 0, 3]), net.constant([1, -1, 4, 8])),
           (1, 5, 4, 8))  # fmt: skip
    net.op("TRANSPOSE", (net.last, net.constant([0, 3, 1, 2])), (1, 8, 5, 4))
    net.op("MIRROR_PAD", (net.last, net.constant([[0, 0], [1, 2], [0, 0], [1, 0]])),
           (1, 11, 5, 5), "MirrorPadOptions", mode=0)  # fmt: skip
    return net, ()


def gated():
    """Products and differences of signals, one of them with a number for each channel."""
    net = FloatWriter(SHAPE, "float32")
    x = net.op("TANH", (net.last,), SHAPE)
    mean = net.op("MEAN", (x, net.constant([1, 2])), (1, 1, 1, 8), "ReducerOptions", keepDims=True)
    gate = net.op("LOGISTIC", (mean,), (1, 1, 1, 8))
    net.op("MUL", (gate, x), SHAPE, "MulOptions", fusedActivationFunction=1)
    net.op("SUB", (net.last, x), SHAPE, "SubOptions", fusedActivationFunction=0)
    net.op("MUL", (net.last, net.last), SHAPE, "MulOptions", **PLAIN)
    other = net.op("MUL", (x, gate), SHAPE, "MulOptions", **PLAIN)
    return net, (net.op("CONCATENATION", (x, other), (1, 12, 4, 8), "ConcatenationOptions",
                        axis=1, **PLAIN),)  # fmt: skip


def linear(centers, factor):
    def make():
        net = FloatWriter(SHAPE, "float32")
        rows, columns = 6 * factor[0], 4 * factor[1]
        size, shape = net.constant([rows, columns]), (1, rows, columns, 8)
        options = {"options": "ResizeBilinearOptions", "halfPixelCenters": centers}
        net.op("RESIZE_BILINEAR", (net.last, size), shape, **options)
        return net, ()

    return make


def two_inputs():
    net = FloatWriter((1, 5, 3), "float32")
    other = net.another_input((1, 4))
    first = net.op("RELU", (net.last,), (1, 5, 3))
    net.op("RESHAPE", (first, net.constant([1, 15])), (1, 15), "ReshapeOptions")
    parts = (other, net.last)
    net.op("CONCATENATION", parts, (1, 19), "ConcatenationOptions", axis=1, **PLAIN)
    return net, (first,)


def theirs(net, more, inputs):
    """Outputs of TensorFlow Lite Micro for rows of all inputs behind each other."""
    data = net.finish(*more)
    model, found = runtime.Interpreter.from_bytes(data, arena_size=400_000), []
    for row in inputs:
        at = 0
        for number in range(1 + len(net.more)):
            shape = model.get_input_details(number)["shape"]
            size = int(np.prod(shape))
            model.set_input(row[at : at + size].reshape(shape), number)
            at += size
        model.invoke()
        outputs = [model.get_output(number).ravel() for number in range(1 + len(more))]
        found.append(np.concatenate(outputs))
    return network_from_tflite(data, "m.tflite"), np.array(found)


def rows_of(net, kind, count=5):
    """Return random inputs, all of a sample behind each other."""
    size = sum(int(np.prod(net.shape_of(i))) for i in (net.first, *net.more))
    random = np.random.default_rng(6)
    if kind == np.int8:
        return random.integers(-128, 128, (count, size)).astype(np.int8)
    return random.normal(0, 1, (count, size)).astype(np.float32)


def arrays(network, rows):
    """Return rows in the order of the memory as (count, channels, height, width)."""
    channels, height, width = network.graph[network.input].shape
    return rows.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)


def in_memory(network, outputs):
    """Return outputs in the order of the memory, in which the file has them."""
    edges = network.graph[network.output].shape
    return outputs.reshape(-1, *edges).transpose(0, 2, 3, 1).reshape(len(outputs), -1)


def normalized():
    """Layer normalization as Keras writes it, and one of two signals by a third."""
    net = FloatWriter((1, 24), "float32")
    net.layer("FULLY_CONNECTED", (16, 24), (1, 16), 0, "FullyConnectedOptions")
    x, keep = net.last, {"keepDims": True}
    mean = net.op("MEAN", (x, net.constant([1])), (1, 1), "ReducerOptions", **keep)
    less = net.op("SUB", (x, mean), (1, 16), "SubOptions", **PLAIN)
    square = net.op("MUL", (less, less), (1, 16), "MulOptions", **PLAIN)
    variance = net.op("MEAN", (square, net.constant([1])), (1, 1), "ReducerOptions", **keep)
    raised = net.op("ADD", (variance, net.number(1e-3)), (1, 1), "AddOptions", **PLAIN)
    root = net.op("RSQRT", (raised,), (1, 1))
    y = net.op("MUL", (less, root), (1, 16), "MulOptions", **PLAIN)
    gamma = net.number(np.linspace(0.5, 2, 16))
    net.op("MUL", (y, gamma), (1, 16), "MulOptions", **PLAIN)
    net.op("ADD", (net.last, gamma), (1, 16), "AddOptions", fusedActivationFunction=1)
    sure = net.op("GREATER_EQUAL", (y, net.number(0.3)), (1, 16))
    net.graph.tensors[sure].type = 6  # bool
    net.op("SELECT_V2", (sure, x, y), (1, 16))
    return net, ()


FLOAT = {
    "normalized": normalized,
    "sloped": sloped,
    "gated": gated,
    "linear in the middle": linear(True, (3, 2)),
    "linear": linear(False, (2, 3)),
    "two inputs": two_inputs,
}


@pytest.mark.parametrize("make", FLOAT.values(), ids=FLOAT)
def test_a_float_model_gives_what_tflite_micro_gives(make):
    net, more = make()
    rows = rows_of(net, np.float32)
    network, wanted = theirs(net, more, rows)
    got = in_memory(network, FloatRun(network).predict(arrays(network, rows)))
    assert got == pytest.approx(wanted, abs=2e-5)


@pytest.mark.parametrize("make", FLOAT.values(), ids=FLOAT)
def test_it_becomes_an_int8_program(make):
    net, more = make()
    network = network_from_tflite(net.finish(*more), "m.tflite")
    samples = arrays(network, rows_of(net, np.float32, 60))
    small, _ = quantize(network, samples)
    real = small.real_output(Int8Run(small).predict(small.quantize_input(samples)))
    exact = FloatRun(network).predict(samples)
    assert np.sqrt(((real - exact) ** 2).mean()) < 0.06 * exact.std()
    assert encode(inference_step(small.graph), small).arena_bytes > 0


def stored_gates():
    """Products of int8 signals, joined ones of another scale, several outputs."""
    net = Writer(SHAPE)
    x = net.op("RELU", (net.last,), SHAPE, 0.03, -128)
    net.layer("CONV_2D", (8, 1, 1, 8), SHAPE, 0.04, 11, 0, "Conv2DOptions", **window((1, 1), 0))
    y = net.op("MUL", (x, net.last), SHAPE, 0.02, -3, "MulOptions", fusedActivationFunction=1)
    pool = net.op("AVERAGE_POOL_2D", (y,), (1, 1, 1, 8), 0.02, -3, "Pool2DOptions",
                  filterHeight=6, filterWidth=4, **window((1, 1), 1))  # fmt: skip
    gate = net.op("LOGISTIC", (pool,), (1, 1, 1, 8), 1 / 256, -128)
    z = net.op("MUL", (y, gate), SHAPE, 0.001, 5, "MulOptions", **PLAIN)
    large = net.op("RESIZE_NEAREST_NEIGHBOR", (y, net.constant([12, 4])), (1, 12, 4, 8), 0.02, -3,
                   "ResizeNearestNeighborOptions")  # fmt: skip
    net.op("TRANSPOSE", (z, net.constant([0, 2, 1, 3])), (1, 4, 6, 8), 0.001, 5)
    net.op("QUANTIZE", (net.last,), (1, 4, 6, 8), 0.02, -3)
    return net, (large, y)


def stored_inputs():
    net = Writer((1, 6, 4, 3))
    other = net.another_input((1, 6, 4, 3))
    net.op("ADD", (net.last, other), (1, 6, 4, 3), 0.08, 1, "AddOptions", **PLAIN)
    return net, ()


@pytest.mark.parametrize("make", [stored_gates, stored_inputs])
def test_an_int8_model_gives_the_bytes_of_tflite_micro(make):
    net, more = make()
    rows = rows_of(net, np.int8, 20)
    network, wanted = theirs(net, more, rows)
    got = in_memory(network, Int8Run(network).predict(arrays(network, rows)))
    assert np.array_equal(got, wanted)


def test_both_branches_of_an_if_stand_in_the_main_graph():
    tensors = tuple(FileTensor(str(i), (1, 2), "FLOAT32", None, None, None) for i in range(3))
    inner = (FileOp("TANH", (0,), (1,)), FileOp("ADD", (1, 0), (2,)))
    branch = FileGraph(tensors, inner, (0,), (2,))
    same = FileGraph(tensors[:1], (), (0,), (0,))
    options = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
    main = FileGraph(tensors, (FileOp("IF", (0, 1), (2,), options),), (0, 1), (2,))
    found = _with_branches([main, branch, same])
    assert [(op.name, op.inputs, op.outputs) for op in found.ops] == [
        ("TANH", (1,), (3,)),
        ("ADD", (3, 1), (4,)),
        ("SELECT", (0, 4, 1), (2,)),
    ]


def test_inputs_of_two_scales_are_refused():
    net = Writer((1, 4))
    net.op("ADD", (net.last, net.another_input((1, 4), 0.1)), (1, 4), 0.1, 0, "AddOptions")
    with pytest.raises(GraphError, check=naming("2 inputs", "one scale")):
        network_from_tflite(net.finish(), "m.tflite")


def test_a_resize_by_parts_is_refused():
    net = FloatWriter(SHAPE, "float32")
    net.op("RESIZE_BILINEAR", (net.last, net.constant([9, 4])), (1, 9, 4, 8))
    with pytest.raises(GraphError, check=naming("RESIZE_BILINEAR", "whole factors")):
        network_from_tflite(net.finish(), "m.tflite")
