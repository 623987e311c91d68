# SPDX-License-Identifier: MIT
"""The graph of a network: tensors and nodes as frozen values, all shapes static.

A tensor's shape is (channels, height, width), a weight's (outputs, inputs, height, width).
Nodes stand in the order in which they run. `check` says whether that order is sound.
"""

from dataclasses import dataclass, field, replace
from math import prod

from ..errors import AcclimateError

BITS = {"bit": 1, "int8": 8, "int16": 16, "int32": 32, "float32": 32}
PHASES = ("forward", "loss", "backward", "update")
# input and label: the caller's buffers; frozen: flash; target: RAM up to the loss; trained and
# state (the windows of a stream): RAM from step to step.
KINDS = (
    "input",
    "label",
    "target",
    "frozen",
    "trained",
    "state",
    "activation",
    "mask",
    "gradient",
    "loss",
)
# Tensors of these kinds are made by no node.
_GIVEN = ("input", "label", "target", "frozen", "trained")
IN_ARENA = ("target", "trained", "state", "activation", "mask", "gradient", "loss")


class GraphError(AcclimateError):
    """A graph that cannot be meant; the text is one line."""


@dataclass(frozen=True)
class Tensor:
    """A value of static shape. `scale` is a number, or one per output channel."""

    name: str
    shape: tuple
    dtype: str = "int8"
    kind: str = "activation"
    scale: object = None
    zero_point: int = 0

    @property
    def elements(self):
        return prod(self.shape)

    @property
    def size_bytes(self):
        return (self.elements * BITS[self.dtype] + 7) // 8


@dataclass(frozen=True)
class Node:
    """One kernel call. `writes` are trained tensors that it changes in place.

    `attrs` are the operator's numbers; they must not be changed after the node is made.
    """

    op: str
    inputs: tuple
    outputs: tuple = ()
    phase: str = "forward"
    writes: tuple = ()
    attrs: dict = field(default_factory=dict)
    workspace_bytes: int = 0

    @property
    def reads(self):
        return self.inputs + tuple(name for name in self.writes if name not in self.inputs)


@dataclass(frozen=True)
class Graph:
    """Tensors by name and nodes in running order; `outputs` must survive the last node."""

    name: str
    tensors: dict
    nodes: tuple
    outputs: tuple = ()

    def __getitem__(self, name):
        return self.tensors[name]

    def producer(self):
        """Return {tensor: position of the node that makes it}."""
        return {name: i for i, node in enumerate(self.nodes) for name in node.outputs}

    def readers(self):
        """Return {tensor: positions of the nodes that read it, rising}."""
        found = {name: [] for name in self.tensors}
        for i, node in enumerate(self.nodes):
            for name in dict.fromkeys(node.reads):
                found[name].append(i)
        return found

    def with_nodes(self, nodes, tensors=()):
        """Return a graph of these nodes; `tensors` are added, unused ones dropped."""
        known = dict(self.tensors)
        known.update((tensor.name, tensor) for tensor in tensors)
        nodes = tuple(nodes)
        used = {name for node in nodes for name in node.reads + node.outputs}
        used.update(self.outputs)
        return replace(self, nodes=nodes, tensors={k: v for k, v in known.items() if k in used})


@dataclass(frozen=True)
class Geometry:
    """Edges (height, width) of a kernel and its stride, and rows and columns added around."""

    kernel: tuple
    stride: tuple
    pad: tuple  # top, left, bottom, right

    def output(self, edges):
        """Return the (height, width) of the output for an input of these edges."""
        return tuple(
            (edges[i] + self.pad[i] + self.pad[i + 2] - self.kernel[i]) // self.stride[i] + 1
            for i in (0, 1)
        )


def geometry(attrs):
    """Return the Geometry of a convolution or pool; in `attrs` one number stands for all."""

    def spread(value, count):
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count

    return Geometry(
        spread(attrs["kernel"], 2), spread(attrs["stride"], 2), spread(attrs["pad"], 4)
    )


def plain(value):
    """Return `value` as one number where all its numbers are the same."""
    if isinstance(value, (tuple, list)):
        return value[0] if len(set(value)) == 1 else tuple(value)
    return value


def check(graph):
    """Raise GraphError unless each tensor is made once, before it is read, and kept until then.

    A trained tensor must not be read after it was written: a gradient through a layer is
    formed with the weights of the forward pass.
    """
    made, written = set(), set()
    for i, node in enumerate(graph.nodes):
        where = f"{graph.name}: node {i} ({node.op})"
        if node.phase not in PHASES:
            raise GraphError(f"{where}: phase {node.phase!r}; one of {', '.join(PHASES)}")
        for name in node.reads:
            _check_read(graph, name, made, written, where)
        for name in node.outputs:
            if name in made:
                raise GraphError(f"{where}: {name} is made twice; give it another name")
            if name not in graph.tensors:
                raise GraphError(f"{where}: {name} has no tensor; add one with its shape")
        for name in node.writes:
            if graph[name].kind != "trained":
                raise GraphError(f"{where}: writes {name}, which is {graph[name].kind}")
        made.update(node.outputs)
        written.update(node.writes)
    for name in graph.outputs:
        if name not in made:
            raise GraphError(f"{graph.name}: output {name} is made by no node")
    for tensor in graph.tensors.values():
        if tensor.dtype not in BITS or tensor.kind not in KINDS or tensor.elements < 1:
            raise GraphError(f"{tensor.name}: {tensor.dtype} {tensor.kind} {tensor.shape} is none")


def _check_read(graph, name, made, written, where):
    if name not in graph.tensors:
        raise GraphError(f"{where}: reads {name}, which has no tensor")
    if graph[name].kind not in _GIVEN and name not in made:
        raise GraphError(f"{where}: reads {name} before it is made; move its producer up")
    if name in written:
        raise GraphError(f"{where}: reads {name} after its update; form the gradient first")
