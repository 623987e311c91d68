# SPDX-License-Identifier: MIT
"""Adaptive binary range decoder for differences of int8 weights. All numbers stay below 2**30.

A difference is coded as: is it zero, its sign, then its size less one in unary, each bit with
a probability that adapts; how large the neighbours before it were chooses among eight sets.
The C core of the native module `_codec` does the same, bit for bit.
"""

from array import array

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


SETS = const(8)
UNARY = const(14)  # sizes above are escaped to 7 plain bits
PER_SET = const(16)  # zero?, sign, UNARY
_TOP = const(1 << 22)
NEED_BYTES = const(24)  # no difference takes more than this much input


class Decoder:
    """Decode from a byte buffer that the caller keeps filled.

    ``at`` is the next byte of ``input``; zeros follow the end of a stream.
    """

    def __init__(self, input_bytes):
        self.input = bytearray(input_bytes)
        self.at = 0
        self._p = array("H", [0] * (SETS * PER_SET))
        self._n = bytearray(SETS * PER_SET)
        self.reset()

    def reset(self):
        """Forget all statistics: a new model."""
        for i in range(len(self._p)):
            self._p[i] = 16384
            self._n[i] = 0
        self._near = 0

    def start(self):
        """Take the first 4 bytes of a stream."""
        a, i = self.input, self.at
        self._code = (a[i] & 63) << 24 | a[i + 1] << 16 | a[i + 2] << 8 | a[i + 3]
        self._range = (1 << 30) - 1
        self.at = i + 4

    def block(self, base, out, k, n, have):
        """Put base + difference into out[k:n] while input lasts; return the next k."""
        while k < n and self.at + NEED_BYTES <= have:
            out[k] = base[k] + self.difference() & 255
            k += 1
        return k

    def difference(self):
        """Return the next difference, -128 to 127."""
        near = self._near
        base = set_of(near) * PER_SET
        if not self._bit(base):
            self._near = near - (near >> 2)
            return 0
        negative = self._bit(base + 1)
        size = 1
        while size <= UNARY and self._bit(base + 1 + size):
            size += 1
        if size > UNARY:
            size = 0
            for _ in range(7):
                size = size << 1 | self._plain()
            size += UNARY + 1
        self._near = near - (near >> 2) + (min(size, 15) << 4)
        return -size if negative else size

    def _bit(self, index):
        p = self._p[index]
        n = self._n[index]
        bound = (self._range >> 15) * p
        if self._code < bound:
            self._range = bound
            self._p[index] = p + (32768 - p >> RATE[n])
            bit = 0
        else:
            self._code -= bound
            self._range -= bound
            self._p[index] = p - (p >> RATE[n])
            bit = 1
        if n < len(RATE) - 1:
            self._n[index] = n + 1
        while self._range < _TOP:
            self._shift()
        return bit

    def _plain(self):
        self._range >>= 1
        bit = 0
        if self._code >= self._range:
            self._code -= self._range
            bit = 1
        while self._range < _TOP:
            self._shift()
        return bit

    def _shift(self):
        self._range <<= 8
        self._code = self._code << 8 | self.input[self.at]
        self.at += 1


# How fast the n-th use of a probability moves it.
RATE = b"\2\2\3\3\3\4\4\4\4\4\4" + b"\5" * 12 + b"\6" * 25 + b"\7"


def set_of(near):
    """Return the set for what came before: 0 (all zero) to 7 (large)."""
    k = 0
    for limit in b"\x06\x10\x1c\x28\x3a\x58\x90":
        if near >= limit:
            k += 1
    return k


class NativeDecoder:
    """As `Decoder`, over the native module ``_codec``: the same results, nothing is allocated."""

    def __init__(self, core, input_bytes):
        self.input = bytearray(input_bytes)
        self.at = 0
        self._core = core
        self._state = bytearray(core.RC_BYTES)
        self._place = array("i", (0, 0, 0, 0))
        core.rc_reset(self._state)

    def start(self):
        """Take the first 4 bytes of a stream, which are at the front of ``input``."""
        self._core.rc_start(self._state, self.input)
        self.at = 4

    def block(self, base, out, k, n, have):
        place = self._place
        place[0], place[1], place[2], place[3] = self.at, k, n, have
        self._core.rc_block(self._state, self.input, base, out, place)
        self.at = place[0]
        return place[1]
