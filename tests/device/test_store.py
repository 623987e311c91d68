# SPDX-License-Identifier: MIT
"""The whole way of a capsule on every runtime, on the flash model; also with a locked heap."""

# NOT_ON = {"samd21": "28 KB of bytecode from files; frozen in tests/host/test_store_on_32k.py"}

from capsule_vectors import BASE, KEY, TARGET
from nor import NorFlash, PowerCut

from acclimate.store import WEIGHTS, CapsuleError, Store, Wanted

try:
    from micropython import heap_lock, heap_unlock
except ImportError:
    heap_lock = heap_unlock = None

PAGE = 128


def wanted():
    return Wanted(model=7, kind=1, key=KEY)


def open_store(flash):
    return Store(flash, wanted(), chunk_bytes=64)


def new():
    store = open_store(NorFlash(8 * PAGE, PAGE))
    store.swap_capsule(BASE)
    return store


def model(store):
    start = store.slots.start(store.active)
    return memoryview(store.flash.data)[start : start + store.head.total]  # a copy may not fit


def test_swap_and_reset():
    store = new()
    assert model(store) == BASE and store.head.temperature == 300
    store = open_store(store.flash)
    assert model(store) == BASE and bytes(store.view(WEIGHTS)) == BASE[128:255]
    buffer = bytearray(5)
    store.readinto(WEIGHTS, 3, buffer)
    assert buffer == BASE[131:136]


def test_trial_ends_after_three_boots():  # case: E2
    store = new()
    store.stage(TARGET, len(TARGET))
    store.write(TARGET, len(TARGET))
    store.finish()
    store.trial()
    flash = store.flash
    for _ in range(3):
        assert model(open_store(flash)) == TARGET
    assert model(open_store(flash)) == BASE
    assert open_store(flash).state == "rolled back"


def test_flipped_bits_are_refused():
    store = new()
    for at in range(0, len(TARGET), 7):
        bad = bytearray(TARGET)
        bad[at] ^= 1 << at % 8
        try:
            store.swap_capsule(bad)
        except CapsuleError:
            continue
        raise AssertionError(at)
    assert model(store) == BASE


def test_cuts_leave_old_or_new():  # case: D1
    image = bytes(new().flash.data)
    step = 1
    while True:
        flash = NorFlash(8 * PAGE, PAGE, data=bytearray(image))
        store = open_store(flash)
        flash.cut_after(step, ("none", "partial", "low")[step % 3])
        try:
            store.swap_capsule(TARGET)
        except PowerCut:
            flash.power_on()
            assert model(open_store(flash)) in (BASE, TARGET)
            step += 5
            continue
        break
    assert step > 40


def test_stage_write_and_verify_allocate_nothing():
    from acclimate import _native

    if heap_lock is None:
        return "this runtime cannot lock its heap"
    if not _native.load("codec"):
        return "hashlib and pure Python allocate"

    class Fixed(NorFlash):
        """The model without slices, which allocate."""

        def _read(self, at, buffer):
            for i in range(len(buffer)):
                buffer[i] = self.data[at + i]

        def _program(self, at, buffer):
            for i in range(len(buffer)):
                self.data[at + i] &= buffer[i]

        def _erase(self, at):
            for i in range(self.erase_bytes):
                self.data[at + i] = 255

    store = open_store(Fixed(8 * PAGE, PAGE))
    store.swap_capsule(BASE)
    n = len(TARGET)
    store.stage(TARGET, n)
    heap_lock()
    try:
        store.write(TARGET, n)
        store.slots.close()
        checker = store.checker
        checker.begin(store.incoming)
        at, start = store.incoming.size, store.slots.start(store.journal.slot)
        while at < n:
            at += checker.take(start + at, n - at)
        checker.compare(store.incoming)
        checker.authentic(store.incoming, store.wanted)
    finally:
        heap_unlock()
    store.finish()
    store.confirm()
    assert model(store) == TARGET
