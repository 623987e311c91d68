# SPDX-License-Identifier: MIT
"""The twin of the native module `_xchacha`: `out/twin/libacclimate_xchacha.so`."""

import ctypes

from . import library


class Twin:
    """The function of the native module over one shared library."""

    def __init__(self, path):
        self._lib = ctypes.CDLL(str(path))

    def unlock(self, buffer, n, key, nonce, ad):
        if len(key) != 32 or len(nonce) != 24:
            raise ValueError("key of 32 bytes, nonce of 24")
        if n < 0 or len(buffer) < n + 16:
            raise ValueError("buffer too short")
        address, _, _keep = library.pointer(buffer)
        parts = bytes(key), bytes(nonce), bytes(ad)
        call = self._lib.xchacha_unlock
        return bool(call(ctypes.c_void_p(address), n, *parts, len(parts[2])))


def load(path=None):
    """The twin, or None when `make twin` has not built it."""
    return library.load(Twin, "xchacha", path)


def register():
    """Let the device package of this process use the twin, when it is built."""
    library.register("xchacha", load())


register()
