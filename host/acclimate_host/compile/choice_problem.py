# SPDX-License-Identifier: MIT
"""The integer program of choices: one option of each group, fewest instructions within a budget.

Where each group's cheapest option that fits alone fits together with the others', that is the
optimum. Else HiGHS solves it, and where that is not installed a repair gives a solution, and the
sum of the cheapest that fit alone a bound.
"""

from dataclasses import dataclass

import numpy as np


class Infeasible(Exception):
    """No choice keeps within the budget."""


@dataclass(frozen=True)
class Solution:
    """A Choice, its instructions, its most live bytes, and what no other choice can beat."""

    choice: object
    cost: float
    live: int
    bound: float


class Problem:
    """Fronts (choice_space), one of which is taken."""

    def __init__(self, fronts):
        self.fronts = [f if isinstance(f, Arrays) else Arrays(f) for f in fronts]

    def solve(self, budget=None):
        """Return the Solution of the fewest instructions whose live bytes keep within `budget`.

        :raises Infeasible: when there is none
        """
        limit = np.inf if budget is None else budget
        bounds = sorted(
            ((front.bound(limit), i) for i, front in enumerate(self.fronts)), key=lambda b: b[0]
        )
        best, proven = None, np.inf
        for bound, i in bounds:
            if bound == np.inf or (best is not None and bound >= best.cost):
                break
            found = self.fronts[i].solve(limit)
            if found is None:
                continue
            proven = min(proven, found.bound)
            if best is None or (found.cost, found.live) < (best.cost, best.live):
                best = found
        if best is None:
            raise Infeasible
        return Solution(best.choice, best.cost, best.live, min(proven, best.cost))

    def least(self):
        """Return the smallest budget, in bytes, that has a solution."""
        low, high = 0, self.solve().live
        while low + 4 < high:
            middle = (low + high) // 8 * 4
            try:
                high = min(self.solve(middle).live, middle)
            except Infeasible:
                low = middle
        return high


class Arrays:
    """A Front as arrays: instructions and bytes of each option."""

    def __init__(self, front):
        self.front = front
        places = list(front.bytes)
        self.base = np.array([front.bytes[place] for place in places], float)
        self.costs = [np.array([o.cost for o in group]) for group in front.groups]
        self.bytes = [
            np.array([[o.bytes.get(place, 0) for place in places] for o in group], float)
            for group in front.groups
        ]
        self.least = [matrix.min(axis=0) for matrix in self.bytes]
        self.floor = self.base + sum(self.least, np.zeros(len(places)))

    def _alone(self, limit):
        """Return for each group which options fit where all others take their least bytes."""
        return [
            ((self.floor - least + matrix) <= limit).all(axis=1)
            for matrix, least in zip(self.bytes, self.least, strict=True)
        ]

    def bound(self, limit):
        """Return instructions that no choice of this front can beat, infinity for none."""
        if (self.floor > limit).any():
            return np.inf
        fits = self._alone(limit)
        if not all(fit.any() for fit in fits):
            return np.inf
        cheapest = [costs[fit].min() for costs, fit in zip(self.costs, fits, strict=True)]
        return self.front.cost + float(sum(cheapest))

    def solve(self, limit):
        """Return the best Solution of this front within `limit`, or None."""
        picks = [
            int(np.argmin(np.where(fit, costs, np.inf)))
            for costs, fit in zip(self.costs, self._alone(limit), strict=True)
        ]
        bound = self.bound(limit)
        if (self._live(picks) > limit).any():
            exact, picks = self._highs(limit)
            if picks is None:
                return None
            bound = self._cost(picks) if exact else bound
        options = [group[pick] for group, pick in zip(self.front.groups, picks, strict=True)]
        live = int(self._live(picks).max())
        return Solution(self.front.choice(options), self._cost(picks), live, bound)

    def _live(self, picks):
        return self.base + sum(
            (matrix[pick] for matrix, pick in zip(self.bytes, picks, strict=True)),
            np.zeros(len(self.base)),
        )

    def _cost(self, picks):
        return self.front.cost + float(
            sum(costs[pick] for costs, pick in zip(self.costs, picks, strict=True))
        )

    def _highs(self, limit):
        """Return (whether it is the optimum, picks or None)."""
        try:
            import highspy
        except ImportError:
            return False, self._repaired(limit)
        solver = highspy.Highs()
        solver.silent()
        variables = [[solver.addBinary() for _ in costs] for costs in self.costs]
        for group in variables:
            solver.addConstr(sum(group) == 1)
        for place, base in enumerate(self.base):
            terms = [
                (float(matrix[o, place]), variables[g][o])
                for g, matrix in enumerate(self.bytes)
                for o in range(len(matrix))
                if matrix[o, place]
            ]
            if terms:
                solver.addConstr(sum(size * x for size, x in terms) <= limit - base)
        total = [
            float(cost) * x
            for group, costs in zip(variables, self.costs, strict=True)
            for x, cost in zip(group, costs, strict=True)
        ]
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.minimize(sum(total))
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return True, None
        values = [[solver.val(x) for x in group] for group in variables]
        return True, [int(np.argmax(group)) for group in values]

    def _repaired(self, limit):
        """Take, place by place that is over, the option that saves most bytes an instruction."""
        picks = [
            int(np.argmin(np.where(fit, costs, np.inf)))
            for costs, fit in zip(self.costs, self._alone(limit), strict=True)
        ]
        for _ in range(sum(map(len, self.costs))):
            over = self._live(picks) - limit
            if (over <= 0).all():
                return picks
            place = int(np.argmax(over))
            best = None
            for g, matrix in enumerate(self.bytes):
                for o, row in enumerate(matrix):
                    saved = matrix[picks[g], place] - row[place]
                    if saved > 0:
                        price = (self.costs[g][o] - self.costs[g][picks[g]]) / saved
                        best = min(best or (np.inf, 0, 0), (price, g, o))
            if best is None:
                return None
            picks[best[1]] = best[2]
        return None
