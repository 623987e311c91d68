# SPDX-License-Identifier: MIT
"""How long a manifest counts, for whom, after which other one, and a tag of a device's own."""

# RUNTIMES = ("cpython", "desktop")

from capsule_vectors import BASE, KEY, TARGET
from nor import NorFlash

from acclimate._digest import Hasher
from acclimate.pull.manifest import Manifest
from acclimate.store import CapsuleError, Store
from acclimate.store.capsule import Wanted, put_number

COHORT = b"\x5e\xf5\xef\x03\x64\xb6\x93\x9c"  # of "all"
EPOCH, EXPIRES, SEQUENCE, COHORT_AT = 16, 18, 20, 28


def store_with(day=None, **floors):
    flash = NorFlash(8 * 128, 128)
    store = Store(flash, Wanted(model=7, kind=1, key=KEY), chunk_bytes=64, day=day)
    store.swap_capsule(BASE)
    for name, value in floors.items():
        setattr(store.journal, name, value)
    return store


def manifest(size=len(TARGET), base=bytes(16), key=KEY, **fields):
    """A Manifest of one entry; fields by offset, two bytes each as h16=1, or four as n20=9."""
    data = bytearray(68 + 36)
    data[:7] = b"AMAN\x02\x01\x64"
    put_number(data, 8, 7)
    put_number(data, 12, TARGET[12])
    put_number(data, 24, len(TARGET))
    data[28:36] = COHORT
    data[36:68] = TARGET[20:52]
    data[68:84] = base
    put_number(data, 84, size)
    data[88:104] = bytes(range(16))
    for name, value in fields.items():
        at = int(name[1:])
        for i in range(2 if name[0] == "h" else 4):
            data[at + i] = value >> 8 * i & 255
    data += bytes(32)
    tag = bytearray(32)
    if key:
        Hasher().hmac(key, data, len(data), tag)
    found = Manifest()
    found.add(data + tag, len(data) + 32)
    return found


def refusal(found, store, cohort=b"all"):
    try:
        found.check(store, cohort)
    except CapsuleError as error:
        return error
    return None


def reason(*arguments):
    error = refusal(*arguments)
    return error and error.reason


def test_a_manifest_counts_until_the_end_of_its_last_day():
    for last in (1, 0x1234, 0x8000, 0xFFFF):
        found = manifest(h18=last)
        assert reason(found, store_with(lambda last=last: last)) is None
        assert reason(found, store_with(lambda last=last: last - 1)) is None
        error = refusal(found, store_with(lambda last=last: last + 1))
        assert error.reason == "expired" and "day %d " % last in str(error)
        assert reason(found, store_with()) is None  # without a clock no day is known
    assert reason(manifest(), store_with(lambda: 0xFFFF)) is None  # 0: it counts for ever


def test_a_manifest_of_another_epoch_is_refused():
    for epoch in (1, 0x100, 0x8001):
        assert reason(manifest(h16=epoch), store_with()) == "epoch"
        assert reason(manifest(h16=epoch), store_with(keys=epoch << 16)) is None
        assert reason(manifest(), store_with(keys=epoch << 16)) == "epoch"


def test_each_byte_of_the_cohort_counts():
    store = store_with()
    assert reason(manifest(), store) is None
    assert reason(manifest(), store, b"al") == reason(manifest(), store, b"all ") == "cohort"
    for at in range(COHORT_AT, COHORT_AT + 8):
        found = manifest()
        found.bytes[at] ^= 1
        data = bytearray(found.bytes[: found.have - 32])
        tag = bytearray(32)
        Hasher().hmac(KEY, data, len(data), tag)
        found.bytes[found.have - 32 : found.have] = tag
        assert reason(found, store) == "cohort", at


def test_no_manifest_before_the_one_that_was_kept_counts():
    for number in (1, 0x10000, 0x1234567):
        store = store_with()
        manifest(n20=number).keep_sequence(store)
        assert store.journal.manifest == number
        assert reason(manifest(n20=number), store) is None
        assert reason(manifest(n20=number + 1), store) is None
        error = refusal(manifest(n20=number - 1), store)
        assert error.reason == "version" and "%d is older than %d" % (number - 1, number) in str(
            error
        )
        again = Store(store.flash, store.wanted, chunk_bytes=64)
        assert again.journal.manifest == number  # over a reset, too


def test_a_sequence_never_falls_and_is_written_once():
    store = store_with()
    manifest(n20=9).keep_sequence(store)
    steps = store.flash.steps
    for number in (9, 8, 0):
        manifest(n20=number).keep_sequence(store)
        assert store.journal.manifest == 9 and store.flash.steps == steps


def test_a_flash_in_trouble_keeps_no_sequence():
    store = store_with()
    store.trouble = "read-only"
    steps = store.flash.steps
    manifest(n20=9).keep_sequence(store)
    assert store.flash.steps == steps and store.journal.manifest == 0


def test_a_tag_for_one_device_stands_where_the_signature_was():
    found = manifest(key=None)
    for i in range(found.have - 64, found.have):
        found.bytes[i] = 0xAA  # the signature of others
    before = bytes(found.bytes)
    assert not found.is_tagged and reason(found, store_with()) == "authenticity"
    tag = bytearray(32)
    Hasher().hmac(KEY, before[: found.signed_bytes] + bytes(32), found.signed_bytes + 32, tag)
    found.tag(tag)
    end = found.signed_bytes
    assert found.is_tagged and bytes(found.bytes[:end]) == before[:end]
    assert bytes(found.bytes[end : end + 64]) == bytes(32) + bytes(tag)
    assert bytes(found.bytes[end + 64 :]) == before[end + 64 :]
    assert reason(found, store_with()) is None


def test_an_update_is_for_all_16_bytes_of_its_base():
    store = store_with()
    base = bytes(BASE[20:36])
    assert manifest(50, base).choose(store.head.bytes) == (
        False,
        50,
        "000102030405060708090a0b0c0d0e0f",
    )
    for at in range(16):
        other = bytearray(base)
        other[at] ^= 1
        try:
            manifest(50, other).choose(store.head.bytes)
        except CapsuleError as error:
            assert error.reason == "base"
        else:
            raise AssertionError(at)


def test_of_an_update_any_size_is_taken_and_of_a_whole_capsule_its_own():
    store = store_with()
    for size in (0, 1, len(TARGET) + 1, 0x3FFFFFFF):
        assert manifest(size, BASE[20:36]).choose(store.head.bytes)[1] == size
    for size in (0, len(TARGET) - 1, len(TARGET) + 1):
        try:
            manifest(size).choose()
        except CapsuleError as error:
            assert error.reason == "format"
        else:
            raise AssertionError(size)
    assert manifest().choose() == (True, len(TARGET), "000102030405060708090a0b0c0d0e0f")


def test_the_entries_give_their_room_back():
    found = manifest(n20=5)
    found.shrink()
    assert len(found.bytes) == 68 and found.sequence == 5 and found.total == len(TARGET)
