# SPDX-License-Identifier: MIT
"""The search for where bytes come from, against all ways there are on short sections."""

import itertools
import random

import numpy as np
import pytest

from acclimate.store.rangecoder import _COPY as COPY
from acclimate.store.rangecoder import _DATA as DATA
from acclimate.store.rangecoder import _DIFF as DIFF
from acclimate_host.capsules import alignment, planning
from acclimate_host.capsules.alignment import LITERAL_BITS, NO_SHIFT, runs
from acclimate_host.capsules.planning import Instruction, fitted, guesses, plans

CHANGE, SWITCH, OUTSIDE, EQUAL = 16.0, 9.0, 60.0, 0.02


def some_bytes(seed, n, values=256):
    draw = random.Random(seed)
    return bytes(draw.randrange(values) for _ in range(n))


def near(data, seed, share=0.3):
    """The bytes with small changes here and there."""
    draw = random.Random(seed)
    ways = (-2, -1, 1, 3)
    return bytes(b + draw.choice(ways) & 255 if draw.random() < share else b for b in data)


# ---- runs --------------------------------------------------------------------------------------


def bits_of(base, target, costs, at, shift):
    if shift == NO_SHIFT:
        return LITERAL_BITS
    if not 0 <= at + shift < len(base):
        return OUTSIDE
    return costs[(target[at] - base[at + shift]) % 256]


def cost_of(base, target, costs, found):
    """What runs cost: their bytes, and the change to each but a first one without a shift."""
    total = 0.0
    for i, (start, end, shift) in enumerate(found):
        total += CHANGE if i or shift != NO_SHIFT else 0
        total += sum(bits_of(base, target, costs, at, shift) for at in range(start, end))
    return total


def least_cost(base, target, costs, shifts):
    """The least cost of all ways, with any change at any byte."""
    ways = {shift: 0.0 if shift == NO_SHIFT else CHANGE for shift in shifts}
    for at in range(len(target)):
        change = min(ways.values()) + CHANGE
        ways = {
            shift: min(cost, change) + bits_of(base, target, costs, at, shift)
            for shift, cost in ways.items()
        }
    return min(ways.values())


def covers(found, n):
    ends = [0, *(end for _, end, _ in found)]
    return [start for start, _, _ in found] == ends[:-1] and ends[-1] == n


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("which", [0, 1])
def test_with_all_shifts_in_play_no_way_is_cheaper(seed, which):
    base, costs = some_bytes(seed, 40, 256 if seed % 2 else 6), guesses()[which]
    target = near(base[25:], seed) + some_bytes(seed + 50, 6) + near(base[:22], seed + 9)
    shifts = range(1 - len(target), len(base))
    assert len(shifts) < alignment.BEAM
    found = runs(base, target, costs, tuple(shifts))
    assert covers(found, len(target)) and len(found) > 1
    wanted = least_cost(base, target, costs, [NO_SHIFT, *shifts])
    assert cost_of(base, target, costs, found) == pytest.approx(wanted)


def test_parts_that_changed_places_are_found_where_they_were():
    base, new = some_bytes(1, 900), some_bytes(2, 40)
    target = base[600:900] + new + base[:300] + base[320:500]
    costs = guesses()[0]
    found = runs(base, target, costs)
    assert covers(found, len(target))
    assert [shift for _, _, shift in found] == [600, NO_SHIFT, -340, -320]
    for (start, _, _), wanted in zip(found, (0, 300, 340, 640), strict=True):
        assert abs(start - wanted) <= 3  # a byte more may be the same by chance
    inserted = base[:400] + new + base[400:]
    found = runs(base, inserted, guesses()[1])
    assert [shift for _, _, shift in found] == [0, NO_SHIFT, -40]


def test_a_base_like_nothing_in_the_target_is_not_used():
    target = some_bytes(4, 300)
    for base in (b"", some_bytes(3, 300), b"abc"):
        assert runs(base, target, guesses()[0]) == [(0, 300, NO_SHIFT)]
        assert runs(base, b"", guesses()[0]) == []


def test_a_shift_that_is_in_play_needs_no_equal_bytes():
    base = some_bytes(5, 400)
    target = bytes(b + 1 & 255 for b in base[100:300])  # four equal ones are nowhere
    costs = guesses()[1]
    assert runs(base, target, costs, (0, 100)) == [(0, 200, 100)]
    assert runs(base, target, costs, (100,)) == [(0, 200, 100)]


def test_the_place_where_one_is_comes_into_play_by_itself():
    base = some_bytes(5, 200)
    target = bytes(b + 1 & 255 for b in base)
    assert runs(base, target, guesses()[1]) == [(0, 200, 0)]


def test_a_place_near_the_last_one_is_cheap_to_name():
    """A new byte behind each four: what names any place would cost as much as sending all."""
    base = some_bytes(11, 160)
    target = b"".join(base[at : at + 4] + bytes([base[at + 4] ^ 128]) for at in range(0, 156, 4))
    found = runs(base, target, guesses()[1])
    assert covers(found, len(target))
    assert sum(end - start for start, end, shift in found if shift == NO_SHIFT) < 60


@pytest.mark.parametrize("beam", [3, 4, 6, 128])
@pytest.mark.parametrize("seed", range(6))
def test_however_few_places_are_in_play_nothing_is_dearer_than_sending_all(
    seed, beam, monkeypatch
):
    """More like places than a beam takes: the one in use, and none, never leave it."""
    monkeypatch.setattr(alignment, "BEAM", beam)
    draw = random.Random(seed)
    words = [some_bytes(seed * 10 + k, 6) for k in range(5)]
    base = b"".join(draw.choice(words) for _ in range(60))
    cut = draw.randrange(100, 200)
    target = base[cut : cut + 80] + some_bytes(seed, 30) + base[20:100]
    target += b"".join(draw.choice(words)[: draw.randrange(3, 7)] for _ in range(20))
    costs = guesses()[0]
    found = runs(base, target, costs)
    assert covers(found, len(target))
    bound = LITERAL_BITS * len(target)
    # Two parts of 80 are where they were: at least these are found there.
    assert cost_of(base, target, costs, found) <= bound - 2 * 80 * LITERAL_BITS + 4 * CHANGE + 8


def test_many_like_places_leave_those_that_are_near():
    """Each four bytes stand in many places; the one where the last run went on is cheapest."""
    words = [some_bytes(seed, 4) for seed in range(3)]
    base = b"".join(words[(i * i) % 3] for i in range(200))
    target = base[200:500] + some_bytes(9, 30) + base[500:700]
    costs = guesses()[0]
    found = runs(base, target, costs)
    assert covers(found, len(target))
    known = [(0, 300, 200), (300, 330, NO_SHIFT), (330, 530, 170)]
    assert cost_of(base, target, costs, found) <= cost_of(base, target, costs, known)


@pytest.mark.parametrize("count", [4, 5, 6, 7, 20])
def test_of_more_places_than_are_tried_two_each_side_and_the_first_are(count):
    places = list(range(100, 100 + 10 * count, 10))
    for wanted in (0, 95, 100, 131, 100 + 10 * count, 9999):
        found = list(alignment._near(places, wanted))
        if count <= 5:
            assert found == places
            continue
        assert len(found) <= 5 and found[-1] == 100 and set(found) <= set(places)
        closest = sorted(places, key=lambda place, w=wanted: abs(place - w))
        assert set(closest[:2]) <= set(found)
        if places[1] < wanted < places[-2]:
            below = [place for place in places if place <= wanted]
            above = [place for place in places if place > wanted]
            assert found[:-1] == below[-2:] + above[:2]


# ---- instructions ------------------------------------------------------------------------------


def step_cost(base, target, costs, kind, at, shift):
    inside = 0 <= at + shift < len(base)
    way = (target[at] - base[at + shift]) % 256 if inside else None
    if kind == COPY:
        return EQUAL if way == 0 else np.inf
    if kind == DATA:
        return LITERAL_BITS
    return costs[way] if inside else np.inf


@pytest.mark.parametrize("seed", range(9))
def test_a_run_is_divided_at_the_least_cost(seed):
    base = some_bytes(seed, 12)
    target = near(base, seed, 0.4)[:4] + some_bytes(seed + 1, 3) + base[7:]
    shift, run = (0, (0, 9, 0)) if seed % 3 else (2, (1, 10, 2))
    for costs in guesses():
        steps = planning._split(base, target, run, costs)
        assert covers([(s.start - run[0], s.end - run[0], 0) for s in steps], 9)
        assert all(step.shift == shift for step in steps)
        found = sum(
            step_cost(base, target, costs, s.kind, at, shift)
            for s in steps
            for at in range(s.start, s.end)
        ) + SWITCH * (len(steps) - 1)
        each = [
            {k: step_cost(base, target, costs, k, at, shift) for k in (COPY, DATA, DIFF)}
            for at in range(run[0], run[1])
        ]
        wanted = min(
            sum(map(dict.__getitem__, each, kinds))
            + SWITCH * sum(a != b for a, b in itertools.pairwise(kinds))
            for kinds in itertools.product((COPY, DATA, DIFF), repeat=len(each))
        )
        assert found == pytest.approx(wanted) and found < np.inf


@pytest.mark.parametrize("seed", range(6))
def test_the_runs_from_both_ends_meet_where_it_costs_least(seed):
    base = some_bytes(seed, 60)
    cut = (0, 12, 30, 41, 50, 50)[seed]
    target = near(base[:cut], seed) + near(base[cut + 10 :], seed + 1)
    ends = (0, len(base) - len(target))
    costs = guesses()[1]
    found = planning._two_ends(base, target, ends, costs)
    assert covers(found, len(target)) and all(shift in ends for _, _, shift in found)

    def cost(at):
        return sum(
            min(step_cost(base, target, costs, k, i, ends[i >= at]) for k in (COPY, DATA, DIFF))
            for i in range(len(target))
        )

    where = next((end for _, end, shift in found if shift == ends[0]), 0)
    assert cost(where) == pytest.approx(min(cost(at) for at in range(len(target) + 1)))


def test_likeness_is_the_share_of_bytes_that_are_near():
    base, target = some_bytes(7, 500), some_bytes(8, 500)
    way = (np.frombuffer(target, np.uint8).astype(int) - np.frombuffer(base, np.uint8)) % 256
    wanted = (np.minimum(way, 256 - way) <= 4).mean()
    assert planning._likeness(base, target, [(0, 500, 0)]) == pytest.approx(wanted)
    halves = [(0, 200, 0), (200, 500, 0)]
    assert planning._likeness(base, target, halves) == pytest.approx(wanted)
    assert planning._likeness(base, base, [(0, 500, 0)]) == 1.0
    assert planning._likeness(base, base[40:], [(0, 460, 40)]) == 1.0
    for shift in (-1, 1):  # a byte is outside
        assert planning._likeness(base, base, [(0, 500, shift)]) == 0.0


def test_costs_follow_what_the_differences_of_a_plan_are():
    base = bytes(1000)
    target = bytes([0] * 700 + [1] * 150 + [255] * 50 + [7] * 90 + [200] * 10)
    plan = [Instruction(DIFF, 0, 990, 0), Instruction(DATA, 990, 1000, 0)]
    costs = fitted(plan, base, target)
    assert (costs == costs[-np.arange(256) % 256]).all()  # as much up as down
    assert costs[0] < costs[1] < costs[7] < costs[200] == costs.max() <= 16
    # Both signs are counted for one, and 0 for both of its own: shares of twice the bytes.
    for way, share in ((0, 1400), (1, 200), (7, 90)):
        assert costs[way] == pytest.approx(-np.log2((share + 0.04) / (2 * 990 + 256 * 0.04)), 1e-6)
    assert fitted([Instruction(COPY, 0, 700, 0)], base, target).max() <= 16
    shifted = fitted([Instruction(DIFF, 700, 850, -600)], bytes(99) + b"\1" * 200, target)
    assert shifted.argmin() == 0


def test_guesses_are_cheapest_for_equal_bytes_and_dearer_the_farther():
    code, weights = guesses()
    for table in (code, weights):
        assert len(table) == 256 and (table == table[-np.arange(256) % 256]).all()
        assert (np.diff(table[:129]) >= 0).all() and table[0] < table[1] and table.max() == 13
    assert len(set(code)) == 2 and weights[1] < LITERAL_BITS < weights[16]


def is_plan(plan, base, target):
    """Whether instructions make the target."""
    made = bytearray()
    for step in plan:
        assert step.start == len(made) < step.end
        if step.kind != DATA:
            assert 0 <= step.start + step.shift and step.end + step.shift <= len(base)
        if step.kind == COPY:
            made += base[step.start + step.shift : step.end + step.shift]
        else:
            made += target[step.start : step.end]
    return made == target


def joined(plan):
    """Neighbours of one kind are one instruction."""
    pairs = itertools.pairwise(plan)
    return not any(a.kind == b.kind and (a.kind == DATA or a.shift == b.shift) for a, b in pairs)


CASES = {
    "weights": lambda base: near(base, 1, 0.9),
    "half": lambda base: near(base[:300], 1, 0.5) + some_bytes(9, 400),
    "code": lambda base: base[:200] + some_bytes(5, 30) + base[180:],
    "other": lambda base: some_bytes(6, 700),
    "moved": lambda base: base[350:] + base[:350],
    "same": lambda base: base,
}


# How many are tried, with a search and without: one of differences alone where both ends are like
# the old section, and two for each guess; a search where they are not nearly the same.
PLANS = {
    "weights": (3, 3), "code": (3, 3), "same": (3, 3), "half": (7, 3), "other": (4, 2),
    "moved": (4, 2),
}  # fmt: skip


@pytest.mark.parametrize("most", [1 << 17, 100])
@pytest.mark.parametrize("case", CASES)
def test_every_plan_makes_the_target(case, most, monkeypatch):
    """Also of sections that are too large for a search."""
    monkeypatch.setattr(planning, "_SEARCH_MAX", most)
    base = some_bytes(3, 700)
    target = CASES[case](base)
    found = list(plans(base, target, (0, len(base) - len(target))))
    assert found and all(is_plan(plan, base, target) for plan in found)
    assert all(map(joined, found[1:]))
    searched = most > len(target)
    assert len(found) == PLANS[case][not searched]
    if case == "same":
        assert found[-1] == [Instruction(COPY, 0, 700, 0)]
    if case == "weights":
        assert {step.kind for step in found[0]} == {DIFF}
        assert found[1] == found[2] == [Instruction(DIFF, 0, 700, 0)]
    if case == "moved" and searched:
        assert [(s.kind, s.shift) for s in found[-1]] == [(COPY, 350), (COPY, -350)]


def test_without_a_base_all_is_sent():
    target = some_bytes(1, 50)
    for plan in plans(b"", target, (0, -50)):
        assert plan == [Instruction(DATA, 0, 50, 0)]
