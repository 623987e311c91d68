# SPDX-License-Identifier: MIT
"""The C core of `native_modules/net` in CPython: `out/twin/libacclimate_net.so`.

`load(path=None)` gives an object with the functions of the native module `_net`, or None when
the library was not built; importing this module registers it for the device package.
"""

import ctypes

from acclimate_host.paths import built

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


def _whole(buffer, keep, align=1):
    """Return (address, bytes) of a buffer; one that cannot be shared is copied into `keep`."""
    view = memoryview(buffer).cast("B")
    if view.readonly:
        shared = ctypes.create_string_buffer(view.tobytes(), max(1, view.nbytes))
    else:
        shared = (ctypes.c_uint8 * view.nbytes).from_buffer(view)
    keep.append(shared)
    address = ctypes.addressof(shared)
    if address % align:
        raise ValueError(f"buffer begins at {address:#x}; it must be a multiple of {align}")
    return address, view.nbytes


class Twin:
    """The functions of the native module over one shared library."""

    def __init__(self, path):
        self._lib = ctypes.CDLL(str(path))
        self._lib.net_run.restype = self._lib.net_run_f32.restype = ctypes.c_int32
        self._run = self._lib.net_run
        self._copies = {}

    def run(self, program, arena, x, par):
        """As `_net.run`: run a part of a program; returns its status."""
        keep, call = [], _Call()
        call.program, call.program_bytes = self._constant(program)
        call.input, call.input_bytes = _whole(x, keep)
        call.arena, call.arena_bytes = _whole(arena, keep, 4)
        call.par, par_bytes = _whole(par, keep, 4)
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
    path = path or built("twin", "libacclimate_net.so")
    return Twin(path) if path.exists() else None


def register():
    """Let the device package of this process use the twin, when it is built."""
    from acclimate import _native

    twin = load()
    if twin is not None:
        _native.register("net", twin)
        _native.register("net_f32", FloatTwin(built("twin", "libacclimate_net.so")))


register()
