# SPDX-License-Identifier: MIT
"""One fault in flash or driver: a bounded share of `make bench NAME=powercut`, and its judges."""

import capsule_cases as cases
import pytest

from acclimate.flash import FlashError
from acclimate.store import CapsuleError, StoreError, journal
from acclimate.store import core as store_core
from acclimate.store.capsule import WEIGHTS, Head
from acclimate_host.capsules.build import head_bytes
from acclimate_host.testing.nor import NorFlash
from bench import powercut_cases
from bench.powercut_oracle import model_of, verdict
from bench.powercut_rot import DriverFlash, WornFlash, campaign

PAGE = 256


def bring(store, data):
    store.stage(data, head_bytes(data))
    store.write(data, len(data))
    store.finish()


def replaced():
    store = cases.store(cases.flash())
    store.swap_capsule(cases.capsule(1))
    store.swap_capsule(cases.capsule(2))
    return store


def reopened(data, **options):
    return cases.store(NorFlash(len(data), PAGE, data=bytearray(data)), **options)


def test_any_one_fault_leaves_the_newest_allowed_model():
    done = campaign(every=301)
    assert not done.failures
    assert done.count["rot"]["states"] > 1000 and done.count["driver"]["states"] > 20


def test_a_failed_trial_is_not_confirmed_by_a_flipped_bit_anywhere_in_the_journal():
    store = cases.store(cases.flash())
    store.swap_capsule(cases.capsule(1))
    bring(store, cases.capsule(2))
    store.trial()
    store.rollback()
    image = bytes(store.flash.data)
    for at in range(2 * PAGE):
        bad = bytearray(image)
        bad[at] ^= 1 << at % 8
        again = reopened(bad)
        assert cases.active(again) == cases.capsule(1) and again.state == "rolled back", at
        assert again.journal.floor == 2, at


def test_any_damaged_byte_of_a_header_is_mended_and_noted():
    store = replaced()
    image, start = bytes(store.flash.data), store.slots.start(store.active)
    for at in range(start, start + 104):
        bad = bytearray(image)
        bad[at] ^= at * 37 % 255 + 1
        again = reopened(bad)
        assert again.head.version == 2 and bytes(again.view(WEIGHTS)) == cases.weights(301, 2)
        assert "header mended" in again.note


def test_damage_that_parity_cannot_explain_mends_nothing():
    head = Head()
    head.bytes[:] = bytes(range(144))
    parity = head.parity()
    assert not head.mend(parity)
    head.bytes[3] ^= 5
    head.bytes[90] ^= 5  # the first check byte sees nothing
    assert not head.mend(parity)


def test_a_worn_journal_page_is_noted_and_updates_go_on():
    for page in (0, 1):
        flash = WornFlash(bytes(replaced().flash.data), page, "program raises", PAGE)
        store = cases.store(flash)
        for version in range(3, 30):
            store.swap_capsule(cases.capsule(version))
        again = cases.store(flash)
        assert cases.active(again) == cases.capsule(29) and "worn" in again.note


@pytest.mark.parametrize("broken", ["program", "erase"])
def test_where_nothing_can_be_written_the_model_is_used_and_operations_say_so(broken):
    flash = DriverFlash(bytes(replaced().flash.data), page_bytes=PAGE)
    flash.broken = broken
    flash.data[5] ^= 1  # the journal wants to be mended
    store = cases.store(flash)
    assert store.head.version == 2 and "worn" in store.note
    with pytest.raises(FlashError):
        for _ in range(30):
            store.swap_capsule(cases.capsule(3), any_version=True)
    assert cases.store(flash).head.version == 2


def test_a_trial_whose_boots_cannot_be_counted_is_not_used():
    store = replaced()
    bring(store, cases.capsule(3))
    store.trial()
    flash = DriverFlash(bytes(store.flash.data), page_bytes=PAGE)
    flash.broken = "program"
    again = cases.store(flash)
    assert again.head.version == 2 and again.trouble
    data = cases.capsule(4)
    for step in (again.rollback, lambda: again.save(bytes(301)), lambda: bring(again, data)):
        with pytest.raises(FlashError):
            step()
    flash.broken = ""
    assert cases.store(flash).state == "trial"


def test_a_refusal_is_remembered_over_resets():
    store = replaced()
    bring(store, cases.capsule(3))
    store.rollback()
    store = reopened(store.flash.data)
    assert store.head.version == 2 and store.journal.floor == 3
    with pytest.raises(CapsuleError, match="version"):
        bring(store, cases.capsule(3))


def test_what_was_cancelled_may_be_taken_again():
    store = replaced()
    bring(store, cases.capsule(3))
    store.cancel()
    bring(reopened(store.flash.data), cases.capsule(3))


def test_a_refused_slot_is_not_used_when_both_journal_pages_are_lost():
    store = cases.store(cases.flash())
    store.swap_capsule(cases.capsule(1))
    bring(store, cases.capsule(2))
    store.trial()
    store.rollback()
    store.flash.data[: 2 * PAGE] = bytes(2 * PAGE)
    assert cases.active(reopened(store.flash.data)) == cases.capsule(1)


def test_the_later_save_is_used_when_both_journal_pages_are_lost():
    store = cases.store(cases.flash())
    store.swap_capsule(cases.capsule(1))
    for number in range(130):
        store.save(bytes([number]) * 301)
        lost = bytearray(store.flash.data)
        lost[: 2 * PAGE] = bytes(2 * PAGE)
        assert bytes(reopened(lost).view(WEIGHTS)) == bytes([number]) * 301, number


def test_the_signature_is_checked_at_boot_and_before_a_rollback():
    """Whoever swaps a slot's content for an unsigned capsule of the same length gains nothing."""
    for slot, version in ((0, 1), (1, 2)):
        store = replaced()
        start = store.slots.start(slot)
        forged = cases.capsule(version, bytes(301), key=b"some other key of 32 bytes......")
        store.flash.data[start : start + len(forged)] = forged
        again = reopened(store.flash.data)
        assert cases.active(again) == cases.capsule(3 - version)
        if not slot:  # the one before the model in use
            with pytest.raises(StoreError, match="no other model"):
                again.rollback()


def test_readinto_refuses_what_lies_outside_the_section():
    store = replaced()
    for offset, n in ((-1, 4), (-4, 4), (300, 2), (301, 1)):
        with pytest.raises(ValueError, match="301"):
            store.readinto(WEIGHTS, offset, bytearray(n))


def test_a_journal_of_a_region_with_slots_of_another_size_is_not_taken():
    image = bytes(replaced().flash.data)
    wider = image + b"\xff" * 2 * PAGE
    assert reopened(wider).note.startswith(("journal lost", "new region"))


def test_after_a_flash_error_the_journal_says_what_the_flash_holds():
    store = replaced()
    flash = DriverFlash(bytes(store.flash.data), page_bytes=PAGE)
    store = cases.store(flash)
    bring(store, cases.capsule(3))
    flash.broken = "program"
    with pytest.raises(FlashError):
        store.journal.append(journal.TRIAL, 0, True, 0, 3)
    assert store.journal.state == journal.VERIFIED and store.journal.floor == 2


def test_garbage_behind_a_genuine_header_wears_the_flash_no_further_than_the_budget():
    store = cases.store(replaced().flash, day_pages=None)
    before = store.journal.erases
    data = cases.capsule(3)
    for _ in range(200):
        try:
            store.stage(data, head_bytes(data), resume=False)
            store.write(data[:104] + bytes(len(data) - 104), len(data))
            store.finish()
        except (CapsuleError, StoreError):
            pass
    assert store.journal.erases - before <= 32 * store.slots.pages
    assert store.budget_left() < store.slots.pages_of(len(data))
    assert (
        cases.store(store.flash, day_pages=None).budget_left() == 32 * store.slots.pages
    )  # a boot is a day


def test_a_length_beyond_the_buffer_is_refused_not_an_index_error():
    store = replaced()
    data = cases.capsule(3)
    assert store.stage(data[:124], 144) == 0  # the header is all that is needed
    with pytest.raises(ValueError, match="expected at most 4 bytes, got 5"):
        store.write(b"four", 5)
    with pytest.raises(CapsuleError, match="truncated"):
        store.stage(data[:50], 144)


def test_without_a_clock_each_day_of_running_has_its_budget(monkeypatch):
    now = [0]
    monkeypatch.setattr(store_core, "_now", lambda: now[0])
    store = cases.store(cases.flash(), day_pages=2)
    store.swap_capsule(cases.capsule(1))
    with pytest.raises(StoreError, match="erase budget"):
        store.swap_capsule(cases.capsule(2))
    now[0] = 86400
    store.swap_capsule(cases.capsule(2))


# ---- the judge itself ----------------------------------------------------------------------


def images():
    """Return (image, the model in use, one that is not) of several moments."""
    for case in powercut_cases.cases():
        if case.name in ("trial", "roll back a trial", "swap", "save", "confirm"):
            flash = powercut_cases.new_flash()
            case.prepare(flash)
            store = powercut_cases.open_store(flash)
            case.work(store)
            yield bytes(flash.data), powercut_cases.in_use(store)


def test_the_oracle_is_silent_on_what_is_right():
    for image, model in images():
        assert verdict(model, model_of(image, 128, powercut_cases.KEY)) == ""


def test_the_oracle_names_a_swapped_stale_refused_mixed_or_missing_model():
    for image, model in images():
        wanted = model_of(image, 128, powercut_cases.KEY)
        others = {powercut_cases.OLD, powercut_cases.NEW, powercut_cases.BIG_OLD} - {model}
        mixed = model[:150] + bytes(reversed(model[150:]))
        for wrong in (*others, mixed, model[:-1]):
            assert verdict(wrong, wanted) == "wrong"
        assert verdict(None, wanted) == "lost"


def _trusts_one_page(monkeypatch):
    monkeypatch.setattr(journal.Journal, "_copy", lambda self: None)


def _never_mends(monkeypatch):
    monkeypatch.setattr(Head, "mend", lambda self, parity: False)


def _forgets_who_was_refused(monkeypatch):
    original = store_core.Store._use

    def use(self, slot, version=0):
        original(self, self.journal.slot if self.journal.state == journal.TRIAL else slot)

    monkeypatch.setattr(store_core.Store, "_use", use)


def _raises_at_boot(monkeypatch):
    def settle(self, state, slot, has_other, boots=0, version=0):
        self.journal.append(state, slot, has_other, boots, version)

    monkeypatch.setattr(store_core.Store, "_settle", settle)


@pytest.mark.parametrize(
    "plant,names",
    [
        pytest.param(_trusts_one_page, ["confirm", "compaction, confirm"], marks=pytest.mark.slow),
        (_trusts_one_page, ["confirm"]),
        (_never_mends, ["confirm"]),
        (_forgets_who_was_refused, ["trial that ends by itself"]),
        pytest.param(
            _raises_at_boot,
            ["trial that ends by itself", "compaction, confirm"],
            marks=pytest.mark.slow,
        ),
        (_raises_at_boot, ["trial that ends by itself"]),
    ],
)
def test_campaign_finds_a_planted_fault(monkeypatch, plant, names):
    plant(monkeypatch)
    assert campaign(every=5, names=names).failures
