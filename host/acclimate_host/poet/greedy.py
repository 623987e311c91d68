# SPDX-License-Identifier: MIT
"""Randomised list schedules: a first plan at once, and better ones as long as there is time.

A walk computes the nodes in order. When room is needed, the tensor of the least score goes:
(what it costs to have it back)^a / (bytes^b x steps until its next use^c) x its own factor.
To have it back it is computed again, with its missing inputs, or written to storage and read
back, whichever is cheaper. Where a recomputation finds no room, the tensor is read back instead,
as if it had been written when it was made. So a walk only fails where tensors can neither be
paged nor computed again. Exponents, factors, and what a round trip is taken to cost are drawn
anew for each walk, mostly near those of the best plan so far, or of one that is hardly worse.
With a deadline the costs hold a share of the time.
"""

import math
import random
import time

from .positions import Space, pageable

_DEEP = 40  # recomputations within each other
_FRESH = 0.05  # share of the walks that begin anew
_SMALL = 1e-30
_ALIKE = 0.3  # share of the changes that all tensors of a kind get
_LEANS = (1e-6, 0.5, 0.8, 1.25, 2.0, 1e6)  # of a round trip, where it is weighed
_SWAPS = 0.15  # share of the walks that page other tensors than the best one
_PUSHES = (0.5, 1.0, 2.0, 4.0)  # on a tensor's factor, so that it stays or goes
_NEVER = float("inf")
LATE = 1e30  # scores from here on are those of plans that miss the deadline
_DEARER, _FIRST_DEARER = 5e-3, 0.1  # share by which a walk may pass the best, and at first more
_SETTLED = 300  # walks in which the latter falls to a third
_HEAT = 1e-4  # mean share by which the draw that later ones begin near may be worse
_ROUNDS = ((4, 600), (2, 1500))  # so many chains, for so many walks each; then the best one alone
_STALLED = 1500  # walks of that one which find nothing better, before others begin


class _Facts:
    """The graph in lists, and its costs with a share of the time."""

    def __init__(self, graph, budget, space):
        nodes = graph.nodes
        self.graph, self.budget, self.space = graph, budget, space
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
        self.weigh(0.0)

    def weigh(self, share):
        """Costs in units of everything once: energy, and that share of the time."""
        nodes = self.graph.nodes
        joule = 1.0 / max(sum(node.compute_energy for node in nodes), _SMALL)
        second = share / max(sum(node.compute_time for node in nodes), _SMALL)

        def cost(kind):
            return [
                getattr(node, kind + "_energy") * joule + getattr(node, kind + "_time") * second
                for node in nodes
            ]

        self.compute, self.pagein, self.pageout = cost("compute"), cost("pagein"), cost("pageout")
        self.trip = [
            back + out if paged else _NEVER
            for back, out, paged in zip(self.pagein, self.pageout, self.paged, strict=True)
        ]
        self.first_back = [
            min(cost, trip) if again else trip
            for cost, trip, again in zip(self.compute, self.trip, self.again, strict=True)
        ]


class Draw:
    """Exponents a, b, c, each tensor's factor (its logarithm), and the share of the time.

    leans: {tensor: factor of what a round trip of it costs where it is weighed}.
    """

    def __init__(self, exponents, factors, share=0.0, leans=None):
        self.exponents, self.factors, self.share = exponents, factors, share
        self.leans = leans or {}


class _Walk:
    """One list schedule.

    keep: None, or for each stage {tensor: how much it should stay}. most: None, or J that may
    have been spent after each stage. profile: J that were.
    """

    def __init__(self, facts, draw, keep=None, pull=0.0, most=None):
        self.facts, self.keep, self.pull = facts, keep, pull
        count = len(facts.size)
        self.a, self.b, self.c = draw.exponents
        self.base = [
            factor - self.b * size
            for factor, size in zip(draw.factors, facts.log_size, strict=True)
        ]
        self.leans = draw.leans
        self.here, self.inside = bytearray(count), {}
        self.guard, self.stored = [0] * count, set()
        self.cost, self.next = list(facts.compute), [0] * count
        self.back = facts.first_back[:]  # what it costs to have each tensor again
        self.spent, self.profile, self.most = 0.0, [], most
        self.used, self.limit = facts.graph.resident_bytes, facts.budget.ram_bytes
        self.written = self.erased = 0
        self.steps, self.stage = [], 0
        self.gone = 0  # bits of the tensors that were freed and are read later
        self.lost = 0  # bits of all that were freed
        self.scores = [None] * count  # without the distance, while nothing changes them

    def run(self):
        """Steps, or None: a tensor that was freed cannot be had again, or it became too dear."""
        for t in range(len(self.here)):
            self.stage = t
            if not self._compute(t, 0):
                return None
            self.profile.append(self.spent)
            if self.most is not None and self.spent > self.most[t]:
                return None
            for i in self.facts.reads[t]:
                self.next[i] += 1
                if self.next[i] == len(self.facts.uses[i]):
                    self.gone &= ~(1 << i)
            for i in self.facts.reads[t]:
                if self.here[i] and self._use(i) is None and not self._wanted(i):
                    self._free(i)
        return self._with_writes()

    def _with_writes(self):
        """The steps as (kind, id), each tensor written right after it was first made."""
        ids, found, made = [node.id for node in self.facts.graph.nodes], [], set()
        for kind, i in self.steps:
            found.append((kind, ids[i]))
            if kind == "compute" and i not in made:
                made.add(i)
                if i in self.stored:
                    found.append(("pageout", ids[i]))
        return found

    def _compute(self, v, depth):
        """Compute v with what it reads; False where no room could be made."""
        reads, guard, here = self.facts.reads[v], self.guard, self.here
        for i in reads:
            guard[i] += 1
        done = all(here[i] or self._fetch(i, depth) for i in reads)
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
        readers, reads, compute, trips = facts.readers, facts.reads, facts.compute, facts.trip
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
                trip = facts.pagein[u] if u in self.stored else trips[u]
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
        again = self.cost[i] if facts.again[i] and depth < _DEEP else _NEVER
        trip = facts.pagein[i] if i in self.stored else facts.trip[i]
        trip *= self.leans.get(i, 1.0)
        if again < trip and self._compute(i, depth + 1):
            return True
        if not self._store(i) or not self._room(facts.size[i]):
            return again >= trip and again < _NEVER and self._compute(i, depth + 1)
        self.spent += facts.joules_in[i]
        self._enter("pagein", i)
        return True

    def _store(self, i):
        """Have tensor i written when it is made; whether the storage takes it."""
        facts, budget = self.facts, self.facts.budget
        if i in self.stored:
            return True
        written, erased = self.written + facts.size[i], self.erased + facts.blocks[i]
        if not facts.paged[i] or (budget.aux_bytes is not None and written > budget.aux_bytes):
            return False
        if budget.erase_budget is not None and erased > budget.erase_budget:
            return False
        self.stored.add(i)
        self.spent += facts.joules_out[i]
        self.back[i] = min(self.back[i], facts.pagein[i])
        self.scores[i] = None
        self.written, self.erased = written, erased
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
            if victim is None:
                return False
            facts = self.facts
            if victim not in self.stored and self._use(victim) is not None:
                again = self.cost[victim] if facts.again[victim] else _NEVER
                if facts.trip[victim] * self.leans.get(victim, 1.0) < again:
                    self._store(victim)
            self._free(victim)
        return True

    def _victim(self):
        """The tensor of the least score, or None."""
        facts, guard, stage = self.facts, self.guard, self.stage
        keep = self.keep[stage] if self.keep is not None else None
        best, least = None, _NEVER
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
        return _NEVER if cost == _NEVER else self.a * math.log(cost + _SMALL) + self.base[i]


class _Chain:
    """What a row of walks has learned: its best draw, what that was worth, and J after stages."""

    def __init__(self):
        self.best = self.spent = None
        self.stored = []  # what the best draw's walk wrote
        self.score, self.tries = _NEVER, 0
        self.least, self.stalled = _NEVER, 0  # the best score, and walks since


class Search:
    """Walks that learn from the best plan so far.

    Several chains begin apart, as each may end where no small change helps; the best goes on.
    Where that finds no more, others begin.
    """

    def __init__(self, graph, budget, space=None, seed=0):
        self.facts = _Facts(graph, budget, space or Space())
        self.rng = random.Random(seed)
        self._begin()
        self.draw = self.walk = self.keep = None
        self.tries, self.share = 0, 0.0
        self.timed = budget.deadline is not None
        self.pages = any(self.facts.paged)

    def _begin(self):
        self.rounds = list(_ROUNDS)
        self.chains = [_Chain() for _ in range(self.rounds[0][0])]
        self.chain = self.chains[0]

    def guide(self, keep):
        """From now on some walks heed {tensor: share that stays} of each stage."""
        self.keep = keep

    def next(self):
        """Steps of one more walk, or None where it found no way or became too dear."""
        self._turn()
        self.draw = self._drawn()
        if self.draw.share != self.share:
            self.share = self.draw.share
            self.facts.weigh(self.share)
        guided = self.keep is not None and self.rng.random() < 0.5
        pull = self.rng.choice((1.0, 3.0, 10.0)) if guided else 0.0
        self.tries += 1
        self.chain.tries += 1
        keep = self.keep if guided else None
        self.walk = _Walk(self.facts, self.draw, keep, pull, self._most())
        return self.walk.run()

    def _turn(self):
        """Go on to the next chain where this one has had its walks; end a round with the last."""
        if not self.rounds and self.chain.stalled >= _STALLED:
            self._begin()
        if not self.rounds or self.chain.tries < self.rounds[0][1]:
            return
        at = self.chains.index(self.chain) + 1
        if at == len(self.chains):
            self.rounds.pop(0)
            count = self.rounds[0][0] if self.rounds else 1
            self.chains = sorted(self.chains, key=lambda chain: chain.score)[:count]
            for chain in self.chains:
                chain.tries = 0
            at = 0
        self.chain = self.chains[at]

    def _most(self):
        """J that a walk may have spent after each stage: somewhat more than the best one had."""
        chain = self.chain
        if chain.spent is None:
            return None
        room = chain.score * (_DEARER + _FIRST_DEARER * math.exp(-chain.tries / _SETTLED))
        return [spent + room for spent in chain.spent]

    def learn(self, score):
        """Say what the last walk is worth (less is better); later ones begin near the best."""
        chain, worse = self.chain, 1 + _HEAT * self.rng.expovariate(1.0)
        chain.stalled += 1
        if score < chain.least:
            chain.least, chain.stalled = score, 0
        if score <= chain.score * worse:
            chain.best, chain.score = self.draw, score
            chain.spent = self.walk.profile if score < LATE else None
            chain.stored = sorted(self.walk.stored)

    def _drawn(self):
        count, rng = len(self.facts.size), self.rng
        if not self.tries:
            return Draw((1.0, 1.0, 1.0), [0.0] * count, 1e6 if self.timed else 0.0)
        best = self.chain.best
        if best is not None and self.pages and rng.random() < _SWAPS:
            return self._swapped(best)
        if best is None or rng.random() < _FRESH:
            exponents = (rng.uniform(0.2, 1.6), rng.uniform(0.2, 1.8), rng.uniform(0.0, 2.5))
            share = 10 ** rng.uniform(-2, 4) if self.timed else 0.0
            return Draw(exponents, self._factors(rng.choice((0.0, 0.1, 0.5))), share)
        kind = rng.random()
        near = rng.choice((0.03, 0.1, 0.3))
        exponents = tuple(value + rng.gauss(0.0, near) for value in best.exponents)
        if kind < 0.3:  # other noise
            factors = self._factors(rng.choice((0.05, 0.2, 0.5)))
        elif kind < 0.6:  # a little of everything
            width = rng.choice((0.03, 0.1, 0.3))
            factors = [value + rng.gauss(0.0, width) for value in best.factors]
        else:  # a few tensors
            factors = list(best.factors)
            for _ in range(1 + int(rng.expovariate(0.2))):
                more = rng.gauss(0.0, rng.choice((0.3, 1.0)))
                for i in self._some():
                    factors[i] += more
            exponents = exponents if rng.random() < 0.3 else best.exponents
        return Draw(exponents, factors, self._share(best), self._leans(best.leans))

    def _swapped(self, best):
        """The best draw, but a tensor that it wrote stays, or another one is written, or both."""
        rng, factors, leans = self.rng, list(best.factors), dict(best.leans)
        stored, which = self.chain.stored, rng.random()
        if stored and which < 0.7:
            i = rng.choice(stored)
            factors[i] += rng.choice(_PUSHES)
            leans[i] = max(_LEANS)
        others = [i for i, paged in enumerate(self.facts.paged) if paged and i not in stored]
        if others and which > 0.35:
            i = rng.choice(others)
            factors[i] -= rng.choice(_PUSHES)
            leans[i] = min(_LEANS)
        return Draw(best.exponents, factors, self._share(best), leans)

    def _share(self, best):
        return best.share * math.exp(self.rng.gauss(0.0, 0.3)) if self.timed else 0.0

    def _leans(self, best):
        """The leans of the best draw, some other ones among them."""
        rng, leans = self.rng, dict(best)
        if rng.random() < 0.5:
            for _ in range(1 + int(rng.expovariate(0.5))):
                some, lean = self._some(), rng.choice(_LEANS)
                if some[0] in leans and rng.random() < 0.5:
                    lean = None
                for i in some:
                    leans.pop(i, None)
                    if lean and self.facts.paged[i]:
                        leans[i] = lean
        return leans

    def _some(self):
        """A tensor, now and then with all that are like it, as those of equal blocks are."""
        i = self.rng.randrange(len(self.facts.size))
        return self.facts.alike[i] if self.rng.random() < _ALIKE else [i]

    def _factors(self, width):
        count = len(self.facts.size)
        return [self.rng.gauss(0.0, width) for _ in range(count)] if width else [0.0] * count


def paged(graph, budget, space=None):
    """Steps that write each tensor and read it before each use; None where that is no way.

    The least RAM of all plans: no more than the largest operator needs.
    """
    space = space or Space()
    uses = {}
    for c, node in enumerate(graph.nodes):
        for dep in node.deps:
            uses[dep] = c
    steps, here = [], set()
    for c, node in enumerate(graph.nodes):
        reads = sorted(set(node.deps), key=graph.index.get)
        steps += [("free", name) for name in sorted(here.difference(reads))]
        steps += [("pagein", name) for name in reads if name not in here]
        here = {node.id, *reads}
        steps.append(("compute", node.id))
        if uses.get(node.id, c) > c and node.ram_bytes:
            if not pageable(graph, budget, space, c):
                return None
            steps.append(("pageout", node.id))
        for name in reads:
            if not graph.nodes[graph.index[name]].ram_bytes:
                continue
            if uses[name] == c:
                steps.append(("free", name))
                here.discard(name)
    return steps


def energy_of(graph, steps):
    """Energy of steps, J."""
    nodes, index = graph.nodes, graph.index
    return sum(
        getattr(nodes[index[name]], kind + "_energy") for kind, name in steps if kind != "free"
    )


def plans(graph, budget, space=None, tries=300, seconds=5.0, seed=0):
    """Yield plans of walks (lists of steps); they still have to be judged and tidied."""
    search = Search(graph, budget, space, seed)
    until = time.monotonic() + seconds
    for _ in range(tries):
        steps = search.next()
        if steps is not None:
            yield steps
        if time.monotonic() > until:
            return
