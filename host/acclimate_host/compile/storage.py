# SPDX-License-Identifier: MIT
"""Which tensors share a buffer, and from which node to which each buffer lives."""

from dataclasses import dataclass, replace

from ..model.graph import IN_ARENA, geometry
from .fuse import is_depthwise

ALIGN_BYTES = 4


@dataclass(frozen=True)
class Buffer:
    """Bytes that live from node `first` to node `last`, both included."""

    name: str
    size_bytes: int
    first: int
    last: int


def share_in_place(graph, kinds=("activation", "gradient"), apart=()):
    """Return (graph, {tensor: tensor whose buffer it takes over}).

    :param kinds: of tensors that may be written over
    :param apart: names of depthwise layers that do not write over their input

    A node may write over an input that nobody needs afterwards. A depthwise node then goes
    channel by channel through a workspace of one channel.
    """
    readers, taken, nodes = graph.readers(), {}, []
    for i, node in enumerate(graph.nodes):
        if node.op == "conv" and node.attrs["layer"] in apart:
            nodes.append(node)
            continue
        for position in _candidates(graph, node):
            source = node.inputs[position]
            if graph[node.inputs[position]].kind not in kinds:
                continue
            if not _may_take(graph, node, i, position, readers):
                continue
            taken[node.outputs[0]] = source
            if node.op in ("conv", "input_gradient"):
                _, height, width = graph[node.outputs[0]].shape
                node = replace(node, workspace_bytes=height * width)
            break
        nodes.append(node)
    return graph.with_nodes(nodes), taken


def _candidates(graph, node):
    """Return the positions of inputs that the kernel of this node may write over."""
    if node.op == "clamp_gradient":
        return (0,)
    if node.op in ("add", "sum_gradients"):
        return (0, 1)
    if node.op in ("multiply", "table_gradient", "product_gradient"):
        return (0,)
    if node.op == "max_pool_gradient":
        return (1,)  # channel by channel
    if node.op == "conv_add":
        return (len(node.inputs) - 1,)
    if node.op == "conv" and is_depthwise(graph, node):
        return (0,) if _runs_in_place(graph, node) else ()
    if node.op == "input_gradient" and node.attrs.get("groups", 1) > 1:
        # Four channels at a time, row by row: depthwise only.
        g, gx = (graph[name].shape[0] for name in (node.inputs[0], node.outputs[0]))
        # A row of g is read before the row of gx that lies over it is written.
        return (0,) if node.attrs["groups"] == g == gx and _has_no_stride(node) else ()
    return ()


def _has_no_stride(node):
    return max(geometry(node.attrs).stride) == 1


def _runs_in_place(graph, node):
    """Tell whether a depthwise kernel reads each row before it writes there."""
    x, y = (graph[name].shape for name in (node.inputs[0], node.outputs[0]))
    shape = geometry(node.attrs)
    return y[1] <= x[1] and y[2] <= x[2] and shape.pad[0] < shape.kernel[0]


def _may_take(graph, node, position, which, readers):
    name = node.inputs[which]
    source, target = graph[name], graph[node.outputs[0]]
    return (
        readers[name][-1] == position
        and node.inputs.count(name) == 1
        and name not in graph.outputs
        and target.size_bytes <= source.size_bytes
        and target.dtype == source.dtype
    )


def buffers(graph, taken, with_input=False):
    """Return the buffers of a graph; trained tensors and windows live all the time.

    :param taken: from `share_in_place`; empty: each tensor has a buffer of its own
    :param with_input: whether the caller's input lies in the arena too
    """
    end = len(graph.nodes) - 1
    producer, readers = graph.producer(), graph.readers()
    found = {}
    for name, tensor in graph.tensors.items():
        if tensor.kind not in IN_ARENA and not (with_input and tensor.kind == "input"):
            continue
        if tensor.kind in ("trained", "state"):
            first, last = 0, end
        else:
            first = producer.get(name, 0)
            last = end if name in graph.outputs else max([first, *readers[name]])
        root = owner(name, taken)
        old = found.get(root)
        if old is None:
            found[root] = Buffer(root, aligned(tensor.size_bytes), first, last)
        else:
            size = max(old.size_bytes, aligned(tensor.size_bytes))
            found[root] = Buffer(root, size, min(first, old.first), max(last, old.last))
    for i, node in enumerate(graph.nodes):
        if node.workspace_bytes:
            name = f"workspace {i}"
            found[name] = Buffer(name, aligned(node.workspace_bytes), i, i)
    return list(found.values())


def owner(name, taken):
    """Return the tensor whose buffer `name` lies in."""
    while name in taken:
        name = taken[name]
    return name


def aligned(size_bytes):
    """Bytes that a tensor takes in the arena."""
    return -(-size_bytes // ALIGN_BYTES) * ALIGN_BYTES
