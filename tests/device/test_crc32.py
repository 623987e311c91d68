# SPDX-License-Identifier: MIT
"""CRC-32 in pure Python against published check values, and those of zlib."""

from array import array

from acclimate import _crc, _crc32

# The catalogue of parametrised CRC algorithms ("123456789"), and zlib.crc32 of CPython.
VECTORS = (
    (b"", 0),
    (b"123456789", 0xCBF43926),
    (b"\x00", 0xD202EF8D),
    (b"\xff" * 100, 0x03D28681),
    (bytes(range(256)), 0x29058C73),
)


def test_published_check_values():
    for data, value in VECTORS:
        assert _crc32.crc32(data) == value, data


def test_pieces_give_what_the_whole_gives():
    data = bytes(range(200))
    for cut in (0, 1, 63, 64, 65, 199, 200):
        assert _crc32.crc32(data[cut:], _crc32.crc32(data[:cut])) == _crc32.crc32(data), cut


def test_items_may_be_wider_than_a_byte():
    data = array("i", [1, -2, 300000] * 30)
    assert _crc32.crc32(data) == _crc32.crc32(bytes(data))


def test_that_of_buffers_is_the_same():
    data = bytes(v * 37 & 255 for v in range(300))
    crc = bytearray(4)
    _crc.start(crc)
    _crc.update(crc, data, 3, 290)
    _crc.finish(crc)
    assert int.from_bytes(crc, "little") == _crc32.crc32(data[3:290])
