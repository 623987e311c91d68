# SPDX-License-Identifier: MIT
"""Large blocks of a heap that may be in pieces, and an error that says what is missing."""

import gc


def block(size, what):
    """Return bytearray(size), after a collection if needed.

    :raises MemoryError: names what it is for, the bytes needed and free, and the largest block
    """
    try:
        return bytearray(size)
    except MemoryError:
        pass
    gc.collect()
    try:
        return bytearray(size)
    except MemoryError:
        raise out_of_memory(size, what) from None


def out_of_memory(size, what):
    """Return the MemoryError for a block of so many bytes that could not be had."""
    gc.collect()
    free = gc.mem_free() if hasattr(gc, "mem_free") else 0
    return MemoryError(
        "%s: needs %d bytes in one block; %d are free, the largest block has %d: allocate it first"
        % (what, size, free, largest(min(size, free)))
    )


def checked_arena(arena, least):
    """Return a view of the caller's buffer to work in.

    :raises ValueError: no buffer, or one that cannot be written
    :raises MemoryError: fewer than `least` bytes
    """
    try:
        view = memoryview(arena)
        view[:1] = view[:1]
    except TypeError:
        raise ValueError("arena: expected a bytearray, got %s" % repr(arena)[:40]) from None
    if len(view) < least:
        raise MemoryError("arena: expected at least %d bytes, got %d" % (least, len(view)))
    return view


def largest(limit):
    """Return the largest block, to 16 bytes, that the heap has now, but at most limit."""
    low, high = 0, limit
    while high - low > 16:
        middle = (low + high + 1) // 2
        gc.collect()
        try:
            bytearray(middle)
            low = middle
        except MemoryError:
            high = middle - 1
    gc.collect()
    return low
