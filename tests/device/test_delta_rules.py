# SPDX-License-Identifier: MIT
"""An update container that is not for this store: told by name, before anything is erased."""

# NOT_ON = {"samd21": "28 KB of bytecode from files; frozen in tests/host/test_store_on_32k.py"}

from capsule_vectors import BASE, KEY, TARGET, UPDATE
from nor import NorFlash

from acclimate.store import CapsuleError, Store, Updater, Wanted


def new(*capsules):
    store = Store(NorFlash(1024, 128), Wanted(model=7, key=KEY), chunk_bytes=64)
    for data in capsules:
        store.swap_capsule(data, any_version=True)
    return store


def apply(store, data, **options):
    updater = Updater(store, **options)
    updater.feed(data, len(data))
    updater.finish()
    return updater


def reason(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except CapsuleError as error:
        return error.reason
    raise AssertionError("expected CapsuleError")


def model(store):
    start = store.slots.start(store.active)
    return bytes(store.flash.data[start : start + store.head.total])


def changed(at, value):
    data = bytearray(UPDATE)
    data[at] = value
    return data


def test_a_head_that_is_wrong_is_refused_before_anything_is_erased():
    store = new(BASE)
    before = sum(store.flash.erases), store.flash.programmed_bytes
    for data, word in (
        (changed(0, 0), "magic"),
        (changed(1, 0), "magic"),
        (changed(2, 0), "magic"),
        (changed(3, 0), "magic"),
        (changed(4, 1), "format"),
        (changed(4, 3), "format"),
        (changed(6, 0), "format"),  # a header of no bytes
        (changed(6, 145), "format"),
        (changed(7, 1), "format"),
        (changed(16, 0), "base"),
        (changed(47, 0), "base"),
    ):
        assert reason(apply, store, data) == word
        assert (sum(store.flash.erases), store.flash.programmed_bytes) == before
        assert store.state == "confirmed" and model(store) == BASE
    assert reason(apply, new(), UPDATE) == "base"
    assert reason(apply, store, changed(6, 144)) == "truncated"  # a header as long as they are


def test_a_base_that_rotted_is_none():
    store = new(BASE)
    store.flash.data[store.slots.start(store.active) + 200] ^= 1
    assert reason(apply, store, UPDATE) == "base"


def test_an_older_version_is_taken_when_it_is_asked_for_only():
    store = new(BASE)
    apply(store, UPDATE)
    store.confirm()
    store.rollback()
    assert model(store) == BASE
    assert reason(apply, store, UPDATE) == "version"
    apply(store, UPDATE, any_version=True)
    store.confirm()
    assert model(store) == TARGET


def test_what_vouches_sees_the_head_of_the_result_before_it_is_staged():
    store = new(BASE)
    seen = []

    def vouch(head):
        seen.append((bytes(head[:124]), store.state))

    store.checker.vouch = vouch
    apply(store, UPDATE)
    assert seen == [(TARGET[:124], "confirmed")] and store.state == "verified"

    def refuse(head):
        raise CapsuleError("integrity", "not this one")

    store = new(BASE)
    store.checker.vouch = refuse
    assert reason(apply, store, UPDATE) == "integrity" and store.state == "confirmed"


def test_an_update_that_ends_early_or_late_leaves_the_model():
    for n in (0, 3, 47, 48, 100, 171, 172, 173, len(UPDATE) - 1):
        store = new(BASE)
        assert reason(apply, store, UPDATE[:n]) == "truncated", n
        assert model(store) == BASE and store.state in ("confirmed", "rolled back")
    store = new(BASE)
    assert reason(apply, store, UPDATE + b"x") == "oversized"
    assert model(store) == BASE and store.state in ("confirmed", "rolled back")


def test_the_check_of_the_instructions_counts_in_each_byte():
    for at in range(12, 16):
        store = new(BASE)
        assert reason(apply, store, changed(at, UPDATE[at] ^ 1)) == "patch"
        assert model(store) == BASE and store.state in ("confirmed", "rolled back")


def test_a_base_at_the_end_of_the_flash_and_at_its_start_give_the_same():
    for capsules in ((BASE,), (TARGET, BASE)):
        store = new(*capsules)
        assert store.active == len(capsules) - 1
        apply(store, UPDATE, any_version=True)
        store.confirm()
        assert model(store) == TARGET
