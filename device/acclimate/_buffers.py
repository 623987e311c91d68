# SPDX-License-Identifier: MIT
"""Copy and compare parts of buffers without making views of them, which would allocate."""

from acclimate import _native


def copy(to, to_at, source, at, n):
    """Copy n bytes; within one buffer only towards lower places."""
    core = _native.load("codec")
    if core:
        core.copy(to, to_at, source, at, n)
        return
    for i in range(n):
        to[to_at + i] = source[at + i]


def common_prefix(a, a_at, b, b_at, n):
    """Return how many of n bytes are the same before the first that differs."""
    core = _native.load("codec")
    if core:
        return core.common_prefix(a, a_at, b, b_at, n)
    for i in range(n):
        if a[a_at + i] != b[b_at + i]:
            return i
    return n


def as_bytes(data, size):
    """Return data in place as so many bytes without a sign.

    :raises ValueError: it has another length, or items of more than a byte.
    """
    view = memoryview(data)
    if len(view) != size or len(bytes(view[:1])) > 1:
        wide = len(bytes(view[:1]))
        raise ValueError("weights: expected %d bytes, got %d x %d" % (size, len(view), wide))
    if hasattr(view, "cast"):  # not on MicroPython
        return view.cast("B")
    try:
        from uctypes import addressof, bytearray_at
    except ImportError:
        return data
    return bytearray_at(addressof(view), size)
