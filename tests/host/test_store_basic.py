# SPDX-License-Identifier: MIT
"""The store without cuts: what it takes, what it refuses by name, and when it goes back."""

import capsule_cases as cases
import pytest

from acclimate.store import WEIGHTS, CapsuleError, Store, StoreError, Wanted
from acclimate_host.capsules.build import build, head_bytes, read
from acclimate_host.capsules.delta import update
from acclimate_host.testing.nor import NorFlash
from harness.errors import because, naming


@pytest.fixture
def kept():
    store = cases.store(cases.flash())
    store.swap_capsule(cases.capsule(1))
    return store


def stage(store, data):
    start = store.stage(data, head_bytes(data))
    for at in range(start, len(data), 50):
        piece = data[at : at + 50]
        store.write(piece, len(piece))
    store.finish()


def reset(store, **options):
    return cases.store(store.flash, **options)


def test_new_region_has_no_model_and_says_so():
    store = cases.store(cases.flash())
    assert store.active is None and store.state == "empty" and "new region" in store.note
    with pytest.raises(StoreError, match="new region"):
        store.view(WEIGHTS)


def test_swapped_model_is_there_after_a_reset(kept):
    again = reset(kept)
    assert cases.active(again) == cases.capsule(1)
    assert bytes(again.view(WEIGHTS)) == cases.weights(301, 1)
    assert again.state == "confirmed"


@pytest.mark.case("E9")
def test_trial_confirm_and_roll_back(kept):
    stage(kept, cases.capsule(2))
    assert cases.active(kept) == cases.capsule(1)
    kept.trial()
    assert cases.active(kept) == cases.capsule(2)
    kept.rollback()
    assert cases.active(kept) == cases.capsule(1)
    stage(kept, cases.capsule(3))
    kept.trial()
    kept.confirm()
    assert cases.active(reset(kept)) == cases.capsule(3)
    kept.rollback()
    assert cases.active(reset(kept)) == cases.capsule(1)


@pytest.mark.case("E2", "E9")
def test_trial_without_confirm_ends_after_max_boots_exactly_once(kept):
    stage(kept, cases.capsule(2))
    kept.trial()
    for _ in range(3):
        kept = reset(kept)
        assert kept.state == "trial" and cases.active(kept) == cases.capsule(2)
    kept = reset(kept)
    assert kept.state == "rolled back" and cases.active(kept) == cases.capsule(1)
    records = kept.journal._next
    for _ in range(3):
        kept = reset(kept)
        assert cases.active(kept) == cases.capsule(1) and kept.journal._next == records


@pytest.mark.case("E3")
def test_confirm_and_trial_are_idempotent(kept):
    stage(kept, cases.capsule(2))
    kept.trial()
    kept.trial()
    kept.confirm()
    steps = kept.flash.steps
    kept.confirm()
    assert kept.flash.steps == steps


def test_first_model_that_fails_its_trial_leaves_none():
    store = cases.store(cases.flash())
    stage(store, cases.capsule(1))
    store.trial()
    store.rollback()
    assert store.active is None and reset(store).active is None


REFUSED = [
    ("magic", lambda: b"BCAP" + cases.capsule(2)[4:]),
    ("format", lambda: cases.capsule(2)[:4] + b"\x01" + cases.capsule(2)[5:]),
    ("truncated", lambda: cases.capsule(2)[:40]),
    ("kind", lambda: build({"WEIGHTS": b"1"}, "NETWORK", 7, 2, key=cases.KEY)),
    ("model", lambda: build({"WEIGHTS": b"1"}, "SVM", 8, 2, key=cases.KEY)),
    ("board", lambda: cases.capsule(2, board=4)),
    ("device", lambda: cases.capsule(2, device=10)),
    ("arch", lambda: cases.capsule(2, arch=3)),
    ("abi", lambda: cases.capsule(2, abi=7)),
    ("version", lambda: cases.capsule(1)),
    ("authenticity", lambda: cases.capsule(2, key=b"another key of 32 bytes in length")),
    ("authenticity", lambda: cases.capsule(2, key=None)),
    ("oversized", lambda: cases.capsule(2, cases.weights(1024 - 124 - 20 + 1, 5))),
]


@pytest.mark.case("E16", "E17")
@pytest.mark.parametrize("reason,make", REFUSED, ids=[reason for reason, _ in REFUSED])
def test_refused_by_name_before_the_first_erase(kept, reason, make):
    data = make()
    steps = kept.flash.steps
    with pytest.raises(CapsuleError) as caught:
        kept.swap_capsule(data)
    assert caught.value.reason == reason
    assert kept.flash.steps == steps
    assert cases.active(reset(kept)) == cases.capsule(1)


def test_capsule_that_just_fits_is_taken(kept):
    data = cases.capsule(2, cases.weights(1024 - 124 - 20, 5))
    kept.swap_capsule(data)
    assert cases.active(reset(kept)) == data


def test_wrong_base_is_refused_before_the_first_erase(kept):
    other = cases.capsule(4)
    steps = kept.flash.steps
    with pytest.raises(CapsuleError) as caught:
        kept.swap_capsule(update(other, cases.capsule(5)))
    assert caught.value.reason == "base" and kept.flash.steps == steps


def test_damaged_base_is_refused_before_the_first_erase(kept):
    container = update(cases.capsule(1), cases.capsule(2))
    kept.flash.data[kept.slots.start(kept.active) + 200] ^= 1
    steps = kept.flash.steps
    with pytest.raises(CapsuleError, check=because("base")):
        kept.swap_capsule(container)
    assert kept.flash.steps == steps


@pytest.mark.case("E17")
def test_rolled_back_version_is_not_taken_again_unless_asked_for(kept):
    stage(kept, cases.capsule(2))
    kept.trial()
    kept.rollback()
    with pytest.raises(CapsuleError, check=because("version")):
        kept.swap_capsule(cases.capsule(2))
    kept.swap_capsule(cases.capsule(2), any_version=True)
    assert cases.active(kept) == cases.capsule(2)


@pytest.mark.case("E17")
def test_floor_survives_many_compactions(kept):
    kept.swap_capsule(cases.capsule(50))
    for _ in range(60):
        kept.swap_capsule(cases.capsule(2), any_version=True)
    with pytest.raises(CapsuleError, match="version: 49 is not above 50"):
        reset(kept).swap_capsule(cases.capsule(49))


@pytest.mark.case("E19", "E20")
def test_every_flipped_bit_of_a_capsule_is_refused(kept):
    data = cases.capsule(2)
    for at in range(len(data)):
        for bit in range(8):
            bad = bytearray(data)
            bad[at] ^= 1 << bit
            with pytest.raises(CapsuleError):
                kept.swap_capsule(bytes(bad))
    assert cases.active(kept) == cases.capsule(1)


@pytest.mark.case("E20")
def test_every_flipped_bit_of_an_unsigned_capsule_is_refused_but_in_the_tag():
    store = cases.store(cases.flash(), key=None)
    data = cases.capsule(2, key=None)
    for at in [*range(64), *range(96, len(data))]:
        bad = bytearray(data)
        bad[at] ^= 1 << at % 8
        with pytest.raises(CapsuleError):
            store.swap_capsule(bytes(bad))


@pytest.mark.parametrize("change", [-1, 1])
def test_one_byte_too_few_or_too_many_is_refused(kept, change):
    data = cases.capsule(2)
    data = data[:-1] if change < 0 else data + b"\0"
    with pytest.raises(CapsuleError) as caught:
        kept.swap_capsule(data)
    assert caught.value.reason == ("truncated" if change < 0 else "oversized")
    assert cases.active(reset(kept)) == cases.capsule(1)


def test_download_goes_on_where_a_reset_stopped_it(kept):
    data = cases.capsule(2, cases.weights(800, 2))
    start = kept.stage(data, head_bytes(data))
    assert start == 0
    kept.write(data[:600], 600)
    again = reset(kept)
    start = again.stage(data, head_bytes(data))
    assert start == 512
    again.write(data[512:], len(data) - 512)
    again.finish()
    again.confirm()
    assert cases.active(reset(again)) == data


@pytest.mark.case("D15")
def test_erase_budget_refuses_before_the_first_erase_and_can_be_read():
    medium, day = cases.flash(), [5]
    store = cases.store(medium, day_pages=5, day=lambda: day[0])
    assert store.budget_left() == 5
    store.swap_capsule(cases.capsule(1))
    assert store.budget_left() == 3
    store = reset(store, day_pages=5, day=lambda: day[0])
    store.swap_capsule(cases.capsule(2))
    with pytest.raises(StoreError, check=naming(2, 1)):
        store.swap_capsule(cases.capsule(3))
    day[0] = 6
    store.swap_capsule(cases.capsule(3))
    assert store.journal.erases == 6 == sum(medium.erases[2:])


@pytest.mark.case("D14")
def test_trained_weights_are_saved_only_when_they_changed(kept):
    new = cases.tuned(cases.weights(301, 1), 3)
    steps = kept.flash.steps
    assert kept.save(cases.weights(301, 1)) is False and kept.flash.steps == steps
    assert kept.save(new) is True
    again = reset(kept)
    assert bytes(again.view(WEIGHTS)) == new and again.head.is_local
    saved = read(cases.active(again))
    assert saved.intact and saved.authentic(cases.KEY, cases.active(again))
    again.swap_capsule(cases.capsule(2))
    assert cases.active(again) == cases.capsule(2)


@pytest.mark.case("D11", "D12")
def test_damaged_model_gives_the_other_one_or_none_with_the_reason(kept):
    kept.swap_capsule(cases.capsule(2))
    kept.flash.data[kept.slots.start(kept.active) + 150] ^= 8
    again = reset(kept)
    assert cases.active(again) == cases.capsule(1) and "integrity" in again.note
    kept.flash.data[again.slots.start(again.active) + 150] ^= 8
    last = reset(again)
    assert last.active is None and "no model" in last.note
    last.swap_capsule(cases.capsule(3))
    assert cases.active(reset(last)) == cases.capsule(3)


@pytest.mark.case("D12")
def test_lost_journal_is_rebuilt_from_the_newest_whole_model(kept):
    kept.swap_capsule(cases.capsule(2))
    kept.flash.data[:512] = bytes(512)
    again = reset(kept)
    assert cases.active(again) == cases.capsule(2) and "journal lost" in again.note
    assert reset(again).note == ""


@pytest.mark.parametrize(
    "bad", [lambda: cases.capsule(9, board=4), lambda: update(cases.capsule(4), cases.capsule(9))]
)
def test_verified_model_is_confirmed_after_another_was_refused(kept, bad):
    stage(kept, cases.capsule(2))
    with pytest.raises(CapsuleError):
        kept.swap_capsule(bad())
    kept.confirm()
    assert cases.active(kept) == cases.capsule(2) and kept.head.version == 2
    assert cases.active(reset(kept)) == cases.capsule(2)


def test_staging_during_a_trial_is_refused(kept):
    stage(kept, cases.capsule(2))
    kept.trial()
    with pytest.raises(StoreError, match="on trial"):
        kept.stage(cases.capsule(3), 128)


def test_flash_that_does_not_keep_a_value_raises():
    class Weak(NorFlash):
        def _program(self, at, buffer):
            super()._program(at, buffer)
            if at >= 512:
                self.data[at] |= 1

    store = Store(Weak(2560, 256), Wanted(unsigned=True), chunk_bytes=64)
    with pytest.raises(OSError, match="did not keep its value"):
        store.swap_capsule(cases.capsule(2))
    assert Store(store.flash, Wanted(), chunk_bytes=64).active is None
