# SPDX-License-Identifier: MIT
"""From a training or inference step and a network's values to a program and its weights.

program = encode(training_step(network.graph, scheme), network)
program.code, program.weights        # bytes; sections of a capsule: program and weights
"""

import math
import struct
import zlib
from dataclasses import dataclass, replace

import numpy as np

from ..model.graph import GraphError
from .arena import Layout, lay_out
from .blob import (
    Blob,
    LayerShape,
    add_rule,
    check_sums,
    exponentials,
    forward_work,
    gradient_work,
    layer_values,
    matrix,
    matrix_bytes,
    pack_record,
    training_values,
    weight_work,
)
from .emit import PLANES, Emitter, number
from .patches import convs_of, front_workspace
from .program_format import FORMAT, HEADER, LAYER, OPTIMIZERS, STATE
from .storage import Buffer, buffers, owner

OPTIMIZER_BYTES = {"PLAIN": 0, "MOMENTUM16": 2, "MOMENTUM8": 1, "ACCUMULATE": 2, "WIDE": 1}
POOL_GRADIENTS = ("pool_gradient", "average_pool_gradient", "max_pool_gradient", "pad_gradient")
CODE_LIMIT = 65535


@dataclass(frozen=True)
class Program:
    """What a board needs: `code` (header and constants included) and `weights`, which training
    changes: sections of a capsule.

    `parts`: (name, offset in the weights, bytes) of each trained tensor.
    """

    code: bytes
    weights: bytes
    arena_bytes: int
    layout: Layout
    parts: tuple

    def field(self, name):
        """Return a number of the header."""
        at = HEADER.offset(name)
        size = next(field.bytes for field in HEADER.fields if field.name == name)
        return int.from_bytes(self.code[at : at + size], "little")

    @property
    def code_bytes(self):
        """Bytes of the program without its constants."""
        return self.field("constants")


def encode(step, network, optimizer="plain", planes=PLANES):
    """Return the Program of a Step (acclimate_host.compile.step) with a network's values.

    :param optimizer: plain, momentum16, momentum8, accumulate or wide (16-bit weights)
    :param planes: channels, a multiple of 4, that a convolution hands at once to the depthwise
        layer fused with it; 16 take MobileNetV2-w0.35 to 0.62 of the instructions of 4 on a
        Cortex-M4, for 12 KB more of arena (bench net)
    :raises GraphError: when the network cannot run in integers, or has no instruction for it
    """
    if optimizer.upper() not in OPTIMIZERS:
        names = ", ".join(name.lower() for name in OPTIMIZERS)
        raise GraphError(f"optimizer: expected one of {names}, got {optimizer!r}")
    plan = _plan_of(step)(step, network, optimizer.upper(), planes)
    emitter = Emitter(plan)
    forward = None
    for i, node in enumerate(plan.graph.nodes):
        if node.phase != "forward" and forward is None:
            forward = len(emitter.code)
        plan.position = i
        emitter.node(i, node)
    forward = len(emitter.code) if forward is None else forward
    if len(emitter.code) > CODE_LIMIT:
        raise GraphError(f"the code has {len(emitter.code)} bytes; a program has {CODE_LIMIT}")
    table = b"".join(number(v) for row in plan.windows for v in row)
    body = bytes(emitter.code) + table
    values = plan.header(forward, len(emitter.code) - forward, len(body), emitter.slots)
    body += bytes(-(HEADER.bytes + len(body)) % 4) + bytes(plan.blob.data)
    head = pack_record(HEADER, {**values, "crc": 0})
    crc = zlib.crc32(body, zlib.crc32(head[: HEADER.offset("crc")]))
    head = pack_record(HEADER, {**values, "crc": crc})
    return Program(
        head + body,
        bytes(plan.trained_bytes),
        plan.layout.size_bytes,
        plan.layout,
        tuple(plan.parts),
    )


def _plan_of(step):
    """Return the kind of Plan that a step needs."""
    if not hasattr(step, "stays"):
        return Plan
    from .planned import PlannedPlan

    return PlannedPlan


class Plan:
    """Offsets, work areas, records and constants of a program that is being made."""

    def __init__(self, step, network, optimizer, planes=PLANES):
        self.network, self.optimizer, self.planes = network, optimizer, planes
        self.is_float = not network.quantized
        if self.is_float and optimizer == "WIDE":
            raise GraphError("optimizer wide: float32 weights have all their bits; take plain")
        self.element_bytes = 4 if self.is_float else 1
        self.graph = _as_float(step.graph) if self.is_float else step.graph
        self.taken, self.blob = step.taken, Blob()
        self.blob.add(bytes(4))  # offset 0 means none
        self.layers = {
            node.attrs["layer"]: LayerShape(network.graph, node)
            for node in network.graph.nodes
            if node.op in ("conv", "dense")
        }
        self._works = {i: dict(self._work_areas(n)) for i, n in enumerate(self.graph.nodes)}
        self.parts = self._trained_parts()
        self._kept = self._kept_parts()
        self.buffers = list(self._buffers())
        self.layout = lay_out(self.buffers)
        self.trained_bytes = bytearray(_end(self.parts))
        self.windows, self.records, self.tables = [], {}, {}
        for layer in self.layers.values():
            if any(name in self.graph.tensors for name in self._parameter_names(layer)):
                self.records[layer.name] = self._record(layer)
        self._other_values()

    # ---- arena -----------------------------------------------------------------------------

    def at(self, name):
        """Return the arena offset of a tensor."""
        if self.graph[name].kind == "trained":
            return self.layout.offsets["weights"] + self._part(self.parts, name)[1]
        return self.layout.offsets[owner(name, self.taken)]

    @staticmethod
    def _part(parts, name):
        return next((part for part in parts if part[0] == name), None)

    def has(self, name):
        return owner(name, self.taken) in self.layout.offsets

    def work(self, position, name):
        """Return (offset, bytes) of a work area, or None."""
        size = self._works[position].get(name)
        return (self.layout.offsets[f"{name} {position}"], size) if size else None

    def work_bytes(self, position):
        """Return the bytes of all work areas of one node."""
        return sum(_up(size) for size in self._works[position].values())

    def optimizer_state(self, name):
        """Return the operand for a trained tensor's state: 0 for none, else offset + 1."""
        part = self._part(self._kept, name)
        return 0 if part is None else self.layout.offsets["state"] + part[1] + 1

    def _trained_parts(self):
        """Return (name, offset, bytes) of the trained tensors, one behind the other."""
        parts = []
        for tensor in self.graph.tensors.values():
            if tensor.kind == "trained":
                size = 4 * tensor.elements
                if not tensor.name.endswith(".b"):
                    size = self._stored_bytes(tensor)
                parts.append((tensor.name, _end(parts), size))
        return parts

    def _kept_parts(self):
        """Return the same of the state and the optimizer's, the state first."""
        gradients = sum(t.kind == "gradient" for t in self.graph.tensors.values())
        parts = [("", 0, STATE.bytes + 2 * gradients)]
        for name, _, _ in self.parts:
            size = self._state_bytes(self.graph[name])
            if size:
                parts.append((name, _end(parts), size))
        return parts

    def _stored_bytes(self, tensor):
        """Bytes of a trained weight as it lies in memory: rows are filled."""
        layer, shape = self.layers[tensor.name.rpartition(".")[0]], tensor.shape
        if layer.node.op == "dense":
            shape = (shape[0], math.prod(shape[1:]), 1, 1)
        return matrix_bytes(shape, layer.groups, layer.depthwise, self.is_float)

    def _buffers(self):
        found, end = [], max(0, len(self.graph.nodes) - 1)
        for buffer in buffers(self.graph, self.taken):
            tensor = self.graph.tensors.get(buffer.name)
            if tensor is not None and tensor.kind not in ("trained", "loss"):
                found.append(buffer)
        for i, areas in self._works.items():
            found += [Buffer(f"{name} {i}", _up(size), i, i) for name, size in areas.items()]
        found.append(Buffer("state", _end(self._kept), 0, end))
        if self.parts:
            found.append(Buffer("weights", _end(self.parts), 0, end))
        return found

    def _state_bytes(self, tensor):
        if tensor.name.endswith(".b"):
            return 0 if self.optimizer in ("PLAIN", "WIDE") else 4 * tensor.elements
        size = 4 if self.is_float else OPTIMIZER_BYTES[self.optimizer]
        return 0 if self.optimizer == "PLAIN" else size * tensor.elements

    def _work_areas(self, node):
        """Yield (name, bytes) of what one node needs for itself alone."""
        size = self.element_bytes
        if node.op == "patches":
            forward, attrs = self.network.graph, node.attrs
            room = front_workspace(forward, attrs["steps"], attrs["grid"], self.planes)
            yield "plane", _up(size * room) + 8
        elif node.op == "conv_depthwise":
            yield "plane", size * node.workspace_bytes * self.planes
        elif node.op == "conv" and node.workspace_bytes:
            yield "plane", size * node.workspace_bytes
        if node.op == "softmax_loss":
            yield "work", 4 * self.graph[node.inputs[0]].elements
        layer = self.layers.get(node.attrs.get("layer"))
        if node.op == "input_gradient":
            yield (
                "work",
                self._plane_work(node) if self._by_planes(layer) else gradient_work(layer),
            )
        elif node.op in POOL_GRADIENTS:
            yield "work", self._plane_work(node)
        elif node.op == "weight_update":
            count = node.attrs.get("split", layer.cin // layer.groups)
            yield "work", 4 * count if self.is_float else weight_work(layer, count)
        elif node.phase == "forward" and not self.is_float:
            steps = node.attrs["steps"] if node.op == "patches" else (node,)
            found = [attrs.get("layer") for step in steps for attrs in convs_of(step)]
            works = [forward_work(self.layers[n]) for n in found if n in self.layers]
            if works:
                yield "work", max(works)

    def _by_planes(self, layer):
        """Tell whether the gradient of the input is formed one channel at a time."""
        return self.is_float and layer.depthwise

    def _plane_work(self, node):
        """Sums of one channel of the input."""
        _, height, width = self.graph[node.outputs[0]].shape
        return 4 * height * width

    # ---- weights ---------------------------------------------------------------------------

    @staticmethod
    def _parameter_names(layer):
        return (layer.name + ".w", layer.name + ".wt", layer.name + ".b")

    def _record(self, layer):
        """Add a layer's parameters and return the offset of its record."""
        values = layer_values(self.network.graph, layer, self.blob, self.is_float)
        bias = self.network.values[layer.name + ".b"]
        if not self.is_float:
            check_sums(layer, bias)
            if any(n.phase == "update" for n in self.graph.nodes):
                values.update(training_values(layer, self.blob))
        values.update(self._weights(layer))
        name = layer.name + ".b"
        data = bias.astype("<f4" if self.is_float else "<i4").tobytes()
        if self.graph[name].kind == "trained":
            values["bias"] = 2 * self._train(name, data) + 1
        else:
            values["bias"] = 2 * self.blob.add(data)
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
        _, at, size = self._part(self.parts, name)
        if len(data) != size:
            raise GraphError(f"{name}: {len(data)} bytes, of which the arena holds {size}")
        self.trained_bytes[at : at + size] = data
        return self.at(name)

    def _other_values(self):
        """Add tables, and the first content of windows."""
        for node in self.graph.nodes:
            if node.op == "lookup":
                value = self.network.values[node.inputs[1]]
                self.tables[node.inputs[1]] = self.blob.add(value.astype(np.int8).tobytes())
            elif node.op == "window":
                name = node.outputs[0]
                value = np.broadcast_to(self.network.values[name], self.graph[name].shape)
                kind = "<f4" if self.is_float else "i1"
                data = np.ascontiguousarray(value.transpose(1, 2, 0)).astype(kind).tobytes()
                self.windows.append((self.at(name), self.blob.add(data), len(data)))

    def rule(self, node, a, b):
        """Return the offset of the record of an addition."""
        if self.is_float:
            return self.blob.add(bytes(20))
        return add_rule(self.network.graph, node, a, b, self.blob)

    # ---- header ----------------------------------------------------------------------------

    def _needs_more(self):
        """Say whether training needs what the smallest modules leave out."""
        layers = [
            self.layers[n.attrs["layer"]] for n in self.graph.nodes if n.op == "weight_update"
        ]
        return self.optimizer != "PLAIN" or any(
            math.prod(layer.window[:2]) * math.prod(layer.kernel) > 1 for layer in layers
        )

    def header(self, forward, training, body_bytes, slots):
        graph, offsets = self.network.graph, self.layout.offsets
        x, y = graph[self.network.input], graph[self.network.output]
        table = 0 if self.is_float else self.blob.add(exponentials(y.scale))
        values = {
            "magic": int.from_bytes(b"ANET", "little"),
            "format": FORMAT,
            "dtype": int(self.is_float),
            "optimizer": OPTIMIZERS[self.optimizer],
            "input_zero": x.zero_point & 255,
            "arena_bytes": self.layout.size_bytes,
            "constants": _up(HEADER.bytes + body_bytes),
            "constants_bytes": len(self.blob.data),
            "weights": offsets.get("weights", 0),
            "weights_bytes": len(self.trained_bytes),
            "input_bytes": x.elements * self.element_bytes,
            "output": self.at(y.name),
            "outputs": y.elements,
            "slots": len(slots),
            "state": offsets["state"],
            "kept_bytes": _end(self._kept),
            "table": table,
            "forward": forward,
            "training": training,
            "windows": len(self.windows),
            "output_zero": y.zero_point & 255,
            "needs": int(self._needs_more()),
        }
        values["input_scale"] = _float_bits(1.0 if self.is_float else x.scale)
        values["output_scale"] = _float_bits(1.0 if self.is_float else y.scale)
        return values


def _end(parts):
    """Return where the next part begins."""
    return _up(parts[-1][1] + parts[-1][2]) if parts else 0


def _as_float(graph):
    """Return the graph with float32 wherever the board computes."""
    tensors = {
        name: replace(t, dtype="float32")
        if t.dtype in ("int8", "int32") and t.kind != "label"
        else t
        for name, t in graph.tensors.items()
    }
    return replace(graph, tensors=tensors)


def _float_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def _up(size):
    return -(-size // 4) * 4
