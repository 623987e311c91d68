# SPDX-License-Identifier: MIT
"""SVDF layers in int8: the bytes of TensorFlow Lite Micro, on core, Python and numpy."""

import numpy as np
import pytest

from acclimate.net import Net, NetError
from acclimate.net import interpreter as in_python
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step, training_step
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_tflite import network_from_tflite
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.sparse.scheme import Scheme, full
from acclimate_host.twin import net as twin_net
from harness.errors import naming

pytest.importorskip("tflite_micro.python.tflite_micro.runtime")
pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")

from micro_streams import check_stream, last_operand  # noqa: E402  (needs the wheel above)
from tflite_writer import FloatWriter, Writer, schema, window  # noqa: E402

INPUTS = 9
_LIMITS = {"int8": 127, "int16": 32767}


def svdf(net, units, rank=1, memory=4, kind="int16", zero=0, y=(0.05, -128), act=1, gain=1.0):
    """Add an SVDF behind the writer's last tensor; return its state.

    :param gain: of the second factor; large ones reach the rails, or leave 32 bits
    """
    random, x, filters = net.random, net.last, units * rank
    inputs, most = int(np.prod(net.shape_of(x))), _LIMITS[kind]
    # A filter's number is spread over a third of what its type holds, an output over its own.
    weight = random.integers(-127, 128, (filters, inputs)).astype(np.int8)
    state_scale = 73 * 73 * inputs**0.5 * net.scale_of(x) * 0.01 / (most / 3)
    time = random.integers(-most, most + 1, (filters, memory)).astype(kind)
    time_scale = y[0] * 60 / (most / 3 * most / 1.7 * (memory * rank) ** 0.5 * state_scale) * gain
    bias = random.integers(-999, 999, units).astype(np.int32)
    w = net._tensor(weight.shape, "int8", [0.01], [0], weight)
    t = net._tensor(time.shape, kind, [time_scale], [0], time)
    b = net._tensor(bias.shape, "int32", [state_scale * time_scale], [0], bias)
    state = net._tensor((1, filters * memory), kind, [state_scale], [zero])
    net.graph.tensors[state].isVariable = True
    fields = {"rank": rank, "fusedActivationFunction": act}
    net.op("SVDF", (x, w, t, b, state), (1, units), *y, "SVDFOptions", **fields)
    return state


def model(behind=True, inputs=INPUTS, zero_x=5, units=6, **options):
    """Return the bytes of a model: an SVDF, and a dense layer behind it."""
    net = Writer((1, inputs), 0.04, zero_x)
    svdf(net, units, **options)
    if behind:
        net.layer("FULLY_CONNECTED", (4, units), (1, 4), 0.05, 3, 0, "FullyConnectedOptions")
    return net.finish()


def several():
    """The form of the keyword model of TensorFlow Lite Micro, smaller."""
    net = Writer((1, 24), 0.05, -128)
    for size in (8, 8):
        svdf(net, 16, memory=8)
        net.layer("FULLY_CONNECTED", (size, 16), (1, size), 0.2, -7, 0, "FullyConnectedOptions")
    svdf(net, 8, rank=2, memory=12)
    svdf(net, 8, memory=3, kind="int8", zero=-13)
    return net.finish()


def behind_a_map(dense=False):
    """An SVDF over all values of a convolution's map, in memory's order."""
    net = Writer((1, 4, 4, 2), 0.05, 3)
    net.layer("CONV_2D", (3, 3, 3, 2), (1, 4, 4, 3), 0.2, -4, 0, "Conv2DOptions",
              **window((1, 1), 0))  # fmt: skip
    net.op("RESHAPE", (net.last, net.constant([1, 48])), (1, 48), 0.2, -4)
    svdf(net, 5)
    if dense:
        net.layer("FULLY_CONNECTED", (4, 5), (1, 4), 0.05, 3, 0, "FullyConnectedOptions")
    return net.finish()


CASES = {
    "int16": {},
    "without activation": {"act": 0, "y": (0.05, 7)},
    "ReLU that cuts nothing": {"act": 1, "y": (0.05, -20)},
    "rank 2": {"rank": 2},
    "rank 3 of one unit": {"rank": 3, "units": 1},
    "a memory of one": {"memory": 1},
    "one input": {"inputs": 1},
    "int8": {"kind": "int8"},
    "int8 around another number": {"kind": "int8", "zero": -50},
    "int8 that wraps": {"kind": "int8", "zero": 100, "rank": 2},
    "int16 around another number": {"zero": 300},
    "on the rails": {"gain": 90.0, "y": (0.01, 0)},
    "sums beyond 32 bits": {"memory": 12, "rank": 24, "y": (0.05, 0)},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_bytes_are_those_of_tflite_micro(case):
    assert check_stream(model(behind=False, **case), 12) > 8


@pytest.mark.parametrize("made", (several, behind_a_map))
def test_layers_one_behind_the_other_have_its_bytes(made):
    assert check_stream(made(), 12) > 8


def test_without_a_bias_the_bytes_are_those_of_zeros():
    """TensorFlow Lite Micro itself ends on such a file; TensorFlow Lite reads it so."""
    data = model(behind=False)
    zeros = _changed(data, _without_biases)
    without = _changed(data, _of_four)
    assert check_stream(zeros) > 3
    graphs = [network_from_tflite(each, "m.tflite") for each in (zeros, without)]
    codes = [encode(inference_step(each.graph), each).code for each in graphs]
    assert codes[0] == codes[1]


def test_what_stands_behind_learns_and_what_stands_in_it_is_refused():
    twin_net.register()
    network = with_loss(network_from_tflite(model(), "m.tflite"), "cross-entropy")
    program = encode(training_step(network.graph, Scheme(0)), network)
    nets = [Net(bytearray(program.code), program.weights) for _ in range(2)]
    nets[1]._native = in_python
    x = bytes(range(0, 28 * INPUTS, 28))
    for net in nets:
        net.set_rate(0.05)
        assert [net.train_step(x, 2) for _ in range(3)] and net.moved > 0
    assert bytes(nets[0].weights()) == bytes(nets[1].weights())
    with pytest.raises(GraphError, match="svdf0"):
        training_step(network.graph, Scheme(0, (("svdf0", 1),)))
    with pytest.raises(GraphError, match="svdf0: a svdf is not trained"):
        full(network.graph)


@pytest.mark.parametrize("scheme", [Scheme(0, (("c0", 1),)), Scheme(1)])
def test_what_stands_before_it_is_refused_by_name(scheme):
    network = with_loss(network_from_tflite(behind_a_map(dense=True), "m.tflite"), "cross-entropy")
    with pytest.raises(GraphError, check=naming("c0", "svdf")):
        training_step(network.graph, scheme)


def test_reset_begins_a_stream_anew():
    twin_net.register()
    network = network_from_tflite(model(kind="int8", zero=-50), "m.tflite")
    program = encode(inference_step(network.graph), network)
    net, x = Net(program.code, program.weights), bytes(range(INPUTS))
    net.predict(x)
    first = bytes(net.outputs())
    net.predict(x)
    assert bytes(net.outputs()) != first
    net.reset(program.weights)
    net.predict(x)
    assert bytes(net.outputs()) == first


def test_a_batch_goes_on_as_itself():
    network = network_from_tflite(model(), "m.tflite")
    run, x = Int8Run(network), np.zeros((2, INPUTS, 1, 1), np.int8)
    run(x)
    with pytest.raises(GraphError, check=naming("svdf0.s", "2", "3")):
        run(np.zeros((3, INPUTS, 1, 1), np.int8))


@pytest.mark.parametrize("back", [0, 1])
def test_a_damaged_instruction_is_refused(back):
    """Without a memory, or of numbers of three bytes."""
    twin_net.register()
    network = network_from_tflite(model(), "m.tflite")
    program = encode(inference_step(network.graph), network)
    code = bytearray(program.code)
    at = last_operand(program, "SVDF") - back
    assert code[at] == (2, 4)[back]
    code[at] = (3, 0)[back]
    net = Net(code, program.weights, check=False)
    for native in (net._native, in_python):
        net._native = native
        with pytest.raises(NetError, match="damaged"):
            net.predict(bytes(net.input_bytes))


def _of_four(net, op):
    op.inputs = [*op.inputs[:3], -1, op.inputs[4]]


def _without_biases(net, op):
    buffer = net.model.buffers[net.tensors[op.inputs[3]].buffer]
    buffer.data = np.zeros_like(buffer.data)


def _changed(data, change):
    """Return a file after `change(graph, its SVDF)`."""
    import flatbuffers

    whole = schema.ModelT.InitFromPackedBuf(data, 0)
    graph = whole.subgraphs[0]
    graph.model = whole
    change(graph, graph.operators[0])
    builder = flatbuffers.Builder(1024)
    builder.Finish(whole.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _set(index, **fields):
    """Return a change of one of the SVDF's tensors; the output's index is 5."""

    def change(net, op):
        tensor = net.tensors[[*op.inputs, *op.outputs][index]]
        for name, value in fields.items():
            holder = tensor.quantization if hasattr(tensor.quantization, name) else tensor
            setattr(holder, name, value)

    return change


def _option(**fields):
    return lambda net, op: [setattr(op.builtinOptions, *item) for item in fields.items()]


OTHERS = {
    "a tanh": (_option(fusedActivationFunction=4), "activation 4"),
    "a ReLU6": (_option(fusedActivationFunction=3), "activation 3"),
    "rank 4": (_option(rank=4), "rank 4"),
    "rank 0": (_option(rank=0), "rank 0"),
    "rank 2 of another shape": (_option(rank=2), "rank 2"),
    "two samples": (_set(4, shape=[2, 24]), "(2, 24)"),
    "another state": (_set(4, type=9), "INT16, INT8"),
    "a real state": (_set(4, type=0), "FLOAT32"),
    "weights around another number": (_set(1, zeroPoint=[3]), "zero point"),
    "weights in time around another": (_set(2, zeroPoint=[3]), "zero point"),
    "a scale for each filter": (_set(1, scale=[0.01] * 6, zeroPoint=[0] * 6), "each filter"),
    "int16 outputs": (_set(5, type=7), "to INT16"),
    "fewer inputs": (_set(1, shape=[9, 6]), "6 of 9"),
}


@pytest.mark.parametrize("change,named", OTHERS.values(), ids=OTHERS)
def test_other_forms_are_refused_by_name(change, named):
    with pytest.raises(GraphError, check=naming("SVDF", named)):
        network_from_tflite(_changed(model(), change), "m.tflite")


def test_in_a_float_model_it_is_refused_by_name():
    net = FloatWriter((1, 4), "float32")
    parts = [net.number(np.ones(shape)) for shape in ((2, 4), (2, 3), (2,), (1, 6))]
    net.op("SVDF", (net.last, *parts), (1, 2), "SVDFOptions", rank=1)
    with pytest.raises(GraphError, check=naming("SVDF", "in int8")):
        network_from_tflite(net.finish(), "m.tflite")
