# SPDX-License-Identifier: MIT
"""An update container on every runtime: the same bytes as the host made; bad ones refused."""

# NOT_ON = {"samd21": "28 KB of bytecode from files; frozen in tests/host/test_store_on_32k.py"}

from capsule_vectors import BASE, KEY, TARGET, UPDATE
from nor import NorFlash

from acclimate.store import CapsuleError, Store, Updater, Wanted


def new():
    store = Store(NorFlash(1024, 128), Wanted(model=7, key=KEY), chunk_bytes=64)
    store.swap_capsule(BASE)
    return store


def apply(store, data, piece):
    updater = Updater(store)
    for at in range(0, len(data), piece):
        part = data[at : at + piece]
        updater.feed(part, len(part))
    updater.finish()
    store.confirm()


def updated(piece):
    store = new()
    apply(store, UPDATE, piece)
    start = store.slots.start(store.active)
    return bytes(store.flash.data[start : start + len(TARGET)])


def test_update_makes_the_target():
    for piece in (1, 30, 500):  # no two stores at a time: 32 KB have no room for them
        assert updated(piece) == TARGET


def test_damaged_updates_are_refused():
    store, bad = new(), bytearray(UPDATE)  # one buffer: 32 KB are soon in pieces
    for at in range(0, len(UPDATE), 9):
        bad[at] ^= 4
        try:
            apply(store, bad, 100)
        except CapsuleError:
            assert store.head.version == 1
        else:
            raise AssertionError(at)
        bad[at] ^= 4


def test_update_of_another_model_is_refused_by_name():
    store = new()
    bad = bytearray(UPDATE)
    bad[20] ^= 1
    try:
        apply(store, bad, 100)
    except CapsuleError as error:
        assert error.reason == "base"
        return
    raise AssertionError
