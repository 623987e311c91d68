# SPDX-License-Identifier: MIT
"""``SVM(small=True)`` for boards with 32 KB of RAM: what `SVM` is where only this file is.

    >>> from acclimate.svm.small import SVM
    >>> m = SVM(C=1.0)
    >>> m.fit(bytearray((0, 1, 2, 7, 8, 9)), bytes((3, 3, 3, 5, 5, 5))).converged
    True
    >>> m.predict(bytearray((8,)))
    5

Linear, two classes, fixed point, flat buffers of bytes, which cannot hold a NaN. The numbers, the
file and the errors are those of the large machine's ``SVM(small=True)``; files and reports are
imported when they are first used.
"""

from array import array

from acclimate import _native

# Loaded at once: native code needs one free block, which later there may not be.
native = _native.load("svm_linear")
if native and _native._reasons == {"svm_linear": "loaded"}:
    _native._forget("_native")  # 0.9 KB, of a heap of 22: whoever needs it next reads it again
del _native
if native:
    _call = native.call
else:

    def _call(work, X, rows, par=None, steps=None, w=None):
        """As the native function: by its arguments decide, start, step or collapse."""
        if not isinstance(X, (list, tuple)) and len(bytes(memoryview(X)[:1])) > 1:
            raise ValueError("expected bytes")
        if par is None:
            return _decision(work, X)
        from acclimate.svm import solver  # a heap that cannot train may still predict

        if w is not None:
            return solver.collapse(w, work, X, rows, par)
        if steps is None:
            return solver.start(work, X, rows, par)
        return solver.step(work, X, rows, par, steps)

    def _decision(w, x):
        """As `solver.linear` of integer weights and bytes."""
        total = w[1]
        for k in range(len(x)):
            pair = w[2 + (k >> 1)]
            total += x[k] * (pair >> 16 if k & 1 else ((pair & 0xFFFF) ^ 0x8000) - 0x8000)
        return total


class SVM:
    """Linear machine over bytes, in fixed point.

    :param float C: penalty of an error, > 0
    :param float tol: optimality gap at which training ends, > 0
    :param int max_iter: cap on solver steps
    :param str storage: ``"uint8"`` or ``"int8"``
    :param arena: ``bytearray`` of at least `bytes_needed` bytes; native code only
    :param bool small: True: this machine; there is no other in this file
    """

    def __init__(self, C=1.0, tol=1e-3, max_iter=10000, storage="uint8", arena=None, small=True):
        for name, value in (("C", C), ("tol", tol), ("max_iter", max_iter)):
            try:
                good = value > 0 and value - value == 0  # of infinity there is no half
                good = good and (name != "max_iter" or value <= 1 << 30)
            except TypeError:
                good = False
            if not good:
                raise ValueError("%s: expected a number > 0, got %s" % (name, value))
        if storage not in ("uint8", "int8") or not small:
            raise ValueError(
                "storage, small: expected uint8 or int8, and True, got %s, %s" % (storage, small)
            )
        self.C = C
        self.tol = tol
        self.max_iter = int(max_iter)
        self.xtype = 1 if storage == "uint8" else 0
        self.arena = arena
        self.w = self.labels = self.warning = None
        self.n_iter = self.n_support = 0
        self.gap = 0.0
        self.converged = False

    def _fits(self, name, data):
        """Refuse numbers that bytes of the storage's type do not hold."""
        kind, low = type(data), -128
        if self.xtype:
            if kind is bytearray or kind is bytes:
                return
            low = 0
        for v in data:  # min() and max() would allocate
            if isinstance(v, str) or v is None or v < low or v > low + 255:
                raise ValueError("%s: expected %d..%d, got %s" % (name, low, low + 255, v))

    def _parameters(self, d):
        scale = 0
        while self.C * 2.0**scale < 1 << 29:
            scale += 1
        while self.C * 2.0**scale >= 1 << 30:
            scale -= 1
        c = int(self.C * 2.0**scale)
        eps = max(1, min(1 << 29, -int(-self.tol * 65536 // 1)))
        return array(
            "i", (d, self.xtype, 0, 3, c, c, scale, eps, 0, 0, 0, 0, self.max_iter, 0, 0, 0)
        )

    @staticmethod
    def bytes_needed(n, d=1, gram=False):
        """Bytes of `arena` for `n` samples; `gram`: with the whole kernel matrix."""
        slots = n if gram else 2
        if not native:
            from acclimate.svm import solver

            return 4 * solver.work_words(n, False, slots)
        half = (n + 1) // 2
        return 4 * (8 + 2 * n + half + slots * (half + 1))

    def fit(self, X, y):
        """Train to the end and return the machine."""
        for _ in self.fit_steps(X, y):
            pass
        return self

    def fit_steps(self, X, y, steps=0):
        """Generator: check, then `steps` solver steps at a time (0: few enough to take under
        50 ms in native code); yields how many it has offered. The model changes at the end.
        """
        try:
            n = len(y)
            d = len(X) // n if n else 0
            low = min(y) + 0 if n else 0  # a text is no label here
            high = max(y) + 0 if n else 0
        except TypeError:
            raise ValueError("X, y: expected flat buffers, got others") from None
        if not isinstance(steps, (int, type(None))):
            raise ValueError("steps: expected a whole number, got %r" % (steps,))
        if not d or d * n != len(X) or isinstance(X, list):
            raise ValueError("X, y: expected flat buffers of whole rows, got %d, %d" % (len(X), n))
        self._fits("X", X)
        if low == high or any(low < v < high for v in y):
            raise ValueError("y: expected 2 classes, got %d..%d" % (low, high))
        need = self.bytes_needed(n)
        work = self.arena
        try:
            short = work is not None and len(work) < need
        except TypeError:
            raise ValueError("arena: expected a bytearray, got " + repr(work)[:40]) from None
        if short:
            raise MemoryError("arena: expected at least %d bytes, got %d" % (need, len(work)))
        if work is None or not native:  # Python sees words in an array only
            work = array("i", bytes(need))
        steps = steps if steps and steps > 0 else max(1, 60000 // (n * (d + 8)))
        rows = array("h", (r if y[r] == low else ~r for r in range(n)))
        par = self._parameters(d)
        status = _call(work, X, rows, par)
        done = 0
        while status == 0:
            status = _call(work, X, rows, par, steps)
            done += steps
            yield done
        if status < 0 or status == 3:
            raise ValueError("C, X: too large for fixed point: smaller C, status %d" % status)
        w = array("i", bytes(8 + 4 * ((d + 1) // 2)))
        _call(work, X, rows, par, None, w)
        head = work if isinstance(work, array) else array("i", bytes(work[:20]))
        self.n_iter, self.n_support, self.bias = head[1], head[4], head[3]
        self.gap = head[2] / 65536
        self.converged = status == 1
        self.warning = None if status != 4 else "max_iter: stopped: lower C or raise max_iter"
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
        if self.w is None:
            raise ValueError("SVM: expected a fitted model, got none: call fit first")
        try:
            if len(row) != self.d:
                raise ValueError("row: expected %d features, got %d" % (self.d, len(row)))
            if not native:
                self._fits("row", row)
            return _call(self.w, row, self.xtype)
        except ValueError:  # numbers that the type does not hold: native code names none
            self._fits("row", row)
            raise
        except TypeError:
            raise ValueError("row: expected bytes, got " + repr(row)[:40]) from None

    def save(self, path):
        """Write the fitted machine to a file; the old one stays until the new one is whole."""
        from acclimate.svm.small_file import save

        save(self, path)

    def evaluate(self, X, y):
        """Share of the rows of a flat buffer whose label is predicted right, 0..1."""
        from acclimate.svm.small_report import evaluate

        return evaluate(self, X, y)

    def report(self, X, y):
        """Text with rows and recall of each label."""
        from acclimate.svm.small_report import report

        return report(self, X, y)

    @staticmethod
    def load(path):
        """Read a machine from a file; `ValueError` when it is damaged or another kind of SVM."""
        from acclimate.svm.small_file import load

        return load(SVM, path)
