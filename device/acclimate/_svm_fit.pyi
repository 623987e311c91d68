# SPDX-License-Identifier: MIT
"""The native module `_svm_fit` (native_modules/svm): a whole training, pair after pair."""

from collections.abc import Callable, Sequence

from circuitpython_typing import ReadableBuffer

def gamma(x: ReadableBuffer, xtype: int, d: int, /) -> float: ...
def fit(
    X: ReadableBuffer | Sequence[object],
    y: ReadableBuffer | Sequence[int],
    codes: Sequence[object],
    options: Sequence[object],
    /,
) -> Callable[[], object] | None:
    """A training; each call gives None (call again), False (Python's turn), or the result."""
