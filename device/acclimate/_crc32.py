# SPDX-License-Identifier: MIT
"""CRC-32 in pure Python, for firmware whose ``binascii`` has none (`_crc` allocates nothing)."""

_nibbles = []  # of the table: one entry for each half of a byte


def crc32(data, value=0):
    """Return the CRC-32 (that of zlib) of `data`, a buffer of any items, continued from `value`.

    >>> hex(crc32(b"123456789"))
    '0xcbf43926'
    """
    if not _nibbles:
        for i in range(16):
            for _ in range(4):
                i = i >> 1 ^ (0xEDB88320 if i & 1 else 0)
            _nibbles.append(i)
    value ^= 0xFFFFFFFF
    for at in range(0, len(data), 64):
        for byte in bytes(data[at : at + 64]):  # items may be wider than a byte
            value ^= byte
            value = value >> 4 ^ _nibbles[value & 15]
            value = value >> 4 ^ _nibbles[value & 15]
    return value ^ 0xFFFFFFFF
