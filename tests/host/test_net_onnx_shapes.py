# SPDX-License-Identifier: MIT
"""ONNX models with open edges, signals that are repeated, and squares beside each other."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from acclimate.net import Net
from acclimate_host import cli
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step, training_step
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.scheme import full
from acclimate_host.twin import net as twin_net
from harness.errors import naming

pytest.importorskip("onnxruntime")
from test_net_onnx import Model, quantized_by_onnxruntime, samples, session, theirs  # noqa: E402


def same_numbers(net, bits=True):
    """Compare with onnxruntime in float, and the core with numpy in int8; return the network."""
    model, given = net.finish(), samples(net.shape)
    network = import_onnx(model)
    wanted = theirs(model, given)
    if network.graph["x"].shape[0] != net.shape[0]:
        given = given.swapaxes(1, 2)  # channels are the file's last axis
    got = FloatRun(network).predict(given.reshape(len(given), *network.graph["x"].shape))
    assert got == pytest.approx(wanted, rel=1e-4, abs=1e-4)
    if bits and twin_net.load() is not None:
        same_bits(network, given)
    return network


def same_bits(network, given, count=2, apart=0.1):
    """Compare the core with numpy byte for byte in int8, and that with float.

    :param apart: most of int8's distance to float, as a share of float's size
    """
    twin_net.register()
    shape = network.graph[network.input].shape
    given = given.reshape(len(given), *shape)
    small, _ = quantize(network, given)
    program = encode(inference_step(small.graph), small)
    net, stored = Net(program.code, program.weights), small.quantize_input(given[:count])
    wanted = as_bytes(Int8Run(small)(stored)[small.output])
    for x, y in zip(as_bytes(stored), wanted, strict=True):
        net.predict(x)
        assert bytes(net.outputs()) == y
    real = FloatRun(network).predict(given)
    found = small.real_output(Int8Run(small).predict(small.quantize_input(given)))
    assert np.linalg.norm(found - real) < apart * np.linalg.norm(real)
    return net


def ended(net, features):
    net.op("Flatten", net.last)
    net.dense(3, features)
    return net


# ---- signals of two shapes -------------------------------------------------------------------


def part(net, source, *axes):
    """Return the first place along some axes of a signal."""
    ones = np.ones(len(axes), np.int64)
    return net.op("Slice", source, 0 * ones, ones, np.array(axes))


PARTS = {
    "row": (2,),
    "column": (3,),
    "plane": (1,),
    "pixel": (2, 3),
    "line": (1, 2),
    "one": (1, 2, 3),
}


@pytest.mark.parametrize("is_first", (False, True))
@pytest.mark.parametrize("last", (False, True))
@pytest.mark.parametrize("axes", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("kind", ("Add", "Sub", "Mul"))
def test_a_part_is_repeated_over_the_whole(kind, axes, last, is_first):
    net = Model((4, 5, 6))
    source = net.op("Tanh", "x")
    small = part(net, source, *axes)
    if last:
        source = net.op("Transpose", source, perm=[0, 2, 3, 1])
        small = net.op("Transpose", small, perm=[0, 2, 3, 1])
    net.op(kind, *((small, source) if is_first else (source, small)))
    same_numbers(ended(net, 120), bits=kind != "Mul")


@pytest.mark.parametrize("kind", ("Add", "Sub", "Mul"))
@pytest.mark.parametrize("axes", [((2,), (3,)), ((1, 2), (3,)), ((1, 3), (1, 2)), ((1,), (2, 3))])
def test_two_parts_make_a_table(kind, axes):
    """Each is repeated along what the other has; the channels may come from either."""
    net = Model((4, 5, 6))
    source = net.op("Tanh", "x")
    sides = [part(net, source, *each) for each in axes]
    net.op(kind, *sides)
    both = set(axes[0]) & set(axes[1])
    edges = [1 if axis in both else edge for axis, edge in zip((1, 2, 3), (4, 5, 6), strict=True)]
    same_numbers(ended(net, int(np.prod(edges))))


def test_a_row_joins_tokens_of_one_axis_less():
    """(1, channels) is added to each of the tokens (1, tokens, channels)."""
    net = Model((8, 6))
    row = net.op("Squeeze", part(net, "x", 1), np.array([1]))
    net.op("LayerNormalization", "x", np.ones(6, np.float32))
    net.op("Add", net.last, row)
    net.op("MatMul", net.last, net.random.normal(0, 1, (6, 4)).astype(np.float32))
    same_numbers(ended(net, 32))


def test_tokens_that_lie_as_a_map_and_as_rows_are_added():
    """A map's rows become tokens, which are added to what is made of them."""
    net = Model((3, 1, 8))
    net.conv(6, 3, (1, 3), pads=[0, 1, 0, 1])
    tokens = net.op("Transpose", net.op("Squeeze", net.last, np.array([2])), perm=[0, 2, 1])
    net.op("MatMul", tokens, net.random.normal(0, 1, (6, 6)).astype(np.float32))
    net.op("Reshape", net.last, np.array([1, 8, 2, 3]))
    net.op("Reshape", net.last, np.array([1, 8, 6]))
    net.op("Add", tokens, net.last)
    network = same_numbers(ended(net, 48))
    trained = with_loss(quantize(network, samples((3, 1, 8)))[0], "cross-entropy")
    encode(training_step(trained.graph, full(trained.graph)), trained)


@pytest.mark.parametrize("kind", ("Add", "Sub", "Mul"))
def test_shapes_that_onnx_does_not_broadcast_are_refused(kind):
    net = Model((4, 5))
    net.op(kind, "x", net.op("Transpose", "x", perm=[0, 2, 1]))
    ended(net, 20)
    with pytest.raises(GraphError, match=f"{kind} of "):
        import_onnx(net.finish())


# ---- constants beside signals ----------------------------------------------------------------


def some(net, *shape):
    return net.random.normal(0, 0.7, shape).astype(np.float32)


@pytest.mark.parametrize("axis", (1, 2, 3))
@pytest.mark.parametrize("is_first", (False, True))
@pytest.mark.parametrize("last", (False, True))
def test_a_constant_stands_beside_a_signal(axis, is_first, last):
    net = Model((4, 3, 5))
    x, shape = net.op("Tanh", "x"), [1, 4, 3, 5]
    if last:
        x, shape = net.op("Transpose", x, perm=[0, 2, 3, 1]), [1, 3, 5, 4]
    shape[axis] = 2
    constant = some(net, *shape)
    net.op("Concat", *((constant, x) if is_first else (x, constant)), axis=axis)
    same_numbers(ended(net, 60 + constant.size))


def test_a_vision_transformer_with_a_token_of_its_own():
    """Patches, a class token in front, places, attention, and the token alone at the end."""
    net = Model((3, 8, 8))
    net.conv(6, 3, (4, 4), strides=[4, 4])
    net.op("Transpose", net.op("Reshape", net.last, np.array([0, 6, 4])), perm=[0, 2, 1])
    patches = net.last
    first = net.op("Gather", net.op("Shape", "x"), np.array([0]))
    token = net.op("Expand", some(net, 1, 1, 6), net.op("Concat", first, np.array([1, 6]), axis=0))
    x = net.op("Add", net.op("Concat", token, patches, axis=1), some(net, 1, 5, 6))
    q, k, v = (net.op("MatMul", x, some(net, 6, 6)) for _ in range(3))
    scores = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 2, 1]))
    net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
    net.op("LayerNormalization", net.op("Add", net.last, x), np.ones(6, np.float32))
    net.op("Gather", net.last, np.array(0), axis=1)
    net.dense(3, 6)
    network = same_numbers(net)
    trained = with_loss(quantize(network, samples((3, 8, 8)))[0], "cross-entropy")
    assert encode(training_step(trained.graph, full(trained.graph)), trained).weights


def test_a_constant_beside_a_stored_signal_is_refused(tmp_path):
    net = Model((4, 3, 3))
    net.conv(4, 4, (1, 1))
    net.op("Concat", net.last, some(net, 1, 2, 3, 3), axis=1)
    net.conv(3, 6, (3, 3))
    with pytest.raises(GraphError, check=naming("Concat with a constant", "signals alone")):
        import_onnx(stored(net, tmp_path))


@pytest.mark.parametrize("axes", [(2,), (1,), (2, 3)])
@pytest.mark.parametrize("kind", ("Add", "Mul"))
def test_a_part_of_a_stored_signal_is_repeated(kind, axes, tmp_path):
    """Of a model that onnxruntime quantized; another order of roundings may change a step."""
    net = Model((4, 5, 6))
    x = net.conv(4, 4, (1, 1))
    net.op(kind, part(net, x, *axes), x)
    ended(net, 120)
    model, given = stored(net, tmp_path), samples(net.shape)
    network = import_onnx(model)
    got = network.real_output(Int8Run(network).predict(network.quantize_input(given)))
    step = network.graph[network.output].scale
    assert got == pytest.approx(theirs(model, given), abs=2.5 * step)


def stored(net, folder):
    from onnxruntime.quantization import QuantType

    return quantized_by_onnxruntime(net.finish(), samples(net.shape), folder, QuantType.QInt8)


# ---- transposed convolutions -----------------------------------------------------------------


def larger(net, weight, bias=True, **attrs):
    values = [net.random.normal(0, 1, weight).astype(np.float32)]
    if bias:
        values.append(net.random.normal(0, 1, weight[1] * attrs.get("group", 1)))
    return net.op("ConvTranspose", net.last, *(v.astype(np.float32) for v in values), **attrs)


BESIDE = {
    "squares": ((4, 3, 2, 2), {"strides": [2, 2]}),
    "without a bias": ((4, 3, 2, 2), {"strides": [2, 2], "bias": False}),
    "not square": ((4, 5, 3, 2), {"strides": [3, 2], "pads": [0, 0, 0, 0]}),
    "groups": ((4, 3, 2, 2), {"strides": [2, 2], "group": 2}),
    "each channel": ((4, 1, 2, 2), {"strides": [2, 2], "group": 4, "auto_pad": "VALID"}),
    "a pixel": ((4, 3, 1, 1), {}),
}


@pytest.mark.parametrize("weight,attrs", BESIDE.values(), ids=BESIDE)
def test_squares_beside_each_other_are_a_convolution(weight, attrs):
    net = Model((4, 3, 5))
    larger(net, weight, **attrs)
    net.op("Relu", net.last)
    net.op("GlobalAveragePool", net.last)
    same_numbers(ended(net, weight[1] * attrs.get("group", 1)))


@pytest.mark.parametrize("last", (False, True))
def test_in_one_dimension_as_well(last):
    net = Model((5, 4) if last else (4, 5))
    if last:
        net.op("Transpose", "x", perm=[0, 2, 1])
    larger(net, (4, 3, 2), strides=[2])
    same_numbers(ended(net, 30))


@pytest.mark.parametrize(
    "attrs",
    [
        {"strides": [1, 1]},
        {"strides": [3, 3]},
        {"strides": [2, 2], "pads": [1, 0, 0, 0]},
        {"strides": [2, 2], "output_padding": [1, 1]},
        {"strides": [2, 2], "dilations": [2, 2]},
        {"strides": [2, 2], "output_shape": [6, 10]},
        {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
    ],
)
def test_what_overlaps_or_is_cut_is_refused(attrs):
    net = Model((4, 3, 5))
    larger(net, (4, 3, 2, 2), **attrs)
    with pytest.raises(GraphError, check=naming("ConvTranspose", "strides as the kernel")):
        import_onnx(net.finish())


def test_computed_weights_are_refused():
    net = Model((4, 4, 4))
    net.op("ConvTranspose", "x", net.op("Tanh", "x"))
    with pytest.raises(GraphError, check=naming("ConvTranspose", "constant weights")):
        import_onnx(net.finish())


# ---- open edges ------------------------------------------------------------------------------


def computed():
    """Attention whose shapes are computed from the input's, as files with open edges have it."""
    net = Model((3, 4, 8))
    net.conv(6, 3, (4, 1), strides=[4, 1])
    shape = net.op("Identity", net.op("Shape", net.last))
    width = net.op("Identity", net.op("Slice", shape, *map(np.array, ([3], [4], [0], [1]))))
    tokens = net.op("Reshape", "v0", net.op("Concat", np.array([0, 6]), width, axis=0))
    tokens = net.op("Transpose", tokens, perm=[0, 2, 1])
    wide = net.op("Concat", np.array([1]), width, np.array([3, 2, 3]), axis=0)
    net.op("MatMul", tokens, net.random.normal(0, 0.5, (6, 18)).astype(np.float32))
    net.op("Transpose", net.op("Reshape", net.last, wide), perm=[2, 0, 3, 1, 4])
    three = net.last
    cut = [net.op("Slice", three, *map(np.array, ([i], [i + 1], [0]))) for i in range(3)]
    q, k, v = (net.op("Squeeze", each, np.array([0])) for each in cut)
    k = net.op("Transpose", k, perm=[0, 1, 3, 2])
    net.op("MatMul", net.op("Mul", q, np.float32([0.5])), k)
    net.op("MatMul", net.op("Softmax", net.last, axis=3), v)
    net.op("Transpose", net.last, perm=[0, 2, 1, 3])
    net.op("Reshape", net.last, net.op("Concat", np.array([0]), width, np.array([6]), axis=0))
    net.op("Add", tokens, net.last)
    net.op("MatMul", net.last, net.random.normal(0, 1, (6, 5)).astype(np.float32))
    return net


def opened(model, *axes, value=None):
    """Leave edges of the input open, by a name or as -1."""
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for axis in axes:
        if value is None:
            dims[axis].dim_param = f"edge{axis}"
        else:
            dims[axis].dim_value = value
    return model


@pytest.mark.parametrize("value", (None, -1))
def test_open_edges_are_worked_out_for_the_shape_that_is_given(value):
    net = computed()
    model, given = opened(net.finish(), 0, 3, value=value), samples((3, 4, 8))
    with pytest.raises(GraphError, match="input_shape"):
        import_onnx(model)
    network = import_onnx(model, input_shape=(3, 4, 8))
    assert {"attention"} <= {node.op for node in network.graph.nodes}
    wanted = theirs(opened(net.finish(), 0, 3), given)
    got = FloatRun(network)(given)[network.output].transpose(0, 2, 3, 1).reshape(len(given), -1)
    assert got == pytest.approx(wanted, rel=1e-4, abs=1e-4)
    shorter = import_onnx(model, input_shape=(3, 4, 5))
    assert shorter.graph[shorter.output].elements == 25


def test_places_of_pixels_are_constants():
    """A detector's grid: Range, Expand and Where of what Shape tells, also of a constant."""
    net = Model((2, 3, 4))
    zero, one = np.array(0), np.array(1)
    height, width = (net.op("Gather", net.op("Shape", "x"), np.array(axis)) for axis in (2, 3))
    rows = net.op("Range", zero, height, one)
    column = net.op(
        "Reshape", rows, net.op("Concat", net.op("Shape", rows), np.array([1]), axis=0)
    )
    edges = [net.op("Unsqueeze", edge, np.array([0])) for edge in (height, width)]
    grid = net.op("Expand", column, net.op("Concat", *edges, axis=0))
    edge = net.op("Equal", grid, net.op("Sub", height, one))
    grid = net.op("Cast", net.op("Where", edge, np.array(9), grid), to=1)
    net.op("Pow", net.op("Max", grid, np.array(1, np.float32)), np.array(2, np.float32))
    net.op("Add", "x", net.last)
    same_numbers(ended(net, 24))


def test_a_constant_that_would_be_huge_is_not_made():
    net = Model((2,))
    net.op("Range", np.array(0), np.array(1 << 40), np.array(1))
    net.op("Expand", np.array([1.0], np.float32), np.array([1 << 20, 1 << 20]))
    net.op("Add", "x", net.last)
    with pytest.raises(GraphError, check=naming("Expand")):
        import_onnx(net.finish())


@pytest.mark.parametrize(
    "shape, named",
    [
        ((3, 4), "(3, 4, '?')"),
        ((2, 4, 8), "(3, 4, '?')"),
        ((1, 3, 4, 8), "(3, 4, '?')"),
        ((3, 4, 0), "above 0"),
        ((3, 4, -1), "above 0"),
        ((3, 4, 8.0), "whole numbers"),
        ((), "whole numbers"),
    ],
)
def test_shapes_that_the_model_cannot_have_are_refused(shape, named):
    model = opened(computed().finish(), 3)
    with pytest.raises(GraphError, check=naming("input_shape", named)):
        import_onnx(model, input_shape=shape)


def test_a_shape_for_one_of_two_inputs_is_refused():
    model = computed().finish()
    model.graph.input.add().CopyFrom(model.graph.input[0])
    model.graph.input[1].name = "other"
    with pytest.raises(GraphError, check=naming("2 inputs")):
        import_onnx(model, input_shape=(3, 4, 8))


def test_a_model_without_any_shape_takes_the_one_that_is_given():
    model = computed().finish()
    model.graph.input[0].type.tensor_type.ClearField("shape")
    network = import_onnx(model, input_shape=(3, 4, 8))
    assert network.graph[network.input].shape == (3, 4, 8)


def test_the_command_takes_a_shape(tmp_path, capsys):
    model = opened(computed().finish(), 0, 3)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    np.save(tmp_path / "s.npy", samples((3, 4, 8)))
    arguments = ["compile", str(tmp_path / "m.onnx"), "--samples", str(tmp_path / "s.npy")]
    arguments += ["--predict-only", "--out", str(tmp_path)]
    assert cli.main([*arguments, "--input-shape", "3,4,8"]) == 0
    assert (tmp_path / "net_program").exists()
    for shape, named in (("3,4", "'?'"), ("3x4x8", "such as 3,48,64")):
        assert cli.main([*arguments, "--input-shape", shape]) != 0
        assert named in capsys.readouterr().err


# ---- a real one ------------------------------------------------------------------------------


def from_wheel(package, ending):
    """Return the bytes of a model of a package that is installed, or a wheel in MODELS."""
    import importlib.util

    spec = importlib.util.find_spec(package)
    found = list(Path(spec.origin).parent.rglob(f"*{ending}")) if spec else []
    if found:
        return found[0].read_bytes()
    for folder in filter(None, os.environ.get("MODELS", "").split(":")):
        for wheel in [Path(folder), *Path(folder).glob(f"{package}-*.whl")]:
            if wheel.suffix == ".whl":
                with zipfile.ZipFile(wheel) as files:
                    for name in files.namelist():
                        if name.endswith(ending):
                            return files.read(name)
    pytest.skip(f"no {package}: name a folder with its wheel in MODELS")


@pytest.mark.parametrize(
    "package, ending, shape",
    [
        ("rapidocr", "_rec_small.onnx", (3, 48, 24)),
        ("rapidocr", "_det_small.onnx", (3, 64, 96)),
        ("rapidocr", "_cls_mobile.onnx", (3, 48, 192)),
        ("rapidocr_onnxruntime", "v4_rec_infer.onnx", (3, 48, 64)),
        ("rapidocr_onnxruntime", "v4_det_infer.onnx", (3, 64, 96)),
    ],
)
def test_models_of_a_wheel_give_what_onnxruntime_gives(package, ending, shape):
    """The recognizers have two transformer blocks behind convolutions."""
    import onnx

    model = onnx.load_model_from_string(from_wheel(package, ending))
    network = import_onnx(model, input_shape=shape)
    x = np.random.default_rng(1).normal(0, 0.5, (1, *shape)).astype(np.float32)
    name = model.graph.input[0].name
    wanted = session(model).run(None, {name: x})[0].ravel()
    got = FloatRun(network)(x)[network.output].transpose(0, 2, 3, 1)
    if "softmax" in "".join(network.notes):
        got = np.exp(got - got.max(-1, keepdims=True))
        got /= got.sum(-1, keepdims=True)
    assert got.ravel() == pytest.approx(wanted, abs=1e-4)
    assert ("attention" in {node.op for node in network.graph.nodes}) == ("rec" in ending)
    if twin_net.load() is not None and "det" not in ending:
        net = same_bits(network, x, 1, apart=0.6)  # noise is no text
        print(ending, len(net._program), "bytes of program,", len(net._arena), "of arena")
        assert len(net.outputs()) == got.size
