# SPDX-License-Identifier: MIT
"""Where in a plan each node may be computed: the positions that the formulation decides on.

Stage t ends with the first computation of node t, in the given order of the nodes. Before it
the stage holds, in order, the nodes that may be computed once more there. Every plan whose
computations are a subsequence of the positions can be expressed; `rounds` repeats the nodes of a
stage for plans that need another order or a second recomputation within one stage.

Left out are positions that no optimal plan needs: of a node that nothing reads any more, and of
a node whose own recomputation costs at least one round trip to storage in energy and in time
(then the tensor is stored once and read back instead, which also needs less RAM).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Positions:
    """Node and stage of each position; first marks the one that must be computed."""

    node: tuple
    stage: tuple
    first: tuple


@dataclass(frozen=True)
class Space:
    """What a solve may use.

    paging, recompute: which means there are. window: recompute only within that many stages
    before a first computation that reads the tensor (None: anywhere). rounds: see above.
    clock: what the deadline counts. share: of the paging time that counts beside the computing
    when they overlap (0: none, which is a bound; 1: all, as one after the other).
    """

    paging: bool = True
    recompute: bool = True
    window: int | None = None
    rounds: int = 1
    clock: str = "serial"
    share: float = 0.0


def pageable(graph, budget, space, i):
    """Whether node i may be written to storage at all."""
    node = graph.nodes[i]
    fits = budget.aux_bytes is None or node.ram_bytes <= budget.aux_bytes
    return space.paging and node.pageable and fits


def _beaten_by_storage(graph, budget, space, i):
    node = graph.nodes[i]
    if not pageable(graph, budget, space, i) or budget.aux_bytes is not None:
        return False
    if budget.erase_budget is not None:
        return False
    energy = node.pagein_energy + node.pageout_energy
    time = node.pagein_time + node.pageout_time
    timely = budget.deadline is None or space.clock == "compute"
    timely = timely or (space.clock == "serial" and time <= node.compute_time)
    return timely and energy <= node.compute_energy


def last_use(graph, again):
    """Last stage in which each node can be read, when the nodes in `again` may be recomputed."""
    last = list(range(len(graph.nodes)))
    for c in range(len(graph.nodes) - 1, -1, -1):
        stage = max(c, last[c]) if c in again else c
        for dep in graph.nodes[c].deps:
            i = graph.index[dep]
            last[i] = max(last[i], stage)
    return last


def positions(graph, budget, space, keep=None):
    """Positions of a graph; keep(i, t) may leave out more of the recomputations."""
    count = len(graph.nodes)
    again = set()
    if space.recompute:
        again = {
            i
            for i, node in enumerate(graph.nodes)
            if node.recomputable and not _beaten_by_storage(graph, budget, space, i)
        }
    last = last_use(graph, again)
    reads = [sorted({graph.index[d] for d in node.deps}) for node in graph.nodes]
    uses = [[] for _ in range(count)]
    for c in range(count):
        for i in reads[c]:
            uses[i].append(c)
    node, stage, first = [], [], []
    for t in range(count):
        useful = [
            i
            for i in range(t)
            if i in again
            and last[i] >= t
            and _in_window(uses[i], t, space.window)
            and (keep is None or keep(i, t))
        ]
        for _ in range(space.rounds):
            node += useful
        node.append(t)
        added = space.rounds * len(useful)
        stage += [t] * (added + 1)
        first += [False] * added + [True]
    return Positions(tuple(node), tuple(stage), tuple(first))


def _in_window(uses, stage, window):
    return window is None or any(0 <= use - stage < window for use in uses)
