# SPDX-License-Identifier: MIT
"""The longest piece of work between two yields of `fit_steps`, in instructions on the board."""

import ast

from acclimate_host.connect import open_board
from acclimate_host.connect.install import install
from bench.svm_board import SHIFT, instructions

_FULL = """
import gc
import qboard
from array import array
from acclimate.svm import SVM
import acclimate.svm_data, acclimate.svm_model, acclimate.svm_train
n, d, k = {n}, {d}, {classes}
X = array('b', bytes(n * d))
seed = 7
for i in range(n * d):
    seed = (seed * 1103515 + 12345) & 0x3fffffff
    X[i] = (seed >> 12) % 100
y = bytearray(n)
for i in range(n):
    y[i] = i % k
    X[i * d + y[i]] += 20
machine = SVM(kernel='{kernel}', C=1)
"""
_SMALL = """
import gc
import qboard
from acclimate import _native
_native.load('svm_linear')
n, d = 84, 64
X = bytearray(n * d)
arena = bytearray(1400)
seed = 7
for i in range(n * d):
    seed = (seed * 1103 + 12345) & 0xffff
    X[i] = (seed >> 8) & 15
y = bytearray(n)
for i in range(n):
    y[i] = i & 1
    X[i * d + y[i]] += 6
from acclimate.svm_small import SmallSVM
machine = SmallSVM(arena=arena)
"""
_STEPS = """
T = qboard.ticks
gc.collect()
steps = machine.fit_steps(X, y)
longest = count = 0
while True:
    t = T()
    more = next(steps, None)
    t = (T() - t) & 0x3fffffff
    longest = max(longest, t)
    count += 1
    if more is None:
        break
print([longest, count])
"""


def longest_step(name, **case):
    """{instructions of the longest step (garbage collection included), number of steps}."""
    with open_board(name, icount=SHIFT) as board:
        install(board, only=["svm" if case else "svm_small"], yes=True)
        board.soft_reset()
        board.exec(_FULL.format(**case) if case else _SMALL, 60)
        longest, count = ast.literal_eval(board.exec(_STEPS, 300))
        return {"instructions": instructions(board, longest), "steps": count}
