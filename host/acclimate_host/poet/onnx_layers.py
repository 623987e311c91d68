# SPDX-License-Identifier: MIT
"""Layers of any ONNX model for planning: its operators with the sizes that ONNX infers.

The compiler runs a part of ONNX only; a plan needs no more than sizes, products and what reads
what. An operator's outputs count as one tensor. What only depends on constants is no layer. An
open first dimension is a batch of 1; other open ones must be given by name.
"""

import math
from pathlib import Path

from ..errors import Missing
from ..model import onnx_check
from .layers import Layer
from .problem import PlanError

# ONNX operator -> kind of layers.READS; what is not here reads its inputs and its output.
_KINDS = {
    "Conv": "conv",
    "ConvTranspose": "conv",
    "ConvInteger": "conv",
    "Gemm": "dense",
    "MatMul": "matmul",
    "LSTM": "recurrent",
    "GRU": "recurrent",
    "RNN": "recurrent",
    "BatchNormalization": "batchnorm",
    "InstanceNormalization": "batchnorm",
    "LayerNormalization": "batchnorm",
    "GroupNormalization": "batchnorm",
    "LRN": "batchnorm",
    "MaxPool": "maxpool",
    "GlobalMaxPool": "maxpool",
    "AveragePool": "avgpool",
    "GlobalAveragePool": "avgpool",
    "ReduceMean": "avgpool",
    "ReduceSum": "avgpool",
    "Relu": "relu",
    "Clip": "relu",
    "LeakyRelu": "relu",
    "Sigmoid": "relu",
    "Tanh": "relu",
    "Softmax": "relu",
    "LogSoftmax": "relu",
    "Dropout": "dropout",
    "Add": "add",
    "Sub": "add",
    "Sum": "add",
    "Mul": "product",
    "Div": "product",
    **dict.fromkeys(
        (
            "Flatten",
            "Reshape",
            "Transpose",
            "Squeeze",
            "Unsqueeze",
            "Concat",
            "Split",
            "Slice",
            "Identity",
            "Pad",
            "Cast",
            "Expand",
            "Gather",
            "Resize",
            "Upsample",
        ),
        "flatten",
    ),
}


def onnx_layers(path, dims=None):
    """Layers of an ONNX file in forward order, the inputs first and a loss of the outputs last.

    :param dims: {name of an open dimension: length}
    :raises PlanError: no model, a size that cannot be known, or an operator with a graph inside.
        Missing: the package onnx
    """
    try:
        import onnx
    except ImportError:
        raise Missing("reading .onnx needs onnx: pip install 'acclimate[net]'") from None
    path = Path(path)
    try:
        model = onnx.load_model(path, load_external_data=False)
        wrong = onnx_check.fault(onnx, model.graph)
        if wrong:
            raise PlanError(f"{path.name}: {wrong}")
        _fix_dimensions(model.graph, dims or {}, path.name)
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except PlanError:
        raise
    except OSError as error:
        raise PlanError(f"{path.name}: {error.strerror}") from None
    except Exception as error:  # protobuf's and onnx's own have no common base
        raise PlanError(f"{path.name}: no ONNX model ({_first(error)})") from None
    return _Reader(model.graph, path.name).layers()


def _first(error):
    return (str(error).splitlines() or [type(error).__name__])[0][:60]


def _fix_dimensions(graph, dims, source):
    constants = {tensor.name for tensor in graph.initializer}
    for value in graph.input:
        if value.name in constants or not value.type.HasField("tensor_type"):
            continue
        for place, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.HasField("dim_value") and dim.dim_value > 0:
                continue
            name = dim.dim_param
            length = dims.get(name, 1 if place == 0 else None)
            if length is None:
                how = f"give --dim {name}=N" if name else "export it with fixed sizes"
                raise PlanError(f"{source}: input {value.name}: dimension {place} is open; {how}")
            dim.dim_value = length
    del graph.value_info[:]
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


class _Reader:
    """Goes through the operators in order; `made`: name of a value -> id of its layer."""

    def __init__(self, graph, source):
        self.graph, self.source = graph, source
        self.constants = {tensor.name for tensor in graph.initializer}
        self.constants |= {tensor.values.name for tensor in graph.sparse_initializer}
        self.shapes = {t.name: tuple(t.dims) for t in graph.initializer}
        for value in (*graph.input, *graph.value_info, *graph.output):
            shape = value.type.tensor_type.shape
            if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape"):
                self.shapes[value.name] = tuple(
                    dim.dim_value if dim.HasField("dim_value") else -1 for dim in shape.dim
                )
        self.made, self.all = {}, []

    def layers(self):
        for value in self.graph.input:
            if value.name not in self.constants:
                self.made[value.name] = value.name
                self.all.append(Layer(value.name, "input", (), self.shape(value.name), 0.0))
        for op in self.graph.node:
            self._read(op)
        ends = [self.made[v.name] for v in self.graph.output if v.name in self.made]
        if not ends:
            raise PlanError(f"{self.source}: no output depends on an input")
        used = self._used(ends)
        size = sum(math.prod(self.shape(v.name)) for v in self.graph.output if v.name in self.made)
        loss = Layer("loss", "loss", tuple(dict.fromkeys(ends)), (1,), 4.0 * size)
        return (*(layer for layer in self.all if layer.id in used), loss)

    def shape(self, name):
        shape = self.shapes.get(name)
        if shape is None or min(shape, default=0) < 0:
            raise PlanError(
                f"{self.source}: the size of {name} is not known; export it with fixed sizes"
            )
        return shape

    def _read(self, op):
        inputs = tuple(dict.fromkeys(self.made[n] for n in op.input if n in self.made))
        outputs = [name for name in op.output if name]
        if not inputs or op.op_type in ("Shape", "Size"):
            self.constants.update(outputs)
            return
        if any(a.HasField("g") or a.graphs for a in op.attribute):
            raise PlanError(f"{self.source}: {op.op_type} {outputs[0]} holds a graph of its own")
        elements = sum(math.prod(self.shape(name)) for name in outputs if name in self.shapes)
        if outputs[0] not in self.shapes:
            self.shape(outputs[0])
        name = outputs[0] if outputs[0] != "loss" else "loss of the model"
        self.made.update(dict.fromkeys(outputs, name))
        kind = _KINDS.get(op.op_type, "other")
        weights = [self.shape(n) for n in op.input if n in self.constants and n in self.shapes]
        shape = self.shape(outputs[0]) if len(outputs) == 1 else (elements,)
        self.all.append(
            Layer(
                name,
                kind,
                inputs,
                shape,
                self._flop(op, kind, elements),
                sum(map(math.prod, weights)) if _trains(kind) else 0,
            )
        )

    def _flop(self, op, kind, elements):
        if kind == "conv":
            made = self.shape(op.output[0])
            if op.op_type == "ConvTranspose":
                made = self.shape(op.input[0])
            return 2.0 * math.prod(made) * math.prod(self.shape(op.input[1])[1:]) + elements
        if kind in ("dense", "matmul"):
            first = self.shape(op.input[0])
            turned = any(a.name == "transA" and a.i for a in op.attribute)
            return 2.0 * elements * first[0 if turned else -1] + elements
        if kind == "recurrent":
            steps = math.prod(self.shape(op.input[0])[:2])
            return 2.0 * steps * sum(math.prod(self.shape(n)) for n in op.input[1:3]) + elements
        if kind in ("maxpool", "avgpool"):
            return float(max(elements, *(math.prod(self.shape(n)) for n in op.input[:1])))
        return float(elements)

    def _used(self, ends):
        by_id, used, todo = {layer.id: layer for layer in self.all}, set(), list(ends)
        while todo:
            name = todo.pop()
            if name not in used:
                used.add(name)
                todo.extend(by_id[name].inputs)
        return used


def _trains(kind):
    return kind in ("conv", "dense", "matmul", "recurrent", "batchnorm")
