# SPDX-License-Identifier: MIT
"""Attention of ONNX models against onnxruntime, and what looks like it but is not."""

import numpy as np
import pytest

from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.importing import ModelImportError
from harness.errors import naming

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from test_net_onnx import Model, samples, theirs  # noqa: E402

ROWS, WIDTH = 7, 8


def numbers(net, *shape):
    return net.random.normal(0, 0.6, shape).astype(np.float32)


def number(value):
    return np.array(value, np.float32)


def scaled(net, form, scores):
    if form == "divided":
        return net.op("Div", scores, number(np.sqrt(WIDTH)))
    if form == "multiplied":
        return net.op("Mul", number(0.3), scores)
    return scores


def tokens(opset=17):
    """A layer over the last axis, whose rows are tokens with places of their own."""
    net = Model((ROWS, 5))
    net.opset = opset
    net.op("MatMul", net.last, numbers(net, 5, WIDTH))
    return net, net.op("Add", net.last, numbers(net, 1, ROWS, WIDTH))


def projected(net, x, width=WIDTH):
    net.op("MatMul", x, numbers(net, WIDTH, width))
    return net.op("Add", net.last, numbers(net, width))


def one_head(net, x, form):
    q, k = projected(net, x), projected(net, x)
    v = projected(net, x, 6)
    if form == "before":
        q = net.op("Mul", q, number(0.4))
    k = net.op("Transpose", k, perm=[0, 2, 1])
    if form == "both":
        q, k = net.op("Mul", q, number(0.6)), net.op("Div", k, number(1.7))
    scores = scaled(net, form, net.op("MatMul", q, k))
    shares = net.op("Softmax", scores, axis=-1 if form == "plain" else 2)
    return net.op("MatMul", shares, v)


def heads_of(net, x, heads, turned):
    net.op("Reshape", x, np.array([1, ROWS, heads, WIDTH // heads]))
    return net.op("Transpose", net.last, perm=[0, 2, 3, 1] if turned else [0, 2, 1, 3])


def several_heads(net, x, form, heads=2):
    q, k, v = (heads_of(net, projected(net, x), heads, turned) for turned in (False, True, False))
    scores = scaled(net, form, net.op("MatMul", q, k))
    net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
    net.op("Transpose", net.last, perm=[0, 2, 1, 3])
    return net.op("Reshape", net.last, np.array([1, ROWS, WIDTH]))


def finished(net, features):
    net.op("Flatten", net.last)
    net.dense(3, features)
    return net.finish()


def compared(model, count=1, shape=(ROWS, 5)):
    network, given = import_onnx(model), samples(shape)
    got = FloatRun(network).predict(given)
    assert got == pytest.approx(theirs(model, given), rel=1e-4, abs=1e-5)
    assert [node.op for node in network.graph.nodes].count("attention") == count
    return network


@pytest.mark.parametrize("opset", range(13, 19))
@pytest.mark.parametrize("form", ("plain", "divided", "multiplied", "before", "both"))
def test_one_head_is_onnxruntime_s(form, opset):
    net, x = tokens(opset)
    one_head(net, x, form)
    compared(finished(net, ROWS * 6))


@pytest.mark.parametrize("heads", (1, 2, 4))
@pytest.mark.parametrize("form", ("plain", "divided"))
def test_several_heads_are_one_operator(form, heads):
    net, x = tokens()
    several_heads(net, x, form, heads)
    network = compared(finished(net, ROWS * WIDTH))
    node = next(node for node in network.graph.nodes if node.op == "attention")
    assert node.attrs["heads"] == heads
    # Nothing is moved: the layers leave the rows as the heads have them.
    assert [n.op for n in network.graph.nodes].count("gather") <= 3


@pytest.mark.parametrize("kind", ("Gather", "Slice"))
def test_one_product_for_q_k_and_v_is_cut_along_its_first_axis(kind):
    """As vision transformers have it: (samples, rows, 3, heads, channels), then 3 comes first."""
    net, x = tokens()
    projected(net, x, 3 * WIDTH)
    net.op("Reshape", net.last, np.array([1, ROWS, 3, 2, WIDTH // 2]))
    whole, parts = net.op("Transpose", net.last, perm=[2, 0, 3, 1, 4]), []
    for at in range(3):
        if kind == "Gather":
            parts.append(net.op("Gather", whole, np.array(at), axis=0))
        else:
            ends = (np.array([at]), np.array([at + 1]), np.array([0]))
            parts.append(net.op("Squeeze", net.op("Slice", whole, *ends), np.array([0])))
    scores = net.op("MatMul", parts[0], net.op("Transpose", parts[1], perm=[0, 1, 3, 2]))
    shares = net.op("Softmax", scaled(net, "multiplied", scores), axis=-1)
    net.op("Transpose", net.op("MatMul", shares, parts[2]), perm=[0, 2, 1, 3])
    net.op("Add", net.op("Reshape", net.last, np.array([1, ROWS, WIDTH])), x)
    compared(finished(net, ROWS * WIDTH))


def test_a_whole_block_with_a_short_cut():
    net, x = tokens()
    x = net.op("Add", x, several_heads(net, x, "divided"))
    net.op("LayerNormalization", x, numbers(net, WIDTH), numbers(net, WIDTH))
    wide = projected(net, net.last, 12)
    error = net.op("Erf", net.op("Div", wide, number(np.sqrt(2))))
    net.op("Mul", net.op("Mul", wide, net.op("Add", error, number(1))), number(0.5))
    net.op("Add", net.op("MatMul", net.last, numbers(net, 12, WIDTH)), x)
    net.op("ReduceMean", net.last, axes=[1], keepdims=0)
    net.dense(3, WIDTH)
    network = compared(net.finish())
    functions = [n.attrs["function"] for n in network.graph.nodes if n.op == "lookup"]
    assert functions == ["gelu"]


@pytest.mark.parametrize("form", range(3))
def test_gelu_in_parts_is_one_function(form):
    net, x = tokens()
    net.op("Erf", net.op("Mul", x, number(np.sqrt(0.5))))
    plus = net.op("Add", number(1), net.last)
    if form == 0:
        net.op("Mul", net.op("Mul", plus, x), number(0.5))
    elif form == 1:
        net.op("Mul", net.op("Mul", x, number(0.5)), plus)
    else:
        net.op("Mul", x, net.op("Mul", plus, number(0.5)))
    compared(finished(net, ROWS * WIDTH), count=0)


def test_a_gelu_of_q_is_no_factor_of_the_scores():
    """Its last product with a half has one reader, as a factor has."""
    net, x = tokens()
    q, k, v = (projected(net, x) for _ in range(3))
    net.op("Erf", net.op("Mul", q, number(np.sqrt(0.5))))
    net.op("Mul", q, net.op("Add", number(1), net.last))
    q = net.op("Mul", net.last, number(0.5))
    scores = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 2, 1]))
    net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
    network = compared(finished(net, ROWS * WIDTH))
    assert [node.op for node in network.graph.nodes].count("lookup") == 1


@pytest.mark.parametrize("rows", (1, 4))
def test_rows_and_channels_may_be_all_axes(rows):
    """The one sample is left out; a single row is then the first axis."""
    net = Model((rows, WIDTH))
    x = net.op("Squeeze", "x", np.array([0]))
    q, k, v = (projected(net, x) for _ in range(3))
    scores = net.op("MatMul", q, net.op("Transpose", k, perm=[1, 0]))
    net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
    net.op("Reshape", net.last, np.array([1, rows * WIDTH]))
    net.dense(3, rows * WIDTH)
    compared(net.finish(), shape=(rows, WIDTH))


def test_heads_may_take_the_place_of_the_samples():
    """As PyTorch's own layer has them: (rows, heads, channels) of one sample, then heads first."""
    net, x = tokens()
    parts = []
    for _ in range(3):
        net.op("Reshape", projected(net, x), np.array([ROWS, 2, WIDTH // 2]))
        parts.append(net.op("Transpose", net.last, perm=[1, 0, 2]))
    scores = net.op("MatMul", parts[0], net.op("Transpose", parts[1], perm=[0, 2, 1]))
    net.op("MatMul", net.op("Softmax", scores, axis=-1), parts[2])
    net.op("Reshape", net.op("Transpose", net.last, perm=[1, 0, 2]), np.array([1, ROWS, WIDTH]))
    compared(finished(net, ROWS * WIDTH))


def normalized(net, x, power, axes=(-1,), shift=True):
    """A layer normalization as exporters write it before operators 17."""
    rest = net.op("Sub", x, net.op("ReduceMean", x, axes=list(axes), keepdims=1))
    square = net.op("Pow", rest, number(2)) if power else net.op("Mul", rest, rest)
    variance = net.op("ReduceMean", square, axes=list(axes), keepdims=1)
    root = net.op("Sqrt", net.op("Add", variance, number(1e-3)))
    net.op("Mul", net.op("Div", rest, root), numbers(net, WIDTH))
    return net.op("Add", net.last, numbers(net, WIDTH)) if shift else net.last


@pytest.mark.parametrize("power, shift", [(True, True), (False, True), (True, False)])
def test_a_normalization_in_parts_is_one_operator(power, shift):
    net, x = tokens()
    normalized(net, x, power, shift=shift)
    network = compared(finished(net, ROWS * WIDTH), count=0)
    assert [node.op for node in network.graph.nodes].count("norm") == 1


def test_parts_that_are_no_normalization_stay_apart():
    """Over other axes, or where the difference is read again."""
    net, x = tokens()
    normalized(net, x, True, axes=(1, 2))
    with pytest.raises(ModelImportError, check=naming("Pow", "Sqrt")):
        import_onnx(finished(net, ROWS * WIDTH))
    net, x = tokens()
    y = normalized(net, x, True)
    difference = next(node.output[0] for node in net.nodes if node.op_type == "Sub")
    net.op("Add", y, difference)
    with pytest.raises(ModelImportError, check=naming("Pow", "Sqrt")):
        import_onnx(finished(net, ROWS * WIDTH))


@pytest.mark.parametrize("scale", [(1,), (ROWS, 1), (1, ROWS, WIDTH)])
def test_a_normalization_is_one_with_a_factor_for_each_number_of_its_rows(scale):
    net, x = tokens()
    normalized(net, x, True, shift=False)
    net.nodes[-1].input[1] = net.constant(numbers(net, *scale))
    with pytest.raises(ModelImportError, check=naming("Pow", "Sqrt")):
        import_onnx(finished(net, ROWS * WIDTH))


@pytest.mark.parametrize("which", ["mean", "variance"])
@pytest.mark.parametrize("attrs", [{"axes": [-1], "keepdims": 0}, {"keepdims": 1}])
def test_a_mean_that_lies_along_another_axis_is_none_of_a_normalization(which, attrs):
    """As many rows as columns: a mean without its axis is taken from columns."""
    net = Model((WIDTH, 5))
    net.op("MatMul", net.last, numbers(net, 5, WIDTH))
    normalized(net, net.last, True)
    means = [node for node in net.nodes if node.op_type == "ReduceMean"]
    changed = means[which == "variance"]
    made = onnx.helper.make_node("ReduceMean", changed.input, changed.output, **attrs)
    changed.CopyFrom(made)
    with pytest.raises(ModelImportError, check=naming("Pow", "Sqrt")):
        import_onnx(finished(net, WIDTH * WIDTH))


def test_what_is_no_square_has_no_variance():
    for kind, inputs in (("Relu", ()), ("Pow", (number(3),)), ("Mul", ("other",))):
        net, x = tokens()
        net.op("Tanh", x)
        other = net.last
        normalized(net, x, True)
        at = next(i for i, node in enumerate(net.nodes) if node.op_type == "Pow")
        rest, square = net.nodes[at].input[0], net.nodes[at].output
        given = [other if i == "other" else net.constant(i) for i in inputs]
        net.nodes[at].CopyFrom(onnx.helper.make_node(kind, [rest, *given], square))
        with pytest.raises(ModelImportError, check=naming("Sqrt")):
            import_onnx(finished(net, ROWS * WIDTH))


def gelu_but(net, x, change):
    """A GELU in which one thing is another."""
    root = number(np.sqrt(0.5) * (1.05 if change == "root" else 1))
    before = [number(np.sqrt(2)), x] if change == "divided" else [x, root]
    net.op("Erf", net.op("Div" if change == "divided" else "Mul", *before))
    kind = "Sub" if change == "less" else "Add"
    plus = net.op(kind, net.last, number(1.1 if change == "plus" else 1))
    half, other = number(0.55 if change == "half" else 0.5), net.op("Tanh", x)
    if change in ("other", "half", "root", "plus", "less", "divided"):
        net.op("Mul", net.op("Mul", plus, other if change == "other" else x), half)
    elif change == "half first":
        net.op("Mul", net.op("Mul", x, number(0.7)), plus)
    elif change == "half of another":
        net.op("Mul", net.op("Mul", other, half), plus)
    elif change == "half read twice":
        first = net.op("Mul", x, half)
        net.op("Add", net.op("Mul", first, plus), first)
    elif change == "sum":
        net.op("Add", net.op("Mul", plus, half), x)
    elif change == "sum of all":
        net.op("Mul", net.op("Add", plus, x), half)
    else:  # another number behind the sum
        net.op("Mul", net.op("Mul", plus, number(0.6)), x)


@pytest.mark.parametrize(
    "change",
    ["root", "divided", "less", "plus", "half", "other", "half first", "half of another"]
    + ["half read twice", "sum", "sum of all", "half last"],
)
def test_what_is_no_gelu_is_refused_and_not_taken_for_one(change):
    net, x = tokens()
    gelu_but(net, x, change)
    with pytest.raises(ModelImportError, check=naming("Erf")):
        import_onnx(finished(net, ROWS * WIDTH))


def masked(net, q, k, v):
    scores = net.op("Add", net.op("MatMul", q, k), np.triu(np.full((ROWS, ROWS), -9, np.float32)))
    return net.op("MatMul", net.op("Softmax", scores, axis=-1), v)


def over_rows(net, q, k, v):
    return net.op("MatMul", net.op("Softmax", net.op("MatMul", q, k), axis=1), v)


def shares_apart(net, q, k, v):
    shares = net.op("Softmax", net.op("MatMul", q, k), axis=-1)
    return net.op("Add", net.op("MatMul", shares, v), net.op("MatMul", shares, q))


def negative(net, q, k, v):
    scores = net.op("Mul", net.op("MatMul", q, k), number(-1))
    return net.op("MatMul", net.op("Softmax", scores, axis=-1), v)


def fixed(net, q, k, v):
    shares = net.op("Softmax", net.op("MatMul", q, k), axis=-1)
    return net.op("MatMul", shares, numbers(net, 1, ROWS, WIDTH))


@pytest.mark.parametrize(
    "change, words",
    [
        (masked, ("Softmax of attention with another mask", "0, or")),
        (over_rows, ("MatMul of two activations", "attention")),
        (shares_apart, ("MatMul of two activations", "attention")),
        (negative, ("MatMul of two activations", "attention")),
        (fixed, ("MatMul of scores", "three signals")),
    ],
)
def test_what_is_no_attention_is_refused_by_its_operator(change, words):
    net, x = tokens()
    q, k, v = (projected(net, x) for _ in range(3))
    change(net, q, net.op("Transpose", k, perm=[0, 2, 1]), v)
    with pytest.raises(ModelImportError, check=naming(*words)):
        import_onnx(finished(net, ROWS * WIDTH))


@pytest.mark.parametrize("opset, fits", [(12, False), (13, True)])
def test_a_softmax_without_an_axis_is_over_the_last_one_since_operators_13(opset, fits):
    """Before, it is over all that follows the first axis."""
    net, x = tokens(opset)
    q, k, v = (projected(net, x) for _ in range(3))
    scores = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 2, 1]))
    net.op("MatMul", net.op("Softmax", scores), v)
    model = finished(net, ROWS * WIDTH)
    if fits:
        compared(model)
        return
    with pytest.raises(ModelImportError, check=naming("MatMul of two activations", "attention")):
        import_onnx(model)


def test_more_rows_than_a_board_takes_are_refused():
    net = Model((1030, 4))
    q, k, v = (net.op("MatMul", "x", numbers(net, 4, 4)) for _ in range(3))
    scores = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 2, 1]))
    net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
    net.op("ReduceMean", net.last, axes=[1], keepdims=0)
    net.dense(3, 4)
    with pytest.raises(ModelImportError, check=naming("attention", "1024")):
        import_onnx(net.finish())
