# SPDX-License-Identifier: MIT
"""Find where each byte of a new section comes from in the old capsule.

A shift is a place in the base less the place in the target. The search goes through the target
once with a fixed number of shifts in play; each pays for the bytes that it explains badly, and
changing the shift costs, too (Viterbi's algorithm over a beam).
"""

import bisect
import math
from collections.abc import Sequence

import numpy as np

BEAM = 128
NO_SHIFT = 1 << 40  # the base has nothing like it
LITERAL_BITS = 6.6
_SEEDS = (4, 14)  # bytes that must be equal for a shift to come into play
_TRIED = 5
_CHANGE_BITS = 16.0  # of an instruction with a new place
_NEAR_BITS = 5.0  # of one whose place is where the last one ended, or near
_OUTSIDE_BITS = 60.0

Run = tuple[int, int, int]  # start in the target, end, shift or NO_SHIFT


def runs(
    base: bytes, target: bytes, costs: np.ndarray, first: tuple[int, ...] = (0,)
) -> list[Run]:
    """Return runs that cover the target, each with the shift that explains it best.

    :param costs: bits of a byte, by its difference to the base's modulo 256.
    :param first: shifts that are in play from the start.
    """
    return _Search(base, target, costs, first).path() if target else []


class _Search:
    def __init__(
        self, base: bytes, target: bytes, costs: np.ndarray, first: tuple[int, ...]
    ) -> None:
        self._target = target
        # Outside of the base stands what no byte is near to.
        self._old = np.frombuffer(base, np.uint8).astype(np.int32)
        self._costs = np.append(costs.astype(np.float64), _OUTSIDE_BITS)
        self._seeds = [(size, _places(base, size)) for size in _SEEDS]
        self._shift = np.full(BEAM, NO_SHIFT, np.int64)
        self._shift[1 : len(first) + 1] = first  # slot 0 is always what the base does not have
        self._cost = np.full(BEAM, _CHANGE_BITS)
        self._cost[0] = 0.0
        self._since = np.zeros(BEAM, np.int64)  # where in the target the slot's run began
        self._before = np.full(BEAM, -1, np.int64)  # node of the run before
        self._used = np.full(BEAM, -1, np.int64)  # when it was the best one
        self._nodes: list[tuple[int, int, int]] = []
        self._known: dict[int, int] = {}  # node of a slot's run, once something follows it

    def path(self) -> list[Run]:
        for at in range(len(self._target)):
            best = int(self._cost.argmin())
            self._used[best] = at
            limit = self._cost[best] + _CHANGE_BITS
            self._come(at, best, limit)
            worse = np.flatnonzero(self._cost > limit)
            if len(worse):
                self._start(worse, at, best, limit)
            self._pay(at)
        node = self._node(int(self._cost.argmin()))
        found: list[Run] = []
        end = len(self._target)
        while node >= 0:
            start, shift, node = self._nodes[node]
            if end > start:
                found.append((start, end, shift))
                end = start
        return found[::-1]

    def _pay(self, at: int) -> None:
        places = self._shift + at
        inside = (places >= 0) & (places < len(self._old))
        which = np.full(BEAM, 256)
        which[inside] = (self._target[at] - self._old[places[inside]]) & 255
        bits = self._costs[which]
        bits[0] = LITERAL_BITS
        self._cost += bits

    def _come(self, at: int, best: int, limit: float) -> None:
        """Bring shifts into play whose next bytes are equal."""
        for size, places in self._seeds:
            for place in _near(
                places.get(self._target[at : at + size], ()), at + self._shift[best]
            ):
                if (self._shift == place - at).any():
                    continue
                order = np.where(self._cost >= limit - 1, self._used, at + 1)
                order[0] = order[best] = at + 2
                slot = int(order.argmin())
                self._shift[slot] = place - at
                self._used[slot] = at
                way = abs(place - at - int(self._shift[best])) if best else 4096
                bits = min(_CHANGE_BITS, _NEAR_BITS + math.log2(way + 1))
                self._start(np.array([slot]), at, best, limit - _CHANGE_BITS + bits)

    def _start(self, slots: np.ndarray, at: int, best: int, cost: float) -> None:
        before = self._node(best)
        self._cost[slots] = cost
        self._since[slots] = at
        self._before[slots] = before
        for slot in slots.tolist():
            self._known.pop(slot, None)

    def _node(self, slot: int) -> int:
        if slot not in self._known:
            run = int(self._since[slot]), int(self._shift[slot]), int(self._before[slot])
            self._nodes.append(run)
            self._known[slot] = len(self._nodes) - 1
        return self._known[slot]


def _places(base: bytes, size: int) -> dict[bytes, list[int]]:
    """Return the places of each seed, in order."""
    places: dict[bytes, list[int]] = {}
    for at in range(len(base) - size + 1):
        places.setdefault(base[at : at + size], []).append(at)
    return places


def _near(places: Sequence[int], wanted: int) -> Sequence[int]:
    """Return the places that are cheap to name, and the first one."""
    if len(places) <= _TRIED:
        return places
    i = bisect.bisect(places, wanted)
    return [*places[max(0, i - 2) : i + 2], places[0]]
