# SPDX-License-Identifier: MIT
"""The longest step of training on the emulated boards, in instructions.

A step is what happens between two yields of `fit_steps`. Everything that a training does is in
some step: imports, the look through the data, garbage collections, making the model. The heap
is looked at after every step; what is counted there includes garbage.
"""

import ast
import base64
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from acclimate_host.connect import open_board, package
from bench.svm_board import SHIFT, instructions
from bench.svm_tasks import digits

_TRAIN = """
import gc
import qboard
gc.collect()
before = gc.mem_alloc()
from array import array
from binascii import a2b_base64
T = qboard.ticks
{load}
X = {rows}
with open('/x.bin', 'rb') as f:
    f.readinto(X)
y = {labels}
{then}
m = {make}
{first}
gc.collect()
g = {steps}
longest = 0
count = 1
peak = gc.mem_alloc()
while True:
    t = T()
    try:
        next(g)
    except StopIteration:
        count = -count
    t = (T() - t) & 0x3fffffff
    if t > longest:
        longest = t
        at = abs(count)
    peak = max(peak, gc.mem_alloc())
    if count < 0:
        break
    count += 1
row = X[:{d}]
m.predict(row)
t = T()
m.predict(row)
t = (T() - t) & 0x3fffffff
print([longest, -count, at, peak - before, t])
print(m.converged, m.n_iter)
"""
_SVM = "from acclimate.svm import SVM"
_FIRST = "m.fit(X[: 80 * 64], y[:80])"  # a store that is full
# As little as 32 KB of RAM: big blocks first.
_SMALL = """from acclimate import _native
_native.load("svm_linear")
ARENA = bytearray(1400)"""


@dataclass(frozen=True)
class Case:
    """One training: where, on what, and with which options."""

    name: str
    board: str
    arch: str
    make: str
    x: np.ndarray
    y: np.ndarray
    code: str = "b"
    pure: bool = False
    then: str = ""
    first: str = ""
    steps: str = "m.fit_steps(X, y)"

    @property
    def load(self):
        return _SMALL if "small=True" in self.make else _SVM


def _blobs(n, d, classes, kind):
    """`n` rows of `classes` overlapping clouds: many support vectors, many kernel rows."""
    generator = np.random.default_rng(5)
    centres = generator.normal(0, 30, (classes, d))
    y = np.arange(n) % classes
    x = centres[y] + generator.normal(0, 25, (n, d))
    return (
        (np.clip(np.rint(x), -127, 127).astype(kind), y)
        if kind == np.int8
        else ((x / 30).astype(kind), y)
    )


def cases():
    """Trainings as large as the boards hold them."""
    task = digits()
    n = task.n_train
    x, y = task.x[:n].astype(np.int8), (task.y[:n] > 0).astype(int)
    ten = load_digits()
    x10, y10 = ten.data[:300].astype(np.int8), ten.target[:300]
    wide, wide_y = _blobs(1000, 64, 2, np.int8)
    real, real_y = _blobs(240, 13, 3, np.float32)
    m4f = ("nrf52840", "armv7emsp")
    return [
        Case("m4f", *m4f, "SVM()", x, y),
        Case("m4f_ten_classes", *m4f, "SVM(kernel='rbf', gamma=0.001, C=10)", x10, y10),
        Case("m4f_ten_classes_linear", *m4f, "SVM()", x10, y10),
        Case("m4f_thousand_rows", *m4f, "SVM(C=0.0001)", wide, wide_y),
        Case("m4f_float32_rbf", *m4f, "SVM(kernel='rbf', gamma=0.1)", real, real_y, "f"),
        Case("m4f_python", *m4f, "SVM()", x, y, pure=True),
        Case(
            "m4f_python_rbf",
            *m4f,
            "SVM(kernel='rbf', gamma=0.1)",
            real[:60],
            real_y[:60],
            "f",
            True,
        ),
        Case(
            "m4f_add",
            *m4f,
            "SVM(kernel='rbf', gamma=0.001, C=10, budget=80)",
            x,
            y,
            first=_FIRST,
            steps="m.add_steps(X[80 * 64 : 81 * 64], y[80])",
        ),
        Case(
            "m4f_python_add",
            *m4f,
            "SVM(budget=80)",
            x,
            y,
            pure=True,
            first=_FIRST,
            steps="m.add_steps(X[80 * 64 : 81 * 64], y[80])",
        ),
        Case(
            "m0",
            "samd21",
            "armv6m",
            "SVM(small=True, arena=ARENA)",
            x,
            y,
            "B",
            then="from acclimate.svm import SVM",
        ),
    ]


def _send(board, case):
    """Put the rows and the modules on the board."""
    names = package.build(
        case.arch, only=["svm.small" if case.board == "samd21" else "svm"], pure=case.pure
    )
    if case.pure:
        names.pop("_manifest.mpy", None)
    board.mkdir(board.lib + "/acclimate")
    for name, data in names.items():
        board.put_bytes(data, f"{board.lib}/acclimate/{name}")
    board.put_bytes(np.ascontiguousarray(case.x).tobytes(), "/x.bin")
    board.soft_reset()


def run(case):
    """Instructions of the longest step of one training, and how many steps there were."""
    board = open_board(case.board, icount=SHIFT)
    try:
        _send(board, case)
        count = case.x.size * (4 if case.code == "f" else 1)
        rows = (
            f"bytearray({count})"
            if case.code == "B"
            else (f"array('{case.code}', bytes({count}))")
        )
        labels = base64.b64encode(bytes(case.y.tolist())).decode()
        text = _TRAIN.format(
            load=case.load,
            rows=rows,
            make=case.make,
            then=case.then,
            d=case.x.shape[1],
            first=case.first,
            steps=case.steps,
            labels=f"a2b_base64('{labels}')",
        )
        lines = board.exec(text, 600).splitlines()
        longest, steps, at, peak, predict = ast.literal_eval(lines[0])
        board.soft_reset()  # 32 KB that hold a machine have no room for another question
        return {
            "max_instructions": instructions(board, longest),
            "steps": steps,
            "longest_at": at,
            "peak_heap_bytes": peak,
            "predict_call_instructions": instructions(board, predict),
            "converged": lines[1].split()[0] == "True",
            "iterations": int(lines[1].split()[1]),
        }
    finally:
        board.close()


def measure():
    """All cases: {name: what `run` says}."""
    return {case.name: run(case) for case in cases()}


if __name__ == "__main__":
    import sys

    for case in cases():
        if len(sys.argv) < 2 or case.name in sys.argv[1:]:
            print(case.name, run(case), flush=True)
