# SPDX-License-Identifier: MIT
"""The roundings of the network that runs in Python; docs/numerics.md says each."""


def requantize(x, m, shift):
    """Section 1."""
    if shift > 0:
        x <<= shift
        x = (x + 0x80000000 & 0xFFFFFFFF) - 0x80000000
        shift = 0
    x = (x * m + 0x40000000) >> 31
    if shift:
        mask = (1 << -shift) - 1
        x = (x >> -shift) + ((x & mask) > (mask >> 1) + (x < 0))
    return x


def even(x, s):
    """x / 2**s to the nearest, halves to even."""
    if s == 0:
        return x
    down, rest, half = x >> s, x & (1 << s) - 1, 1 << (s - 1)
    return down + (rest > half or (rest == half and down & 1 == 1))
