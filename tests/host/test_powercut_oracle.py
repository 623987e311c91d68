# SPDX-License-Identifier: MIT
"""The oracle of the power-cut tests: images written by hand, and each kind of damage."""

import hashlib
import hmac
import struct
import zlib

import pytest

from bench import powercut_oracle as oracle
from bench.powercut_oracle import CONFIRMED, EMPTY, ROLLED_BACK, STAGED, TRIAL, VERIFIED

KEY = bytes(range(32))
PAGE = 256
SLOT_PAGES = 2
PAGES = 2 + 2 * SLOT_PAGES
PLACES = (PAGE - 40) // 12


def capsule(version, size=300, key=KEY):
    head = struct.pack("<4sBBBBIIHH", b"ACAP", 2, 1, 1, 0, 7, version, 0, 256)
    table = struct.pack("<I", 2 | (size - 120) << 8)
    content = bytes(version * 7 + i & 255 for i in range(size - 120))
    signed = head + hashlib.sha256(head + table + content).digest() + bytes(32)
    return signed + hmac.new(key, signed, "sha256").digest() + table + content


def page(generation, records=()):
    """A journal page; a record is (state, slot, other, version) or raw bytes of its place."""
    numbers = (generation, 0, 0, 0, 0, SLOT_PAGES, 0, b"", 0, 0)
    head = struct.pack("<4sIIIHHHH4sII", b"AJNL", *numbers)
    data = head + struct.pack("<I", zlib.crc32(head))
    for index, found in enumerate(records):
        data += found if isinstance(found, bytes) else record(generation, index, *found)
    return data.ljust(PAGE, b"\xff")


def record(generation, index, state, slot=0, other=False, version=1):
    body = struct.pack("<HBBI", index, state, slot | 2 * other, version)
    return body + struct.pack("<I", zlib.crc32(struct.pack("<I", generation) + body))


def image(first=b"", second=b"", slots=(b"", b"")):
    parts = [part.ljust(PAGE, b"\xff") for part in (first, second)]
    parts += [part.ljust(SLOT_PAGES * PAGE, b"\xff") for part in slots]
    return bytearray(b"".join(parts))


OLD, NEW = capsule(1), capsule(2)


def model(*parts, key=KEY):
    return oracle.model_of(image(*parts), PAGE, key)


def test_a_whole_image_has_the_model_of_its_newest_record():
    both = (OLD, NEW)
    for state in (TRIAL, CONFIRMED, ROLLED_BACK):
        for other in (False, True):
            assert model(page(1, [(state, 0, other)]), b"", both) == OLD
            assert model(page(1, [(state, 1, other)]), b"", both) == NEW
    for state in (STAGED, VERIFIED):
        assert model(page(1, [(state, 1, True)]), b"", both) == OLD
        assert model(page(1, [(state, 0, True)]), b"", both) == NEW
        assert model(page(1, [(state, 1, False)]), b"", both) is None
    assert model(page(1, [(EMPTY, 0, True)]), b"", both) is None
    assert model(page(1), b"", both) is None


def test_the_last_record_of_a_full_page_counts():
    records = [(CONFIRMED, 0, False)] * (PLACES - 1) + [(CONFIRMED, 1, False)]
    assert model(page(1, records), b"", (OLD, NEW)) == NEW
    assert oracle.newest_record(image(page(1, records)), PAGE) == (CONFIRMED, 1, False, 0)


def test_the_page_of_the_higher_generation_counts():
    one, two = page(1, [(CONFIRMED, 0, False)]), page(2, [(CONFIRMED, 1, False)])
    assert model(one, two, (OLD, NEW)) == model(two, one, (OLD, NEW)) == NEW
    assert oracle.newest_record(image(b"", two), PAGE) == (CONFIRMED, 1, False, 0)


def test_a_record_counts_that_is_whole_in_one_of_two_equal_pages():
    good = [(CONFIRMED, 0, False), (CONFIRMED, 1, False)]
    torn = [(CONFIRMED, 0, False), bytes(record(1, 1, CONFIRMED, 1)[:11]) + b"\0"]
    for pages in ((page(1, good), page(1, torn)), (page(1, torn), page(1, good))):
        assert model(*pages, (OLD, NEW)) == NEW
    assert model(page(1, torn), page(1, torn), (OLD, NEW)) == OLD
    assert model(page(1, good[:1]), page(1, good), (OLD, NEW)) == NEW


def test_the_floor_is_that_of_the_header_or_of_a_later_record():
    found = page(1, [(CONFIRMED, 0, False, 5), (ROLLED_BACK, 1, False, 3), (STAGED, 1, True, 99)])
    assert oracle.floor_of(image(found, found), PAGE) == 5
    assert oracle.floor_of(image(b"", found), PAGE) == 5
    assert oracle.floor_of(image(), PAGE) == 0


@pytest.mark.parametrize("at", range(32))
def test_a_damaged_page_is_none(at):
    bad = bytearray(page(2, [(CONFIRMED, 1, False)]))
    bad[at] ^= 4
    good = page(1, [(CONFIRMED, 0, False)])
    assert model(bytes(bad), good, (OLD, NEW)) == OLD
    assert oracle.newest_record(image(bytes(bad)), PAGE) is None


@pytest.mark.parametrize("at", range(12))
def test_a_torn_record_is_passed_over(at):
    bad = bytearray(record(1, 1, CONFIRMED, 1))
    bad[at] ^= 4
    records = [(CONFIRMED, 0, False), bytes(bad)]
    assert model(page(1, records), b"", (OLD, NEW)) == OLD
    # and what comes after it counts
    assert model(page(1, [*records, (CONFIRMED, 1, True)]), b"", (OLD, NEW)) == NEW


def test_a_record_of_another_place_or_generation_is_none():
    for bad in (
        record(1, 0, CONFIRMED, 1),
        record(1, 2, CONFIRMED, 1),
        record(2, 1, CONFIRMED, 1),
    ):
        assert model(page(1, [(CONFIRMED, 0, False), bad]), b"", (OLD, NEW)) == OLD


def test_behind_three_blank_places_there_is_nothing():
    blank = b"\xff" * 12
    for blanks, found in ((1, NEW), (2, NEW), (3, OLD)):
        records = [(CONFIRMED, 0, False), *[blank] * blanks, (CONFIRMED, 1, False)]
        assert model(page(1, records), b"", (OLD, NEW)) == found


@pytest.mark.parametrize(
    "at", [0, 3, 4, 8, 12, 16, 19, 20, 51, 52, 83, 84, 115, 116, 119, 120, 200, 299]
)
def test_a_capsule_with_a_changed_byte_is_none(at):
    bad = bytearray(NEW)
    bad[at] ^= 1
    assert oracle.whole_capsule(bytes(bad).ljust(512, b"\xff"), 0, 512, KEY) is None
    confirmed = page(1, [(CONFIRMED, 1, True)])
    assert model(confirmed, b"", (OLD, bytes(bad))) == OLD
    assert model(page(1, [(CONFIRMED, 1, False)]), b"", (OLD, bytes(bad))) is None
    staged = page(1, [(STAGED, 0, True)])
    assert model(staged, b"", (OLD, bytes(bad))) is None


def test_a_capsule_of_another_key_or_beyond_its_slot_is_none():
    assert model(page(1, [(CONFIRMED, 0, False)]), b"", (capsule(1, key=b"x" * 32), NEW)) is None
    whole = capsule(1, SLOT_PAGES * PAGE)
    assert model(page(1, [(CONFIRMED, 0, False)]), b"", (whole, b"")) == whole
    assert oracle.whole_capsule(whole, 0, len(whole) - 1, KEY) is None
    least = capsule(1, 120)
    assert oracle.whole_capsule(least, 0, 512, KEY) == least
    # what lies behind the capsule is not a part of it
    assert oracle.whole_capsule(b"abcd" + OLD + b"more", 4, 512, KEY) == OLD


def test_without_a_journal_the_newest_whole_model_is_in_effect():
    assert model(b"", b"", (OLD, NEW)) == model(b"", b"", (NEW, OLD)) == NEW
    assert model(b"", b"", (OLD, NEW[:-1] + b"x")) == OLD
    assert model() is None
