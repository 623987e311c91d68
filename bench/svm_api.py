# SPDX-License-Identifier: MIT
"""The front door on the emulated boards: instructions of `predict`, `fit`, `WindowFeatures.into`.

Each call is counted warm: made once before, and less the same loop without it. On the Cortex-M
boards QEMU's instruction clock counts, on the ESP32 a plugin of QEMU (`bench/esp32_count.py`).
The 32 KB board (`m0`) has what runs there: a machine that only predicts, a linear one over 64
bytes, and `SVM(small=True)`, which trains on the iris.
"""

import ast
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from acclimate.svm import SVM
from acclimate_host.connect import open_board, package
from acclimate_host.connect.install import install
from bench import esp32_count
from bench.svm_board import SHIFT
from bench.svm_tasks import digits

_PROGRAM = """
import gc
import qboard
from array import array
marks = [0] * 64
names = [None] * 16
count = 0
def T():
    global count
    marks[count] = qboard.ticks()
    count += 1
with open('/x.bin', 'rb') as f:
    X = array('b', f.read())
with open('/iris.bin', 'rb') as f:
    I = array('b', f.read())
y = bytes({labels})
yi = bytes({iris})
def nothing(*args):
    pass
def cost(name, call, *args):
    gc.collect()
    call(*args)
    gc.collect()
    T()
    call(*args)
    T()
    T()
    nothing(*args)
    T()
    names[count // 4 - 1] = name
T()
from acclimate.svm import SVM
m = SVM()
m.fit(X, y)
T()
T()
T()
names[0] = 'first_fit'
row = X[:64]
real = array('f', row)
items = list(row)
labels = bytearray(len(y))
def one(name, row):
    T()
    m.predict(row)
    T()
    T()
    T()
    names[count // 4 - 1] = name
for name, r in (('predict', row), ('predict_list', items), ('predict_float', real)):
    m.predict(r)
    one(name, r)
cost('predict_many', m.predict_many, X, labels)
cost('fit.digits_int8', m.fit, X, y)
cost('fit.iris', SVM().fit, I, yi)
F = array('f', X)
cost('fit.digits_float32', SVM(storage='float32').fit, F, y)
del F
gc.collect()
L = [list(X[64 * i : 64 * i + 64]) for i in range(len(y))]
cost('fit.digits_list', SVM().fit, L, y)
from acclimate.features import WindowFeatures
del L
gc.collect()
window = array('h', ((k * 7919) % 20011 - 10000 for k in range(6 * 64)))
f = WindowFeatures(6, 64)
cost('features', f.into, window, array('b', bytes(f.width)))
print([names[: count // 4], marks[:count]])
"""


_PREDICTING = """
import gc
import qboard
from array import array
marks = [0] * 16
with open('/x.bin', 'rb') as f:
    X = array('b', f.read())
from acclimate.svm import SVM
m = SVM.load('/m.svm')
labels = bytearray({count})
row = X[:64]
items = list(row)
def nothing(*args):
    pass
real = array('f', row)
names = ['predict', 'predict_list', 'predict_float', 'predict_many']
calls = tuple((m.predict, (r,)) for r in (row, items, real)) + ((m.predict_many, (X, labels)),)
k = 0
for call, args in calls:
    call(*args)
    gc.collect()
    for one in (call, nothing):
        marks[k] = qboard.ticks()
        for _ in range({repeat}):
            one(*args)
        marks[k + 1] = qboard.ticks()
        k += 2
print([names, marks])
"""
_SMALL = """
import gc
import qboard
from array import array
with open('/iris.bin', 'rb') as f:
    I = array('b', f.read())
y = bytes({labels})
from acclimate.svm import SVM
m = SVM(small=True, storage='int8')
m.fit(I, y)
gc.collect()
a = qboard.ticks()
for _ in range({repeat}):
    m.fit(I, y)
print([['fit.iris'], [a, qboard.ticks(), 0, 0]])
"""
_ROWS = 40  # of digits, for `predict_many` in 32 KB
_REPEAT = 16  # calls on that board, whose clock is coarse


def _iris():
    iris = load_iris()
    return np.rint(iris.data[:100] * 10).astype(np.int8), iris.target[:100].tolist()


def _m0():
    task = digits()
    x, y = np.ascontiguousarray(task.x[:120], np.int8), (task.y[:120] > 0).astype(int).tolist()
    machine = SVM(state="fixed", storage="int8").fit([row.tolist() for row in x], y)
    rows, labels = _iris()
    names, marks = [], []
    for only, files, text in (
        (
            package.PREDICT,
            {"x.bin": x[:_ROWS].tobytes()},
            _PREDICTING.format(count=_ROWS, repeat=_REPEAT),
        ),
        (
            ["svm.small"],
            {"iris.bin": rows.tobytes()},
            _SMALL.format(labels=labels, repeat=_REPEAT),
        ),
    ):
        board = open_board("samd21", icount=SHIFT)
        try:
            install(board, only, yes=True)
            with tempfile.TemporaryDirectory() as folder:
                machine.save(str(Path(folder, "m.svm")))
                files["m.svm"] = Path(folder, "m.svm").read_bytes()
            for name, data in files.items():
                board.put_bytes(data, board.root.rstrip("/") + "/" + name)
            board.soft_reset()
            found = ast.literal_eval(board.exec(text, 600).splitlines()[-1])
            hz = board.ticks()[1]
            names += found[0]
            marks += found[1]
        finally:
            board.close()
    return names, marks, lambda ticks: board.instructions(ticks, hz) // _REPEAT


def _run(board, arch):
    """Names of what was counted and the clock's values: four for each name."""
    task = digits()
    n = task.n_train
    rows, labels = _iris()
    board.mkdir(board.lib + "/acclimate")
    for path, data in package.build(arch, only=["svm", "svm.plain", "features"]).items():
        board.put_bytes(data, f"{board.lib}/acclimate/{path}")
    board.put_bytes(np.ascontiguousarray(task.x[:n], np.int8).tobytes(), "/x.bin")
    board.put_bytes(rows.tobytes(), "/iris.bin")
    board.soft_reset()
    text = _PROGRAM.format(labels=(task.y[:n] > 0).astype(int).tolist(), iris=labels)
    return ast.literal_eval(board.exec(text, 600).splitlines()[-1])


def _m4f():
    board = open_board("nrf52840", icount=SHIFT)
    try:
        names, marks = _run(board, "armv7emsp")
        hz = board.ticks()[1]
        return names, marks, lambda ticks: board.instructions(ticks, hz)
    finally:
        board.close()


def _esp32():
    with esp32_count.Counted() as counted:
        names, marks = _run(counted.board, "xtensawin")
        return names, counted.counts()[-len(marks) :], lambda count: count


def measure():
    """{key: {board: instructions}} of the calls; `predict_many` is a row's."""
    found = {}
    boards = {"m4f": _m4f, "m0": _m0}
    reason = esp32_count.missing()
    if reason:
        print("left out:", reason)
    else:
        boards["esp32"] = _esp32
    for board, run in boards.items():
        names, marks, count = run()
        for k, name in enumerate(names):
            start, end, start_of_none, end_of_none = marks[4 * k : 4 * k + 4]
            value = count(end - start) - count(end_of_none - start_of_none)
            many = _ROWS if board == "m0" else digits().n_train
            value //= many if name == "predict_many" else 1
            at = found
            *path, last = name.split(".")
            for part in path:
                at = at.setdefault(part, {})
            at.setdefault(last, {})[board] = value
    return found


if __name__ == "__main__":
    import json

    from bench.common import write

    result = measure()
    print(json.dumps(result, indent=1))
    print(write("svm_api", result))
