# SPDX-License-Identifier: MIT
"""The smallest solver's C core in CPython, and proof that it has the numbers of the full one."""

import ctypes
from array import array

from acclimate.svm import parameters as p
from acclimate.svm import solver as _svm_py


class _Buffers(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p * 4), ("bytes", ctypes.c_int32 * 4)]


def _held(buffer):
    view = memoryview(buffer)
    return (ctypes.c_char * view.nbytes).from_buffer(view)


class LinearCore:
    """``call`` of the native module `_svm_linear` over a shared library."""

    def __init__(self, path):
        library = ctypes.CDLL(str(path))
        self._run, self._decide = library.lin_run, library.lin_decide
        self._run.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32]
        self._decide.argtypes = [ctypes.c_void_p, ctypes.c_int32] * 2 + [ctypes.c_int32]

    def call(self, *args):
        if len(args) == 3:
            w, row = _held(args[0]), _held(args[1])
            weights = ctypes.addressof(w) + 8
            return self._decide(weights, len(w) - 8, row, len(row), args[2])
        held = [_held(a) for a in args[:4]]
        buffers = _Buffers(
            (ctypes.c_void_p * 4)(*(ctypes.addressof(h) for h in held)),
            (ctypes.c_int32 * 4)(*(len(h) for h in held)),
        )
        w = _held(args[5]) if len(args) == 6 else None
        steps = args[4] if len(args) == 5 else -1
        return self._run(ctypes.byref(buffers), steps, w, len(w) if w else 0)


def words(n, slots):
    half = (n + 1) // 2
    return 8 + 2 * n + half + slots * (half + 1)


def compare(core, random):
    """Train one random problem with the core and in Python; every bit must agree."""
    unsigned = random.getrandbits(1)
    low, high = (0, 255) if unsigned else (-128, 127)
    n, d = random.randint(2, 16), random.randint(1, 9)
    span = random.choice([1, 7, high])
    draw = [random.randint(max(low, -span), min(high, span)) for _ in range(n * d)]
    if random.random() < 0.3:  # the same row twice
        draw[-d:] = draw[:d]
    x = array("B" if unsigned else "b", draw)
    rows = array("h", [k if k % 2 else ~k for k in range(n)])
    par = array("i", [0] * p.PAR_COUNT)
    c = random.choice([1e-6, 0.01, 1.0, 1000.0])
    cap = random.choice([1, 5, 400])
    p.fill_fixed(par, d, unsigned, p.LINEAR, c, c, 1e-3, cap, 1.0, 0.0, 3)
    other = array("i", par)
    pure = array("i", [0] * _svm_py.work_words(n, False, n))
    work = array("i", [0] * words(n, random.choice([2, 3, n])))
    status = _svm_py.start(pure, x, rows, par)
    assert core.call(work, x, rows, other) == status == p.RUNNING
    while status == p.RUNNING:
        status = _svm_py.step(pure, x, rows, par, 7)
    mine = p.RUNNING
    while mine == p.RUNNING:
        mine = core.call(work, x, rows, other, random.choice([1, 3, 50]))
    case = (list(x), list(rows), d, unsigned, c, cap)
    end = p.HEAD + 2 * n
    assert mine == status and other[p.K_SHIFT] == par[p.K_SHIFT], case
    assert work[:5] == pure[:5] and work[p.HEAD : end] == pure[p.HEAD : end], case
    theirs, ours = (array("i", [7] * (2 + (d + 1) // 2)) for _ in range(2))
    _svm_py.collapse(theirs, pure, x, rows, par)
    core.call(work, x, rows, other, None, ours)
    assert ours == theirs, case
    row, out = x[:d], array("i", [0])
    _svm_py.linear(out, 0, theirs, row, unsigned)
    assert core.call(ours, row, unsigned) == out[0], case
