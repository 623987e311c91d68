# SPDX-License-Identifier: MIT
"""RAM cuts: what else may stay in RAM while a position computes.

Position p computes node v (x = 1): then v, its workspace and its inputs are in RAM, and of the
other tensors only so many that they fit beside them: at most `cap` bytes, rounded down to a sum
of their sizes. The formulation's own rows see that only through the running memory, where a
share of x asks for the same share of the room. For binaries these hold for every plan:

- room: with any set S of other tensors and W the sum of their sizes,
  sum over S of size r + (W - cap) x <= W;
- cover: where the tensors of C do not fit together, sum over C of r + x <= |C|, and around a
  first computation (x = 1), with every tensor as large as the largest of C, <= |C| - 1.
"""

from dataclasses import dataclass

import numpy as np

from .subsets import reachable

VIOLATION = 1e-3


@dataclass
class _Place:
    """Column of x (None: a first computation), and the other tensors' columns and sizes."""

    x: int | None
    columns: object
    sizes: object
    cap: float


class RamSeparator:
    """Finds violated RAM cuts of one model."""

    def __init__(self, model):
        self.places, self.known = list(_places(model)), set()

    def find(self, values, most):
        """Violated cuts as (terms, high): sum of coefficient times column <= high; worst first."""
        found = []
        for at, place in enumerate(self.places):
            x = 1.0 if place.x is None else values[place.x]
            if x > VIOLATION:
                y = values[place.columns]
                for kind, cut in (("room", _room(place, x, y)), ("cover", _cover(place, x, y))):
                    if cut is not None:
                        key = (kind, at, tuple(column for column, _ in cut[1]))
                        found.append((cut[0], key, cut[1:]))
        found.sort(key=lambda cut: (-cut[0], cut[1]))
        fresh = []
        for _, key, cut in found:
            if key not in self.known and len(fresh) < most:
                self.known.add(key)
                fresh.append(cut)
        return fresh


def _places(model):
    graph, at = model.graph, model.positions
    size = [node.ram_bytes for node in graph.nodes]
    room = model.budget.ram_bytes - graph.resident_bytes
    staying, caps = {}, {}
    for p, v in enumerate(at.node):
        inside = {event.tensor for event in model.events[p]}
        others = [(i, c) for i, c in staying.items() if i not in inside and size[i]]
        cap = room - graph.nodes[v].workspace_bytes - sum(size[i] for i in inside)
        if others and cap >= 0 and sum(size[i] for i, _ in others) > cap:
            sizes = [size[i] for i, _ in others]
            key = (cap, tuple(sorted(sizes)))
            if key not in caps:
                caps[key] = reachable(sizes, cap)
            yield _Place(
                model.x[p], np.array([c for _, c in others]), np.array(sizes, float), caps[key]
            )
        for event in model.events[p]:
            if event.after is None:
                staying.pop(event.tensor, None)
            else:
                staying[event.tensor] = event.after


def _room(place, x, y):
    """(violation, terms, high) of the most violated room cut, or None."""
    if place.x is None:
        return None  # the formulation has that row
    excess = y - 1 + x
    chosen = excess > 1e-7
    unit = place.sizes.max()
    broken = (np.dot(place.sizes[chosen], excess[chosen]) - place.cap * x) / unit
    if broken < VIOLATION:
        return None
    total = place.sizes[chosen].sum()
    terms = [
        (int(c), s / unit) for c, s in zip(place.columns[chosen], place.sizes[chosen], strict=True)
    ]
    return broken, [*terms, (place.x, (total - place.cap) / unit)], total / unit


def _cover(place, x, y):
    """(violation, terms, high) of a violated cover, found greedily, or None."""
    size, missing = place.sizes, 1 - y
    order = np.argsort(missing / size, kind="stable")
    sums = np.cumsum(size[order])
    last = int(np.searchsorted(sums, place.cap, side="right"))
    if last == len(order):
        return None
    cover, total = list(order[: last + 1]), sums[last]
    for j in sorted(cover, key=lambda j: -missing[j]):
        if total - size[j] > place.cap:
            cover.remove(j)
            total -= size[j]
    broken = x - sum(missing[j] for j in cover)
    if broken < VIOLATION:
        return None
    if place.x is not None:
        terms = [(int(place.columns[j]), 1.0) for j in sorted(cover)]
        return broken, [*terms, (place.x, 1.0)], float(len(cover))
    largest = max(size[j] for j in cover)
    wide = sorted({*cover, *np.flatnonzero(size >= largest)})
    return broken, [(int(place.columns[j]), 1.0) for j in wide], len(cover) - 1.0
