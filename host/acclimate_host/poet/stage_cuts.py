# SPDX-License-Identifier: MIT
"""RAM cuts of the stage relaxation: what else is in RAM while a node is computed.

Node w is computed again in stage t. Tensor i, which is in RAM when the stage has ended (r = 1) or
is read by its first computation (then 1 stands for r), is in RAM then as well, in two cases:

- it was there before the stage, and is neither read back nor computed in it: at least
  y = r[i, t] - x[i, t] - in[i, t];
- w is made from it in this stage, along a path of inputs i, u1, ..., uk, w: none of the u is there
  before the stage or read back, so they are computed before w, and i is there before them. It is
  still there, unless it is brought twice: at least y = r[i, t] - r[i, t-1] - twice[i, t]
  - min(x, in)[i, t] - sum over j of (r[uj, t-1] + in[uj, t]).

While w is computed, tensors other than w and its inputs have at most `cap` bytes, rounded down to
a sum of their sizes. So for every plan, with W the bytes of a set S of them:

- room: sum over S of size y + (W - cap) x <= W;
- cover: where the tensors of C do not fit together, sum over C of y + x <= |C|, and around a
  first computation (x = 1, y = r) with all tensors as large as the largest of C, <= |C| - 1.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from .subsets import reachable

VIOLATION = 1e-3
_NONE, _ONE = -2, -1  # columns that are always 0 and 1


@dataclass
class _Place:
    """Node w and its column of x (None: a first computation), its stage, and other tensors.

    here, again, back: columns of y in the first case; through: whether that case is possible.
    """

    node: int
    stage: int
    x: int | None
    tensors: object
    here: object
    again: object
    back: object
    through: object
    sizes: object
    free: float
    caps: dict

    @property
    def cap(self):
        """Bytes of the other tensors that can be there: a sum of their sizes, worked out once."""
        key = (self.free, tuple(sorted(self.sizes)))
        if key not in self.caps:
            self.caps[key] = reachable(self.sizes.tolist(), self.free)
        return self.caps[key]


class StageRamSeparator:
    """Finds violated RAM cuts of one stage model."""

    def __init__(self, model):
        self.model = model
        self.reads = [sorted({model.graph.index[d] for d in n.deps}) for n in model.graph.nodes]
        self.places, self.known = list(_places(model, self.reads)), set()

    def find(self, values, most, stop=lambda: False):
        """Violated cuts as (terms, high): sum of coefficient times column <= high; worst first.

        stop: asked before each place.
        """
        wide, found = np.concatenate([values, [0.0, 1.0]]), []
        for place in self.places:
            x = 1.0 if place.x is None else values[place.x]
            if x <= VIOLATION:
                continue
            if stop():
                break
            here = wide[place.here]
            y = np.where(place.through, here - wide[place.again] - wide[place.back], 0.0)
            paths = {}
            if place.x is not None:
                self._led(place, values, wide, here, y, paths)
            for cut in (_room(place, x, y), _cover(place, x, y)):
                if cut is not None:
                    found.append((cut[0], place, cut[1:], paths))
        found.sort(key=lambda cut: -cut[0])
        fresh = []
        for _, place, cut, paths in found:
            if len(fresh) == most:
                break
            terms, high = self._row(place, *cut, paths)
            key = (high, tuple(terms))
            if key not in self.known:
                self.known.add(key)
                fresh.append((terms, high))
        return fresh

    def _led(self, place, values, wide, here, y, paths):
        """Raise y where the second case says more; paths: columns that it takes away."""
        model, t = self.model, place.stage
        before = model.staying[t - 1]
        at = {i: k for k, i in enumerate(place.tensors.tolist())}
        queue, seen = [(0.0, place.node, ())], set()
        while queue:
            weight, u, columns = heapq.heappop(queue)
            if u in seen:
                continue
            seen.add(u)
            for i in self.reads[u]:
                k = at.get(i)
                if k is not None:
                    less = (*columns, *self._brought(i, t, before, wide))
                    value = here[k] - sum(values[c] for c in less)
                    if value > y[k] + 1e-6:
                        y[k], paths[k] = value, less
                if (i, t) in model.again and i not in seen:
                    missing = [c for c in (before.get(i), model.back.get((i, t))) if c is not None]
                    more = weight + sum(values[c] for c in missing)
                    if more < 1 - VIOLATION:
                        heapq.heappush(queue, (more, i, (*columns, *missing)))

    def _brought(self, i, t, before, wide):
        model = self.model
        found = [c for c in (before.get(i), model.twice.get((i, t))) if c is not None]
        ways = (model.again.get((i, t), _NONE), model.back.get((i, t), _NONE))
        fewer = min(ways, key=lambda column: wide[column])
        return found if _NONE in ways else [*found, fewer]

    def _row(self, place, chosen, weights, of_x, high, paths):
        """(terms, high) of sum of weights times y of the chosen + of_x times x <= high."""
        terms = {} if place.x is None or not of_x else {place.x: of_x}
        for k, weight in zip(chosen.tolist(), weights.tolist(), strict=True):
            signed = [(int(place.here[k]), 1)]
            if k in paths:
                signed += [(column, -1) for column in paths[k]]
            else:
                signed += [(int(place.again[k]), -1), (int(place.back[k]), -1)]
            for column, sign in signed:
                if column == _ONE:
                    high -= sign * weight
                elif column != _NONE:
                    terms[column] = terms.get(column, 0.0) + sign * weight
        return list(terms.items()), high


def _places(model, reads):
    graph = model.graph
    size = [node.ram_bytes for node in graph.nodes]
    room = model.budget.ram_bytes - graph.resident_bytes
    caps = {}

    def place(x, v, t, rows):
        inside = {*reads[v], v}
        cap = room - graph.nodes[v].workspace_bytes - sum(size[i] for i in inside)
        rows = [row for row in rows if row[0] not in inside and size[row[0]]]
        if not rows or cap < 0 or sum(size[row[0]] for row in rows) <= cap:
            return
        sizes = np.array([size[row[0]] for row in rows], float)
        columns = [np.array([row[k] for row in rows]) for k in range(5)]
        yield _Place(v, t, x, *columns, sizes, cap, caps)

    recomputed = {}
    for v, t in model.again:
        recomputed.setdefault(t, []).append(v)
    for t, end in enumerate(model.ends):
        before, after = model.staying[t - 1] if t else {}, model.staying[t]
        yield from place(None, end, t, [(i, c, _NONE, _NONE, True) for i, c in after.items()])
        first = model.ends[t - 1] + 1 if t else 0
        last = {i: _ONE for i in reads[end] if i < first}
        rows = [
            (i, c, model.again.get((i, t), _NONE), model.back.get((i, t), _NONE), i in before)
            for i, c in {**after, **last}.items()
            if i < first
        ]
        for v in recomputed.get(t, ()):
            yield from place(model.again[v, t], v, t, rows)


def _room(place, x, y):
    """(violation, chosen, weights, weight of x, high) of the most violated room cut, or None."""
    if place.x is None:
        return None  # the program has that row
    excess, cap = y - 1 + x, place.cap
    chosen = np.flatnonzero(excess > 1e-7)
    unit = place.sizes.max()
    broken = (np.dot(place.sizes[chosen], excess[chosen]) - cap * x) / unit
    if broken < VIOLATION:
        return None
    total = place.sizes[chosen].sum()
    return broken, chosen, place.sizes[chosen] / unit, (total - cap) / unit, total / unit


def _cover(place, x, y):
    """The same of a violated cover, found greedily, or None."""
    size, missing, cap = place.sizes, 1 - y, place.cap
    order = np.argsort(missing / size, kind="stable")
    sums = np.cumsum(size[order])
    last = int(np.searchsorted(sums, cap, side="right"))
    if last == len(order):
        return None
    cover, total = list(order[: last + 1]), sums[last]
    for j in sorted(cover, key=lambda j: -missing[j]):
        if total - size[j] > cap:
            cover.remove(j)
            total -= size[j]
    broken = x - sum(missing[j] for j in cover)
    if broken < VIOLATION:
        return None
    if place.x is not None:
        cover = np.array(sorted(cover))
        return broken, cover, np.ones(len(cover)), 1.0, float(len(cover))
    largest = max(size[j] for j in cover)
    wide = np.union1d(cover, np.flatnonzero(size >= largest))
    return broken, wide, np.ones(len(wide)), 0.0, len(cover) - 1.0
