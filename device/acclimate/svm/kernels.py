# SPDX-License-Identifier: MIT
"""Kernel values for the pure-Python SVM solver, in the float and the fixed state.

Fixed state: a value is a 16-bit integer, real value = integer * 2 ** par[15]. `prepare`
chooses the shifts from the largest x.x of the training rows. The C core does the same.
"""

from array import array

try:
    import ulab  # noqa: F401  only a firmware that has it needs the module for it

    from acclimate.svm import ulab as _ulab

    _by_ulab = _ulab.load()
except ImportError:
    _by_ulab = None

HUGE = 2.0**126  # a float at or beyond it is reported as not finite: sums of four stay finite
_PIECE = 600  # multiplications between two yields


def values_at_once(par):
    """Kernel values that make one piece of work."""
    cost = int(par[0]) + 4
    if par[1] == 3 or par[2] == 2:  # real rows, or distances
        cost *= 4
    return max(1, _PIECE // cost)


def dot(X, a, x, b, d):
    """Sum of products of row a of X and row b of x."""
    a *= d
    b *= d
    total = 0
    for k in range(d):
        total += X[a + k] * x[b + k]
    return total


def distance2(X, a, x, b, d):
    """Squared distance of row a of X and row b of x."""
    a *= d
    b *= d
    total = 0
    for k in range(d):
        diff = X[a + k] - x[b + k]
        total += diff * diff
    return total


_by_python = (dot, distance2)


def prepare(par, X):
    """Write par[13..15] (fixed state): input shift, product shifts, exponent of a value.

    All rows of the store count, as those of other classes are answered as well. A generator that
    works in pieces.
    """
    if isinstance(par[0], float):
        return
    d = par[0]
    top = 0
    left = pause = values_at_once(par)
    for r in range(len(X) // d):
        top = max(top, dot(X, r, X, r, d))
        left -= 1
        if not left:
            left = pause
            yield
    shift = steps = exponent = 0
    if par[2] == 2:
        while (top * 4) >> shift > 0x1FFFF and not _reaches_zero(par, shift):
            shift += 1
        exponent = -14
    else:
        if par[2] == 1:
            top += abs(par[8]) << par[9]
        while top >> shift > 32767:
            shift += 1
        exponent = shift
        if par[2] == 1:
            first = value = top >> shift
            exponent = shift * par[3]
            for k in range(1, par[3]):
                product = value * first
                by = 14 if product >> 14 <= 32767 else 15
                steps |= (by - 14) << k
                value = product >> by
                exponent += by
    par[13] = shift
    par[14] = steps
    par[15] = exponent


def _reaches_zero(par, k_shift):
    """Whether the largest distance that this shift tells apart has a kernel value of 0."""
    shift = par[10] - k_shift - 12
    return shift < 0 or shift <= 31 and 0x1FFFF * par[9] >> shift >= 15 << 12


def value(par, X, a, x, b):
    """Kernel of row a of X and row b of x."""
    d = int(par[0])
    kind = par[2]
    if isinstance(par[0], float):
        by = _by_ulab if _by_ulab and par[1] == 3 and _are_floats(X, x) else _by_python
        if kind == 2:
            return _exp(-par[9] * by[1](X, a, x, b, d))
        value = by[0](X, a, x, b, d)
        if kind == 1:
            base = par[9] * value + par[8]
            value = 1.0
            for _ in range(int(par[3])):
                value *= base
        return value
    if kind == 2:
        return _fixed_exp(par, distance2(X, a, x, b, d))
    value = dot(X, a, x, b, d)
    if kind == 1:
        value += par[8] << par[9]
    value = _clamp(value >> par[13])
    if kind == 1:
        base = value
        for k in range(1, par[3]):
            value = _clamp((value * base) >> (14 + ((par[14] >> k) & 1)))
    return value


def _are_floats(X, x):
    return isinstance(X, array) and isinstance(x, array)


def _clamp(value):
    return max(-32767, min(32767, value))


def _exp(z):
    from math import exp

    return exp(z) if z > -80.0 else z - z  # NaN for what is not finite


def _fixed_exp(par, squared):
    """2 ** 14 * exp(-gamma * squared) through 2 ** -z, z in Q12, quartic in Q15."""
    reduced = min(squared >> par[13], 0x1FFFF)
    shift = par[10] - par[13] - 12
    if shift < 0:
        z = 65536 if reduced else 0
    elif shift > 31:
        z = 0
    else:
        z = reduced * par[9] >> shift
    whole = z >> 12
    if whole > 14:
        return 0
    f = (z & 4095) << 3
    p = -1744 + (224 * f >> 15)
    p = 7846 + (p * f >> 15)
    p = -22710 + (p * f >> 15)
    p = 32768 + (p * f >> 15)
    return p >> (whole + 1)
