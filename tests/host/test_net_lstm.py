# SPDX-License-Identifier: MIT
"""Recurrent layers in int8: the bytes of TensorFlow Lite Micro, on core, Python and numpy."""

import numpy as np
import pytest

from acclimate.net import Net, NetError
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step, training_step
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_tflite import network_from_tflite
from acclimate_host.model.losses import with_loss
from acclimate_host.model.lstm import check_lstm, sigmoid, sigmoid_table, tangent
from acclimate_host.sparse.scheme import Scheme
from acclimate_host.twin import net as twin_net
from harness.errors import naming

pytest.importorskip("tflite_micro.python.tflite_micro.runtime")
pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")

from micro_streams import check_stream, last_operand  # noqa: E402  (needs the wheel above)
from tflite_writer import Writer, schema  # noqa: E402

ROWS, INPUTS, UNITS = 5, 6, 7


def recurrent(power=-11, clip=10.0, zero=-2, small=1.0):
    """Return the bytes of a model: an LSTM over rows, and a dense layer over all of them."""
    net = Writer((1, ROWS, INPUTS), 0.04, 5)
    x, none = net.last, [-1]
    zeros = [0]

    def weights(columns):
        for _ in range(4):
            values = net.random.integers(-127, 128, (UNITS, columns)).astype(np.int8)
            scale = [net.random.uniform(0.004, 0.012) * small]
            yield net._tensor((UNITS, columns), "int8", scale, zeros, values)

    wi, wr = list(weights(INPUTS)), list(weights(UNITS))
    biases = []
    for w in wi:
        scale = [net.scale_of(w) * 0.04]
        values = net.random.integers(-900, 900, UNITS).astype(np.int32)
        biases.append(net._tensor((UNITS,), "int32", scale, zeros, values))
    h = net.activation((1, UNITS), 0.0078, zero)
    c = net._tensor((1, UNITS), "int16", [2.0**power], zeros)
    for state in (h, c):
        net.graph.tensors[state].isVariable = True
    inputs = [x, *wi, *wr, *none * 3, *biases, *none * 2, h, c, *none * 4]
    fields = {"fusedActivationFunction": 4, "cellClip": clip, "timeMajor": False}
    options = "UnidirectionalSequenceLSTMOptions"
    name = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    net.op(name, inputs, (1, ROWS, UNITS), 0.0078, zero, options, **fields)
    gates = [net.activation((0,), 2.0**-12, 0) for _ in range(4)]
    net.graph.operators[-1].intermediates = [*gates, net.activation((0,), 0.0078, zero)]
    net.op("RESHAPE", (net.last, net.constant([1, -1])), (1, ROWS * UNITS), 0.0078, zero)
    net.layer("FULLY_CONNECTED", (4, ROWS * UNITS), (1, 4), 0.05, 3, 0, "FullyConnectedOptions")
    return net.finish()


CASES = {
    "as the converter": {},
    "a fine cell": {"power": -12, "clip": 0.0, "small": 0.5},
    "a clipped cell": {"power": -10, "clip": 1.5, "zero": 9, "small": 3.0},
    "a coarse cell": {"power": -14, "small": 0.1},
    "the coarsest cell": {"power": -8, "clip": 0.0},
    "the finest cell": {"power": -15, "clip": 0.0, "small": 0.05},
    "gates at their ends": {"power": -11, "clip": 0.0, "small": 40.0},
    "a cell at its ends": {"power": -12, "clip": 0.0, "small": 8.0, "zero": 40},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_bytes_are_those_of_tflite_micro(case):
    """The state goes on from sample to sample, there and here."""
    assert check_stream(recurrent(**case)) > 3


# As TensorFlow publishes it: sigmoid_table_uint16, the first numbers of 256.
PUBLISHED = """32768 33451 34133 34813 35493 36169 36843 37513 38180 38841 39498 40149 40794 41432
42064 42688 43304 43912 44511 45102 45683 46255 46817 47369"""
INT16 = np.arange(-32768, 32768)


def test_the_table_is_the_published_one():
    table = sigmoid_table()
    assert table[:24].tolist() == list(map(int, PUBLISHED.split()))
    assert len(table) == 256 and (np.diff(table) >= 0).all() and table[-1] == 65534
    # The curve, but for its bend between two numbers.
    assert np.abs(table - 65536 / (1 + np.exp(-np.arange(256) / 24))).max() < 2


def test_gates_and_cells_bend_as_the_functions_do_over_all_of_int16():
    table = sigmoid_table()
    gate = sigmoid(table, INT16)
    assert np.abs(gate - 32768 / (1 + np.exp(-INT16 / 4096))).max() < 1.1
    assert (np.diff(gate) >= 0).all() and (gate.min(), gate.max()) == (11, 32757)
    for power in range(-15, -7):
        left = 12 + power
        bent = tangent(table, INT16, *((3 << left, 0) if left > 0 else (3, -left)))
        assert np.abs(bent - 32768 * np.tanh(INT16 * 2.0**power)).max() < 2.5
        assert (np.diff(bent) >= 0).all() and (bent + bent[::-1])[1:].max() <= 2


def test_a_cell_has_a_power_of_two_between_two_limits():
    for power in range(-15, -7):
        for near in (1, 1 + 5e-5, 1 - 5e-5):
            assert check_lstm(2.0**power * near) == power
        for far in (1 + 1e-3, 1 - 1e-3, 1.4, 0.75):
            with pytest.raises(GraphError, match="a power of two near"):
                check_lstm(2.0**power * far)


def test_what_stands_behind_learns_and_what_stands_in_it_is_refused():
    twin_net.register()
    network = with_loss(network_from_tflite(recurrent(), "m.tflite"), "cross-entropy")
    program = encode(training_step(network.graph, Scheme(0)), network)
    net = Net(program.code, program.weights)
    net.set_rate(0.05)
    x = bytes(range(0, 4 * net.input_bytes, 4))
    shares = [net.train_step(x, 2) for _ in range(60)]
    assert net.moved > 0 and shares[-1] > 10 * min(shares)
    with pytest.raises(GraphError, match="lstm0"):
        training_step(network.graph, Scheme(0, (("lstm0", 1),)))


def test_a_layer_without_units_is_damaged():
    twin_net.register()
    network = network_from_tflite(recurrent(), "m.tflite")
    program = encode(inference_step(network.graph), network)
    code, at = bytearray(program.code), last_operand(program, "LSTM")
    assert code[at] == UNITS
    code[at] = 0
    net = Net(code, program.weights, check=False)
    with pytest.raises(NetError, match="damaged"):
        net.predict(bytes(net.input_bytes))


@pytest.mark.parametrize("scale", [3e-4, 2.0**-16, 2.0**-7])
def test_a_cell_of_another_scale_is_refused(scale):
    with pytest.raises(GraphError, check=naming(f"{scale:g}", "a power of two")):
        check_lstm(scale)


def test_other_forms_are_refused_by_name():
    model = schema.ModelT.InitFromPackedBuf(recurrent(), 0)
    model.subgraphs[0].operators[0].builtinOptions.timeMajor = True
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    with pytest.raises(GraphError, check=naming("UNIDIRECTIONAL_SEQUENCE_LSTM", "no peepholes")):
        network_from_tflite(bytes(builder.Output()), "m.tflite")
