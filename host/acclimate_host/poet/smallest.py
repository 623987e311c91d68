# SPDX-License-Identifier: MIT
"""The smallest RAM with which a plan exists, and the line that says so."""

import time
from dataclasses import replace

from . import highs
from .answer import Infeasible
from .model import build
from .positions import pageable, positions


def operator_need(graph):
    """(bytes, id) of the operator that needs most: resident, inputs, output and workspace."""
    def need(node):
        inputs = sum(graph.nodes[graph.index[d]].ram_bytes for d in set(node.deps))
        return graph.resident_bytes + inputs + node.ram_bytes + node.workspace_bytes

    return max((need(node), node.id) for node in graph.nodes)


def smallest_ram(graph, budget, space, seconds=20.0):
    """(bytes, proven): the smallest RAM that some plan within the other limits needs.

    Bytes are None where no RAM at all helps. When not proven, they are enough but may not be
    needed.
    """
    least = operator_need(graph)[0]
    unlimited = budget.deadline is None and budget.aux_bytes is None
    unlimited = unlimited and budget.erase_budget is None
    if unlimited and all(pageable(graph, budget, space, i) or not node.ram_bytes
                         for i, node in enumerate(graph.nodes)):  # fmt: skip
        return least, True
    if not highs.available():
        return everything_kept(graph), False
    wide = replace(budget, ram_bytes=1 << 62)
    model = build(graph, wide, space, positions(graph, wide, space), smallest=True)
    outcome = highs.minimise(model.program, highs.Watch(time.monotonic() + seconds), 1e-9)
    if outcome.status == "infeasible":
        return None, True
    if outcome.values is None:
        return everything_kept(graph), False
    found = graph.resident_bytes + outcome.objective * model.unit
    return round(found), outcome.status == "optimal"


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
        raise Infeasible(f"deadline {budget.deadline:.6g} s is impossible; "
                         f"computing every node once takes {least:.6g} s")  # fmt: skip
    ram, proven = smallest_ram(graph, budget, space, seconds)
    have = budget.ram_bytes
    if ram is None:
        raise Infeasible(f"no plan keeps the limits with any RAM (have {have} bytes)")
    word = "the smallest feasible RAM is" if proven else "enough RAM is"
    raise Infeasible(f"no plan fits {have} bytes of RAM; {word} {ram} bytes", ram, proven)
