# SPDX-License-Identifier: MIT
"""ONNX operators that move elements, enlarge, normalize or multiply, against onnxruntime."""

import numpy as np
import pytest

from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step, training_step
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.scheme import full

pytest.importorskip("onnxruntime")
from test_net_onnx import Model, as_ours, quantized_by_onnxruntime, samples, session, theirs  # noqa: E402


def numbers(net, *shape):
    return net.random.normal(0, 1, shape).astype(np.float32)


def many(net, kind, outputs, *inputs, **attrs):
    """Add an operator of several outputs and return their names."""
    net.op(kind, *inputs, **attrs)
    names = [f"{net.last}_{i}" for i in range(outputs)]
    del net.nodes[-1].output[:]
    net.nodes[-1].output.extend(names)
    return names


def transformer():
    """Patches become tokens: layer normalization, products with the last axis, a gated half."""
    net = Model((3, 8, 6))
    net.conv(8, 3, (2, 2), strides=[2, 2])
    net.op("Reshape", net.last, np.array([1, 8, 12]))
    tokens = net.op("Transpose", net.last, perm=[0, 2, 1])
    net.op("LayerNormalization", tokens, numbers(net, 8), numbers(net, 8), epsilon=1e-3)
    net.op("MatMul", net.last, numbers(net, 8, 12))
    net.op("Add", net.last, numbers(net, 12))
    left, right = many(net, "Split", 2, net.last, axis=-1)
    net.op("Mul", net.op("Sigmoid", left), right)
    net.op("MatMul", net.last, numbers(net, 6, 8))
    net.op("Add", net.last, tokens)
    net.op("LayerNormalization", net.last, numbers(net, 8), axis=-1)
    net.op("ReduceMean", net.last, axes=[1], keepdims=0)
    net.dense(3, 8)
    return net


def mixer():
    """Rows and columns change places; the normalization is over the last axis as it comes."""
    net = Model((5, 7))
    net.op("LayerNormalization", net.last, numbers(net, 7), numbers(net, 7))
    net.op("MatMul", net.last, numbers(net, 7, 4))
    net.op("Relu", net.last)
    net.op("Transpose", net.last, perm=[0, 2, 1])
    net.op("MatMul", net.last, numbers(net, 5, 6))
    net.op("Flatten", net.last)
    net.op("LayerNormalization", net.last, numbers(net, 24), numbers(net, 24))
    net.dense(4, 24)
    return net


def enlarging():
    """A decoder: halves in channels, four ways to enlarge, joined with what was before."""
    net = Model((4, 5, 6))
    first = net.conv(6, 4, (3, 3), pads=[1, 1, 1, 1])
    small = net.conv(5, 6, (3, 3), pads=[1, 1, 1, 2], strides=[2, 2])
    sizes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    near = net.op("Resize", small, "", "", np.array([1, 5, 5, 6]), mode="nearest", **sizes)
    parts = many(net, "Split", 3, first, np.array([1, 2, 3]), axis=1)
    joined = net.op("Concat", parts[2], near, parts[0], axis=1)
    net.op("Resize", joined, "", np.array([1, 1, 2, 3], np.float32), mode="linear")
    net.op("Resize", net.last, "", np.array([1, 1, 0.5, 1.5], np.float32), mode="nearest")
    net.conv(3, 9, (1, 1), source=net.last)
    net.op("DepthToSpace", net.op("Concat", net.last, net.last, axis=2), blocksize=1)
    net.op("GlobalAveragePool", net.last)
    net.op("Flatten", net.last)
    net.op("Concat", net.last, net.op("Slice", net.last, *map(np.array, ([1], [3], [1]))), axis=1)
    net.dense(3, 5)
    return net


def shuffled():
    """Transposes and reshapes between layers, blocks, places picked, a PReLU, a difference."""
    net = Model((4, 6, 4))
    net.op("SpaceToDepth", net.last, blocksize=2)
    net.conv(8, 16, (1, 1))
    net.op("PRelu", net.last, numbers(net, 8, 1, 1))
    net.op("DepthToSpace", net.last, blocksize=2, mode="CRD")
    net.op("Transpose", net.last, perm=[0, 1, 3, 2])
    net.op("Reshape", net.last, np.array([1, 4, 6, 2]))
    before = net.conv(5, 4, (1, 1))
    net.op("Gather", before, np.array([1, 0, 1]), axis=3)
    net.op("Slice", net.last, *map(np.array, ([5, 2], [-7, 0], [2, 3], [-2, -1])))
    after = net.op("Transpose", net.last, perm=[0, 2, 3, 1])
    net.op("Sub", after, net.op("Tanh", after))
    net.op("Relu", net.last)
    net.op("Flatten", net.last)
    net.dense(3, 5 * 3 * 2)
    return net


def squeezed():
    """A squeeze-and-excite block, and a signal times itself."""
    net = Model((3, 6, 5))
    y = net.conv(6, 3, (3, 3))
    net.op("GlobalAveragePool", y)
    net.conv(6, 6, (1, 1))
    net.op("Mul", net.op("Sigmoid", net.last), y)
    net.op("Mul", net.last, net.last)
    net.op("Flatten", net.last)
    net.dense(3, 6 * 4 * 3)
    return net


KINDS = {f.__name__: f for f in (transformer, mixer, enlarging, shuffled, squeezed)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_float_model_gives_what_onnxruntime_gives(kind):
    net = KINDS[kind]()
    model, given = net.finish(), samples(net.shape)
    network = import_onnx(model)
    got = FloatRun(network).predict(as_ours(network, given))
    assert got == pytest.approx(theirs(model, given), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_it_becomes_an_int8_program_that_learns(kind):
    net = KINDS[kind]()
    network = import_onnx(net.finish())
    small, _ = quantize(network, as_ours(network, samples(net.shape, 40)))
    assert encode(inference_step(small.graph), small).arena_bytes > 0
    small = with_loss(small)
    assert encode(training_step(small.graph, full(small.graph)), small).weights


@pytest.mark.parametrize("kind", ("enlarging", "squeezed"))
def test_an_int8_model_is_close_to_onnxruntime(kind, tmp_path):
    from onnxruntime.quantization import QuantType

    net = KINDS[kind]()
    if kind == "enlarging":
        for node in net.nodes:
            for attribute in node.attribute:
                if attribute.name == "mode":
                    attribute.s = b"nearest"
    given = samples(net.shape, 30)
    model = quantized_by_onnxruntime(net.finish(), given, tmp_path, QuantType.QInt8)
    network, wanted = import_onnx(model), theirs(model, given)
    stored = Int8Run(network).predict(network.quantize_input(as_ours(network, given)))
    apart = np.abs(network.real_output(stored) - wanted) / network.graph[network.output].scale
    assert network.quantized and apart.max() <= 3.01 and apart.mean() < 1


def test_a_number_for_each_place_of_the_last_axis_is_none_for_each_channel():
    """As many channels as places: which is meant is told by the axis alone."""
    for last in (False, True):
        net = Model((4, 3, 4))
        net.conv(4, 4, (1, 1))
        if last:
            net.op("Transpose", net.last, perm=[0, 2, 3, 1])
        net.op("Mul", net.last, numbers(net, 4))
        model, given = net.finish(), samples(net.shape)
        if not last:
            with pytest.raises(GraphError) as caught:
                import_onnx(model)
            assert "Mul of a constant map" in str(caught.value)
            continue
        got = FloatRun(import_onnx(model))(given)
        y = next(reversed(got.values())).transpose(0, 2, 3, 1).reshape(len(given), -1)
        assert y == pytest.approx(theirs(model, given), rel=1e-5, abs=1e-5)


def test_slopes_belong_to_the_axis_that_they_lie_along():
    """As many channels as rows and columns: which is meant is told by the axis alone."""
    for last, slopes, fits in (
        (False, (4, 1, 1), True), (False, (4,), False), (False, (4, 1), False),
        (False, (1,), True),
        (True, (4,), True), (True, (4, 1, 1), True), (True, (4, 1), False),
    ):  # fmt: skip
        net = Model((4, 4, 4))
        net.conv(4, 4, (1, 1))
        if last:
            net.op("Transpose", net.last, perm=[0, 2, 3, 1])
        net.op("Flatten", net.op("PRelu", net.last, numbers(net, *slopes)))
        net.dense(3, 64)
        model, given = net.finish(), samples(net.shape)
        if not fits:
            with pytest.raises(GraphError, match="PRelu: a float model, one slope or one for"):
                import_onnx(model)
            continue
        got = FloatRun(import_onnx(model)).predict(given)
        assert got == pytest.approx(theirs(model, given), rel=1e-4, abs=1e-4)


def compared(net, features):
    """Compare a model with a dense layer behind the last value with onnxruntime."""
    net.op("Flatten", net.last)
    net.dense(3, features)
    model, given = net.finish(), samples(net.shape)
    got = FloatRun(import_onnx(model)).predict(given.reshape(len(given), *(*net.shape, 1, 1)[:3]))
    assert got == pytest.approx(theirs(model, given), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("factor, shift", [((4,), None), ((3, 1), (3, 4)), ((1, 1), (4,))])
def test_factors_of_a_normalization_are_spread_over_its_axes(factor, shift):
    net = Model((2, 3, 4))
    parts = [numbers(net, *shape) for shape in (factor, shift) if shape]
    net.op("LayerNormalization", net.last, *parts, axis=-2)
    compared(net, 24)


def test_a_normalization_with_a_computed_shift_is_refused():
    net = Model((3, 4))
    net.op("LayerNormalization", "x", numbers(net, 4), net.op("GlobalAveragePool", "x"))
    with pytest.raises(GraphError, match="LayerNormalization over 4 values: constant factors"):
        import_onnx(net.finish())


def test_a_slice_may_begin_or_end_far_before_the_first_place():
    net = Model((5, 4))
    parts = [np.array(v) for v in ([-9, -7], [3, -(2**31)], [1, 2], [1, -1])]
    net.op("Slice", net.last, *parts)
    compared(net, 3)


def unsqueezed(shape, axis):
    net = Model(shape)
    net.op("Unsqueeze", net.last, np.array([axis]))
    return net


def test_an_axis_of_one_place_in_front_becomes_the_channels():
    for kind, attrs in (("GlobalAveragePool", {}), ("ReduceMean", {"axes": [2, -1]})):
        net = unsqueezed((4, 3), 1)
        net.op(kind, net.last, **attrs)
        compared(net, 1)
    net = unsqueezed((4, 3), 1)
    net.op("MaxPool", net.last, kernel_shape=[2, 2])
    compared(net, 6)
    net = unsqueezed((4, 3), 1)
    net.conv(4, 1, (3, 2))
    compared(net, 16)
    net = unsqueezed((4, 3), 3)
    net.op("Transpose", net.last, perm=[0, 2, 1, 3])
    net.op("ReduceMean", net.last, axes=[2, 3])
    compared(net, 3)


def test_a_row_that_grows_is_no_column():
    net = unsqueezed((2, 4), 2)
    net.op("Pad", net.last, np.array([0, 0, 1, 0, 0, 0, 0, 1]))
    compared(net, 20)
    net = unsqueezed((2, 4), 2)
    net.conv(3, 2, (2, 3), pads=[1, 1, 1, 1])
    compared(net, 24)


@pytest.mark.parametrize("mode, factors", [("nearest", (2.5, 1.7)), ("linear", (2, 3))])
def test_the_resize_of_operators_10_takes_the_beginnings_of_elements(mode, factors):
    net = Model((2, 3, 4))
    net.opset = 10
    net.op("Resize", "x", np.array([1, 1, *factors], np.float32), mode=mode)
    compared(net, 2 * int(3 * factors[0]) * int(4 * factors[1]))


def test_a_padding_may_name_its_axes():
    for amounts, axes in (([1, 2, 0, 1], [3, -2]), ([0, 0, 1, 0, 0, 0, 2, 0], [0, 1, 3, 2])):
        net = Model((2, 3, 4))
        net.opset = 18
        net.op("Pad", "x", np.array(amounts), "", np.array(axes))
        compared(net, 60 if len(axes) == 2 else 42)


def test_a_padding_that_cuts_is_refused():
    net = Model((2, 3, 4))
    net.op("Pad", "x", np.array([0, 0, -1, 0, 0, 0, 0, 1]))
    with pytest.raises(GraphError, match="Pad .constant.: zeros around height and width"):
        import_onnx(net.finish())


def ints(*lists):
    return [np.array(numbers) for numbers in lists]


@pytest.mark.parametrize(
    "kind, inputs, attrs, words",
    [
        ("Split", ints([1, 9]), {"axis": 1}, r"Split into \[1, 9\]: 3 places in 1 parts"),
        ("Split", ints([2]), {"axis": 1}, r"Split into \[2\]: 3 places in 1 parts"),
        ("Slice", ints([0], [1], [5]), {}, "Slice along axis 5: an axis of one sample"),
        (
            "Resize",
            ["", np.array([1, 1, 1e7], np.float32)],
            {},
            "Resize to .3, 40000000.: at most",
        ),
        ("LayerNormalization", [np.ones(4, np.float32)], {"epsilon": -1.0}, "constant factors"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(kind, inputs, attrs, words):
    net = Model((3, 4))
    net.op(kind, "x", *inputs, **attrs)
    with pytest.raises(GraphError, match=words):
        import_onnx(net.finish())


def test_means_over_no_axes_are_refused():
    net = Model((4,))
    net.op("ReduceMean", net.last)
    with pytest.raises(GraphError, match="ReduceMean over axes None"):
        import_onnx(net.finish())


@pytest.mark.parametrize("shape", [(1, 4, 1, 1), (1, 4), (1, 1, 4), (1, 4, 1)])
def test_a_gate_multiplies_the_axis_that_it_lies_along(shape):
    """Four channels, rows and columns: which are meant is told by the gate's shape alone."""
    net = Model((4, 4, 4))
    net.op("GlobalAveragePool", "x")
    gate = net.op("Reshape", net.last, np.array(shape))
    net.op("Mul", gate, "x")
    compared(net, 64)


@pytest.mark.parametrize("kind", ("Add", "Sub", "Mul"))
def test_a_row_and_a_column_make_a_table(kind):
    net = Model((4,))
    net.op(kind, "x", net.op("Unsqueeze", "x", np.array([2])))
    compared(net, 16)


@pytest.mark.parametrize("mode", ("nearest", "linear"))
@pytest.mark.parametrize("sizes", (True, False))
def test_a_resize_may_name_its_axes(mode, sizes):
    """As of operators 18; those without a number stay."""
    net = Model((2, 3, 4))
    net.opset = 18
    number = np.array([12]) if sizes else np.array([3], np.float32)
    net.op("Resize", "x", "", *[""] * sizes, number, mode=mode, axes=[-1])
    compared(net, 72)


def test_a_resize_of_one_axis_or_of_samples():
    net = Model((4,))
    net.op("Resize", "x", "", np.array([1, 1], np.float32), mode="linear")
    compared(net, 4)
    for number in (np.array([2, 1, 1], np.float32), np.array([2, 3, 4])):
        net = Model((3, 4))
        sizes = [""] * (number.dtype != np.float32)
        net.op("Resize", "x", "", *sizes, number, mode="nearest")
        with pytest.raises(GraphError, match="Resize of samples: an axis of one sample"):
            import_onnx(net.finish())
    net = Model((3, 4, 4))
    net.opset = 18
    keep = {"keep_aspect_ratio_policy": "not_larger", "axes": [2, 3]}
    net.op("Resize", "x", "", "", np.array([8, 6]), mode="nearest", **keep)
    with pytest.raises(GraphError, match="Resize that keeps the aspect ratio: sizes or factors"):
        import_onnx(net.finish())


def test_a_part_without_values_is_refused():
    net = Model((5, 4))
    net.op("Relu", net.op("Slice", net.last, *map(np.array, ([3], [3], [1]))))
    with pytest.raises(GraphError, match="v0 without values: one or more"):
        import_onnx(net.finish())


@pytest.mark.parametrize("function", ("Relu", "Tanh"))
def test_functions_keep_the_order_of_axes(function):
    net = Model((2, 3, 4))
    net.op("Transpose", net.conv(3, 2, (1, 1)), perm=[0, 2, 3, 1])
    net.op("Flatten", net.op(function, net.last))
    net.dense(3, 36)
    model, given = net.finish(), samples(net.shape)
    assert FloatRun(import_onnx(model)).predict(given) == pytest.approx(
        theirs(model, given), rel=1e-5, abs=1e-5
    )


def test_what_does_not_go_is_named_all_at_once():
    net = Model((3, 8, 8))
    y = net.conv(4, 3, (1, 1))
    cubic, large = {"mode": "cubic"}, net.conv(20, 3, (1, 1), source="x")
    made = [
        net.op("Resize", y, "", np.array([1, 1, 1.5, 1], np.float32), mode="linear"),
        net.op("Resize", y, "", np.array([1, 1, 2, 2], np.float32), **cubic),
        net.op("LayerNormalization", y, np.ones((4, 8, 8), np.float32), axis=0),
        net.op("Split", y, axis=0),
        net.op("LayerNormalization", large, numbers(net, 20, 8, 8), axis=1),
    ]
    net.op("Concat", *made, axis=1)  # what no output needs would not be looked at
    with pytest.raises(GraphError) as caught:
        import_onnx(net.finish())
    text = str(caught.value)
    for words in (
        "Resize (linear, half_pixel) by [1.0, 1.5, 1.0]: nearest, or linear by whole factors",
        "Resize (cubic, half_pixel)",
        "LayerNormalization along axis 0: an axis of one sample",
        "Split along axis 0",
        "LayerNormalization over 1280 values: constant factors, at most 500",
    ):
        assert words in text, text


def places_as_samples(kind, net, edge):
    """Read a signal whose first axis are no samples but what a Transpose brought there."""
    if kind == "Conv":
        net.conv(3, edge, (1, 1))
    elif kind == "BatchNormalization":
        net.normalization(edge)
    elif kind == "ReduceMean":
        net.op(kind, net.last, axes=[1, 2, 3], keepdims=1)
    elif kind == "Resize":
        net.op(kind, net.last, "", np.array([1, 1, 1, 2], np.float32), mode="nearest")
    else:
        attrs = {"kernel_shape": [1, 2]} if "Global" not in kind else {}
        net.op(kind, net.last, **attrs)


@pytest.mark.parametrize(
    "shape, perm",
    [
        ((4, 4, 4), [1, 0, 2, 3]),
        ((4, 4, 4), [2, 1, 0, 3]),
        ((4, 4, 4), [2, 3, 0, 1]),
        ((3, 4, 4), [1, 2, 0, 3]),
        ((4, 1, 4), [1, 0, 2, 3]),
    ],
)
@pytest.mark.parametrize(
    "kind",
    ("Conv", "BatchNormalization", "ReduceMean", "MaxPool", "AveragePool")
    + ("GlobalMaxPool", "GlobalAveragePool", "Resize"),
)
def test_what_works_on_each_sample_does_not_take_places_for_samples(kind, shape, perm):
    net = Model(shape)
    net.op("Transpose", net.op("Tanh", "x"), perm=perm)
    places_as_samples(kind, net, (1, *shape)[perm[1]])
    given = samples(shape)[:1]
    size = session(net.finish()).run(None, {"x": given})[0].size
    net.op("Reshape", net.last, np.array([1, -1]))
    net.dense(3, size)
    with pytest.raises(GraphError, match=f"not supported: {kind} "):
        import_onnx(net.finish())
