# SPDX-License-Identifier: MIT
"""The core on the emulated M4F: an RBF decision, and training on rows of every type.

Native functions are called from a program; the same call of an empty problem is taken off.
Training is compared with `bench/native/svm_plain`, a plain C solver of the same method: the same
choice of pairs, the same stopping rule and as many cached kernel rows, without our kernels.
"""

import ast

from acclimate_host.connect import open_board
from acclimate_host.paths import built
from bench import common
from bench.svm_board import SHIFT, instructions

_PROGRAM = """
import gc
import qboard
import _svm
import svm_plain
from array import array
T = qboard.ticks
seed = 7
def draw(n, code, scale, top):
    global seed
    out = array(code, bytes(n * {{'f': 4, 'h': 2}}.get(code, 1)))
    for k in range(n):
        seed = (seed * 16333 + 12345) & 0xffff
        out[k] = (seed >> 8) % top * scale if code == 'f' else (seed >> 8) % top
    return out
def parameters(d, xtype, kernel, C, gamma):
    head = (d, xtype, kernel, 3, C, C, 0, 1e-3, 0, gamma, 0, 0)
    return array('f', head + (10000, 0, 0, 0))
def cost(call, *args):
    call(*args)
    t = T()
    call(*args)
    return (T() - t) & 0x3fffffff
found = {{}}
n, d = 123, 13
X = draw(n * d, 'f', 0.01, 200)
rows = array('h', (k if k % 2 else ~k for k in range(n)))
beta = array('f', (0.5 if k % 2 else -0.5 for k in range(n)))
par = parameters(d, 3, 2, 1.0, 0.1)
out = array('f', (0,))
row = X[5 * d:6 * d]
none = array('h')
full = cost(_svm.decide, out, 0, beta, rows, X, row, par, 0.1)
found['rbf_predict'] = full - cost(_svm.decide, out, 0, beta, none, X, row, par, 0.1)
del X
gc.collect()
def train(xtype, code, kernel, n, d, slots, gamma):
    global seed
    seed = 7
    X = draw(n * d, code, 0.03, 100)
    rows = array('h', bytes(2 * n))
    for k in range(n):
        rows[k] = k if k % 2 else ~k
        if k % 2:
            for j in range(0, d, 3):
                X[k * d + j] += 0.5 if code == 'f' else 20
    par = parameters(d, xtype, kernel, 1.0 if kernel == 2 else 0.0001, gamma)
    work = array('f', bytes(4 * _svm.work_words(n, True, slots)))
    t = T()
    s = _svm.start(work, X, rows, par)
    while s == 0:
        s = _svm.step(work, X, rows, par, 10000)
    t = (T() - t) & 0x3fffffff
    return X, rows, par, work, t, s
for name, case in (
    ('rbf_train', (3, 'f', 2, 120, 13, 24, 0.3)),
    ('int8_train', (0, 'b', 0, 84, 64, 24, 1.0)),
    ('uint8_train', (1, 'B', 0, 84, 64, 24, 1.0)),
):
    X, rows, par, work, t, s = train(*case)
    found[name] = t
    found[name + '_steps'] = int(work[1])
    if name == 'rbf_train':
        other = array('f', work)
        t = T()
        steps = svm_plain.train(other, X, rows, par, case[5])
        found['rbf_train_plain'] = (T() - t) & 0x3fffffff
        found['rbf_train_plain_steps'] = steps
        most = max(abs(work[8 + k] - other[8 + k]) for k in range(120))
        found['rbf_train_differs'] = most
    del X, work
    gc.collect()
print(found)
"""


def measure(name="nrf52840", arch="armv7emsp"):
    """Instructions of one decision and of trainings; `rbf_train_ratio`: ours against plain C."""
    board = open_board(name, icount=SHIFT)
    try:
        board.put_bytes(built("native", arch, "_svm.mpy").read_bytes(), "_svm.mpy")
        board.put_bytes(common.build_module("svm_plain", arch).read_bytes(), "svm_plain.mpy")
        board.soft_reset()
        found = ast.literal_eval(board.exec(_PROGRAM.format(), 300).splitlines()[-1])
        counts = {
            key: value if key.endswith(("steps", "differs")) else instructions(board, value)
            for key, value in found.items()
        }
    finally:
        board.close()
    counts["rbf_train_ratio"] = counts["rbf_train"] / counts["rbf_train_plain"]
    counts["uint8_ratio"] = counts["uint8_train"] / counts["int8_train"]
    return {key: {"m4f": value} for key, value in counts.items()}


if __name__ == "__main__":
    import json

    print(json.dumps(measure(), indent=1))
