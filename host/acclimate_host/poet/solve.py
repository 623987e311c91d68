# SPDX-License-Identifier: MIT
"""Finds the plan of least energy within RAM, deadline and storage, with a proven bound.

>>> from acclimate_host.poet.graphs import network_graph
>>> from acclimate_host.poet.problem import Budget
>>> answer = solve(network_graph("linear", "m4"), Budget(4065))
>>> answer.proven, round(answer.energy * 1e6, 3)
(True, 455.957)
"""

import math
import multiprocessing
import os
import time
from dataclasses import replace

from . import cpsat, greedy, highs, orders, pulp_solver
from .answer import Answer, Infeasible, Progress
from .column_values import plan_of, tidy, values_of
from .evaluate import CLOCKS, evaluate
from .model import build
from .positions import Space, positions
from .problem import Graph, PlanError
from .reorder import in_order
from .root import Root
from .smallest import operator_need, refuse
from .transfer import hide
from .tree import Tree

GAP = 1e-6
SOLVERS = ("highs", "cbc", "cpsat", "greedy")
_SMALL, _SMALL_ROUNDS = 8, 3
_CUT_S = 120.0  # most seconds for cuts
_NEAR_GAP, _NEAR_S = 2e-4, 20.0  # plans near the relaxation: only for a gap that is wider
_WINDOWS, _NARROW_GAP, _NARROW_S = (5, 9), 3e-3, 60.0  # windows likewise
_COUNTED, _WIDE_GAP = (8_000, 30_000), 2e-3  # columns and gap for the tree over counts
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_REFUSE_S = 20.0  # for the smallest feasible RAM


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
    gap=GAP,
    progress=None,
    window=None,
    seed=0,
    threads=None,
):
    """Return the Answer; raises Infeasible or PlanError (one line).

    paging, recompute: which means a plan may use; without secondary storage (budget.aux_bytes
    0) there is no paging. clock: what the deadline counts (see evaluate). time_limit in s: the
    best plan until then, with its proven gap. progress: called with a Progress. gap: relative,
    at which the answer counts as proven. window: recompute only within that many stages before
    a use. order: "free" lets first computations come in another order than the nodes are given
    in; answer.order then names it. Ctrl-C returns the best plan found, or raises when there is
    none yet. threads: of the search where the gap is wide (None: one per processor, or one in a
    worker process). solver: all but "greedy" need HiGHS for the relaxation; where it is not
    there, "greedy", the heuristic that proves nothing, is used, and answer.solver says so.
    """
    if solver not in SOLVERS:
        raise PlanError(f"unknown solver {solver!r}; there are {', '.join(SOLVERS)}")
    if order not in ("given", "free"):
        raise PlanError(f"unknown order {order!r}; there are given and free")
    if clock not in CLOCKS:
        raise PlanError(f"unknown clock {clock!r}; there are {', '.join(CLOCKS)}")
    if time_limit is not None and not time_limit > 0:
        raise PlanError(f"time_limit is {time_limit!r}; it must be > 0 s")
    if not highs.available():
        solver = "greedy"
    rounds = _SMALL_ROUNDS if len(graph.nodes) <= _SMALL else 1
    paging = paging and budget.aux_bytes != 0
    space = Space(paging, recompute, window, rounds, clock)
    if order == "free":
        return _in_any_order(
            graph, budget, space, solver, time_limit, gap, progress, seed, threads
        )
    return _Search(graph, budget, space, solver, time_limit, gap, progress, seed, threads).run()


def _in_any_order(graph, budget, space, solver, time_limit, gap, progress, seed, threads):
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
            "any order",
            _first_order(found[0]),
        )
    seconds = min(30.0, (time_limit or 90.0) / 3)
    moved = orders.improve(graph, budget, space, seconds, seed)
    left = None if time_limit is None else max(1.0, time_limit - seconds)
    answer = _Search(moved, budget, space, solver, left, gap, progress, seed, threads).run()
    least = sum(node.compute_energy for node in graph.nodes)
    proven = answer.energy - least <= gap * answer.energy
    return replace(
        answer,
        lower_bound=least,
        proven=proven,
        space="any order",
        seconds=time.monotonic() - began,
        order=_first_order(answer.plan),
    )


def _first_order(plan):
    return tuple(dict.fromkeys(name for kind, name in plan if kind == "compute"))


def _processors():
    """Processors that this process may use; one where it is a worker beside others."""
    if multiprocessing.parent_process() is not None:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


class _Search:
    def __init__(self, graph, budget, space, solver, time_limit, gap, progress, seed, threads):
        self.graph, self.budget, self.space = graph, budget, space
        self.solver, self.gap, self.progress, self.seed = solver, gap, progress, seed
        self.threads = threads or _processors()
        self.began = time.monotonic()
        self.limit = time_limit or 1e9
        self.watch = highs.Watch(self.began + self.limit)
        self.plan, self.verdict, self.first, self.told = None, None, None, 0.0
        self.bound = sum(node.compute_energy for node in graph.nodes)

    def run(self):
        """The answer."""
        need, _ = operator_need(self.graph)
        least = sum(node.compute_time for node in self.graph.nodes)
        late = self.budget.deadline is not None and least > self.budget.deadline * (1 + 1e-9)
        if need > self.budget.ram_bytes or late:
            refuse(self.graph, self.budget, self.space, min(self.watch.left(), _REFUSE_S))
        try:
            self._greedy()
            if self.solver != "greedy":
                self._shares()
        except KeyboardInterrupt:
            if self.plan is None:
                raise
        if self.plan is None and self.solver == "greedy":
            raise PlanError(
                "the heuristic found no plan; with pip install acclimate[plan] "
                "HiGHS searches them all"
            )
        if self.plan is None:
            raise PlanError(f"no plan found within {self.limit:g} s; give more time or RAM")
        return self._answer()

    def _answer(self):
        bound = min(self.bound, self.verdict.energy)
        times = "once" if self.space.rounds == 1 else f"{self.space.rounds} times"
        words = f"given order, a node recomputed at most {times} per stage"
        return Answer(
            self.plan,
            self.verdict.energy,
            bound,
            self._closed(),
            self.verdict,
            time.monotonic() - self.began,
            self.solver,
            words,
        )

    def _closed(self):
        if self.plan is None:
            return False
        return self.verdict.energy - self.bound <= self.gap * self.verdict.energy

    def _say(self, phase, bound=None):
        if self.progress is None:
            return
        energy = self.verdict.energy if self.plan is not None else None
        bound = self.bound if bound is None else max(bound, self.bound)
        now = time.monotonic()
        said = Progress(phase, now - self.began, energy, bound)
        self.progress(replace(said, eta_s=self._eta(phase, now, said.gap)))

    def _eta(self, phase, now, gap):
        """Seconds until the gap closes if it goes on shrinking as in this phase, or None."""
        if gap is None or phase != "branch and bound":
            return None
        if self.first is None:
            self.first = (now, gap)
        began, wide = self.first
        left = self.watch.left() if self.limit < 1e9 else None
        if gap <= self.gap:
            return 0.0
        if now <= began or not 0 < gap < wide:
            return left
        more = (now - began) * math.log(gap / self.gap) / math.log(wide / gap)
        return more if left is None else min(more, left)

    def _offer(self, steps):
        """Keep a plan if the evaluator takes it and it is better; return whether it was."""
        plan = tidy(self.graph, steps)
        if self.space.clock == "overlapped":
            plan = hide(self.graph, self.budget, plan)
        verdict = evaluate(self.graph, self.budget, plan, self.space.clock)
        if not verdict.valid:
            return False
        if self.plan is None or verdict.energy < self.verdict.energy:
            self.plan, self.verdict = plan, verdict
        return True

    def _greedy(self):
        self._offer([("compute", node.id) for node in self.graph.nodes])
        if self._closed():
            return
        size = len(self.graph.nodes)
        seconds = min(5.0, 0.1 * self.limit, 0.02 * size)
        for steps in greedy.plans(self.graph, self.budget, self.space, 300, seconds, self.seed):
            self._offer(steps)
            ordered = in_order(self.graph, steps)
            if ordered is not None:
                self._offer(ordered)
        self._say("greedy")

    def _shares(self):
        """Solve; with overlap, count more and more of the paging until a plan is in time."""
        overlap = self.space.clock == "overlapped" and self.budget.deadline is not None
        for share in _SHARES if overlap else (0.0,):
            if self._closed() or not self.watch.left() or self.watch.stop:
                return
            self.space = replace(self.space, share=share)
            self.in_time = False
            self._exact()
            if self.in_time:
                return

    def _exact(self):
        model = build(
            self.graph, self.budget, self.space, positions(self.graph, self.budget, self.space)
        )
        root = Root(model, self.watch)
        outcome = root.solve()
        if outcome.status == "infeasible":
            return self._none()
        if outcome.status == "stopped":
            return None
        self._raise(outcome.bound)
        until = time.monotonic() + min(_CUT_S, 0.5 * self.watch.left())
        if not root.cut(until, self._energy, self._closed, self._raise):
            return self._none()
        root.settle()
        if not self._closed() and self._is_hard(root):
            self._branch_on_counts(root)
        elif not self._closed():
            self._narrow(root)
            if not self._closed():
                self._branch(root)
        return None

    def _is_hard(self, root):
        """Whether the gap is wide on a model of a size for which the tree over counts is good."""
        least, most = _COUNTED
        large = least <= len(root.model.program.cost) <= most
        return large and self.solver == "highs" and self._gap() > _WIDE_GAP

    def _gap(self):
        """Relative gap; 0 where there is no plan yet."""
        return 1 - self.bound / self.verdict.energy if self.plan is not None else 0.0

    def _branch_on_counts(self, root):
        tree = Tree(root, self.gap, self._energy, self._offer, self._tell)
        self._raise(tree.run(self.watch, self.threads))
        self.in_time = True
        self._say("done")

    def _tell(self, bound):
        """Progress of a search, every half second."""
        if time.monotonic() - self.told > 0.5:
            self.told = time.monotonic()
            self._say("branch and bound", bound)

    def _energy(self):
        """Energy of the best plan, or None."""
        return self.verdict.energy if self.plan is not None else None

    def _raise(self, bound):
        if not self.space.share:  # otherwise it is no bound
            self.bound = max(self.bound, bound)
        self._say("relaxation")

    def _narrow(self, root):
        """Look for better plans near the relaxation, then where nodes are recomputed late."""
        for window in (None, *_WINDOWS):
            gap = self._gap() if self.plan is not None else 1.0
            least, most = (_NEAR_GAP, _NEAR_S) if window is None else (_NARROW_GAP, _NARROW_S)
            if gap < least or self.solver != "highs" or self.watch.stop:
                break
            start = values_of(root.model, self.plan) if self.plan is not None else None
            seconds = min(most, 0.15 * self.watch.left())
            watch = highs.Watch(time.monotonic() + seconds, self.watch)
            high = root.supported() if window is None else root.narrowed(window)
            outcome = highs.minimise(
                root.model.program, watch, self.gap * abs(self.bound), start, root.limits[0], high
            )
            self.watch.stop = watch.stop  # Ctrl-C
            if outcome.values is not None and self._offer(plan_of(root.model, outcome.values)):
                root.tighten(self.verdict.energy)
            self._say("near the relaxation" if window is None else f"window {window}")

    def _branch(self, root):
        model = root.model
        start = values_of(model, self.plan) if self.plan is not None else None
        gap = 0.9 * self.gap * abs(self.bound)
        limits = root.limits

        def tell(best, bound):
            self._say("branch and bound", bound)

        if self.solver == "cbc":
            outcome = pulp_solver.minimise(model.program, "cbc", self.watch.left(), gap, *limits)
        elif self.solver == "cpsat":
            outcome = cpsat.minimise(model.program, self.watch, gap, start, *limits, tell)
        else:
            outcome = highs.minimise(model.program, self.watch, gap, start, *limits, tell)
        if outcome.status == "infeasible" and self.plan is None:
            return self._none()
        if outcome.values is not None:
            self.in_time = self._offer(plan_of(model, outcome.values))
        self._raise(min(outcome.bound, self.verdict.energy if self.plan else outcome.bound))
        self._say("done")
        return None

    def _none(self):
        """The formulation has no plan: true of its plan space, unless we hold one."""
        if self.plan is not None:
            self._raise(self.verdict.energy)
        if self.plan is not None or self.space.share:
            return None
        return refuse(self.graph, self.budget, self.space, _REFUSE_S)
