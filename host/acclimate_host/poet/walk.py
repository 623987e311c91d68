# SPDX-License-Identifier: MIT
"""One list schedule of many: its rules, in Python.

A walk computes the nodes in order. When room is needed, the tensor of the least score goes:
(what it costs to have it back)^a / (bytes^b x steps until its next use^c) x its own factor.
To have it back it is computed again, with its missing inputs, or written to storage and read
back, whichever is cheaper. Where a recomputation finds no room, the tensor is read back instead,
as if it had been written when it was made. So a walk only fails where tensors can neither be
paged nor computed again. Exponents, factors, and what a round trip is taken to cost are its draw.
With a deadline the costs hold a share of the time.

walk.c has the same rules for computers with a C compiler: with what is drawn for each, fourteen
times as many walks a second.
"""

import math

import numpy as np

from . import fast_walk
from .positions import pageable

NEVER = float("inf")
_DEEP = 40  # recomputations within each other
_LONG = 1000  # steps for each node: a longer walk is given up
_SMALL = 1e-30


class Facts:
    """The graph in lists, and its costs with a share of the time."""

    def __init__(self, graph, budget, space):
        nodes = graph.nodes
        self.graph, self.budget = graph, budget
        self.reads = [sorted({graph.index[d] for d in node.deps}) for node in nodes]
        self.uses = [[] for _ in nodes]
        for c, reads in enumerate(self.reads):
            for i in reads:
                self.uses[i].append(c)
        self.size = [node.ram_bytes for node in nodes]
        self.need = [node.ram_bytes + node.workspace_bytes for node in nodes]
        self.log_size = [math.log(max(size, 1)) for size in self.size]
        self.log_step = [0.0, *(math.log(k) for k in range(1, len(nodes) + 2))]
        self.again = [space.recompute and node.recomputable for node in nodes]
        self.paged = [pageable(graph, budget, space, i) for i in range(len(nodes))]
        self.readers = [[c for c in uses if self.again[c]] for uses in self.uses]
        # The same as bits, and who reads a tensor over any number of them.
        self.reader_bits = [sum(1 << c for c in readers) for readers in self.readers]
        self.below = list(self.reader_bits)
        for i in reversed(range(len(nodes))):
            for c in self.readers[i]:
                self.below[i] |= self.below[c]
        block = budget.erase_block_bytes if budget.erase_budget is not None else 0
        self.blocks = [-(-size // block) if block else 0 for size in self.size]
        alike = {}
        for i, node in enumerate(nodes):
            kind = (node.ram_bytes, node.compute_energy, len(self.reads[i]), len(self.uses[i]))
            alike.setdefault(kind, []).append(i)
        self.alike = {i: group for group in alike.values() for i in group}
        self.joules = [node.compute_energy for node in nodes]
        self.joules_in = [node.pagein_energy for node in nodes]
        self.joules_out = [node.pageout_energy for node in nodes]
        self.seconds = [
            np.array([getattr(node, kind + "_time") for node in nodes], float)
            for kind in ("compute", "pagein", "pageout")
        ]
        self.compiled = fast_walk.compiled(self, _DEEP, _LONG)
        self.weigh(0.0)

    def weigh(self, share):
        """Costs in units of everything once: energy, and that share of the time.

        To compute each tensor, to read it, to write and read it, and the cheaper way back.
        """
        joule = 1.0 / max(sum(self.joules), _SMALL)
        second = share / max(sum(self.seconds[0]), _SMALL)
        joules = (self.joules, self.joules_in, self.joules_out)
        compute, back, out = (
            np.array(energy) * joule + time * second
            for energy, time in zip(joules, self.seconds, strict=True)
        )
        trip = np.where(self.paged, back + out, NEVER)
        first_back = np.where(self.again, np.minimum(compute, trip), trip)
        self.costs = (compute, back, trip, first_back)

    def plan(self, steps, written):
        """Steps (kind, index) as (kind, id), what is written right after it was first made."""
        ids, found, made = [node.id for node in self.graph.nodes], [], set()
        for kind, i in steps:
            found.append((kind, ids[i]))
            if kind == "compute" and i not in made:
                made.add(i)
                if i in written:
                    found.append(("pageout", ids[i]))
        return found

    def walk(self, draw, guide=None, pull=0.0, most=None):
        """A walk, compiled where there is a compiler."""
        kind = Walk if self.compiled is None else fast_walk.FastWalk
        return kind(self, draw, guide, pull, most)


class Draw:
    """Exponents a, b, c, each tensor's factor (its logarithm), and the share of the time.

    factors: array of a number for each tensor. leans: {tensor: factor of what a round trip of it
    costs where it is weighed}.
    """

    def __init__(self, exponents, factors, share=0.0, leans=None):
        self.exponents, self.factors, self.share = exponents, factors, share
        self.leans = leans or {}


class Walk:
    """One list schedule.

    guide: None, or for each stage {tensor: how much it should stay}. most: None, or J that may
    have been spent after each stage. After `run` there are profile: J that were, and `spent`.
    """

    def __init__(self, facts, draw, guide=None, pull=0.0, most=None):
        self.facts, self.guide, self.pull = facts, guide, pull
        count = len(facts.size)
        self.a, self.b, self.c = draw.exponents
        self.base = (draw.factors - self.b * np.array(facts.log_size)).tolist()
        self.leans = draw.leans
        self.here, self.inside = bytearray(count), {}
        self.guard, self.written = [0] * count, set()
        self.compute, self.pagein, self.trip, self.back = (c.tolist() for c in facts.costs)
        self.cost, self.next = self.compute[:], [0] * count
        self.spent, self.profile, self.most = 0.0, [], most
        self.used, self.limit = facts.graph.resident_bytes, facts.budget.ram_bytes
        self.bytes_written = self.erased = 0
        self.steps, self.stage = [], 0
        self.gone = 0  # bits of the tensors that were freed and are read later
        self.lost = 0  # bits of all that were freed
        self.scores = [None] * count  # without the distance, while nothing changes them

    def run(self):
        """False where what was freed cannot be had again, or it became too dear or too long."""
        for t in range(len(self.here)):
            self.stage = t
            if not self._compute(t, 0):
                return False
            self.profile.append(self.spent)
            if self.most is not None and self.spent > self.most[t]:
                return False
            for i in self.facts.reads[t]:
                self.next[i] += 1
                if self.next[i] == len(self.facts.uses[i]):
                    self.gone &= ~(1 << i)
            for i in self.facts.reads[t]:
                if self.here[i] and self._use(i) is None and not self._wanted(i):
                    self._free(i)
        return not self._is_long()

    def _is_long(self):
        return len(self.steps) > _LONG * len(self.here)

    def plan(self):
        """Return its steps as (kind, id)."""
        return self.facts.plan(self.steps, self.written)

    def stored(self):
        """The tensors that it wrote, in order."""
        return sorted(self.written)

    def _compute(self, v, depth):
        """Compute v with what it reads; False where no room could be made."""
        reads, guard, here = self.facts.reads[v], self.guard, self.here
        for i in reads:
            guard[i] += 1
        done = not self._is_long() and all(here[i] or self._fetch(i, depth) for i in reads)
        if done and not here[v]:
            need = self.facts.need[v]
            done = self.used + need <= self.limit or self._room(need)
        for i in reads:
            guard[i] -= 1
        if done and not here[v]:
            self.spent += self.facts.joules[v]
            self._enter("compute", v)
        return done

    def _enter(self, kind, i):
        self.steps.append((kind, i))
        self.here[i] = 1
        there = ~(1 << i)
        self.gone &= there
        self.lost &= there
        self.inside[i] = None
        self.used += self.facts.size[i]
        self._spread(i)

    def _free(self, i):
        self.steps.append(("free", i))
        self.here[i] = 0
        self.lost |= 1 << i
        if self.next[i] < len(self.facts.uses[i]):
            self.gone |= 1 << i
        del self.inside[i]
        self.used -= self.facts.size[i]
        self._spread(i)

    def _spread(self, i):
        """Work out anew what depends on whether tensor i is there."""
        facts, here, back, stage = self.facts, self.here, self.back, self.stage
        readers, reads, compute, trips = facts.readers, facts.reads, self.compute, self.trip
        todo = [i]
        for v in todo:
            for u in readers[v]:
                if u > stage:
                    break
                cost = compute[u]
                for j in reads[u]:
                    if not here[j]:
                        cost += back[j]
                self.cost[u] = cost
                trip = self.pagein[u] if u in self.written else trips[u]
                if cost > trip:
                    cost = trip
                if cost != back[u]:
                    back[u] = cost
                    self.scores[u] = None
                    if not here[u]:
                        todo.append(u)

    def _fetch(self, i, depth):
        """Bring tensor i back into RAM; False where no room could be made."""
        facts = self.facts
        again = self.cost[i] if facts.again[i] and depth < _DEEP else NEVER
        trip = self.pagein[i] if i in self.written else self.trip[i]
        trip *= self.leans.get(i, 1.0)
        if again < trip and self._compute(i, depth + 1):
            return True
        if not self._store(i) or not self._room(facts.size[i]):
            return again >= trip and again < NEVER and self._compute(i, depth + 1)
        self.spent += facts.joules_in[i]
        self._enter("pagein", i)
        return True

    def _store(self, i):
        """Have tensor i written when it is made; whether the storage takes it."""
        facts, budget = self.facts, self.facts.budget
        if i in self.written:
            return True
        written, erased = self.bytes_written + facts.size[i], self.erased + facts.blocks[i]
        if not facts.paged[i] or (budget.aux_bytes is not None and written > budget.aux_bytes):
            return False
        if budget.erase_budget is not None and erased > budget.erase_budget:
            return False
        self.written.add(i)
        self.spent += facts.joules_out[i]
        self.back[i] = min(self.back[i], self.pagein[i])
        self.scores[i] = None
        self.bytes_written, self.erased = written, erased
        return True

    def _use(self, i):
        """Stage of the next first computation that reads tensor i, or None."""
        uses, at = self.facts.uses[i], self.next[i]
        return uses[at] if at < len(uses) else None

    def _wanted(self, i):
        """Whether tensor i is an ancestor of something missing that is read later."""
        facts, gone, lost = self.facts, self.gone, self.lost
        if not facts.below[i] & gone:
            return False
        seen, found = 0, facts.reader_bits[i] & lost
        while found:
            if found & gone:
                return True
            seen |= found
            new, found = found, 0
            while new:
                u = new.bit_length() - 1
                new ^= 1 << u
                found |= facts.reader_bits[u]
            found &= lost & ~seen
        return False

    def _room(self, size):
        """Free tensors until size bytes fit."""
        while self.used + size > self.limit:
            victim = self._victim()
            if victim is None or self._is_long():
                return False
            if victim not in self.written and self._use(victim) is not None:
                again = self.cost[victim] if self.facts.again[victim] else NEVER
                if self.trip[victim] * self.leans.get(victim, 1.0) < again:
                    self._store(victim)
            self._free(victim)
        return True

    def _victim(self):
        """The tensor of the least score, or None."""
        facts, guard, stage = self.facts, self.guard, self.stage
        keep = self.guide.rows[stage] if self.guide is not None else None
        best, least = None, NEVER
        c, scores, steps = self.c, self.scores, facts.log_step
        for i in self.inside:
            if guard[i] or not facts.size[i]:
                continue
            uses, at = facts.uses[i], self.next[i]
            if at == len(uses):
                if not self._wanted(i):
                    return i
                distance = 1
            else:
                distance = uses[at] - stage + 1
            score = scores[i]
            if score is None:
                score = scores[i] = self._score(i)
            score -= c * steps[distance]
            if keep is not None:
                score += self.pull * keep.get(i, 0.0)
            if score < least:
                best, least = i, score
        return best

    def _score(self, i):
        """The logarithm of a tensor's score, but for the steps until its next use."""
        cost = self.back[i]
        return NEVER if cost == NEVER else self.a * math.log(cost + _SMALL) + self.base[i]


class Guide:
    """What should stay in each stage: rows of {tensor: share}, and the same as arrays."""

    def __init__(self, rows):
        self.rows = rows
        self.start = np.cumsum([0, *map(len, rows)]).astype(np.int32)
        self.index = np.array([i for row in rows for i in row], np.int32)
        self.share = np.array([share for row in rows for share in row.values()], float)
