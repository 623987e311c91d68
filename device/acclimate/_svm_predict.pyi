# SPDX-License-Identifier: MIT
"""The native module `_svm_predict` (native_modules/svm): answers out of a model file in memory."""

from collections.abc import Callable

from circuitpython_typing import WriteableBuffer

def read(file: WriteableBuffer, at: int = ..., slow: Callable[..., object] = ..., /) -> object:
    """With the file alone: 0, or what is wrong; else the model that answers rows, or that."""
