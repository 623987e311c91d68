# SPDX-License-Identifier: MIT
"""Layers of ONNX files one at a time: padding, moves that cost nothing, and what is refused."""

import numpy as np
import pytest

from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.int8 import Int8Run

pytest.importorskip("onnxruntime")
from test_net_onnx import Model, samples, theirs  # noqa: E402
from test_net_onnx_forms import refusal, same_as_theirs  # noqa: E402
from test_net_onnx_pairs import Pairs, stored_by  # noqa: E402

F4 = np.float32


def ops(network):
    return [node.op for node in network.graph.nodes]


# ---- padding --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["SAME_LOWER", "SAME_UPPER"])
@pytest.mark.parametrize("kind", ["Conv", "MaxPool", "AveragePool"])
@pytest.mark.parametrize("kernel, stride", [((2, 4), (1, 1)), ((4, 3), (2, 3)), ((2, 2), (2, 2))])
def test_an_odd_padding_has_its_greater_half_where_its_mode_says(kind, mode, kernel, stride):
    net = Model((2, 7, 9))
    attrs = {"kernel_shape": kernel, "strides": stride, "auto_pad": mode}
    weight = [net.random.normal(0, 1, (3, 2, *kernel)).astype(F4)] if kind == "Conv" else []
    net.op("Tanh", net.op(kind, "x", *weight, **attrs))
    same_as_theirs(net)


@pytest.mark.parametrize("pads", [(2, 0), (0, 1), (1, 3)])
@pytest.mark.parametrize("kind", ["Conv", "MaxPool", "AveragePool"])
def test_a_row_of_readings_is_padded_at_the_side_that_is_named(kind, pads):
    net = Model((3, 8))
    weight = [net.random.normal(0, 1, (2, 3, 4)).astype(F4)] if kind == "Conv" else []
    net.op("Tanh", net.op(kind, "x", *weight, kernel_shape=[4], pads=pads))
    same_as_theirs(net)


def test_a_padding_with_a_value_is_one_of_zeros_or_none():
    amounts = np.array([0, 0, 1, 0, 0, 0, 0, 2])
    net = Model((2, 3, 4))
    net.op("Pad", "x", amounts, np.array(0, F4))
    same_as_theirs(net)
    net = Model((2, 3, 4))
    net.op("Pad", "x", amounts, np.array(0.5, F4))
    assert "Pad (constant): zeros around height and width" in refusal(net)


def test_a_padding_that_is_computed_is_refused():
    net = Model((2, 3, 4))
    net.op("Pad", "x", net.op("Tanh", "x"))
    assert "Pad (constant): zeros around height and width" in refusal(net)


@pytest.mark.parametrize("counted", [0, 1])
def test_a_mean_without_padding_counts_none(counted):
    net = Model((2, 5, 4))
    net.op("Tanh", net.op("AveragePool", "x", kernel_shape=[2, 3], count_include_pad=counted))
    same_as_theirs(net)


@pytest.mark.parametrize("kind", ["Relu", "Clip"])
@pytest.mark.parametrize("pooled", [False, True])
def test_what_is_read_without_its_clamp_as_well_is_not_clamped(kind, pooled):
    net = Model((2, 5, 4))
    y = net.conv(3, 2, (2, 2))
    inside = net.op("MaxPool", y, kernel_shape=[1, 1]) if pooled else y
    limits = [np.array(v, F4) for v in (0, 6)] if kind == "Clip" else []
    net.op("Add", net.op(kind, inside, *limits), y)
    same_as_theirs(net)


# ---- moves ----------------------------------------------------------------------------------


def test_an_order_of_axes_that_changes_and_comes_back_costs_no_operator():
    net = Model((3, 5, 4))
    net.conv(4, 3, (2, 2))
    net.op("Transpose", net.last, perm=[0, 2, 3, 1])
    net.op("Mul", net.last, net.random.normal(0, 1, 4).astype(F4))
    net.op("Transpose", net.last, perm=[0, 3, 1, 2])
    net.conv(2, 4, (2, 1))
    assert ops(same_as_theirs(net)) == ["conv", "conv"]
    net = Model((3, 5))
    net.conv(4, 3, (2,))
    net.op("Transpose", net.last, perm=[0, 2, 1])
    net.op("MatMul", net.last, net.random.normal(0, 1, (4, 6)).astype(F4))
    net.op("Transpose", net.last, perm=[0, 2, 1])
    net.conv(2, 6, (2,))
    assert ops(same_as_theirs(net)) == ["conv", "conv", "conv"]


@pytest.mark.parametrize("shape, wanted", [((3, 4), (4, 3)), ((2, 6, 1), (6, 2, 1))])
def test_a_reshape_to_exchanged_edges_is_no_alias(shape, wanted):
    """As many axes of one place on both sides say nothing of the others."""
    net = Model(shape)
    net.op("Tanh", "x")
    net.op("Reshape", net.last, np.array([1, *wanted]))
    net.conv(2, wanted[0], (2,) + (1,) * (len(wanted) - 2))
    same_as_theirs(net)


# ---- refused --------------------------------------------------------------------------------


def test_only_a_product_with_its_own_sigmoid_is_a_swish():
    for kind in ("Sub", "Add", "Mul"):
        net = Model((2, 3, 4))
        y = net.conv(3, 2, (2, 2))
        net.op(kind, y, net.op("Sigmoid", y))
        assert ("silu" in str(same_as_theirs(net).graph)) == (kind == "Mul")
    net = Model((2, 3, 4))
    y = net.conv(3, 2, (2, 2))
    net.op("Div", y, net.op("Sigmoid", y))
    assert "Div of two activations" in refusal(net)


def test_weights_with_an_axis_of_samples_are_refused():
    net = Model((3, 4))
    net.op("Tanh", "x")
    net.op("MatMul", net.last, net.random.normal(0, 1, (1, 4, 5)).astype(F4))
    assert "MatMul of (5, 4, 1) on 3x4x1 values: all values of its input at once" in refusal(net)


def test_a_clamp_by_itself_has_a_limit_that_a_table_knows():
    for limit in (6, 3):
        net = Model((2, 3, 4))
        net.op("Tanh", net.op("Clip", "x", np.array(0, F4), np.array(limit, F4)))
        if limit == 6:
            same_as_theirs(net)
        else:
            assert "Clip to [0, 3.0] of its own: Clip behind a layer" in refusal(net)


def test_a_sum_of_shapes_that_do_not_fit_is_named_with_both():
    net = Model((2, 3, 4))
    net.op("Add", "x", net.conv(2, 2, (2, 2)))
    assert "Add of [(2, 3, 4), (2, 2, 3)]: shapes that ONNX broadcasts" in refusal(net)


# ---- stored ---------------------------------------------------------------------------------


def test_two_scales_along_the_inputs_are_refused_as_four_are():
    for axis in (0, 1):
        net = Pairs((2,))
        weight = net.random.integers(-127, 128, (2, 2)).astype(np.int8)
        scale = np.array([0.01, 0.03], F4)
        parts = map(net.constant, (weight, scale, np.zeros(2, np.int8)))
        weight = net.op("DequantizeLinear", *parts, axis=axis)
        net.pair(net.op("Gemm", net.pair("x"), weight, transB=1))
        if axis:
            assert "Gemm with scales along axis 1: a scale for each output" in refusal(net)
            continue
        model, given = net.finish(), samples((2,), 20)
        network = import_onnx(model)
        stored = network.quantize_input(given.reshape(20, 2, 1, 1))
        found = network.real_output(Int8Run(network).predict(stored))
        assert np.abs(found - theirs(model, given)).max() < 0.051


def test_a_signal_that_is_stored_twice_is_told_with_both_steps():
    net = Pairs((4,))
    y = net.pair(net.layer(), 0.05)
    net.pair(net.op("Sub", y, net.pair(y, 0.08)), 0.02)
    model, given = net.finish(), samples((4,), 20)
    network = import_onnx(model)
    (note,) = network.notes
    assert "is stored twice, in steps of 0.05 and 0.08" in note
    found = network.real_output(stored_by(network, given))
    assert np.abs(found - theirs(model, given)).max() < 0.0801
