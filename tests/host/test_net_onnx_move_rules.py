# SPDX-License-Identifier: MIT
"""Elements of ONNX signals that change places: every form against onnxruntime, or refused."""

import numpy as np
import pytest

from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_onnx import import_onnx

pytest.importorskip("onnxruntime")
from test_net_onnx import Model, samples, session, theirs  # noqa: E402
from test_net_onnx_forms import refusal  # noqa: E402
from test_net_onnx_pairs import Pairs  # noqa: E402

F4 = np.float32


def numbers(net, *shape):
    return net.random.normal(0, 1, shape).astype(F4)


def ops(network):
    return [node.op for node in network.graph.nodes]


def compared(net):
    """Compare a model, with a dense layer that reads each value in its place, with onnxruntime."""
    given = samples(net.shape)
    net.op("Flatten", net.last)
    size = session(net.finish()).run(None, {"x": given[:1]})[0].size
    net.dense(3, size)
    model = net.finish()
    network = import_onnx(model)
    got = FloatRun(network).predict(given.reshape(len(given), *network.graph["x"].shape))
    assert got == pytest.approx(theirs(model, given), rel=1e-4, abs=1e-4)
    return network


# ---- larger and smaller ---------------------------------------------------------------------

FORMS = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
RULES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("sizes", [(9, 2), (1, 11), (3, 4), (5, 1)])
def test_each_form_and_rule_of_the_nearest_takes_onnxruntime_s_elements(form, rule, sizes):
    net = Model((2, 5, 4))
    attrs = {"coordinate_transformation_mode": form, "nearest_mode": rule}
    net.op("Resize", "x", "", "", np.array([1, 2, *sizes]), mode="nearest", **attrs)
    compared(net)


@pytest.mark.parametrize("form", FORMS)
def test_factors_of_the_nearest_need_not_be_whole(form):
    net = Model((2, 5, 4))
    attrs = {"coordinate_transformation_mode": form}
    net.op("Resize", "x", "", np.array([1, 1, 1.7, 2.3], F4), mode="nearest", **attrs)
    compared(net)


def test_other_forms_of_the_nearest_are_refused_by_name():
    net = Model((2, 5, 4))
    form = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    crop = np.array([0, 0, 0, 0, 1, 1, 1, 1], F4)
    net.op("Resize", "x", crop, "", np.array([1, 2, 9, 9]), mode="nearest", **form)
    assert "Resize with tf_crop_and_resize: half_pixel or asymmetric" in refusal(net)


# ---- blocks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [{}, {"mode": "DCR"}, {"mode": "CRD"}])
@pytest.mark.parametrize("shape, size", [((8, 2, 3), 2), ((18, 2, 1), 3)])
def test_channels_become_squares_in_the_order_that_is_named(shape, size, mode):
    net = Model(shape)
    net.op("Tanh", net.op("DepthToSpace", "x", blocksize=size, **mode))
    compared(net)


@pytest.mark.parametrize("shape, size", [((2, 4, 6), 2), ((3, 3, 6), 3)])
def test_squares_become_channels(shape, size):
    net = Model(shape)
    net.op("Tanh", net.op("SpaceToDepth", "x", blocksize=size))
    compared(net)


def test_blocks_of_a_row_are_refused():
    net = Model((8, 6))
    net.op("DepthToSpace", "x", blocksize=2)
    with pytest.raises(GraphError):
        import_onnx(net.finish())


# ---- joined ---------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [1, 2, 3, -1])
@pytest.mark.parametrize("turned", [(), (0,), (1,), (0, 1)])
def test_maps_are_joined_along_the_file_s_axis_whatever_their_order(axis, turned):
    """As many rows and columns as channels: no shape tells which is which."""
    net, parts = Model((3, 4, 5)), []
    for at in range(2):
        part = net.conv(4, 3, (1, 2), source="x")
        parts.append(net.op("Transpose", part, perm=[0, 2, 3, 1]) if at in turned else part)
    net.op("Tanh", net.op("Concat", *parts, axis=axis))
    compared(net)


def test_channels_that_come_last_are_joined_where_they_lie():
    net = Model((3, 4, 3))
    parts = [net.op("Transpose", net.conv(n, 3, (1, 1), source="x"), perm=[0, 2, 3, 1])
             for n in (2, 5)]  # fmt: skip
    net.op("Concat", *parts, axis=3)
    net.op("Mul", net.last, numbers(net, 7))
    assert "gather" not in ops(compared(net))


# ---- turned and cut -------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 3, 4), (4, 4, 3), (5, 4)])
def test_a_product_is_along_the_last_axis_of_whatever_shape(shape):
    net = Model(shape)
    net.op("Tanh", net.op("MatMul", net.op("Tanh", "x"), numbers(net, shape[-1], 5)))
    compared(net)


@pytest.mark.parametrize("axis", [-1, -2, -3])
def test_a_normalization_is_over_all_axes_from_its_own_on(axis):
    net = Model((2, 3, 4))
    shape = net.shape[axis:]
    net.op("LayerNormalization", "x", numbers(net, *shape), numbers(net, *shape), axis=axis)
    network = compared(net)
    # Only brought in its order, if at all; what stands behind it reads it as it lies.
    assert ops(network).count("gather") <= 2


def test_of_several_samples_the_first_axis_stays():
    net = Model((3, 4))
    net.op("Relu", net.op("Transpose", "x", perm=[1, 0, 2]))
    model = net.finish()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 3
    with pytest.raises(
        GraphError, match=r"Transpose \[1, 0, 2\]: the first axis, of samples, stays"
    ):
        import_onnx(model)


def test_a_slice_along_an_axis_that_is_not_there_is_refused():
    for axis in (2, -3):
        net = Model((3, 4))
        net.op("Squeeze", "x", np.array([0]))
        net.op("Slice", net.last, *map(np.array, ([0], [2], [axis])))
        net.op("Relu", net.last)
        assert f"Slice along axis {axis}: an axis of one sample" in refusal(net)


# ---- products and slopes --------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False])
def test_a_gate_for_each_channel_is_multiplied_without_repeating_it(first):
    net = Model((3, 4, 2))
    y = net.conv(5, 3, (1, 1))
    gate = net.op("Sigmoid", net.conv(5, 5, (1, 1), source=net.op("GlobalAveragePool", y)))
    net.op("Mul", *((gate, y) if first else (y, gate)))
    network = compared(net)
    assert "gather" not in ops(network) and "multiply" in ops(network)


def test_a_slope_is_a_constant_of_a_float_model():
    net = Model((3, 4, 2))
    slope = net.op("GlobalAveragePool", net.conv(3, 3, (1, 1)))
    net.op("PRelu", "x", slope)
    assert "PRelu: a float model, one slope or one for each channel" in refusal(net)
    net = Pairs((4,))
    net.pair(net.op("PRelu", net.pair(net.layer()), net.constant(np.array([0.2], F4))))
    assert "PRelu: a float model, one slope or one for each channel" in refusal(net)
