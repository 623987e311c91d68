# SPDX-License-Identifier: MIT
"""What the chain method needs to know of each block: times, and bytes while it runs."""

from dataclasses import dataclass

from bench.papers.poet.chain import cuts, forward_count
from bench.papers.poet.tape import Stuck


@dataclass(frozen=True)
class Block:
    """The nodes from one cut (exclusive) to the next (inclusive) and the gradients behind them.

    kept: nodes between the cuts that those gradients read. Bytes: start_bytes (the first cut),
    inner_bytes (of what is kept), advance_bytes (most
    while it runs and keeps nothing but its ends), forward_bytes (while all is kept),
    backward_bytes (most during its gradients, all of it in RAM), gradient_bytes (what lives
    before its gradients). Times in s; transfers as (out, in).
    """

    nodes: tuple
    gradients: tuple
    kept: tuple
    start: int
    start_bytes: int
    inner_bytes: int
    advance_bytes: int
    forward_bytes: int
    backward_bytes: int
    gradient_bytes: int
    forward_time: float
    backward_time: float
    start_transfer: tuple
    inner_transfer: float


def blocks(graph):
    """Blocks of a graph in forward order; raises Stuck where the graph is no chain of blocks."""
    points, count = cuts(graph), forward_count(graph)
    if len(points) < 2:
        raise Stuck("the forward pass is no chain of blocks")
    deps = [{graph.index[d] for d in node.deps} for node in graph.nodes]
    found, waiting = [], list(range(count, len(graph.nodes)))
    for start, stop in zip(points[-2::-1], points[:0:-1], strict=True):
        mine = []
        while waiting and (
            start == points[0] or all(u >= start for u in deps[waiting[0]] if u < count)
        ):
            mine.append(waiting.pop(0))
        found.append(_block(graph, deps, start, stop, mine, count))
    return found[::-1]


def _block(graph, deps, start, stop, gradients, count):
    nodes = graph.nodes
    inside = tuple(range(start + 1, stop + 1))
    read = set().union(*(deps[g] for g in gradients)) if gradients else set()
    kept = tuple(v for v in inside[:-1] if v in read)
    waits = {u for g in gradients for u in deps[g] if u >= count and u not in gradients}
    waiting = _size(nodes, waits)
    forward = _forward_peak(nodes, deps, start, inside, {start, *kept})
    held = {start, *kept, stop, *waits}
    return Block(
        inside,
        tuple(gradients),
        kept,
        start,
        nodes[start].ram_bytes,
        _size(nodes, kept),
        _forward_peak(nodes, deps, start, inside, {start}),
        forward,
        max(_backward_peak(nodes, deps, gradients, held, count), forward + waiting),
        waiting,
        sum(nodes[v].compute_time for v in inside),
        sum(nodes[g].compute_time for g in gradients),
        (nodes[start].pageout_time, nodes[start].pagein_time),
        sum(nodes[v].pageout_time + nodes[v].pagein_time for v in kept),
    )


def _size(nodes, which):
    return sum(nodes[v].ram_bytes for v in which)


def _forward_peak(nodes, deps, start, inside, keep):
    """Most bytes while a block runs, when each tensor goes after its last reader but for keep."""
    here, peak = {start}, 0
    for v in inside:
        here.add(v)
        peak = max(peak, _size(nodes, here) + nodes[v].workspace_bytes)
        here -= {
            u for u in here - keep - {inside[-1]} if not any(u in deps[w] for w in inside if w > v)
        }
    return peak


def _backward_peak(nodes, deps, gradients, here, count):
    """Most bytes while a block's gradients run; forward tensors stay, gradients go when used."""
    here, peak = set(here), _size(nodes, here)
    for g in gradients:
        here.add(g)
        peak = max(peak, _size(nodes, here) + nodes[g].workspace_bytes)
        here -= {
            u
            for u in here
            if u >= count and not any(u in deps[h] for h in range(g + 1, len(nodes)))
        }
    return peak
