# SPDX-License-Identifier: MIT
"""The linear two-class machine for boards with 32 KB of RAM: 2 KB of code beside the solver.

    >>> from acclimate.svm_small import SmallSVM
    >>> m = SmallSVM(C=1.0)
    >>> m.fit(bytearray((0, 1, 2, 7, 8, 9)), bytes((3, 3, 3, 5, 5, 5)))
    True
    >>> m.predict(bytearray((8,)))
    5

Same numbers as ``SVM(state="fixed")``, whose checks of single values, other kernels, files and
scaling it leaves out: samples are flat buffers of whole numbers, which cannot hold a NaN.
"""

from array import array

from acclimate import _native

# Loaded at once: native code needs one free block, which later there may not be.
core = None
for _name in ("svm_linear", "svm_q16"):  # builds with fixed point only, where there are such
    core = core or _native.load(_name)
core = core or _native.load("svm")
native = core is not None
if not native:
    from acclimate import _svm_py as core


class SmallSVM:
    """Linear machine over whole numbers, in fixed point.

    :param float C: penalty of an error, > 0
    :param float tol: optimality gap at which training ends, > 0
    :param int max_iter: cap on solver steps
    :param str items: type code of the samples: ``"b"``, ``"B"`` or ``"h"``
    :param arena: ``bytearray`` for the solver state; native code only
    """

    def __init__(self, C=1.0, tol=1e-3, max_iter=10000, items="B", arena=None):
        if not C > 0 or not tol > 0 or not max_iter > 0:
            raise ValueError("C, tol, max_iter: expected > 0, got %s, %s, %s" % (C, tol, max_iter))
        self.xtype = "bBh".index(items)
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
        self._out = array("i", (0,))

    def bytes_needed(self, n, slots=2):
        """Bytes of solver state for `n` samples; `slots=n` holds the whole kernel matrix."""
        return 4 * core.work_words(n, False, slots)

    def fit(self, X, y):
        """Train to the end; True when converged."""
        for _ in self.fit_steps(X, y):
            pass
        return self.converged

    def fit_steps(self, X, y, steps=8):
        """Generator: check, then `steps` solver steps at a time; yields the status."""
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
        rows = array("h", (r if y[r] == low else ~r for r in range(n)))
        par = array("i", self.par)
        par[0] = d
        status = core.start(work, X, rows, par)
        while status == 0:
            status = core.step(work, X, rows, par, steps)
            yield status
        if status < 0 or status == 3:
            raise ValueError("fit: expected numbers inside the solver's range, status %d" % status)
        w = array("i", bytes(8 + 4 * ((d + 1) // 2)))
        core.collapse(w, work, X, rows, par)
        head = work if isinstance(work, array) else array("i", bytes(work[:20]))
        self.n_iter, self.gap_q16, self.n_support = head[1], head[2], head[4]
        self.converged = status == 1
        self.labels = bytes((low, high))
        self.d = d
        self.w = w

    def predict(self, row):
        """Label of a row, a buffer of the samples' type. Does not allocate on native code."""
        if self.w is None or len(row) != self.d:
            raise ValueError("row: expected a fitted machine and its width, got %d" % len(row))
        core.linear(self._out, 0, self.w, row, self.xtype)
        return self.labels[0 if self._out[0] > 0 else 1]

    def decision(self, row):
        """Decision value; at or above 0 is the higher label."""
        self.predict(row)
        return -self._out[0] / (1 << self.w[0]) if self.w[0] >= 0 else -self._out[0] << -self.w[0]
