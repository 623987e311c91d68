# SPDX-License-Identifier: MIT
"""One SMO iteration in the fixed-point state; the C core gives the same bits.

Signed alphas are integers of scale 2 ** par[6], v = y - f is Q16, kernel values are 16 bits
of scale 2 ** par[15]. See docs/svm_numerics.md for every shift and rounding. Generators as in
`floats`.
"""

from acclimate.svm.floats import _row
from acclimate.svm.floats import extremes as _extremes
from acclimate.svm.parameters import CONVERGED, HEAD, NO_PROGRESS, RUNNING

_BIG = 1 << 30


def extremes(work, rows, par):
    """(index, largest v that may go up, smallest v that may go down)."""
    return _extremes(work, rows, par, -_BIG, _BIG - 1)


def iterate(work, X, rows, par):
    """One iteration with second-order selection of the pair (8-bit gains, no division)."""
    n = len(rows)
    i, top, bottom = extremes(work, rows, par)
    gap = top - bottom
    if gap <= par[7]:
        return CONVERGED
    at = yield from _row(work, X, rows, par, i, -1)
    yield
    by = 0
    while gap >> by > 255:
        by += 1
    c_neg = -par[5]
    half = 1 if work[7] > 16383 else 0
    kii = work[HEAD + 2 * n + i]
    best = 0
    best_q = 1
    j = -1
    for k in range(n):
        b = (top - work[HEAD + n + k]) >> by
        if b > 0 and work[HEAD + k] > (0 if rows[k] >= 0 else c_neg):
            q = (kii + work[HEAD + 2 * n + k] - 2 * work[at + k]) >> half
            if q < 1:
                q = 1
            b *= b
            if b * best_q > best * q:
                best = b
                best_q = q
                j = k
    q = max(1, kii + work[HEAD + 2 * n + j] - 2 * work[at + j])
    t = _quotient(top - work[HEAD + n + j], q, par[6] - par[15])
    yield
    return (yield from _move(work, X, rows, par, i, j, t))


def _quotient(b, q, scale):
    """b / q with a mantissa of 14 bits, times 2 ** (scale - 16), at most 2 ** 30."""
    e = 16
    while b < _BIG:
        b <<= 1
        e += 1
    m = b // q
    while m >= 16384:
        m >>= 1
        e -= 1
    e = scale - e
    if e > 16:
        return _BIG
    return m << e if e >= 0 else m >> min(31, -e)


def _move(work, X, rows, par, i, j, t):
    """Move t (clipped to the box) from sample j to sample i."""
    n = len(rows)
    high = par[4] if rows[i] >= 0 else 0
    low = 0 if rows[j] >= 0 else -par[5]
    t = min(t, high - work[HEAD + i], work[HEAD + j] - low)
    while t and not _safe(work, par, t):
        t >>= 1
    if not t:
        return NO_PROGRESS
    at = yield from _row(work, X, rows, par, i, -1)
    other = yield from _row(work, X, rows, par, j, int(work[HEAD + 3 * n + i]))
    work[HEAD + i] += t
    work[HEAD + j] -= t
    _apply(work, par, n, t, at, other)
    return RUNNING


def _split(t):
    """Leading 14 bits of t and their exponent."""
    e = 0
    while t >= 16384:
        t >>= 1
        e += 1
    return t, e


def _safe(work, par, t):
    """Whether a change of t keeps every |v| below 2 ** 30, by the bound on kernel values."""
    m, e = _split(t)
    shift = par[6] - 16 - e - par[15]
    bound = (m + 1) * 2 * (work[7] + 1)
    room = _BIG - 1 - work[6]
    if shift >= 0:
        return bound >> min(31, shift) < room
    return bound < room >> min(31, -shift)


def _apply(work, par, n, t, at, other):
    """v -= t (K[at] - K[other]), in parts of t of 14 bits; other < 0: one row only."""
    sign = 1
    if t < 0:
        t = -t
        sign = -1
    mag = work[6]
    while t:
        m, e = _split(t)
        t -= m << e
        m *= sign
        shift = par[6] - 16 - e - par[15]
        if shift > 30:
            break
        up = max(-shift, 0)
        down = max(shift, 0)
        add = 1 << (down - 1) if down else 0
        for k in range(n):
            kd = work[at + k]
            if other >= 0:
                kd -= work[other + k]
            v = work[HEAD + n + k] - (((m * kd + add) >> down) << up)
            work[HEAD + n + k] = v
            mag |= v if v >= 0 else ~v
    work[6] = mag


def subtract(work, X, rows, par, k, b):
    """Warm start: take b times kernel row k out of v; False when it would overflow."""
    if not _safe(work, par, abs(b)):
        return False
    at = yield from _row(work, X, rows, par, k, -1)
    _apply(work, par, len(rows), b, at, -1)
    return True


def half(value):
    return value >> 1


def ratio(total, count):
    """Division towards zero, as in C."""
    return total // count if total >= 0 else -(-total // count)


def trusted(n):
    """Gap below which the sum over free vectors fits 32 bits."""
    return _BIG // n


def collapse(w, work, X, rows, par):
    """w = [shift, bias, int16 pairs ...]; see `solver.collapse`."""
    d = par[0]
    most = 0
    for t in range(d):
        one = _weight(work, X, rows, d, t)
        most = max(most, one if one >= 0 else ~one)
        yield
    bias = work[3]
    size = bias if bias >= 0 else ~bias
    up = par[6] - 16 - (8 if par[1] == 2 else 0)  # `linear` cuts sums of int16 products by 8
    limit = min(32766, (1 << (21 if par[1] == 1 else 22)) // d - 1)
    by = 0
    while most >> by > limit or up > 29 or (up > 0 and size >> (29 - up)):
        by += 1
        up -= 1
    w[0] = up + 16
    w[1] = bias << up if up >= 0 else bias >> min(31, -up)
    add = 1 << (by - 1) if by else 0
    pair = 0
    for t in range(d):
        s = (_weight(work, X, rows, d, t) + add) >> by
        if t & 1:
            pair |= s << 16
        else:
            pair = s & 0xFFFF
        w[2 + (t >> 1)] = pair
        yield


def _weight(work, X, rows, d, t):
    total = 0
    for k in range(len(rows)):
        b = work[HEAD + k]
        if b:
            r = rows[k]
            total += b * X[(r if r >= 0 else ~r) * d + t]
    return total
