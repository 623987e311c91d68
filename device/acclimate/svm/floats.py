# SPDX-License-Identifier: MIT
"""One SMO iteration in the float state (see `solver` for the layout of `work`).

`iterate`, `subtract` and `collapse` are generators: they yield in pieces of work, and only while
alphas and gradient agree.
"""

from acclimate.svm.kernels import value, values_at_once
from acclimate.svm.parameters import CONVERGED, HEAD, NO_PROGRESS, NON_FINITE, RUNNING

_HUGE = 3.0e38
_TINY = 1e-12


def _row(work, X, rows, par, k, keep):
    """Offset in work of kernel row k, filled in pieces if it was not cached; slot `keep` stays."""
    n = len(rows)
    base = HEAD + 4 * n
    slot = int(work[HEAD + 3 * n + k])
    slots = (len(work) - base) // (n + 2)
    if slot < 0:
        oldest = None
        for s in range(slots):
            used = work[base + 2 * s + 1]
            if s != keep and (oldest is None or used < oldest):
                oldest = used
                slot = s
        tag = int(work[base + 2 * slot])
        if tag >= 0:
            work[HEAD + 3 * n + tag] = -1
        work[base + 2 * slot] = k
        work[HEAD + 3 * n + k] = slot
        at = base + 2 * slots + slot * n
        a = rows[k] if rows[k] >= 0 else ~rows[k]
        pause = values_at_once(par)
        for t in range(n):
            r = rows[t]
            work[at + t] = value(par, X, a, X, r if r >= 0 else ~r)
            if not (t + 1) % pause:
                yield
    work[base + 2 * slot + 1] = work[1] + work[5]
    return base + 2 * slots + slot * n


def extremes(work, rows, par, top=-_HUGE, bottom=_HUGE):
    """(index, largest v that may go up, smallest v that may go down); both states use it.

    `top` and `bottom` are what an empty side gives.
    """
    n = len(rows)
    c_pos = par[4]
    c_neg = -par[5]
    best = -1
    for k in range(n):
        b = work[HEAD + k]
        v = work[HEAD + n + k]
        if rows[k] >= 0:
            up = b < c_pos
            down = b > 0
        else:
            up = b < 0
            down = b > c_neg
        if up and v > top:
            top = v
            best = k
        if down and v < bottom:
            bottom = v
    return best, top, bottom


def iterate(work, X, rows, par):
    """One iteration with second-order selection of the pair."""
    n = len(rows)
    i, top, bottom = extremes(work, rows, par)
    gap = top - bottom
    if not gap > par[7]:
        return CONVERGED if gap <= par[7] else NON_FINITE
    if not gap < _HUGE:
        return NON_FINITE
    at = yield from _row(work, X, rows, par, i, -1)
    yield
    c_neg = -par[5]
    kii = work[HEAD + 2 * n + i]
    best = 0.0
    best_q = 1.0
    j = -1
    for k in range(n):
        b = top - work[HEAD + n + k]
        if b > 0 and (work[HEAD + k] > (0 if rows[k] >= 0 else c_neg)):
            q = kii + work[HEAD + 2 * n + k] - 2 * work[at + k]
            if not q > _TINY:
                q = _TINY
            b *= b
            if b * best_q > best * q:
                best = b
                best_q = q
                j = k
    if j < 0:
        return NON_FINITE
    yield
    t = (top - work[HEAD + n + j]) / best_q
    return (yield from _move(work, X, rows, par, i, j, t, at))


def _move(work, X, rows, par, i, j, t, at):
    """Move t (clipped to the box) from sample j to sample i."""
    n = len(rows)
    other = yield from _row(work, X, rows, par, j, int(work[HEAD + 3 * n + i]))
    high = par[4] if rows[i] >= 0 else 0.0
    low = 0.0 if rows[j] >= 0 else -par[5]
    bi = work[HEAD + i]
    bj = work[HEAD + j]
    t = min(t, high - bi, bj - low)
    work[HEAD + i] = high if t == high - bi else bi + t
    work[HEAD + j] = low if t == bj - low else bj - t
    if work[HEAD + i] == bi and work[HEAD + j] == bj:
        return NO_PROGRESS
    if not -_HUGE < t < _HUGE:
        work[HEAD + i] = bi
        work[HEAD + j] = bj
        return NON_FINITE
    for k in range(HEAD + n, HEAD + 2 * n):
        work[k] -= t * (work[at] - work[other])
        at += 1
        other += 1
    return RUNNING


def subtract(work, X, rows, par, k, b):
    """Warm start: take b times kernel row k out of v."""
    n = len(rows)
    at = yield from _row(work, X, rows, par, k, -1)
    for t in range(HEAD + n, HEAD + 2 * n):
        work[t] -= b * work[at]
        at += 1
    return True


def trusted(n):
    """Gap below which the mean over free vectors is used as the bias."""
    return _HUGE


def collapse(w, work, X, rows, par):
    """w = [0, bias, weights ...]."""
    d = int(par[0])
    w[0] = 0.0
    w[1] = work[3]
    for t in range(d):
        total = 0.0
        for k in range(len(rows)):
            b = work[HEAD + k]
            if b:
                r = rows[k]
                total += b * X[(r if r >= 0 else ~r) * d + t]
        w[2 + t] = total
        yield
