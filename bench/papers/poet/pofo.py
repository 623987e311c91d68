# SPDX-License-Identifier: MIT
"""Beaumont, Eyraud-Dubois, Shilova (NeurIPS 2021), "POFO": recompute and offload on chains.

Dynamic programming over sub-chains and memory, for the least time. A sub-chain either runs its
first block and keeps all of it, or runs to a later cut and comes back; what it leaves behind
(the block, or its start) stays in RAM or is offloaded and read back. Memory is counted in
`slots` parts of the budget, sizes rounded up. Where transfers run beside the computation, the
time that they add is not known beforehand: shares of it are tried, and the best plan is kept.
"""

from functools import lru_cache

import numpy as np

from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.problem import Budget, PlanError
from bench.papers.poet.chen import best, keep_all
from bench.papers.poet.pofo_blocks import blocks
from bench.papers.poet.tape import Stuck, Tape

SLOTS = 200
_SHARES = {"serial": (1.0,), "overlapped": (1.0, 0.5, 0.2, 0.0), "compute": (0.0,)}


def pofo(graph, budget, clock="serial", slots=SLOTS):
    """Plan of least time among the hierarchical ones; Stuck where none fits."""
    if clock not in _SHARES:
        raise PlanError(f"unknown clock {clock!r}; there are {', '.join(_SHARES)}")
    may_page = budget.aux_bytes != 0
    room = budget.ram_bytes - graph.resident_bytes
    plans = []
    for share in _SHARES[clock]:
        table = _Table(blocks(graph), room, slots, share, may_page)
        if table.feasible():
            plans.append(_Emitter(graph, table).plan())
    if _fits(graph, room):
        plans.append(keep_all(graph))
    if not plans:
        raise Stuck(f"no chain plan fits {budget.ram_bytes} bytes of RAM")
    return best(graph, budget, plans, clock)


def _fits(graph, room):
    verdict = evaluate(graph, Budget(graph.resident_bytes + room), keep_all(graph))
    return verdict.valid


class _Table:
    """cost(s, t, stored): least time for each number of slots, blocks s to t - 1."""

    def __init__(self, chain, room, slots, share, may_page):
        self.chain, self.slots, self.share, self.may_page = chain, slots, share, may_page
        self.unit = max(room, 1) / slots
        self.solve = lru_cache(maxsize=None)(self._solve)

    def feasible(self):
        """Whether the whole chain fits."""
        return np.isfinite(self.solve(0, len(self.chain), False)[0][self.slots])

    def units(self, size):
        """Slots for so many bytes, rounded up (a hair of tolerance for the division)."""
        return int(np.ceil(size / self.unit - 1e-9))

    def gradient(self, t):
        """Slots of the gradients that wait behind block t - 1 while something else runs."""
        return self.units(self.chain[t - 1].gradient_bytes) if t < len(self.chain) else 0

    def _lowered(self, values, need, charge):
        """values at (m - charge) where m >= need, else infinity."""
        out = np.full(self.slots + 1, np.inf)
        if charge <= self.slots:
            out[charge:] = values[: self.slots + 1 - charge]
        out[: min(need, self.slots + 1)] = np.inf
        return out

    def _solve(self, s, t, stored):
        """(times, choices): a choice is (kind, where to, offload)."""
        first = self.chain[s]
        turn = self.units(first.backward_bytes)
        if t == s + 1:
            whole = np.full(self.slots + 1, first.forward_time + first.backward_time)
            return self._lowered(whole, turn, 0), None
        options, names = [], []

        def offer(values, *name):
            options.append(values)
            names.append(name)

        waits = self.gradient(t)
        again = first.start_transfer[1] + (0.0 if stored else first.start_transfer[0])
        right = self.solve(s + 1, t, False)[0] + first.forward_time + first.backward_time
        need = max(turn, self.units(first.forward_bytes) + waits)
        offer(
            self._lowered(right, need, self.units(first.start_bytes + first.inner_bytes)),
            "keep",
            s + 1,
            False,
        )
        if self.may_page:
            pay = self.share * (again + first.inner_transfer)
            offer(self._lowered(right + pay, need, 0), "keep", s + 1, True)
        time, peak = 0.0, 0
        for j in range(s + 1, t):
            time += self.chain[j - 1].forward_time
            beside = first.start_bytes if j - 1 > s else 0
            peak = max(peak, self.units(self.chain[j - 1].advance_bytes + beside))
            right = self.solve(j, t, False)[0] + time
            left = self.solve(s, j, stored)[0]
            offer(
                self._lowered(right, peak + waits, self.units(first.start_bytes)) + left,
                "run",
                j,
                False,
            )
            if self.may_page:
                left = self.solve(s, j, True)[0] + self.share * again
                offer(self._lowered(right, peak + waits, 0) + left, "run", j, True)
        table = np.array(options)
        pick = table.argmin(axis=0)
        return table[pick, np.arange(self.slots + 1)], [names[i] for i in pick]


class _Emitter:
    def __init__(self, graph, table):
        self.tape, self.table, self.chain = Tape(graph), table, table.chain

    def plan(self):
        """The plan that the table's choices make."""
        for v in range(self.chain[0].start + 1):
            self.tape.first(v)
        self._emit(0, len(self.chain), False, self.table.slots)
        return self.tape.plan()

    def _emit(self, s, t, stored, room):
        choices = self.table.solve(s, t, stored)[1]
        first, tape = self.chain[s], self.tape
        if choices is None:
            self._run(first)
            self._turn(first)
            return
        kind, to, offload = choices[room]
        if kind == "keep":
            self._run(first)
            left = [first.start, *first.kept]
            charge = 0 if offload else self.table.units(first.start_bytes + first.inner_bytes)
            if offload:
                self._away(left)
            self._emit(to, t, False, room - charge)
            self._turn(first)
            return
        for block in self.chain[s:to]:
            self._advance(block, first.start)
        if offload:
            self._away([first.start])
        charge = 0 if offload else self.table.units(first.start_bytes)
        self._emit(to, t, False, room - charge)
        if self.chain[to].start in tape.here:
            tape.free(self.chain[to].start)
        if first.start not in tape.here:
            tape.fetch([first.start])
        self._emit(s, to, stored or offload, room)

    def _away(self, nodes):
        for v in nodes:
            if self.tape.waiting[v] or v == nodes[0]:
                self.tape.store(v)
            self.tape.free(v)

    def _run(self, block):
        tape = self.tape
        for v in block.nodes:
            if v not in tape.here:
                tape.first(v)
            for u in block.nodes[:-1]:
                idle = not any(u in tape.deps[w] for w in block.nodes if w > v)
                if u in tape.here and u <= v and idle and u not in block.kept:
                    tape.free(u)

    def _advance(self, block, keep):
        tape = self.tape
        for v in block.nodes:
            if v not in tape.here:
                tape.compute(v)
            for u in (block.start, *block.nodes[:-1]):
                idle = not any(u in tape.deps[w] for w in block.nodes if w > v)
                if u in tape.here and u != keep and u <= v and idle:
                    tape.free(u)

    def _turn(self, block):
        tape = self.tape
        tape.pinned = {v for v in tape.here if v <= block.start}
        for v in block.gradients:
            tape.first(v)
            tape.sweep()
        for v in block.nodes:
            if v in tape.here:
                tape.free(v)
