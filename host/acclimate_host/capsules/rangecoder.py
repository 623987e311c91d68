# SPDX-License-Identifier: MIT
"""The encoder of `acclimate.store.rangecoder`: same statistics, other direction."""

from collections.abc import Iterable

from acclimate.store import rangecoder as rc

_TOP = 1 << 22
_NUMBER_MAX = (1 << 21) - 1  # of a length


class Encoder:
    """One stream of instructions; ``finish`` gives its bytes.

    :param made: bytes of the target that come before the first instruction.
    :param has_lanes: plain bytes are coded by their place modulo 4, for numbers of 4 bytes.
    """

    def __init__(self, made: int = 0, has_lanes: bool = False) -> None:
        self._chance = [(2048, 0)] * rc._CHANCES
        self._near = self._last = self._lane = 0
        self._at = self._back = 0
        self._made = made
        self._low, self._range = 0, (1 << 30) - 1
        self._out = bytearray()
        self._has_lanes = has_lanes
        self._plain(has_lanes)

    def copy(self, at: int, length: int) -> None:
        """Take bytes of the base from a place on."""
        for part in _parts(length):
            self._head(rc._COPY, part, at)
            self._lane = self._lane + part & 3
            at = self._moved(part)

    def data(self, piece: bytes) -> None:
        """Take these bytes."""
        start = 0
        for part in _parts(len(piece)):
            self._head(rc._DATA, part, self._at)
            for byte in piece[start : start + part]:
                self._byte(byte)
            start += part
            self._moved(part)

    def differences(self, at: int, differences: Iterable[int]) -> None:
        """Take bytes of the base from a place on, plus differences of -128 to 127."""
        values = list(differences)
        start = 0
        for part in _parts(len(values)):
            self._head(rc._DIFF, part, at)
            for value in values[start : start + part]:
                self._difference(value)
            self._lane = self._lane + part & 3
            start += part
            at = self._moved(part)

    def finish(self) -> bytes:
        """End the stream; return it."""
        for _ in range(4):
            self._shift()
        # The decoder reads zeros after the end.
        return bytes(self._out).rstrip(b"\0")

    def _moved(self, length: int) -> int:
        self._made += length
        self._at += length
        return self._at

    def _head(self, kind: int, length: int, at: int) -> None:
        last, self._last = self._last, kind - 1
        self._bit(rc._KIND + 2 * last, kind != rc._DATA)
        if kind != rc._DATA:
            self._bit(rc._KIND + 2 * last + 1, kind == rc._DIFF)
        self._number(rc._LENGTH + rc._LENGTH_MAX * (kind - 1), rc._LENGTH_MAX, length)
        if kind == rc._DATA:
            return
        self._bit(rc._SAME + last, at != self._at)
        if at == self._at:
            return
        is_back = at == self._made + self._back
        self._bit(rc._BACK, is_back)
        if not is_back:
            self._jump(at - self._at)
        self._back = self._at - self._made
        self._at = at

    def _jump(self, way: int) -> None:
        self._bit(rc._SIGN, way < 0)
        low, node = abs(way) & 15, 1
        for i in range(4):
            bit = low >> i & 1
            self._bit(rc._LOW + node, bit)
            node = node << 1 | bit
        self._number(rc._HIGH, rc._HIGH_MAX, (abs(way) >> 4) + 1)

    def _number(self, chances: int, most: int, value: int) -> None:
        bits = value.bit_length() - 1
        for i in range(min(bits + 1, 20)):
            self._bit(chances + min(i, most - 1), i < bits)
        for i in range(bits - 1, -1, -1):
            self._plain(value >> i & 1)

    def _byte(self, value: int) -> None:
        lane = self._lane * 15 if self._has_lanes else 0
        self._half(rc._TOP_HALF + lane, value >> 4)
        self._half(rc._LOW_HALF + (lane if self._has_lanes else (value >> 6) * 15), value & 15)
        self._lane = self._lane + 1 & 3

    def _half(self, chances: int, value: int) -> None:
        node = 1
        for i in (3, 2, 1, 0):
            bit = value >> i & 1
            self._bit(chances + node - 1, bit)
            node = node << 1 | bit

    def _difference(self, difference: int) -> None:
        near = self._near
        base = rc.set_of(near) * rc._PER_SET
        size = abs(difference)
        self._bit(base, size != 0)
        self._near = near - (near >> 2) + (min(size, 15) << 4)
        if not size:
            return
        self._bit(base + 1, difference < 0)
        for step in range(1, rc._UNARY + 1):
            own = step <= rc._OWN
            self._bit(base + 1 + step if own else rc._LARGER + step - 7, size > step)
            if size <= step:
                return
        for shift in range(6, -1, -1):
            self._plain(size - rc._UNARY - 1 >> shift & 1)

    def _bit(self, index: int, bit: int) -> None:
        p, n = self._chance[index]
        bound = (self._range >> 12) * p
        if bit:
            self._low += bound
            self._range -= bound
            p -= p >> rc.RATE[n]
        else:
            self._range = bound
            p += 4096 - p >> rc.RATE[n]
        if n < rc._RARE or (n < 15 and not self._range >> 12 & 3):
            n += 1
        self._chance[index] = p, n
        self._normalise()

    def _plain(self, bit: int) -> None:
        self._range >>= 1
        if bit:
            self._low += self._range
        self._normalise()

    def _normalise(self) -> None:
        while self._range < _TOP:
            self._range <<= 8
            self._shift()

    def _shift(self) -> None:
        """Move the top 8 of 32 bits out; a carry goes into the bytes before."""
        if self._low >> 32:
            self._low &= 0xFFFFFFFF
            at = len(self._out) - 1
            while self._out[at] == 255:
                self._out[at] = 0
                at -= 1
            self._out[at] += 1
        self._out.append(self._low >> 24)
        self._low = self._low << 8 & 0xFFFFFFFF


def _parts(length: int) -> Iterable[int]:
    """Yield the lengths of instructions that make so many bytes together."""
    while length > 0:
        yield min(length, _NUMBER_MAX)
        length -= _NUMBER_MAX
