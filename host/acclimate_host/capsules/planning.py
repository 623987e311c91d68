# SPDX-License-Identifier: MIT
"""Choose the instructions that make one section of another: what to copy, code or send.

What a byte costs depends on the data: code changes here and there by any value, weights change
everywhere by little. Some guesses of it are tried, the best is refined by what it found, and
the shortest stream wins.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from acclimate.store.rangecoder import _COPY as COPY
from acclimate.store.rangecoder import _DATA as DATA
from acclimate.store.rangecoder import _DIFF as DIFF
from acclimate_host.capsules.alignment import LITERAL_BITS, NO_SHIFT, Run, runs

_SWITCH_BITS = 9.0  # of another instruction at the same place
_EQUAL_BITS = 0.02
_SEARCH_MAX = 1 << 17  # bytes; larger sections are aligned at both ends only
_DENSE = 0.95  # share of bytes near to those at both ends, where no search is needed
_SOME = 0.3  # share of them where one run of differences is tried


@dataclass(frozen=True)
class Instruction:
    """``kind`` makes the bytes start to end of the target; ``shift`` leads to the base's."""

    kind: int
    start: int
    end: int
    shift: int


def guesses() -> list[np.ndarray]:
    """Return what a byte may cost in bits, by its difference: for code, and for weights."""
    size = np.minimum(np.arange(256), 256 - np.arange(256))
    near = np.minimum(3 + 1.5 * np.log2(np.maximum(size, 1)), 13)
    return [np.where(size == 0, 0.05, 13.0), np.where(size == 0, 1.0, near)]


def plans(base: bytes, target: bytes, ends: tuple[int, int]) -> Iterator[list[Instruction]]:
    """Yield lists of instructions that make a section out of the bytes of the base.

    :param ends: shifts of the section's first and last byte to those of the old section.
    """
    tables = guesses()
    found = _two_ends(base, target, ends, tables[1])
    likeness = _likeness(base, target, found)
    if likeness > _SOME:
        yield [Instruction(DIFF, *run) for run in found]
        yield from _refined(base, target, found, tables[1])
    if likeness < _DENSE and len(target) <= _SEARCH_MAX:
        found = runs(base, target, (tables[0] + tables[1]) / 2, ends)
        for costs in tables:
            yield from _refined(base, target, found, costs)
    elif likeness <= _SOME:
        yield from _refined(base, target, found, tables[0])


def _refined(
    base: bytes, target: bytes, found: list[Run], costs: np.ndarray
) -> Iterator[list[Instruction]]:
    """Yield the plan for runs at some costs, and the one at the costs that it shows."""
    plan = _instructions(base, target, found, costs)
    yield plan
    yield _instructions(base, target, found, fitted(plan, base, target))


def fitted(plan: list[Instruction], base: bytes, target: bytes) -> np.ndarray:
    """Return what a byte costs by its difference, as the differences of a plan tell."""
    counts = np.full(256, 0.02)
    for step in plan:
        if step.kind == DIFF:
            new = np.frombuffer(target[step.start : step.end], np.uint8).astype(np.int32)
            old = base[step.start + step.shift : step.end + step.shift]
            np.add.at(counts, (new - np.frombuffer(old, np.uint8)) & 255, 1)
    counts = counts + counts[-np.arange(256) % 256]
    return np.clip(-np.log2(counts / counts.sum()), _EQUAL_BITS, 16)


def _likeness(base: bytes, target: bytes, found: list[Run]) -> float:
    """Return the share of bytes that are near to the old ones; 0 where one is outside."""
    near = 0
    for start, end, shift in found:
        if start + shift < 0 or end + shift > len(base):
            return 0.0
        new = np.frombuffer(target[start:end], np.uint8).astype(np.int32)
        old = np.frombuffer(base[start + shift : end + shift], np.uint8)
        near += int(((new - old + 4 & 255) <= 8).sum())
    return near / len(target)


def _two_ends(base: bytes, target: bytes, ends: tuple[int, int], costs: np.ndarray) -> list[Run]:
    """Return a run from the front and one from the back, which meet where it costs least."""
    n = len(target)
    bits = [_bits(base, target, (0, n, shift), costs).min(1) for shift in ends]
    front = np.append(0, np.cumsum(bits[0]))
    back = np.append(np.cumsum(bits[1][::-1])[::-1], 0)
    cut = int((front + back).argmin())
    return [run for run in ((0, cut, ends[0]), (cut, n, ends[1])) if run[0] < run[1]]


def _instructions(
    base: bytes, target: bytes, found: list[Run], costs: np.ndarray
) -> list[Instruction]:
    plan: list[Instruction] = []
    for start, end, shift in found:
        steps = (
            [Instruction(DATA, start, end, 0)]
            if shift == NO_SHIFT
            else _split(base, target, (start, end, shift), costs)
        )
        for step in steps:
            last = plan[-1] if plan else None
            if last and last.kind == step.kind and (step.kind == DATA or last.shift == step.shift):
                plan[-1] = Instruction(step.kind, last.start, step.end, last.shift)
            else:
                plan.append(step)
    return plan


def _split(base: bytes, target: bytes, run: Run, costs: np.ndarray) -> list[Instruction]:
    """Divide a run among the three kinds, at the least cost (Viterbi's algorithm)."""
    start, end, shift = run
    bits = _bits(base, target, run, costs)
    total = np.zeros(3)
    came = np.zeros((end - start, 3), np.int8)
    kinds = np.arange(3, dtype=np.int8)
    for i in range(end - start):
        best = int(total.argmin())
        limit = total[best] + _SWITCH_BITS
        stays = total <= limit
        came[i] = np.where(stays, kinds, best)
        total = np.minimum(total, limit) + bits[i]
    kind, last = int(total.argmin()), end
    steps: list[Instruction] = []
    for i in range(end - start - 1, -1, -1):
        before = int(came[i, kind])
        if before != kind or i == 0:
            steps.append(Instruction(kind + 1, start + i, last, shift))
            last, kind = start + i, before
    return steps[::-1]


def _bits(base: bytes, target: bytes, run: Run, costs: np.ndarray) -> np.ndarray:
    """Return what each byte of a run costs, (bytes, 3): copied, plain, as a difference."""
    start, end, shift = run
    places = np.arange(start, end) + shift
    inside = (places >= 0) & (places < len(base))
    old = np.frombuffer(base, np.uint8)[np.where(inside, places, 0)] if base else np.zeros(1)
    way = (
        np.frombuffer(target[start:end], np.uint8).astype(np.int32) - old.astype(np.int32)
    ) & 255
    bits = np.empty((end - start, 3))
    bits[:, COPY - 1] = np.where(inside & (way == 0), _EQUAL_BITS, np.inf)
    bits[:, DATA - 1] = LITERAL_BITS
    bits[:, DIFF - 1] = np.where(inside, costs[way], np.inf)
    return bits
