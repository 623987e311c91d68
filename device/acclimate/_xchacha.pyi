# SPDX-License-Identifier: MIT
"""The native module `_xchacha` (native_modules/xchacha): XChaCha20-Poly1305."""

from circuitpython_typing import ReadableBuffer, WriteableBuffer

def unlock(
    data: WriteableBuffer,
    n: int,
    key: ReadableBuffer,
    nonce: ReadableBuffer,
    ad: ReadableBuffer,
    /,
) -> bool:
    """Decrypt the first n bytes in place; their tag is the 16 bytes behind them."""
