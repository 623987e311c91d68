# SPDX-License-Identifier: MIT
"""Real factors as the integers that boards multiply with; docs/numerics.md, section 1."""

import math

import numpy as np

from .graph import GraphError

MULTIPLIER_ONE = 1 << 31


def multiplier(factor):
    """Return (m, shift) with m / 2^31 * 2^shift closest to a positive `factor`, 2^30 <= m.

    :raises GraphError: where the factor is not positive and finite, or 2^30 or more

    >>> multiplier(0.5)
    (1073741824, 0)
    """
    if not (0 < factor < 2**30):
        raise GraphError(f"factor: expected a number in (0, 2^30), got {factor!r}")
    fraction, shift = math.frexp(factor)
    m = math.floor(fraction * MULTIPLIER_ONE + 0.5)
    if m == MULTIPLIER_ONE:
        m, shift = m // 2, shift + 1
    return (0, 0) if shift < -31 else (m, shift)


def multipliers(factors):
    """Return int64 arrays of multipliers and shifts for an array of factors."""
    pairs = np.array([multiplier(float(f)) for f in np.ravel(factors)], np.int64)
    return pairs[:, 0], pairs[:, 1]


def requantize(x, m, shift):
    """Return round(round(x * 2^max(shift, 0) * m / 2^31) / 2^max(-shift, 0)) as on a board.

    `x` int64 within int32; all arguments broadcast.
    """
    x = np.asarray(x, np.int64) << np.maximum(shift, 0)
    x = ((x + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
    high = (x * m + (1 << 30)) >> 31
    return round_shift(high, np.maximum(-np.asarray(shift), 0))


def round_shift(x, e):
    """Return x / 2^e to the nearest, halves away from zero."""
    mask = (np.int64(1) << np.asarray(e, np.int64)) - 1
    rest = x & mask
    return (x >> e) + (rest > (mask >> 1) + (x < 0))


def even_shift(x, s):
    """Return x / 2^s to the nearest, halves to even; s one number."""
    if s == 0:
        return x
    down, rest, half = x >> s, x & ((1 << s) - 1), 1 << (s - 1)
    return down + ((rest > half) | ((rest == half) & ((down & 1) == 1)))
