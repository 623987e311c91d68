# SPDX-License-Identifier: MIT
"""The twin of the native module `_ed25519`: `out/twin/libacclimate_ed25519.so`."""

import ctypes

from . import library


class Twin:
    """The functions of the native module over one shared library."""

    def __init__(self, path):
        self._lib = ctypes.CDLL(str(path))

    def verify(self, data, n, keys, at):
        data = bytes(data)
        key = _part(keys, at, 32)
        return bool(self._lib.ed25519_verify(_part(data, n, 64), key, data[:n], n))

    def is_key(self, keys, at):
        return bool(self._lib.ed25519_is_key(_part(keys, at, 32)))


def _part(data, at, size):
    part = bytes(data[at : at + size]) if at >= 0 else b""
    if len(part) != size:
        raise ValueError("buffer too short")
    return part


def load(path=None):
    """The twin, or None when `make twin` has not built it."""
    return library.load(Twin, "ed25519", path)


def register():
    """Let the device package of this process use the twin, when it is built."""
    library.register("ed25519", load())


register()
