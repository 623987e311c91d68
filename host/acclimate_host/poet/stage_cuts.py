# SPDX-License-Identifier: MIT
"""RAM cuts of the stage relaxation: what else is in RAM while a node is computed.

Tensor i is in RAM through all of stage t where it is there before (r of stage t - 1) and at the
end (r of stage t, or node t reads it), and is neither read back nor computed in between: at
least y = r[i, t] - x[i, t] - in[i, t], with 1 for r where node t reads it. While node v is
computed again in stage t, tensors other than v and its inputs have at most `cap` bytes, rounded
down to a sum of their sizes. So for every plan, with W the bytes of a set S of them:

- room: sum over S of size y + (W - cap) x <= W;
- cover: where the tensors of C do not fit together, sum over C of y + x <= |C|, and around a
  first computation (x = 1, y = r) with all tensors as large as the largest of C, <= |C| - 1.
"""

from dataclasses import dataclass

import numpy as np

from .subsets import reachable

VIOLATION = 1e-3
_NONE, _ONE = -2, -1  # columns that are always 0 and 1


@dataclass
class _Place:
    """Column of x (None: a first computation); of other tensors the columns of y, the bytes."""

    x: int | None
    here: object
    again: object
    back: object
    sizes: object
    cap: float


class StageRamSeparator:
    """Finds violated RAM cuts of one stage model."""

    def __init__(self, model):
        self.places, self.known = list(_places(model)), set()

    def find(self, values, most):
        """Violated cuts as (terms, high): sum of coefficient times column <= high; worst first."""
        wide = np.concatenate([values, [0.0, 1.0]])
        found = []
        for at, place in enumerate(self.places):
            x = 1.0 if place.x is None else values[place.x]
            if x <= VIOLATION:
                continue
            y = wide[place.here] - wide[place.again] - wide[place.back]
            for kind, cut in (("room", _room(place, x, y)), ("cover", _cover(place, x, y))):
                if cut is not None:
                    key = (kind, at, tuple(cut[1].tolist()))
                    found.append((cut[0], key, place, cut[1:]))
        found.sort(key=lambda cut: (-cut[0], cut[1]))
        fresh = []
        for _, key, place, cut in found:
            if key not in self.known and len(fresh) < most:
                self.known.add(key)
                fresh.append(_row(place, *cut))
        return fresh


def _row(place, chosen, weights, of_x, high):
    """(terms, high) of sum of weights times y of the chosen + of_x times x <= high."""
    terms = {} if place.x is None or not of_x else {place.x: of_x}
    for at, weight in zip(chosen, weights, strict=True):
        for column, sign in ((place.here[at], 1), (place.again[at], -1), (place.back[at], -1)):
            if column == _ONE:
                high -= sign * weight
            elif column != _NONE:
                terms[int(column)] = terms.get(int(column), 0.0) + sign * weight
    return list(terms.items()), high


def _places(model):
    graph = model.graph
    size = [node.ram_bytes for node in graph.nodes]
    reads = [{graph.index[d] for d in node.deps} for node in graph.nodes]
    room = model.budget.ram_bytes - graph.resident_bytes
    caps = {}

    def place(x, v, rows):
        inside = reads[v] | {v}
        cap = room - graph.nodes[v].workspace_bytes - sum(size[i] for i in inside)
        rows = [row for row in rows if row[0] not in inside and size[row[0]]]
        if not rows or cap < 0 or sum(size[row[0]] for row in rows) <= cap:
            return
        sizes = [size[row[0]] for row in rows]
        key = (cap, tuple(sorted(sizes)))
        if key not in caps:
            caps[key] = reachable(sizes, cap)
        columns = [np.array([row[k] for row in rows]) for k in (1, 2, 3)]
        yield _Place(x, *columns, np.array(sizes, float), caps[key])

    recomputed = {}
    for v, t in model.again:
        recomputed.setdefault(t, []).append(v)
    for t, end in enumerate(model.ends):
        before, after = model.staying[t - 1] if t else {}, model.staying[t]
        yield from place(None, end, [(i, c, _NONE, _NONE) for i, c in after.items()])
        through = [
            (
                i,
                _ONE if i in reads[end] else after[i],
                model.again.get((i, t), _NONE),
                model.back.get((i, t), _NONE),
            )
            for i in before
            if i in after or i in reads[end]
        ]
        for v in recomputed.get(t, ()):
            yield from place(model.again[v, t], v, through)


def _room(place, x, y):
    """(violation, chosen, weights, weight of x, high) of the most violated room cut, or None."""
    if place.x is None:
        return None  # the program has that row
    excess = y - 1 + x
    chosen = np.flatnonzero(excess > 1e-7)
    unit = place.sizes.max()
    broken = (np.dot(place.sizes[chosen], excess[chosen]) - place.cap * x) / unit
    if broken < VIOLATION:
        return None
    total = place.sizes[chosen].sum()
    return broken, chosen, place.sizes[chosen] / unit, (total - place.cap) / unit, total / unit


def _cover(place, x, y):
    """The same of a violated cover, found greedily, or None."""
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
        cover = np.array(sorted(cover))
        return broken, cover, np.ones(len(cover)), 1.0, float(len(cover))
    largest = max(size[j] for j in cover)
    wide = np.union1d(cover, np.flatnonzero(size >= largest))
    return broken, wide, np.ones(len(wide)), 0.0, len(cover) - 1.0
