# SPDX-License-Identifier: MIT
"""The layout of an arena against bytes that are marked one by one, and against all orders."""

import zlib
from itertools import permutations

import numpy as np
import pytest

from acclimate_host.compile import arena
from acclimate_host.compile.arena import Layout, lay_out, live_bound, live_bytes, place
from acclimate_host.compile.storage import Buffer


def some(seed, count=6, steps=7):
    random = np.random.default_rng(seed)
    found = []
    for i in range(count):
        first, last = sorted(random.integers(0, steps, 2).tolist())
        found.append(Buffer(f"b{i}", int(random.integers(1, 12)), first, last))
    return found


def marked(order):
    """Return (size, offsets): each buffer at the lowest free bytes of all of its steps."""
    taken, offsets = set(), {}
    for b in order:
        at = 0
        while any(
            (step, byte) in taken
            for step in range(b.first, b.last + 1)
            for byte in range(at, at + b.size_bytes)
        ):
            at += 1
        offsets[b.name] = at
        taken |= {
            (step, byte)
            for step in range(b.first, b.last + 1)
            for byte in range(at, at + b.size_bytes)
        }
    return 1 + max((byte for _, byte in taken), default=-1), offsets


@pytest.mark.parametrize("seed", range(12))
def test_each_buffer_lies_at_the_lowest_bytes_that_are_free(seed):
    order = some(seed, 9)
    assert place(order) == marked(order)
    assert place(order[::-1]) == marked(order[::-1])


@pytest.mark.parametrize("seed", range(12))
def test_what_lives_is_counted_step_by_step(seed):
    found = some(seed)
    wanted = [sum(b.size_bytes for b in found if b.first <= i <= b.last) for i in range(7)]
    assert live_bytes(found, 7) == wanted
    assert live_bound(found) == max(wanted)
    assert live_bound([]) == 0 and live_bytes([], 2) == [0, 0]
    assert live_bytes([Buffer("last", 5, 2, 2)], 3) == [0, 0, 5]


@pytest.mark.parametrize("seed", range(8))
def test_a_layout_is_the_best_of_all_orders(seed):
    found = some(seed, 6)
    best = min(place(order)[0] for order in permutations(found))
    layout = lay_out(found)
    assert layout.size_bytes == best >= layout.bound_bytes == live_bound(found)
    order = sorted(found, key=lambda b: layout.offsets[b.name])
    for i, low in enumerate(order):
        for high in order[i + 1 :]:
            if low.first <= high.last and high.first <= low.last:
                assert layout.offsets[low.name] + low.size_bytes <= layout.offsets[high.name]
    assert lay_out(found, seed=1) == layout
    assert lay_out(found, 0).size_bytes >= best


def test_each_of_the_fixed_orders_is_looked_at():
    """What comes out without a single change is the best of five orders."""
    keys = (
        lambda b: (b.first - b.last, -b.size_bytes, b.name),
        lambda b: (-b.size_bytes, b.first - b.last, b.name),
        lambda b: (-b.size_bytes * (1 + b.last - b.first), b.name),
        lambda b: (b.first, -b.size_bytes, b.name),
        lambda b: (-b.last, -b.size_bytes, b.name),
    )
    winners = set()
    for seed in range(150):
        found = some(seed, 14, 9)
        sizes = [marked_size(sorted(found, key=key)) for key in keys]
        assert lay_out(found, 0).size_bytes == min(sizes)
        if sizes.count(min(sizes)) == 1:
            winners.add(sizes.index(min(sizes)))
    assert winners == set(range(5))


def marked_size(order):
    return place(order)[0]


def test_how_long_is_looked_is_told_by_tries_and_goal(monkeypatch):
    """With buffers of which no order reaches the bound, as some hundreds of them may be."""
    found, calls = some(3), []
    bound = live_bound(found)

    def counted(order):
        calls.append(order)
        return bound + 3, place(order)[1]

    monkeypatch.setattr(arena, "place", counted)
    for tries, goal, wanted in (
        (0, None, 5),
        (30, None, 35),
        (30, bound, 305),  # it may exist, for all that is known
        (30, bound + 2, 305),
        (30, bound - 1, 35),  # it cannot
        (30, bound + 3, 35),  # reached before
    ):
        calls.clear()
        lay_out(found, tries, goal=goal)
        assert len(calls) == wanted, (tries, goal)
    calls.clear()
    lay_out([Buffer("one", 8, 0, 3)], 30)
    assert len(calls) == 5  # one buffer has one order
    lay_out(found[:2], 30)
    assert len(calls) == 5 + 35
    monkeypatch.undo()
    assert lay_out([Buffer("one", 8, 0, 3)]) == Layout({"one": 0}, 8, 8)


def test_a_layout_says_how_far_it_is_from_its_bound():
    assert Layout({}, 12, 12).proven_optimal and not Layout({}, 13, 12).proven_optimal
    assert Layout({}, 15, 12).excess == 0.25 and Layout({}, 0, 0).excess == 0.0
    assert lay_out([]) == Layout({}, 0, 0)


def test_changed_orders_are_the_same_ones_in_each_release():
    """So that a program that is compiled again has the same bytes."""
    sets = [found for found in (some(seed, 14, 9) for seed in range(240)) if missed(found)][:20]
    layouts = [lay_out(found) for found in sets]
    assert sum(layout.size_bytes for layout in layouts) == 1150 == sum(map(live_bound, sets))
    assert sum(lay_out(found, 0).size_bytes for found in sets) == 1196
    offsets = repr([sorted(layout.offsets.items()) for layout in layouts])
    assert zlib.crc32(offsets.encode()) == 2613733627
    assert layouts[0] == lay_out(sets[0], seed=1) != lay_out(sets[0], seed=0)


def missed(found):
    return lay_out(found, 0).size_bytes > live_bound(found)
