# SPDX-License-Identifier: MIT
"""Headers of capsules, the same on every runtime."""

from capsule_vectors import BASE

from acclimate.store import CapsuleError
from acclimate.store.capsule import Head, Wanted, number, put_number


def head_of(data):
    head = Head()
    n = min(144, len(data))
    for i in range(n):
        head.bytes[i] = data[i]
    head.parse(n)
    return head


def reason(call, *args):
    try:
        call(*args)
    except CapsuleError as error:
        return error.reason
    return None


def test_header_says_what_the_builder_wrote():
    head = head_of(BASE)
    assert (head.total, head.version, head.kind, head.model) == (len(BASE), 1, 1, 7)
    assert head.section_at(0) == 124 and head.section_size(0) == 4
    assert head.section_at(1) == 128 and head.find(2) == 1 and head.find(3) == -1
    assert head.section_at(1) % 4 == 0


def test_header_for_something_else_is_refused_by_name():
    head = head_of(BASE)
    assert reason(head.fits, Wanted(kind=2), 1000) == "kind"
    assert reason(head.fits, Wanted(model=8), 1000) == "model"
    assert reason(head.fits, Wanted(), len(BASE) - 1) == "oversized"
    assert reason(head.fits, Wanted(), len(BASE)) is None
    assert reason(head_of, BASE[:119]) == "truncated"
    assert reason(head_of, b"x" + BASE[1:]) == "magic"
    assert reason(head_of, BASE[:116] + b"\x83\xff\xff\xff" + BASE[120:]) == "table"


def test_numbers_of_4_bytes():
    buffer = bytearray(8)
    for value in (0, 255, 65536, 0x3FFFFFFF):
        put_number(buffer, 2, value)
        assert number(buffer, 2) == value
    buffer[5] = 64
    assert number(buffer, 2) == -1
