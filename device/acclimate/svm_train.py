# SPDX-License-Identifier: MIT
"""Training of all pairs of classes, one after the other, over one shared sample store."""

import struct
from array import array

from acclimate import _svm_par as P
from acclimate import svm_data, svm_model
from acclimate.svm_model import LINEAR, Model, Pair, uses_fixed

_STEP_INSTRUCTIONS = 1000000  # of native code, roughly: 50 ms on a slow board hold more
_FREE_SHARE = 4  # a kernel cache that nobody asked for takes at most 1/4 of the free heap


def bytes_needed(n, d, classes=2, gram=None, state=None, **_):
    """Bytes of the solver state (`arena`) for `n` rows; `gram=True` holds the whole matrix.

    With more classes this is the worst case: two classes have all rows but one of each other.
    The rows themselves (2 bytes each for the row numbers, and the features unless `X` is
    used in place) come from the heap.
    """
    if n < classes or d < 1 or classes < 2:
        raise ValueError("n, d, classes: expected n >= classes >= 2, d >= 1, got %d, %d, %d"
                         % (n, d, classes))  # fmt: skip
    most = n - classes + 2
    fixed = uses_fixed(state)
    return 4 * svm_model.core_for(fixed).work_words(most, not fixed, most if gram else 2)


def gamma(m, x, count, d, shift):
    """Generator; returns the kernel factor for stored values; None: scikit-learn's "scale"."""
    if m.gamma is not None:
        return m.gamma * 2.0 ** (-2 * shift)
    total = square = 0
    for i in range(count):
        v = x[i]
        total += v
        square += v * v
        if i & 511 == 511:
            yield 0
    variance = square / count - (total / count) ** 2
    return 1.0 / (d * variance) if variance > 0 else 1.0


def _costs(m, y, classes):
    """C of each class, from `class_weight`."""
    w = m.class_weight
    out = []
    for c in classes:
        f = 1.0
        if w == "balanced":
            f = len(y) / (len(classes) * sum(1 for v in y if v == c))
        elif w is not None:
            f = w.get(c, 1.0)
        if not (f > 0 and f - f == 0):
            raise ValueError("class_weight[%d]: expected a number > 0, got %s" % (c, f))
        out.append(m.C * f)
    return out


def _spare_bytes():
    """Bytes that a kernel cache may take when the caller did not say."""
    try:
        from gc import mem_free

        return mem_free() // _FREE_SHARE
    except ImportError:
        return 1 << 26


class Job:
    """One training: the pairs that are done, and the solver state of the present one."""

    def __init__(self, m, data, y, gamma=None, warm=None):
        x, code, shift, n, d, classes, scaler = data[:7]
        if n > 32767:
            raise ValueError("X: expected at most 32767 rows, got %d" % n)
        self.m = m
        self.x = x
        self.y = y
        self.n = n
        self.scaler = scaler
        self.warm = warm
        self.in_place = False  # the store is the caller's buffer
        self.fixed = uses_fixed(m.state)
        self.core = svm_model.core_for(self.fixed)
        self.pure = getattr(self.core, "__name__", "").endswith("_py")
        self.solver = self.core
        if m.solver == "algorithm1":
            self._reference()
        self.n_iter = self.ticks = 0
        self.gap = 0.0
        self.good = True
        self.kind = ("linear", "poly", "rbf").index(m.kernel_name)
        self.costs = _costs(m, y, classes)
        if self.kind == LINEAR:
            self.gamma = 1.0
            for i in range(len(self.costs)):
                self.costs[i] *= 2.0 ** (-2 * shift)
        else:
            self.gamma = gamma
        self.shape = (classes, d, self.kind, code, shift, scaler is not None, self.fixed)
        self.pairs = []
        self.at = (0, 1)
        self.open = False
        self.status = P.RUNNING
        self.used = bytearray(n)
        self._reserve(classes)

    def _reference(self):
        """Train by the paper's algorithm, which is in Python and float only."""
        if self.fixed and self.m.state is not None:
            raise ValueError("solver: expected smo for the fixed state, got algorithm1")
        from acclimate import svm_algorithm1

        self.fixed = False
        self.core = svm_model._python_core()
        self.pure = True
        self.solver = svm_algorithm1

    def _reserve(self, classes):
        """Get the solver state for the largest pair, before anything is changed."""
        counts = sorted([sum(1 for v in self.y if v == c) for c in classes])
        n = counts[-1] + counts[-2]
        core = self.core
        m = self.m
        least = 4 * core.work_words(n, not self.fixed, n if m.gram else 2)
        self.code = "i" if self.fixed else "f"
        if m.arena is not None:
            if len(m.arena) < least:
                raise MemoryError(
                    "arena: expected at least %d bytes, got %d" % (least, len(m.arena))
                )
            size = len(m.arena) & ~3
            full = 4 * core.work_words(n, not self.fixed, n)
            if m.gram is False:
                size = least
            self.work = self._typed(m.arena, min(size, max(full, least)))
            return
        size = least
        if m.gram is None:
            full = 4 * core.work_words(n, not self.fixed, n)
            if full <= _spare_bytes():
                size = full
        if self.pure:
            self.work = array(self.code, bytes(size))
        else:
            self.work = self._typed(bytearray(size), size)

    def _typed(self, arena, size):
        """`arena` as words; on boards only native code can see a bytearray that way."""
        view = memoryview(arena)[:size]
        if hasattr(view, "cast"):
            return view.cast("B").cast(self.code)
        if self.pure:
            return array(self.code, bytes(size))
        return view

    def word(self, k):
        """Word `k` of the solver state."""
        if isinstance(self.work, memoryview) and not hasattr(self.work, "cast"):
            return struct.unpack_from("<" + self.code, self.work, 4 * k)[0]
        return self.work[k]

    def _words(self, at, count):
        """A copy of `count` words of the solver state."""
        work = self.work
        if isinstance(work, memoryview) and not hasattr(work, "cast"):
            return array(self.code, bytes(work[4 * at : 4 * (at + count)]))
        return work[at : at + count]

    def _set_word(self, k, value):
        if isinstance(self.work, memoryview) and not hasattr(self.work, "cast"):
            struct.pack_into("<" + self.code, self.work, 4 * k, value)
        else:
            self.work[k] = value

    def _begin(self):
        """Start the solver on the present pair."""
        i, j = self.at
        classes, d, kind, code = self.shape[:4]
        a, b = classes[i], classes[j]
        y = self.y
        rows = array("h", (0 for v in y if v == a or v == b))
        k = 0
        for r in range(self.n):
            if y[r] == a or y[r] == b:
                rows[k] = r if y[r] == a else ~r
                k += 1
        self.rows = rows
        self.par = par = array(self.code, bytes(4 * P.PAR_COUNT))
        fill = P.fill_fixed if self.fixed else P.fill_float
        m = self.m
        fill(
            par, d, svm_model.CODES.index(code), kind, self.costs[i], self.costs[j],
            m.tol, m.max_iter, self.gamma, m.coef0, m.degree,
        )  # fmt: skip
        if self.warm is not None:
            self._warm_start(a, b)
        status = self.solver.start(self.work, self.x, rows, par)
        if status == P.UNSUPPORTED:
            raise ValueError("kernel: expected one that this native module has, got another")
        if status < 0:
            raise ValueError("fit: expected the solver to start, got status %d" % status)
        self.open = True
        self.count = self._steps_at_once()

    def _warm_start(self, a, b):
        """Put the signed alphas of the former model into the solver state."""
        old = self.warm.get((a, b))
        if old is None:
            return
        self.par[P.WARM] = 1
        for k in range(len(self.rows)):
            r = self.rows[k]
            self._set_word(P.HEAD + k, old.get(r if r >= 0 else ~r, 0))

    def step(self, count=None):
        """Do one short piece of work, or `count` solver steps; True when all pairs are trained."""
        self.ticks += 1
        if not self.open:
            self._begin()
            self.status = P.RUNNING
        elif self.status != P.RUNNING:
            return self._end_pair()
        else:
            count = count or self.count
            self.status = self.solver.step(self.work, self.x, self.rows, self.par, count)
            self.ticks += count - 1
        return False

    def _steps_at_once(self):
        """Solver steps that stay inside a short time: each may fill two kernel rows."""
        d = self.shape[1]
        row = 100 + (14 if self.shape[3] in "bB" else 30) * d
        if self.kind != LINEAR:
            row += 400 + 10 * d
        if self.pure or self.solver is not self.core:
            row = 1000 * (d + 6)
        return min(64, max(1, _STEP_INSTRUCTIONS // (len(self.rows) * row)))

    def _end_pair(self):
        status = self.status
        lost = self.word(P.N_SUPPORT if self.solver is self.core else P.N_ITER) == 0
        if status == P.NON_FINITE or status < 0 or (lost and self.m.tol < 1):
            if self.fixed:
                raise ValueError("C, X: too large for fixed point: use SVM(scale=True), smaller C")
            raise ValueError("X: expected products inside float32: use SVM(scale=True)")
        self.pairs.append(self._pair())
        self.good = self.good and status == P.CONVERGED
        self.n_iter += int(self.word(P.N_ITER))
        self.gap = max(self.gap, self._gap())
        self.open = False
        i, j = self.at
        k = len(self.shape[0])
        self.at = (i, j + 1) if j + 1 < k else (i + 1, i + 2)
        return self.at[1] >= k

    def _gap(self):
        return self.word(P.GAP) / 65536 if self.fixed else self.word(P.GAP)

    def _pair(self):
        """Decision function of the present pair, as far as it is trained."""
        d = self.shape[1]
        rows = array("h")
        beta = array(self.code)
        known = self._words(P.HEAD, len(self.rows))
        for k in range(len(self.rows)):
            b = known[k]
            if b:
                r = self.rows[k]
                self.used[r if r >= 0 else ~r] = 1
                rows.append(r)
                beta.append(b)
        bias = self.word(P.BIAS)
        if self.kind != LINEAR:
            return Pair(rows, beta, bias, self.par)
        w = array(self.code, bytes(8 + (4 * ((d + 1) // 2) if self.fixed else 4 * d)))
        self.core.collapse(w, self.work, self.x, self.rows, self.par)
        if not self.m.budget:
            rows = beta = None
        return Pair(rows, beta, bias, None, w)

    def model(self):
        """The model as far as training has come; training may go on afterwards."""
        out = Model(*self.shape)
        out.x = self.x if self.kind != LINEAR or self.m.budget else None
        out.pairs = list(self.pairs)
        k = len(out.classes)
        count = k * (k - 1) // 2
        out.converged = self.good and len(out.pairs) == count
        out.gap = self.gap
        if self.open:
            out.pairs.append(self._pair())
            out.gap = max(self.gap, self._gap())
        if len(out.pairs) < count:
            self._fill_up(out, count)
        out.n_iter = self.n_iter + (int(self.word(P.N_ITER)) if self.open else 0)
        out.n_support = sum(self.used)
        return out

    def result(self):
        """Generator; returns the model, without rows that nobody needs any more."""
        model = self.model()
        if self.m.budget:
            if self.in_place:
                model.x = array(model.code, model.x)
            return model
        return model if self.in_place else (yield from compact(model))

    def _fill_up(self, out, count):
        """Fill the pairs that were not reached with functions that are zero everywhere."""
        size = 8 + (4 * ((out.d + 1) // 2) if self.fixed else 4 * out.d)
        while len(out.pairs) < count:
            w = array(self.code, bytes(size)) if self.kind == LINEAR else None
            par = array(self.code, bytes(4 * P.PAR_COUNT))
            out.pairs.append(Pair(array("h"), array(self.code), 0, par, w))


def compact(model):
    """Generator; returns `model` with a store of its own that holds the support vectors only."""
    if model.x is None:
        return model
    d = model.d
    n = len(model.x) // d
    new = array("h", bytes(2 * n))
    for pair in model.pairs:
        for r in pair.rows:
            new[r if r >= 0 else ~r] = 1
        yield 0
    count = 0
    x = array(model.code, bytes(d * sum(new) * {"f": 4, "h": 2}.get(model.code, 1)))
    for r in range(n):
        if new[r]:
            x[count * d : count * d + d] = array(model.code, model.x[r * d : r * d + d])
            new[r] = count
            count += 1
        if r & 63 == 63:
            yield 0
    small = Model(model.classes, d, model.kind, model.code, model.shift, model.scaled, model.fixed)
    small.x = x
    for pair in model.pairs:
        yield 0
        rows = array("h", (new[r] if r >= 0 else ~new[~r] for r in pair.rows))
        small.pairs.append(Pair(rows, pair.beta, pair.bias, pair.par, pair.w))
    small.n_iter, small.gap = model.n_iter, model.gap
    small.converged, small.n_support = model.converged, model.n_support
    return small


def start(m, X, y):
    """Generator that checks the data; returns a job that has not yet touched the model."""
    data = yield from svm_data.prepare(X, y, m.storage, m._scale, not uses_fixed(m.state))
    warning = data[7]
    if m.budget:
        from acclimate.svm_budget import check_budget

        check_budget(m, data[3])
    factor = None
    if m.kernel_name != "linear":
        factor = yield from gamma(m, data[0], data[3] * data[4], data[4], data[2])
    job = Job(m, data, y, factor)
    job.in_place = job.x is X
    if warning and not m.warning:
        m.warning = warning
        print("SVM:", warning)
    return job


def end(steps):
    """Run a generator to its end; return what it returns."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value
