# SPDX-License-Identifier: MIT
"""The native modules `_svm` and `_svm_q16` (native_modules/svm): the solver, and decisions.

work, rows and par are `array`s; svm_fit.h has their layout. A status is 0, or what is wrong.
"""

from collections.abc import Callable, Sequence

from circuitpython_typing import ReadableBuffer, WriteableBuffer

def work_words(n: int, is_float: bool, slots: int, /) -> int: ...
def start(
    work: WriteableBuffer, X: ReadableBuffer, rows: WriteableBuffer, par: WriteableBuffer, /
) -> int: ...
def step(
    work: WriteableBuffer,
    X: ReadableBuffer,
    rows: WriteableBuffer,
    par: WriteableBuffer,
    n_iters: int,
    /,
) -> int: ...
def collapse(
    w: WriteableBuffer,
    work: WriteableBuffer,
    X: ReadableBuffer,
    rows: WriteableBuffer,
    par: WriteableBuffer,
    /,
) -> int: ...
def store(
    to: WriteableBuffer, at: int, row: Sequence[float] | ReadableBuffer, d: int, /
) -> bool: ...
def widen(
    low: WriteableBuffer,
    high: WriteableBuffer,
    row: Sequence[float] | ReadableBuffer,
    scratch: WriteableBuffer,
    /,
) -> int:
    """1: whole numbers, 0: not, -1: not looked at. Not in `_svm_q16`."""

def linear(
    out: WriteableBuffer, pos: int, w: ReadableBuffer, x: ReadableBuffer, xtype: int, /
) -> int: ...
def decide(
    out: WriteableBuffer,
    pos: int,
    beta: ReadableBuffer,
    rows: ReadableBuffer,
    X: ReadableBuffer,
    x: ReadableBuffer,
    par: WriteableBuffer,
    bias: float,
    /,
) -> int: ...
def model(
    slow: Callable[..., object], head: Sequence[object], parts: Sequence[object], /
) -> Callable[[ReadableBuffer], int]: ...
def predict_many(
    model: Callable[[ReadableBuffer], int], rows: ReadableBuffer, out: WriteableBuffer, /
) -> int: ...
def vote(decisions: WriteableBuffer, n_classes: int, /) -> int: ...
