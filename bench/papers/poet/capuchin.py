# SPDX-License-Identifier: MIT
"""Peng et al. (ASPLOS 2020), Capuchin: swap what hides behind computation, recompute the rest.

The access times of one unhindered step are known. A forward tensor that lives through the peak
without being read there is a candidate; its free time is the gap between its last read before
the peak and its first after it, less the transfers. Tensors whose transfers hide come first,
the longest free time first; then swap or recomputation, whichever takes less time. As long as
the step still does not fit, more is evicted. Energy plays no part.
"""

from dataclasses import dataclass

from acclimate_host.poet.evaluate import evaluate
from bench.papers.poet.tape import Stuck, Tape


@dataclass(frozen=True)
class _Candidate:
    node: int
    size: int
    free_time: float
    last_before: int


def capuchin(graph, budget, clock="serial"):
    """Plan whose evictions are chosen by their time."""
    needed = 0
    while True:
        choice, most = _choose(graph, needed)
        plan = _emit(graph, choice)
        verdict = evaluate(graph, budget, plan, clock)
        peak = verdict.peak_ram
        if clock == "overlapped":
            peak = max(peak, verdict.overlapped_peak_ram)
        if peak <= budget.ram_bytes:
            return plan
        if needed >= most:
            raise Stuck(verdict.fault)
        needed += peak - budget.ram_bytes


def _profile(graph):
    """(first start, end) of each node in time, bytes that live at each node, and last reads."""
    readers = [[] for _ in graph.nodes]
    for v, node in enumerate(graph.nodes):
        for dep in set(node.deps):
            readers[graph.index[dep]].append(v)
    start, now = [], 0.0
    for node in graph.nodes:
        start.append(now)
        now += node.compute_time
    live = []
    for v, node in enumerate(graph.nodes):
        held = sum(
            n.ram_bytes
            for u, n in enumerate(graph.nodes[:v])
            if readers[u] and readers[u][-1] >= v
        )
        live.append(held + node.ram_bytes + node.workspace_bytes)
    return readers, [*start, now], live


def _candidates(graph):
    readers, start, live = _profile(graph)
    peak = max(range(len(live)), key=live.__getitem__)
    found = []
    for u, node in enumerate(graph.nodes[:peak]):
        after = [v for v in readers[u] if v > peak]
        if not after or peak in readers[u] or not node.ram_bytes:
            continue
        before = max([u, *(v for v in readers[u] if v < peak)])
        gap = start[after[0]] - start[before + 1]
        free = gap - node.pageout_time - node.pagein_time
        found.append(_Candidate(u, node.ram_bytes, free, before))
    return sorted(found, key=lambda c: (-c.free_time, c.node))


def _choose(graph, needed):
    """({node: ("swap" or "recompute", after which node)}, bytes of all candidates)."""
    candidates = _candidates(graph)
    chosen, saved = {}, 0
    late = []
    for one in candidates:
        if saved >= needed:
            break
        if one.free_time >= 0 and graph.nodes[one.node].pageable:
            chosen[one.node] = ("swap", one.last_before)
            saved += one.size
        else:
            late.append(one)
    while saved < needed and late:
        options = [(_overhead(graph, one, chosen), one) for one in late]
        options = [(cost / one.size, one.node, kind, one) for (cost, kind), one in options if kind]
        if not options:
            break
        _, _, kind, one = min(options, key=lambda option: option[:2])
        chosen[one.node] = (kind, one.last_before)
        saved += one.size
        late.remove(one)
    return chosen, sum(one.size for one in candidates)


def _overhead(graph, one, chosen):
    """(seconds, kind) of the cheaper way to bring the tensor back; kind None: there is none."""
    node = graph.nodes[one.node]
    ways = []
    if node.pageable:
        ways.append((-one.free_time, "swap"))
    chain, look = set(), [one.node]
    while look:
        u = look.pop()
        if u in chain:
            continue
        chain.add(u)
        look.extend(
            d
            for d in (graph.index[dep] for dep in graph.nodes[u].deps)
            if chosen.get(d, ("",))[0] == "recompute"
        )
    if all(graph.nodes[u].recomputable for u in chain):
        ways.append((sum(graph.nodes[u].compute_time for u in chain), "recompute"))
    return min(ways) if ways else (0.0, None)


def _emit(graph, chosen):
    tape = Tape(graph)
    leave = {}
    for u, (kind, after) in chosen.items():
        leave.setdefault(after, []).append((u, kind))
    for v in range(len(graph.nodes)):
        tape.first(v)
        for u, kind in sorted(leave.get(v, ())):
            if u in tape.here and tape.waiting[u]:
                if kind == "swap":
                    tape.store(u)
                tape.free(u)
        tape.sweep()
    return tape.plan()
