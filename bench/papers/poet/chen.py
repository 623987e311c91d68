# SPDX-License-Identifier: MIT
"""Checkpoint-all, and Chen, Xu, Zhang, Guestrin (2016): sublinear memory by checkpoints.

The forward pass keeps every checkpoint and what follows the last one; a segment between two
checkpoints is computed again when the backward pass reaches it.
"""

import math

from acclimate_host.poet.evaluate import evaluate
from bench.papers.poet.chain import cuts, forward_count
from bench.papers.poet.tape import Stuck, Tape

_BUDGETS = 64


def keep_all(graph, budget=None, clock="serial"):
    """Plan that keeps every tensor until its last use."""
    return with_checkpoints(graph, range(len(graph.nodes)))


def with_checkpoints(graph, keep):
    """Plan that keeps these positions of the forward pass and recomputes by segments."""
    keep = set(keep)
    tape = Tape(graph)
    count = forward_count(graph) if keep != set(range(len(graph.nodes))) else len(graph.nodes)
    last = max((v for v in keep if v < count), default=-1)

    def dropped(v):
        if v >= count or v in keep or v > last:
            return False
        return all(reader >= count for reader in tape.waiting[v])

    for v in range(len(graph.nodes)):
        tape.first(v)
        # after the forward pass a recomputed segment stays until it is used up
        tape.sweep(dropped if v < count else lambda u: False)
    return tape.plan()


def every(graph, candidates=None):
    """Checkpoints at each of about sqrt(n) equal segments of the candidates."""
    candidates = list(range(forward_count(graph)) if candidates is None else candidates)
    length = max(1, round(math.sqrt(len(candidates))))
    return candidates[::length]


def sqrt_n(graph, budget, clock="serial"):
    """Chen's sqrt(n) segments, over all forward tensors or the cuts, whichever is better."""
    plans = [with_checkpoints(graph, every(graph, points)) for points in _points(graph)]
    return best(graph, budget, plans, clock)


def greedy(graph, budget, clock="serial"):
    """Chen's greedy planning: a checkpoint whenever a segment's bytes exceed b; b is searched."""
    plans = {}
    total = sum(node.ram_bytes for node in graph.nodes[: forward_count(graph)])
    for points in _points(graph):
        for step in range(_BUDGETS):
            limit = total * 2.0 ** (-10 * step / _BUDGETS)
            keep = tuple(by_bytes(graph, points, limit))
            if keep not in plans:
                plans[keep] = with_checkpoints(graph, keep)
    return best(graph, budget, plans.values(), clock)


def by_bytes(graph, candidates, limit):
    """Checkpoints so that the tensors between two of them pass `limit` bytes at most once."""
    candidates, size, keep = set(candidates), 0, []
    for v in range(forward_count(graph)):
        size += graph.nodes[v].ram_bytes
        if v in candidates and (size > limit or not keep):
            keep.append(v)
            size = 0
    return keep


def _points(graph):
    everywhere = list(range(forward_count(graph)))
    single = cuts(graph)
    return [everywhere] if single == everywhere else [everywhere, single]


def best(graph, budget, plans, clock):
    """The valid plan of least time; Stuck with the nearest fault when none is valid."""
    found = nearest = None
    for plan in plans:
        verdict = evaluate(graph, budget, plan, clock)
        if not verdict.valid:
            if nearest is None or verdict.peak_ram < nearest.peak_ram:
                nearest = verdict
            continue
        cost = verdict.overlapped_time if clock == "overlapped" else verdict.serial_time
        if found is None or cost < found[0]:
            found = (cost, plan)
    if found is None:
        raise Stuck(nearest.fault if nearest else "no plan")
    return found[1]
