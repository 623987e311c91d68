# SPDX-License-Identifier: MIT
"""The smallest RAM with which a plan exists, and the line that says so.

What is called feasible has a plan that the evaluator took, with that plan's own peak. What is
called too little is refused by a search of all plans: a complete one for small graphs, the stage
relaxation for larger ones. Where the two do not meet, both are said.
"""

import math
import time
from dataclasses import dataclass, replace

from . import complete, greedy, highs
from .answer import Infeasible
from .column_values import plan_of, tidy, values_of
from .evaluate import evaluate
from .model import build
from .positions import positions
from .stages import stage_model

_LARGE = 250  # nodes from which no program is built for this


@dataclass(frozen=True)
class Smallest:
    """bytes: the peak of a plan that keeps the other limits, or None; least: of every plan."""

    bytes: int | None
    least: float
    plan: tuple | None = None

    @property
    def proven(self):
        """Whether nothing is between the two."""
        return self.bytes is None or self.bytes <= self.least


def operator_need(graph):
    """(bytes, id) of the operator that needs most: resident, inputs, output and workspace."""

    def need(node):
        inputs = sum(graph.nodes[graph.index[d]].ram_bytes for d in set(node.deps))
        return graph.resident_bytes + inputs + node.ram_bytes + node.workspace_bytes

    return max((need(node), node.id) for node in graph.nodes)


def smallest_ram(graph, budget, space, seconds=20.0, refused=False):
    """Smallest of a graph whose other limits are the budget's.

    refused: no plan fits budget.ram_bytes, so more is needed.
    """
    least = operator_need(graph)[0]
    if refused:
        least = max(least, math.floor(budget.ram_bytes) + 1)
    until = time.monotonic() + seconds
    wide = replace(budget, ram_bytes=1 << 62)
    if len(graph.nodes) <= complete.MOST_NODES:
        try:
            return _completely(graph, wide, space, lambda: time.monotonic() > until)
        except complete.TooLarge:
            pass
    peaks = _Peaks(graph, wide, space)
    steps = greedy.paged(graph, wide, space)
    peaks.offer(tuple(steps or ()))
    peaks.offer(tidy(graph, [("compute", node.id) for node in graph.nodes]))
    if peaks.bytes is not None and peaks.bytes <= least:
        return Smallest(peaks.bytes, peaks.bytes, peaks.plan)
    _by_greedy(graph, peaks, least, min(until, time.monotonic() + 0.3 * seconds))
    if len(graph.nodes) < _LARGE and highs.available():
        if not _by_program(graph, peaks, highs.Watch(time.monotonic() + 0.4 * seconds)):
            if peaks.bytes is None:
                return Smallest(None, math.inf)
        if peaks.bytes is not None and peaks.bytes > least:
            least = _raised(graph, peaks, least, highs.Watch(until))
    return Smallest(peaks.bytes, min(least, peaks.bytes or least), peaks.plan)


class _Peaks:
    """The plan with the least peak so far that keeps the other limits."""

    def __init__(self, graph, budget, space):
        self.graph, self.budget, self.space = graph, budget, space
        self.bytes, self.plan = None, None

    def offer(self, plan):
        """Keep the plan if the evaluator takes it and it needs less."""
        verdict = evaluate(self.graph, self.budget, plan, self.space.clock)
        peak = verdict.peak_ram
        if self.space.clock == "overlapped":
            peak = max(peak, verdict.overlapped_peak_ram)
        if verdict.valid and (self.bytes is None or peak < self.bytes):
            self.bytes, self.plan = peak, plan


def _completely(graph, budget, space, stop):
    found = complete.least_ram(graph, budget, space, stop=stop)
    if found is None:
        return Smallest(None, math.inf)
    if not evaluate(graph, replace(budget, ram_bytes=found[0]), found[1], space.clock).valid:
        raise complete.TooLarge  # with overlap, operators that take no time
    return Smallest(found[0], found[0], found[1])


def _by_greedy(graph, peaks, low, until):
    """Walks in ever less RAM."""
    high = everything_kept(graph)
    while low < high and time.monotonic() < until:
        limited = replace(peaks.budget, ram_bytes=(low + high) // 2)
        before = peaks.bytes
        for steps in greedy.plans(graph, limited, peaks.space, 12, 0.1 + 0.005 * len(graph.nodes)):
            peaks.offer(tidy(graph, steps))
        found = peaks.bytes is not None and (before is None or peaks.bytes < before)
        high = min(high, peaks.bytes or high)
        if not found:
            low = limited.ram_bytes + max(1, (high - low) // 200)


def _by_program(graph, peaks, watch):
    """The formulation of a class of plans, with the RAM as its costs; whether it has any plan."""
    space = peaks.space
    model = build(graph, peaks.budget, space, positions(graph, peaks.budget, space), smallest=True)
    start = values_of(model, peaks.plan) if peaks.plan is not None else None
    if start is not None:
        start[0] = (peaks.bytes - graph.resident_bytes) / model.unit
    outcome = highs.minimise(model.program, watch, 1e-9, start)
    if outcome.values is not None:
        peaks.offer(plan_of(model, outcome.values))
    return outcome.status != "infeasible"


def _raised(graph, peaks, least, watch):
    """Bytes that every plan needs: the stage relaxation refuses what is too little."""
    low, high = least, peaks.bytes
    step = high - 1  # first the question that settles it
    while low < high and watch.left():
        limited = replace(peaks.budget, ram_bytes=step)
        space = replace(peaks.space, rounds=1, window=None)
        model = stage_model(graph, limited, space, positions(graph, limited, space), watch)
        if model is None:
            break
        outcome = highs.minimise(model.program, watch.part(watch.left() / 2), math.inf)
        if outcome.status == "infeasible":
            low = step + 1
        else:
            high = step
        step = (low + high) // 2
    return low


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


def refuse(graph, budget, space, seconds=20.0, proven=True, words=""):
    """Raise Infeasible with the smallest RAM that would do.

    proven: no plan at all fits; else none of those that the words name.
    """
    least = sum(node.compute_time for node in graph.nodes)
    if budget.deadline is not None and least > budget.deadline * (1 + 1e-9):
        raise Infeasible(
            f"deadline {budget.deadline:.6g} s is impossible; "
            f"computing every node once takes {least:.6g} s"
        )
    raise refusal(budget, smallest_ram(graph, budget, space, seconds, proven), proven, words)


def refusal(budget, found, proven=True, words=""):
    """The Infeasible that names a Smallest."""
    have = budget.ram_bytes
    if found.bytes is None and proven:
        return Infeasible(f"no plan keeps the limits with any RAM (have {have} bytes)")
    if found.bytes is None:
        return Infeasible(f"no plan keeps the limits with {have} bytes of RAM{words}", None, False)
    text = f"{found.bytes} bytes"
    if not found.proven:
        text = f"at most {found.bytes} bytes (at least {found.least})"
    return Infeasible(
        f"no plan fits {have} bytes of RAM{words}; the smallest feasible RAM is {text}",
        found.bytes,
        proven and found.proven,
    )
