# SPDX-License-Identifier: MIT
"""One solve, phase by phase: a plan at once, a bound for every plan, then a class of plans.

1. Greedy plans; the first ones cost milliseconds.
2. Small graphs: complete search over all plans.
3. The stage relaxation with its cuts, and branching on it: a bound for every plan. Walks go on
   beside it, led by what the relaxation keeps.
4. The formulation of a class of plans, where the stages alone do not decide (see positions).
"""

import math
import multiprocessing
import os
import threading
import time
from dataclasses import replace

from . import complete, cpsat, greedy, highs, pulp_solver
from .answer import Answer, Progress
from .column_values import tidy
from .evaluate import evaluate
from .model import build, exact_rows
from .positions import positions
from .problem import PlanError
from .root import Root
from .smallest import operator_need, refusal, refuse, smallest_ram
from .stages import stage_model
from .transfer import hide
from .tree import Tree

_PATIENT = 20  # times as many states where nothing else found a plan
_FIRST_S = 3.0  # walks before anything else, at most
_MANY = 100  # nodes, from when the tree pays at once
_BOUND_NODES = 15  # nodes for a second of the limit; with more of them a bound has no time
_HURRIED = 0.75  # share of such a limit for walks
_WALK_SHARE = 0.25  # of the time of the cuts, for walks
_CUT_S = 120.0  # most seconds for cuts
_COUNTED, _WIDE = 2_000, 2e-3  # columns and gap from which the tree is the better search
_PROGRAM_S = 60.0  # for the MIP solver before the tree
_CLASS_NODES = 200  # from which the formulation of a class is too large
_NEAR_S, _NEAR_SHARE = 30.0, 0.2  # for plans near the relaxation, and the share of the time
_TURN = 0.01  # share of the gap that another turn must close
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_REFUSE_S = 20.0  # for the smallest feasible RAM
_NEAR = 1.01  # a walk that costs more than this times the best is not tidied
_SAMPLED = 300  # walks after which it is known what tidying saves
_ALL = "all plans in the given order"


class Search:
    """The best plan so far, what bounds there are, and the phases that make them better.

    options: solver, gap, progress, seed, threads; watch: what ends the solve.
    """

    def __init__(self, graph, budget, space, watch, options):
        self.graph, self.budget, self.space, self.watch = graph, budget, space, watch
        self.options, self.gap = options, options.gap
        self.began, self.cpu = time.monotonic(), time.process_time()
        self.plan, self.verdict, self.first, self.told = None, None, None, 0.0
        self.bound = sum(node.compute_energy for node in graph.nodes)
        self.class_bound, self.exact, self.solver = -math.inf, False, options.solver
        self.class_empty = self.in_time = False
        self.walks = greedy.Search(graph, budget, space, options.seed)
        self.saved = 0.0  # the largest share that tidying has taken off a walk
        self.lock = threading.Lock()

    def run(self):
        """The answer; raises Infeasible or PlanError."""
        need, _ = operator_need(self.graph)
        least = sum(node.compute_time for node in self.graph.nodes)
        late = self.budget.deadline is not None and least > self.budget.deadline * (1 + 1e-9)
        if need > self.budget.ram_bytes or late:
            self._refuse()
        try:
            self._greedy()
            for phase in self._phases():
                if self._closed() or not self.watch.left() or self.watch.stop:
                    break
                phase()
        except KeyboardInterrupt:
            if self.plan is None:
                raise
        if self.plan is None:
            self._give_up()
        return self._answer()

    def _phases(self):
        heuristic = self.options.solver == "greedy"
        found = [self._walk_on] if heuristic else [self._stages, self._class]
        if self.space.clock == "overlapped":
            found.insert(0, self._narrower)
        if self.options.solver == "highs" and len(self.graph.nodes) <= complete.MOST_NODES:
            found.insert(0, self._complete)
        return found

    def _refuse(self):
        """No plan at all keeps the limits."""
        refuse(self.graph, self.budget, self.space, min(self.watch.left(), _REFUSE_S))

    def _give_up(self):
        if self._complete in self._phases() and self.watch.left() and not self.watch.stop:
            self._complete(_PATIENT)
            if self.plan is not None:
                return
        if self.class_empty:
            seconds = min(self.watch.left(), _REFUSE_S)
            found = smallest_ram(self.graph, self.budget, self.space, seconds)
            if found.plan is not None and self.offer(found.plan):
                return
            raise refusal(self.budget, found, False, f" among {self._words()}")
        if self.options.solver == "greedy" and self.watch.left():
            hint = "" if highs.available() else "; pip install 'acclimate[plan]' brings HiGHS"
            raise PlanError(f"the heuristic found no plan, which proves nothing{hint}")
        if self.watch.left() and not self.watch.stop:
            raise PlanError("no plan found, and not shown that there is none; give more RAM")
        spent = time.monotonic() - self.began
        raise PlanError(f"no plan found within {spent:.3g} s; give more time or RAM")

    def _answer(self):
        bound = min(self.bound, self.verdict.energy)
        proven = self._closed()
        class_bound = max(bound, min(self.class_bound, self.verdict.energy))
        class_proven = proven or self._within(class_bound)
        return Answer(
            self.plan,
            self.verdict.energy,
            bound,
            proven,
            self.verdict,
            time.monotonic() - self.began,
            self.solver,
            self._words() if class_proven and not proven else self._all_words(),
            class_bound=class_bound,
            class_proven=class_proven,
            ended=self._ended(proven or class_proven),
            cpu_seconds=time.process_time() - self.cpu,
        )

    def _ended(self, proven):
        if proven:
            return "proof"
        if self.watch.stop:
            return "interrupted"
        if self.watch.left():
            return "search"
        return "time_limit" if time.monotonic() >= self.watch.until else "cpu_limit"

    def _all_words(self):
        paging = self.space.paging or self.budget.aux_bytes == 0
        means = [] if paging else ["without paging"]
        means += [] if self.space.recompute else ["without computing again"]
        return " ".join([_ALL, " and ".join(means)]).strip()

    def _words(self):
        times = {1: "once", 2: "twice"}.get(self.space.rounds, f"{self.space.rounds} times")
        text = f"{self._all_words()} that compute a node again at most {times} a stage"
        if self.space.rounds == 1:
            text += ", in that order"
        else:
            text += f", in {self.space.rounds} rounds of that order"
        if self.space.window is not None:
            text += f", within {self.space.window} stages before a use"
        return text

    def _within(self, bound):
        return self.plan is not None and (
            self.verdict.energy - bound <= self.gap * self.verdict.energy
        )

    def _closed(self):
        return self._within(self.bound)

    def _energy(self):
        """Energy of the best plan, or None."""
        return self.verdict.energy if self.plan is not None else None

    # progress

    def _say(self, phase, bound=None):
        if self.options.progress is None:
            return
        bound = self.bound if bound is None else max(bound, self.bound)
        now = time.monotonic()
        said = Progress(phase, now - self.began, self._energy(), bound)
        self.options.progress(replace(said, eta_s=self._eta(phase, now, said.gap)))

    def _eta(self, phase, now, gap):
        """Seconds until the gap closes if it goes on shrinking as in this phase, or None."""
        if gap is None or phase != "branch and bound":
            return None
        if self.first is None:
            self.first = (now, gap)
        began, wide = self.first
        left = self.watch.left() if self.watch.left() < 1e8 else None
        if gap <= self.gap:
            return 0.0
        if now <= began or not 0 < gap < wide:
            return left
        more = (now - began) * math.log(gap / self.gap) / math.log(wide / gap)
        return more if left is None else min(more, left)

    def _tell(self, bound):
        """Progress of a search, every half second."""
        if time.monotonic() - self.told > 0.5:
            self.told = time.monotonic()
            self._say("branch and bound", bound)

    def _raise(self, bound):
        """Take a bound for every plan."""
        self.bound = max(self.bound, bound)
        self._say("relaxation")

    # plans

    def offer(self, steps):
        """Keep a plan if the evaluator takes it and it is better; return whether it took it."""
        plan = tidy(self.graph, steps)
        if self.space.clock == "overlapped":
            plan = hide(self.graph, self.budget, plan)
        verdict = evaluate(self.graph, self.budget, plan, self.space.clock)
        if not verdict.valid:
            return False
        with self.lock:  # the tree's threads offer plans at the same time
            if self.plan is None or verdict.energy < self.verdict.energy:
                self.plan, self.verdict = plan, verdict
        return True

    def _greedy(self):
        self.offer([("compute", node.id) for node in self.graph.nodes])
        if self._closed():
            return
        steps = greedy.paged(self.graph, self.budget, self.space)
        if steps is not None:
            self.offer(steps)
        if self.plan is not None:
            self._say("greedy")
        count, left = len(self.graph.nodes), self.watch.left()
        hurried = left < count / _BOUND_NODES
        seconds = _HURRIED * left if hurried else min(_FIRST_S, count / 50, 0.4 * left)
        self.walk(self.watch.part(seconds))
        self._say("greedy")

    def _narrower(self):
        """Walks with less RAM, so that no running operator's workspace is in the way."""
        if self.plan is not None:
            return
        most = max(node.workspace_bytes for node in self.graph.nodes)
        budget = replace(self.budget, ram_bytes=self.budget.ram_bytes - most)
        if budget.ram_bytes > 0:
            usual = self.walks
            self.walks = greedy.Search(self.graph, budget, self.space, self.options.seed)
            self.walk(self.watch.part(min(_FIRST_S, 0.1 * self.watch.left())))
            self.walks = usual

    def _walk_on(self):
        """Walks for as long as there is time, or for some seconds."""
        self.walk(self.watch.part(min(self.watch.left(), 5.0 + len(self.graph.nodes) / 50)))

    def walk(self, watch):
        """Walks until the watch ends."""
        tried = 0
        while watch.left() and not watch.stop and not self._closed():
            tried += 1
            found = self.walks.next()
            if found is None:
                if tried > 300 and self.plan is None:
                    break
                continue
            energy, best = found.spent, self._energy()
            if best is None or energy < self._tidied_below() * best:
                energy = self._score(found.plan())
                self.saved = max(self.saved, 1 - energy / max(found.spent, 1e-30))
            self.walks.learn(energy)

    def _tidied_below(self):
        """How much more than the best a walk may cost, to be tidied, or to be judged in time."""
        if self.budget.deadline is not None or self.walks.tries < _SAMPLED:
            return _NEAR
        return min(_NEAR, 1 + 2 * self.saved)

    def _score(self, steps):
        """Energy of a walk's plan; that of no plan, and how late it is, where it is refused."""
        plan = tidy(self.graph, steps)
        energy = greedy.energy_of(self.graph, plan)
        if self.plan is not None and self.budget.deadline is None and energy >= self._energy():
            return energy  # no better, valid or not
        if self.offer(plan):
            return energy
        verdict = evaluate(self.graph, replace(self.budget, deadline=None), plan)
        return greedy.LATE * (1 + verdict.serial_time)

    def look(self, values, watch):
        """Walks led by what a solution of the stage relaxation keeps; called in one thread."""
        model, keep = self.model, []
        for t in model.stage_of:
            staying = model.staying[t]
            keep.append({i: values[c] for i, c in staying.items() if values[c] > 1e-3})
        self.walks.guide(keep)
        self.walk(watch)

    # phases

    def _complete(self, times=1):
        """Search all plans; gives up where that takes so many times the usual states."""
        most = times * complete.MOST_STATES
        below = math.inf if self.plan is None else self.verdict.energy * (1 - 1e-12)
        try:
            found = complete.cheapest(
                self.graph, self.budget, self.space, below, most, lambda: not self.watch.left()
            )
        except complete.TooLarge:
            return
        if found is None and self.plan is None:
            self._refuse()
        if found is not None and not self.offer(found[1]):
            return  # the evaluator has the last word
        if found is None or found[0] >= self.verdict.energy * (1 - 1e-12):
            self.bound = self.verdict.energy
            self.solver = "complete search"
            self._say("done")

    def _stages(self):
        """The bound for every plan."""
        space = replace(self.space, window=None, rounds=1)
        places = positions(self.graph, self.budget, space)
        model = self.model = stage_model(self.graph, self.budget, space, places, self.watch)
        if model is None:
            return
        root = Root(model, self.watch)
        outcome = root.solve()
        if outcome.status == "infeasible":
            self._refuse_or_close()
        if outcome.status != "optimal":
            self._walk_on()
            return
        self._raise(outcome.bound)
        if not self._tightened(root):
            self._refuse_or_close()
            return
        if self._closed() or self.options.solver != "highs" or not self.watch.left():
            return
        if not self._is_wide(root):
            self._program(root)
        if self.exact or self._closed() or self.plan is None or not self.watch.left():
            return
        tree = Tree(root, self.gap, self._energy, self._offer_all, self._tell, self.look)
        self._raise(min(tree.run(self.watch, self.options.threads), self.verdict.energy))
        self._say("done")

    def _is_wide(self, root):
        """Whether the tree over counts is the better search."""
        gap = 1 - self.bound / self.verdict.energy if self.plan is not None else 0.0
        large = len(root.model.program.cost) > _COUNTED
        return large and gap > _WIDE and bool(root.model.again)

    def _goes_to_the_tree(self, root):
        """Whether the tree uses the time better than the search near the relaxation.

        That search pays in small graphs, which it decides, and where stages are joined: there the
        tree finds few plans.
        """
        joined = len(root.model.ends) < len(self.graph.nodes)
        middling = _MANY <= len(self.graph.nodes) <= _CLASS_NODES
        return self._is_wide(root) and not joined and middling

    def _tightened(self, root):
        """Cuts, then plans near the relaxation, in turn; False where no (better) plan is left."""
        watch = self.watch.part(min(_CUT_S, 0.5 * self.watch.left()))
        while True:
            before = root.outcome.bound, self._energy()
            if not root.cut(watch, self._energy, self._closed, self._between):
                return False
            root.settle()
            if not self._goes_to_the_tree(root):
                if not self._near(root):
                    return False
                self._near_class(root)
            wide = (self._energy() or math.inf) - before[0]
            raised = root.outcome.bound > before[0] + _TURN * wide
            if not watch.left() or self._closed() or not (raised or before[1] != self._energy()):
                return True

    def _near(self, root):
        """Plans that only do what the relaxation does a share of; False where none is left."""
        watch = self.watch.part(min(_NEAR_S, _NEAR_SHARE * self.watch.left()))
        while watch.left() and not watch.stop and not self._closed():
            gap = 0.1 * self.gap * abs(self.bound)
            program, high = root.model.program, root.supported()
            found = highs.minimise(program, watch, gap, None, root.limits[0], high)
            if found.values is None:
                break
            self._offer_all(root.model.plans(found.values))
            if not root.refused(found.values):
                break
        outcome = root.solve()
        if outcome.status == "optimal":
            self._raise(outcome.bound)
            root.tighten(self.verdict.energy if self.plan else math.inf)
            root.settle()
        return outcome.status != "infeasible"

    def _near_class(self, root):
        """The formulation of the class over what the relaxation recomputes in part."""
        model, values = root.model, root.outcome.values
        if self._closed() or not self.watch.left() or len(model.ends) < len(self.graph.nodes):
            return
        again = {key for key, column in model.again.items() if values[column] > 1e-6}
        space = replace(self.space, rounds=1)
        places = positions(self.graph, self.budget, space, lambda i, t: (i, t) in again)
        part = build(self.graph, self.budget, space, places)
        start = part.values_of(self.plan) if self.plan is not None else None
        watch = self.watch.part(min(_NEAR_S, _NEAR_SHARE * self.watch.left()))
        gap = 0.1 * self.gap * abs(self.bound)
        found = highs.minimise(part.program, watch, gap, start)
        if found.values is not None and self.offer(part.plan_of(found.values)):
            root.tighten(self.verdict.energy)

    def _between(self, bound, values, seconds):
        """After a round of cuts: the bound, and some walks beside it."""
        self._raise(bound)
        self.look(values, self.watch.part(max(0.05, _WALK_SHARE * seconds)))

    def _offer_all(self, plans):
        for steps in plans:
            self.offer(steps)

    def _refuse_or_close(self):
        """The relaxation has no (better) plan: true of every plan."""
        if self.plan is None:
            self._refuse()
        self._raise(self.verdict.energy)

    def _program(self, root):
        """The stages as a program for the MIP solver, with the cuts that its solutions break."""
        watch = self.watch.part(min(_PROGRAM_S, 0.4 * self.watch.left()))
        while watch.left() and not watch.stop:
            start = root.model.values_of(self.plan) if self.plan is not None else None
            gap = 0.9 * self.gap * abs(self.bound)
            outcome = highs.minimise(
                root.model.program, watch, gap, start, *root.limits, self._tell_program
            )
            if outcome.status == "infeasible":
                self._refuse_or_close()
                return
            self._raise(min(outcome.bound, self._energy() or outcome.bound))
            if outcome.values is not None:
                self._offer_all(root.model.plans(outcome.values))
            if self._closed() or outcome.values is None:
                return
            if not root.refused(outcome.values):
                self.exact = outcome.status == "optimal"  # the stages decide no more than this
                return

    def _tell_program(self, best, bound):
        self._say("branch and bound", bound)

    def _class(self):
        """A class of plans exactly; with overlap, count ever more of the paging until in time."""
        if len(self.graph.nodes) > _CLASS_NODES:
            return
        overlap = self.space.clock == "overlapped" and self.budget.deadline is not None
        for share in _SHARES if overlap else (0.0,):
            if self._within(self.class_bound) or not self.watch.left() or self.watch.stop:
                return
            self.space, self.in_time = replace(self.space, share=share), False
            self._exact()
            if self.in_time:
                return

    def _exact(self):
        places = positions(self.graph, self.budget, self.space)
        model = build(self.graph, self.budget, self.space, places)
        root = Root(model, self.watch)
        outcome = root.solve()
        if outcome.status == "infeasible":
            self._none()
            return
        if outcome.status == "stopped":
            return
        self._raise_class(outcome.bound)
        watch = self.watch.part(min(_CUT_S, 0.5 * self.watch.left()))
        if not root.cut(
            watch,
            self._energy,
            lambda: self._within(self.class_bound),
            lambda bound, *_: self._raise_class(bound),
        ):
            self._none()
            return
        root.settle()
        if not self._within(self.class_bound):
            self._branch(root)

    def _raise_class(self, bound):
        if not self.space.share:  # otherwise it is no bound
            self.class_bound = max(self.class_bound, bound)

    def _branch(self, root):
        """The MIP solver; a plan that breaks the RAM limit within its tolerances gets a row."""
        model = root.model
        while self.watch.left() and not self.watch.stop:
            outcome = self._minimised(root)
            if outcome.status == "infeasible":
                self._none()
                return
            rows = []
            if outcome.values is not None:
                self.in_time = self.offer(model.plan_of(outcome.values))
                rows = [] if self.in_time else exact_rows(model, outcome.values)
            if not rows:
                self._raise_class(outcome.bound)
                return
            for terms, high in rows:
                model.program.row(terms, high=high)

    def _minimised(self, root):
        model, limits = root.model, root.limits
        start = model.values_of(self.plan) if self.plan is not None else None
        gap = 0.9 * self.gap * abs(self.bound)
        tell = lambda best, bound: self._say("branch and bound")  # noqa: E731
        if self.options.solver == "cbc":
            return pulp_solver.minimise(model.program, "cbc", self.watch.left(), gap, *limits)
        if self.options.solver == "cpsat":
            return cpsat.minimise(model.program, self.watch, gap, start, *limits, tell)
        return highs.minimise(model.program, self.watch, gap, start, *limits, tell)

    def _none(self):
        """The formulation has no (better) plan: true of its class."""
        if self.space.share:
            return
        if self.plan is None:
            self.class_empty = True
        else:
            self.class_bound = self.verdict.energy


def processors():
    """Processors that this process may use; one where it is a worker beside others."""
    if multiprocessing.parent_process() is not None:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
