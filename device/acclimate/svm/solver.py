# SPDX-License-Identifier: MIT
"""Pure-Python twin of the native module `_svm`: the SMO solver behind `acclimate.svm.machine`.

The same functions with the same arguments exist in the native module and in the host's
C twin, so that `from acclimate.svm import solver as core` can stand in for either:

* `work_words(n, is_float, slots)`: words (4 bytes each) of the solver state
* `start(work, X, rows, par)`: begin a binary problem, cold or warm
* `step(work, X, rows, par, n_iters)`: at most n_iters iterations, returns a status
* `decide(out, pos, beta, rows, X, x, par, bias)`: decision value of one row
* `collapse(w, work, X, rows, par)`, `linear(out, pos, w, x, xtype)`: linear kernel only
* `kernel(out, pos, X, a, x, b, par)`: one kernel value, as the solver sees it
* `vote(out, n_classes)`: one-versus-one votes over decision values

Two states share one layout. In the **fixed** state `par` and `work` are `array("i")`, in the
**float** state `array("f")` (the type of par[0] decides). `X` is flat, row after row.
`rows[k]` is the number of a stored row, `r` for class +1 and `~r` for class -1 (`array("h")`).
The tables of `par`, `work` and `w` are in docs/svm_numerics.md; names are in `parameters`.
Nothing here allocates a buffer. `start_pieces`, `step_pieces` and `collapse_pieces` are the same
as generators that yield every few hundred multiplications, and whenever the model may be used.
"""

from acclimate.svm import fixed, floats
from acclimate.svm import kernels as _k
from acclimate.svm.parameters import (
    BAD_ARGUMENT,
    CAPPED,
    HEAD,
    NON_FINITE,
    RUNNING,
    UNSUPPORTED,
    WORK_TOO_SMALL,
    run,
)
from acclimate.svm.rows import PIECE

_BIG = 1 << 30


def work_words(n, is_float, slots):
    """Words of solver state for n samples and `slots` cached kernel rows (2 or more).

    The bytes are four times that. More slots save kernel evaluations, up to n of them,
    which hold the whole kernel matrix; they never change the result.
    """
    return HEAD + 4 * n + slots * (n + 2)


def start(work, X, rows, par):
    """Begin a binary problem. Returns RUNNING, NON_FINITE or a negative error.

    par[WARM] = 0 starts at zero, 1 keeps the signed alphas found in `work` (clipped to their
    bounds; what is left of their sum is taken back from the larger side).
    """
    return run(start_pieces(work, X, rows, par))


def start_pieces(work, X, rows, par):
    n = len(rows)
    slots = (len(work) - HEAD - 4 * n) // (n + 2)
    classes = 0
    for k in range(n):
        classes |= 2 if rows[k] >= 0 else 1
        if not (k + 1) % PIECE:
            yield
    if classes != 3:
        return BAD_ARGUMENT
    if slots < 2:
        return WORK_TOO_SMALL
    is_float = isinstance(par[0], float)
    if not is_float and par[1] == 3:
        return UNSUPPORTED
    one = 1.0 if is_float else 65536
    yield from _k.prepare(par, X)
    zero = par[0] * 0
    if par[11]:
        _repair(work, rows, par)
    pause = _k.values_at_once(par)
    for k in range(n):
        if not par[11]:
            work[HEAD + k] = zero
        work[HEAD + n + k] = one if rows[k] >= 0 else -one
        r = rows[k] if rows[k] >= 0 else ~rows[k]
        own = _k.value(par, X, r, X, r)
        if not -_k.HUGE < own < _k.HUGE:
            work[0] = zero + NON_FINITE
            return NON_FINITE
        if not (k + 1) % pause:
            yield
        work[HEAD + 2 * n + k] = own
        work[HEAD + 3 * n + k] = -1
    for k in range(slots):
        work[HEAD + 4 * n + 2 * k] = -1
        work[HEAD + 4 * n + 2 * k + 1] = -1
    work[0] = RUNNING
    for k in range(1, HEAD):
        work[k] = zero
    work[5] = zero if par[11] else zero + n
    top = zero
    for k in range(n):
        top = max(top, work[HEAD + 2 * n + k])
        if not (k + 1) % PIECE:
            yield
    work[6] = zero + 131071  # bits that |v| has used so far
    work[7] = top  # largest kernel value
    return RUNNING


def _repair(work, rows, par):
    """Clip warm signed alphas to their bounds and make their sum zero."""
    total = par[0] * 0
    n = len(rows)
    for k in range(n):
        b = work[HEAD + k]
        high = par[4] if rows[k] >= 0 else par[0] * 0
        low = par[0] * 0 if rows[k] >= 0 else -par[5]
        b = high if b > high else b if b > low else low  # a NaN becomes low
        work[HEAD + k] = b
        total += b
    for k in range(n):
        b = work[HEAD + k]
        if total > 0 and b > 0:
            cut = min(b, total)
        elif total < 0 and b < 0:
            cut = max(b, total)
        else:
            continue
        work[HEAD + k] = b - cut
        total -= cut


def step(work, X, rows, par, n_iters):
    """Run at most n_iters iterations (or warm-start rows); returns the status.

    Afterwards work[1..4] hold iterations, gap, bias and number of support vectors: the model
    so far is usable whatever the status is.
    """
    return run(step_pieces(work, X, rows, par, n_iters))


def step_pieces(work, X, rows, par, n_iters):
    if work[0] == RUNNING:
        work[0] = yield from _iterate(work, X, rows, par, n_iters)
        yield
        finish(work, rows, par)
    return int(work[0])


def _iterate(work, X, rows, par, n_iters):
    n = len(rows)
    is_float = isinstance(par[0], float)
    subtracted = floats.subtract if is_float else fixed.subtract
    iterated = floats.iterate if is_float else fixed.iterate
    for _ in range(n_iters):
        k = int(work[5])
        if k < n:  # warm start: subtract one support vector from the gradient
            work[5] += 1
            b = work[HEAD + k]
            if b and not (yield from subtracted(work, X, rows, par, k, b)):
                return NON_FINITE
            continue
        status = yield from iterated(work, X, rows, par)
        if status != RUNNING:
            return status
        work[1] += 1
        if work[1] >= par[12]:
            return CAPPED
    return RUNNING


def finish(work, rows, par):
    """Gap, bias (mean over free vectors, else the middle) and support vector count."""
    n = len(rows)
    is_float = isinstance(par[0], float)
    i, top, bottom = (floats.extremes if is_float else fixed.extremes)(work, rows, par)
    gap = top - bottom
    middle = (top + bottom) * 0.5 if is_float else fixed.half(top + bottom)
    total = par[0] * 0
    free = count = 0
    for k in range(n):
        b = work[HEAD + k]
        if b:
            count += 1
            if (b < par[4]) if rows[k] >= 0 else (b > -par[5]):
                free += 1
                total += work[HEAD + n + k] - middle
    if free and gap < (floats.trusted if is_float else fixed.trusted)(n):
        middle += total / free if is_float else fixed.ratio(total, free)
    work[2] = max(gap, par[0] * 0)
    work[3] = middle
    work[4] = count


def decide(out, pos, beta, rows, X, x, par, bias):
    """out[pos] = bias + sum beta[k] K(X[rows[k]], x); Q16 in the fixed state, clamped.

    An `out` of floats takes the real value. Returns 0, or NON_FINITE.
    """
    n = len(rows)
    total = par[0] * 0
    for k in range(n):
        b = beta[k]
        if b:
            r = rows[k]
            total += b * _k.value(par, X, r if r >= 0 else ~r, x, 0)
    if not isinstance(par[0], float):
        shift = par[6] - 16 - par[15]
        total = total >> shift if shift >= 0 else total << -shift
        total = max(1 - _BIG, min(_BIG - 1, total + bias))
        if isinstance(out[pos], float):
            total *= 2.0**-16
    else:
        total += bias
    out[pos] = total
    return 0 if -_k.HUGE < total < _k.HUGE else NON_FINITE


def collapse(w, work, X, rows, par):
    """Fold a fitted linear machine into one weight row: w = [shift, bias, weights ...].

    Fixed state: `w` is `array("i")` of 2 + (d + 1) // 2 words; the weights are int16 pairs and
    the value of `linear` is the decision times 2 ** shift, below 2 ** 30 for any input row.
    Float state: `w` is `array("f")` of 2 + d words.
    """
    run(collapse_pieces(w, work, X, rows, par))


def collapse_pieces(w, work, X, rows, par):
    of_state = floats.collapse if isinstance(par[0], float) else fixed.collapse
    yield from of_state(w, work, X, rows, par)


def linear(out, pos, w, x, xtype):
    """out[pos] = decision value of row x under collapsed weights (see `collapse`).

    With integer weights and an `out` of floats it is the real value. Returns 0, or NON_FINITE.
    """
    total = w[1] * 0
    n = len(x)
    if isinstance(total, float):
        total = w[1]
        for k in range(n):
            total += w[2 + k] * x[k]
    else:
        for k in range(n):
            pair = w[2 + (k >> 1)]
            weight = pair >> 16 if k & 1 else ((pair & 0xFFFF) ^ 0x8000) - 0x8000
            total += weight * x[k]
        if xtype == 2:  # int16 products are summed in 64 bits, and cut by 8
            total >>= 8
        total += w[1]
        if isinstance(out[pos], float):
            total *= 2.0 ** -w[0]
    out[pos] = total
    return 0 if -_k.HUGE < total < _k.HUGE else NON_FINITE


def kernel(out, pos, X, a, x, b, par):
    """out[pos] = kernel of row a of X and row b of x, scaled as in the solver."""
    out[pos] = _k.value(par, X, a, x, b)


def vote(out, n_classes):
    """Class with most one-versus-one votes; pairs in order 01, 02, .., 12, ..; ties: lowest.

    A decision above zero is a vote for the first class of the pair (as scikit-learn).
    n_classes < 0: only turns the sign of out[0], a float.
    """
    if n_classes < 0:
        out[0] = -out[0]
    best = best_votes = -1
    for c in range(n_classes):
        votes = 0
        pos = 0
        for i in range(n_classes):
            for j in range(i + 1, n_classes):
                if (c == i and out[pos] > 0) or (c == j and not out[pos] > 0):
                    votes += 1
                pos += 1
        if votes > best_votes:
            best = c
            best_votes = votes
    return best
