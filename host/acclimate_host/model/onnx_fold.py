# SPDX-License-Identifier: MIT
"""Works out what an ONNX model computes from constants and shapes alone.

PyTorch's exporter writes such computations for padding and for `view`; once the number of
samples is 1, their results are constants.
"""

import numpy as np

from .onnx_check import real_inputs

# Operators that rearrange or compute small constants.
_FOLDED = {
    "Add",
    "And",
    "Cast",
    "Concat",
    "ConstantOfShape",
    "Div",
    "Equal",
    "Expand",
    "Floor",
    "Gather",
    "Greater",
    "GreaterOrEqual",
    "Identity",
    "Less",
    "LessOrEqual",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Pow",
    "Range",
    "ReduceProd",
    "Reshape",
    "Slice",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
}
_MOST = 1 << 24  # elements that a folded operator may read or make
_ROUNDS = 20


def fold(onnx, model, input_shape=None):
    """Return (model, {name: shape}) with such operators replaced by their results.

    Shapes are those of all values for which they are fixed, with one sample.

    :param input_shape: of one input, as `onnx_check.shape_fault` has checked it
    """
    small = onnx.ModelProto()
    small.CopyFrom(model)
    for value in small.graph.input:
        dims = value.type.tensor_type.shape.dim
        if dims and dims[0].dim_value < 1:  # a name, nothing, or a number that means "any"
            dims[0].dim_value = 1
    if input_shape is not None:
        _give_shape(real_inputs(small.graph)[0].type.tensor_type.shape.dim, input_shape)
    del small.graph.value_info[:]
    shapes = {}
    for _ in range(_ROUNDS):
        constants = {t.name: onnx.numpy_helper.to_array(t) for t in small.graph.initializer}
        changed = _fold_once(onnx, small, constants, shapes)
        found = _shapes(onnx, small)
        if not changed and found == shapes:
            break
        shapes = found
    return small, shapes


def _give_shape(dims, input_shape):
    if not dims:
        dims.add().dim_value = 1
        for _ in input_shape:
            dims.add()
    for dim, edge in zip(dims[1:], input_shape, strict=True):
        dim.dim_value = int(edge)


def _fold_once(onnx, model, constants, shapes):
    """Replace what can be replaced now; return whether anything was."""
    left = []
    for node in model.graph.node:
        value = _result(onnx, model, node, constants, shapes)
        if value is None:
            left.append(node)
            continue
        constants[node.output[0]] = value
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, node.output[0]))
    changed = len(left) < len(model.graph.node)
    left = [onnx.NodeProto.FromString(node.SerializeToString()) for node in left]
    del model.graph.node[:]
    model.graph.node.extend(left)
    return changed


def _result(onnx, model, node, constants, shapes):
    """Return the array that a node gives whatever the input is, or None."""
    if len(node.output) != 1 or node.domain not in ("", "ai.onnx"):
        return None
    if node.op_type == "Constant":
        return _constant(onnx, node)
    if node.op_type == "Shape" and not node.attribute:
        name = node.input[0]
        shape = constants[name].shape if name in constants else shapes.get(name)
        return None if shape is None else np.array(shape, np.int64)
    given = [constants.get(name) for name in node.input if name]
    if node.op_type not in _FOLDED or not given or any(v is None for v in given):
        return None
    if _size(node.op_type, given) > _MOST:
        return None
    try:
        return _evaluated(onnx, model, node, constants)
    except Exception:  # whatever the library says of a node that the importer then refuses
        return None


def _size(kind, given):
    """Return how many elements an operator reads, or makes where the values say so."""
    numbers = [np.ravel(value).astype(float) for value in given if value.dtype.kind in "iuf"]
    if kind == "ConstantOfShape":
        return np.prod(np.maximum(numbers[0], 0))
    if kind == "Expand":
        return given[0].size * np.prod(np.maximum(numbers[-1], 1))
    if kind == "Range" and len(numbers) == 3:
        start, end, step = (number[0] for number in numbers)
        return abs(end - start) / abs(step) if step else np.inf
    return sum(value.size for value in given)


def _constant(onnx, node):
    attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if "value" in attrs:
        return onnx.numpy_helper.to_array(attrs["value"])
    for key, kind in (
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        if key in attrs:
            return np.array(attrs[key], kind)
    return None


def _evaluated(onnx, model, node, constants):
    """Return what onnx's own reference gives for one node."""
    from onnx.reference import ReferenceEvaluator

    names = [name for name in node.input if name]
    values = [
        onnx.helper.make_tensor_value_info(
            name,
            onnx.helper.np_dtype_to_tensor_dtype(constants[name].dtype),
            constants[name].shape,
        )
        for name in dict.fromkeys(names)
    ]
    alone = onnx.helper.make_model(
        onnx.helper.make_graph([node], "one", values, [onnx.ValueInfoProto(name=node.output[0])]),
        opset_imports=[o for o in model.opset_import if o.domain in ("", "ai.onnx")],
    )
    found = ReferenceEvaluator(alone).run(None, {name: constants[name] for name in names})[0]
    return np.asarray(found)


def _values(onnx, model):
    """Return what is known of a model's values, none where it is damaged."""
    try:
        found = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # whatever the library says of models that the importer then refuses
        return ()
    return (*found.input, *found.value_info, *found.output)


def value_types(onnx, model):
    """Return {name: number of its type} of values."""
    return {value.name: value.type.tensor_type.elem_type for value in _values(onnx, model)}


def _shapes(onnx, model):
    """Return {name: shape} of values with fixed shapes."""
    shapes = {}
    for value in _values(onnx, model):
        kind = value.type.tensor_type
        if kind.HasField("shape") and all(d.HasField("dim_value") for d in kind.shape.dim):
            shapes[value.name] = tuple(d.dim_value for d in kind.shape.dim)
    return shapes
