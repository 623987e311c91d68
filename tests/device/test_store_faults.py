# SPDX-License-Identifier: MIT
"""Rot, drivers that raise and refusals, on every runtime."""

# NOT_ON = {"samd21": "28 KB of bytecode from files; frozen in tests/host/test_store_on_32k.py"}

from capsule_vectors import BASE, KEY, TARGET
from nor import NorFlash

from acclimate.flash import FlashError
from acclimate.store import CapsuleError, Store, Wanted

PAGE = 128


def open_store(data, kind=NorFlash):
    flash = kind(len(data), PAGE, data=bytearray(data))
    return Store(flash, Wanted(model=7, kind=1, key=KEY), chunk_bytes=64)


def bring(store):
    store.stage(TARGET, len(TARGET))
    store.write(TARGET, len(TARGET))
    store.finish()


def failed_trial():
    """A store whose second model failed its trial."""
    store = open_store(b"\xff" * 8 * PAGE)
    store.swap_capsule(BASE)
    bring(store)
    store.trial()
    store.rollback()
    return store


def version(data):
    return int.from_bytes(data[12:16], "little")


def test_a_flipped_bit_of_the_journal_changes_no_decision():
    image = failed_trial().flash.data
    for at in range(0, 2 * PAGE, 5):
        image[at] ^= 1 << at % 8
        store = open_store(image)
        assert store.state == "rolled back" and store.head.version == version(BASE)
        assert store.journal.floor == version(TARGET)
        image[at] ^= 1 << at % 8


def test_a_damaged_byte_of_the_header_is_mended():
    store = failed_trial()
    image, start = store.flash.data, store.slots.start(store.active)
    for at in range(start, start + 124, 9):
        image[at] ^= 0x5A
        store = open_store(image)
        assert store.head.version == version(BASE) and "mended" in store.note
        image[at] ^= 0x5A


def test_a_refusal_is_remembered():
    store = open_store(b"\xff" * 8 * PAGE)
    store.swap_capsule(BASE)
    bring(store)
    store.rollback()
    store = open_store(store.flash.data)
    try:
        bring(store)
    except CapsuleError as error:
        assert error.reason == "version"
        return
    raise AssertionError("taken again")


def test_a_driver_that_raises_leaves_the_model_and_operations_raise_flash_errors():
    class Broken(NorFlash):
        what = ""

        def _program(self, at, buffer):
            if "program" in self.what:
                raise OSError(5)
            super()._program(at, buffer)

        def _erase(self, at):
            if "erase" in self.what:
                raise OSError(5)
            super()._erase(at)

    for what in ("program", "erase", "program, erase"):
        store = open_store(failed_trial().flash.data, Broken)
        store.flash.what = what
        try:
            for _ in range(20):
                store.swap_capsule(TARGET, any_version=True)
            raise AssertionError(what)
        except FlashError:
            pass
        again = Store(store.flash, Wanted(model=7, kind=1, key=KEY), chunk_bytes=64)
        assert again.head.version == version(BASE) and again.active is not None
