# SPDX-License-Identifier: MIT
"""The SAMD21's own flash through the registers of its controller (NVMCTRL).

    flash = SamdFlash(0x3C000, 0x4000)           # the last 16 KB; nothing else may live there

``samd.Flash`` is not used: it rewrites a whole row of 256 bytes for any write in it, so that a
cut in the middle of a record would take the records before it along. Here a page of 64 bytes is
programmed once; a row takes 4 programs between two erases, of the 8 that are allowed.
Registers and commands: SAM D21 data sheet, chapter "NVMCTRL".
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Sequence

    from circuitpython_typing import ReadableBuffer
except ImportError:
    pass

from acclimate import _buffers
from acclimate.flash.base import Flash, FlashError

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


_ROW = const(256)
_PAGE = const(64)
_ERASE_ROW = const(0xA502)
_WRITE_PAGE = const(0xA504)
_CLEAR_BUFFER = const(0xA544)
_MANUAL = const(0x80)  # CTRLB.MANW: a page is programmed by a command only
_READY = const(1)
_FAULTS = const(0x1C)  # STATUS: PROGE, LOCKE, NVME
_TRIES = const(100000)


class SamdFlash(Flash):
    """A region of the SAMD21's flash; erased in ``rows`` rows at a time.

    :param start: address, a multiple of rows x 256. :param size: bytes.
    :param mem: (mem8, mem16, mem32) of ``machine``; :param memory: a buffer over the region.
    """

    def __init__(
        self,
        start: int,
        size: int,
        rows: int = 4,
        base: int = 0x41004000,
        mem: "Sequence[Any] | None" = None,
        memory: "ReadableBuffer | None" = None,
    ) -> None:
        super().__init__(size, rows * _ROW, _PAGE)
        if start % self.erase_bytes or start <= 0:
            raise ValueError("start %d: not a multiple of %d" % (start, self.erase_bytes))
        if mem is None:
            import machine

            mem = machine.mem8, machine.mem16, machine.mem32
        if memory is None:
            import uctypes

            memory = uctypes.bytearray_at(start, size)
        self._mem8, self._mem16, self._mem32 = mem
        self._memory = memory
        self._start = start
        # Numbers above 2**30 are objects: made once, so that nothing is allocated later.
        self._command = base
        self._control = base + 4
        self._flag = base + 0x14
        self._status = base + 0x18
        self._address = base + 0x1C
        self.view = memoryview(memory)

    def mapped(self, at: int, n: int) -> memoryview | None:
        return memoryview(self._memory)[at : at + n]

    def _read(self, at, buffer):
        _buffers.copy(buffer, 0, self._memory, at, len(buffer))

    def _program(self, at, buffer):
        mem16 = self._mem16
        mem16[self._control] = mem16[self._control] | _MANUAL
        for page in range(0, len(buffer), _PAGE):
            self._run(_CLEAR_BUFFER, at + page)
            for i in range(page, page + _PAGE, 2):
                mem16[self._start + at + i] = buffer[i] | buffer[i + 1] << 8
            self._run(_WRITE_PAGE, at + page)

    def _erase(self, at):
        for row in range(at, at + self.erase_bytes, _ROW):
            self._run(_ERASE_ROW, row)

    def _run(self, command, at):
        self._wait(at)
        self._mem16[self._status] = _FAULTS  # a one clears
        self._mem32[self._address] = self._start + at >> 1
        self._mem16[self._command] = command
        self._wait(at)
        status = self._mem16[self._status] & _FAULTS
        if status:
            raise FlashError("flash: controller status %d at %d" % (status, at))

    def _wait(self, at):
        for _ in range(_TRIES):
            if self._mem8[self._flag] & _READY:
                return
        raise FlashError("flash: the controller is not ready at %d" % at)
