# SPDX-License-Identifier: MIT
"""The twin of the native module `_svm`: `out/twin/libacclimate_svm.so`.

Buffers are those of `array`, or writable memoryviews of them.
"""

import ctypes
import sys

from . import library
from .library import pointer


class _Problem(ctypes.Structure):
    _fields_ = [
        ("work", ctypes.c_void_p),
        ("x", ctypes.c_void_p),
        ("rows", ctypes.c_void_p),
        ("par", ctypes.c_void_p),
        ("words", ctypes.c_int32),
        ("x_bytes", ctypes.c_int32),
        ("n", ctypes.c_int32),
        ("is_float", ctypes.c_int32),
        ("is_real", ctypes.c_int32),
        ("private", ctypes.c_int32 * 4),
    ]


class Twin:
    """The functions of the native module `_svm` over one shared library."""

    def __init__(self, path):
        self._lib = ctypes.CDLL(str(path))
        p = ctypes.c_void_p
        i = ctypes.c_int32
        for name, arguments in (
            ("work_words", [i, i, i]),
            ("start", [p]),
            ("step", [p, i]),
            ("decide", [p, p, i, p, p]),
            ("collapse", [p, p, i]),
            ("linear", [p, i, p, i, i, i, p]),
            ("kernel", [p, i, p, i, i, p]),
            ("vote", [p, i]),
        ):
            function = getattr(self._lib, "svm_" + name)
            function.argtypes = arguments
            function.restype = i

    def _problem(self, work, X, rows, par):
        is_float = isinstance(par[0], float)
        keep = [pointer(b) for b in (work, X, rows, par)]
        problem = _Problem(
            *(k[0] for k in keep), keep[0][1] // 4, keep[1][1], keep[2][1] // 2, is_float
        )
        return ctypes.byref(problem), (keep, problem)

    def work_words(self, n, is_float, slots):
        return self._lib.svm_work_words(n, bool(is_float), slots)

    def start(self, work, X, rows, par):
        problem, _keep = self._problem(work, X, rows, par)
        return self._lib.svm_start(problem)

    def step(self, work, X, rows, par, n_iters):
        problem, _keep = self._problem(work, X, rows, par)
        return self._lib.svm_step(problem, n_iters)

    def decide(self, out, pos, beta, rows, X, x, par, bias):
        problem, _keep = self._problem(beta, X, rows, par)
        row, row_bytes, _row = pointer(x)
        problem._obj.is_real = isinstance(out[pos], float)
        number = (ctypes.c_float if isinstance(par[0], float) else ctypes.c_int32)(bias)
        at, _bytes, _out = _word(out, pos)
        return self._lib.svm_decide(problem, row, row_bytes, ctypes.addressof(number), at)

    def collapse(self, w, work, X, rows, par):
        problem, _keep = self._problem(work, X, rows, par)
        at, size, _w = pointer(w)
        return self._lib.svm_collapse(problem, at, size)

    def linear(self, out, pos, w, x, xtype):
        weights, size, _w = pointer(w)
        row, row_bytes, _row = pointer(x)
        at, _bytes, _out = _word(out, pos)
        is_float = isinstance(w[0], float) + 2 * isinstance(out[pos], float)
        return self._lib.svm_linear(weights, size, row, row_bytes, xtype, is_float, at)

    def kernel(self, out, pos, X, a, x, b, par):
        problem, keep = self._problem(par, X, par, par)
        keep[1].n = 0
        row, row_bytes, _row = pointer(x)
        at, _bytes, _out = _word(out, pos)
        return self._lib.svm_kernel(problem, a, row, row_bytes, b, at)

    def vote(self, out, n_classes):
        at, size, _out = pointer(out)
        if n_classes in (0, 1) or size // 4 < n_classes * (n_classes - 1) // 2:
            raise ValueError("out needs n (n - 1) / 2 decisions")
        return self._lib.svm_vote(at, n_classes)


def _word(out, pos):
    address, size, keep = pointer(out)
    if not 0 <= pos < size // 4:
        raise ValueError(f"pos {pos} outside out of {size // 4} words")
    if getattr(out, "typecode", None) not in ("f", "i"):
        raise ValueError("out: expected an array of 'f' or 'i'")
    return address + 4 * pos, 4, keep


def load(path=None):
    """The twin, or None when `make twin` has not built it."""
    return library.load(Twin, "svm", path)


def register():
    """Let the device package of this process train with the twin, when it is built."""
    twin = load()
    library.register("svm", twin)
    model = sys.modules.get("acclimate.svm.model")  # loaded before: it has looked already
    if twin is not None and model is not None:
        model.use(twin)


register()
