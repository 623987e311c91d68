# SPDX-License-Identifier: MIT
"""What a Store takes in one call, from bytes and from streams, and what a save writes."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

from array import array

from capsule_vectors import BASE, TARGET, UPDATE
from nor import NorFlash
from pull_cases import large
from store_cases import PAGE, empty, model, new, open_store, raised, reset

from acclimate.store import WEIGHTS, CapsuleError
from acclimate.store.install import feed


class Stream:
    """Gives so many bytes at a time, as a socket does; `ends` is what it gives at its end."""

    def __init__(self, data, piece, ends=0):
        self.data, self.piece, self.ends, self.at = data, piece, ends, 0

    def readinto(self, buffer):
        n = min(len(buffer), self.piece, len(self.data) - self.at)
        if not n:
            return self.ends
        buffer[:n] = self.data[self.at : self.at + n]
        self.at += n
        return n


def test_a_capsule_and_an_update_come_from_bytes_and_from_streams():
    for piece in (1, 3, 64, 143, 144, 145, 1000):
        for ends in (0, None):
            store = empty()
            store.swap_capsule(Stream(BASE, piece, ends))
            assert model(store) == BASE and store.state == "confirmed"
            store.swap_capsule(Stream(UPDATE, piece, ends))
            assert model(store) == TARGET
    store = empty()
    for data, made in ((bytearray(BASE), BASE), (memoryview(UPDATE), TARGET)):
        store.swap_capsule(data)
        assert model(store) == made


def test_what_was_fed_is_verified_and_waits():
    for data in (TARGET, UPDATE):
        store = new()
        feed(store, data)
        assert store.state == "verified" and model(store) == BASE


def test_what_is_neither_is_refused_and_what_is_short_is_truncated():
    for data in (b"", b"A", b"AUP", b"AUPX" + bytes(200), bytes(200)):
        store = new()
        raised(CapsuleError, store.swap_capsule, data)
        assert model(store) == BASE
    for data in (b"AUPD", UPDATE[:-1], TARGET[:-1]):
        store = new()
        assert raised(CapsuleError, store.swap_capsule, data).reason == "truncated"
        assert model(store) == BASE


def test_an_older_one_is_taken_only_when_that_is_said():
    store = new()
    store.swap_capsule(TARGET)
    assert raised(CapsuleError, store.swap_capsule, BASE).reason == "version"
    store.swap_capsule(BASE, any_version=True)
    assert model(store) == BASE
    assert raised(CapsuleError, store.swap_capsule, UPDATE).reason == "version"
    store.swap_capsule(UPDATE, any_version=True)
    assert model(store) == TARGET


def test_what_the_flash_holds_after_a_cut_is_not_written_again():
    data = large(1000)
    for cut in (0, 144, 700, 800, 900, 1000):
        for piece in (77, 1000):
            store = open_store(NorFlash(24 * PAGE, PAGE))
            store.stage(data, 144)
            store.write(data, cut)
            store = reset(store)
            before = store.flash.programmed_bytes
            feed(store, Stream(data, piece))
            spared = len(data) - (store.flash.programmed_bytes - before)
            assert cut - 2 * PAGE < spared <= cut, (cut, spared)
            store.confirm()
            assert model(store) == data


def test_an_older_one_that_is_fed_is_refused():
    store = new()
    store.swap_capsule(TARGET)
    assert raised(CapsuleError, feed, store, BASE).reason == "version"


# ---- saves -------------------------------------------------------------------------------------


def test_nothing_is_saved_without_a_model_that_has_weights():
    assert raised(CapsuleError, empty().save, b"").reason == "table"
    store = new()
    store.active = None  # whatever its head still says
    assert raised(CapsuleError, store.save, b"").reason == "table"
    store = new()
    kind = store.head.find
    store.head.find = lambda type: -1 if type == WEIGHTS else kind(type)
    assert raised(CapsuleError, store.save, b"").reason == "table"


def test_weights_are_what_changes_and_saves_are_counted():
    store = new(day_pages=0)
    at = store.head.section_at(store.head.find(WEIGHTS))
    size = store.section(WEIGHTS)[1]
    for i in range(1, 130):
        weights = bytearray(store.view(WEIGHTS))
        place = (0, size - 1, size // 2)[i % 3]
        weights[place] = weights[place] + 1 & 255
        before = model(store)
        assert store.save(weights) is True
        made = model(store)
        assert made[at : at + size] == bytes(weights)
        assert made[116:at] == before[116:at] and made[at + size :] == before[at + size :]
        assert made[7] == (2 * i & 254) | 1, i  # the flag, and a count to 127 that begins anew
        assert store.save(weights) is False and model(store) == made
        if i in (1, 64, 129):
            store = reset(store, day_pages=0)
            assert model(store) == made and store.head.is_local


def test_weights_may_be_the_first_section_and_bytes_with_a_sign():
    store = open_store(NorFlash(24 * PAGE, PAGE), day_pages=0)
    store.swap_capsule(large(300))
    assert store.head.find(WEIGHTS) == 0
    weights = array("b", bytes(store.view(WEIGHTS)))
    assert store.save(weights) is False
    weights[7] = -3
    assert store.save(weights) is True and store.view(WEIGHTS)[7] == 253
    for wrong in (weights[:-1], array("h", [0] * len(weights)), b""):
        assert str(len(weights)) in str(raised(ValueError, store.save, wrong))
    assert store.view(WEIGHTS)[7] == 253 and store.state == "confirmed"


def test_a_single_byte_that_differs_is_saved():
    store = new(day_pages=0)
    size = store.section(WEIGHTS)[1]
    for place in range(0, size, 13):
        weights = bytearray(store.view(WEIGHTS))
        weights[place] ^= 1
        assert store.save(weights) is True
        assert bytes(store.view(WEIGHTS)) == bytes(weights)
