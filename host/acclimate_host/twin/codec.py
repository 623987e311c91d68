# SPDX-License-Identifier: MIT
"""The twin of the native module `_codec`: `out/twin/libacclimate_codec.so`."""

import ctypes

from acclimate.store.rangecoder import _CHANCES as CHANCES
from acclimate.store.rangecoder import _HEAD_BYTES as HEAD_BYTES

from . import library


class _Sha(ctypes.Structure):
    _fields_ = [
        ("h", ctypes.c_uint32 * 8),
        ("w", ctypes.c_uint32 * 16),
        ("bytes", ctypes.c_uint32),
    ]


class _RangeCoder(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint32),
        ("range", ctypes.c_uint32),
        ("near", ctypes.c_uint16),
        ("last", ctypes.c_uint8),
        ("lane", ctypes.c_uint8),
        ("has_lanes", ctypes.c_uint8),
        ("chance", ctypes.c_uint16 * CHANCES),
    ]


def _writable(buffer, size):
    if len(buffer) * memoryview(buffer).itemsize < size:
        raise ValueError("buffer too short")
    return (ctypes.c_uint8 * size).from_buffer(buffer)


def _readable(buffer, size):
    view = memoryview(buffer)
    if not 0 <= size <= view.nbytes:  # as the native module: a negative size reads anywhere
        raise ValueError("buffer too short")
    if view.readonly or not view.contiguous:
        return ctypes.create_string_buffer(view.tobytes(), max(1, view.nbytes))
    return (ctypes.c_uint8 * view.nbytes).from_buffer(view)


class Twin:
    """The functions of the native module over one shared library."""

    SHA_BYTES = ctypes.sizeof(_Sha)
    RC_BYTES = ctypes.sizeof(_RangeCoder)

    def __init__(self, path):
        self._lib = ctypes.CDLL(str(path))
        self._lib.rc_block.restype = self._lib.rc_head.restype = ctypes.c_uint32

    def sha_start(self, state):
        self._lib.sha256_start(_writable(state, self.SHA_BYTES))

    def sha_update(self, state, data, n):
        self._lib.sha256_update(_writable(state, self.SHA_BYTES), _readable(data, n), n)

    def sha_part(self, state, data, at, n):
        part = memoryview(data)[at : at + n]
        if len(part) != n:
            raise ValueError("buffer too short")
        self.sha_update(state, part, n)

    def sha_finish(self, state, out):
        self._lib.sha256_finish(_writable(state, self.SHA_BYTES), _writable(out, 32))

    def window(self, window, out, channels, samples, how):
        kinds = how >> 4
        size = channels * bin(kinds).count("1")
        if getattr(window, "typecode", "") != "h" or getattr(out, "typecode", "") != "b":
            return False
        if len(window) != channels * samples or len(out) != size:
            return False
        self._lib.window_features(
            _readable(window, 2 * len(window)),
            channels,
            samples,
            how & 15,
            kinds,
            _writable(out, size),
        )
        return True

    def copy(self, to, to_at, source, at, n):
        whole, part = _writable(to, to_at + n), _readable(source, at + n)
        self._lib.buffers_copy(ctypes.byref(whole, to_at), ctypes.byref(part, at), n)

    def common_prefix(self, a, a_at, b, b_at, n):
        first, second = _readable(a, a_at + n), _readable(b, b_at + n)
        common = self._lib.buffers_common_prefix
        return common(ctypes.byref(first, a_at), ctypes.byref(second, b_at), n)

    def crc_update(self, crc, data, start, end):
        if start < end:
            whole = _readable(data, end)
            at = ctypes.byref(whole, start)
            self._lib.crc32_update(_writable(crc, 4), at, end - start)

    def rc_start(self, state, data):
        self._lib.rc_start(_writable(state, self.RC_BYTES), _readable(data, 4))

    def rc_head(self, state, data, head):
        at = head[0]
        part = memoryview(data)[at:]
        if at < 0 or len(part) < HEAD_BYTES:
            raise ValueError("buffer too short")
        out = (ctypes.c_int32 * 5).from_buffer(head)
        kept = _writable(state, self.RC_BYTES)
        head[4] = at + self._lib.rc_head(kept, _readable(part, HEAD_BYTES), out)

    def rc_block(self, state, data, base, out, place):
        at, k, n, have, kind = place
        if min(place[:4]) < 0:
            raise ValueError("count")
        after = ctypes.c_uint32(at)
        place[1] = self._lib.rc_block(
            _writable(state, self.RC_BYTES),
            _readable(data, have),
            have,
            ctypes.byref(after),
            _readable(base, n),
            _writable(out, n),
            k,
            n,
            kind,
        )
        place[0] = after.value


def load(path=None):
    """The twin, or None when `make twin` has not built it."""
    return library.load(Twin, "codec", path)


def register():
    """Let the device package of this process use the twin, when it is built."""
    library.register("codec", load())


register()
