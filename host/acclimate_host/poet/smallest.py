# SPDX-License-Identifier: MIT
"""The smallest RAM with which a plan exists, and the line that says so."""

import math
import time
from dataclasses import replace

from . import greedy, highs
from .answer import Infeasible
from .column_values import tidy, values_of
from .evaluate import evaluate
from .model import build
from .positions import pageable, positions

_EASY = 30  # nodes up to which the exact search needs no start


def operator_need(graph):
    """(bytes, id) of the operator that needs most: resident, inputs, output and workspace."""

    def need(node):
        inputs = sum(graph.nodes[graph.index[d]].ram_bytes for d in set(node.deps))
        return graph.resident_bytes + inputs + node.ram_bytes + node.workspace_bytes

    return max((need(node), node.id) for node in graph.nodes)


def smallest_ram(graph, budget, space, seconds=20.0):
    """(bytes, least): RAM with which some plan keeps the other limits, and what all need at least.

    Both are the same where the smallest is proven. Bytes are None where no RAM at all helps.
    """
    least = operator_need(graph)[0]
    unlimited = budget.deadline is None and budget.aux_bytes is None
    unlimited = unlimited and budget.erase_budget is None
    if unlimited and all(
        pageable(graph, budget, space, i) or not node.ram_bytes
        for i, node in enumerate(graph.nodes)
    ):
        return least, least
    until = time.monotonic() + seconds
    hard = len(graph.nodes) > _EASY or not highs.available()
    within = time.monotonic() + (0.3 * seconds if hard else 0.0)
    plan, ram = _by_greedy(graph, budget, space, least, within)
    if ram <= least or not highs.available():
        return ram, least
    wide = replace(budget, ram_bytes=1 << 62)
    model = build(graph, wide, space, positions(graph, wide, space), smallest=True)
    start = values_of(model, plan)
    if start is not None:
        start[0] = (ram - graph.resident_bytes) / model.unit
    outcome = highs.minimise(model.program, highs.Watch(until), 1e-9, start)
    if outcome.status == "infeasible":
        return None, least
    # what the relaxation says is rounded up with care: its rows have tolerances
    bound = least
    if math.isfinite(outcome.bound):
        bound = graph.resident_bytes + math.ceil((outcome.bound - 1e-6) * model.unit)
    if outcome.values is not None:
        ram = min(ram, round(graph.resident_bytes + outcome.objective * model.unit))
    return (ram, ram) if outcome.status == "optimal" else (ram, min(ram, max(least, bound)))


def _by_greedy(graph, budget, space, low, until):
    """(plan, RAM) of the least RAM in which greedy plans were found that keep the other limits."""
    plan = tidy(graph, [("compute", node.id) for node in graph.nodes])
    high = everything_kept(graph)
    while low < high and time.monotonic() < until:
        limited = replace(budget, ram_bytes=(low + high) // 2)
        found = None
        for steps in greedy.plans(graph, limited, space, 12, 0.1 + 0.005 * len(graph.nodes)):
            verdict = evaluate(graph, limited, tidy(graph, steps), space.clock)
            if verdict.valid and (found is None or verdict.peak_ram < high):
                found, high = tidy(graph, steps), verdict.peak_ram
        plan = found or plan
        low = low if found else limited.ram_bytes + max(1, (high - low) // 200)
    return plan, high


def everything_kept(graph):
    """RAM that the plan needs which only computes and frees: enough for every plan."""
    last = list(range(len(graph.nodes)))
    for c, node in enumerate(graph.nodes):
        for dep in node.deps:
            last[graph.index[dep]] = c
    used = most = graph.resident_bytes
    for c, node in enumerate(graph.nodes):
        used += node.ram_bytes
        most = max(most, used + node.workspace_bytes)
        used -= sum(n.ram_bytes for i, n in enumerate(graph.nodes[: c + 1]) if last[i] == c)
    return most


def refuse(graph, budget, space, seconds=20.0):
    """Raise Infeasible with the smallest RAM that would do."""
    least = sum(node.compute_time for node in graph.nodes)
    if budget.deadline is not None and least > budget.deadline * (1 + 1e-9):
        raise Infeasible(
            f"deadline {budget.deadline:.6g} s is impossible; "
            f"computing every node once takes {least:.6g} s"
        )
    ram, bound = smallest_ram(graph, budget, space, seconds)
    have = budget.ram_bytes
    if ram is None:
        raise Infeasible(f"no plan keeps the limits with any RAM (have {have} bytes)")
    words = f"{ram} bytes" if ram == bound else f"at most {ram} bytes (at least {bound})"
    raise Infeasible(
        f"no plan fits {have} bytes of RAM; the smallest feasible RAM is {words}",
        ram,
        ram == bound,
    )
