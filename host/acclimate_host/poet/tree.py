# SPDX-License-Identifier: MIT
"""Branch and cut over counts, for gaps that branching on single columns closes too slowly.

What a plan costs is decided by how often each tensor is computed again, written and read back,
not by where. So the tree limits these sums: at most k, or at least k + 1. Every node finds path
cuts and RAM cuts of its own (they hold everywhere, so all nodes share them) and fixes columns by
reduced costs. Only rows that matter are in its linear program (see relaxation.Lazy). Where the
dear counts are whole, the tree also decides until which stage they happen (shares). Threads take
the open node with the least bound; what is left without a fractional count is a small program
for the MIP solver. Now and then one thread looks for a plan near a node's relaxation (hints).
"""

import heapq
import math
import threading
import time
from dataclasses import dataclass, field

import numpy as np

from . import highs
from .model import Program
from .relaxation import Lazy, table_of

_FEW = 100  # broken rows, from when on new cuts are looked for
_ROUNDS, _PAYS = 8, 0.002  # so many rounds must close that share of what is open
_TRIED = 4  # candidates whose two sides are tried out at most
_FRACTION = 1e-4
_CHEAP = 1e-4  # share of the dearest cost, below which a count is not branched on
_DEAR = 0.01  # weight of a candidate against the dearest cost, from when it counts
_MINOR = 0.05  # candidates whose weight is less than this share of the first one's wait
_HINTS, _LOOKED = 0.2, (2, 4, 8)  # share of the time, and depths, for walks led by a node
_INSIDE = 0.999  # of the gap that is asked for, so that rounding does not reopen it
_LEAF_S = 20.0  # for the MIP solver on one node
_LOOK_S = 1.0  # for walks at a time


@dataclass(order=True)
class Subproblem:
    """A part of the plans: bounds of the columns, and of sums {group: (low, high)}."""

    bound: float
    depth: int
    low: object = field(compare=False)
    high: object = field(compare=False)
    limits: dict = field(compare=False)
    branched: tuple | None = field(compare=False, default=None)  # (group, up, by how much)
    tried: bool = field(compare=False, default=False)  # by the MIP solver, in vain


def groups_of(model):
    """(cost, columns) of each count: tensors computed again, written or read back.

    Counts of one tensor, and of all tensors that cost the same: where they can stand for each
    other, only the sum of their counts moves the bound.
    """
    again, back = {}, {}
    for p, x in enumerate(model.x):
        if x is not None:
            again.setdefault(model.positions.node[p], []).append(x)
        for event in model.events[p]:
            if event.page_in is not None:
                back.setdefault(event.tensor, []).append(event.page_in)
    kinds = (again, back, {i: [column] for i, column in model.out.items()})
    cost, found = model.program.cost, []
    for counts in kinds:
        alike = {}
        for columns in counts.values():
            found.append((cost[columns[0]], np.array(columns)))
            alike.setdefault(f"{cost[columns[0]]:.2g}", []).append(columns)
        found += [
            (cost[same[0][0]], np.concatenate(same)) for same in alike.values() if len(same) > 1
        ]
    least = _CHEAP * max((c for c, _ in found), default=0.0)
    return [(c, columns) for c, columns in found if c > least]


class Tree:
    """The open nodes, and what their workers share.

    best: function to the energy of the best plan; offer: called with the plans that a solution
    may mean; tell: called with a new bound; look: called with the values of a node's relaxation
    and a watch, to look for better plans. Nodes within gap (relative) of the best are closed.
    """

    def __init__(self, root, gap, best, offer, tell, look):
        self.root, self.gap, self.best, self.offer, self.tell = root, gap, best, offer, tell
        self.look = look
        self.groups = groups_of(root.model)
        self.counts = len(self.groups)  # groups after these are shares of counts
        self.shares = {}  # (group, how many of its columns): number of the share
        self.table, numbers = table_of(root.model.program)
        self.first = numbers[root.needed]
        if root.spare:
            self.table.add(root.spare)
        low, high = root.limits
        whole = root.relaxation.whole
        start = Subproblem(
            root.outcome.bound,
            0,
            np.where(whole, low, 0).astype(np.int8),
            np.where(whole, high, 0).astype(np.int8),
            {},
        )
        self.open, self.active, self.bound = [start], {}, start.bound
        self.floor = math.inf  # least bound of what was closed with a plan that was refused
        self.gains = {}  # (group, up): [sum of gains per unit, how many]
        self.hints = [root.outcome.values]  # where to look for better plans
        self.began, self.followed, self.follows = time.monotonic(), 0.0, False
        self.change = threading.Condition()
        self.ended, self.fault, self.nodes, self.threads = False, None, 0, 1

    def cutoff(self):
        """Bound from which on a node is closed."""
        return self.best() * (1 - _INSIDE * self.gap)

    def run(self, watch, threads):
        """Search until all is closed or the watch ends it; return the bound."""
        self.threads = threads
        workers = [
            threading.Thread(target=self._work, args=(number, watch), daemon=True)
            for number in range(threads)
        ]
        for worker in workers:
            worker.start()
        while any(worker.is_alive() for worker in workers):
            try:
                with self.change:
                    self.change.wait(0.2)
                self.tell(self.bound)
            except KeyboardInterrupt:
                watch.stop = True
        if self.fault is not None:
            raise self.fault
        return self.bound

    def _work(self, number, watch):
        try:
            worker = _Worker(self, watch)
            if number == self.threads - 1:
                self._follow(worker)  # while another takes the first node apart
            while (node := self._next(number, watch)) is not None:
                self._close(number, worker.split(node))
                self._follow(worker)
        except BaseException as fault:  # told to the thread that waits
            self.fault = fault
        with self.change:
            self.ended = True
            self.change.notify_all()

    def _follow(self, worker):
        """Look for a plan where a hint says, unless that has taken its share of the time.

        One thread at a time: walks learn from those before.
        """
        now = time.monotonic()
        with self.change:
            took_share = self.followed > _HINTS * (now - self.began)
            if not self.hints or self.follows or took_share:
                return
            hint = self.hints.pop() if len(self.hints) > 1 else self.hints[0]
            self.follows = True
        try:
            self.look(hint, worker.watch.part(_LOOK_S))
        finally:
            with self.change:
                self.follows = False
                self.followed += time.monotonic() - now

    def _next(self, number, watch):
        """The open node with the least bound, or None at the end."""
        with self.change:
            while not self.open and self.active and not self.ended:
                self.change.wait(0.2)
            if self.ended or not self.open or watch.stop or not watch.left():
                return None
            if self.open[0].bound >= self.floor:  # no more can be proven
                return None
            node = heapq.heappop(self.open)
            self.active[number] = node.bound
            self.nodes += 1
            return node

    def _close(self, number, children):
        with self.change:
            del self.active[number]
            for child in children:
                if child.bound <= self.cutoff():
                    heapq.heappush(self.open, child)
            bounds = [*self.active.values(), *(node.bound for node in self.open[:1])]
            self.bound = max(self.bound, min([*bounds, self.cutoff(), self.floor]))
            self.change.notify_all()

    def take(self, values, bound=math.inf):
        """Offer the plan that values of the columns describe.

        bound: of a node that is closed by it; where the plan is not taken (it is late with its
        paging beside the computing), no more is proven than that.
        """
        with self.change:
            self.offer(self.root.model.plans(values))
            if bound < self.cutoff():
                self.floor = min(self.floor, bound)

    def share(self, group, first):
        """Number of the group of the first columns of a group: how often until some stage."""
        with self.change:
            if (group, first) not in self.shares:
                cost, columns = self.groups[group]
                self.shares[group, first] = len(self.groups)
                self.groups.append((cost, columns[:first]))
            return self.shares[group, first]

    def learn(self, group, up, gain):
        """Note by how much the bound rose per unit that a count was moved."""
        with self.change:
            held = self.gains.setdefault((group, up), [0.0, 0])
            held[0] += gain
            held[1] += 1

    def expected(self, group, up):
        """Mean of what was learnt, or None."""
        held = self.gains.get((group, up))
        return held[0] / held[1] if held else None


class _Worker:
    """Takes nodes apart, in a thread of its own."""

    def __init__(self, tree, watch):
        self.tree, self.watch = tree, watch
        self.model = tree.root.model
        self.dearest = max((cost for cost, _ in tree.groups), default=0.0)
        self.lazy = Lazy(self.model.program, tree.table, tree.groups, watch)
        self.lazy.bring(np.unique(tree.first[tree.first >= 0]))

    def split(self, node):
        """The nodes that are left of this one."""
        self.lazy.place(node.low.astype(float), node.high.astype(float), node.limits)
        patient = False
        while True:
            outcome, complete = self._bounded(patient)
            if outcome.status == "stopped":
                return [node]
            cutoff = self.tree.cutoff()
            if outcome.status != "optimal" or outcome.bound > cutoff:
                self._learn(node, cutoff)
                return []
            self._learn(node, outcome.bound)
            node.bound = max(node.bound, outcome.bound)
            node.branched = None
            node.low = self.lazy.low.astype(np.int8)
            node.high = self.lazy.high.astype(np.int8)
            chosen = self._choose(node, outcome, cutoff)
            if node.depth in _LOOKED:
                self._hint(outcome.values)
            if chosen is not None and (node.tried or not chosen[2]):
                return self._children(node, *chosen[:2])
            if complete:
                return self._leaf(node, outcome, chosen)
            patient = True

    def _learn(self, node, bound):
        if node.branched is not None:
            group, up, moved = node.branched
            self.tree.learn(group, up, max(bound - node.bound, 0.0) / moved)

    def _bounded(self, patient):
        """(outcome, whether no row is broken) after rounds of broken rows and new cuts."""
        history = []
        while True:
            cutoff = self.tree.cutoff()
            outcome = self.lazy.solve(cutoff)
            if outcome.status != "optimal" or outcome.bound > cutoff:
                return outcome, True
            self.lazy.tighten(outcome, cutoff - outcome.bound)
            history.append(outcome.bound)
            came = self.lazy.complete(outcome.values)
            if came < _FEW or len(history) % _ROUNDS == 0:
                with self.tree.table.lock:
                    rows = self.tree.root.violated(outcome.values)
                    self.tree.table.add(rows)
                came += self.lazy.complete(outcome.values)
            if not came:
                return outcome, True
            if not patient and len(history) > _ROUNDS:
                if history[-1] - history[-1 - _ROUNDS] < _PAYS * (cutoff - history[-1]):
                    return outcome, False

    def _choose(self, node, outcome, cutoff):
        """(group, sum, whether all dear counts are whole) for a branch on a count, or None."""
        found = self._fractional(range(self.tree.counts), outcome.values)
        minor = not found or -found[0][0] < _DEAR * self.dearest
        if minor:
            found = sorted(found + self._fractional(self._shares(outcome.values), outcome.values))
        found = [row for row in found if row[0] < _MINOR * found[0][0]]
        room, best, tried = cutoff - outcome.bound, None, 0
        for _, group, total, part in found[: 3 * _TRIED]:
            gains = [self.tree.expected(group, False), self.tree.expected(group, True)]
            if None in gains:
                if tried == (_TRIED if node.depth < 3 else _TRIED // 2):
                    continue
                tried += 1
                gains = self._try(node, group, total, part, outcome.bound, cutoff)
            down, up = min(gains[0] * part, room), min(gains[1] * (1 - part), room)
            score = max(down, 1e-3 * room) * max(up, 1e-3 * room)
            if best is None or score > best[0]:
                best = (score, group, total, minor)
        return best and best[1:]

    def _fractional(self, groups, values):
        """(-weight, group, sum, its fraction) of the groups whose sum is no whole number."""
        found = []
        for group in groups:
            cost, columns = self.tree.groups[group]
            total = float(values[columns].sum())
            part = total - math.floor(total)
            if _FRACTION < part < 1 - _FRACTION:
                found.append((-cost * min(part, 1 - part), group, total, part))
        return sorted(found)

    def _shares(self, values):
        """Shares that halve what is done in fractions at several stages, of the dear counts."""
        found = []
        for group in range(self.tree.counts):
            cost, columns = self.tree.groups[group]
            if cost > _DEAR * self.dearest and len(columns) > 1:
                sums = np.cumsum(values[columns])
                parts = np.minimum(sums - np.floor(sums), np.ceil(sums) - sums)
                first = int(np.argmax(parts))
                if parts[first] > _FRACTION:
                    found.append(self.tree.share(group, first + 1))
        return found

    def _try(self, node, group, total, part, bound, cutoff):
        """Gains of the bound per unit on both sides, with the rows that are there."""
        gains = []
        for up, moved in ((False, part), (True, 1 - part)):
            self.lazy.place(self.lazy.low, self.lazy.high, _with(node.limits, group, up, total))
            outcome = self.lazy.solve(cutoff)
            closed = outcome.status != "optimal"
            gains.append((cutoff - bound if closed else max(outcome.bound - bound, 0.0)) / moved)
            if outcome.status != "stopped":
                self.tree.learn(group, up, gains[-1])
        self.lazy.place(self.lazy.low, self.lazy.high, node.limits)
        return gains

    def _children(self, node, group, total):
        part = total - math.floor(total)
        return [
            Subproblem(
                node.bound,
                node.depth + 1,
                node.low,
                node.high,
                _with(node.limits, group, side, total),
                (group, side, moved),
                node.tried,
            )
            for side, moved in ((False, part), (True, 1 - part))
        ]

    def _leaf(self, node, outcome, chosen):
        """What is left of a node whose dear counts are whole, after some time in the MIP solver.

        chosen: count to branch on if need be, or None.
        """
        parts = np.where(self.lazy.whole, np.abs(outcome.values - np.round(outcome.values)), 0.0)
        column = int(np.argmax(parts))
        if parts[column] < _FRACTION:
            self.tree.take(outcome.values, outcome.bound)
            return []
        if not node.tried:
            self._hint(outcome.values)
        if chosen is None and self._solved(node, *self._bounds(node)):
            return []
        node.tried, children = True, []
        if chosen is not None:
            return self._children(node, *chosen[:2])
        for value in (0, 1):
            low, high = node.low.copy(), node.high.copy()
            low[column] = high[column] = value
            children.append(
                Subproblem(node.bound, node.depth + 1, low, high, node.limits, tried=True)
            )
        return children

    def _hint(self, values):
        with self.tree.change:
            self.tree.hints.append(values)

    def _solved(self, node, low, high):
        """Whether the MIP solver has closed the node, with the cuts that its solutions break."""
        watch = self.watch.part(_LEAF_S)
        program = _limited(self.model.program, self.tree.groups, node.limits)
        while True:
            found = highs.minimise(
                program, watch, self.tree.gap * abs(node.bound), None, low, high
            )
            node.bound = max(node.bound, found.bound)
            closed = found.status != "stopped"
            rows = []
            if found.values is not None:
                with self.tree.table.lock:
                    rows = self.tree.root.violated(found.values)
                    self.tree.table.add(rows)
            if not rows:
                if found.values is not None:
                    self.tree.take(found.values, node.bound if closed else math.inf)
                return closed or node.bound > self.tree.cutoff()
            self.tree.take(found.values)
            for row in rows:
                program.row(*row)

    def _bounds(self, node):
        program, whole = self.model.program, self.lazy.whole
        return (np.where(whole, node.low, program.low), np.where(whole, node.high, program.high))


def _limited(program, groups, limits):
    """The program with rows for the limits."""
    copy = Program(
        *(list(part) if isinstance(part, list) else part for part in vars(program).values())
    )
    for group, (low, high) in limits.items():
        copy.row([(int(column), 1.0) for column in groups[group][1]], low, high)
    return copy


def _with(limits, group, up, total):
    """The limits with one more: the group's sum at most its floor, or at least its ceiling."""
    low, high = limits.get(group, (-math.inf, math.inf))
    bounds = (max(low, math.ceil(total)), high) if up else (low, min(high, math.floor(total)))
    return {**limits, group: bounds}
