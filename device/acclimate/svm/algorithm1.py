# SPDX-License-Identifier: MIT
"""The training algorithm of the Edge2Train paper, its printing errors repaired.

A reference that other solvers are measured by: every sample is visited in turn, its partner is
drawn at random, and f(x) is computed anew each time. Ends after IDLE passes without a change.
State and result are where the other solver has them (docs/svm_numerics.md), in float.
"""

from acclimate.svm import kernels as kernels
from acclimate.svm import parameters as P
from acclimate.svm.collect import SAMPLES_AT_ONCE

IDLE = 10  # the paper waits for 10 000
SMALLEST = 1e-5  # a change of alpha below this does not count
_IDLE_PASSES, _SEED, _I, _CHANGED = 4, 5, 6, 7


def start(work, X, rows, par):
    """Begin a binary problem at zero."""
    n = len(rows)
    if len(work) < P.HEAD + 2 * n:
        return P.WORK_TOO_SMALL
    for k in range(P.HEAD + n):
        work[k] = 0
    work[_SEED] = 1
    return P.RUNNING


def _draw(work, n, i):
    """A partner for sample `i`, the same on every runtime."""
    seed = (int(work[_SEED]) * 1103 + 12345) & 0xFFFF
    work[_SEED] = seed
    j = (seed >> 4) % (n - 1)
    return j + 1 if j >= i else j


def _error(work, X, rows, par, k):
    """f(x_k) - y_k, in pieces."""
    pause = max(1, SAMPLES_AT_ONCE // int(par[P.N_FEATURES]))
    r = rows[k]
    at = r if r >= 0 else ~r
    total = work[P.BIAS] - (1 if r >= 0 else -1)
    for t in range(len(rows)):
        b = work[P.HEAD + t]
        if b:
            r = rows[t]
            total += b * kernels.value(par, X, r if r >= 0 else ~r, X, at)
        if not (t + 1) % pause:
            yield
    return total


def _kernel(X, rows, par, i, j):
    a, b = rows[i], rows[j]
    return kernels.value(par, X, a if a >= 0 else ~a, X, b if b >= 0 else ~b)


def _optimise(work, X, rows, par, i, e_i):
    """Move sample `i` and a random partner, in pieces; True when that changed anything."""
    j = _draw(work, len(rows), i)
    e_j = yield from _error(work, X, rows, par, j)
    y_i, y_j = 1 if rows[i] >= 0 else -1, 1 if rows[j] >= 0 else -1
    c_i, c_j = par[P.C_POS if y_i > 0 else P.C_NEG], par[P.C_POS if y_j > 0 else P.C_NEG]
    a_i, a_j = y_i * work[P.HEAD + i], y_j * work[P.HEAD + j]
    if y_i != y_j:
        low, high = max(0, a_j - a_i), min(c_j, c_i + a_j - a_i)
    else:
        low, high = max(0, a_i + a_j - c_i), min(c_j, a_i + a_j)
    k_ij = _kernel(X, rows, par, i, j)
    k_ii, k_jj = _kernel(X, rows, par, i, i), _kernel(X, rows, par, j, j)
    eta = 2 * k_ij - k_ii - k_jj
    if low >= high or eta >= 0:
        return False
    new_j = min(max(a_j - y_j * (e_i - e_j) / eta, low), high)
    if abs(new_j - a_j) < SMALLEST:
        return False
    new_i = min(max(a_i + y_i * y_j * (a_j - new_j), 0), c_i)
    b = work[P.BIAS]
    d_i, d_j = y_i * (new_i - a_i), y_j * (new_j - a_j)
    b_i = b - e_i - d_i * k_ii - d_j * k_ij
    b_j = b - e_j - d_i * k_ij - d_j * k_jj
    work[P.BIAS] = b_i if 0 < new_i < c_i else b_j if 0 < new_j < c_j else (b_i + b_j) / 2
    work[P.HEAD + i] = y_i * new_i
    work[P.HEAD + j] = y_j * new_j
    return True


def step(work, X, rows, par, count):
    """Visit `count` samples; the iterations of word 1 are passes over all of them."""
    return P.run(step_pieces(work, X, rows, par, count))


def step_pieces(work, X, rows, par, count):
    n = len(rows)
    for _ in range(count):
        i = int(work[_I])
        y = 1 if rows[i] >= 0 else -1
        e = yield from _error(work, X, rows, par, i)
        if e - e != 0:
            return P.NON_FINITE
        a = y * work[P.HEAD + i]
        c = par[P.C_POS if y > 0 else P.C_NEG]
        if (y * e < -par[P.EPS] and a < c) or (y * e > par[P.EPS] and a > 0):
            work[P.GAP] = max(work[P.GAP], abs(e))
            moved = yield from _optimise(work, X, rows, par, i, e)
            work[_CHANGED] += moved
        work[_I] = i + 1
        if i + 1 == n:
            idle = 0 if work[_CHANGED] else work[_IDLE_PASSES] + 1
            done = idle >= IDLE
            work[_I] = work[_CHANGED] = 0
            work[_IDLE_PASSES] = idle
            work[P.N_ITER] += 1
            if done:
                return P.CONVERGED if work[P.GAP] <= par[P.EPS] else P.NO_PROGRESS
            if work[P.N_ITER] >= par[P.MAX_ITER]:
                return P.CAPPED
            work[P.GAP] = 0
    return P.RUNNING
