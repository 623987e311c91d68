# SPDX-License-Identifier: MIT
"""The twin of the native module `_frontend`: `out/twin/libacclimate_frontend.so`."""

import ctypes

from . import library


class _Bytes(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("bytes", ctypes.c_int32)]


class Twin:
    """The function of the native module over one shared library."""

    def __init__(self, path):
        self._lib = ctypes.CDLL(str(path))

    def run(self, tables, state, samples, out):
        kept = [library.pointer(buffer) for buffer in (tables, state, samples, out)]
        (t, t_bytes), (s, s_bytes), (x, x_bytes), (y, y_bytes) = (part[:2] for part in kept)
        return self._lib.frontend_run(
            _Bytes(t, t_bytes),
            ctypes.c_void_p(s),
            ctypes.c_int32(s_bytes),
            _Bytes(x, x_bytes),
            ctypes.c_void_p(y),
            ctypes.c_int32(y_bytes),
        )


def load(path=None):
    """The twin, or None when `make twin` has not built it."""
    return library.load(Twin, "frontend", path)


def register():
    """Let the device package of this process use the twin, when it is built."""
    library.register("frontend", load())


register()
