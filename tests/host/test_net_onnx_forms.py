# SPDX-License-Identifier: MIT
"""Forms of ONNX operators that stand at an edge: taken as onnxruntime does, or refused by name."""

from dataclasses import replace

import numpy as np
import pytest

from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.losses import ROWS_NOTE, SOFTMAX_NOTE, softmax_note, with_loss

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from test_net_onnx import Model, samples, theirs  # noqa: E402

F4 = np.float32


def same_as_theirs(net):
    model, given = net.finish(), samples(net.shape)
    network = import_onnx(model)
    found = FloatRun(network).predict(given.reshape(len(given), *network.graph["x"].shape))
    assert found == pytest.approx(theirs(model, given), rel=1e-4, abs=1e-4)
    return network


def refusal(net):
    with pytest.raises(GraphError) as caught:
        import_onnx(net.finish())
    return str(caught.value)


# ---- Gemm -----------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha, beta", [(0.5, 2.0), (-1.5, 0.0), (0.0, 1.0)])
def test_factors_of_a_gemm_are_multiplied_in(alpha, beta):
    net = Model((6,))
    weight, bias = (net.random.normal(0, 1, shape).astype(F4) for shape in ((6, 4), (4,)))
    net.op("Gemm", "x", weight, bias, alpha=alpha, beta=beta)
    same_as_theirs(net)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (4,), (1, 4)])
def test_a_bias_is_one_number_or_one_for_each_output(shape):
    net = Model((6,))
    net.op("Gemm", "x", net.random.normal(0, 1, (6, 4)).astype(F4), np.full(shape, 0.7, F4))
    same_as_theirs(net)


def test_a_bias_of_another_form_is_refused():
    net = Model((6,))
    net.op("Flatten", "x", axis=0)
    net.op("Reshape", net.last, np.array([3, 2]))
    net.op("Gemm", net.last, np.ones((2, 3), F4), np.ones((3, 1), F4))
    assert "Gemm with a bias of shape (3, 1): a constant, one number for each" in refusal(net)
    net = Model((6,))
    net.op("Gemm", "x", np.ones((6, 4), F4), net.op("Tanh", "x"))
    assert "Gemm with a bias of shape ()" in refusal(net)


# ---- softmax --------------------------------------------------------------------------------


def test_a_softmax_of_each_row_is_not_one_of_classes():
    net = Model((3, 4))
    net.op("MatMul", "x", net.random.normal(0, 1, (4, 5)).astype(F4))
    net.op("Softmax", net.last, axis=-1)
    network = import_onnx(net.finish())
    assert network.notes == (ROWS_NOTE,)
    for loss in (None, "cross-entropy", "mse"):
        with pytest.raises(GraphError, match="a softmax for each of several rows"):
            with_loss(network, loss)
    assert with_loss(replace(network, notes=()), "mse").graph


def test_samples_of_a_batch_are_not_rows_of_one():
    net = Model((6,))
    net.dense(5, 6)
    net.op("Softmax", net.last, axis=-1)
    model = net.finish()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
    network = import_onnx(model)
    assert network.notes == (SOFTMAX_NOTE,) and with_loss(network).graph


@pytest.mark.parametrize("opset, note", [(11, SOFTMAX_NOTE), (13, ROWS_NOTE)])
@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
def test_until_operators_13_a_softmax_is_over_all_axes_behind_its_own(kind, opset, note):
    net = Model((3, 4))
    net.opset = opset
    net.op("Relu", "x")
    net.op(kind, net.last, axis=1)
    assert import_onnx(net.finish()).notes == (note,)
    if opset < 13:
        net.nodes[-1] = onnx.helper.make_node(kind, [net.nodes[0].output[0]], [net.last])
        assert import_onnx(net.finish()).notes == (note,)


def test_a_softmax_over_one_value_is_refused():
    net = Model((3, 1))
    net.op("Relu", "x")
    net.op("Softmax", net.last, axis=2)
    assert "Softmax over 1 value: one over the classes" in refusal(net)
    assert softmax_note(1, 1) == SOFTMAX_NOTE
    assert softmax_note(1, 2) is None
    assert softmax_note(2, 4) == ROWS_NOTE


# ---- padding, training, samples -------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Conv", "AveragePool", "MaxPool"])
def test_padding_as_needed_where_strides_leap_over_the_edge_is_refused(kind):
    """onnxruntime begins its Conv and its AveragePool at other places then, and no MaxPool."""
    for height in (7, 8, 9):
        net = Model((1, height, 1))
        inputs = [np.ones((1, 1, 1, 1), F4)] if kind == "Conv" else []
        net.op(kind, "x", *inputs, kernel_shape=[1, 1], strides=[4, 1], auto_pad="SAME_UPPER")
        if height == 9:
            same_as_theirs(net)
        else:
            assert "auto_pad SAME_UPPER with strides (4, 1) beyond a kernel" in refusal(net)


def test_what_computes_from_a_batch_while_it_trains_is_refused():
    net = Model((3, 4, 4))
    net.normalization(3)
    node = net.nodes[-1]
    node.attribute.append(onnx.helper.make_attribute("training_mode", 1))
    node.output.extend(["mean", "variance"])
    assert "BatchNormalization in training, or of each place: export for" in refusal(net)
    for train in (True, False):
        net = Model((3, 4, 4))
        net.op("Dropout", "x", np.array(0.5, F4), np.array(train))
        net.op("Relu", net.last)
        if train:
            assert "Dropout in training: export for inference" in refusal(net)
        else:
            same_as_theirs(net)


def test_a_batch_of_zero_samples_means_any_number():
    net = Model((4, 6, 6))
    net.conv(3, 4, (3, 3))
    net.op("Flatten", net.last)
    net.dense(2, 3 * 4 * 4)
    model, given = net.finish(), samples(net.shape)
    wanted = theirs(model, given)
    for value in (0, -1):
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = value
        assert FloatRun(import_onnx(model)).predict(given) == pytest.approx(wanted, abs=1e-4)


def test_a_file_of_several_samples_whose_output_is_of_others_is_refused():
    net = Model((3, 4))
    net.op("Relu", "x")
    net.op("Flatten", net.last, axis=0)
    model = net.finish()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
    with pytest.raises(GraphError, match="4 samples at once with an output of shape"):
        import_onnx(model)


# ---- the whole file -------------------------------------------------------------------------


def test_several_inputs_or_outputs_are_refused():
    net = Model((4,))
    net.op("Add", "x", "other")
    model = net.finish()
    model.graph.input.append(onnx.helper.make_tensor_value_info("other", 1, (1, 4)))
    with pytest.raises(GraphError, match="2 inputs and 1 outputs: one of each"):
        import_onnx(model)
    net = Model((4,))
    net.op("Relu", "x")
    model = net.finish()
    model.graph.output.append(onnx.helper.make_tensor_value_info("x", 1, (1, 4)))
    with pytest.raises(GraphError, match="1 inputs and 2 outputs: one of each"):
        import_onnx(model)


@pytest.mark.parametrize("shape", [(), (2, 3, 4, 5), (2, 0), (2, None)])
def test_inputs_of_other_numbers_of_axes_and_of_open_edges_are_refused(shape):
    net = Model(shape)
    net.op("Relu", "x")
    assert "fixed, or given: input_shape" in refusal(net)


def test_a_float_model_is_not_advised_to_be_float():
    net = Model((4,))
    net.op("Erf", "x")
    assert "float model" not in refusal(net)


def test_an_input_that_is_left_out_has_no_name():
    net = Model((2, 5, 5))
    net.op("Conv", "x", net.random.normal(0, 1, (3, 2, 3, 3)).astype(F4), "")
    network = same_as_theirs(net)
    assert [n.attrs["layer"] for n in network.graph.nodes] == ["c0"]


def test_one_sample_may_leave_in_whatever_shape():
    net = Model((2, 3))
    net.op("Relu", "x")
    net.op("Reshape", net.last, np.array([3, 2]))
    same_as_theirs(net)


def test_what_nobody_reads_is_left_out():
    net = Model((2, 5, 5))
    first = net.conv(3, 2, (3, 3))
    net.op("Erf", net.conv(4, 3, (1, 1)))  # nor is it refused
    net.op("Relu", first)
    network = same_as_theirs(net)
    assert [n.op for n in network.graph.nodes] == ["conv"]


@pytest.mark.parametrize(
    "shape, perm, ours, note",
    [
        ((9, 8, 2), [0, 3, 1, 2], (2, 9, 8), "(height, width, channels)"),
        ((40, 6), [0, 2, 1], (6, 40, 1), "(time, channels)"),
        ((9, 8, 5), [0, 2, 1, 3], (9, 8, 5), None),
    ],
)
def test_an_input_whose_channels_are_brought_to_the_front_has_them_there(shape, perm, ours, note):
    net = Model(shape)
    net.op("Transpose", "x", perm=perm)
    depth = [1, *shape][perm[1]]
    net.conv(3, depth, (3,) * (len(shape) - 1))
    model, given = net.finish(), samples(shape)
    network = import_onnx(model)
    assert network.graph["x"].shape == ours
    told = [n for n in network.notes if "here channels lead" in n]
    assert told == ([f"the file's input is {note}; here channels lead"] if note else [])
    inputs = np.moveaxis(given, -1, 1) if note else given
    found = FloatRun(network).predict(inputs.reshape(len(given), *ours))
    assert found == pytest.approx(theirs(model, given), abs=1e-4)


def test_an_image_of_one_channel_is_that_whatever_axis_it_stands_on():
    net = Model((7, 6, 1))
    net.op("Reshape", "x", np.array([1, 1, 7, 6]))
    net.conv(4, 1, (3, 2))
    network = import_onnx(net.finish())
    assert network.graph["x"].shape == (1, 7, 6)
    assert [n.op for n in network.graph.nodes] == ["conv"]
    net = Model((7, 6, 1))
    net.op("Reshape", "x", np.array([1, 1, 6, 7]))
    net.conv(4, 1, (3, 2))
    assert import_onnx(net.finish()).graph["x"].shape == (7, 6, 1)


def test_a_file_of_several_samples_is_taken_for_one():
    net = Model((3, 4))
    net.op("Flatten", net.op("Relu", "x"), axis=1)
    net.dense(2, 12)
    model, given = net.finish(), samples(net.shape)
    wanted = theirs(model, given)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
    found = FloatRun(import_onnx(model)).predict(given.reshape(len(given), 3, 4, 1))
    assert found == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("steps", [1, 9])
def test_a_row_of_the_file_that_is_a_column_here_stays_one(steps):
    """Kernels, strides and padding are turned with it, and nothing is moved."""
    net = Model((3, steps))
    net.op("Unsqueeze", "x", np.array([2]))
    net.conv(4, 3, (1, 3), pads=[0, 2, 0, 1], strides=[1, 2], dilations=[1, 1])
    net.op("Relu", net.last)
    net.op("MaxPool", net.last, kernel_shape=[1, 2], pads=[0, 1, 0, 0], strides=[1, 1])
    net.op("Pad", net.last, np.array([0, 0, 0, 1, 0, 0, 0, 2]))
    net.conv(2, 4, (1, 2))
    network = same_as_theirs(net)
    assert not [n for n in network.graph.nodes if n.op == "gather"]
    assert network.graph["x"].shape == (3, steps, 1)


def test_a_map_whose_rows_and_columns_are_exchanged_is_no_column():
    net = Model((3, 4, 6))
    net.op("Transpose", "x", perm=[0, 1, 3, 2])
    net.conv(2, 3, (2, 3), strides=[1, 2])
    same_as_theirs(net)


@pytest.mark.parametrize("shape", [(2, 6, 1), (7, 2, 1), (1, 6, 1)])
def test_small_images_of_one_channel_are_read_right(shape):
    net = Model(shape)
    net.op("Reshape", "x", np.array([1, 1, *shape[:2]]))
    net.conv(4, 1, (1, 2))
    network = same_as_theirs(net)
    assert network.graph["x"].shape == ((1, *shape[:2]) if shape[0] > 1 else shape)
