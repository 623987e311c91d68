# SPDX-License-Identifier: MIT
"""The planning graph of a training step that the compiler made, for one board's cost table.

A node costs what was measured for its shape; else what the compiler's cost model says, where the
table has the time of an instruction; else its FLOP at the speed of its operator.

One node per tensor of the arena and one of 0 bytes per update. Weights, optimizer state and
outputs always stay. Clamp masks are nodes of their own: the layer makes them as it first runs, so
their bytes count as its workspace too. They cost what that first run takes more than a second
one, which makes no mask. Gradients are neither recomputed nor
paged, and a layer is not run again once its weights have changed.
"""

import math
from dataclasses import dataclass

from ..compile.encode import place
from ..compile.shapes import node_instructions, node_shapes
from ..compile.storage import aligned, owner
from .costs import CostProfile, load
from .problem import Graph, Node

_HELD = ("activation", "mask", "gradient")
# Forward operators that give the same tensor when they run again.
_AGAIN = (
    "conv",
    "conv_add",
    "conv_depthwise",
    "dense",
    "add",
    "pool",
    "average_pool",
    "max_pool",
    "pad",
    "lookup",
)
_LAYERS = (*_AGAIN[:4], "input_gradient", "weight_update", "weight_gradient")


@dataclass(frozen=True)
class StepGraph:
    """graph: the planning problem. made_by: planning node id -> position in the step; a mask
    is made by its layer. made_first: ids that are a layer's own output, not a mask."""

    graph: Graph
    made_by: dict
    made_first: frozenset


def step_graph(step, network, profile, optimizer="plain"):
    """StepGraph of a Step of acclimate_host.compile.scheduled.plain_step."""
    profile = profile if isinstance(profile, CostProfile) else load(profile)
    placement = place(step, network, optimizer)
    made_by, first, nodes = {}, set(), []
    times = list(
        zip(*(node_times(placement, profile, again) for again in (False, True)), strict=True)
    )
    for position, node in enumerate(placement.graph.nodes):
        for made in _nodes(placement, position, node, profile, times[position]):
            nodes.append(made)
            made_by[made.id] = position
        first.add(nodes[-1].id if len(node.outputs) < 2 else _names(placement, position, node)[0])
    return StepGraph(Graph(tuple(nodes), resident_bytes(placement)), made_by, frozenset(first))


def node_times(placement, profile, again=False):
    """Seconds of each node of a Placement with a cost table, in order.

    :param again: as forward nodes run a second time, without masks
    """
    nodes = placement.graph.nodes
    shapes, counts = [""] * len(nodes), [None] * len(nodes)
    if (profile.shapes or profile.core) and not placement.is_float:
        shapes = node_shapes(placement, again)
    if profile.core and not placement.is_float:
        counts = node_instructions(placement, profile.core, again)
    return [
        profile.node_time(shape, count, _flop(placement, node), _operator(placement, node))
        for shape, count, node in zip(shapes, counts, nodes, strict=True)
    ]


def resident_bytes(placement):
    """Bytes of weights, state, targets and outputs."""
    sizes = {b.name: b.size_bytes for b in placement.buffers}
    always = ("weights", "state", placement.network.output)
    given = [t.name for t in placement.graph.tensors.values() if t.kind in ("state", "target")]
    return sum(sizes.get(name, 0) for name in (*always, *given))


def _names(placement, position, node):
    """Ids of the planning nodes of one step node; the one that the layer is run for first."""
    names = [n for n in node.outputs if placement.graph[n].kind in _HELD]
    return names or [f"{node.op} {(node.writes or (position,))[0]}"]


def _nodes(placement, position, node, profile, times):
    graph, output = placement.graph, placement.network.output
    reads = [n for n in node.reads if graph[n].kind in _HELD]
    # who reads a tensor that took over a buffer keeps the buffer's first owner in RAM too
    deps = tuple(dict.fromkeys([*reads, *(owner(n, placement.taken) for n in reads)]))
    name, *masks = _names(placement, position, node)
    own = name in graph.tensors and name != output and name not in placement.taken
    size = aligned(graph[name].size_bytes) if own else 0
    kind = graph[name].kind if name in graph.tensors else ""
    first, again = times if masks else times[:1] * 2
    beside = sum(aligned(graph[n].size_bytes) for n in masks)
    yield Node(
        name,
        deps,
        size,
        placement.work_bytes(position) + beside,
        profile.energy_of(again, _flop(placement, node)),
        again,
        recomputable=_may_run_again(placement, position, node, name),
        pageable=kind == "activation" and size > 0,
        **_transfers(profile, size),
    )
    more = max(0.0, first - again)
    for mask in masks:
        size, cost = aligned(graph[mask].size_bytes), (profile.energy_of(more, 0), more)
        transfers = _transfers(profile, size)
        yield Node(mask, (name,), size, 0, *cost, recomputable=False, pageable=True, **transfers)
        more = 0.0


def _transfers(profile, size):
    found = {}
    for direction in ("pagein", "pageout"):
        found[direction + "_energy"] = profile.transfer_energy(direction, size) if size else 0.0
        found[direction + "_time"] = profile.transfer_time(direction, size) if size else 0.0
    return found


def _flop(placement, node):
    graph = placement.graph
    if node.op in _LAYERS and "layer" in node.attrs and node.op != "add":
        steps = node.attrs.get("steps", (node.attrs,))
        layers = [
            placement.layers[attrs["layer"]]
            for attrs in steps
            if attrs["layer"] in placement.layers
        ]
        if layers:
            return float(sum(2 * _products(placement, layer) for layer in layers))
    return float(
        max(
            [graph[n].elements for n in (*node.inputs, *node.outputs) if graph[n].kind in _HELD]
            or [1]
        )
    )


def _operator(placement, node):
    """The operator of a cost table (costs.OPERATORS) that a node is, or an empty text."""
    if node.phase != "forward":
        return "backward"
    if not node.op.startswith("conv"):
        return node.op
    shape = placement.graph[node.inputs[1]].shape
    if node.attrs.get("groups", 1) > 1 and shape[1] == 1:
        return "depthwise"
    return "pointwise" if math.prod(shape[2:]) == 1 else "conv"


def _products(placement, layer):
    forward = placement.network.graph
    weight = forward[layer.node.inputs[1]]
    return forward[layer.node.outputs[0]].elements * math.prod(weight.shape[1:])


def _may_run_again(placement, position, node, name):
    graph = placement.graph
    if node.op not in _AGAIN or name == placement.network.output or node.phase != "forward":
        return False
    last = max([position, *(i for i, n in enumerate(graph.nodes) if name in n.reads)])
    written = {w for n in graph.nodes[: last + 1] for w in n.writes}
    return not written.intersection(node.reads)
