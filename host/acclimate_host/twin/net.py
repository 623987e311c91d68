# SPDX-License-Identifier: MIT
"""The twin of the native module `_net`: `out/twin/libacclimate_net.so`."""

import ctypes

from . import library
from .library import pointer

PARS = 9


class _Call(ctypes.Structure):
    _fields_ = [
        ("program", ctypes.c_void_p),
        ("input", ctypes.c_void_p),
        ("arena", ctypes.c_void_p),
        ("par", ctypes.c_void_p),
        ("program_bytes", ctypes.c_uint32),
        ("input_bytes", ctypes.c_uint32),
        ("arena_bytes", ctypes.c_uint32),
    ]


class Twin:
    """The functions of the native module over one shared library."""

    def __init__(self, path):
        self._lib = ctypes.CDLL(str(path))
        self._lib.net_run.restype = self._lib.net_run_f32.restype = ctypes.c_int32
        self._run = self._lib.net_run
        self._copies = {}

    def run(self, program, arena, x, par):
        """As `_net.run`: run a part of a program; returns its status."""
        call = _Call()
        call.program, call.program_bytes = self._constant(program)
        if memoryview(x).itemsize > 1:  # numpy's real numbers, whose bytes would be taken
            raise ValueError("x: expected bytes, as of quantize, got wider numbers")
        call.input, call.input_bytes, _x = pointer(x)
        call.arena, call.arena_bytes, _arena = pointer(arena, 4)
        call.par, par_bytes, _par = pointer(par, 4)
        if par_bytes < 4 * PARS:
            raise ValueError("par")
        return self._run(ctypes.byref(call))

    def _constant(self, data):
        """Return (address, bytes) of a program, copied once."""
        if not isinstance(data, bytes):
            data = bytes(data)
        if data not in self._copies:
            if len(self._copies) > 16:
                self._copies.clear()
            self._copies[data] = ctypes.create_string_buffer(data, max(1, len(data)))
        shared = self._copies[data]
        return ctypes.addressof(shared), len(data)


class FloatTwin(Twin):
    """The functions of the native module `_net_f32`."""

    def __init__(self, path):
        super().__init__(path)
        self._run = self._lib.net_run_f32


def load(path=None):
    """The twin, or None when `make twin` has not built it."""
    return library.load(Twin, "net", path)


def register():
    """Let the device package of this process use the twin, when it is built."""
    library.register("net", load())
    library.register("net_rare", load())
    library.register("net_f32", library.load(FloatTwin, "net"))
    library.register("net_f32_rare", library.load(FloatTwin, "net"))


register()
