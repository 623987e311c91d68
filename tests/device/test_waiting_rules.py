# SPDX-License-Identifier: MIT
"""The model that waits and what is made of it, and when a save is written."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

from capsule_vectors import BASE, TARGET
from store_cases import new, raised, reset, verified

from acclimate.acceptance import ACCEPT, REJECT, UNDECIDED
from acclimate.store import PROGRAM, WEIGHTS, CapsuleError, SavePolicy, StoreError

# ---- the model that waits ----------------------------------------------------------------------


def test_its_sections_are_read_and_not_those_of_the_model_in_use():
    store = verified(new())
    waiting = store.waiting()
    assert waiting.head.version == 2 and store.head.version == 1 and waiting.note == ""
    assert waiting.active == 1 - store.active and waiting.flash is store.flash
    at, size = waiting.section(WEIGHTS)
    inside = at - store.slots.start(waiting.active)
    assert bytes(waiting.view(WEIGHTS)) == TARGET[inside : inside + size]
    assert bytes(store.view(WEIGHTS)) != bytes(waiting.view(WEIGHTS))
    for offset, n in ((0, size), (0, 0), (3, 5), (size - 1, 1), (size, 0)):
        out = bytearray(n)
        waiting.readinto(WEIGHTS, offset, out)
        assert out == TARGET[inside + offset : inside + offset + n]
    for offset, n in ((-1, 1), (0, size + 1), (size, 1), (size - 1, 2), (size + 1, 0)):
        told = str(raised(ValueError, waiting.readinto, WEIGHTS, offset, bytearray(n)))
        assert "bytes %d to %d: %d" % (offset, offset + n, size) in told
    assert waiting.section(PROGRAM)[1] == 4 and "section 9" in str(
        raised(ValueError, waiting.view, 9)
    )


def test_nothing_waits_where_nothing_is_verified():
    store = new()
    assert "no model waits" in str(raised(StoreError, store.waiting))
    verified(store)
    store.trial()
    assert "no model waits" in str(raised(StoreError, store.waiting))


def test_a_verdict_and_its_score_stay_over_resets_and_go_with_the_next_capsule():
    for verdict in (ACCEPT, UNDECIDED, REJECT):
        for score, kept in (
            (-32768, -32768),
            (-32765, -32768),
            (-32764, -32764),
            (-1, -4),
            (0, 0),
            (3, 0),
            (4, 4),
            (32763, 32760),
            (32764, 32764),
            (32767, 32764),
            (32768, 32764),
        ):
            store = verified(new())
            assert store.verdict() is None
            store.waiting().keep_verdict(verdict, score)
            assert store.verdict() == (verdict, kept) and store.state == "verified"
            store = reset(store)
            assert store.verdict() == (verdict, kept)
            waiting = store.waiting()
            assert waiting.head.version == 2
            for wrong in (-32769, 32769):
                told = str(raised(ValueError, waiting.keep_verdict, verdict, wrong))
                assert "-32768 to 32768, got %d" % wrong in told
            assert store.verdict() == (verdict, kept)
    store.confirm()
    store.swap_capsule(BASE, any_version=True)
    assert store.verdict() is None


def test_a_verdict_that_is_none_is_refused():
    waiting = verified(new()).waiting()
    for wrong in (2, -2, "yes"):
        raised(ValueError, waiting.keep_verdict, wrong, 0)


# ---- when a save is written --------------------------------------------------------------------


class Clock:
    def __init__(self):
        self.now = 1000

    def __call__(self):
        return self.now


def changed(store, i):
    weights = bytearray(store.view(WEIGHTS))
    weights[i] ^= 1
    return weights


def test_so_many_seconds_lie_between_two_saves():
    store, clock = new(day_pages=0), Clock()
    saver = SavePolicy(store, 60, clock)
    assert saver.wait_s() == 0 and saver.saves_left() is None and saver.warning == ""
    assert saver.save(changed(store, 0)) == "saved" and saver.wait_s() == 60
    for passed, wait in ((1, 59), (59, 1)):
        clock.now = 1000 + passed
        assert saver.wait_s() == wait and saver.save(changed(store, 1)) == "too soon"
    clock.now = 1060
    assert saver.wait_s() == 0 and saver.save(bytearray(store.view(WEIGHTS))) == "unchanged"
    assert saver.wait_s() == 0  # what changed nothing is no save
    assert saver.save(changed(store, 1)) == "saved" and (saver.saves, saver.skipped) == (2, 3)
    clock.now = 5000
    assert saver.wait_s() == 0
    assert "every 60 s): 2 saves, 3 skipped, any left today" in repr(saver)


def test_a_clock_that_is_set_back_makes_one_wait_at_the_most():
    store, clock = new(day_pages=0), Clock()
    saver = SavePolicy(store, 60, clock)
    saver.save(changed(store, 0))
    clock.now = 10
    assert saver.wait_s() == 60
    clock.now = 69
    assert saver.wait_s() == 1
    clock.now = 70
    assert saver.save(changed(store, 0)) == "saved"


def test_the_clock_is_that_of_the_board_where_none_is_given():
    store = new(day_pages=0)
    saver = SavePolicy(store, 100000000)
    assert saver.save(changed(store, 0)) == "saved"
    assert saver.save(changed(store, 0)) == "too soon"


def test_a_policy_says_from_its_start_how_little_is_left():
    store = new(day_pages=12)
    while store.budget_left() >= 2 * store.slots.pages_of(store.head.total):
        store.save(changed(store, 0))
    assert SavePolicy(store, 0).warning == "1 more saves today"


def test_the_budget_of_a_day_is_told_before_it_ends():
    store, clock = new(day_pages=12), Clock()
    pages = store.slots.pages_of(store.head.total)
    before = store.budget_left()
    saver = SavePolicy(store, 0, clock)
    count = before // pages
    assert pages > 1 and count == saver.saves_left()
    for i in range(count):
        left = count - i
        assert saver.saves_left() == left
        assert saver.warning == ("%d more saves today" % left if left < 3 else "")
        assert saver.save(changed(store, i)) == "saved"
    weights = changed(store, 99)
    assert saver.save(weights) == "budget" and saver.saves_left() == 0 and saver.skipped == 1
    assert saver.warning == "0 more saves today" and ", 0 left today" in repr(saver)
    assert bytes(store.view(WEIGHTS)) != bytes(weights)


def test_numbers_and_a_store_without_a_model():
    for every_s in (-1, 100000001):
        told = str(raised(ValueError, SavePolicy, new(), every_s))
        assert "0 to 10**8 seconds, got %d" % every_s in told
    for every_s in (0, 100000000):
        assert SavePolicy(new(), every_s).every_s == every_s
    assert SavePolicy(new()).every_s == 3600
    store = new()
    store.active = None
    saver = SavePolicy(store, 0)
    assert saver.saves_left() is None
    assert raised(CapsuleError, saver.save, b"").reason == "table" and saver.saves == 0
