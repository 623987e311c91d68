# SPDX-License-Identifier: MIT
"""What a program only reads, and the first values of what training changes."""

import numpy as np

from ..model.clamps import WEIGHT, clamped_nodes, inside_float, inside_limits, inside_name
from ..model.graph import GraphError
from ..model.importing import function_of
from ..model.lstm import lstm_factors, sigmoid_table
from ..model.svdf import svdf_factors
from .blob import (
    Blob,
    add_rule,
    attention_rule,
    check_sums,
    float_bits,
    layer_values,
    matrix,
    multiply_rule,
    pack_record,
    slopes,
    target_table,
    training_values,
)
from .program_format import LAYER


class Constants:
    """Records of layers, weights and tables of a Placement, each by its offset in `blob`.

    `windows` are (arena offset, offset in the blob, bytes) of the first content of streams,
    `trained` the bytes of the weights section.
    """

    def __init__(self, placement):
        self.placement, self.graph = placement, placement.graph
        self.network, self.is_float = placement.network, placement.is_float
        self.blob = Blob()
        self.blob.add(bytes(4))  # offset 0 means none
        self.trained = bytearray(placement.weights_bytes)
        self.windows, self.records, self.tables = [], {}, {}
        for layer in placement.layers.values():
            if any(name in self.graph.tensors for name in self._parameter_names(layer)):
                self.records[layer.name] = self._record(layer)
        for layer in placement.clamps.values():
            self.records[layer.name] = self._clamp_record(layer)
        self._other_values()

    @staticmethod
    def _parameter_names(layer):
        return (layer.name + ".w", layer.name + ".wt", layer.name + ".b")

    def _record(self, layer):
        """Add a layer's parameters and return the offset of its record."""
        values = layer_values(self.network.graph, layer, self.blob, self.is_float)
        bias = self.network.values[layer.name + ".b"]
        if not self.is_float:
            check_sums(layer, bias)
            if any(n.phase in ("backward", "update") for n in self.graph.nodes):
                values.update(training_values(layer, self.blob))
        values.update(self._weights(layer))
        name = layer.name + ".b"
        data = bias.astype("<f4" if self.is_float else "<i4").tobytes()
        if self.graph[name].kind == "trained":
            values["bias"] = 2 * self._train(name, data) + 1
        else:
            values["bias"] = 2 * self.blob.add(data)
        return self.blob.add(pack_record(LAYER, values))

    def _clamp_record(self, layer):
        """Add a layer that stands in for the ReLU of a node; return the offset of its record."""
        graph, y = self.network.graph, layer.y.name
        values = layer_values(graph, layer, self.blob, self.is_float)
        node = next(node for node in clamped_nodes(graph) if node.outputs[0] == y)
        is_inside = layer.name == inside_name(node.attrs["layer"])
        if is_inside and self.is_float:
            values["requant"] = self.blob.add(inside_float(node))
        elif is_inside:
            values["low"], values["high"] = inside_limits(graph, node)
        weight = np.ones(layer.weight.shape, np.float32)
        if not self.is_float:
            weight = np.full(layer.weight.shape, WEIGHT, np.int8)
        data = matrix(weight, layer.groups, layer.depthwise)
        bias = 2 * self.blob.add(bytes(4 * layer.cout))
        values.update(split=0, wt=0, w=self.blob.add(data), bias=bias)
        return self.blob.add(pack_record(LAYER, values))

    def _weights(self, layer):
        weight = layer.ordered(self.network.values[layer.name + ".w"])
        axis = 0 if layer.depthwise else 1
        name, count = layer.name + ".wt", 0
        if name in self.graph.tensors:
            count = self.graph[name].shape[axis]
        elif self.graph.tensors.get(layer.name + ".w") is None:
            raise GraphError(f"{layer.name}: the step has no weight of this layer")
        elif self.graph[layer.name + ".w"].kind == "trained":
            name, count = layer.name + ".w", weight.shape[axis]
        trained, frozen = np.split(weight, [count], axis=axis)
        values = {"split": count, "wt": 0, "w": 0}
        if frozen.size:
            values["w"] = self.blob.add(matrix(frozen, layer.groups, layer.depthwise))
        if count:
            values["wt"] = self._train(name, matrix(trained, layer.groups, layer.depthwise))
        return values

    def _train(self, name, data):
        """Put the first values of a trained tensor into the weights; return its place."""
        _, at, size = self.placement.part(name)
        if len(data) != size:
            raise GraphError(f"{name}: {len(data)} bytes, of which the arena holds {size}")
        self.trained[at : at + size] = data
        return self.placement.at(name)

    def _other_values(self):
        """Add tables, and the first content of windows."""
        for node in self.graph.nodes:
            if node.op == "lookup":
                self._check_tables(node)
                value = self.network.values[node.inputs[1]]
                self.tables[node.inputs[1]] = self.blob.add(value.astype(np.int8).tobytes())
            for name in node.outputs:
                if self.graph[name].kind == "state":
                    self._first(name)

    def _check_tables(self, node):
        if self.is_float:
            raise GraphError(f"{node.attrs['layer']}: float32 programs have no tables; quantize")

    def _first(self, name):
        """Add what a tensor that stays from call to call holds at first."""
        value = np.broadcast_to(self.network.values[name], self.graph[name].shape)
        small = {"int8": "i1", "int16": "<i2"}
        kind = "<f4" if self.is_float else small[self.graph[name].dtype]
        data = np.ascontiguousarray(value.transpose(1, 2, 0)).astype(kind).tobytes()
        self.windows.append((self.placement.at(name), self.blob.add(data), len(data)))

    def target_table(self, x, y):
        """Return the offset of the table that makes stored inputs the targets of outputs."""
        return self.blob.add(target_table(x, y))

    def multiply_rule(self, node):
        """Return the offset of the record of a product."""
        if self.is_float:
            return self.blob.add(bytes(20))
        return multiply_rule(self.network.graph, node, self.blob)

    def slopes(self, node):
        """Return (offset, scale) of the slopes of a table's function, for its gradient."""
        graph = self.network.graph
        forward = next(n for n in graph.nodes if n.attrs.get("layer") == node.attrs["layer"])
        x, y = graph[forward.inputs[0]], graph[forward.outputs[0]]
        stored, scale = slopes(function_of(node.attrs["function"]), x, y)
        return self.blob.add(stored.tobytes()), scale

    def lstm(self, node):
        """Return the offset of the record of a recurrent layer."""
        table = sigmoid_table().astype("<u2")
        return self._recurrent(node, lstm_factors(node, self.network.graph), table)

    def svdf(self, node):
        """Return the offset of the record of a recurrent layer."""
        return self._recurrent(node, svdf_factors(node, self.network.graph))

    def _recurrent(self, node, factors, *tables):
        parts = [self.network.values[name] for name in node.inputs[1:]]
        data = [p.astype(p.dtype.newbyteorder("<")) for p in parts]
        numbers = [*(self.blob.add(p.tobytes()) for p in (*data, *tables)), *factors]
        return self.blob.add(np.array(numbers, "<i4").tobytes())

    def attention(self, node):
        """Return the offset of the record of an attention; its gradients have the same one."""
        made = next(
            n for n in self.network.graph.nodes if n.attrs.get("layer") == node.attrs["layer"]
        )
        if self.is_float:
            numbers = [float_bits(made.attrs["factor"]), 0, 0, 0, 0, 0]
            return self.blob.add(np.array(numbers, "<i4").tobytes() + bytes(128))
        return self.blob.add(attention_rule(made, self.network.graph))

    def numbers(self, values):
        """Return the offset of 16-bit numbers."""
        return self.blob.add(np.asarray(values, "<u2").tobytes())

    def rule(self, node, a, b):
        """Return the offset of the record of an addition."""
        if self.is_float:
            return self.blob.add(bytes(20))
        return add_rule(self.network.graph, node, a, b, self.blob)
