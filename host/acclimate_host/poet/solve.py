# SPDX-License-Identifier: MIT
"""Finds the plan of least energy within RAM, deadline and storage, with a proven bound.

>>> from acclimate_host.poet.graphs import network_graph
>>> from acclimate_host.poet.problem import Budget
>>> answer = solve(network_graph("linear", "m4"), Budget(4065))
>>> answer.proven, round(answer.energy * 1e6, 3)
(True, 455.957)
"""

import math
import time
from dataclasses import dataclass, replace

from . import highs, orders
from .answer import Answer, Infeasible
from .evaluate import CLOCKS, evaluate
from .positions import Space
from .problem import Graph, PlanError
from .search import Search, processors

GAP = 1e-6
SOLVERS = ("highs", "cbc", "cpsat", "greedy")
_ROUNDS = ((8, 3), (40, 2))  # up to so many nodes, so many rounds of recomputations a stage


@dataclass(frozen=True)
class Options:
    """What a solve was asked for, beside its problem."""

    solver: str
    gap: float
    progress: object
    seed: int
    threads: int


def solve(
    graph,
    budget,
    *,
    paging=True,
    recompute=True,
    clock="serial",
    solver="highs",
    order="given",
    time_limit=None,
    cpu_limit=None,
    gap=GAP,
    progress=None,
    window=None,
    seed=0,
    threads=None,
):
    """Return the Answer; raises Infeasible or PlanError (one line).

    paging, recompute: which means a plan may use; without secondary storage (budget.aux_bytes
    0) there is no paging. clock: what the deadline counts (see evaluate). time_limit in s, and
    cpu_limit in s of computing by all threads: the best plan until then, with its proven gap.
    progress: called with a Progress. gap: relative, at which the answer counts as proven. window:
    the class of plans that is searched last recomputes only within that many stages before a
    use. order: "free" lets first computations come in
    another order than the nodes are given in; answer.order then names it. Ctrl-C returns the
    best plan found, or raises when there is none yet. threads: of the search where the gap is
    wide (None: one per processor, or one in a worker process). solver: all but "greedy" need
    HiGHS for the relaxation; where it is not there, "greedy", the heuristic that proves
    nothing, is used, and answer.solver says so.
    """
    if solver not in SOLVERS:
        raise PlanError(f"unknown solver {solver!r}; there are {', '.join(SOLVERS)}")
    if order not in ("given", "free"):
        raise PlanError(f"unknown order {order!r}; there are given and free")
    if clock not in CLOCKS:
        raise PlanError(f"unknown clock {clock!r}; there are {', '.join(CLOCKS)}")
    for name, limit in (("time_limit", time_limit), ("cpu_limit", cpu_limit)):
        if limit is not None and not limit > 0:
            raise PlanError(f"{name} is {limit!r}; it must be > 0 s")
    if not highs.available():
        solver = "greedy"
    watch = highs.Watch(
        time.monotonic() + (time_limit or math.inf),
        cpu_until=time.process_time() + (cpu_limit or math.inf),
    )
    rounds = next((rounds for most, rounds in _ROUNDS if len(graph.nodes) <= most), 1)
    paging = paging and budget.aux_bytes != 0
    space = Space(paging, recompute, window, rounds, clock)
    options = Options(solver, gap, progress, seed, threads or processors())
    if order == "free":
        return _in_any_order(graph, budget, space, watch, options)
    return Search(graph, budget, space, watch, options).run()


def _in_any_order(graph, budget, space, watch, options):
    began = time.monotonic()
    if len(graph.nodes) <= orders.MOST_NODES and space.clock == "serial":
        free = graph
        if not space.paging or not space.recompute:
            free = Graph(
                tuple(
                    replace(
                        node,
                        pageable=node.pageable and space.paging,
                        recomputable=node.recomputable and space.recompute,
                    )
                    for node in graph.nodes
                ),
                graph.resident_bytes,
            )
        found = orders.exhaustive(free, budget)
        if found is None:
            raise Infeasible(f"no plan in any order fits {budget.ram_bytes} bytes of RAM")
        verdict = evaluate(free, budget, found[0])
        return Answer(
            found[0],
            verdict.energy,
            found[1],
            True,
            verdict,
            time.monotonic() - began,
            "exhaustive",
            "all plans in any order",
            _first_order(found[0]),
            class_bound=found[1],
            class_proven=True,
            ended="proof",
        )
    moved = orders.improve(
        graph, budget, space, watch.part(min(30.0, watch.left() / 3)), options.seed
    )
    answer = Search(moved, budget, space, watch, options).run()
    least = sum(node.compute_energy for node in graph.nodes)
    proven = answer.energy - least <= options.gap * answer.energy
    words = answer.space.replace("the given order", "the order that was found")
    return replace(
        answer,
        lower_bound=least,
        proven=proven,
        space=words if answer.class_proven and not proven else "all plans in any order",
        seconds=time.monotonic() - began,
        order=_first_order(answer.plan),
    )


def _first_order(plan):
    return tuple(dict.fromkeys(name for kind, name in plan if kind == "compute"))
