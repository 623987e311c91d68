# SPDX-License-Identifier: MIT
"""What is wrong with an ONNX graph itself, in one line: names, types and numbers of operators."""

from numbers import Integral

_FLOATS_AND_BYTES = (1, 2, 3, 10, 11, 16)  # float, uint8, int8, float16, double, bfloat16
_PADDINGS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_ONE_OR_MORE = ("kernel_shape", "strides", "dilations", "group")
_WINDOWED = ("MaxPool", "AveragePool", "LpPool")
_LEAST_INPUTS = {"Conv": 2, "ConvTranspose": 2, "Gemm": 2, "MatMul": 2, "BatchNormalization": 5}


def fault(onnx, graph):
    """Return the first fault of a graph as a text, or None.

    :param graph: an onnx.GraphProto; graphs within its operators are not looked at
    """
    if graph.sparse_initializer:
        name = graph.sparse_initializer[0].values.name
        return f"weight {_plain(name)!r} is sparse; expected whole weights"
    given = {value.name for value in graph.input}
    known = {"", *given, *(tensor.name for tensor in graph.initializer)}
    for node in graph.node:
        where = f"{node.op_type} {_plain(node.name or ', '.join(node.output))}"
        missing = [name for name in node.input if name not in known]
        if missing:
            return f"{where}: input {_plain(missing[0])!r} is made by no operator before it"
        twice = [name for name in node.output if name and name in known]
        if twice:
            return f"{where}: the value {_plain(twice[0])!r} is made twice"
        found = _of_operator(onnx, node)
        if found:
            return f"{where}: {found}"
        known |= set(node.output)
    lost = [value.name for value in graph.output if value.name not in known]
    return f"output {_plain(lost[0])!r} is made by no operator" if lost else None


def real_inputs(graph):
    """Return the inputs of a graph that are no weights."""
    weights = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in weights]


def shape_fault(graph, input_shape):
    """Return why a model's input cannot have a shape, without samples, as a text, or None."""
    wanted, given = tuple(input_shape), real_inputs(graph)
    if len(given) != 1:
        return f"input_shape {wanted}: the model has {len(given)} inputs, expected one"
    if not wanted or not all(isinstance(edge, Integral) and edge > 0 for edge in wanted):
        return f"input_shape {wanted}: expected whole numbers above 0, without that of samples"
    dims = given[0].type.tensor_type.shape.dim
    edges = [max(dim.dim_value, 0) for dim in dims][1:] if dims else [0] * len(wanted)
    if len(edges) == len(wanted) and all(
        edge in (0, new) for edge, new in zip(edges, wanted, strict=True)
    ):
        return None
    return f"input_shape {wanted}: the model has {tuple(edge or '?' for edge in edges)}"


def input_fault(onnx, value):
    """Return what is wrong with the type of a model's input as a text, or None."""
    kind = value.type.tensor_type.elem_type
    if kind in _FLOATS_AND_BYTES:
        return None
    names = {number: name.lower() for name, number in onnx.TensorProto.DataType.items()}
    return f"input {_plain(value.name)!r}: expected float or byte values, got {names.get(kind)}"


def _of_operator(onnx, node):
    least = _LEAST_INPUTS.get(node.op_type, 0)
    if node.domain in ("", "ai.onnx") and len([name for name in node.input if name]) < least:
        return f"expected {least} inputs, got {len(node.input)}"
    attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type in _WINDOWED and "kernel_shape" not in attrs:
        return "expected a kernel_shape, got none"
    mode = attrs.get("auto_pad", b"NOTSET").decode(errors="replace")
    if mode not in _PADDINGS:
        return f"auto_pad: expected one of {', '.join(_PADDINGS)}, got {_plain(mode)}"
    for name in _ONE_OR_MORE:
        values = attrs.get(name, [])
        values = [values] if isinstance(values, int) else list(values)
        if min(values, default=1) < 1:
            return f"{name}: expected 1 or more, got {values}"
    return None


def reshape_fault(old, new):
    """Return why a fixed shape cannot become another, or None; 0 keeps an edge, -1 is open."""
    if list(new).count(-1) > 1:
        return f"expected one open edge (-1) at most, got {list(new)}"
    whole = [old[i] if edge == 0 and i < len(old) else edge for i, edge in enumerate(new)]
    count, wanted = 1, 1
    for edge in old:
        count *= edge
    for edge in whole:
        wanted *= abs(edge)
    if wanted != count and old and whole and old[0] == 1 and whole[0] > 1 and len(whole) > 1:
        wanted //= whole[0]  # of as many samples as the file was exported with
    if wanted == count or (-1 in whole and wanted and count % wanted == 0):
        return None
    return f"{count} values of shape {list(old)} cannot have shape {list(new)}"


def _plain(text):
    """Return a name of the file without line ends and control characters, cut where it is long."""
    return "".join(c if c.isprintable() else "?" for c in text)[:60]
