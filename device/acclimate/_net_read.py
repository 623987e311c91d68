# SPDX-License-Identifier: MIT
"""Reads numbers of a network program."""


def number(data, at, size=4):
    """Return the number of `size` bytes, low first."""
    value = 0
    for i in range(size):
        value |= data[at + i] << 8 * i
    return value


def number_signed(data, at, size=4):
    """As `number`, in two's complement."""
    value = number(data, at, size)
    return value - (1 << 8 * size) if data[at + size - 1] > 127 else value


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
