# SPDX-License-Identifier: MIT
"""Writes small int8 .tflite models, one operator a call, with the tflite-micro wheel's schema."""

import flatbuffers
import numpy as np
from tflite_micro.python.tflite_micro import runtime

schema = runtime.schema_fb
_TYPES = {"int8": 9, "int16": 7, "int32": 2, "float32": 0, "float16": 1}


class Writer:
    """A model with one input; `last` is the tensor that the next operator reads."""

    def __init__(self, shape, scale=0.05, zero_point=3, seed=1):
        self.random = np.random.default_rng(seed)
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.operatorCodes = 3, []
        self.model.buffers = [schema.BufferT()]
        self.graph.tensors, self.graph.operators = [], []
        self.first = self.last = self.activation(shape, scale, zero_point)
        self.more = []

    def _tensor(self, shape, kind, scales, zero_points, data=None, axis=0):
        tensor = schema.TensorT()
        tensor.name, tensor.shape = f"t{len(self.graph.tensors)}".encode(), list(shape)
        tensor.type, tensor.buffer = _TYPES[kind], 0
        if scales is not None:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = [float(s) for s in scales]
            tensor.quantization.zeroPoint = [int(z) for z in zero_points]
            tensor.quantization.quantizedDimension = axis
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def activation(self, shape, scale, zero_point):
        return self._tensor(shape, "int8", [scale], [zero_point])

    def constant(self, values):
        values = np.asarray(values, np.int32)
        return self._tensor(values.shape, "int32", None, None, values)

    def op(self, name, inputs, shape, scale, zero_point, options=None, **fields):
        """Add an operator; its output becomes `last`."""
        code = schema.OperatorCodeT()
        number = getattr(schema.BuiltinOperator, name)
        code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
        code.version = 1
        self.model.operatorCodes.append(code)
        op = schema.OperatorT()
        op.opcodeIndex = len(self.model.operatorCodes) - 1
        self.last = self.activation(shape, scale, zero_point)
        op.inputs, op.outputs = list(inputs), [self.last]
        if options:
            op.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            op.builtinOptions = getattr(schema, options + "T")()
            for key, value in fields.items():
                setattr(op.builtinOptions, key, value)
        self.graph.operators.append(op)
        return self.last

    def scale_of(self, index):
        return self.graph.tensors[index].quantization.scale[0]

    def shape_of(self, index):
        return self.graph.tensors[index].shape

    def layer(self, name, weight_shape, shape, scale, zero_point, axis, options, **fields):
        """Add a layer with seeded weights (per channel along `axis`) and biases."""
        count = weight_shape[axis]
        scales = 10 ** self.random.uniform(-3, -2, count)
        weight = self.random.integers(-127, 128, weight_shape).astype(np.int8)
        bias = self.random.integers(-3000, 3000, count).astype(np.int32)
        if name == "FULLY_CONNECTED":
            scales = scales[:1]
        x = self.last
        w = self._tensor(weight_shape, "int8", scales, np.zeros(len(scales)), weight, axis)
        b = self._tensor((count,), "int32", scales * self.scale_of(x), np.zeros(len(scales)), bias)
        return self.op(name, (x, w, b), shape, scale, zero_point, options, **fields)

    def from_float(self):
        """Let the model begin with float32, as the converter makes it by default."""
        first = self._tensor(self.shape_of(self.first), "float32", None, None)
        made = self.first
        self.op("QUANTIZE", (first,), (1,), 1.0, 0)
        self.graph.operators[-1].outputs = [made]
        self.first, self.last = first, made

    def to_float(self):
        """Let the last value become float32."""
        last = self._tensor(self.shape_of(self.last), "float32", None, None)
        self.op("DEQUANTIZE", (self.last,), (1,), 1.0, 0)
        self.graph.operators[-1].outputs = [last]
        self.last = last

    def another_input(self, shape, scale=0.05, zero_point=3):
        """Add an input behind those so far; return its tensor."""
        self.more.append(self.activation(shape, scale, zero_point))
        return self.more[-1]

    def finish(self, *outputs):
        """Return the bytes of the model; `outputs`: others in front of the last tensor."""
        self.graph.inputs = [self.first, *self.more]
        self.graph.outputs = [*outputs, self.last]
        self.model.subgraphs = [self.graph]
        builder = flatbuffers.Builder(4096)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


class FloatWriter(Writer):
    """A float32 model. :param stored: of its weights: "float32", "float16", "int8" or "rounded".

    "rounded" are float32 numbers that float16 has as well.
    """

    def __init__(self, shape, stored, seed=1):
        self.stored = stored
        super().__init__(shape, seed=seed)

    def activation(self, shape, scale=None, zero_point=None):
        return self._tensor(shape, "float32", None, None)

    def number(self, value):
        return self._tensor(np.shape(value), "float32", None, None, np.float32(value))

    def op(self, name, inputs, shape, options=None, **fields):
        return super().op(name, inputs, shape, None, None, options, **fields)

    def layer(self, name, weight_shape, shape, axis, options, **fields):
        """Add a layer with seeded weights and biases; int8 ones have a scale for each output."""
        x, count = self.last, weight_shape[axis]
        weight = self.random.normal(0, 0.4, weight_shape).astype(np.float32)
        bias = self.random.normal(0, 0.3, count).astype(np.float32)
        if self.stored == "rounded":
            weight = weight.astype(np.float16).astype(np.float32)
        if self.stored in ("float32", "rounded"):
            w = self._tensor(weight_shape, "float32", None, None, weight)
        elif self.stored == "float16":
            half = self._tensor(weight_shape, "float16", None, None, weight.astype(np.float16))
            w = self.op("DEQUANTIZE", (half,), weight_shape)
        else:
            others = tuple(i for i in range(weight.ndim) if i != axis)
            scales = np.abs(weight).max(others, keepdims=True) / 127
            small = np.rint(weight / scales).astype(np.int8)
            zeros = np.zeros(count)
            w = self._tensor(weight_shape, "int8", scales.ravel(), zeros, small, axis)
        b = self._tensor((count,), "float32", None, None, bias)
        return self.op(name, (x, w, b), shape, options, **fields)


def window(stride, padding, act=0, **fields):
    """Return the fields of a sliding operator's options; padding 0 is SAME, 1 VALID."""
    return {
        "strideH": stride[0],
        "strideW": stride[1],
        "padding": padding,
        "fusedActivationFunction": act,
        **fields,
    }
