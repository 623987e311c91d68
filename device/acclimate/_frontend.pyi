# SPDX-License-Identifier: MIT
"""The native module `_frontend` (native_modules/frontend): samples to levels of bands."""

from circuitpython_typing import ReadableBuffer, WriteableBuffer

def run(
    tables: ReadableBuffer,
    state: WriteableBuffer,
    samples: ReadableBuffer,
    out: WriteableBuffer,
    /,
) -> int:
    """0, or which argument does not fit."""
