# SPDX-License-Identifier: MIT
"""The linear two-class machine for boards with 32 KB of RAM: 5 KB of code in all.

    >>> from acclimate.svm.small import SmallSVM
    >>> m = SmallSVM(C=1.0)
    >>> m.fit(bytearray((0, 1, 2, 7, 8, 9)), bytes((3, 3, 3, 5, 5, 5)))
    True
    >>> m.predict(bytearray((8,)))
    5

Same numbers as ``SVM(state="fixed")``, whose checks of single values, other kernels, files and
scaling it leaves out: samples are flat buffers of bytes, which cannot hold a NaN.
"""

from array import array

from acclimate import _native

# Loaded at once: native code needs one free block, which later there may not be.
_native_core = _native.load("svm_linear")
native = _native_core is not None
if native:
    _call = _native_core.call
else:
    from acclimate.svm import solver

    def _call(work, X, rows, par=None, steps=None, w=None):
        """As the native function: by its arguments decide, start, step or collapse."""
        if par is None:
            solver.linear(_value, 0, work, X, rows)
            return _value[0]
        if w is not None:
            return solver.collapse(w, work, X, rows, par)
        if steps is None:
            return solver.start(work, X, rows, par)
        return solver.step(work, X, rows, par, steps)

    _value = array("i", (0,))


class SmallSVM:
    """Linear machine over bytes, in fixed point.

    :param float C: penalty of an error, > 0
    :param float tol: optimality gap at which training ends, > 0
    :param int max_iter: cap on solver steps
    :param str items: type code of the samples: ``"b"`` or ``"B"``
    :param arena: ``bytearray`` for the solver state; native code only
    """

    def __init__(self, C=1.0, tol=1e-3, max_iter=10000, items="B", arena=None):
        if not C > 0 or not tol > 0 or not max_iter > 0:
            raise ValueError("C, tol, max_iter: expected > 0, got %s, %s, %s" % (C, tol, max_iter))
        if items not in ("b", "B"):
            raise ValueError("items: expected 'b' or 'B', got %r" % (items,))
        self.xtype = 1 if items == "B" else 0
        scale = 0
        while C * 2.0**scale < 1 << 29:
            scale += 1
        while C * 2.0**scale >= 1 << 30:
            scale -= 1
        c = int(C * 2.0**scale)
        eps = max(1, min(1 << 29, -int(-tol * 65536 // 1)))
        self.par = array(
            "i", (0, self.xtype, 0, 3, c, c, scale, eps, 0, 0, 0, 0, max_iter, 0, 0, 0)
        )
        self.arena = arena
        self.w = None
        self.n_iter = self.gap_q16 = self.n_support = 0

    def bytes_needed(self, n, slots=2):
        """Bytes of solver state for `n` samples; `slots=n` holds the whole kernel matrix."""
        if not native:
            return 4 * solver.work_words(n, False, slots)
        half = (n + 1) // 2
        return 4 * (8 + 2 * n + half + slots * (half + 1))

    def fit(self, X, y):
        """Train to the end; True when converged."""
        for _ in self.fit_steps(X, y):
            pass
        return self.converged

    def fit_steps(self, X, y, steps=0):
        """Generator: check, then `steps` solver steps at a time (0: few enough to take under
        50 ms in native code); yields the status.
        """
        n = len(y)
        d = len(X) // n if n else 0
        low = min(y) if n else 0
        high = max(y) if n else 0
        if not d or d * n != len(X):
            raise ValueError("X: expected a multiple of %d items, got %d" % (n, len(X)))
        if low == high or any(low < v < high for v in y):
            raise ValueError("y: expected two labels, got %d..%d" % (low, high))
        need = self.bytes_needed(n)
        work = self.arena
        if work is not None and len(work) < need:
            raise MemoryError("arena: expected at least %d bytes, got %d" % (need, len(work)))
        if work is None or not native:  # Python sees words in an array only
            work = array("i", bytes(need))
        steps = steps if steps > 0 else max(1, 60000 // (n * (d + 8)))
        rows = array("h", (r if y[r] == low else ~r for r in range(n)))
        par = array("i", self.par)
        par[0] = d
        status = _call(work, X, rows, par)
        while status == 0:
            status = _call(work, X, rows, par, steps)
            yield status
        if status < 0 or status == 3:
            raise ValueError("fit: expected numbers inside the solver's range, status %d" % status)
        w = array("i", bytes(8 + 4 * ((d + 1) // 2)))
        _call(work, X, rows, par, None, w)
        head = work if isinstance(work, array) else array("i", bytes(work[:20]))
        self.n_iter, self.gap_q16, self.n_support = head[1], head[2], head[4]
        self.converged = status == 1
        self.labels = bytes((low, high))
        self.d = d
        self.w = w

    def predict(self, row):
        """Label of a row, a buffer of the samples' type. Does not allocate on native code."""
        return self.labels[0 if self._decide(row) > 0 else 1]

    def decision(self, row):
        """Decision value; at or above 0 is the higher label."""
        value, shift = self._decide(row), self.w[0]
        return -value / (1 << shift) if shift >= 0 else -value << -shift

    def _decide(self, row):
        if self.w is None or len(row) != self.d:
            raise ValueError("row: expected a fitted machine and its width, got %d" % len(row))
        return _call(self.w, row, self.xtype)
