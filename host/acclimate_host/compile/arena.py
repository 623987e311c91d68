# SPDX-License-Identifier: MIT
"""Lays buffers out in one arena: an offset each, so that none overlap while they live.

No layout is smaller than the most bytes that live at once (`live_bound`); one that reaches this
bound is optimal.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """Offsets in bytes by buffer name, the arena's size, and the bound that no layout beats."""

    offsets: dict
    size_bytes: int
    bound_bytes: int

    @property
    def proven_optimal(self):
        return self.size_bytes == self.bound_bytes

    @property
    def excess(self):
        """How far the size lies above the bound, as a share of the bound."""
        return self.size_bytes / self.bound_bytes - 1 if self.bound_bytes else 0.0


def live_bytes(buffers, steps):
    """Return the bytes that live at each of `steps` positions."""
    change = [0] * (steps + 1)
    for buffer in buffers:
        change[buffer.first] += buffer.size_bytes
        change[buffer.last + 1] -= buffer.size_bytes
    live, total = [], 0
    for step in change[:-1]:
        total += step
        live.append(total)
    return live


def live_bound(buffers):
    """Return the most bytes that live at once."""
    if not buffers:
        return 0
    return max(live_bytes(buffers, 1 + max(buffer.last for buffer in buffers)))


_LONGER = 10
_KEYS = (
    lambda b: (b.first - b.last, -b.size_bytes, b.name),
    lambda b: (-b.size_bytes, b.first - b.last, b.name),
    lambda b: (-b.size_bytes * (1 + b.last - b.first), b.name),
    lambda b: (b.first, -b.size_bytes, b.name),
    lambda b: (-b.last, -b.size_bytes, b.name),
)


def lay_out(buffers, tries=400, seed=1, goal=None):
    """Return the best Layout found: several orders, then seeded swaps while the bound is missed.

    :param tries: how many changed orders to look at; 0 for the fixed orders only
    :param goal: bytes; a layout above that is looked at ten times as long, where one may exist
    """
    bound = live_bound(buffers)
    best_order, best = None, None
    for key in _KEYS:
        order = sorted(buffers, key=key)
        size, offsets = place(order)
        if best is None or size < best[0]:
            best_order, best = order, (size, offsets)
        if size == bound:
            break
    choose = random.Random(seed)
    most = tries * _LONGER if goal is not None and bound <= goal else tries
    for i in range(most):
        if best[0] == bound or len(buffers) < 2 or (i >= tries and best[0] <= goal):
            break
        order = list(best_order)
        for _ in range(choose.randint(1, 3)):
            moved = order.pop(choose.randrange(len(order)))
            order.insert(choose.randrange(len(order) + 1), moved)
        size, offsets = place(order)
        if size <= best[0]:
            best_order, best = order, (size, offsets)
    return Layout(best[1], best[0], bound)


def place(order):
    """Put each buffer at the lowest offset that is free for its whole life.

    Returns (bytes of the arena, offsets). Some order gives an optimal layout.
    """
    placed, offsets, size = [], {}, 0
    for buffer in order:
        offset = 0
        for start, stop, first, last in placed:
            if first > buffer.last or last < buffer.first or stop <= offset:
                continue
            if start >= offset + buffer.size_bytes:
                break
            offset = stop
        offsets[buffer.name] = offset
        stop = offset + buffer.size_bytes
        size = max(size, stop)
        placed.append((offset, stop, buffer.first, buffer.last))
        placed.sort()
    return size, offsets
