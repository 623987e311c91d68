# SPDX-License-Identifier: MIT
"""The front door on the emulated M4F: instructions of `predict`, `predict_many`, `fit`.

Each call is counted warm: made once before, and less the same loop without it.
"""

import ast

import numpy as np
from sklearn.datasets import load_iris

from acclimate_host.connect import open_board, package
from bench.svm_board import SHIFT, instructions
from bench.svm_tasks import digits

_PROGRAM = """
import gc
import qboard
from array import array
T = qboard.ticks
with open('/x.bin', 'rb') as f:
    X = array('b', f.read())
with open('/iris.bin', 'rb') as f:
    I = array('b', f.read())
y = bytes({labels})
yi = bytes({iris})
def cost(call, *args):
    gc.collect()
    call(*args)
    gc.collect()
    t = T()
    call(*args)
    t = (T() - t) & 0x3fffffff
    e = T()
    nothing(*args)
    return t - ((T() - e) & 0x3fffffff)
def nothing(*args):
    pass
t = T()
from acclimate.svm import SVM
m = SVM()
m.fit(X, y)
out = {{'first_fit': (T() - t) & 0x3fffffff}}
row = X[:64]
real = array('f', row)
items = list(row)
labels = bytearray(len(y))
def call(predict, row):
    return predict(row)
def one(row):
    t = T()
    m.predict(row)
    t = T() - t
    e = T()
    e = T() - e
    return t - e
for name, r in (('predict', row), ('predict_list', items), ('predict_float', real)):
    one(r)
    out[name] = one(r)
out['predict_many'] = cost(m.predict_many, X, labels)
out['fit.digits_int8'] = cost(m.fit, X, y)
out['fit.iris'] = cost(SVM().fit, I, yi)
F = array('f', X)
out['fit.digits_float32'] = cost(SVM(storage='float32').fit, F, y)
del F
gc.collect()
L = [list(X[64 * i : 64 * i + 64]) for i in range(len(y))]
out['fit.digits_list'] = cost(SVM().fit, L, y)
print(out)
"""


def measure(name="nrf52840", arch="armv7emsp"):
    """{key: instructions} of the calls; `predict_many` is a row's."""
    task = digits()
    n = task.n_train
    iris = load_iris()
    rows = np.rint(iris.data[:100] * 10).astype(np.int8)
    board = open_board(name, icount=SHIFT)
    try:
        board.mkdir(board.lib + "/acclimate")
        for path, data in package.build(arch, only=["svm"]).items():
            board.put_bytes(data, f"{board.lib}/acclimate/{path}")
        board.put_bytes(np.ascontiguousarray(task.x[:n], np.int8).tobytes(), "/x.bin")
        board.put_bytes(rows.tobytes(), "/iris.bin")
        board.soft_reset()
        text = _PROGRAM.format(
            labels=(task.y[:n] > 0).astype(int).tolist(), iris=iris.target[:100].tolist()
        )
        ticks = ast.literal_eval(board.exec(text, 600).splitlines()[-1])
        counts = {key: instructions(board, count) for key, count in ticks.items()}
    finally:
        board.close()
    found = {}
    for key, count in counts.items():
        count //= n if key == "predict_many" else 1
        at = found
        *path, last = key.split(".")
        for part in path:
            at = at.setdefault(part, {})
        at[last] = {"m4f": count}
    return found


if __name__ == "__main__":
    import json

    from bench.common import write

    result = measure()
    print(json.dumps(result, indent=1))
    print(write("svm_api", result))
