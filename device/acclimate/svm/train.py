# SPDX-License-Identifier: MIT
"""Training of all pairs of classes, one after the other, over one shared sample store."""

import gc
import struct
from array import array

from acclimate.svm import parameters as P
from acclimate.svm.collect import (
    SAMPLES_AT_ONCE,
    collect,
    compact_pieces,
    trouble,
    unreached,
)
from acclimate.svm.data import check_budget, plain_labels, prepare_pieces
from acclimate.svm.model import (
    CODES,
    KERNELS,
    LINEAR,
    POLY,
    RBF,
    Model,
    core_for,
    has_floats,
    uses_fixed,
)
from acclimate.svm.rows import F32_MAX

_RESTARTS = 3  # most times that the gradient of a pair is computed anew
# Shares of the bearable error between which the gap itself is looked at, gaps that are told, and
# multiplications that are worth it.
_DOUBT = (0.4, 3.0)
_TOLD = 0.018
_MOST_WORK = 1 << 19
_MANY_STEPS = 1024  # of which each rounds the gradient: its sum is looked at, too
_LARGEST = 7  # word of the solver state: the largest kernel value of a row with itself
_FLOAT_STEP = 2.0**-24
_FREE_SHARE = 4  # a kernel cache that nobody asked for takes at most 1/4 of the free heap
# What a step of training may take, as instructions of native code: 50 ms are 2.5 million or
# more on the boards with an FPU and 1.5 million on those without, garbage collection included.
_STEP_INSTRUCTIONS = 900_000


def bytes_needed(n, d, classes=2, gram=None, state=None, **_):
    """Bytes of the solver state (`arena`) for `n` rows; `gram=True` holds the whole matrix.

    With more classes this is the worst case: two classes have all rows but one of each other.
    The rows themselves (2 bytes each for the row numbers, and the features unless `X` is
    used in place) come from the heap.
    """
    given = n, d, classes
    if set(map(type, given)) != {int} or not 32767 >= n >= classes >= 2 or d < 1:
        raise ValueError(
            "n, d, classes: expected 32767 >= n >= classes >= 2, d >= 1, got %s, %s, %s" % given
        )
    most = n - classes + 2
    fixed = uses_fixed(state)
    return 4 * core_for(fixed).work_words(most, not fixed, most if gram else 2)


def _costs(m, counts, classes, names):
    """C of each class, from `class_weight`; `names` are the labels as given, where not numbers."""
    w = m.class_weight
    out = []
    for i in range(len(classes)):
        c = classes[i] if names is None else names[classes[i]]
        f = 1.0
        if w == "balanced":
            f = sum(counts) / (len(classes) * counts[i])
        elif isinstance(w, dict):
            f = w.get(c, 1.0)
        elif w is not None:
            raise ValueError("class_weight: expected a dict, 'balanced' or None, got %r" % (w,))
        if isinstance(f, str) or f is None or not (f > 0 and f - f == 0):
            raise ValueError("class_weight[%s]: expected a number > 0, got %s" % (c, f))
        out.append(m.C * f)
    return out


def learning(m):
    """How a machine trains, for a file: JSON of `tol`, `max_iter` and `class_weight`."""
    import json

    w = m.class_weight
    if isinstance(w, dict):
        w = [(k if isinstance(k, str) else int(k), float(w[k])) for k in w]
    return json.dumps((float(m.tol), m.max_iter, w)).encode()


def learn(m, data):
    """Train as a file says."""
    import json

    try:
        tol, steps, w = json.loads(bytes(data).decode())
        new = type(m)(tol=tol, max_iter=steps)
        m.class_weight = w if w is None or isinstance(w, str) else dict(w)
    except (ValueError, TypeError):
        raise ValueError("model file: expected how it learns, got %s" % bytes(data)) from None
    m.tol, m.max_iter = new.tol, new.max_iter


def _spare_bytes():
    """Bytes that a kernel cache may take when the caller did not say."""
    try:
        from gc import mem_free

        return mem_free() // _FREE_SHARE
    except ImportError:
        return 1 << 26


def check_steps(steps):
    """Refuse what is no number of solver steps in a piece."""
    if not (steps is None or isinstance(steps, int) and 0 < steps < 1 << 30):
        raise ValueError("steps: expected 1..%d, got %r" % ((1 << 30) - 1, steps))


class Job:
    """One training: the pairs that are done, and the solver state of the present one."""

    def __init__(self, m, data, y, warm=None, answer=None):
        x, code, shift, n, d, classes, scaler = data[:7]
        if n > 32767:
            raise ValueError("X: expected at most 32767 rows, got %d" % n)
        self.m = m
        self.tol = m.tol
        self.answer = answer  # what the model makes of its decision values; None: labels 0..254
        self.x = x
        self.y = y
        self.n = n
        self.scaler = scaler
        self.warm = warm
        self.in_place = False  # the store is the caller's buffer
        self.raw = False  # `work` is bytes, as boards cannot see a bytearray as words
        self.fixed = uses_fixed(m.state)
        if self.fixed and code == "f":
            raise ValueError("storage: expected uint8, int8, int16 or None for fixed point")
        self.core = core_for(self.fixed)
        self.n_iter = self.ticks = 0
        self.gap = 0.0
        self.good = True
        self.notes = []  # what the user should know before the model is used
        self.found = []  # the same of each pair, before it is put in words
        self.kind = KERNELS.index(m.kernel_name)
        if isinstance(y, (bytes, bytearray)):  # rows of each class
            self.counts = [bytes(y).count(bytes((c,))) for c in classes]
        else:
            self.counts = [sum(1 for v in y if v == c) for c in classes]
        self.costs = _costs(m, self.counts, classes, getattr(answer, "values", None))
        self.gamma = 1.0
        if self.kind == LINEAR:
            for i in range(len(self.costs)):
                self.costs[i] *= 2.0 ** (-2 * shift)
        else:
            self.gamma = m.gamma and m.gamma * 2.0 ** (-2 * shift)
        self.shape = (classes, d, self.kind, code, shift, scaler is not None, self.fixed)
        self.pairs = []
        self.open = False  # the solver has a state that a model can be made of
        self.used = bytearray(n)
        self.wrong = bytearray(n) if m.budget else None  # rows at their bound, answered wrong
        self._reserve(classes)

    def _reserve(self, classes):
        """Get the solver state for the largest pair, before anything is changed."""
        most = sorted(self.counts)
        n = most[-1] + most[-2]
        core = self.core
        m = self.m
        least = 4 * core.work_words(n, not self.fixed, n if m.gram else 2)
        self.code = "i" if self.fixed else "f"
        if m.arena is not None:
            from acclimate._heap import checked_arena

            arena = checked_arena(m.arena, least)
        if self.warm is None and m._open:  # nothing is refused from here on
            m._open.close()
        size, full = least, 4 * core.work_words(n, not self.fixed, n)
        if m.arena is not None:
            if m.gram is not False:
                size = min(len(arena) & ~3, full)
            self.work = self._typed(arena, size)
            return
        if m.gram is None and full <= _spare_bytes():
            size = full
        try:
            self.work = self._own(size)
        except MemoryError:
            gc.collect()
            size = least  # without the matrix, as the heap is in pieces
            try:
                self.work = self._own(size)
            except MemoryError:
                from acclimate._heap import out_of_memory

                raise out_of_memory(size, "solver state") from None

    def _own(self, size):
        """Solver state of so many bytes from the heap."""
        if hasattr(self.core, "step_pieces"):
            return array(self.code, bytes(size))
        return self._typed(bytearray(size), size)

    def _typed(self, arena, size):
        """`arena` as words; on boards only native code can see a bytearray that way."""
        view = memoryview(arena)[:size]
        if hasattr(view, "cast"):
            return view.cast("B").cast(self.code)
        if hasattr(self.core, "step_pieces"):
            return array(self.code, bytes(size))
        self.raw = True
        return view

    def word(self, k):
        """Word `k` of the solver state."""
        if self.raw:
            return struct.unpack_from("<" + self.code, self.work, 4 * k)[0]
        return self.work[k]

    def words(self, start, end):
        """Words `start` to `end` of the solver state, as numbers."""
        if self.raw:
            return array(self.code, bytes(self.work[4 * start : 4 * end]))
        return self.work[start:end]

    def _set_word(self, k, value):
        if self.raw:
            struct.pack_into("<" + self.code, self.work, 4 * k, value)
        else:
            self.work[k] = value

    def _steps_at_once(self):
        """Solver steps that stay below the limit even if each computes two kernel rows."""
        if hasattr(self.core, "step_pieces"):
            return 8  # its pieces are shorter
        value = (2 if self.kind == RBF else 1) * 8 * self.shape[1] + 40
        return max(1, _STEP_INSTRUCTIONS // (len(self.rows) * (2 * value + 60)))

    def _rows_of(self, i, j):
        """Row numbers of classes number i and j, in pieces: `r` for the first, `~r` else."""
        y = self.y
        a, b = self.shape[0][i], self.shape[0][j]
        rows = array("h", bytes(2 * (self.counts[i] + self.counts[j])))
        k = 0
        for r in range(self.n):
            if y[r] == a or y[r] == b:
                rows[k] = r if y[r] == a else ~r
                k += 1
            if r % SAMPLES_AT_ONCE == SAMPLES_AT_ONCE - 1:
                yield
        return rows

    def _choose_gamma(self):
        """Kernel factor for stored values by scikit-learn's "scale" rule, in pieces."""
        x, d = self.x, self.shape[1]
        if not self.fixed and not hasattr(self.scaler, "apart") and has_floats():
            from acclimate.svm.plain import fitting

            core = fitting()
            if core:  # the same number as of a plain training
                self.gamma = core.gamma(x, CODES.index(self.shape[3]), d)
                return
        count = self.n * d
        # The rule counts how far features lie apart, which the solver does not see.
        apart = self.scaler.apart() if hasattr(self.scaler, "apart") else (0,) * d
        total = square = column = 0
        for at in range(0, count, 4 * SAMPLES_AT_ONCE):
            for v in x[at : at + 4 * SAMPLES_AT_ONCE]:
                v += apart[column]
                total += v
                square += v * v
                column += 1
                if column == d:
                    column = 0
            yield
        mean = total / count
        variance = square / count - mean * mean
        self.gamma = 1.0 / (d * variance) if variance > 0 else 1.0

    def _begin(self, i, j):
        """Start the solver on the pair of classes number i and j, in pieces."""
        classes, d, kind, code = self.shape[:4]
        a, b = classes[i], classes[j]
        self.numbers = i, j
        self.rows = yield from self._rows_of(i, j)
        self.par = par = array(self.code, bytes(4 * P.PAR_COUNT))
        fill = P.fill_fixed if self.fixed else P.fill_float
        m = self.m
        if self.fixed:
            self._check_products(max(self.costs[i], self.costs[j]))
        fill(
            par,
            d,
            CODES.index(code),
            kind,
            self.costs[i],
            self.costs[j],
            self.tol,
            m.max_iter,
            self.gamma,
            m.coef0,
            m.degree,
        )
        if self.warm is not None:
            self._warm_start(a, b)
        yield
        status = yield from self._solver("start", self.work, self.x, self.rows, par)
        if status < 0:
            raise ValueError("kernel, arena: native code refuses them: status %d" % status)
        if status != P.RUNNING:
            self._too_large()
        self.open = True

    def _check_products(self, c):
        """Refuse what float32 does not hold: a board would halve or double it for ever."""
        m, gamma = self.m, self.gamma
        fits = 1e-37 < gamma < F32_MAX
        if fits and self.kind == POLY:
            fits = gamma < F32_MAX ** (1 / m.degree) and abs(m.coef0 / gamma) < F32_MAX
            c *= gamma**m.degree if fits else 1
        if not (fits and c < F32_MAX):
            raise ValueError("C, gamma, coef0: expected products in float32, got others")

    def _warm_start(self, a, b):
        """Put the signed alphas of the former model into the solver state."""
        old = self.warm.get((a, b))
        if old is None:
            return
        self.par[P.WARM] = 1
        for k in range(len(self.rows)):
            r = self.rows[k]
            self._set_word(P.HEAD + k, old.get(r if r >= 0 else ~r, 0))

    def _solver(self, name, *arguments):
        """Call a function of the solver; the one in Python goes in pieces."""
        pieces = getattr(self.core, name + "_pieces", None)
        if pieces is None:
            return getattr(self.core, name)(*arguments)
        return (yield from pieces(*arguments))

    def _too_large(self):
        if self.fixed:
            raise ValueError("C, X: too large for fixed point: use SVM(scale=True), smaller C")
        raise ValueError("X: expected products in float32: use SVM(scale=True)")

    def run(self, steps=None):
        """Generator: train every pair of classes, a bounded piece of work at a time.

        :param int steps: solver steps in a piece, 1 or more; None: as many as 50 ms allow
        """
        k = len(self.shape[0])
        if self.gamma is None:
            yield from self._choose_gamma()
        for i in range(k):
            for j in range(i + 1, k):
                yield from self._begin(i, j)
                yield
                yield from self._end((yield from self._train(steps)))
        if self.found:
            from acclimate.svm.notes import texts  # seldom needed

            self.notes += texts(self.m, self.found, k, self.fixed)

    def _train(self, steps):
        """Steps of the present pair in pieces; the solver's status at the end."""
        at_once = steps or self._steps_at_once()
        solver = self.core
        in_pieces = hasattr(solver, "step_pieces")
        again = 0
        while True:
            if in_pieces:
                status = yield from solver.step_pieces(
                    self.work, self.x, self.rows, self.par, at_once
                )
            else:
                status = solver.step(self.work, self.x, self.rows, self.par, at_once)
            self.ticks += at_once
            yield
            if status == P.CONVERGED and self._drifted(again):
                again += 1
                self.n_iter += int(self.word(P.N_ITER))
                status = yield from self._start_again()
                yield
            if status != P.RUNNING:
                return status

    def _start_again(self):
        """Compute the gradient anew from the coefficients; the solver's status."""
        self.par[P.WARM] = P.GO_ON
        return (yield from self._solver("start", self.work, self.x, self.rows, self.par))

    def _drifted(self, again):
        """True when float32 updates of the gradient may have lost more than the tolerance: it is
        then computed anew from the coefficients, and training goes on from there."""
        if self.fixed or again >= _RESTARTS:
            return False
        steps = self.word(P.N_ITER)
        tol = self.par[P.EPS]
        lost = max(self.par[P.C_POS], self.par[P.C_NEG]) * self.word(_LARGEST) * _FLOAT_STEP
        return steps > (0 if not again else 1) and lost * lost * steps > tol * tol

    def _end(self, status):
        """Take over the result of the present pair, in pieces."""
        lost = self.word(P.N_SUPPORT) == 0 and self.m.tol < 1 and not self.fixed
        if status == P.NON_FINITE or status < 0:
            self._too_large()
        self._take((yield from collect(self)), status)
        if lost:  # float32 does not tell the rows apart: whatever is answered is off
            self.found.append((4, len(self.rows), 1, 1))
        else:
            yield from trouble(self, status)

    def doubted(self, error, bearable, count):
        """`error` of an answer, or in the fixed state, where it comes near what is bearable and
        the work is small, what the KKT gap says about it; in pieces.

        :param int count: support vectors
        """
        least, most = _DOUBT
        near = error > least * bearable or self.word(P.N_ITER) > _MANY_STEPS
        if self.fixed and near and error < most * bearable:
            if len(self.rows) * count * self.shape[1] <= _MOST_WORK:
                gap = yield from true_gap(self)
                return max(gap, error, bearable * 1.01) if gap > _TOLD else 0.0
        return error

    def _take(self, pair, status):
        """Count the present pair as done, all at once: training may be stopped after it."""
        self.pairs.append(pair)
        self.good = self.good and status == P.CONVERGED
        self.n_iter += int(self.word(P.N_ITER))
        self.gap = max(self.gap, self._gap())
        self.open = False

    def _gap(self):
        return self.word(P.GAP) / 65536 if self.fixed else self.word(P.GAP)

    def model(self):
        """The model as far as training has come; training may go on afterwards."""
        out = Model(*self.shape)
        out.answer = self.answer
        out.x = self.x if self.kind != LINEAR or self.m.budget else None
        out.pairs = list(self.pairs)
        k = len(out.classes)
        count = k * (k - 1) // 2
        out.converged = self.good and len(out.pairs) == count
        out.gap = self.gap
        out.n_iter = self.n_iter
        if self.open:
            if hasattr(self.core, "finish"):  # the solver in Python stops inside a step too
                self.core.finish(self.work, self.rows, self.par)
            out.pairs.append(P.run(collect(self)))
            out.gap = max(self.gap, self._gap())
            out.n_iter += int(self.word(P.N_ITER))
        while len(out.pairs) < count:
            out.pairs.append(unreached(self))
        out.n_support = sum(self.used)
        return out

    def result(self):
        """The model at the end of training without rows that nobody needs any more, in pieces."""
        model = self.model()
        if self.m.budget:
            if self.in_place:
                model.x = array(model.code, model.x)
        elif not self.in_place:
            model = yield from compact_pieces(model)
        return model


def start_pieces(m, X, y, make=None, classes=None, centre=True):
    """Check the data in pieces; the last thing yielded is a job that has not touched the model.

    :param make: called with `m`, the data and `y` for the job; None: one that tells labels apart
    :param bytes classes: of the job, where `y` are no labels; None: those of `y`
    :param bool centre: whether a linear kernel's rows may be moved
    """
    answer = None
    if classes is None and not plain_labels(y):
        try:
            from acclimate.svm.labels import encode_pieces

            answer, y = yield from encode_pieces(y)
        except ImportError:
            pass  # refused below, with the label
    data = yield from prepare_pieces(
        X,
        y,
        m.storage,
        m._scale,
        not uses_fixed(m.state),
        centre and m.kernel_name != "poly",
        classes,
    )
    yield
    if m.budget:
        check_budget(m, data[3])
    job = Job(m, data, y, None, answer) if make is None else make(m, data, y)
    job.in_place = job.x is X
    if data[7]:
        job.notes.append(data[7])
    yield job


def true_gap(job):
    """KKT gap of a pair in the fixed state, by kernel values as real numbers, in pieces."""
    par, rows = job.par, job.rows
    n = len(rows)
    alphas = job.words(P.HEAD, P.HEAD + n)
    unit = 2.0 ** -par[P.SCALE]
    top = bottom = None
    done = 0
    for i in range(n):
        positive = rows[i] >= 0
        left = 1.0 if positive else -1.0
        for j in range(n):
            if alphas[j]:
                left -= alphas[j] * unit * _real_value(job, rows[i], rows[j])
                done += job.shape[1]
                if done > SAMPLES_AT_ONCE:
                    done = 0
                    yield
        b = alphas[i]
        if b < (par[P.C_POS] if positive else 0) and (top is None or left > top):
            top = left
        if b > (0 if positive else -par[P.C_NEG]) and (bottom is None or left < bottom):
            bottom = left
    return 0.0 if top is None or bottom is None else top - bottom


def _real_value(job, i, j):
    """Kernel value of two stored rows of the fixed state, not cut to 16 bits."""
    par, x, d = job.par, job.x, job.shape[1]
    i, j = d * (i if i >= 0 else ~i), d * (j if j >= 0 else ~j)
    total = 0
    if job.kind != RBF:
        for k in range(d):
            total += x[i + k] * x[j + k]
        if job.kind == LINEAR:
            return total
        return (total + par[P.COEF0] * 2.0 ** par[P.GAMMA]) ** par[P.DEGREE]
    for k in range(d):
        v = x[i + k] - x[j + k]
        total += v * v
    return 2.0 ** (-total * par[P.GAMMA] * 2.0 ** -par[P.GAMMA_SHIFT])
