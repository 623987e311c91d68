# SPDX-License-Identifier: MIT
"""Int8 ONNX models whose tensors have steps of their own, against onnxruntime."""

import numpy as np
import pytest

from acclimate_host.cli import main
from acclimate_host.model.coarse import MOST, coarse_notes
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.int8 import Int8Run
from harness.errors import naming

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
from test_net_onnx import Model, helper, samples, to_tensor  # noqa: E402

F4 = np.float32
SHAPE = (3, 6, 5)


def stored(net, x, scale, zero, kind=np.int8):
    """Add a pair; return the value behind it."""
    pair = np.array(scale, F4), np.array(zero, kind)
    return net.op("DequantizeLinear", net.op("QuantizeLinear", x, *pair), *pair)


def weight(net, shape, scale=0.01):
    values = net.random.integers(-127, 128, shape).astype(np.int8)
    return net.op("DequantizeLinear", values, np.array(scale, F4), np.array(0, np.int8))


def apart(net):
    """Return (largest difference in steps of the output, the network)."""
    model = net.finish()
    plain = runtime.SessionOptions()  # pairs stay where they are, each with its own steps
    plain.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    theirs = runtime.InferenceSession(model.SerializeToString(), plain)
    network, given = import_onnx(model), samples(SHAPE)
    wanted = [theirs.run(None, {"x": one[None]})[0].ravel() for one in given]
    got = network.real_output(Int8Run(network).predict(network.quantize_input(given)))
    return np.abs(got - wanted).max() / network.graph[network.output].scale, network


MOVED = {
    "pad": ("Pad", np.array([0, 0, 1, 2, 0, 0, 0, 1])),
    "slice": ("Slice", np.array([1]), np.array([5]), np.array([2])),
    "flatten": ("Flatten",),
    "reshape": ("Reshape", np.array([1, 5, 6, 3])),
    "max pool": ("MaxPool", {"kernel_shape": [2, 2]}),
    "average pool": ("AveragePool", {"kernel_shape": [2, 3], "strides": [2, 1]}),
    "sigmoid": ("Sigmoid",),
    "tanh": ("Tanh",),
}


@pytest.mark.parametrize("steps", [(0.05, 9), (0.02, 5), (0.2, -30), (1 / 128, 0)])
@pytest.mark.parametrize("name", MOVED)
def test_an_output_has_the_steps_that_the_file_gives_it(name, steps):
    net = Model(SHAPE)
    kind, *given = MOVED[name]
    attrs = given.pop() if given and isinstance(given[-1], dict) else {}
    net.op(kind, stored(net, "x", 0.05, 1), *given, **attrs)
    stored(net, net.last, *steps)
    most, network = apart(net)
    assert most < 1.01 and network.graph[network.output].scale == pytest.approx(steps[0])


@pytest.mark.parametrize("second", [(0.05, 128, np.uint8), (0.02, -7), (0.05, 9)])
@pytest.mark.parametrize("first", [(0.05, 0), (0.05, 128, np.uint8)])
def test_a_tensor_that_is_stored_twice_keeps_both_pairs(first, second):
    """In front of two layers, as of one that reads uint8 and one that reads int8."""
    net = Model(SHAPE)
    ends = []
    for pair in (first, second):
        x = stored(net, "x", *pair)
        net.op("Conv", x, weight(net, (4, 3, 1, 1), 0.004))
        ends.append(stored(net, net.last, 0.05, 0))
    net.op("Add", *ends)
    stored(net, net.last, 0.1, 0)
    most, network = apart(net)
    assert most < 1.01
    twice = [note for note in network.notes if "stored twice" in note]
    assert bool(twice) == (second != (0.05, 128, np.uint8))  # the same steps by another name


def wide(scale):
    net = Model(SHAPE)
    x = stored(net, "x", 0.05, 1)
    net.op("Conv", x, weight(net, (4, 3, 1, 1)))
    y = stored(net, net.last, 0.05, 0)
    net.op("AveragePool", y, kernel_shape=[3, 3], pads=[1] * 4)
    stored(net, net.last, scale, 0)
    return net


def test_a_layer_whose_input_has_wide_steps_is_named():
    """A pool rounds to its input's steps, which are 50 of its output's."""
    most, network = apart(wide(0.001))
    assert most > 20
    assert [note.partition(":")[0] for note in coarse_notes(network)] == ["t0"]
    assert "t0: one step of its input is up to 50 steps of its output" in network.notes[-1]
    most, network = apart(wide(0.05))
    assert most < 2 and not network.notes


@pytest.mark.parametrize("kind", ["Conv", "Add", "Tanh"])
def test_layers_of_each_kind_are_told_by_their_own_steps(kind):
    for scale, is_told in ((0.05, False), (0.05 / (1.1 * MOST), True)):
        net = Model(SHAPE)
        x = stored(net, "x", 0.05, 0)
        factor = 1 / 1.27 if kind == "Conv" else 1
        if kind == "Conv":
            net.op("Conv", x, weight(net, (4, 3, 1, 1), 0.01))
        else:
            net.op(kind, x, *[x] * (kind == "Add"))
        stored(net, net.last, scale / factor, 0)
        notes = import_onnx(net.finish()).notes
        assert bool(notes) == is_told, (kind, scale, notes)


def test_commands_print_the_note(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    onnx.save(wide(0.001).finish(), "wide.onnx")
    assert main(["show", "wide.onnx"]) == 0
    assert "note: t0: one step of its input is up to 50 steps" in capsys.readouterr().out
    net = Model((1, 1, 1))  # the differences of inputs that are all nearly 1
    net.op("Gemm", net.op("Flatten", "x"), np.full((1, 1), 1.0, F4))
    net.op("Add", net.op("Mul", net.last, np.array(100, F4)), np.array(-100, F4))
    onnx.save(net.finish(), "narrow.onnx")
    given = np.random.default_rng(1).uniform(0.99, 1, (50, 1, 1, 1)).astype(F4)
    np.save("x.npy", given)
    assert main(["show", "narrow.onnx", "--errors", "x.npy"]) == 0
    assert "one step of its input is up to" in capsys.readouterr().out


def beside(folder, location):
    """Write a model whose weight, which a Constant holds, is in a file at `location`."""
    net, values = Model(SHAPE), np.ones((4, 3, 3, 3), F4)
    tensor = to_tensor(values, "w")
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    net.nodes.append(helper.make_node("Constant", [], ["w"], value=tensor))
    net.op("Conv", "x", "w")
    path = folder / "model.onnx"
    path.write_bytes(net.finish().SerializeToString())
    return path, values


def test_weights_that_a_constant_keeps_in_a_file_are_read_beside_the_model(tmp_path, monkeypatch):
    folder = tmp_path / "inner"
    folder.mkdir()
    path, values = beside(folder, "w.bin")
    (folder / "w.bin").write_bytes(values.tobytes())
    given = samples(SHAPE)
    wanted = given.sum(axis=1)[:, :3, :3].sum(axis=(1, 2))
    got = FloatRun(import_onnx(path)).predict(given).reshape(len(given), 4, 4, 3)
    assert got[:, 0, 0, 0] == pytest.approx(wanted, abs=1e-4)
    monkeypatch.chdir(folder)  # of bytes nobody knows where they came from
    with pytest.raises(GraphError, check=naming("'w.bin'", "give the path of the model")):
        import_onnx(path.read_bytes())


@pytest.mark.parametrize("location", ["../secret.bin", "{0}/secret.bin", "link.bin"])
def test_weights_outside_of_the_folder_are_refused(location, tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    path, values = beside(folder, location.format(tmp_path))
    (tmp_path / "secret.bin").write_bytes(values.tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(GraphError, check=naming("cannot be read")):
        import_onnx(path)


def test_sparse_weights_are_refused_by_name():
    net = Model(SHAPE)
    net.op("Conv", "x", "w")
    model = net.finish()
    values, index = to_tensor(np.ones(2, F4), "w"), to_tensor(np.array([0, 5]), "i")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, index, [4, 3, 3, 3]))
    with pytest.raises(GraphError, match="weight 'w' is sparse; expected whole weights"):
        import_onnx(model)


def test_float16_is_read_as_real_numbers_and_casts_between_them_vanish():
    net, half = Model(SHAPE), onnx.TensorProto.FLOAT16
    net.op("Cast", "x", to=half)
    values = net.random.normal(0, 0.3, (4, 3, 3, 3)).astype(np.float16)
    net.op("Conv", net.last, values)
    net.op("Cast", net.last, to=onnx.TensorProto.FLOAT)
    model, given = net.finish(), samples(SHAPE)
    theirs = runtime.InferenceSession(model.SerializeToString())
    wanted = [theirs.run(None, {"x": one[None]})[0].ravel() for one in given]
    got = FloatRun(import_onnx(model)).predict(given)
    assert got == pytest.approx(np.array(wanted), abs=0.02)
    net.op("Cast", net.op("Cast", net.last, to=onnx.TensorProto.INT32), to=half)
    with pytest.raises(GraphError, match="Cast"):
        import_onnx(net.finish())
