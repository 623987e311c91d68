# SPDX-License-Identifier: MIT
"""Largest sum of some of the given sizes within a limit, for rounding a RAM limit down."""

import math

MOST_UNITS = 1 << 20


def reachable(sizes, limit):
    """Largest subset sum <= limit; the limit itself where that is too much to work out.

    >>> reachable([3, 8, 8], 15), reachable([5, 7], 4)
    (11, 0)
    """
    if sum(sizes) <= limit:
        return sum(sizes)
    if any(size != int(size) for size in sizes):
        return limit
    sizes, limit = [int(size) for size in sizes], math.floor(limit)
    unit = math.gcd(*sizes)
    top = limit // unit
    if top > MOST_UNITS:
        return limit
    mask = (1 << (top + 1)) - 1
    sums = 1
    for size in sizes:
        sums |= sums << (size // unit) & mask
    return (sums.bit_length() - 1) * unit
