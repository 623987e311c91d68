# SPDX-License-Identifier: MIT
"""Sums and hashes, the same on every runtime and with the native module."""

from capsule_vectors import BASE, KEY

from acclimate import _crc as crc
from acclimate._digest import Hasher, same_digest


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
