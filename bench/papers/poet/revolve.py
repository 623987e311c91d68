# SPDX-License-Identifier: MIT
"""Griewank and Walther (2000), "revolve": binomial checkpoints on a chain of blocks.

With s checkpoints (the chain's start is one of them) l blocks take the fewest advances:
r l - C(s + r, r - 1), where r is the smallest number with C(s + r, s) >= l. The method counts
blocks and checkpoints, not bytes or seconds.
"""

from functools import lru_cache

from bench.papers.poet.chain import cuts, forward_count
from bench.papers.poet.chen import best
from bench.papers.poet.tape import Tape


@lru_cache(maxsize=None)
def advances(length, slots):
    """Fewest blocks that are run forward without being turned around at once."""
    return _split(length, slots)[0]


@lru_cache(maxsize=None)
def _split(length, slots):
    if length <= 1:
        return 0, 0
    if slots == 1:
        return length * (length - 1) // 2, 0
    return min(
        (m + advances(length - m, slots - 1) + advances(m, slots), m) for m in range(1, length)
    )


def schedule(length, slots, start=0):
    """Actions ("advance", from, to), ("turn", block) and ("drop", start of a block)."""
    if length == 1:
        return [("turn", start)]
    if slots == 1:
        steps = []
        for block in range(start + length - 1, start, -1):
            steps += [("advance", start, block), ("turn", block), ("drop", block)]
        return [*steps, ("turn", start)]
    middle = start + _split(length, slots)[1]
    right = schedule(start + length - middle, slots - 1, middle)
    left = schedule(middle - start, slots, start)
    return [("advance", start, middle), *right, ("drop", middle), *left]


def revolve(graph, budget, clock="serial"):
    """Plan with as many checkpoints as fit."""
    length = len(cuts(graph)) - 1
    if length < 1:
        return best(graph, budget, [_run(graph, [])], clock)
    plans = []
    for slots in range(1, length + 1):
        plans.append(_run(graph, schedule(length, slots)))
    return best(graph, budget, plans, clock)


def _run(graph, actions):
    tape, points, count = Tape(graph), cuts(graph), forward_count(graph)
    behind = iter(range(count, len(graph.nodes)))
    tape.first(0)
    tape.pinned.add(0)
    waiting = next(behind, None)
    for kind, at, *to in actions:
        if kind == "advance":
            for block in range(at, to[0]):
                _advance(tape, points[block], points[block + 1], keep_start=block == at)
            tape.pinned.update(points[: at + 1])
            tape.pinned.add(points[to[0]])
        elif kind == "drop":
            tape.pinned.discard(points[at])
            if points[at] in tape.here:
                tape.free(points[at])
        else:
            waiting = _turn(tape, points[at], points[at + 1], count, waiting, behind)
    tape.pinned.clear()
    while waiting is not None:
        tape.first(waiting)
        tape.sweep()
        waiting = next(behind, None)
    return tape.plan()


def _advance(tape, start, stop, keep_start):
    """Compute the block after `start` up to its end and keep only that."""
    inside = range(start + 1, stop + 1)
    for v in inside:
        if v not in tape.here:
            tape.compute(v)
        for u in range(start if not keep_start else start + 1, v):
            idle = not any(u in tape.deps[w] for w in range(v + 1, stop + 1))
            if u in tape.here and idle:
                tape.free(u)


def _turn(tape, start, stop, count, waiting, behind):
    """Compute the block with all of its tensors, then the gradients that read it."""
    for v in range(start + 1, stop + 1):
        if v not in tape.here:
            tape.compute(v)
    while waiting is not None and all(u >= start for u in tape.deps[waiting] if u < count):
        tape.first(waiting)
        waiting = next(behind, None)
        tape.sweep()
    tape.sweep(lambda v: start < v < count)
    return waiting
