# SPDX-License-Identifier: MIT
"""How the numbers of a program are read and written, and what is raised when it is refused."""


class NetError(ValueError):
    """A program, weights or a training step is refused; the text says why."""


def is_within(value, low, high):
    """Tell whether a number lies within its limits; what is no number does not."""
    try:
        return low <= value <= high
    except (TypeError, ValueError):  # of None, a text, an array
        return False


def as_bytes(name, data):
    """Return a view of a buffer of bytes.

    :raises NetError: for what is no such buffer, as a list, or numbers of more than a byte each
    """
    try:
        view = memoryview(None if isinstance(data, str) else data)
        width = len(bytes(view[:1]))
    except (TypeError, NotImplementedError):  # also of an array of more dimensions
        raise NetError("%s: expected bytes, got %s" % (name, type(data).__name__)) from None
    if width > 1:
        raise NetError("%s: expected bytes, got wider numbers" % name)
    return view.cast("B") if hasattr(view, "cast") else view  # MicroPython's has none


def number(data, at, size=4):
    """Return the number of `size` bytes, low first."""
    value = 0
    for i in range(size):
        value |= data[at + i] << 8 * i
    return value


def signed(value):
    """Return a byte as int8."""
    return value - 256 if value > 127 else value


def operand(data, at):
    """Return (number of 7 bits a byte, low first; where the next begins)."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def put_number(data, at, value, size=4):
    """Write the number of `size` bytes, low first."""
    for i in range(size):
        data[at + i] = value >> 8 * i & 255
