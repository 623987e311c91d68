# SPDX-License-Identifier: MIT
"""Adaptive binary range decoder of update instructions. All numbers stay below 2**30.

One stream holds everything: what comes next (copy, plain bytes or differences), how long it is,
where in the base it begins, and then the bytes or differences. Each bit has a chance that
adapts. A difference is coded as: is it zero, its sign, then its size less one in unary; how
large the neighbours before it were chooses among eight sets. The C core of the native module
`_codec` does the same, bit for bit.
"""

from array import array

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


_SETS = const(8)
_UNARY = const(14)  # sizes above are escaped to 7 plain bits
_PER_SET = const(8)  # zero?, sign, and how much larger: the first six steps
_LARGER = const(64)  # the other steps, which the sets share
_OWN = const(6)
# Where the other chances begin.
_KIND = const(72)  # two for each kind that came before
_SAME = const(78)  # the place where the last instruction ended? for each kind before
_BACK = const(81)  # as far from the target as before the latest jump?
_SIGN = const(82)  # of a jump
_LOW = const(82)  # its 4 low bits: a tree, from 1 on
_HIGH = const(98)  # the bits above them: how many
_HIGH_MAX = const(12)
_LENGTH = const(110)  # how many bits a length has, for each kind
_LENGTH_MAX = const(11)
_TOP_HALF = const(143)  # of a plain byte: four trees of 15
_LOW_HALF = const(203)
_CHANCES = const(263)
_HEAD_BYTES = const(56)  # no instruction's head takes more than this much input
_NEED_BYTES = const(24)  # and no difference or plain byte more than this
_COPY = const(1)
_DATA = const(2)
_DIFF = const(3)
_TOP = const(1 << 22)
_BITS_MAX = const(20)  # of a length or jump, after its first

# How fast a chance moves, by its count of uses; from _RARE on a use counts by chance.
RATE = b"\2\2\3\3\3\4\4\4\4\5\5\5\5\6\6\6"
_RARE = const(9)


class Decoder:
    """Decode from a byte buffer that the caller keeps filled.

    ``at`` is the next byte of ``input``; zeros follow the end of a stream. A chance is kept as
    its twelve bits above four that count its uses.
    """

    def __init__(self, input_bytes):
        self.input = bytearray(input_bytes)
        self.at = 0
        self._chance = array("H", bytearray(2 * _CHANCES))
        for i in range(_CHANCES):  # a list of them would not fit the smallest board
            self._chance[i] = 2048 << 4
        self._near = 0
        self._last = 0  # kind of the instruction before, from 0
        self._lane = 0  # place in the target modulo 4
        self._has_lanes = 0
        self._head = array("i", (0, 0, 0, 0))

    def start(self):
        """Take the first 4 bytes of the stream."""
        a, i = self.input, self.at
        self._code = (a[i] & 63) << 24 | a[i + 1] << 16 | a[i + 2] << 8 | a[i + 3]
        self._range = (1 << 30) - 1
        self.at = i + 4
        self._has_lanes = self._plain()

    def head(self):
        """Return the next instruction as an array: kind, length, is it a jump?, how far.

        It is the same array each time. The third is 0: goes on where the last one ended in the
        base, 1: a jump, 2: back to the distance before the latest jump.
        """
        out = self._head
        last = self._last
        kind = _DATA
        if self._bit(_KIND + 2 * last):
            kind = _DIFF if self._bit(_KIND + 2 * last + 1) else _COPY
        self._last = kind - 1
        out[0] = kind
        out[1] = length = self._number(_LENGTH + _LENGTH_MAX * (kind - 1), _LENGTH_MAX)
        out[2] = 0
        if kind != _DATA and self._bit(_SAME + last):
            out[2] = 2
            if not self._bit(_BACK):
                out[2] = 1
                out[3] = self._jump()
        if kind == _COPY:
            self._lane = self._lane + length & 3
        return out

    def block(self, base, out, k, n, have, kind):
        """Put plain bytes, or base + difference, into out[k:n] while input lasts.

        Returns the next k.
        """
        start = k
        while k < n and self.at + _NEED_BYTES <= have:
            if kind == _DATA:
                out[k] = self._byte(self._lane + k - start)
            else:
                out[k] = base[k] + self.difference() & 255
            k += 1
        self._lane = self._lane + k - start & 3
        return k

    def difference(self):
        """Return the next difference, -128 to 127."""
        near = self._near
        base = set_of(near) * _PER_SET
        if not self._bit(base):
            self._near = near - (near >> 2)
            return 0
        negative = self._bit(base + 1)
        size = 1
        while size <= _UNARY and self._bit(
            base + 1 + size if size <= _OWN else _LARGER + size - 7
        ):
            size += 1
        if size > _UNARY:
            size = 0
            for _ in range(7):
                size = size << 1 | self._plain()
            size += _UNARY + 1
        self._near = near - (near >> 2) + (min(size, 15) << 4)
        return -size if negative else size

    def _byte(self, lane):
        lane = (lane & 3) * 15
        high = self._half(_TOP_HALF + (lane if self._has_lanes else 0))
        return high << 4 | self._half(_LOW_HALF + (lane if self._has_lanes else (high >> 2) * 15))

    def _half(self, chances):
        at = 1
        while at < 16:
            at = at << 1 | self._bit(chances + at - 1)
        return at & 15

    def _jump(self):
        negative = self._bit(_SIGN)
        at = 1
        low = 0
        for i in range(4):
            bit = self._bit(_LOW + at)
            low |= bit << i
            at = at << 1 | bit
        way = (self._number(_HIGH, _HIGH_MAX) - 1 << 4) + low
        return -way if negative else way

    def _number(self, chances, most):
        """A number from 1 on: how many bits follow its first in unary, then those bits."""
        bits = 0
        while bits < _BITS_MAX and self._bit(chances + min(bits, most - 1)):
            bits += 1
        value = 1
        for _ in range(bits):
            value = value << 1 | self._plain()
        return value

    def _bit(self, index):
        chance = self._chance[index]
        p, n = chance >> 4, chance & 15
        bound = (self._range >> 12) * p
        if self._code < bound:
            self._range = bound
            p += 4096 - p >> RATE[n]
            bit = 0
        else:
            self._code -= bound
            self._range -= bound
            p -= p >> RATE[n]
            bit = 1
        if n < _RARE or (n < 15 and not self._range >> 12 & 3):
            n += 1
        self._chance[index] = p << 4 | n
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
        self._place = array("i", (0, 0, 0, 0, 0))

    def start(self):
        """Take the first 4 bytes of the stream, which are at the front of ``input``."""
        self._core.rc_start(self._state, self.input)
        self.at = 4

    def head(self):
        """As `Decoder.head`, in the array that blocks use as well."""
        out = self._place
        out[0] = self.at
        self._core.rc_head(self._state, self.input, out)
        self.at = out[4]
        return out

    def block(self, base, out, k, n, have, kind):
        place = self._place
        place[0], place[1], place[2], place[3], place[4] = self.at, k, n, have, kind
        self._core.rc_block(self._state, self.input, base, out, place)
        self.at = place[0]
        return place[1]
