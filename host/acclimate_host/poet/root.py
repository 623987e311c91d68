# SPDX-License-Identifier: MIT
"""The relaxation of a model with its cuts: bound, columns fixed by it, and rows for the search."""

import time

import numpy as np

from . import highs
from .cuts import Separator
from .ram_cuts import RamSeparator
from .stage_cuts import StageRamSeparator
from .stages import StageModel

_FIRST_CUTS, _CUTS = 500, 4000  # rows per round; few at first, to see whether they pay
_DEAR_S = 5.0  # computing for a round, from when it must pay
_LARGE = 100_000  # columns, from when each round must pay
_WORTH = 0.03  # least share of the gap that such a round must close in that time
_BINDING = 1e-6


class Root:
    """LP relaxation of a model, made tighter by path cuts and RAM cuts."""

    def __init__(self, model, watch):
        self.model, self.watch = model, watch
        self.relaxation = highs.Relaxation(model.program, watch)
        ram = StageRamSeparator if isinstance(model, StageModel) else RamSeparator
        self.separators = (Separator(model), ram(model))
        self.pool, self.outcome, self.short = [], None, True
        self.needed = []  # rows of the program, with its cuts, that have a dual value
        self.took = 0.0  # seconds of computing for the last solve
        self.large = len(model.program.cost) > _LARGE
        self.own = len(model.program.row_low)  # rows that are no cuts
        self.spare = []  # cuts that the program was not given, as they do not bind

    @property
    def limits(self):
        """(low, high) of the columns: what no better plan can have is left out."""
        return self.relaxation.low, self.relaxation.high

    def solve(self):
        """Solve once, without cuts; return the Outcome."""
        self.outcome = self._solved()
        return self.outcome

    def _solved(self):
        began = time.process_time()
        outcome = self.relaxation.solve()
        self.took = time.process_time() - began
        return outcome

    def tighten(self, energy):
        """Fix what no plan better than that energy can have, by the reduced costs."""
        if self.outcome.values is not None:
            room = energy - self.outcome.bound
            self.relaxation.tighten(self.outcome, room + 1e-9 * abs(energy))

    def violated(self, values):
        """Rows (terms, low, high) that hold for every plan and that these values break."""
        most = _CUTS if self.pool else _FIRST_CUTS
        infinite = highs.INFINITY
        rooms = [(terms, -infinite, high) for terms, high in self._ram(values, most)]
        if rooms and self.large:
            return rooms  # few rows, and whether the many pay is seen apart from them
        paths = self.separators[0].find(values, most, self.short)
        return rooms + [([(column, 1.0) for column in cut], 1.0, infinite) for cut in paths]

    def _ram(self, values, most):
        if isinstance(self.model, StageModel):
            return self.separators[1].find(values, most, lambda: not self.watch.left())
        return self.separators[1].find(values, most)

    def cut(self, watch, best, closed, tell):
        """Add violated cuts while that pays; return False where no (better) plan is left.

        watch: what ends it; best: function to the energy of the best plan or None; closed:
        whether the gap is; tell: called with each bound, the solution, and the seconds it took.
        """
        stalled = 0
        while not closed() and watch.left() and not self.watch.stop:
            energy = best()
            if energy is not None:
                self.tighten(energy)
            rows = self.violated(self.outcome.values)
            if not rows and not self.short:
                break
            if not rows:
                self.short = False
                continue
            self.relaxation.add(rows)
            self.pool += rows
            before, after = self.outcome.bound, self._solved()
            if after.status == "infeasible":
                return False
            if after.status == "stopped":
                break
            self.outcome = after
            tell(after.bound, after.values, self.took)
            wanted = (1.01 * before if energy is None else energy) - before
            gained = (after.bound - before) / max(wanted, 1e-30)
            stalled = stalled + 1 if gained < 0.1 * _WORTH else 0
            if self.large and gained < _WORTH:
                break
            if self.took > _DEAR_S and gained < _WORTH * self.took / _DEAR_S:
                break
            if stalled == 2:
                if not self.short:
                    break
                self.short, stalled = False, 0
        return True

    def settle(self):
        """Give the program the cuts that bind now, and no others."""
        values, program = self.outcome.values, self.model.program
        program.keep_rows(self.own)
        self.spare = []
        dual = np.abs(self.outcome.dual) > _BINDING
        self.needed = np.flatnonzero(dual[: self.own]).tolist()
        for (terms, low, high), needed in zip(self.pool, dual[self.own :], strict=False):
            total = sum(value * values[column] for column, value in terms)
            if total < low + _BINDING or total > high - _BINDING:
                if needed:
                    self.needed.append(len(program.row_low))
                program.row(terms, low, high)
            else:
                self.spare.append((terms, low, high))
        self.spare += self.pool[len(dual) - self.own :]

    def refused(self, values):
        """Cuts that whole values break: new ones, and those that the program was not given."""
        fresh = self.violated(values)
        self.pool += fresh
        if fresh:
            self.relaxation.add(fresh)
        old = [row for row in self.spare if _breaks(row, values)]
        self.spare = [row for row in self.spare if not _breaks(row, values)]
        for row in (*old, *fresh):
            self.model.program.row(*row)
        return fresh + old

    def supported(self):
        """Upper limits with which a plan only does what the relaxation does a share of."""
        low, high = self.limits
        return np.where(self.relaxation.whole & (self.outcome.values < _BINDING), low, high)


def _breaks(row, values):
    terms, low, high = row
    total = sum(value * values[column] for column, value in terms)
    return total < low - _BINDING or total > high + _BINDING
