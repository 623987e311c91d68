# SPDX-License-Identifier: MIT
"""A model of NOR flash for tests: bits only go to 0, erases wear, the power can be cut.

    flash = NorFlash(8192, erase_bytes=256)
    flash.cut_after(17, "half")     # the 17th step from now is torn, and raises PowerCut
    ...
    flash.power_on()                # what is in the flash stays as the cut left it

A step is the erase of one page or the program of one unit. How a cut leaves it:

========  =====================================================================
erase     ``early`` (4.6 % of the 0 bits are 1), ``half`` (first half erased),
          ``rear`` (second half), ``partial`` (half of the bits), ``late`` (4.6 %
          of the 0 bits stay), ``almost`` (0.4 % stay)
program   ``none``, ``low`` and ``high`` half of the unit, ``partial`` (half of
          the bits that were to be cleared)
========  =====================================================================
"""

from acclimate.flash import Flash

ERASE_TORN = ("early", "half", "rear", "partial", "late", "almost")
PROGRAM_TORN = ("none", "low", "high", "partial")
# A byte is the AND of this many random bytes, once or twice (then both, as OR).
_DENSITY = {"partial": (1, 0), "early": (5, 6), "late": (5, 6), "almost": (8, 0)}
_PROGRAMS_MAX = 2  # between two erases, as the nRF52840 allows


class PowerCut(BaseException):
    """The power went away in the middle of a flash operation."""


class NorFlash(Flash):
    """Flash in RAM.

    ``erases`` counts the erases of each page, ``programmed_bytes`` what was programmed,
    ``steps`` all steps.

    :param data: a bytearray that holds the content, erased without it.
    """

    def __init__(self, size, erase_bytes=4096, unit=4, data=None):
        super().__init__(size, erase_bytes, unit)
        self.data = bytearray(b"\xff" * size) if data is None else data
        self.view = memoryview(self.data)
        self.erases = [0] * (size // erase_bytes)
        self.programs = bytearray(size // unit)
        self.programmed_bytes = 0
        self.steps = 0
        self.is_off = False
        self._cut = 0
        self._torn = ""
        self._random = 1

    def __repr__(self):
        return f"NorFlash({len(self.data)}): {self.steps} steps, {sum(self.erases)} erases"

    def cut_after(self, step, torn="none", seed=1):
        """Cut the power in the step-th step from now (1 is the next), which is torn."""
        self._cut = self.steps + step
        self._torn = torn
        self._random = seed & 0x7FFF

    def power_on(self):
        self.is_off = False
        self._cut = 0

    def mapped(self, at, n):
        return memoryview(self.data)[at : at + n]

    def _read(self, at, buffer):
        self._powered()
        buffer[:] = self.data[at : at + len(buffer)]

    def _program(self, at, buffer):
        unit, data = self.unit, self.data
        for i in range(0, len(buffer), unit):
            if self._is_cut():
                self._tear_program(at + i, buffer, i)
            place = (at + i) // unit
            if self.programs[place] >= _PROGRAMS_MAX:
                raise ValueError("flash model: unit at %d is programmed too often" % (at + i))
            self.programs[place] += 1
            for k in range(i, i + unit):
                data[at + k] &= buffer[k]
            self.programmed_bytes += unit

    def _erase(self, at):
        if self._is_cut():
            self._tear_erase(at)
        page = self.erase_bytes
        self.data[at : at + page] = b"\xff" * page
        self.programs[at // self.unit : (at + page) // self.unit] = bytes(page // self.unit)
        self.erases[at // page] += 1

    def _powered(self):
        if self.is_off:
            raise PowerCut("the power is off")

    def _is_cut(self):
        self._powered()
        self.steps += 1
        return self.steps == self._cut

    def _off(self):
        self.is_off = True
        raise PowerCut("cut in step %d" % self.steps)

    def _tear_program(self, at, buffer, i):
        half = self.unit // 2
        for k in range(self.unit):
            keep = buffer[i + k]
            if self._torn == "partial":
                keep |= self._bits("partial")
            elif self._torn == "none" or (k < half) != (self._torn == "low"):
                keep = 255
            self.data[at + k] &= keep
        self._off()

    def _tear_erase(self, at):
        torn, data, page = self._torn, self.data, self.erase_bytes
        for k in range(at, at + page):
            if torn == "half" or torn == "rear":
                if (k - at < page // 2) == (torn == "half"):
                    data[k] = 255
            elif torn in ("early", "partial"):
                data[k] |= self._bits(torn)
            elif torn in ("late", "almost"):
                data[k] |= 255 ^ self._bits(torn)
        self.erases[at // page] += 1
        self._off()

    def _bits(self, torn):
        first, second = _DENSITY[torn]
        return self._sparse(first) | (self._sparse(second) if second else 0)

    def _sparse(self, draws):
        bits = 255
        while draws and bits:
            # Products stay below 2**30, so that a small board allocates nothing.
            self._random = (self._random * 16807 + 12345) % 32749
            bits &= self._random >> 6 & 255
            draws -= 1
        return bits
