# SPDX-License-Identifier: MIT
"""How long a manifest counts, for whom, after which other one, and a tag of a device's own."""

# RUNTIMES = ("cpython", "desktop")

from capsule_vectors import BASE, KEY, TARGET
from pull_cases import WHOLE, manifest, new

from acclimate._digest import Hasher
from acclimate.pull.manifest import Manifest
from acclimate.store import CapsuleError, Store

COHORT_AT = 28
NAME = "000102030405060708090a0b0c0d0e0f"


def store_with(day=None, **floors):
    store = new(day=day)
    for name, value in floors.items():
        setattr(store.journal, name, value)
    return store


def taken(entries=None, **fields):
    data = manifest(entries=entries, **fields)
    found = Manifest()
    found.add(data, len(data))
    return found


def of_one(size, base=WHOLE):
    return taken([(base, size)])


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
        found = taken(h18=last)
        assert reason(found, store_with(lambda last=last: last)) is None
        assert reason(found, store_with(lambda last=last: last - 1)) is None
        error = refusal(found, store_with(lambda last=last: last + 1))
        assert error.reason == "expired" and "day %d " % last in str(error)
        assert reason(found, store_with()) is None  # without a clock no day is known
    assert reason(taken(), store_with(lambda: 0xFFFF)) is None  # 0: it counts for ever


def test_a_manifest_of_another_epoch_is_refused():
    for epoch in (1, 0x100, 0x8001):
        assert reason(taken(h16=epoch), store_with()) == "epoch"
        assert reason(taken(h16=epoch), store_with(keys=epoch << 16)) is None
        assert reason(taken(), store_with(keys=epoch << 16)) == "epoch"


def test_a_manifest_is_signed_by_a_key_for_rollouts():
    asked = []

    class Keys:
        def check(self, data, n, role):
            asked.append((bytes(data[:4]), n, role))

    store, found = store_with(), taken(key=None)
    store.wanted.key = Keys()
    assert reason(found, store) is None and asked == [(b"AMAN", found.signed_bytes, 2)]


def test_a_manifest_that_is_cut_says_how_many_bytes_it_should_have():
    data, found = manifest(), Manifest()
    found.add(data, 103)
    assert "103 bytes, not 168" in str(refusal(found, store_with())) and len(data) == 168


def test_each_byte_of_the_cohort_counts():
    store = store_with()
    assert reason(taken(), store) is None
    assert reason(taken(), store, b"al") == reason(taken(), store, b"all ") == "cohort"
    for at in range(COHORT_AT, COHORT_AT + 8):
        found = taken()
        found.bytes[at] ^= 1
        data = bytearray(found.bytes[: found.have - 32])
        tag = bytearray(32)
        Hasher().hmac(KEY, data, len(data), tag)
        found.bytes[found.have - 32 : found.have] = tag
        assert reason(found, store) == "cohort", at


def test_no_manifest_before_the_one_that_was_kept_counts():
    for number in (1, 0x10000, 0x1234567):
        store = store_with()
        taken(n20=number).keep_sequence(store)
        assert store.journal.manifest == number
        assert reason(taken(n20=number), store) is None
        assert reason(taken(n20=number + 1), store) is None
        error = refusal(taken(n20=number - 1), store)
        assert error.reason == "version" and "%d is older than %d" % (number - 1, number) in str(
            error
        )
        again = Store(store.flash, store.wanted, chunk_bytes=64)
        assert again.journal.manifest == number  # over a reset, too


def test_a_sequence_never_falls_and_is_written_once():
    store = store_with()
    taken(n20=9).keep_sequence(store)
    steps = store.flash.steps
    for number in (9, 8, 0):
        taken(n20=number).keep_sequence(store)
        assert store.journal.manifest == 9 and store.flash.steps == steps


def test_a_flash_in_trouble_keeps_no_sequence():
    store = store_with()
    store.trouble = "read-only"
    steps = store.flash.steps
    taken(n20=9).keep_sequence(store)
    assert store.flash.steps == steps and store.journal.manifest == 0


def test_a_tag_for_one_device_stands_where_the_signature_was():
    found = taken(key=None)
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
    assert of_one(50, base).choose(store.head.bytes) == (
        False,
        50,
        NAME,
    )
    for at in range(16):
        other = bytearray(base)
        other[at] ^= 1
        try:
            of_one(50, other).choose(store.head.bytes)
        except CapsuleError as error:
            assert error.reason == "base"
        else:
            raise AssertionError(at)


def test_a_base_of_which_one_byte_is_not_zero_is_no_whole_capsule():
    for at in (0, 7, 15):
        base = bytearray(16)
        base[at] = 1
        try:
            of_one(len(TARGET), base).choose()
        except CapsuleError as error:
            assert error.reason == "base"
        else:
            raise AssertionError(at)


def test_of_an_update_any_size_is_taken_and_of_a_whole_capsule_its_own():
    store = store_with()
    for size in (0, 1, len(TARGET) + 1, 0x3FFFFFFF):
        assert of_one(size, BASE[20:36]).choose(store.head.bytes)[1] == size
    for size in (0, len(TARGET) - 1, len(TARGET) + 1):
        try:
            of_one(size).choose()
        except CapsuleError as error:
            assert error.reason == "format"
        else:
            raise AssertionError(size)
    assert taken().choose() == (True, len(TARGET), NAME)


def test_the_entries_give_their_room_back():
    found = taken(n20=5)
    found.shrink()
    assert len(found.bytes) == 68 and found.sequence == 5 and found.total == len(TARGET)
