# SPDX-License-Identifier: MIT
"""Published methods that make plans, each in a file, all judged by the one evaluator.

A method is a function (graph, budget, clock) -> plan; it raises ``Stuck`` where it has none.

>>> from acclimate_host.poet.graphs import network_graph
>>> from acclimate_host.poet.problem import Budget
>>> graph = network_graph("linear", "m4")
>>> [run(name, graph, Budget(6776)).verdict.valid for name in ("keep_all", "chen_sqrt", "dtr")]
[True, True, True]
"""

import time
from dataclasses import dataclass, replace

from ..evaluate import evaluate
from ..problem import PlanError
from .capuchin import capuchin
from .chen import greedy, keep_all, sqrt_n
from .dtr import dtr
from .pofo import pofo
from .revolve import revolve
from .tape import Stuck

SOLVED = {
    "poet": dict(),
    "checkmate": dict(paging=False),
    "paging_only": dict(recompute=False),
}
CLOSED = {
    "keep_all": keep_all,
    "chen_sqrt": sqrt_n,
    "chen_greedy": greedy,
    "revolve": revolve,
    "dtr": dtr,
    "capuchin": capuchin,
    "pofo": pofo,
}
TITLES = {
    "poet": "this planner",
    "checkmate": "Checkmate (recompute only)",
    "paging_only": "paging only",
    "keep_all": "keep everything",
    "chen_sqrt": "Chen sqrt(n)",
    "chen_greedy": "Chen greedy",
    "revolve": "Griewank-Walther",
    "dtr": "DTR",
    "capuchin": "Capuchin",
    "pofo": "POFO",
}


@dataclass(frozen=True)
class Outcome:
    """What a method made of a problem: plan and verdict, or None and the fault in one line."""

    method: str
    plan: tuple | None
    verdict: object
    fault: str
    seconds: float
    lower_bound: float | None = None
    proven: bool = False
    class_proven: bool = False
    space: str = ""


def names():
    """Names of the methods."""
    return (*SOLVED, *CLOSED)


def run(name, graph, budget, clock="serial", **solver_options):
    """Outcome of one method; solver_options (time_limit, gap) concern the exact ones."""
    began = time.monotonic()
    if name in SOLVED:
        return _solved(name, graph, budget, clock, began, solver_options)
    if name not in CLOSED:
        raise PlanError(f"unknown method {name!r}; there are {', '.join(names())}")
    try:
        plan = CLOSED[name](graph, budget, clock=clock)
    except Stuck as stuck:
        return Outcome(name, None, None, str(stuck), time.monotonic() - began)
    except RecursionError:
        return Outcome(
            name,
            None,
            None,
            f"{name} does not reach so deep: {len(graph.nodes)} tensors",
            time.monotonic() - began,
        )
    verdict = evaluate(graph, budget, plan, clock)
    seconds = time.monotonic() - began
    if not verdict.valid:
        return Outcome(name, None, None, verdict.fault, seconds)
    return Outcome(name, plan, verdict, "", seconds)


def _solved(name, graph, budget, clock, began, options):
    from ..solve import solve

    timed = name == "checkmate"  # it knows time, not energy
    problem = _by_time(graph) if timed else graph
    try:
        answer = solve(problem, budget, clock=clock, **SOLVED[name], **options)
    except PlanError as error:  # infeasible, or nothing found in time
        return Outcome(name, None, None, str(error), time.monotonic() - began)
    verdict = evaluate(graph, budget, answer.plan, clock)
    bound, proven = answer.lower_bound, answer.proven
    if timed:
        low, high = _power(graph)  # of a plan that only computes
        bound, proven = bound * low, proven and high <= low * (1 + 1e-9)
    seconds = time.monotonic() - began
    of_class = proven or (answer.class_proven and not timed)
    return Outcome(name, answer.plan, verdict, "", seconds, bound, proven, of_class, answer.space)


def _power(graph):
    """(least, most) J a second of computing; all the same in a table with one power."""
    if any(node.compute_energy and not node.compute_time for node in graph.nodes):
        return 0.0, float("inf")
    powers = [n.compute_energy / n.compute_time for n in graph.nodes if n.compute_time]
    return min(powers, default=0.0), max(powers, default=0.0)


def _by_time(graph):
    """The graph whose energies are its times."""
    return replace(
        graph,
        nodes=tuple(
            replace(
                node,
                compute_energy=node.compute_time,
                pagein_energy=node.pagein_time,
                pageout_energy=node.pageout_time,
            )
            for node in graph.nodes
        ),
    )
