# SPDX-License-Identifier: MIT
"""Days without a clock, epochs, the model that waits, and a flash that refuses at boot."""

# RUNTIMES = ("cpython", "desktop")

from capsule_vectors import BASE, TARGET
from nor import NorFlash
from store_cases import PAGE, PAGES, empty, model, new, open_store, raised, verified

from acclimate.flash import FlashError
from acclimate.store import CapsuleError, Store, StoreError, core
from acclimate.store.capsule import WEIGHTS, Wanted

# ---- days --------------------------------------------------------------------------------------


def test_without_a_clock_each_boot_begins_the_next_day():
    store = new(day_pages=100)
    assert store.budget_left() < 100
    day = store.journal.day
    for count in (1, 2, 3):
        store = open_store(store.flash, day_pages=100)
        assert store.budget_left() == 100
        store.swap_capsule(BASE, True)
        assert store.journal.day == day + count and store.budget_left() < 100


def test_without_a_clock_a_day_that_was_on_ends_after_its_seconds():
    seconds = [1000]
    before, core._now = core._now, lambda: seconds[0]
    try:
        store = new(day_pages=100)
        day = store.journal.day
        for passed, days in ((86399, 0), (86400, 1), (2 * 86400 - 1, 1), (2 * 86400, 2)):
            seconds[0] = 1000 + passed
            assert (store.budget_left() == 100) == (days > 0), passed
            assert store._today() == day + days, passed
    finally:
        core._now = before


def test_days_are_counted_in_16_bits():
    store = new(day_pages=100, day=lambda: 0xFFFF)
    assert store.journal.day == 0xFFFF
    store = open_store(store.flash, day_pages=100)
    store.swap_capsule(BASE, True)
    assert store.journal.day == 0


# ---- a store that has just booted --------------------------------------------------------------


def test_a_store_that_has_just_booted_takes_no_bytes():
    store = open_store(new().flash)
    raised(StoreError, store.write, TARGET, 4)
    raised(StoreError, store.finish)
    assert model(store) == BASE


def test_a_new_region_says_so():
    store = empty()
    assert store.note.startswith("new region")


def test_the_keys_of_a_board_meet_its_store_at_boot():
    class Keys:
        met = None

        def meet(self, store):
            self.met = store

        def check(self, *_):
            pass

    wanted = Wanted(model=7, kind=1)
    wanted.key = Keys()
    store = Store(NorFlash(PAGES * PAGE, PAGE), wanted, chunk_bytes=64)
    assert wanted.key.met is store


# ---- epochs ------------------------------------------------------------------------------------


def test_a_capsule_of_another_epoch_is_refused():
    store = new()
    for epoch in (1, 2, 0x8000, 0xFFFF):
        store.journal.keys = epoch << 16 | 3
        error = raised(CapsuleError, store.stage, TARGET, len(TARGET))
        assert error.reason == "epoch" and str(error).endswith("0, this device is in %d" % epoch)
    store.journal.keys = 0xFFFF  # the number of a key list is no epoch
    assert store.stage(TARGET, len(TARGET)) == 0


def test_a_version_of_an_epoch_before_does_not_bound_this_one():
    store = verified(new())
    store.journal.keys = 1 << 16
    store.confirm()
    assert store.journal.version == 0
    assert model(store) == TARGET
    store = verified(new())
    store.journal.keys = 0xFFFF  # the number of a key list is no epoch
    store.confirm()
    assert store.journal.version == store.head.version > 0


def test_a_board_with_an_hmac_key_is_in_no_epoch_and_one_without_a_key_stays_in_its_own():
    store = new()
    store.journal.keep(7, 3, 1)  # a list of keys: number 3 of epoch 1
    assert store.journal.keys == 1 << 16 | 3
    assert open_store(store.flash).journal.keys == 0
    without = Store(store.flash, Wanted(model=7, kind=1), chunk_bytes=64)
    assert without.journal.keys == 1 << 16 | 3


def test_a_lost_journal_takes_its_version_from_a_model_of_its_epoch():
    store = new()
    store.flash.data[: 2 * PAGE] = b"\xff" * (2 * PAGE)

    class Keys:
        def __init__(self, keys):
            self.keys = keys

        def meet(self, store):
            store.journal.keys = self.keys

        def check(self, *_):
            pass

    for keys, version in ((1 << 16, 0), (0, store.head.version), (0xFFFF, store.head.version)):
        copy = NorFlash(PAGES * PAGE, PAGE, data=bytearray(store.flash.data))
        wanted = Wanted(model=7, kind=1)
        wanted.key = Keys(keys)
        again = Store(copy, wanted, chunk_bytes=64)
        assert model(again) == BASE and "journal lost" in again.note
        assert again.journal.version == version, keys


# ---- the model that waits ----------------------------------------------------------------------


def test_only_a_whole_verified_model_waits():
    store = new()
    raised(StoreError, store.waiting)
    verified(store)
    waiting = store.waiting()
    size = waiting.section(WEIGHTS)[1]
    assert bytes(waiting.view(WEIGHTS)) == TARGET[128 : 128 + size]
    store.confirm()
    raised(StoreError, store.waiting)
    store = verified(new())
    slot = store.journal.slot
    store.flash.data[store.slots.start(slot) + 150] ^= 4
    error = raised(StoreError, open_store(store.flash).waiting)
    assert "integrity" in str(error)


def test_the_verdict_on_a_model_that_waits_is_read_back():
    for verdict, score in ((1, 32768), (0, -32768), (-1, 0), (1, 256)):
        store = verified(new())
        assert store.verdict() is None
        store.waiting().keep_verdict(verdict, score)
        for one in (store, open_store(store.flash)):
            found = one.verdict()
            assert found[0] == verdict and abs(found[1] - score) <= 256


def test_every_section_of_a_model_is_found_also_the_first():
    store = new()
    assert store.section(store.head.section_type(0))[0] == store.slots.start(store.active) + 124
    assert len(Store(NorFlash(1024, 128)).checker.chunk) == 128  # unless it is told otherwise


def test_of_the_model_that_waits_only_its_sections_are_read():
    waiting = verified(new()).waiting()
    size = waiting.section(WEIGHTS)[1]
    one = bytearray(1)
    for offset in (0, size - 1):
        waiting.readinto(WEIGHTS, offset, one)
        assert one[0] == TARGET[128 + offset]
    for offset, n in ((-1, 1), (size, 1), (0, size + 1), (size - 1, 2)):
        raised(ValueError, waiting.readinto, WEIGHTS, offset, bytearray(n))
    raised(ValueError, waiting.section, 99)


def test_a_store_without_a_model_has_no_section_of_the_one_that_it_gave_up():
    store = verified(empty())
    store.trial()
    assert store.section(WEIGHTS)[1]
    store.rollback()
    assert store.active is None and "no section" in str(raised(StoreError, store.section, WEIGHTS))


def test_a_model_on_trial_that_is_confirmed_keeps_its_header():
    store = verified(new())
    store.trial()
    version = store.head.version
    store.confirm()
    assert store.head.version == version == open_store(store.flash).head.version


def test_a_header_that_came_alone_mends_later():
    store = new()
    size = store.head.size
    store.stage(TARGET[:size], size)  # as a pull does
    store.write(TARGET, len(TARGET))
    store.finish()
    store.confirm()
    for at in (30, size - 1):
        copy = NorFlash(PAGES * PAGE, PAGE, data=bytearray(store.flash.data))
        copy.data[store.slots.start(store.active) + at] ^= 64
        again = open_store(copy)
        assert "mended" in again.note and again.head.version == store.head.version


def test_a_capsule_from_outside_is_asked_for_the_key_of_a_release():
    asked = []

    class Keys:
        def meet(self, store):
            pass

        def check(self, data, n, role):
            asked.append(role)

    store = new()
    store.wanted.key = Keys()
    store.stage(TARGET, len(TARGET))
    assert asked == [1]


# ---- a flash that refuses ----------------------------------------------------------------------


class Worn(NorFlash):
    """Its journal takes no more once it is worn."""

    is_worn = False

    def _program(self, at, buffer):
        if not (self.is_worn and at < 2 * PAGE):
            super()._program(at, buffer)


def worn(store):
    """The store after a boot with a journal that takes no more."""
    store.flash.is_worn = True
    return open_store(store.flash)


class Unreadable(NorFlash):
    """Nothing is read of one slot once it is lost."""

    lost = -1
    pages = 3

    def mapped(self, at, n):
        return None

    def _read(self, at, buffer):
        if self.lost <= at < self.lost + self.pages * PAGE and self.lost >= 0:
            raise OSError(5)
        super()._read(at, buffer)


def test_a_slot_that_cannot_be_read_is_trouble_and_the_other_model_serves():
    store = empty(Unreadable)
    store.flash.view = None
    store.swap_capsule(BASE)
    store.swap_capsule(TARGET)
    for slot, found in ((store.active, BASE), (1 - store.active, TARGET)):
        store.flash.lost = store.slots.start(slot)
        before = bytes(store.flash.data)
        again = open_store(store.flash)
        assert model(again) == found and bytes(store.flash.data) == before
        if found == BASE:
            assert again.trouble and again.trouble in again.note
            raised(FlashError, again.stage, TARGET, len(TARGET), True)
        else:
            assert not again.trouble  # nobody has looked
    store.flash.lost = 2 * PAGE
    before = store.flash.data[: 2 * PAGE]
    store.flash.data[2 * PAGE + 3 * PAGE + 150] ^= 1  # and the other one is damaged
    again = open_store(store.flash)
    assert again.active is None and again.trouble and "no model" in again.note
    assert store.flash.data[: 2 * PAGE] == before


def test_a_journal_that_cannot_be_read_is_trouble_and_nothing_is_written():
    store = new(Unreadable)
    store.flash.lost, store.flash.pages = 0, 2  # both of the journal
    before = bytes(store.flash.data)
    again = open_store(store.flash)
    assert model(again) == BASE and again.trouble and bytes(store.flash.data) == before
    raised(FlashError, again.check_writable)


def test_a_store_in_trouble_reads_and_writes_nothing():
    store = verified(new(Worn))
    store.trial()
    store = worn(store)
    assert store.trouble and model(store) == BASE
    before = bytes(store.flash.data)
    for call in (store.rollback, store.scratch, store.check_writable):
        raised(FlashError, call)
    raised(FlashError, store.stage, TARGET, len(TARGET), True)
    raised(FlashError, store.make_room, False)
    assert bytes(store.flash.data) == before


def test_a_trial_whose_boot_cannot_be_counted_is_not_on_in_either_slot():
    for swaps in (0, 1):
        store = new(Worn)
        for _ in range(swaps):
            store.swap_capsule(BASE, True)
        assert store.active == swaps
        verified(store).trial()
        store = worn(store)
        assert model(store) == BASE and store.active == swaps and store.trouble
        store.flash.is_worn = False
        store = open_store(store.flash)
        assert store.state == "trial" and not store.trouble


def test_a_trial_that_ends_where_the_journal_takes_no_more_marks_no_slot():
    store = verified(new(Worn))
    store.trial()
    for _ in range(store.max_boots):
        store = open_store(store.flash)
    assert store.state == "trial"
    slots = bytes(store.flash.data[2 * PAGE :])
    store = worn(store)
    assert model(store) == BASE and store.trouble and bytes(store.flash.data[2 * PAGE :]) == slots


def test_a_trial_without_another_model_goes_on_where_a_boot_cannot_be_counted():
    for stray in (False, True):  # a whole capsule that nobody put there is none
        store = empty(Worn)
        if stray:
            start = store.slots.start(1)
            store.flash.data[start : start + len(BASE)] = BASE
        verified(store).trial()
        store = worn(store)
        assert model(store) == TARGET and store.trouble


def test_a_trial_whose_other_model_is_damaged_goes_on_where_a_boot_cannot_be_counted():
    store = verified(new(Worn))
    store.flash.data[store.slots.start(store.active) + 150] ^= 4
    store.trial()
    store = worn(store)
    assert model(store) == TARGET and store.trouble


def test_what_a_flash_does_not_take_of_a_cancel_is_not_hidden():
    store = verified(new(Worn))
    store.flash.is_worn = True
    raised(FlashError, store.cancel)
    assert model(store) == BASE
    assert open_store(store.flash).state == "verified"


def test_the_header_of_a_model_found_without_a_journal_mends_later():
    for lost in (False, True):
        store = new()
        if lost:
            store.flash.data[: 2 * PAGE] = b"\xff" * (2 * PAGE)
            store = open_store(store.flash)
            assert "journal lost" in store.note
        start = store.slots.start(store.active)
        store.flash.data[start + 30] ^= 4
        store = open_store(store.flash)
        assert store.active is not None and "mended" in store.note
