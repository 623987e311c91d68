# SPDX-License-Identifier: MIT
"""Plans in another order of the first computations than the given one.

Small graphs are searched exhaustively. For larger ones nodes are moved within what their inputs
and readers allow, each order judged by the best of a few greedy plans, and the best order is
then solved like a given one: its plan is good, but no bound over all orders is proven but the
trivial one.
"""

import random

from . import greedy
from .column_values import tidy
from .evaluate import evaluate
from .exhaustive import search
from .problem import Graph

MOST_NODES = 8


def exhaustive(graph, budget):
    """(plan, energy) of the best plan in any order; None when there is none."""
    found = search(graph, budget, free_order=True)
    return None if found is None else (tidy(graph, found[1]), found[0])


def improve(graph, budget, space, watch, seed=0):
    """The graph with its nodes in the best order found until the watch ends."""
    rng = random.Random(seed)
    best, score = graph, _score(graph, budget, space)
    while watch.left() and not watch.stop:
        other = _moved(best, rng)
        if other is None:
            continue
        found = _score(other, budget, space)
        if found <= score:
            best, score = other, found
    return best


def _score(graph, budget, space):
    energy = float("inf")
    for steps in greedy.plans(graph, budget, space, tries=6, seconds=0.5):
        verdict = evaluate(graph, budget, tidy(graph, steps), space.clock)
        if verdict.valid:
            energy = min(energy, verdict.energy)
    if energy < float("inf"):
        return energy
    return 1e30 + _lower_peak(graph)


def _lower_peak(graph):
    """RAM that keeping everything needs: what to lower while no plan is found."""
    last = {dep: c for c, node in enumerate(graph.nodes) for dep in node.deps}
    used = peak = 0
    for c, node in enumerate(graph.nodes):
        used += node.ram_bytes
        peak = max(peak, used + node.workspace_bytes)
        used -= sum(
            other.ram_bytes
            for i, other in enumerate(graph.nodes[: c + 1])
            if last.get(other.id, i) == c
        )
    return peak


def _moved(graph, rng):
    """The graph with one node at another place that its inputs and readers allow, or None."""
    nodes = list(graph.nodes)
    at = rng.randrange(len(nodes))
    node = nodes.pop(at)
    first = max((i for i, other in enumerate(nodes) if other.id in node.deps), default=-1) + 1
    last = min((i for i, other in enumerate(nodes) if node.id in other.deps), default=len(nodes))
    places = [place for place in range(first, last + 1) if place != at]
    if not places:
        return None
    nodes.insert(rng.choice(places), node)
    return Graph(tuple(nodes), graph.resident_bytes)
