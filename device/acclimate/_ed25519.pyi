# SPDX-License-Identifier: MIT
"""The native module `_ed25519` (native_modules/ed25519): signatures (RFC 8032)."""

from circuitpython_typing import ReadableBuffer

def verify(data: ReadableBuffer, n: int, keys: ReadableBuffer, at: int, /) -> bool:
    """Whether the 64 bytes after the first n sign them, for the key at `at`."""

def is_key(keys: ReadableBuffer, at: int, /) -> bool:
    """Whether the 32 bytes at `at` are a canonical key that is not of small order."""
