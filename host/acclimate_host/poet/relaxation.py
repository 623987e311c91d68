# SPDX-License-Identifier: MIT
"""The LP relaxation of a program with only the rows that matter: others come in when broken.

Of the tens of thousands of rows of a program and its cuts, some hundred decide where the
optimum of the relaxation is. The solver gets the rows that the solution before breaks, until
none is broken; rows without a dual value leave again. The bound is valid at any moment. The
running memory is written out, so that a row does not need the chain of those before it.
"""

import math
import threading

import numpy as np

from . import highs

_BROKEN = 1e-6
_ROUND = 2000  # most rows that come in at once, worst first
_IDLE = 5  # solves without a dual value, after which a row leaves


class Table:
    """Rows low <= sum of coefficient times column <= high, in arrays; they can only be added.

    chain, place: rows in a chain, each of which hands on what the one before it lets through,
    have the chain's number and their place in it; others -1 and 0. lock: for who adds rows, or
    reads them while another thread may add some.
    """

    def __init__(self):
        self.low, self.high = np.zeros(0), np.zeros(0)
        self.chain, self.place = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
        self.lock = threading.RLock()
        self.start = np.zeros(1, dtype=np.int64)
        self.column, self.value = np.zeros(0, dtype=np.int32), np.zeros(0)

    def __len__(self):
        return len(self.low)

    def add(self, rows, chain=None, place=None):
        """Append rows (terms, low, high), terms being (column, coefficient), never empty."""
        columns = [column for terms, _, _ in rows for column, _ in terms]
        values = [value for terms, _, _ in rows for _, value in terms]
        chain = np.full(len(rows), -1) if chain is None else chain
        place = np.zeros(len(rows)) if place is None else place
        with self.lock:
            ends = self.start[-1] + np.cumsum([len(terms) for terms, _, _ in rows])
            self.column = np.concatenate([self.column, np.array(columns, dtype=np.int32)])
            self.value = np.concatenate([self.value, np.array(values, dtype=float)])
            self.low = np.concatenate([self.low, [low for _, low, _ in rows]])
            self.high = np.concatenate([self.high, [high for _, _, high in rows]])
            self.chain = np.concatenate([self.chain, np.array(chain, dtype=np.int32)])
            self.place = np.concatenate([self.place, np.array(place, dtype=np.int32)])
            self.start = np.concatenate([self.start, ends.astype(np.int64)])

    def activity(self, values):
        """Sum of each row for these values of the columns."""
        return np.add.reduceat(self.value * values[self.column], self.start[:-1])

    def row(self, number):
        """(terms, low, high) of one row."""
        span = slice(self.start[number], self.start[number + 1])
        terms = list(zip(self.column[span].tolist(), self.value[span].tolist(), strict=True))
        return terms, float(self.low[number]), float(self.high[number])


def table_of(program):
    """(table, numbers): a program's rows, the continuous columns (running memory) written out.

    numbers: number in the table of each of the program's rows, -1 for what only defines memory.
    """
    whole = program.integer
    rows, chains, places, numbers, running = [], [], [], [], {}
    length = {}
    for number, (low, high) in enumerate(zip(program.row_low, program.row_high, strict=True)):
        terms = program.terms(number)
        plain = [(column, value) for column, value in terms if whole[column]]
        numbers.append(-1)
        if len(plain) < len(terms) and low == high:  # the memory after a step: a definition
            for column, value in plain:
                left = running.pop(column, 0.0) - value
                if abs(left) > 1e-12:
                    running[column] = left
            continue
        if len(plain) < len(terms):
            total = dict(running)
            for column, value in plain:
                total[column] = total.get(column, 0.0) + value
            plain = list(total.items())
        if plain or low > 0 or high < 0:
            numbers[-1] = len(rows)
            rows.append((plain or [(0, 0.0)], low, high))
            chain = program.chain[number]
            chains.append(chain)
            places.append(length.get(chain, 0))
            length[chain] = places[-1] + 1
    table = Table()
    table.add(rows, chains, places)
    return table, np.array(numbers, dtype=np.int64)


class Lazy(highs.Relaxation):
    """LP relaxation over a table of rows; column bounds and rows of groups change in between.

    table: rows that hold everywhere, shared by all relaxations that use it. groups: (cost,
    columns) of what this relaxation can limit the sum of, shared too.
    """

    def __init__(self, program, table, groups, watch):
        super().__init__(program, watch, rows=False)
        self.table, self.groups = table, groups
        self.lines = np.zeros(0, dtype=np.int64)  # number in the table, or -1 - group
        self.idle = np.zeros(0, dtype=np.int64)
        self.limits = {}
        self.high[~self.whole] = self.low[~self.whole]  # no row has the running memory
        number = np.flatnonzero(~self.whole).astype(np.int32)
        self.solver.changeColsBounds(len(number), number, self.low[number], self.high[number])

    def place(self, low, high, limits):
        """Take bounds of the columns and {group: (low, high)} for the sums of groups."""
        changed = np.flatnonzero((low != self.low) | (high != self.high)).astype(np.int32)
        self.low, self.high = low.copy(), high.copy()
        if len(changed):
            self.solver.changeColsBounds(len(changed), changed, low[changed], high[changed])
        for group in {*self.limits, *limits}:
            bounds = limits.get(group, (-math.inf, math.inf))
            if bounds != self.limits.get(group, (-math.inf, math.inf)):
                self._limit(group, *bounds)
        self.limits = dict(limits)

    def _limit(self, group, low, high):
        at = np.flatnonzero(self.lines == -1 - group)
        if len(at):
            self.solver.changeRowBounds(int(at[0]), low, high)
        else:
            terms = [(int(column), 1.0) for column in self.groups[group][1]]
            self._add([(terms, low, high)], [-1 - group])

    def solve(self, cutoff=math.inf):
        """Outcome with the rows that are there; reduced costs in the units of the costs.

        cutoff: where the bound gets above it, the solve may end early, without values.
        """
        most = (cutoff - self.program.offset) * self.scale
        self.solver.setOptionValue("objective_bound", min(most, 1e200))
        outcome = highs.solve_lp(self.solver, self.watch)
        outcome.bound = outcome.bound / self.scale + self.program.offset
        outcome.objective = outcome.bound
        if outcome.status == "optimal":
            outcome.reduced /= self.scale
            idle = (np.abs(outcome.dual) < 1e-9) & (self.lines >= 0)
            self.idle = np.where(idle, self.idle + 1, 0)
        return outcome

    def complete(self, values):
        """Bring in the rows of the table that these values break; return how many."""
        with self.table.lock:
            fresh = self._with_chains(self._broken(values))
            rows = [self.table.row(number) for number in fresh]
        if rows:
            self._purge()
            self._add(rows, fresh)
        return len(rows)

    def _broken(self, values):
        total = self.table.activity(values)
        excess = np.maximum(self.table.low - total, total - self.table.high)
        excess[self.lines[self.lines >= 0]] = 0.0
        fresh = np.flatnonzero(excess > _BROKEN)
        if len(fresh) > _ROUND:
            fresh = fresh[np.argsort(-excess[fresh], kind="stable")[:_ROUND]]
        return fresh

    def _with_chains(self, fresh):
        """These rows and the parts of their chains before them, which would be broken next."""
        chain, place = self.table.chain, self.table.place
        linked = fresh[chain[fresh] >= 0]
        if not len(linked):
            return fresh
        reach = np.full(chain.max() + 1, -1)
        np.maximum.at(reach, chain[linked], place[linked])
        before = (chain >= 0) & (place < reach[chain])
        before[self.lines[self.lines >= 0]] = False
        return np.union1d(fresh, np.flatnonzero(before))

    def bring(self, numbers):
        """Give rows of the table to the solver."""
        if len(numbers):
            self._add([self.table.row(number) for number in numbers], numbers)

    def _add(self, rows, lines):
        self.add(rows)
        self.lines = np.concatenate([self.lines, np.array(lines, dtype=np.int64)])
        self.idle = np.concatenate([self.idle, np.zeros(len(rows), dtype=np.int64)])

    def _purge(self):
        """Let rows go that had no dual value for long; the basis stays."""
        gone = self.idle > _IDLE
        if np.count_nonzero(gone) < max(200, 0.2 * len(self.lines)):
            return
        basis = self.solver.getBasis()
        gone &= np.array([status == highs.BASIC for status in basis.row_status])
        number = np.flatnonzero(gone).astype(np.int32)
        self.solver.deleteRows(len(number), number)
        basis.row_status = [s for s, out in zip(basis.row_status, gone, strict=True) if not out]
        self.solver.setBasis(basis)
        self.lines, self.idle = self.lines[~gone], self.idle[~gone]
