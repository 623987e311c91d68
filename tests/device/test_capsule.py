# SPDX-License-Identifier: MIT
"""Headers, sums and hashes, the same on every runtime and with the native module."""

from capsule_vectors import BASE, KEY

from acclimate import _crc as crc
from acclimate._digest import Hasher, same_digest
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


def test_crc_of_zlib():
    for data, wanted in ((b"", b"\0\0\0\0"), (b"123456789", b"\x26\x39\xf4\xcb")):
        found = bytearray(4)
        crc.start(found)
        crc.update(found, data, 0, len(data) // 2)
        crc.update(found, data, len(data) // 2, len(data))
        crc.finish(found)
        assert found == wanted


def test_hash_and_keyed_hash():
    hasher, out = Hasher(), bytearray(32)
    for pieces in ((b"abc",), (b"a", b"bc")):
        hasher.reset()
        for piece in pieces:
            hasher.update(piece, len(piece))
        hasher.into(out)
        assert out[:4] == b"\xba\x78\x16\xbf" and out[28:] == b"\xf2\x00\x15\xad"
    hasher.hmac(b"\x0b" * 20, b"Hi There", 8, out)  # RFC 4231, test case 1
    assert out[:4] == b"\xb0\x34\x4c\x61" and out[28:] == b"\x2e\x32\xcf\xf7"
    hasher.hmac(KEY, BASE, 84, out)
    assert same_digest(BASE, 84, out, 32)
    for i in range(32):
        out[i] ^= 1
        assert not same_digest(BASE, 84, out, 32)
        out[i] ^= 1
