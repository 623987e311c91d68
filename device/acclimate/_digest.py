# SPDX-License-Identifier: MIT
"""SHA-256 and HMAC-SHA-256 by the fastest means that the firmware has.

The native module, else hashlib, else pure Python, with the same results. With the native
module nothing is allocated after construction.
"""

from acclimate import _native


class Hasher:
    """One hash at a time: reset(), update(buffer, n) as often as wanted, into(out)."""

    def __init__(self):
        self._core = _native.load("codec")
        self._block = bytearray(64)
        self._hash = None
        self.piece = 1024 if self._core else 64  # what ``part`` is best given at once
        if self._core:
            self._state = bytearray(self._core.SHA_BYTES)
        else:
            try:
                from hashlib import sha256
            except ImportError:
                from acclimate._sha256 import sha256
            self._make = sha256

    def reset(self):
        if self._core:
            self._core.sha_start(self._state)
        else:
            self._hash = self._make()

    def update(self, buffer, n):
        """Take the first n bytes of the buffer."""
        if self._core:
            self._core.sha_update(self._state, buffer, n)
        else:
            self._hash.update(buffer if n == len(buffer) else bytes(buffer[:n]))

    def part(self, data, at, n):
        """Take n bytes of a buffer from at on; with the native module nothing is copied."""
        if self._core:
            self._core.sha_part(self._state, data, at, n)
        else:
            self._hash.update(data[at : at + n])

    def into(self, out):
        """Write the digest to out, a bytearray of 32."""
        if self._core:
            self._core.sha_finish(self._state, out)
        else:
            digest = self._hash.digest()
            for i in range(32):
                out[i] = digest[i]
            self._hash = None

    def hmac(self, key, message, n, out):
        """Write HMAC-SHA-256 of the first n bytes of message to out; key has 16 to 64 bytes."""
        self._keyed(key, 0x36)
        self.update(message, n)
        self.into(out)
        self._keyed(key, 0x5C)
        self.update(out, 32)
        self.into(out)

    def _keyed(self, key, pad):
        block, size = self._block, len(key)
        for i in range(64):
            block[i] = (key[i] if i < size else 0) ^ pad
        self.reset()
        self.update(block, 64)
        for i in range(64):
            block[i] = 0


def same_digest(a, a_at, b, n):
    """Compare n bytes of a from a_at on with b, all of them whatever they are."""
    differ = 0
    for i in range(n):
        differ |= a[a_at + i] ^ b[i]
    return differ == 0
