# SPDX-License-Identifier: MIT
"""From the solver's state to decision functions and a small sample store, in pieces.

Generators that yield often and return their result; `parameters.run` runs one to its end.
"""

from array import array

from acclimate.svm import parameters as P
from acclimate.svm.model import CODES, LINEAR, POLY, RBF, Model, Pair, integer_weights

_ALONE = 0.01  # what other rows add to a decision, against the row's own weight
# Of a margin, for each kernel: errors from here on make KKT gaps above 0.02.
BEARABLE = (0.0055, 0.0026, 0.0068)
_BEARABLE_FIXED = (0.02, 0.0235, 0.008)
_BEARABLE_POWER = 0.0143  # fixed, from degree 3 on: bits are cut off after each product
_SPREAD = 256  # answers of an RBF machine differ by less than this many errors: they are noise
_FAR = 1 << 30  # no answer is beyond
_LARGEST = 7  # word of the solver state: the largest kernel value of a row with itself
_FLOAT_STEP = 2.0**-24
SAMPLES_AT_ONCE = 64  # samples that Python looks at between two yields


def collect(job):
    """Decision function of the present pair of a training, as far as it is trained."""
    linear = job.kind == LINEAR
    kept = not linear or job.m.budget
    rows = array("h") if kept else None
    beta = array(job.code) if kept else None
    n = len(job.rows)
    for at in range(0, n, SAMPLES_AT_ONCE):
        part = job.words(P.HEAD + at, P.HEAD + min(at + SAMPLES_AT_ONCE, n))
        for b in part:
            if b:
                r = job.rows[at]
                job.used[r if r >= 0 else ~r] = 1
                if kept:
                    rows.append(r)
                    beta.append(b)
            at += 1
        yield
    bias = job.word(P.BIAS)
    if not linear:
        return Pair(rows, beta, bias, job.par)
    w = _weights(job)
    core = job.core
    if hasattr(core, "collapse_pieces"):
        yield from core.collapse_pieces(w, job.work, job.x, job.rows, job.par)
    else:
        core.collapse(w, job.work, job.x, job.rows, job.par)
    yield
    pair = Pair(rows, beta, bias, None, w)
    if not job.fixed and job.shape[3] in "bB":
        yield
        pair.rounded = integer_weights(w, job.shape[1], job.shape[3])
        yield
    return pair


def trouble(job, status):
    """Add what is wrong with the present pair to `job.found`, in pieces."""
    n = len(job.rows)
    rows, wrong = job.rows, job.wrong
    one, square = (65536, 0) if job.fixed else (1.0, 0.0)
    bias = job.word(P.BIAS)
    border, other = one + bias, bias - one  # what is left of y is below it: answered +1
    positive = count = 0
    top = one
    low, high = _FAR, -_FAR
    largest = job.word(_LARGEST)
    unit = 2.0 ** -job.par[P.SCALE] if job.fixed else 1.0
    alone = others = 0.0  # what rows add to their own decisions, and to those of others
    weighted = own = 0.0  # kernel values of rows with themselves, as shares of the largest
    for at in range(0, n, SAMPLES_AT_ONCE):
        end = min(at + SAMPLES_AT_ONCE, n)
        alphas = job.words(P.HEAD + at, P.HEAD + end)
        lefts = job.words(P.HEAD + n + at, P.HEAD + n + end)
        selves = _selves(job, n, at, end)
        top = max(top, max(lefts), -min(lefts))
        for t in range(end - at):
            r = rows[at + t]
            b = alphas[t]
            if job.kind == RBF:
                f = (one if r >= 0 else -one) - lefts[t]
                low = min(low, f)
                high = max(high, f)
                alone += abs(b * unit)  # a row's kernel with itself is 1
                others += abs(f / one - b * unit)
            says = lefts[t] < (border if r >= 0 else other)
            if says:
                positive += 1
            share = abs(selves[t] / largest) if largest else 1.0
            own += share
            if b:
                count += 1
                v = (b * 2.0**-30) ** 2 if job.fixed else b * b
                square += v
                weighted += v * share
                if wrong and says != (r >= 0):
                    wrong[r if r >= 0 else ~r] = 1
        yield
    tell = job.found.append
    if status == P.CAPPED:
        return tell((1, n, 0, 0))
    if job.kind == RBF and n >= 8 and count == n and others < _ALONE * alone:
        return tell((3, n, 0, 0))
    both = 0 < positive < n
    if not both:
        tell((2, n, 0, job.numbers[not positive]))
    bearable = (_BEARABLE_FIXED if job.fixed else BEARABLE)[job.kind]
    weighted *= own / n
    if not job.fixed:
        square = weighted + square / 256  # float32 errs by a share of each kernel value
    elif job.kind == POLY:
        # bits of x.y that are lost before it is multiplied with itself count each time
        cuts = job.m.degree - 1 if job.par[P.K_SHIFT] else 1
        square = (square**0.5 + cuts * weighted**0.5) ** 2
        if job.m.degree > 2:
            bearable = _BEARABLE_POWER
    error = error_of(job, square)
    if both and job.kind == RBF and error * _SPREAD > (high - low) / one:
        return tell((4, n, error, (high - low) / one))
    error = yield from job.doubted(error, bearable, count)
    if not error <= bearable:
        tell((4, n, error, top / one))


def _selves(job, n, start, end):
    """Kernel values of the pair's rows `start` to `end` with themselves."""
    at = P.HEAD + 2 * n
    if job.fixed and not hasattr(job.core, "step_pieces"):  # native code keeps them in 16 bits
        return array("h", bytes(job.words(at + start // 2, at + (end + 1) // 2)))
    return job.words(at + start, at + end)


def error_of(job, square):
    """Error of an answer by those of the kernel values, times the coefficients.

    :param square: sum of the squared coefficients
    """
    par = job.par
    if not job.fixed:
        unit = job.word(_LARGEST) * _FLOAT_STEP
    elif job.kind == LINEAR and par[P.K_SHIFT] == 0:
        return 0.0  # exact
    else:
        unit = 2.0 ** (par[P.K_EXP] - par[P.SCALE] + 30)
    return square**0.5 * unit


def _weights(job):
    """Zeroed weights of one pair."""
    d = job.shape[1]
    return array(job.code, bytes(8 + (4 * ((d + 1) // 2) if job.fixed else 4 * d)))


def unreached(job):
    """A decision function that is zero everywhere, for a pair that was not trained."""
    w = _weights(job) if job.kind == LINEAR else None
    par = array(job.code, bytes(4 * P.PAR_COUNT))
    _, d, kind, code = job.shape[:4]
    for k, value in ((P.N_FEATURES, d), (P.XTYPE, CODES.index(code)), (P.KERNEL, kind)):
        par[k] = value
    par[P.DEGREE] = job.m.degree
    return Pair(array("h"), array(job.code), 0, par, w)


def compact_pieces(model):
    """Leave only the support vectors in the sample store of `model` (a new, smaller store)."""
    if model.x is None:
        return model
    d = model.d
    n = len(model.x) // d
    new = array("h", bytes(2 * n))
    for pair in model.pairs:
        for r in pair.rows:
            new[r if r >= 0 else ~r] = 1
        yield
    count = 0
    x = array(model.code, (0 for _ in range(d * sum(new))))
    for r in range(n):
        if new[r]:
            x[count * d : count * d + d] = array(model.code, model.x[r * d : r * d + d])
            new[r] = count
            count += 1
        if r % SAMPLES_AT_ONCE == SAMPLES_AT_ONCE - 1:
            yield
    small = Model(model.classes, d, model.kind, model.code, model.shift, model.scaled, model.fixed)
    small.x = x
    for pair in model.pairs:
        rows = array("h", (new[r] if r >= 0 else ~new[~r] for r in pair.rows))
        small.pairs.append(Pair(rows, pair.beta, pair.bias, pair.par, pair.w))
        yield
    small.answer, small.sigmoids = model.answer, model.sigmoids
    small.n_iter, small.gap = model.n_iter, model.gap
    small.converged, small.n_support = model.converged, model.n_support
    return small


def compact(model):
    """The same at once."""
    return P.run(compact_pieces(model))
