# SPDX-License-Identifier: MIT
"""A block device that only reads and writes whole blocks, such as an SD card, as flash.

    flash = CardFlash(machine.SDCard(), first=2048, blocks=256)     # no file system may be there

A card writes a block of 512 bytes as a whole, so a record is put into the block that holds it and
the block is written again. Where a card loses such a block in a power cut, the records in it are
lost together; each model still proves itself by its SHA-256. Every write is tried again once, and
read back.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any
except ImportError:
    pass

from acclimate import _buffers
from acclimate.flash.base import Flash, geometry
from acclimate.flash.retry import RetryingDevice


class CardFlash(Flash):
    """So many blocks of a device from block ``first`` on; RAM: one block.

    :param blocks: of the device, all from first on without it; pages of ``erase_bytes``.
    """

    _tries = False  # the device is asked again, block by block

    def __init__(
        self,
        device: "Any",
        first: int = 0,
        blocks: int = 0,
        erase_bytes: int = 4096,
        unit: int = 4,
    ) -> None:
        count, size = geometry(device, 512)
        blocks = blocks or count - first
        if first < 0 or first + blocks > count:
            raise ValueError("blocks %d to %d: the card has %d" % (first, first + blocks, count))
        if erase_bytes % size:
            raise ValueError("page %d: not whole blocks of %d" % (erase_bytes, size))
        super().__init__(blocks * size // erase_bytes * erase_bytes, erase_bytes, unit)
        self._device = RetryingDevice(device)
        self._first = first
        self._size = size
        self._block = bytearray(size)
        self._held = -1  # the block that is in the buffer

    def _load(self, number):
        if number != self._held:
            self._held = -1
            self._device.readblocks(self._first + number, self._block)
            self._held = number

    def _store(self, number):
        # What the card holds is read anew afterwards, not what is in the buffer.
        self._held = -1
        self._device.writeblocks(self._first + number, self._block)

    def _read(self, at, buffer):
        done, n, size = 0, len(buffer), self._size
        while done < n:
            inside = (at + done) % size
            part = min(size - inside, n - done)
            self._load((at + done) // size)
            _buffers.copy(buffer, done, self._block, inside, part)
            done += part

    def _program(self, at, buffer):
        done, n, size = 0, len(buffer), self._size
        while done < n:
            inside = (at + done) % size
            part = min(size - inside, n - done)
            number = (at + done) // size
            self._load(number)
            for i in range(part):
                self._block[inside + i] &= buffer[done + i]
            self._store(number)
            done += part

    def _erase(self, at):
        self._held = -1
        for i in range(self._size):
            self._block[i] = 255
        for number in range(at // self._size, (at + self.erase_bytes) // self._size):
            self._store(number)
