# SPDX-License-Identifier: MIT
"""CircuitPython's ``microcontroller.nvm`` as flash: for small models, no drive is needed.

    flash = NvmFlash(microcontroller.nvm)

256 bytes to 8 KB, depending on the board. The firmware rewrites a whole page of its flash for
any change, so a cut can damage what lies beside it: of a capsule that is noticed, and the other
slot is used; use a file on a board where that matters.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any
except ImportError:
    pass

from acclimate.flash.base import Flash, FlashError

_FILL = b"\xff" * 64


class NvmFlash(Flash):
    """All of a byte array that keeps its content, or ``size`` bytes from ``start`` on.

    :param nvm: something with slices, such as ``microcontroller.nvm``; None: that one.
    """

    def __init__(
        self,
        nvm: "Any" = None,
        start: int = 0,
        size: int = 0,
        erase_bytes: int = 256,
        unit: int = 4,
    ) -> None:
        if nvm is None:
            import microcontroller

            nvm = microcontroller.nvm
        if nvm is None:
            raise ValueError("nvm: this board has none; use a file")
        size = size or (len(nvm) - start) // erase_bytes * erase_bytes
        if start < 0 or start + size > len(nvm):
            raise ValueError("nvm of %d bytes: not %d from %d on" % (len(nvm), size, start))
        super().__init__(size, erase_bytes, unit)
        self._nvm = nvm
        self._start = start

    def _read(self, at, buffer):
        at += self._start
        buffer[:] = self._nvm[at : at + len(buffer)]

    def _program(self, at, buffer):
        self._put(self._start + at, bytes(buffer))

    def _erase(self, at):
        for place in range(self._start + at, self._start + at + self.erase_bytes, len(_FILL)):
            self._put(place, _FILL)

    def _put(self, place, data):
        try:
            self._nvm[place : place + len(data)] = data
        except RuntimeError as error:  # so CircuitPython says that it could not be written
            raise FlashError("nvm: %s" % error) from None
