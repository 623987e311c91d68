# SPDX-License-Identifier: MIT
"""Where everything of a step lies: tensors, work areas, trained values and state, in one arena."""

from dataclasses import replace
from functools import cached_property

from ..model.clamps import clamp_name, clamped_nodes, inside_name, one_weight_layer
from ..model.graph import GraphError
from .arena import lay_out, live_bytes
from .blob import LayerShape, forward_work, gradient_work, matrix_bytes, weight_work
from .patches import convs_of, front_workspace
from .program_format import STATE
from .storage import Buffer, aligned, buffers, owner

OPTIMIZER_BYTES = {"PLAIN": 0, "MOMENTUM16": 2, "MOMENTUM8": 1, "ACCUMULATE": 2, "WIDE": 1}
POOL_GRADIENTS = ("pool_gradient", "average_pool_gradient", "max_pool_gradient", "pad_gradient")


class Placement:
    """Offsets and work areas of a step's program.

    `layers` are the LayerShapes by name, `parts` (name, offset, bytes) of what training changes.
    goal: bytes of an arena that is looked for longer, see `arena.lay_out`.
    """

    def __init__(self, step, network, optimizer, goal=None):
        self.network, self.optimizer, self._goal = network, optimizer, goal
        self.is_float = not network.quantized
        if self.is_float and optimizer == "WIDE":
            raise GraphError("optimizer wide: float32 weights have all their bits; take plain")
        self.element_bytes = 4 if self.is_float else 1
        self.graph = _as_float(step.graph) if self.is_float else step.graph
        self.taken, self._with_input = step.taken, step.input_in_arena
        losses = [node for node in self.graph.nodes if node.phase == "loss"]
        self.decay = losses[0].attrs.get("decay", 0.0) if losses else 0.0
        self.layers = {
            node.attrs["layer"]: LayerShape(network.graph, node)
            for node in network.graph.nodes
            if node.op in ("conv", "dense")
        }
        self.clamps = dict(self._clamp_layers())
        self.layers.update(self.clamps)
        self._works = {i: dict(self._work_areas(n)) for i, n in enumerate(self.graph.nodes)}
        self.parts = self._trained_parts()
        self._kept = self._kept_parts()
        self.buffers = list(self._buffers())

    def _clamp_layers(self):
        """Yield (name, LayerShape) of the layers that stand in for other nodes' ReLU."""
        marked = {n.attrs["layer"] for n in self.graph.nodes if n.op == "clamp_mask"}
        for node in clamped_nodes(self.network.graph):
            name = node.attrs["layer"]
            wanted = [n for n in (inside_name(name),) if n in marked]
            for found in wanted + [clamp_name(name)] * self.is_float:
                yield found, LayerShape(*one_weight_layer(self.network.graph, node, found))

    @cached_property
    def layout(self):
        """The Layout of all buffers, made when it is first asked for."""
        return lay_out(self.buffers, goal=self._goal)

    def live_bytes(self):
        """Return the bytes that live at each node."""
        return live_bytes(self.buffers, len(self.graph.nodes))

    def at(self, name, position=None):
        """Return the arena offset of a tensor at the node of this position."""
        if self.graph[name].kind == "trained":
            return self.layout.offsets["weights"] + self.part(name)[1]
        return self.layout.offsets[owner(name, self.taken)]

    def has(self, name, position=None):
        """Say whether a tensor lies in the arena."""
        return owner(name, self.taken) in self.layout.offsets

    def part(self, name):
        """Return (name, offset in what training changes, bytes) of a trained tensor."""
        return _named(self.parts, name)

    def work(self, position, name):
        """Return (offset, bytes) of a work area, or None."""
        size = self._works[position].get(name)
        return (self.layout.offsets[f"{name} {position}"], size) if size else None

    def work_size(self, position, name):
        """Return the bytes of a work area, 0 for none."""
        return self._works[position].get(name, 0)

    def work_bytes(self, position):
        """Return the bytes of all work areas of one node."""
        return sum(aligned(size) for size in self._works[position].values())

    @property
    def weights_bytes(self):
        """Bytes of all that training changes."""
        return _end(self.parts)

    @property
    def kept_bytes(self):
        """Bytes of the state and the optimizer's."""
        return _end(self._kept)

    def optimizer_state(self, name):
        """Return the operand for a trained tensor's state: 0 for none, else offset + 1."""
        part = _named(self._kept, name)
        return 0 if part is None else self.state_at + part[1] + 1

    @property
    def state_at(self):
        """Arena offset of the state: behind what training changes, so that both are saved."""
        if self.parts:
            return self.layout.offsets["weights"] + self.weights_bytes
        return self.layout.offsets["state"]

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
        layer = self.layers[tensor.name.rpartition(".")[0]]
        return matrix_bytes(tensor.shape, layer.groups, layer.depthwise, self.is_float)

    def _buffers(self):
        found, end = [], max(0, len(self.graph.nodes) - 1)
        for buffer in buffers(self.graph, self.taken, self._with_input):
            tensor = self.graph.tensors.get(buffer.name)
            if tensor is not None and tensor.kind not in ("trained", "loss"):
                found.append(buffer)
        for i, areas in self._works.items():
            found += [Buffer(f"{name} {i}", aligned(size), i, i) for name, size in areas.items()]
        name = "weights" if self.parts else "state"
        found.append(Buffer(name, _end(self.parts) + _end(self._kept), 0, end))
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
            room = front_workspace(forward, attrs["steps"], attrs["grid"], in_full=True)
            yield "plane", aligned(size * room) + 8
        elif node.op in ("conv", "conv_depthwise") and node.workspace_bytes:
            yield "plane", size * node.workspace_bytes * node.attrs.get("planes", 1)
        elif node.op == "clamp_mask":
            yield "plane", size * self.graph[node.inputs[0]].elements
        if node.op == "softmax_loss":
            yield "work", 4 * self.graph[node.inputs[0]].elements
        elif node.op in ("attention", "attention_gradient"):
            yield "work", 4 * self._attention_numbers(node)
        layer = self.layers.get(node.attrs.get("layer"))
        if node.op == "input_gradient":
            is_plane = self.is_float and layer.depthwise
            yield "work", self._channel_work(node) if is_plane else gradient_work(layer)
        elif node.op in POOL_GRADIENTS:
            yield "work", self._channel_work(node)
        elif node.op == "weight_update":
            count = node.attrs.get("split", layer.cin // layer.groups)
            yield "work", 4 * count if self.is_float else weight_work(layer, count)
        elif node.phase == "forward" and not self.is_float:
            steps = node.attrs["steps"] if node.op == "patches" else (node,)
            found = [attrs.get("layer") for step in steps for attrs in convs_of(step)]
            works = [forward_work(self.layers[n]) for n in found if n in self.layers]
            if works:
                yield "work", max(works)

    def _attention_numbers(self, node):
        """Numbers of work: net_attention_work, or of a prediction one row."""
        q, k, _ = (self.graph[name] for name in node.inputs[-3:])
        columns = k.shape[1] * k.shape[2]
        if node.op == "attention":
            return columns
        stats = 3 * q.shape[1] * q.shape[2] * node.attrs["heads"]
        return 2 * columns + stats + self.graph[node.outputs[0]].shape[0]

    def _channel_work(self, node):
        """Sums of one channel of the input."""
        _, height, width = self.graph[node.outputs[0]].shape
        return 4 * height * width


def _named(parts, name):
    return next((part for part in parts if part[0] == name), None)


def _end(parts):
    """Return where the next part begins."""
    return aligned(parts[-1][1] + parts[-1][2]) if parts else 0


def _as_float(graph):
    """Return the graph with float32 wherever the board computes."""
    tensors = {
        name: replace(t, dtype="float32")
        if t.dtype in ("int8", "int16", "int32") and t.kind != "label"
        else t
        for name, t in graph.tensors.items()
    }
    return replace(graph, tensors=tensors)
