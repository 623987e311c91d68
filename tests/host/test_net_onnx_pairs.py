# SPDX-License-Identifier: MIT
"""QDQ models: blocks and constants as onnxruntime.quantization writes them, and refusals."""

import numpy as np
import pytest

from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step, training_step
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import as_bytes
from acclimate_host.model.onnx_file import Stored
from acclimate_host.sparse.scheme import full
from acclimate_host.twin import net as twin_net

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from test_net_onnx import Model, quantized_by_onnxruntime, samples, theirs  # noqa: E402

F4 = np.float32


def linear(net, x, inputs, outputs):
    weight = net.random.normal(0, 1 / np.sqrt(inputs), (inputs, outputs)).astype(F4)
    net.op("MatMul", x, weight)
    return net.op("Add", net.last, net.random.normal(0, 0.2, outputs).astype(F4))


def row_of(net, n):
    return net.random.uniform(0.5, 2, n).astype(F4), net.random.normal(0, 1, n).astype(F4)


def ended(net, x, n):
    """The mean over all rows, and a classifier."""
    net.op("ReduceMean", x, axes=[1], keepdims=0)
    net.op("Gemm", net.last, net.random.normal(0, 1, (3, n)).astype(F4), np.ones(3, F4), transB=1)
    return net


def normalized():
    net = Model((5, 8))
    x = net.op("LayerNormalization", linear(net, "x", 8, 8), *row_of(net, 8), axis=-1)
    return ended(net, linear(net, x, 8, 6), 6)


def erf_gelu():
    net = Model((5, 6))
    x = linear(net, "x", 6, 12)
    net.op("Erf", net.op("Div", x, np.array(np.sqrt(2), F4)))
    net.op("Mul", x, net.op("Add", net.last, np.array(1, F4)))
    x = net.op("Mul", net.last, np.array(0.5, F4))
    return ended(net, linear(net, x, 12, 6), 6)


def attention(heads=1):
    net = Model((5, 8))
    x = linear(net, "x", 8, 8)
    q, k, v = (linear(net, x, 8, 8) for _ in range(3))
    if heads == 1:
        k = net.op("Transpose", k, perm=[0, 2, 1])
    else:
        shape = np.array([1, 5, heads, 8 // heads])
        turns = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        cut = [net.op("Reshape", part, shape) for part in (q, k, v)]
        q, k, v = (net.op("Transpose", a, perm=p) for a, p in zip(cut, turns, strict=True))
    net.op("Mul", net.op("MatMul", q, k), np.array(np.sqrt(heads / 8), F4))
    y = net.op("MatMul", net.op("Softmax", net.last, axis=-1), v)
    if heads > 1:
        net.op("Transpose", y, perm=[0, 2, 1, 3])
        y = net.op("Reshape", net.last, np.array([1, 5, 8]))
    return ended(net, net.op("Add", x, linear(net, y, 8, 8)), 8)


def two_heads():
    return attention(2)


def transformer():
    net = Model((5, 8))
    x = linear(net, "x", 8, 8)
    x = net.op("Add", x, net.random.normal(0, 0.5, (5, 8)).astype(F4))  # where each row stands
    y = net.op("LayerNormalization", x, *row_of(net, 8), axis=-1)
    q, k, v = (linear(net, y, 8, 8) for _ in range(3))
    net.op("MatMul", q, net.op("Transpose", k, perm=[0, 2, 1]))
    net.op("Softmax", net.op("Mul", net.last, np.array(0.35, F4)), axis=-1)
    x = net.op("Add", x, linear(net, net.op("MatMul", net.last, v), 8, 8))
    y = linear(net, net.op("LayerNormalization", x, *row_of(net, 8), axis=-1), 8, 16)
    net.op("Erf", net.op("Div", y, np.array(np.sqrt(2), F4)))
    net.op("Mul", y, net.op("Add", net.last, np.array(1, F4)))
    y = linear(net, net.op("Mul", net.last, np.array(0.5, F4)), 16, 8)
    return ended(net, net.op("Add", x, y), 8)


def constants():
    """Products and sums with a number a channel, with both signs and 0, behind layers."""
    net = Model((3, 6, 5))
    net.conv(4, 3, (3, 3), pads=[1] * 4)
    net.op("Mul", net.last, np.reshape([0.7, -1.3, 0, 2], (4, 1, 1)).astype(F4))
    net.op("Add", net.last, np.reshape([3, -1, 0.5, 0.01], (1, 4, 1, 1)).astype(F4))
    net.conv(4, 4, (1, 1))
    other = net.conv(4, 4, (3, 3), pads=[1] * 4)
    net.op("Mul", other, net.op("Sigmoid", other))
    net.op("GlobalAveragePool", net.last)
    net.op("Flatten", net.last)
    net.dense(3, 4)
    return net


MADE = (normalized, erf_gelu, attention, two_heads, transformer, constants)


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("make", MADE)
def test_blocks_are_onnxruntimes_within_their_own_steps_and_the_cores_to_the_byte(
    make, unsigned, tmp_path
):
    from onnxruntime import quantization as q

    net = make()
    given, kind = samples(net.shape, 40), q.QuantType.QUInt8 if unsigned else q.QuantType.QInt8
    model = quantized_by_onnxruntime(net.finish(), given, tmp_path, kind)
    network = import_onnx(model)
    assert network.quantized
    inputs = network.quantize_input(given.reshape(40, *network.graph[network.input].shape))
    stored = Int8Run(network).predict(inputs)
    step = network.graph[network.output].scale
    apart = np.abs(network.real_output(stored) - theirs(model, given)) / step
    assert apart.max() <= 3.01 and apart.mean() < 0.9
    twin_net.register()
    from acclimate.net import Net

    core = Net(bytearray(encode(inference_step(network.graph), network).code))
    for row, wanted in zip(as_bytes(inputs[:5]), stored[:5], strict=True):
        core.predict(row)
        assert bytes(core.outputs()) == wanted.tobytes()


@pytest.mark.parametrize("make", [transformer, constants])
def test_blocks_of_a_quantized_file_learn(make, tmp_path):
    from onnxruntime import quantization as q

    from acclimate.net import Net

    net = make()
    given = samples(net.shape, 40)
    model = quantized_by_onnxruntime(net.finish(), given, tmp_path, q.QuantType.QInt8)
    network = with_loss(import_onnx(model), "cross-entropy")
    program = encode(training_step(network.graph, full(network.graph)), network)
    twin_net.register()
    core = Net(bytearray(program.code), program.weights)
    core.set_rate(0.01)
    rows = as_bytes(network.quantize_input(given.reshape(40, *network.graph["x"].shape)))
    losses = []
    for _ in range(8):
        total = 0
        for at, row in enumerate(rows):
            core.train_step(row, at % 3)
            total += core.loss()
        losses.append(total)
    assert losses[-1] < 0.95 * losses[0]


# ---- pairs by hand --------------------------------------------------------------------------


class Pairs(Model):
    """A model whose pairs are written by hand."""

    opset = 21

    def pair(self, x, scale=0.05, zero=0, kind=np.int8, back=None, **attrs):
        scale, zero = self.constant(np.asarray(scale, F4)), self.constant(np.asarray(zero, kind))
        stored = self.op("QuantizeLinear", x, scale, zero, **attrs)
        return self.op("DequantizeLinear", stored, back or scale, zero, **attrs)

    def layer(self, axis=0, steps=4):
        weight = self.random.integers(-127, 128, (4, 4)).astype(np.int8)
        scale = np.linspace(0.005, 0.01, steps).astype(F4)
        scale = scale if steps > 1 else scale[0]
        parts = [weight, scale, np.zeros(np.shape(scale), np.int8)]
        weight = self.op("DequantizeLinear", *map(self.constant, parts), axis=axis)
        return self.op("Gemm", self.pair("x"), weight, transB=1)


def stored_by(network, given):
    return Int8Run(network).predict(network.quantize_input(given.reshape(len(given), 4, 1, 1)))


def test_weights_that_a_training_leaves_to_be_rounded_are_rounded():
    made = []
    for rounded in (False, True):
        net = Pairs((4,), seed=5)
        weight, scale = net.random.normal(0, 0.3, (4, 4)).astype(F4), np.full(4, 0.01, F4)
        parts = [net.constant(scale), net.constant(np.zeros(4, np.int8))]
        if rounded:
            weight = np.clip(np.rint(weight / scale[:, None]), -128, 127).astype(np.int8)
            stored = net.constant(weight)
        else:
            stored = net.op("QuantizeLinear", net.constant(weight), *parts, axis=0)
        weight = net.op("DequantizeLinear", stored, *parts, axis=0)
        net.pair(net.op("Gemm", net.pair("x"), weight, transB=1))
        model, given = net.finish(), samples((4,), 20)
        made.append(stored_by(import_onnx(model), given))
        assert np.abs(made[-1] * 0.05 - theirs(model, given)).max() <= 0.0501
    assert (made[0] == made[1]).all()


def test_a_scale_for_each_output_is_taken_and_one_for_each_input_refused():
    net = Pairs((4,))
    net.pair(net.layer(axis=0))
    given = samples((4,), 20)
    model = net.finish()
    assert np.abs(stored_by(import_onnx(model), given) * 0.05 - theirs(model, given)).max() < 0.051
    net = Pairs((4,))
    net.pair(net.layer(axis=1))
    with pytest.raises(GraphError, match="Gemm with scales along axis 1: a scale for each output"):
        import_onnx(net.finish())


def turned(perm, **options):
    net = Pairs((4,))
    net.layer(**options)
    del net.nodes[-1]
    weight, x = net.nodes[0].output[0], net.nodes[-1].output[0]
    net.pair(net.op("MatMul", x, net.op("Transpose", weight, **perm)))
    return net.finish()


@pytest.mark.parametrize("perm", [{}, {"perm": [1, 0]}])
def test_a_stored_weight_may_be_turned_behind_its_scales(perm):
    for steps in (1, 4):
        model, given = turned(perm, steps=steps), samples((4,), 20)
        found = stored_by(import_onnx(model), given) * 0.05
        assert np.abs(found - theirs(model, given)).max() < 0.051
    with pytest.raises(GraphError, match="scales along axis 0: a scale for each output"):
        import_onnx(turned(perm, axis=1))


def test_factors_of_a_gemm_are_in_its_scales():
    net = Pairs((4,))
    net.layer(steps=1)
    del net.nodes[-1]
    weight, x = net.nodes[0].output[0], net.nodes[2].output[0]
    bias = net.constant(np.array([1, -2, 3, 4], F4))
    net.pair(net.op("Gemm", x, weight, bias, transB=1, alpha=0.5, beta=0.25))
    model, given = net.finish(), samples((4,), 20)
    assert np.abs(stored_by(import_onnx(model), given) * 0.05 - theirs(model, given)).max() < 0.051
    gemm = next(node for node in net.nodes if node.op_type == "Gemm")
    next(a for a in gemm.attribute if a.name == "alpha").f = -0.5
    with pytest.raises(GraphError, match="alpha of 0 or less in int8"):
        import_onnx(net.finish())


def test_a_difference_of_two_signals_is_onnxruntimes():
    net = Pairs((4,))
    left = net.pair(net.layer(), 0.03, 5)
    net.pair(net.op("Sub", left, net.pair(net.op("Tanh", left), 0.008, -128)), 0.04, -20)
    model, given = net.finish(), samples((4,), 40)
    network = import_onnx(model)
    apart = network.real_output(stored_by(network, given)) - theirs(model, given)
    assert np.abs(apart).max() < 0.0401 and (np.abs(apart) > 0.02).mean() < 0.1


@pytest.mark.parametrize("kind", [np.int16, np.uint16])
def test_activations_of_16_bits_are_refused(kind):
    net = Pairs((4,))
    net.pair(net.layer(), 0.001, 0, kind)
    words = f"QuantizeLinear to {np.dtype(kind)}: pairs of int8 or uint8"
    with pytest.raises(GraphError, match=f"{words}.*or give the float model"):
        import_onnx(net.finish())


def test_the_type_of_a_pair_without_a_zero_point_is_its_attribute():
    for number, low in ((onnx.TensorProto.INT8, -128), (onnx.TensorProto.UINT8, 0)):
        net = Pairs((4,))
        x, scale = net.layer(), net.constant(np.array(0.05, F4))
        stored = net.op("QuantizeLinear", x, scale, output_dtype=number)
        net.op("DequantizeLinear", stored, scale)
        y = import_onnx(net.finish()).graph
        assert y[y.outputs[0]].zero_point == -128 - low


def test_a_pair_of_two_scales_or_zero_points_is_refused():
    net = Pairs((4,))
    net.pair(net.layer(), back=net.constant(np.array(0.06, F4)))
    with pytest.raises(GraphError, match="DequantizeLinear unlike its QuantizeLinear"):
        import_onnx(net.finish())
    net = Pairs((4,))
    x, scale = net.layer(), net.constant(np.array(0.05, F4))
    stored = net.op("QuantizeLinear", x, scale, net.constant(np.array(3, np.int8)))
    net.op("DequantizeLinear", stored, scale, net.constant(np.array(4, np.int8)))
    with pytest.raises(GraphError, match="DequantizeLinear unlike its QuantizeLinear"):
        import_onnx(net.finish())


@pytest.mark.parametrize("scale", [0.0, -0.1, np.nan, np.inf])
def test_scales_that_are_not_above_zero_are_refused(scale):
    net = Pairs((4,))
    net.pair(net.layer(), scale)
    with pytest.raises(GraphError, match="scale: expected above 0, got"):
        import_onnx(net.finish())


def test_what_lacks_a_pair_is_named_as_the_file_has_it():
    net = Pairs((4,))
    table = net.op("Tanh", net.pair(net.layer()))
    net.pair(net.op("Sub", table, net.op("Relu", table)))
    words = f"no quantize/dequantize pair behind Relu {net.nodes[-4].output[0]}: put one there; or"
    with pytest.raises(GraphError, match=words):
        import_onnx(net.finish())


def test_a_constant_between_the_steps_of_what_it_is_added_to_is_refused():
    """A stored bias counts steps of the input by 127; 0.0038 of 0.008 rounds to 0."""
    for step, is_refused in ((0.0039, False), (0.0037, True)):
        net = Pairs((4,))
        x = net.pair("x", 127 * 0.008)
        net.pair(net.op("Add", x, np.full(4, 0.0038, F4)), step)
        model, given = net.finish(), samples((4,), 40)
        if is_refused:
            words = f"Add {net.nodes[2].output[0]} with constants that round by 1.0 steps of its"
            with pytest.raises(GraphError, match=f"{words} output: its input's steps, 1.016, are"):
                import_onnx(model)
            continue
        network = import_onnx(model)
        apart = network.real_output(stored_by(network, given)) - theirs(model, given)
        assert np.abs(apart).max() < 1.01 * step


def test_a_bias_that_is_no_pair_and_lost_between_steps_is_refused():
    for bias, is_refused in ((0.04, False), (0.0004, True)):
        net = Pairs((4,))
        net.layer(steps=1)
        weight, x = net.nodes[0].output[0], net.nodes[2].output[0]
        del net.nodes[-1]
        y = net.op("Gemm", x, weight, net.constant(np.full(4, bias, F4)), transB=1)
        net.nodes[1].input[1] = net.constant(np.array(0.25, F4))
        net.nodes[2].input[1] = net.nodes[1].input[1]
        net.pair(y, 0.0003)
        if is_refused:
            with pytest.raises(GraphError, match="Gemm .* with constants that round by 1.3 steps"):
                import_onnx(net.finish())
        else:
            assert import_onnx(net.finish()).quantized


def test_a_recurrent_layer_between_pairs_is_refused_with_the_way_out():
    net = Pairs((5, 3))
    x = net.op("Transpose", net.pair("x"), perm=[1, 0, 2])
    weights = [net.random.normal(0, 0.4, shape).astype(F4) for shape in ((1, 16, 3), (1, 16, 4))]
    net.op("LSTM", x, *weights, hidden_size=4)
    with pytest.raises(GraphError, match="LSTM.*in a float model.*or give the float model"):
        import_onnx(net.finish())


def test_a_range_is_kept_for_what_stands_before_the_factors_of_a_normalization():
    """No finer than needed: all that the output can hold, and never beyond the root of n - 1."""
    from acclimate_host.model.import_onnx_moves import _normal_scale

    one, none = np.ones(16), np.zeros(16)
    assert _normal_scale((1 / 64, 0), one, none) == (pytest.approx(1 / 64), 0)
    scale, zero = _normal_scale((1.0, 0), one, none)
    assert scale == pytest.approx(2 * np.sqrt(15) / 255) and abs(zero) <= 1
    scale, zero = _normal_scale((1 / 99, -128), one, none)  # nothing below 0 comes through
    assert (scale, zero) == (pytest.approx(1 / 99), -128)
    scale, zero = _normal_scale((1 / 64, 0), -one, none)
    assert scale == pytest.approx(1 / 64) and -scale * (128 + zero) == pytest.approx(-127 / 64)
    scale, _ = _normal_scale((1 / 99, 0), np.where(np.arange(16) == 3, 0.5, 1), none)
    assert scale == pytest.approx(2 / 99)
    assert _normal_scale((1 / 64, 0), none, none)[0] > 0


# ---- constants ------------------------------------------------------------------------------


def test_stored_constants_have_scales_and_zero_points_along_their_axis():
    data = np.array([[3, 5, 7], [2, 4, 6]], np.int8)
    one = Stored(0.5, np.array([1]), data).real
    assert one.tolist() == [[1, 2, 3], [0.5, 1.5, 2.5]]
    rows = Stored(np.array([0.5, 2.0]), np.array([1, 2]), data, 0).real
    assert rows.tolist() == [[1, 2, 3], [0, 4, 8]]
    columns = Stored(np.array([1.0, 2.0, 3.0]), np.array([0]), data, 1).real
    assert columns.tolist() == [[3, 10, 21], [2, 8, 18]]


@pytest.mark.parametrize("zero", [None, np.zeros(2, np.int8)])
def test_rounded_weights_of_two_outputs(zero):
    net = Pairs((4,))
    weight, scale = net.random.normal(0, 0.3, (2, 4)).astype(F4), np.array([0.01, 0.02], F4)
    parts = [net.constant(scale)] + ([] if zero is None else [net.constant(zero)])
    attrs = {"output_dtype": onnx.TensorProto.INT8} if zero is None else {}
    stored = net.op("QuantizeLinear", net.constant(weight), *parts, axis=0, **attrs)
    weight = net.op("DequantizeLinear", stored, *parts, axis=0)
    net.pair(net.op("Gemm", net.pair("x"), weight, transB=1))
    model, given = net.finish(), samples((4,), 20)
    network = import_onnx(model)
    assert network.values["fc0.w"].dtype == np.int8
    assert np.abs(stored_by(network, given) * 0.05 - theirs(model, given)).max() <= 0.0501


def test_weights_of_blocks_and_of_other_types_are_refused():
    net = Pairs((4,))
    scale, zero = (net.constant(np.full((4, 2), v, t)) for v, t in ((0.01, F4), (0, np.int8)))
    attrs = {"axis": 1, "block_size": 2}
    stored = net.op("QuantizeLinear", net.constant(np.ones((4, 4), F4)), scale, zero, **attrs)
    weight = net.op("DequantizeLinear", stored, scale, zero, **attrs)
    net.pair(net.op("Gemm", net.pair("x"), weight, transB=1))
    with pytest.raises(GraphError, match="Linear"):
        import_onnx(net.finish())
    net = Pairs((4,))
    scale = net.constant(np.array(0.01, F4))
    stored = net.op("QuantizeLinear", net.constant(np.ones((4, 4), F4)), scale)
    weight = net.op("DequantizeLinear", stored, scale)
    net.pair(net.op("Gemm", net.pair("x"), weight, transB=1))
    with pytest.raises(GraphError, match="Gemm with uint8 weights: symmetric int8 weights"):
        import_onnx(net.finish())


def test_a_scale_that_is_computed_is_refused():
    net = Pairs((4,))
    x = net.layer()
    scale = net.op("GlobalAveragePool", net.op("Unsqueeze", x, np.array([2])))
    net.op("QuantizeLinear", x, net.op("Squeeze", scale), net.constant(np.array(0, np.int8)))
    with pytest.raises(GraphError, match="QuantizeLinear to int8: pairs of int8"):
        import_onnx(net.finish())


def test_a_pair_without_type_and_zero_point_is_of_unsigned_bytes():
    net = Pairs((4,))
    x, scale = net.layer(), net.constant(np.array(0.05, F4))
    net.op("DequantizeLinear", net.op("QuantizeLinear", x, scale), scale)
    graph = import_onnx(net.finish()).graph
    assert graph[graph.outputs[0]].zero_point == -128
    with pytest.raises(GraphError, match="input_shape"):
        import_onnx(net.finish(), (7,))
