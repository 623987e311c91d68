# SPDX-License-Identifier: MIT
"""The native module `_svm_linear`: the small linear machine. One name, told apart by arguments."""

from typing import overload

from circuitpython_typing import ReadableBuffer, WriteableBuffer

@overload
def call(w: ReadableBuffer, row: ReadableBuffer, xtype: int, /) -> int:
    """The decision value."""

@overload
def call(
    work: WriteableBuffer,
    X: ReadableBuffer,
    rows: WriteableBuffer,
    par: WriteableBuffer,
    steps: int | None = ...,
    w: WriteableBuffer = ...,
    /,
) -> int:
    """Start; with steps, solve; with None and w, write the fitted machine into w. A status."""
