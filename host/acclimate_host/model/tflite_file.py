# SPDX-License-Identifier: MIT
"""A .tflite file as plain records; the flatbuffer is read by the `tflite` package."""

from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import Missing
from .importing import ModelImportError

_DTYPES = {
    "FLOAT32": np.float32,
    "FLOAT16": np.float16,
    "INT32": np.int32,
    "UINT8": np.uint8,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT64": np.int64,
    "BOOL": np.bool_,
}


@dataclass(frozen=True)
class FileTensor:
    """`data` is the constant's array or None; scale and zero point are arrays or None."""

    name: str
    shape: tuple
    dtype: str
    scale: object
    zero_point: object
    data: object
    axis: int = 0  # of the scales, where there are several


@dataclass(frozen=True)
class FileOp:
    """One operator; tensors by index, -1 for one that is left out."""

    name: str
    inputs: tuple
    outputs: tuple
    options: dict = field(default_factory=dict)


@dataclass(frozen=True)
class FileGraph:
    tensors: tuple
    ops: tuple
    inputs: tuple
    outputs: tuple


def read_tflite(data, source="model"):
    """Return the FileGraphs of a .tflite file's bytes; the first is the main one.

    :raises ModelImportError: where the bytes are no such file. Missing: `tflite` is not installed
    """
    try:
        import tflite
    except ImportError:
        raise Missing(
            "reading .tflite needs the tflite package: pip install 'acclimate[net]'"
        ) from None
    if len(data) < 8 or bytes(data[4:8]) != b"TFL3":
        raise ModelImportError(f"{source}: no TFLite file (its bytes 4..7 are not TFL3)")
    try:
        model = tflite.Model.GetRootAs(data, 0)
        graphs = [_graph(tflite, model, i) for i in range(model.SubgraphsLength())]
        return (_with_branches(graphs), *graphs[1:])
    except ModelImportError:
        raise
    except Exception as error:  # the reader raises whatever a broken offset leads to
        raise ModelImportError(f"{source}: damaged TFLite file ({error})") from None


def _names(enumeration):
    return {value: key for key, value in vars(enumeration).items() if isinstance(value, int)}


def _list(length, array):
    return tuple(int(value) for value in array()) if length() else ()


def _graph(tflite, model, index):
    graph = model.Subgraphs(index)
    names, kinds = _names(tflite.BuiltinOperator), _names(tflite.TensorType)
    tensors = tuple(
        _tensor(tflite, model, graph.Tensors(i), kinds) for i in range(graph.TensorsLength())
    )
    ops = []
    for i in range(graph.OperatorsLength()):
        op = graph.Operators(i)
        code = model.OperatorCodes(op.OpcodeIndex())
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        name = names.get(number, f"operator {number}")
        ops.append(
            FileOp(
                name,
                _list(op.InputsLength, op.InputsAsNumpy),
                _list(op.OutputsLength, op.OutputsAsNumpy),
                _options(tflite, op),
            )
        )
    inputs = _list(graph.InputsLength, graph.InputsAsNumpy)
    outputs = _list(graph.OutputsLength, graph.OutputsAsNumpy)
    return FileGraph(tensors, tuple(ops), inputs, outputs)


def _with_branches(graphs):
    """Return the main graph with both branches of each IF within it, and a SELECT behind them."""
    tensors, ops = list(graphs[0].tensors), []
    for op in graphs[0].ops:
        if op.name != "IF":
            ops.append(op)
            continue
        ends = []
        for key in ("ThenSubgraphIndex", "ElseSubgraphIndex"):
            branch = graphs[op.options[key]]
            names = dict(zip(branch.inputs, op.inputs[1:], strict=True))
            for i, tensor in enumerate(branch.tensors):
                if i not in names:
                    names[i] = len(tensors)
                    tensors.append(tensor)
            for inner in branch.ops:
                inputs, outputs = (tuple(names.get(i, i) for i in part)
                                   for part in (inner.inputs, inner.outputs))  # fmt: skip
                ops.append(replace(inner, inputs=inputs, outputs=outputs))
            ends.append([names[i] for i in branch.outputs])
        for output, *sides in zip(op.outputs, *ends, strict=True):
            ops.append(FileOp("SELECT", (op.inputs[0], *sides), (output,)))
    return replace(graphs[0], tensors=tuple(tensors), ops=tuple(ops))


def _tensor(tflite, model, tensor, kinds):
    quantization = tensor.Quantization()
    scale = zero_point = data = None
    axis = 0
    if quantization is not None and quantization.ScaleLength():
        scale = np.array(quantization.ScaleAsNumpy(), np.float64)
        zero_point = np.zeros(len(scale), np.int64)
        if quantization.ZeroPointLength():
            zero_point = np.array(quantization.ZeroPointAsNumpy(), np.int64)
        axis = quantization.QuantizedDimension()
    shape = _list(tensor.ShapeLength, tensor.ShapeAsNumpy)
    kind = kinds[tensor.Type()]
    buffer = model.Buffers(tensor.Buffer())
    if buffer is not None and buffer.DataLength() and kind in _DTYPES:
        data = np.frombuffer(buffer.DataAsNumpy().tobytes(), _DTYPES[kind])
        sparsity = tensor.Sparsity()
        data = data.reshape(shape) if sparsity is None else _dense(tflite, data, shape, sparsity)
    elif 0 in shape and kind in _DTYPES:
        data = np.zeros(shape, _DTYPES[kind])  # as the shape of a single number
    name = (tensor.Name() or b"").decode("utf-8", "replace")
    return FileTensor(name, shape, kind, scale, zero_point, data, axis)


def _dense(tflite, values, shape, sparsity):
    """Return the whole array of a sparse constant, whose stored values come in order.

    Its dimensions, and those of blocks behind them, are walked in `TraversalOrder`; each is
    dense, or lists in segments what is there.
    """
    order = _list(sparsity.TraversalOrderLength, sparsity.TraversalOrderAsNumpy)
    blocks = _list(sparsity.BlockMapLength, sparsity.BlockMapAsNumpy)
    levels = [_level(tflite, sparsity.DimMetadata(i)) for i in range(len(order))]
    at = [((0,) * len(order), 0)]  # where, and which entry of its level
    for axis, (size, segments, indices) in zip(order, levels, strict=True):
        below = []
        for place, entry in at:
            ends = (entry * size, (entry + 1) * size) if segments is None else segments[entry:]
            for i in range(ends[0], ends[1]):
                found = i - ends[0] if segments is None else indices[i]
                below.append(((*place[:axis], int(found), *place[axis + 1 :]), i))
        at = below
    rank, whole = len(shape), np.zeros(shape, values.dtype)
    edges = dict(zip(order, (level[0] for level in levels), strict=True))
    for (place, _), value in zip(at, values, strict=True):
        real = list(place[:rank])
        for number, axis in enumerate(blocks):
            real[axis] = real[axis] * edges[rank + number] + place[rank + number]
        whole[tuple(real)] = value
    return whole


def _level(tflite, meta):
    """Return (size, segments, indices) of one dimension; None for both where it is dense."""
    if meta.Format() == 0:
        return meta.DenseSize(), None, None
    kinds = {1: tflite.Int32Vector, 2: tflite.Uint16Vector, 3: tflite.Uint8Vector}
    found = []
    for kind, table in (
        (meta.ArraySegmentsType(), meta.ArraySegments()),
        (meta.ArrayIndicesType(), meta.ArrayIndices()),
    ):
        vector = kinds[kind]()
        vector.Init(table.Bytes, table.Pos)
        found.append(vector.ValuesAsNumpy())
    return 0, *found


_OPTIONS = {
    "Conv2DOptions": (
        "Padding",
        "StrideH",
        "StrideW",
        "DilationHFactor",
        "DilationWFactor",
        "FusedActivationFunction",
    ),
    "DepthwiseConv2DOptions": (
        "Padding",
        "StrideH",
        "StrideW",
        "DilationHFactor",
        "DilationWFactor",
        "FusedActivationFunction",
    ),
    "Pool2DOptions": (
        "Padding",
        "StrideH",
        "StrideW",
        "FilterHeight",
        "FilterWidth",
        "FusedActivationFunction",
    ),
    "FullyConnectedOptions": ("FusedActivationFunction", "WeightsFormat"),
    **dict.fromkeys(
        ("AddOptions", "SubOptions", "MulOptions", "DivOptions"), ("FusedActivationFunction",)
    ),
    "ConcatenationOptions": ("Axis", "FusedActivationFunction"),
    "StridedSliceOptions": (
        "BeginMask",
        "EndMask",
        "EllipsisMask",
        "NewAxisMask",
        "ShrinkAxisMask",
        "Offset",
    ),
    "SoftmaxOptions": ("Beta",),
    "VarHandleOptions": ("SharedName",),
    "CallOnceOptions": ("InitSubgraphIndex",),
    "LeakyReluOptions": ("Alpha",),
    **dict.fromkeys(("DepthToSpaceOptions", "SpaceToDepthOptions"), ("BlockSize",)),
    "UnidirectionalSequenceLSTMOptions": ("FusedActivationFunction", "CellClip", "TimeMajor"),
    "SVDFOptions": ("Rank", "FusedActivationFunction"),
    "MirrorPadOptions": ("Mode",),
    "IfOptions": ("ThenSubgraphIndex", "ElseSubgraphIndex"),
    "ResizeBilinearOptions": ("AlignCorners", "HalfPixelCenters"),
    "ResizeNearestNeighborOptions": ("AlignCorners", "HalfPixelCenters"),
}


def _options(tflite, op):
    kind = _names(tflite.BuiltinOptions).get(op.BuiltinOptionsType())
    if kind not in _OPTIONS or op.BuiltinOptions() is None:
        return {}
    options = getattr(tflite, kind)()
    options.Init(op.BuiltinOptions().Bytes, op.BuiltinOptions().Pos)
    return {name: getattr(options, name)() for name in _OPTIONS[kind]}
