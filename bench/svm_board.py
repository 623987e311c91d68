# SPDX-License-Identifier: MIT
"""Train, predict and run Algorithm 1 on an emulated board; instructions and bytes.

Rows and row numbers are written to the board's raw flash first, and copied to RAM by the
scripts, so that the heap holds what a real program would hold and no more.
"""

import ast
import inspect
from pathlib import Path

import numpy as np

from acclimate.svm.model import _nearest, integer_weights
from acclimate_host.connect import open_board, raw_flash

SHIFT = 10

_SETUP = """
import gc
import qboard
gc.collect()
m0 = gc.mem_alloc()
import {module} as core
from array import array
gc.collect()
m1 = gc.mem_alloc()
{functions}
T = qboard.ticks
raw = memoryview(qboard.Flash({start}, 65536))
X = array('b', raw[:{x_bytes}])
rows = array('h', bytes(raw[{x_bytes}:{x_bytes} + 2 * {n}]))
par = array('{type}', {par})
w = array('{type}', [0] * (2 + ({d} if {is_float} else ({d} + 1) // 2)))
out = array('{type}', [0])
work = bytearray(4 * {words})
"""
_TRAIN = """
e = T()
e = T() - e
t = T()
s = start(work, X, rows, par)
while s == 0:
    s = step(work, X, rows, par, 100000)
t = (T() - t - e) & 0x3fffffff
gc.collect()
size = len(work) + 4 * len(par) + len(X) + 2 * len(rows)
head = array('{type}', bytes(work[:8]))
i = int(head[1])
del head
# Again, without collections: all that is ever allocated adds up, and the native code between
# two looks allocates nothing.
gc.collect()
gc.disable()
h = gc.mem_alloc()
s2 = start(work, X, rows, par)
h = max(h, gc.mem_alloc())
while s2 == 0:
    s2 = step(work, X, rows, par, 8)
    h = max(h, gc.mem_alloc())
gc.enable()
print([t, s, i, size, m1 - m0, h - m0])
"""
_DECIDE = """
collapse(w, work, X, rows, par)
if {is_float}:
    w = integer_weights(w, {d})
    out = array('i', [0])
row = array('b', bytes({d}))
none = array('b')
b = []
for k in range({n}, {total}):
    row[:] = array('b', raw[{test_at} + (k - {n}) * {d}:{test_at} + (k - {n} + 1) * {d}])
    linear(out, 0, w, row, 0)
    b.append(1 if out[0] > 0 else -1)
def cost(w, r):
    linear(out, 0, w, r, 0)
    t = T()
    linear(out, 0, w, r, 0)
    return T() - t
print([cost(w, row), cost(array('i', [0, 0]), none), b])
"""
_ALGORITHM_1 = """
import qboard
import svm_ref
from array import array
T = qboard.ticks
raw = memoryview(qboard.Flash({start}, 65536))
x = raw[:{x_bytes}]
y = array('b', bytes(raw[{x_bytes}:{x_bytes} + {n}]))
alpha = array('f', [0.0] * {n})
s = array('f', (0.0, {c}, 1e-7))
seed = array('I', [1])
still = passes = total = 0
last = 0
while still < 10 and passes < 4000:
    t = T()
    k = svm_ref.one_pass(x, y, alpha, s, seed)
    last = ((T() - t) & 0x3fffffff) // 16
    total += last
    still = 0 if k else still + 1
    passes += 1
print([total, last, passes])
"""


_FUNCTIONS = """
start, step, collapse, linear = core.start, core.step, core.collapse, core.linear
"""
_ONE_FUNCTION = """
start = step = core.call
def collapse(w, *rest):
    core.call(*rest, None, w)
def linear(out, pos, w, row, xtype):
    out[pos] = core.call(w, row, xtype)
"""


def instructions(board, ticks):
    """Instructions behind a number of ticks of the board's clock."""
    return round(ticks * 1e9 / board.ticks()[1] / (1 << SHIFT))


def _open(name, blob, native, module):
    """Board with `blob` in its raw flash and the native module in its filesystem."""
    board = open_board(name, icount=SHIFT)
    board.put_bytes(Path(native).read_bytes(), module + ".mpy")
    raw_flash.write(board, name, blob)
    board.soft_reset()
    return board


def train(name, task, native, module, is_float, slots):
    """Train on the board; dict with instructions, status, iterations, bytes and decisions."""
    n = task.n_train
    x = np.ascontiguousarray(task.x[:n], np.int8).tobytes()
    blob = x + task.rows().tobytes()
    test_at = len(blob)
    blob += np.ascontiguousarray(task.x[n:], np.int8).tobytes()
    words = f"core.work_words({n}, {is_float}, {slots})"
    if module == "_svm_linear":
        half = (n + 1) // 2
        words = 8 + 2 * n + half + slots * (half + 1)
    names = {
        "functions": _ONE_FUNCTION if module == "_svm_linear" else _FUNCTIONS,
        "words": words,
        "module": module,
        "start": raw_flash.START[name],
        "x_bytes": len(x),
        "n": n,
        "d": task.d,
        "type": "f" if is_float else "i",
        "is_float": is_float,
        "par": list(task.par(is_float)),
        "total": len(task.x),
        "test_at": test_at,
    }
    board = _open(name, blob, native, module)
    try:
        board.exec(_SETUP.format(**names))
        answer = ast.literal_eval(board.exec(_TRAIN.format(**names), 120))
        ticks, status, iterations, data_bytes, code_bytes, peak_bytes = answer
        if is_float:  # what a program does once, so that decisions are integer from then on
            source = inspect.getsource(_nearest) + "\n\n" + inspect.getsource(integer_weights)
            board.exec("from math import floor\n" + source)
        row, none, decisions = ast.literal_eval(board.exec(_DECIDE.format(**names), 60))
        return {
            "instructions": instructions(board, ticks),
            "status": status,
            "iterations": iterations,
            "data_bytes": data_bytes,
            "code_heap_bytes": code_bytes,
            "peak_heap_bytes": peak_bytes,
            "predict": instructions(board, row) - instructions(board, none),
            "agree": float(
                np.mean(np.array(decisions) == task.reference().predict(task.x[n:] / task.scale))
            ),
        }
    finally:
        board.close()


def algorithm_1(name, task, native):
    """Instructions of Algorithm 1 with 10 idle passes, and of one idle pass."""
    n = task.n_train
    x = np.ascontiguousarray(task.x[:n] / task.scale, np.float32).tobytes()
    blob = x + task.y[:n].astype(np.int8).tobytes()
    names = {"start": raw_flash.START[name], "x_bytes": len(x), "n": n, "c": 1.0}
    board = _open(name, blob, native, "svm_ref")
    try:
        answer = ast.literal_eval(board.exec(_ALGORITHM_1.format(**names), 400))
        total, idle, passes = answer
        return {
            "instructions_10": instructions(board, total * 16),
            "instructions_idle_pass": instructions(board, idle * 16),
            "passes": passes,
        }
    finally:
        board.close()
