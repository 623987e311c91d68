# SPDX-License-Identifier: MIT
"""What the store promises beside power cuts: each rule has an input that would break it."""

# RUNTIMES = ("cpython", "desktop")

from capsule_vectors import BASE, KEY, TARGET
from nor import NorFlash
from store_cases import (
    PAGE,
    PAGES,
    empty,
    model,
    new,
    open_store,
    raised,
    reset,
    staged,
    verified,
)

from acclimate.flash import FlashError
from acclimate.store import CapsuleError, Store, StoreError
from acclimate.store.capsule import WEIGHTS, Wanted
from acclimate.store.journal import CONFIRMED, EMPTY, ROLLED_BACK, STAGED, TRIAL, VERIFIED

SLOT_BYTES = 3 * PAGE


def settled(store):
    """The state and that nothing is left of the other slot or of a count of boots."""
    journal = store.journal
    return journal.state, journal.slot, journal.has_other, journal.boots


def spoil(store, slot, at):
    """Clear bits of a slot behind the store's back."""
    store.flash.data[store.slots.start(slot) + at] = 0


def resigned(data, **changed):
    """The capsule with other bytes, which the device's key did not sign but whose digest fits."""
    from acclimate._digest import Hasher

    data = bytearray(data)
    for at, value in changed.items():
        data[int(at[1:])] = value
    hasher, out = Hasher(), bytearray(32)
    hasher.reset()
    hasher.update(data, 20)
    hasher.update(data[116:], len(data) - 116)
    hasher.into(out)
    data[20:52] = out
    return data


def signed(data, **changed):
    """The capsule with other bytes, signed with the device's key."""
    from acclimate._digest import Hasher

    data = resigned(data, **changed)
    out = bytearray(32)
    Hasher().hmac(KEY, data, 84, out)
    data[84:116] = out
    return data


# ---- what is asked of the region ---------------------------------------------------------------


def test_boots_of_a_trial_are_1_to_60():
    for boots in (0, 61, -1):
        raised(ValueError, lambda boots=boots: empty(max_boots=boots))
    for boots in (1, 60):
        assert empty(max_boots=boots).max_boots == boots
    assert empty().max_boots == 3


def test_a_region_has_four_pages_or_more():
    page = 2 * PAGE
    raised(ValueError, lambda: open_store(NorFlash(3 * page, page)))
    raised(ValueError, lambda: open_store(NorFlash(4 * PAGE, PAGE)))  # no room for a header
    store = open_store(NorFlash(4 * page, page))
    assert store.slots.pages == 1 and store.slots.bytes == page
    assert (store.slots.start(0), store.slots.start(1)) == (2 * page, 3 * page)
    # of an odd number of pages the last is left over
    store = open_store(NorFlash(7 * page, page))
    assert store.slots.pages == 2 and store.slots.start(1) + store.slots.bytes == 6 * page


def test_a_chunk_divides_a_page_and_is_whole_units():
    for chunk in (96, 256, 6):
        raised(ValueError, lambda chunk=chunk: Store(NorFlash(1024, 128), chunk_bytes=chunk))
    for chunk in (32, 128):
        store = Store(NorFlash(1024, 128), chunk_bytes=chunk)
        assert len(store.checker.chunk) == chunk
    raised(ValueError, lambda: Store(NorFlash(1024, 128, unit=64), chunk_bytes=32))


def test_pages_are_rounded_up():
    slots = empty().slots
    assert [slots.pages_of(n) for n in (1, 127, 128, 129, 256)] == [1, 1, 1, 2, 2]


# ---- the states, and what each refuses ---------------------------------------------------------


def test_each_state_is_named():
    store = empty()
    assert settled(store) == (EMPTY, 0, False, 0) and store.active is None
    store.stage(TARGET, len(TARGET))
    assert store.state == "staged" and settled(store) == (STAGED, 0, False, 0)
    store.write(TARGET, len(TARGET))
    store.finish()
    assert store.state == "verified" and store.active is None
    assert settled(store) == (VERIFIED, 0, False, 0)
    store.trial()
    assert store.state == "trial" and model(store) == TARGET
    assert settled(store) == (TRIAL, 0, False, 0)
    store.confirm()
    assert store.state == "confirmed" and settled(store) == (CONFIRMED, 0, False, 0)
    for state, step in (
        (STAGED, lambda: store.stage(BASE, len(BASE), True)),
        (VERIFIED, lambda: (store.write(BASE, len(BASE)), store.finish())),
        (TRIAL, store.trial),
        (CONFIRMED, store.confirm),
    ):
        step()
        assert settled(store) == (state, 1, True, 0)


def test_what_was_verified_since_the_boot_is_not_read_once_more():
    store = new()
    verified(store)
    spoil(store, store.journal.slot, 150)  # nobody looks
    store.trial()
    assert store.state == "trial"


def test_steps_out_of_order_are_refused_and_change_nothing():
    store = new()
    before = bytes(store.flash.data)
    assert "write without stage" in str(raised(StoreError, store.write, TARGET, 4))
    assert "finish without stage" in str(raised(StoreError, store.finish))
    raised(StoreError, lambda: list(store.finish_steps()))
    assert "confirmed" in str(raised(StoreError, store.trial))
    store.confirm()
    store.cancel()
    assert bytes(store.flash.data) == before and model(store) == BASE


def test_what_is_only_staged_is_neither_tried_nor_confirmed():
    store = new()
    staged(store)
    raised(StoreError, store.trial)
    raised(StoreError, store.confirm)
    assert model(store) == BASE and store.state == "staged"


def test_an_empty_store_has_nothing_to_confirm():
    store = empty()
    raised(StoreError, store.confirm)
    raised(StoreError, store.trial)
    store.rollback()
    assert store.state == "empty" and store.active is None
    assert "no section" in str(raised(StoreError, store.section, WEIGHTS))


def test_nothing_is_staged_over_a_model_on_trial():
    store = new()
    verified(store)
    store.trial()
    assert "on trial" in str(raised(StoreError, store.stage, TARGET, len(TARGET), True))
    assert model(store) == TARGET


def test_a_second_end_of_the_writing_is_refused():
    store = new()
    verified(store)
    raised(StoreError, store.finish)
    raised(StoreError, store.write, TARGET, 4)
    assert store.state == "verified"


def test_asking_for_the_next_header_gives_up_what_was_being_written():
    store = new()
    store.stage(TARGET, len(TARGET))
    store.scratch()
    raised(StoreError, store.write, TARGET, len(TARGET))


def test_cancel_gives_up_what_is_staged_or_verified_and_keeps_the_model():
    for prepare in (staged, verified):
        store = new()
        prepare(store)
        store.cancel()
        assert store.state == "rolled back" and model(store) == BASE
        assert settled(store) == (ROLLED_BACK, store.active, False, 0)
        raised(StoreError, store.write, TARGET, 4)
        again = reset(store)
        assert again.state == "rolled back" and model(again) == BASE
        assert again.journal.version == 0 and again.journal.floor == store.head.version
        store = empty()
        prepare(store)
        store.cancel()
        assert settled(store) == (EMPTY, 0, False, 0) and store.active is None
        assert reset(store).active is None


def test_rollback_of_what_is_not_on_trial_yet_keeps_the_model_and_remembers_the_refusal():
    for prepare in (staged, verified):
        store = new()
        prepare(store)
        store.rollback()
        above = 0 if prepare is staged else 1  # what is only staged is forgotten
        assert store.journal.floor == store.head.version + above
        assert reset(store).journal.floor == store.head.version + above
        assert store.state == "rolled back" and model(store) == BASE


def test_a_confirmed_model_goes_back_to_the_one_before_once():
    store = new()
    store.swap_capsule(TARGET)
    given_up = store.head.version
    store.rollback()
    assert store.state == "rolled back" and model(store) == BASE
    assert store.journal.version == store.journal.floor == given_up
    assert model(reset(store)) == BASE
    store.rollback()  # nothing more to go back to, and nothing happens
    assert model(store) == BASE


def test_a_model_that_was_given_up_does_not_come_back_when_the_journal_is_lost():
    for prepare in ("confirmed", "trial", "verified"):
        store = new()
        verified(store)
        if prepare != "verified":
            store.trial()
        if prepare == "confirmed":
            store.confirm()
        store.rollback()
        assert model(store) == BASE
        store.flash.data[: 2 * PAGE] = b"\xff" * (2 * PAGE)
        store = reset(store)
        assert model(store) == BASE and store.active == 0, prepare


def test_a_whole_capsule_that_nobody_put_there_is_not_gone_back_to():
    store = empty()
    start = store.slots.start(1)
    store.flash.data[start : start + len(BASE)] = BASE
    verified(store).trial()
    assert store.active == 0 and not store.journal.has_other
    store.rollback()
    assert store.state == "empty" and store.active is None
    store = new()
    start = store.slots.start(1 - store.active)
    store.flash.data[start : start + len(TARGET)] = TARGET
    assert "no other model" in str(raised(StoreError, store.rollback))
    assert model(store) == BASE


def test_rollback_without_another_model_is_refused():
    store = new()
    assert "no other model" in str(raised(StoreError, store.rollback))
    assert model(store) == BASE


def test_rollback_to_a_damaged_model_is_refused():
    for places in ((116, 117), (150,)):  # one byte of a header would be mended
        store = new()
        store.swap_capsule(TARGET)
        for at in places:
            spoil(store, 1 - store.active, at)
        raised(StoreError, store.rollback)
        assert model(store) == TARGET and store.state == "confirmed"


def test_a_trial_of_the_first_model_that_is_left_leaves_none():
    store = empty()
    verified(store)
    store.trial()
    store.rollback()
    assert store.state == "empty" and store.active is None
    assert "no model" in reset(store).note


def test_a_trial_whose_other_model_is_damaged_leaves_none():
    store = new()
    verified(store)
    store.trial()
    spoil(store, 1 - store.active, 150)
    store.rollback()
    assert store.state == "empty" and reset(store).active is None
    assert settled(store) == (EMPTY, 0, False, 0)


# ---- boots -------------------------------------------------------------------------------------


def test_each_boot_of_a_trial_counts_and_the_one_after_the_last_rolls_back():
    for boots in (1, 2):
        store = new(max_boots=boots)
        verified(store)
        store.trial()
        for count in range(boots):
            store = reset(store, max_boots=boots)
            assert model(store) == TARGET and store.journal.boots == count + 1
            assert store.journal.has_other and store.note == ""
        store = reset(store, max_boots=boots)
        assert model(store) == BASE and store.state == "rolled back"
        assert "%d boots" % boots in store.note
        assert store.head.version < store.journal.version == store.journal.floor


def test_a_trial_is_confirmed_after_boots():
    store = new()
    verified(store)
    store.trial()
    store = reset(store)
    version = store.head.version
    store.confirm()
    assert store.state == "confirmed" and store.journal.version == version
    for _ in range(4):
        store = reset(store)
    assert model(store) == TARGET and store.journal.floor == version


def test_a_verified_model_may_be_used_after_a_reset():
    for use in ("trial", "confirm"):
        store = new()
        verified(store)
        store = reset(store)
        assert store.state == "verified" and model(store) == BASE
        getattr(store, use)()
        assert model(store) == TARGET
        assert model(reset(store)) == TARGET


def test_a_verified_model_that_was_damaged_since_is_refused_after_a_reset():
    store = new()
    verified(store)
    spoil(store, store.journal.slot, 150)
    store = reset(store)
    assert "damaged" in str(raised(StoreError, store.trial))
    assert model(store) == BASE and store.state == "rolled back"


def test_a_verified_model_is_not_used_with_the_header_of_another():
    # the header of what is refused lies where that of the verified model lay
    store = new()
    verified(store)
    raised(CapsuleError, store.stage, b"BCAP" + bytes(TARGET[4:]), len(TARGET))
    store.trial()
    assert store.head.version == reset(store).head.version and model(store) == TARGET


def test_a_model_that_is_damaged_gives_way_to_the_other():
    store = new()
    store.swap_capsule(TARGET)
    slot = store.active
    spoil(store, slot, 150)
    store = reset(store)
    assert model(store) == BASE and store.active == 1 - slot
    assert "slot %d damaged" % slot in store.note
    assert settled(store) == (ROLLED_BACK, store.active, False, 0)
    again = reset(store)
    assert model(again) == BASE and again.note == ""


def test_where_both_models_are_damaged_there_is_none():
    store = new()
    store.swap_capsule(TARGET)
    for slot in (0, 1):
        spoil(store, slot, 150)
    store = reset(store)
    assert store.active is None and "no model: slot" in store.note
    assert "no model" in str(raised(StoreError, store.view, WEIGHTS))


def test_the_old_model_serves_while_a_new_one_comes():
    for prepare in (staged, verified):
        store = new()
        prepare(store)
        store = reset(store)
        assert model(store) == BASE
        spoil(store, store.active, 150)
        assert reset(store).active is None  # what is not confirmed never stands in


def test_a_board_without_a_model_boots_with_one_staged_or_verified():
    for prepare in (staged, verified):
        store = empty()
        prepare(store)
        store = reset(store)
        assert store.active is None and "no model yet" in store.note


def test_a_boot_takes_no_model_that_the_key_did_not_sign():
    forged = resigned(BASE, _16=200)
    for journal in (True, False):
        store = new()
        start = store.slots.start(store.active)
        store.flash.data[start : start + len(forged)] = forged
        if not journal:
            store.flash.data[: 2 * PAGE] = b"\xff" * (2 * PAGE)
        store = reset(store)
        assert store.active is None
        assert not journal or "authenticity" in store.note


def test_a_rollback_takes_no_model_that_the_key_did_not_sign():
    forged = resigned(BASE, _16=200)
    for trial in (True, False):
        store = new()
        verified(store)
        store.trial()
        if not trial:
            store.confirm()
        start = store.slots.start(1 - store.active)
        store.flash.data[start : start + len(forged)] = forged
        if trial:
            store.rollback()
            assert store.active is None
        else:
            raised(StoreError, store.rollback)
            assert model(store) == TARGET


def test_a_boot_takes_no_model_for_another_device():
    store = new()
    for wrong, reason in ((Wanted(model=8, key=KEY), "model"), (Wanted(kind=2, key=KEY), "kind")):
        other = Store(store.flash, wrong, chunk_bytes=64)
        assert other.active is None and reason in other.note


def test_a_journal_that_is_lost_is_rebuilt_from_the_newest_whole_model():
    for damaged in (None, "new", "old"):
        store = new()
        store.swap_capsule(TARGET)
        version, slot = store.head.version, store.active
        if damaged:
            spoil(store, slot if damaged == "new" else 1 - slot, 150)
        store.flash.data[: 2 * PAGE] = b"\xff" * (2 * PAGE)
        store = reset(store)
        assert model(store) == (BASE if damaged == "new" else TARGET)
        assert "journal lost" in store.note
        assert settled(store) == (CONFIRMED, store.active, False, 0)
        assert store.journal.version == store.head.version
        assert store.journal.floor == store.head.version
        assert (store.head.version == version) == (damaged != "new")
        assert reset(store).note == ""


def test_without_a_journal_the_newest_model_is_used_in_whichever_slot_it_is():
    for newest in (0, 1):
        store = new()
        for _ in range(1 + newest):
            store.swap_capsule(TARGET, True)
        latest = signed(TARGET, _12=99)
        store.swap_capsule(latest)
        assert store.active == newest
        store.flash.data[: 2 * PAGE] = b"\xff" * (2 * PAGE)
        assert model(reset(store)) == latest


def test_what_was_mended_or_refused_at_boot_is_said():
    store = new()
    assert reset(store).note == ""
    store.flash.data[20] ^= 1
    assert reset(store).note == "journal: a damaged page is made anew"
    assert reset(store).note == ""
    verified(store).trial()
    assert store.verdict() is None

    def refused(at, data=None):
        raise FlashError("program: I/O error")

    store.flash.program = store.flash.erase = refused
    again = reset(store)  # its count of boots is not taken
    assert again.trouble and again.trouble in again.note


def test_a_flash_that_cannot_be_written_leaves_the_program_its_prompt():
    class Broken(NorFlash):
        def _program(self, at, buffer):
            pass

    store = open_store(Broken(PAGES * PAGE, PAGE))
    assert store.active is None and store.trouble


# ---- reading -----------------------------------------------------------------------------------


def test_sections_are_read_within_their_bounds():
    store = new()
    at, size = store.section(WEIGHTS)
    whole = bytearray(size)
    store.readinto(WEIGHTS, 0, whole)
    assert bytes(whole) == bytes(store.view(WEIGHTS)) == BASE[128 : 128 + size]
    one = bytearray(1)
    store.readinto(WEIGHTS, size - 1, one)
    assert one[0] == BASE[127 + size]
    store.readinto(WEIGHTS, size, bytearray(0))
    for offset, n in ((-1, 1), (-1, 2), (size, 1), (size - 1, 2), (0, size + 1)):
        raised(ValueError, store.readinto, WEIGHTS, offset, bytearray(n))
    raised(StoreError, store.section, 99)


# ---- the erase budget --------------------------------------------------------------------------


def test_no_budget_is_no_limit():
    assert new(day_pages=0).budget_left() is None
    assert new().budget_left() is not None  # unless it is waived
    assert new().budget_left() is not None  # there is one unless it is waived


def test_the_budget_counts_the_pages_of_a_day_and_the_next_day_is_fresh():
    today = [5]
    pages = (len(BASE) + PAGE - 1) // PAGE
    options = {"day_pages": 2 * pages, "day": lambda: today[0]}
    store = empty(**options)
    assert store.budget_left() == 2 * pages
    store.swap_capsule(BASE)
    assert store.budget_left() == pages and reset(store, **options).budget_left() == pages
    store.swap_capsule(BASE, True)
    assert store.budget_left() == 0
    steps = store.flash.steps
    assert "budget" in str(raised(StoreError, store.stage, TARGET, len(TARGET)))
    assert store.flash.steps == steps and model(store) == BASE
    today[0] = 6
    assert store.budget_left() == 2 * pages
    store.swap_capsule(TARGET)
    assert store.budget_left() == 2 * pages - (len(TARGET) + PAGE - 1) // PAGE
    assert reset(store, day_pages=1, day=options["day"]).budget_left() == 0
    today[0] = 6 + 0x10000  # days are kept in 16 bits
    assert store.budget_left() == 2 * pages - (len(TARGET) + PAGE - 1) // PAGE


def test_without_a_word_a_day_has_room_for_32_whole_slots():
    for pages in (8, 12, 21):
        store = open_store(NorFlash(pages * PAGE, PAGE))
        assert store.budget_left() == store.day_pages == 32 * ((pages - 2) // 2)


def test_a_write_that_goes_on_needs_the_pages_that_are_left_alone():
    assert (len(TARGET) + PAGE - 1) // PAGE == 2
    for left, is_taken in ((0, False), (1, True), (2, True)):
        store = interrupted(2 * PAGE)  # its first page stays
        store = reset(store, day_pages=100, day=lambda: 9)
        store.day_pages = left or 1
        store.journal.day, store.journal.day_erases = 9, 0 if left else 1
        if is_taken:
            assert store.stage(TARGET, len(TARGET)) == PAGE
            assert store.budget_left() == left - 1
        else:
            assert "budget: 1 pages, 0 left" in str(raised(StoreError, staged, store))


def test_only_the_pages_that_are_erased_count():
    store = new(day_pages=100)
    erased = sum(store.flash.erases[2:])
    assert store.journal.erases == erased == (len(BASE) + PAGE - 1) // PAGE
    assert store.budget_left() == 100 - erased


# ---- staging -----------------------------------------------------------------------------------


def test_a_version_is_taken_once_unless_any_is_asked_for():
    store = new()
    error = raised(CapsuleError, store.stage, BASE, len(BASE))
    assert error.reason == "version"
    assert store.stage(BASE, len(BASE), True) == 0
    assert store.state == "staged"


def test_what_a_board_saved_for_itself_is_not_taken_from_outside():
    for flags in (1, 2, 3, 128, 255):
        store = new()
        mine = signed(TARGET, _7=flags)
        before = bytes(store.flash.data)
        assert raised(CapsuleError, store.stage, mine, len(mine)).reason == "authenticity"
        assert bytes(store.flash.data) == before and model(store) == BASE
    assert new().stage(signed(TARGET, _7=0), len(TARGET)) == 0


def test_the_secret_of_a_board_signs_nothing_from_outside():
    from acclimate._digest import Hasher

    store, secret = new(), bytes(range(32))
    store.wanted = Wanted(model=7, kind=1, key=KEY, secret=secret)
    mine = bytearray(TARGET)
    tag = bytearray(32)
    Hasher().hmac(secret, mine, 84, tag)
    mine[84:116] = tag
    assert raised(CapsuleError, store.stage, mine, len(mine)).reason == "authenticity"
    assert store.stage(TARGET, len(TARGET)) == 0


def test_more_or_fewer_bytes_than_declared_end_the_writing():
    for change in (1, -1):
        store = new()
        store.stage(TARGET, len(TARGET))
        data = bytes(TARGET) + b"x" if change > 0 else bytes(TARGET[:-1])
        try:
            store.write(data, len(data))
            store.finish()
        except CapsuleError as error:
            assert error.reason == ("oversized" if change > 0 else "truncated")
        else:
            raise AssertionError(change)
        assert model(store) == BASE
        if change > 0:
            assert store.state == "rolled back"
            raised(StoreError, store.write, TARGET, 1)
        else:  # the rest may still come
            store.write(TARGET[-1:], 1)
            store.finish()


def test_what_does_not_arrive_as_it_was_signed_is_cancelled():
    bad = bytearray(TARGET)
    bad[-1] ^= 1
    for finish in (Store.finish, lambda store: list(store.finish_steps())):
        store = new()
        staged(store, bad)
        error = raised(CapsuleError, finish, store)
        assert error.reason == "integrity"
        assert store.state == "rolled back" and model(store) == BASE
        raised(StoreError, store.trial)


def test_finish_in_steps_verifies_as_finish_does():
    store = new()
    staged(store)
    list(store.finish_steps())
    assert store.state == "verified" and store.journal.has_other
    store.trial()
    assert model(store) == TARGET


def test_pieces_of_any_size_are_written_as_the_whole():
    for size in (1, 3, 64, 65, 128, 192):
        store = new()
        store.stage(TARGET, len(TARGET))
        for at in range(0, len(TARGET), size):
            piece = TARGET[at : at + size]
            store.write(piece, len(piece))
        store.finish()
        store.confirm()
        assert model(store) == TARGET


def test_only_the_first_n_bytes_of_a_buffer_are_taken():
    store = new()
    store.stage(bytes(TARGET) + b"more", len(TARGET))
    buffer = bytearray(200)
    for at in range(0, len(TARGET), 40):
        n = min(40, len(TARGET) - at)
        buffer[:n] = TARGET[at : at + n]
        store.write(buffer, n)
    store.finish()


def test_a_header_in_a_longer_buffer_is_taken_as_far_as_it_goes():
    store = new()
    assert store.stage(bytes(TARGET) + bytes(300), len(TARGET) + 300) == 0


def test_the_end_of_a_capsule_is_filled_with_255_to_whole_units():
    for unit in (4, 16):
        store = open_store(NorFlash(PAGES * PAGE, PAGE, unit=unit))
        store.swap_capsule(BASE)
        end = store.slots.start(store.active) + len(BASE)
        assert all(byte == 255 for byte in store.flash.data[end : end + 16])
        assert model(store) == BASE


def interrupted(written):
    """A device that lost power after so many bytes of TARGET were written."""
    store = new()
    store.stage(TARGET, len(TARGET))
    store.write(TARGET, written)
    return reset(store)


def test_a_write_that_was_cut_goes_on_at_the_last_page_with_data():
    assert len(TARGET) >= 2 * PAGE
    for written, start in ((0, 0), (64, 0), (PAGE, 0), (PAGE + 64, PAGE), (2 * PAGE, PAGE)):
        store = interrupted(written)
        erased = list(store.flash.erases)
        slot = store.journal.slot
        assert staged(store) == start, (written, start)
        # pages in front of it are not erased again, and those that are count
        first = store.slots.start(slot) // PAGE
        again = [a - b for a, b in zip(store.flash.erases[2:], erased[2:])]  # noqa: B905
        assert sum(again) == again[first - 2 + start // PAGE] + sum(
            again[first - 2 + start // PAGE + 1 : first + 1]
        )
        store.finish()
        store.trial()
        assert model(store) == TARGET


def test_another_capsule_or_one_that_is_to_begin_anew_does_not_go_on():
    store = interrupted(2 * PAGE)
    assert store.stage(TARGET, len(TARGET), resume=False) == 0
    store = interrupted(2 * PAGE)
    assert store.stage(BASE, len(BASE), any_version=True) == 0
    used = [at for at in range(104) if TARGET[at]]
    for at in (used[0], used[len(used) // 2], used[-1]):
        store = interrupted(2 * PAGE)
        spoil(store, store.journal.slot, at)
        assert staged(store) == 0
        store.finish()


def test_what_is_verified_begins_anew_when_it_comes_once_more():
    store = verified(new())
    assert store.stage(TARGET, len(TARGET)) == 0


def test_the_slot_is_erased_from_its_end_so_that_the_header_goes_last():
    order = []

    class Watched(NorFlash):
        def _erase(self, at):
            order.append(at)
            super()._erase(at)

    store = open_store(Watched(PAGES * PAGE, PAGE))
    store.swap_capsule(BASE)
    store.swap_capsule(TARGET)
    slot = store.slots.start(store.active)
    mine = [at for at in order if slot <= at < slot + SLOT_BYTES]
    assert mine == sorted(mine, reverse=True) and mine[-1] == slot
    assert len(mine) == (len(TARGET) + PAGE - 1) // PAGE


def test_an_error_of_the_flash_while_writing_is_passed_on():
    class Worn(NorFlash):
        worn = False

        def _program(self, at, buffer):
            if self.worn and at >= 2 * PAGE:
                return
            super()._program(at, buffer)

    store = open_store(Worn(PAGES * PAGE, PAGE))
    store.swap_capsule(BASE)
    store.stage(TARGET, len(TARGET))
    store.flash.worn = True
    raised(FlashError, store.write, TARGET, len(TARGET))
    store.flash.worn = False
    assert model(reset(store)) == BASE


# ---- the slots ---------------------------------------------------------------------------------


def test_slots_that_were_not_opened_take_nothing():
    slots = empty().slots
    before = bytes(slots.flash.data)
    for n in (1, 64, PAGE):
        assert raised(CapsuleError, slots.write, bytes(n), n).reason == "oversized"
    slots.close()  # nothing was begun, so nothing is left over
    assert bytes(slots.flash.data) == before


def test_no_more_is_written_than_the_buffer_has():
    slots = empty().slots
    slots.open(0, 0, SLOT_BYTES)
    before = bytes(slots.flash.data)
    for n in (5, 64, PAGE):
        assert "at most 4 bytes, got %d" % n in str(raised(ValueError, slots.write, bytes(4), n))
    assert bytes(slots.flash.data) == before and slots.written == 0
    slots.write(bytes(4), 4)


def test_a_slot_that_is_given_up_begins_with_zeros():
    for unit in (4, 16):
        store = open_store(NorFlash(PAGES * PAGE, PAGE, unit=unit))
        store.swap_capsule(BASE)
        verified(store).rollback()
        start = store.slots.start(1 - store.active)
        assert bytes(store.flash.data[start : start + unit]) == bytes(unit)
        assert bytes(store.flash.data[start + unit : start + 64]) == TARGET[unit:64]


def test_a_slot_is_given_up_with_zeros_whatever_was_left_over_before():
    slots = empty().slots
    slots.open(0, 0, 7)
    slots.write(b"abcdefg", 7)
    slots.close()
    slots.spoil(1)
    start = slots.start(1)
    assert bytes(slots.flash.data[start : start + 8]) == bytes(4) + b"\xff" * 4


def test_of_a_blank_slot_all_is_to_be_written():
    slots = empty().slots
    for total in (1, PAGE, PAGE + 1, SLOT_BYTES):
        assert slots.resume_at(0, total) == slots.resume_at(1, total) == 0


def test_a_whole_page_is_programmed_at_once_and_pieces_by_chunks():
    sizes = []

    class Watched(NorFlash):
        def _program(self, at, buffer):
            sizes.append((at, len(buffer)))
            super()._program(at, buffer)

    slots = open_store(Watched(PAGES * PAGE, PAGE)).slots
    start = slots.start(1)
    for pieces, wanted in (
        ((PAGE, PAGE), [(0, PAGE), (PAGE, PAGE)]),
        ((64, 128), [(0, 64), (64, 64), (128, 64)]),  # a piece over the end of a page
        ((32, 32, 128), [(0, 64), (64, 64), (128, 64)]),
        ((96,), [(0, 64)]),  # no whole chunks
        ((32, 64, 32), [(0, 64), (64, 64)]),  # whole chunks behind half a one
        ((0, 64, 0), [(0, 64)]),
        ((64, 64), [(0, 64), (64, 64)]),
        ((192,), [(0, 64), (64, 64), (128, 64)]),  # more than a page
    ):
        slots.erase(1, 0, 3)
        slots.open(1, 0, SLOT_BYTES)
        sizes.clear()
        for n in pieces:
            slots.write(bytes(n), n)
        assert [(at - start, n) for at, n in sizes] == wanted, pieces
    # of a longer buffer only n bytes are taken
    slots.erase(1, 0, 3)
    slots.open(1, 0, SLOT_BYTES)
    slots.write(bytes(PAGE), 64)
    assert slots.written == 64 and slots.flash.data[start + 64] == 255


def test_what_is_left_over_of_a_chunk_is_given_up_when_a_slot_is_opened_again():
    slots = empty().slots
    slots.open(0, 0, SLOT_BYTES)
    slots.write(bytes(10), 10)
    slots.open(1, PAGE, PAGE + 5)
    slots.write(b"abcde", 5)
    slots.close()
    at = slots.start(1) + PAGE
    assert bytes(slots.flash.data[at : at + 8]) == b"abcde\xff\xff\xff"
    assert bytes(slots.flash.data[at - 4 : at]) == b"\xff" * 4
    steps = slots.flash.steps
    slots.close()  # a second time programs nothing more
    assert slots.flash.steps == steps


def test_a_chunk_divides_a_page_and_holds_a_table_of_sections():
    for n in (0, 1, 4, 8, 16, 24, 33, 96, 256):
        told = str(raised(ValueError, lambda n=n: Store(NorFlash(8 * PAGE, PAGE), chunk_bytes=n)))
        assert "chunk of %d bytes: 32 or more" % n in told
    for n in (32, 64, 128):
        store = Store(NorFlash(8 * PAGE, PAGE), Wanted(model=7, kind=1, key=KEY), chunk_bytes=n)
        store.swap_capsule(BASE)
        assert model(store) == BASE
