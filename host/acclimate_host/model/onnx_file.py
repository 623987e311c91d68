# SPDX-License-Identifier: MIT
"""An ONNX model as plain records: constants worked out, quantize/dequantize pairs named."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..errors import Missing
from . import onnx_check
from .importing import ModelImportError, damage_named
from .onnx_fold import fold, value_types

_ALIASES = ("Identity", "Dropout")
_REAL_TYPES = (1, 10, 11, 16)  # float, float16, double, bfloat16
_MOVES = ("Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze")


@dataclass(frozen=True)
class OnnxOp:
    """One operator; an input that is left out is ""."""

    name: str
    inputs: tuple
    outputs: tuple
    attrs: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Stored:
    """A quantized constant, or the (scale, zero point) of an activation where `data` is None."""

    scale: object
    zero_point: object
    data: object = None
    axis: int = 0

    @property
    def real(self):
        """The float values of a constant."""
        shift = self.data.astype(np.float64) - self._along(self.zero_point)
        return shift * self._along(self.scale)

    def _along(self, values):
        """Return one or more `values` so that they broadcast along the constant's axis."""
        edges = [1] * self.data.ndim
        if np.size(values) > 1:
            edges[self.axis] = -1
        return np.reshape(values, edges)


@dataclass(frozen=True)
class OnnxFile:
    """`constants`: arrays or Stored; `scales`: Stored of activations; names after both pairs.

    `shapes`: of values by name, as far as they are fixed for one sample.
    """

    ops: tuple
    constants: dict
    scales: dict
    input: str
    input_shape: tuple
    outputs: tuple
    inputs_count: int
    shapes: dict


def read_onnx(model, source="model", input_shape=None):
    """Return the OnnxFile of a path, of bytes, or of an onnx.ModelProto.

    :param input_shape: of one input, see `import_onnx`
    :raises ModelImportError: where it is no ONNX model. Missing: `onnx` is not installed
    """
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError:
        raise Missing(
            "reading .onnx needs the onnx package: pip install 'acclimate[net]'"
        ) from None
    folder = None
    if isinstance(model, (str, Path)):
        folder, model = Path(model).parent, Path(model).read_bytes()
    if isinstance(model, bytes):
        try:
            model = onnx.load_model_from_string(model)
        except Exception as error:  # whatever the protobuf reader says of foreign bytes
            raise ModelImportError(f"{source}: no ONNX model ({_one_line(error)})") from None
    if not model.graph.node:
        raise ModelImportError(f"{source}: an ONNX model without operators")
    with damage_named(source):
        wrong = onnx_check.fault(onnx, model.graph)
        if input_shape is not None:
            wrong = wrong or onnx_check.shape_fault(model.graph, input_shape)
    if wrong:
        raise ModelImportError(f"{source}: {wrong}")
    _load_weights(onnx, model, folder, source)
    with damage_named(source):
        return _Reader(onnx, numpy_helper, model, source, input_shape).read()


def _load_weights(onnx, model, folder, source):
    """Read weights that lie in a file beside the model, as PyTorch's newer exporter keeps them."""
    helper = onnx.external_data_helper
    apart = [t for t in _tensors(model.graph) if helper.uses_external_data(t)]
    if not apart:
        return
    name = next((e.value for e in apart[0].external_data if e.key == "location"), "?")
    if folder is None:
        raise ModelImportError(f"{source}: weights are in {name!r}; give the path of the model")
    try:
        helper.load_external_data_for_model(model, str(folder))
    except Exception as error:  # no such file, outside of the folder, too short
        raise ModelImportError(
            f"{source}: weights are in {name!r} beside it, which cannot be read "
            f"({_one_line(error)})"
        ) from None


def _tensors(graph):
    """Return all constants of a graph: weights, and those that operators hold."""
    attributes = [a for node in graph.node for a in node.attribute]
    held = [t for a in attributes for t in (*a.tensors, *[a.t] * a.HasField("t"))]
    return [*graph.initializer, *held]


def _one_line(error):
    return " ".join(str(error).split())[:60]


def _needed(ops, outputs):
    """Return the operators that the outputs depend on, in order."""
    wanted, found = set(outputs), []
    for op in reversed(ops):
        if wanted.intersection(op.outputs):
            wanted.update(op.inputs)
            found.append(op)
    return found[::-1]


class _Reader:
    def __init__(self, onnx, helper, model, source, input_shape):
        self.onnx, self.helper, self.source = onnx, helper, source
        self.model, self.shapes = fold(onnx, model, input_shape)
        self.constants = {t.name: helper.to_array(t) for t in self.model.graph.initializer}
        self.alias, self.scales, self.quantized, self.ops = {}, {}, set(), []
        self.zeros = {}  # zero points of activations, as the file has them
        self.types = None  # of values by name, once they are asked for

    def read(self):
        graph = self.model.graph
        for node in graph.node:
            inputs = tuple(self.alias.get(name, name) for name in node.input)
            attrs = {a.name: self.onnx.helper.get_attribute_value(a) for a in node.attribute}
            attrs = {k: v.decode() if isinstance(v, bytes) else v for k, v in attrs.items()}
            if node.op_type in ("Softmax", "LogSoftmax") and self._operators() < 13:
                attrs.setdefault("axis", 1)  # the last one since
                attrs["all_behind"] = 1  # the axes behind it belong to it, until then
            self._node(OnnxOp(node.op_type, inputs, tuple(node.output), attrs))
        given = [v for v in graph.input if v.name not in self.constants]
        if not given:
            raise ModelImportError(f"{self.source}: an ONNX model without an input")
        wrong = onnx_check.input_fault(self.onnx, given[0])
        if wrong:
            raise ModelImportError(f"{self.source}: {wrong}")
        shape = tuple(d.dim_value for d in given[0].type.tensor_type.shape.dim)
        outputs = tuple(self.alias.get(v.name, v.name) for v in graph.output)
        self.ops = _needed(self.ops, outputs)
        self._scale_what_moves(outputs)
        return OnnxFile(
            tuple(self.ops),
            self.constants,
            self.scales,
            given[0].name,
            shape,
            outputs,
            len(given),
            self.shapes,
        )

    def _scale_what_moves(self, outputs):
        """Give what is only moved in front of a pair the pair's scale: the same numbers."""
        read = [name for op in self.ops for name in op.inputs] + list(outputs)
        for op in reversed(self.ops):
            x, y = op.inputs[:1], op.outputs[0]
            if op.name in _MOVES and y in self.scales and read.count(x[0]) == 1:
                self.scales.setdefault(x[0], self.scales[y])

    def _operators(self):
        """Return the version of ONNX's own operators."""
        versions = [o.version for o in self.model.opset_import if o.domain in ("", "ai.onnx")]
        return max(versions, default=1)

    def _node(self, op):
        if op.name == "Dropout" and np.any(self.constants.get((*op.inputs, "", "")[2], False)):
            self.ops.append(replace(op, name="Dropout in training"))
        elif op.name in _ALIASES or op.name == "Cast" and self._keeps_numbers(op):
            self.alias[op.outputs[0]] = op.inputs[0]
        elif op.name == "QuantizeLinear":
            self._quantize(op)
        elif op.name == "DequantizeLinear" and self._dequantize(op):
            return
        elif op.name == "Transpose" and isinstance(self.constants.get(op.inputs[0]), Stored):
            self._transposed(op)
        else:
            self.ops.append(op)

    def _keeps_numbers(self, op):
        """Tell whether a Cast is between kinds of real numbers, which are all one here."""
        if self.types is None:
            self.types = value_types(self.onnx, self.model)
        return op.attrs.get("to") in _REAL_TYPES and self.types.get(op.inputs[0]) in _REAL_TYPES

    def _transposed(self, op):
        """A stored constant that is turned, as PyTorch writes a layer's weight, stays one."""
        stored = self.constants[op.inputs[0]]
        order = list(op.attrs.get("perm", reversed(range(stored.data.ndim))))
        turned = stored.data.transpose(order)
        self.constants[op.outputs[0]] = replace(stored, data=turned, axis=order.index(stored.axis))

    def _quantize(self, op):
        """An activation gets its scale; it keeps its name."""
        scale, zero_point = (self.constants.get(name) for name in (*op.inputs[1:3], None)[:2])
        dtype = self._stored_type(op, zero_point)
        if isinstance(self.constants.get(op.inputs[0]), np.ndarray):
            if self._quantized_constant(op, scale, zero_point, dtype):
                return
        if scale is None or np.size(scale) != 1 or dtype not in ("int8", "uint8"):
            self.ops.append(replace(op, name=f"QuantizeLinear to {dtype}"))
            return
        self._check_scale(op, scale)
        zero = 0 if zero_point is None else int(np.ravel(zero_point)[0])
        name = op.inputs[0]
        kept = Stored(float(np.ravel(scale)[0]), zero - 128 * (dtype == "uint8"))
        if self.scales.get(name, kept) != kept or self.zeros.get(name, zero) != zero:
            name = op.outputs[0]
            self.ops.append(OnnxOp("Requantize", op.inputs[:1], (name,)))
        self.scales[name] = kept
        self.alias[op.outputs[0]] = name
        self.quantized.add(name)
        self.zeros[name] = zero

    def _stored_type(self, op, zero_point):
        """Return the name of the type that a QuantizeLinear stores."""
        if zero_point is not None:
            return str(np.asarray(zero_point).dtype)
        number = op.attrs.get("output_dtype", 0) or self.onnx.TensorProto.UINT8
        return str(self.onnx.helper.tensor_dtype_to_np_dtype(number))

    def _check_scale(self, op, scale):
        if not (np.all(np.asarray(scale) > 0) and np.isfinite(scale).all()):
            raise ModelImportError(
                f"{self.source}: {op.name} {op.outputs[0]}: scale: expected above 0, got "
                f"{np.min(scale):g}"
            )

    def _quantized_constant(self, op, scale, zero_point, dtype):
        """Store a constant as the operator does; tell whether it was of a form that is known."""
        if scale is None or np.ndim(scale) > 1 or dtype not in ("int8", "uint8"):
            return False
        self._check_scale(op, scale)
        value, along = self.constants[op.inputs[0]], [1] * np.ndim(self.constants[op.inputs[0]])
        if np.size(scale) > 1:
            along[op.attrs.get("axis", 1)] = -1
        steps = np.reshape(np.asarray(scale, np.float64), along if np.size(scale) > 1 else ())
        zero = 0 if zero_point is None else np.asarray(zero_point, np.int64)
        zero = np.reshape(zero, along if np.size(zero) > 1 else ())
        ends = np.iinfo(dtype)
        stored = np.clip(np.rint(value / steps) + zero, ends.min, ends.max)
        self.constants[op.outputs[0]] = np.asarray(stored).astype(dtype)
        return True

    def _dequantize(self, op):
        data, scale = op.inputs[0], self.constants.get(op.inputs[1])
        zero = self.constants.get(op.inputs[2]) if len(op.inputs) > 2 else None
        if data in self.quantized:
            stored = self.zeros[data]
            same = scale is not None and np.size(scale) == 1
            same = same and float(np.ravel(scale)[0]) == self.scales[data].scale
            if not same or (0 if zero is None else int(np.ravel(zero)[0])) != stored:
                self.ops.append(replace(op, name="DequantizeLinear unlike its QuantizeLinear"))
                return True
            self.alias[op.outputs[0]] = data
            return True
        is_one = isinstance(self.constants.get(data), np.ndarray) and scale is not None
        if not is_one or np.ndim(scale) > 1:
            return False
        self._check_scale(op, scale)
        value = self.constants[data]
        zero = np.zeros(1, np.int64) if zero is None else np.ravel(zero).astype(np.int64)
        axis = op.attrs.get("axis", 1) % max(value.ndim, 1) if np.size(scale) > 1 else 0
        self.constants[op.outputs[0]] = Stored(
            np.ravel(scale).astype(np.float64), zero, value, axis
        )
        return True
