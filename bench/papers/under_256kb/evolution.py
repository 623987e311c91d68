# SPDX-License-Identifier: MIT
"""Evolutionary search for a scheme, as the paper does it: mutation, crossover, selection."""

import random
import time

from acclimate_host.sparse.choose import Memory, _choice, smallest
from acclimate_host.sparse.contribution import RATIOS, options, trainable
from acclimate_host.sparse.memory_bound import bound
from acclimate_host.sparse.scheme import Scheme


def evolve(
    graph,
    contributions,
    budget_bytes,
    ratios=RATIOS,
    memory=None,
    seed=1,
    generations=30,
    population=40,
):
    """Return the best Choice of a seeded search; what does not fit never breeds.

    :raises AcclimateError: where not even the classifier fits
    """
    began, memory = time.monotonic(), memory or Memory(graph)
    space = _Space(graph, ratios, random.Random(seed))
    first = smallest(graph, memory, budget_bytes)
    limit = bound(graph, ratios, memory.options)
    alive, tried = {first: contributions.of(first)}, 1
    for _ in range(generations):
        parents = sorted(alive, key=alive.get, reverse=True)[: population // 2]
        alive = {scheme: alive[scheme] for scheme in parents}
        for _ in range(population):
            child = space.child(parents)
            if child in alive:
                continue
            tried += 1
            if memory.fits(child, budget_bytes, limit):
                alive[child] = contributions.of(child)
    best = max(alive, key=alive.get)
    return _choice("evolution", best, contributions, memory, tried, began)


class _Space:
    """Schemes as (biases, {layer: count}), and how they change."""

    def __init__(self, graph, ratios, choose):
        self.count, self.choose = len(trainable(graph)), choose
        self.layers = [
            (layer, biases, (0, *counts)) for layer, biases, counts in options(graph, ratios)
        ]

    def child(self, parents):
        """Return a scheme from one parent or two."""
        first = self.choose.choice(parents)
        if len(parents) > 1 and self.choose.random() < 0.5:
            second = self.choose.choice(parents)
            biases = self.choose.choice((first.bias_layers, second.bias_layers))
            parts = [dict(first.channels), dict(second.channels)]
            counts = {
                layer: self.choose.choice(parts).get(layer, 0) for layer, _, _ in self.layers
            }
        else:
            biases, counts = first.bias_layers, dict(first.channels)
        for _ in range(self.choose.randint(1, 3)):
            if self.choose.random() < 0.3:
                biases = min(max(biases + self.choose.randint(-3, 3), 0), self.count)
            else:
                layer, needs, choices = self.choose.choice(self.layers)
                counts[layer] = self.choose.choice(choices)
                if counts[layer]:
                    biases = max(biases, needs)
        kept = [
            (layer, counts[layer])
            for layer, needs, _ in self.layers
            if counts.get(layer) and needs <= biases
        ]
        return Scheme(biases, tuple(kept))
