# SPDX-License-Identifier: MIT
"""CRC-32 (that of zlib) of a buffer, in two halves of 16 bits: no object is allocated.

crc = bytearray(4)
start(crc)
update(crc, data, 0, len(data))
finish(crc)                      # crc now holds the 4 bytes, little-endian
"""

from acclimate import _native

# Of the 16 table entries of a half byte: the low halves, then the high halves.
_LOW = (
    b"\x00\x00\x64\x10\xc8\x20\xac\x30\x90\x41\xf4\x51\x58\x61\x3c\x71"
    b"\x20\x83\x44\x93\xe8\xa3\x8c\xb3\xb0\xc2\xd4\xd2\x78\xe2\x1c\xf2"
)
_HIGH = (
    b"\x00\x00\xb7\x1d\x6e\x3b\xd9\x26\xdc\x76\x6b\x6b\xb2\x4d\x05\x50"
    b"\xb8\xed\x0f\xf0\xd6\xd6\x61\xcb\x64\x9b\xd3\x86\x0a\xa0\xbd\xbd"
)


def update(crc, data, start, end):
    """Take the bytes start to end of data (bytes, bytearray or such a view) into crc."""
    core = _native.load("codec")
    if core:
        core.crc_update(crc, data, start, end)
    else:
        _update(crc, data, start, end)


def _update(crc, data, start, end):
    low = crc[0] | crc[1] << 8
    high = crc[2] | crc[3] << 8
    i = start
    while i < end:
        low ^= data[i]
        j = (low & 15) << 1
        low = (low >> 4 | (high & 15) << 12) ^ (_LOW[j] | _LOW[j + 1] << 8)
        high = high >> 4 ^ (_HIGH[j] | _HIGH[j + 1] << 8)
        j = (low & 15) << 1
        low = (low >> 4 | (high & 15) << 12) ^ (_LOW[j] | _LOW[j + 1] << 8)
        high = high >> 4 ^ (_HIGH[j] | _HIGH[j + 1] << 8)
        i += 1
    crc[0] = low & 255
    crc[1] = low >> 8
    crc[2] = high & 255
    crc[3] = high >> 8


def start(crc):
    """Set crc, a bytearray of 4, to the value before any byte."""
    crc[0] = crc[1] = crc[2] = crc[3] = 255


def finish(crc):
    """Turn crc into the CRC-32 of what it was given, little-endian."""
    for i in range(4):
        crc[i] ^= 255
