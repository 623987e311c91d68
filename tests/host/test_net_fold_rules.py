# SPDX-License-Identifier: MIT
"""What is worked out of an ONNX model before it is read, and what is left as it is."""

import numpy as np
import pytest

from acclimate_host.model import onnx_fold
from acclimate_host.model.onnx_fold import fold

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402

node = helper.make_node
FLOAT = onnx.TensorProto.FLOAT


def folded(nodes, shape=(1, 2, 3), input_shape=None, domains=(), **constants):
    """Return ({constant: array}, names of the operators that are left, {name: shape})."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, shape)],
        [helper.make_tensor_value_info(nodes[-1].output[0], FLOAT, None)],
        [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()],
    )
    versions = [helper.make_opsetid(d, v) for d, v in (("", 17), *domains)]
    small, shapes = fold(onnx, helper.make_model(graph, opset_imports=versions), input_shape)
    found = {t.name: numpy_helper.to_array(t) for t in small.graph.initializer}
    return found, [n.op_type for n in small.graph.node], shapes


@pytest.mark.parametrize(
    "key, value, wanted",
    [
        ("value", numpy_helper.from_array(np.array([[1, 2]], np.int64)), [[1, 2]]),
        ("value_float", 0.5, 0.5),
        ("value_floats", [0.5, 2.0], [0.5, 2.0]),
        ("value_int", 7, 7),
        ("value_ints", [7, 8], [7, 8]),
    ],
)
def test_a_constant_of_each_kind_is_its_value(key, value, wanted):
    found, left, _ = folded([node("Constant", [], ["c"], **{key: value})])
    assert not left and found["c"].tolist() == wanted
    kind = "f" if "float" in key else "i"
    assert found["c"].dtype.kind == kind and found["c"].dtype.itemsize == (4 if kind == "f" else 8)


def test_a_constant_that_is_no_number_stays():
    assert folded([node("Constant", [], ["c"], value_string=b"text")])[1] == ["Constant"]


def test_what_follows_from_constants_and_shapes_is_a_constant():
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "last"], ["n"], axis=0),
        node("Mul", ["n", "two"], ["twice"]),
        node("Concat", ["minus", "twice"], ["wanted"], axis=0),
        node("Expand", ["half", "wanted2"], ["wide"]),
        node("Range", ["zero", "five", "two0"], ["steps"]),
        node("ConstantOfShape", ["wanted2"], ["zeros"]),
        node("Reshape", ["x", "wanted"], ["y"]),
        node("Shape", ["y"], ["again"]),
        node("Relu", ["y"], ["z"]),
    ]
    found, left, shapes = folded(
        nodes, last=[2], two=[2], minus=[-1], half=np.float32(0.5), wanted2=[2, 3],
        zero=np.int64(0), five=np.int64(5), two0=np.int64(2),
    )  # fmt: skip
    assert left == ["Reshape", "Relu"]
    assert found["wanted"].tolist() == [-1, 6] and found["again"].tolist() == [1, 6]
    assert found["wide"].tolist() == [[0.5] * 3] * 2 and found["steps"].tolist() == [0, 2, 4]
    assert found["zeros"].shape == (2, 3) and shapes["z"] == (1, 6)


def test_operators_of_others_and_of_several_outputs_stay():
    foreign = node("Add", ["a", "a"], ["b"], domain="their.own")
    assert folded([foreign], domains=[("their.own", 1)], a=[1.0])[1] == ["Add"]
    split = node("Split", ["a"], ["b", "c"], axis=0)
    assert folded([split], a=np.ones(2, np.float32))[1] == ["Split"]
    shape = node("Shape", ["x"], ["s"], start=1)
    assert folded([shape])[1] == ["Shape"]
    assert folded([node("Sin", ["a"], ["b"])], a=np.ones(2, np.float32))[1] == ["Sin"]
    assert folded([node("Add", ["x", "a"], ["b"])], a=np.ones(3, np.float32))[1] == ["Add"]


def test_huge_results_are_not_made():
    """Damaged files ask for them; 2^40 numbers would take all memory."""
    large = [2**20, 2**20]
    for nodes in (
        [node("ConstantOfShape", ["n"], ["y"])],
        [node("Expand", ["one", "n"], ["y"])],
        [node("Range", ["zero", "many", "one0"], ["y"])],
        [node("Range", ["zero", "one0", "zero"], ["y"])],
    ):
        left = folded(
            nodes, n=large, one=np.float32(1), zero=np.int64(0), one0=np.int64(1),
            many=np.int64(2**40),
        )[1]  # fmt: skip
        assert left == [nodes[0].op_type]
    found, left, _ = folded([node("ConstantOfShape", ["n"], ["y"])], n=[-3, 2**30])
    assert left == ["ConstantOfShape"] or not found["y"].size


@pytest.mark.parametrize(
    "first, wanted", [(None, 1), ("N", 1), (0, 1), (-1, 1), (1, 1), (2, 2), (4, 4)]
)
def test_samples_whose_number_is_open_are_one(first, wanted):
    shapes = folded([node("Relu", ["x"], ["y"])], (first, 2, 3))[2]
    assert shapes["x"] == shapes["y"] == (wanted, 2, 3)


def test_open_edges_have_no_shape_until_one_is_given():
    relu = [node("Relu", ["x"], ["y"])]
    assert "x" not in folded(relu, (1, 2, None))[2]
    assert folded(relu, (1, 2, None), (2, 5))[2]["y"] == (1, 2, 5)
    assert folded(relu, (), (2, 5))[2]["y"] == (1, 2, 5)


def test_what_is_foreign_or_too_large_is_not_even_tried(monkeypatch):
    tried = []

    def evaluated(onnx, model, node, constants):
        tried.append(node.op_type)
        return np.zeros(1, np.float32)

    monkeypatch.setattr(onnx_fold, "_evaluated", evaluated)
    numbers = {
        "n": [2**13, 2**12], "one": np.float32(1), "zero": np.float32(0), "tiny": np.float32(1e-9),
        "wide": np.zeros(2**13, np.float32), "column": [2**12, 1], "many": np.int64(2**25),
        "zero0": np.int64(0), "one0": np.int64(1),
        "most": [2**12, 2**12], "few": np.int64(-(2**25)),
    }  # fmt: skip
    for made in (
        node("ConstantOfShape", ["n"], ["y"]),
        node("Expand", ["one", "n"], ["y"]),
        node("Expand", ["wide", "column"], ["y"]),
        node("Range", ["zero", "one", "tiny"], ["y"]),
        node("Range", ["zero0", "many", "one0"], ["y"]),
        node("Range", ["zero0", "one0", "zero0"], ["y"]),
        node("Range", ["few", "many", "one0"], ["y"]),
        node("Add", ["one", "one"], ["y"], domain="their.own"),
        node("Add", ["one", "one"], ["y", "z"]),
    ):
        assert made.op_type in folded([made], domains=[("their.own", 1)], **numbers)[1]
    assert not tried
    for made in (
        node("Mul", ["n", "n"], ["y"]),  # large numbers, not many
        node("ConstantOfShape", ["most"], ["y"]),
        node("Range", ["zero", "one", "one"], ["y"]),
        node("Range", ["many", "zero0", "many"], ["y"]),
        node("Expand", ["one", "column"], ["y"]),
    ):
        assert not folded([made], **numbers)[1]
    assert tried == ["Mul", "ConstantOfShape", "Range", "Range", "Expand"]


def test_shapes_that_the_library_does_not_find_are_none(monkeypatch):
    def fails(model):
        raise RuntimeError("of its own")

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", fails)
    _, left, shapes = folded([node("Shape", ["x"], ["s"])])
    assert left == ["Shape"] and shapes == {}
