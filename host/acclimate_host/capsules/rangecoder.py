# SPDX-License-Identifier: MIT
"""The encoder of `acclimate.store.rangecoder`: same statistics, other direction."""

from collections.abc import Iterable

from acclimate.store.rangecoder import PER_SET, RATE, SETS, UNARY, set_of

_TOP = 1 << 22


class Encoder:
    """Statistics last over several streams; ``stream`` gives the bytes of one."""

    def __init__(self):
        self._p = [16384] * (SETS * PER_SET)
        self._n = [0] * (SETS * PER_SET)
        self._near = 0

    def state(self):
        """Return the statistics, for ``restore``."""
        return self._p[:], self._n[:], self._near

    def restore(self, state):
        """Forget what was coded since ``state``."""
        self._p, self._n, self._near = state

    def stream(self, differences: Iterable[int]) -> bytes:
        """Return the code of an iterable of differences, -128 to 127."""
        self._low, self._range = 0, (1 << 30) - 1
        self._out = bytearray()
        for difference in differences:
            self._put(int(difference))
        for _ in range(4):
            self._shift()
        # The decoder reads zeros after the end.
        return bytes(self._out).rstrip(b"\0")

    def _put(self, difference):
        near = self._near
        base = set_of(near) * PER_SET
        size = abs(difference)
        self._bit(base, size != 0)
        self._near = near - (near >> 2) + (min(size, 15) << 4)
        if not size:
            return
        self._bit(base + 1, difference < 0)
        for step in range(1, UNARY + 1):
            self._bit(base + 1 + step, size > step)
            if size <= step:
                return
        for shift in range(6, -1, -1):
            self._plain(size - UNARY - 1 >> shift & 1)

    def _bit(self, index, bit):
        p, n = self._p[index], self._n[index]
        bound = (self._range >> 15) * p
        if bit:
            self._low += bound
            self._range -= bound
            self._p[index] = p - (p >> RATE[n])
        else:
            self._range = bound
            self._p[index] = p + (32768 - p >> RATE[n])
        self._n[index] = min(n + 1, len(RATE) - 1)
        self._normalise()

    def _plain(self, bit):
        self._range >>= 1
        if bit:
            self._low += self._range
        self._normalise()

    def _normalise(self):
        while self._range < _TOP:
            self._range <<= 8
            self._shift()

    def _shift(self):
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
