# SPDX-License-Identifier: MIT
"""Exhaustive search over plans of small graphs: the oracle for every solver (serial time)."""

import heapq

from .problem import PlanError

MOST_NODES = 10


def search(graph, budget, free_order=False):
    """(energy, plan) of the cheapest plan, or None when there is none.

    First computations follow the order of the nodes unless free_order is set.
    """
    count = len(graph.nodes)
    if count > MOST_NODES:
        raise PlanError(f"exhaustive search takes at most {MOST_NODES} nodes; got {count}")
    goal = (1 << count) - 1
    deps = [sum(1 << graph.index[d] for d in set(node.deps)) for node in graph.nodes]
    labels = {}
    queue = [(0.0, 0.0, 0.0, 0, 0, 0, 0, ())]
    serial = 0
    while queue:
        _, energy, time, _, ram, aux, done, trail = heapq.heappop(queue)
        if done == goal:
            return energy, _unroll(graph, trail)
        if not _is_new(labels, (ram, aux, done), time, budget):
            continue
        for kind, i, cost, wait in _steps(graph, budget, deps, ram, aux, done, free_order):
            bit = 1 << i
            made = done | bit if kind == "compute" else done
            # each node that was never computed will be: so much more, at least
            left = [node for j, node in enumerate(graph.nodes) if not made >> j & 1]
            least = time + wait + sum(node.compute_time for node in left)
            if budget.deadline is not None and least > budget.deadline * (1 + 1e-9):
                continue
            after = ram & ~bit if kind == "free" else ram | bit
            serial += 1
            heapq.heappush(
                queue,
                (
                    energy + cost + sum(node.compute_energy for node in left),
                    energy + cost,
                    time + wait,
                    serial,
                    after,
                    aux | bit if kind == "pageout" else aux,
                    made,
                    (trail, kind, i),
                ),
            )
    return None


def _is_new(labels, state, time, budget):
    """Labels of a state leave the queue by energy: only a shorter time is worth a second visit."""
    best = labels.get(state)
    if best is not None and (budget.deadline is None or time >= best):
        return False
    labels[state] = time
    return True


def _steps(graph, budget, deps, ram, aux, done, free_order):
    held = [i for i in range(len(graph.nodes)) if ram >> i & 1]
    room = budget.ram_bytes - graph.resident_bytes - sum(graph.nodes[i].ram_bytes for i in held)
    stored = [node.ram_bytes for i, node in enumerate(graph.nodes) if aux >> i & 1]
    following = (~done & (done + 1)).bit_length() - 1
    for i, node in enumerate(graph.nodes):
        bit = 1 << i
        if ram & bit:
            yield "free", i, 0.0, 0.0
            if node.pageable and not aux & bit and _takes(budget, [*stored, node.ram_bytes]):
                yield "pageout", i, node.pageout_energy, node.pageout_time
            continue
        if aux & bit and node.ram_bytes <= room:
            yield "pagein", i, node.pagein_energy, node.pagein_time
        allowed = node.recomputable if done & bit else free_order or i == following
        if allowed and not deps[i] & ~ram and node.ram_bytes + node.workspace_bytes <= room:
            yield "compute", i, node.compute_energy, node.compute_time


def _takes(budget, sizes):
    """Whether the storage and its erase budget take tensors of these sizes."""
    if budget.aux_bytes is not None and sum(sizes) > budget.aux_bytes:
        return False
    block = budget.erase_block_bytes
    if budget.erase_budget is None or not block:
        return True
    return sum(-(-size // block) for size in sizes) <= budget.erase_budget


def _unroll(graph, trail):
    steps = []
    while trail:
        trail, kind, i = trail
        steps.append((kind, graph.nodes[i].id))
    return tuple(reversed(steps))
