# SPDX-License-Identifier: MIT
"""ONNX graphs that are wrong in themselves: one line names the operator and what is wrong."""

import numpy as np
import pytest

from acclimate_host.cli import main
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.onnx_check import reshape_fault

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from test_net_onnx import Model  # noqa: E402

node = helper.make_node
RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.normal(0, 0.3, (4, 2, 3, 3)).astype(np.float32)
DENSE = RANDOM.normal(0, 0.3, (144, 3)).astype(np.float32)
LAST = (node("Flatten", ["c"], ["f"]), node("Gemm", ["f", "d"], ["y"]))
NORMAL = node("BatchNormalization", ["k", "one", "one", "one", "variance"], ["c"])


def conv(*inputs, **attrs):
    return node("Conv", list(inputs) or ["x", "w"], ["c"], **attrs)


def model(nodes, kind=TensorProto.FLOAT, **constants):
    arrays = {"w": WEIGHTS, "d": DENSE, "one": np.ones(4, np.float32), **constants}
    used = {name for n in nodes for name in n.input}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, (1, 2, 8, 8))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 3))],
        [numpy_helper.from_array(a, name) for name, a in arrays.items() if name in used],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


def shaped(*shape):
    nodes = [conv(), node("Reshape", ["c", "s"], ["f"]), LAST[1]]
    return model(nodes, s=np.array(shape))


FAULTS = {
    "an input that nothing makes": (model([conv("gone", "w"), *LAST]), "input 'gone'"),
    "an output that nothing makes": (model([conv(), LAST[0]]), "output 'y'"),
    "operators in a circle": (
        model([node("Add", ["x", "r"], ["a"]), node("Relu", ["a"], ["r"]), conv(), *LAST]),
        "input 'r' is made by no operator before it",
    ),
    "a value made twice": (model([conv(), node("Relu", ["c"], ["c"]), *LAST]), "made twice"),
    "a stride of 0": (model([conv(strides=[0, 1]), *LAST]), "strides: expected 1 or more"),
    "a group of 0": (model([conv(group=0), *LAST]), "group: expected 1 or more, got [0]"),
    "a dilation below 1": (model([conv(dilations=[-1, 1]), *LAST]), "dilations: expected"),
    "an unknown padding": (model([conv(auto_pad="FULL"), *LAST]), "got FULL"),
    "a convolution without weights": (model([conv("x"), *LAST]), "expected 2 inputs, got 1"),
    "a pool without a window": (
        model([node("MaxPool", ["x"], ["c"]), *LAST]),
        "expected a kernel_shape",
    ),
    "texts as inputs": (model([conv(), *LAST], TensorProto.STRING), "got string"),
    "complex inputs": (model([conv(), *LAST], TensorProto.COMPLEX64), "got complex64"),
    "a shape of other values": (shaped(1, 77), "cannot have shape [1, 77]"),
    "two open edges": (shaped(-1, -1), "one open edge"),
    "a negative variance": (
        model(
            [node("Conv", ["x", "w"], ["k"]), NORMAL, *LAST],
            variance=np.full(4, -5, np.float32),
        ),
        "expected above 0, got -4.99",
    ),
    "a name with control characters": (
        model([conv("a\n\x1b[31m", "w"), *LAST]),
        "input 'a??[31m'",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_graph_that_is_wrong_in_itself_is_refused_in_one_line(name, tmp_path, capsys):
    made, words = FAULTS[name]
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    np.save(tmp_path / "x.npy", RANDOM.normal(0, 1, (4, 2, 8, 8)))
    for verb in (["compile", "--samples", str(tmp_path / "x.npy")], ["show"]):
        before = sorted(tmp_path.iterdir())
        assert main([verb[0], str(path), *verb[1:]]) == 2
        said = capsys.readouterr()
        assert words in said.err and said.err.count("\n") == 1
        assert said.err[:-1].isprintable() and not said.out
        assert sorted(tmp_path.iterdir()) == before


def test_plans_refuse_graphs_in_which_a_value_is_made_twice(tmp_path, capsys):
    path = tmp_path / "net.onnx"
    path.write_bytes(FAULTS["a value made twice"][0].SerializeToString())
    assert main(["plan", str(path), "--board", "m4", "--ram", "90%"]) == 2
    assert "made twice" in capsys.readouterr().err


def test_shapes_that_a_reshape_may_have():
    for new in ([1, 144], [-1, 144], [1, -1], [0, -1], [0, 4, 36], [8, 144], [1, 4, 6, 6]):
        assert reshape_fault((1, 4, 6, 6), new) is None, new
    for new in ([1, 143], [-1, 100], [1, 288], [0, 4]):
        assert reshape_fault((1, 4, 6, 6), new), new


@pytest.mark.parametrize("kind", ["Conv", "MaxPool", "AveragePool"])
def test_a_kernel_larger_than_its_map_is_refused_with_the_operator(kind):
    net = Model((2, 4, 4))
    net.conv(2, 2, (1, 1))
    if kind == "Conv":
        net.conv(3, 2, (5, 2))
    else:
        net.op(kind, net.last, kernel_shape=[5, 2])
    layer = {"Conv": "c1", "MaxPool": "p0", "AveragePool": "p0"}[kind]
    words = f"model: {kind} {net.last}: {layer}: kernel .* is larger than the padded 4x4"
    with pytest.raises(GraphError, match=words):
        import_onnx(net.finish())
