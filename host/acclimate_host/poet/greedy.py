# SPDX-License-Identifier: MIT
"""Randomised list schedules: a first plan at once, and better ones as long as there is time.

A walk (walk.py) computes the nodes in order and frees what its draw says. Draws are made anew for
each walk, mostly near that of the best plan so far, or of one that is hardly worse.
"""

import math
import random
import time

import numpy as np

from .positions import Space, pageable
from .walk import NEVER, Draw, Facts, Guide

_FRESH = 0.05  # share of the walks that begin anew
_ALIKE = 0.3  # share of the changes that all tensors of a kind get
_LEANS = (1e-6, 0.5, 0.8, 1.25, 2.0, 1e6)  # of a round trip, where it is weighed
_SWAPS = 0.15  # share of the walks that page other tensors than the best one
_PUSHES = (0.5, 1.0, 2.0, 4.0)  # on a tensor's factor, so that it stays or goes
LATE = 1e30  # scores from here on are those of plans that miss the deadline
_DEARER, _FIRST_DEARER = 5e-3, 0.1  # share by which a walk may pass the best, and at first more
_SETTLED = 300  # walks in which the latter falls to a third
_HEAT = 1e-4  # mean share by which the draw that later ones begin near may be worse
_ROUNDS = ((4, 600), (2, 1500))  # so many chains, for so many walks each; then the best one alone
_STALLED = 1500  # walks of that one which find nothing better, before others begin


class _Chain:
    """What a row of walks has learned: its best draw, what that was worth, and J after stages."""

    def __init__(self):
        self.best = self.spent = None
        self.stored = []  # what the best draw's walk wrote
        self.score, self.tries = NEVER, 0
        self.least, self.stalled = NEVER, 0  # the best score, and walks since


class Search:
    """Walks that learn from the best plan so far.

    Several chains begin apart, as each may end where no small change helps; the best goes on.
    Where that finds no more, others begin.
    """

    def __init__(self, graph, budget, space=None, seed=0):
        self.facts = Facts(graph, budget, space or Space())
        self.rng, self.noise = random.Random(seed), np.random.default_rng(seed)
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
        self.keep = Guide(keep)

    def next(self):
        """One more walk, or None where it found no way or became too dear.

        Its plan is there until the next one begins.
        """
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
        self.walk = self.facts.walk(self.draw, keep, pull, self._most())
        return self.walk if self.walk.run() else None

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
        return chain.spent + room

    def learn(self, score):
        """Say what the last walk is worth (less is better); later ones begin near the best."""
        chain, worse = self.chain, 1 + _HEAT * self.rng.expovariate(1.0)
        chain.stalled += 1
        if score < chain.least:
            chain.least, chain.stalled = score, 0
        if score <= chain.score * worse:
            chain.best, chain.score = self.draw, score
            chain.spent = np.array(self.walk.profile) if score < LATE else None
            chain.stored = self.walk.stored()

    def _drawn(self):
        count, rng = len(self.facts.size), self.rng
        if not self.tries:
            return Draw((1.0, 1.0, 1.0), np.zeros(count), 1e6 if self.timed else 0.0)
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
            factors = best.factors + self._factors(width)
        else:  # a few tensors
            factors = best.factors.copy()
            for _ in range(1 + int(rng.expovariate(0.2))):
                more = rng.gauss(0.0, rng.choice((0.3, 1.0)))
                for i in self._some():
                    factors[i] += more
            exponents = exponents if rng.random() < 0.3 else best.exponents
        return Draw(exponents, factors, self._share(best), self._leans(best.leans))

    def _swapped(self, best):
        """The best draw, but a tensor that it wrote stays, or another one is written, or both."""
        rng, factors, leans = self.rng, best.factors.copy(), dict(best.leans)
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
        return self.noise.normal(0.0, width, len(self.facts.size))


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
        walk = search.next()
        if walk is not None:
            yield walk.plan()
        if time.monotonic() > until:
            return
