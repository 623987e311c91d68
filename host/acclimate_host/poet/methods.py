# SPDX-License-Identifier: MIT
"""Methods that make plans, by name, all judged by the one evaluator: ours and the published ones.

The published ones are not in the wheel: ``bench/papers/poet`` of the repository has them.

>>> from acclimate_host.poet.graphs import network_graph
>>> from acclimate_host.poet.problem import Budget
>>> graph = network_graph("linear", "m4")
>>> [run(name, graph, Budget(6776)).verdict.valid for name in ("poet", "paging_only")]
[True, True]
"""

import time
from dataclasses import dataclass, replace

from acclimate_host.errors import AcclimateError
from acclimate_host.paths import paper_code

from .evaluate import evaluate
from .problem import PlanError

SOLVED = {
    "poet": dict(),
    "checkmate": dict(paging=False),
    "paging_only": dict(recompute=False),
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
NAMES = tuple(TITLES)


@dataclass(frozen=True)
class MethodResult:
    """What a method made of a problem: plan and verdict, or None and the fault in one line.

    ended: what ended a solve (see Answer); empty for a published method.
    """

    method: str
    plan: tuple | None
    verdict: object
    fault: str
    seconds: float
    lower_bound: float | None = None
    proven: bool = False
    class_proven: bool = False
    space: str = ""
    ended: str = ""


def find(name):
    """Return the function of a published method, None for a solved one; raises PlanError."""
    if name not in NAMES:
        raise PlanError(f"unknown method {name!r}; there are {', '.join(NAMES)}")
    if name in SOLVED:
        return None
    try:
        return paper_code("poet").METHODS[name]
    except AcclimateError as error:
        raise PlanError(f"method {name}: {error}") from None


def run(name, graph, budget, clock="serial", **solver_options):
    """MethodResult of one method; solver_options (time_limit, gap) concern the solved ones."""
    began, method = time.monotonic(), find(name)

    def failed(fault):
        return MethodResult(name, None, None, fault, time.monotonic() - began)

    if method is None:
        return _solved(name, graph, budget, clock, failed, solver_options)
    try:
        plan = method(graph, budget, clock=clock)
    except paper_code("poet").Stuck as stuck:
        return failed(str(stuck))
    except RecursionError:
        return failed(f"{name} does not reach so deep: {len(graph.nodes)} tensors")
    verdict = evaluate(graph, budget, plan, clock)
    if not verdict.valid:
        return failed(verdict.fault)
    return MethodResult(name, plan, verdict, "", time.monotonic() - began)


def by_time(graph):
    """The graph whose energies are its times."""
    timed = (
        replace(
            node,
            compute_energy=node.compute_time,
            pagein_energy=node.pagein_time,
            pageout_energy=node.pageout_time,
        )
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(timed))


def _solved(name, graph, budget, clock, failed, options):
    from .solve import solve

    began, timed = time.monotonic(), name == "checkmate"  # it knows time, not energy
    problem = by_time(graph) if timed else graph
    try:
        answer = solve(problem, budget, clock=clock, **SOLVED[name], **options)
    except PlanError as error:  # infeasible, or nothing found in time
        return failed(str(error))
    verdict = evaluate(graph, budget, answer.plan, clock)
    bound, proven = answer.lower_bound, answer.proven
    if timed:
        low, high = _power(graph)  # of a plan that only computes
        bound, proven = bound * low, proven and high <= low * (1 + 1e-9)
    seconds = time.monotonic() - began
    of_class = proven or (answer.class_proven and not timed)
    return MethodResult(
        name,
        answer.plan,
        verdict,
        "",
        seconds,
        bound,
        proven,
        of_class,
        answer.space,
        answer.ended,
    )


def _power(graph):
    """(least, most) J a second of computing; all the same in a table with one power."""
    if any(node.compute_energy and not node.compute_time for node in graph.nodes):
        return 0.0, float("inf")
    powers = [n.compute_energy / n.compute_time for n in graph.nodes if n.compute_time]
    return min(powers, default=0.0), max(powers, default=0.0)
