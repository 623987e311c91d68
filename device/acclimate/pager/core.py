# SPDX-License-Identifier: MIT
"""Keeps tensors outside RAM while a training step does not need them: the page store.

    store = FileFlash("pages.bin", 65536)         # or BlockFlash(...), or acclimate.pager.media
    pager = Pager(store, endurance=10000)
    net = Net(program, weights, pager=pager)
    print(pager)                                  # what was written, erases used and left

A step writes each page once, then reads it back at will. Pages go round the whole region, so
that it wears evenly. Nothing is allocated on the file system, and nothing in RAM after the
first step. Each page carries its length, checksum and the erases so far; a new Pager on the same
region goes on counting. One that was cut off is written again with its step.

Byte table of a page's header (little-endian): magic ``APGE`` 0, number 4, 0 6, length 8,
sequence 12, erases so far 16, CRC-32 of the data 20, 0 24, CRC-32 of the header 28.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

from acclimate import _crc as crc

HEADER_BYTES = 32
_MAGIC = b"APGE"
_COUNT_MAX = 1 << 29


class PagerError(OSError):
    """A page is damaged, missing, or may not be written; the text says which and why."""


class Pager:
    """Pages in a region of flash or of another medium.

    :param medium: acclimate.flash.base.Flash, or one of acclimate.pager.media
    :param int endurance: erases that a block stands; 0: no limit (also for media without erase)
    :param int erases: erases that the region had before, for a new one
    :raises ValueError: numbers below 0, or a unit of the medium that no header fits
    """

    def __init__(self, medium: "Any", endurance: int = 0, erases: int = 0) -> None:
        if HEADER_BYTES % medium.unit:
            raise ValueError("pager: unit of %d bytes; at most %d" % (medium.unit, HEADER_BYTES))
        if min(endurance, erases) < 0:
            raise ValueError("endurance %s, erases %s: expected 0 or more" % (endurance, erases))
        self.medium = medium
        self.block_bytes = medium.erase_bytes
        self.blocks = medium.size // self.block_bytes
        self.erase_budget = endurance * self.blocks
        self.erases, self.written_bytes = erases, 0
        self._head = bytearray(HEADER_BYTES)
        self._crc = bytearray(4)
        self._tail = bytearray(medium.unit)
        self._next, self._sequence = 0, 0
        self._free = self.blocks
        self._places, self._round, self._parts = {}, {}, []
        self._resume()

    # ---- for acclimate.net -----------------------------------------------------------------

    def page_out(self, number: int, view: "ReadableBuffer") -> None:
        """Write a page; a page that this step has written already begins the next step.

        :param number: 0 to 65535
        """
        if not 0 <= number <= 65535:
            raise PagerError("page %d: expected 0 to 65535" % number)
        again = self._round.get(number)
        free = self.blocks if again else self._free
        need, place = self.blocks_for(len(view)), self._next
        if place + need > self.blocks:
            free -= self.blocks - place
            place = 0
        if need > free:
            raise PagerError(
                "page %d: %d blocks needed, %d left of %d; give a larger region"
                % (number, need, max(0, free), self.blocks)
            )
        if self.erase_budget and self.erases + need > self.erase_budget:
            raise PagerError(
                "page %d: wear: %d of %d erases are used up"
                % (number, self.erases, self.erase_budget)
            )
        if again:
            for known in self._round:
                self._round[known] = False
        self._places[number] = -1  # what the blocks held is gone
        for i in range(place, place + need):
            self.medium.erase(i * self.block_bytes)
            self.erases += 1
        self._write(place * self.block_bytes, number, view)
        self._places[number] = place
        self._round[number] = True
        self._next, self._free = place + need, free - need

    def page_in(self, number: int, view: "WriteableBuffer") -> None:
        """Read a page back; raises PagerError when it is not as it was written."""
        place = self._places.get(number, -1)
        if place < 0:
            raise PagerError("page %d was not written in this step" % number)
        at, head = place * self.block_bytes, self._head
        self._read_head(at)
        if not self._is_head() or _get(head, 4, 2) != number or _get(head, 8, 4) != len(view):
            raise PagerError("page %d at byte %d is not there any more" % (number, at))
        at += HEADER_BYTES
        for part in self._split(view):
            self.medium.readinto(at, part)
            at += len(part)
        self._sum(view, len(view))
        for i in range(4):
            if self._crc[i] != head[20 + i]:
                raise PagerError("page %d at byte %d is damaged" % (number, at))

    # ---- wear ------------------------------------------------------------------------------

    def blocks_for(self, size: int) -> int:
        """Blocks that a page of so many bytes takes."""
        return (HEADER_BYTES + size + self.block_bytes - 1) // self.block_bytes

    def erases_left(self) -> int | None:
        """Erases that the budget leaves, or None without one."""
        return self.erase_budget - self.erases if self.erase_budget else None

    def __repr__(self):
        left = self.erases_left()
        return "Pager(%d blocks of %d bytes): %d bytes written, %d erases, %s" % (
            self.blocks,
            self.block_bytes,
            self.written_bytes,
            self.erases,
            "no limit" if left is None else "%d left" % left,
        )

    # ---- the region ------------------------------------------------------------------------

    def _resume(self):
        """Find the newest header: the erases so far, and where to go on."""
        newest = -1
        for block in range(self.blocks):
            self._read_head(block * self.block_bytes)
            if not self._is_head():
                continue
            sequence = _get(self._head, 12, 4)
            if sequence > newest:
                newest = sequence
                self.erases = max(self.erases, _get(self._head, 16, 4))
                self._next = block + self.blocks_for(_get(self._head, 8, 4))
        self._sequence = newest + 1

    def _read_head(self, at):
        try:
            self.medium.readinto(at, self._head)
        except OSError:
            self._head[0] = 0

    def _is_head(self):
        head = self._head
        for i in range(4):
            if head[i] != _MAGIC[i]:
                return False
        self._sum(head, 28)
        for i in range(4):
            if head[28 + i] != self._crc[i]:
                return False
        return True

    def _write(self, at, number, view):
        head, n, start = self._head, len(view), at
        self._sum(view, n)
        for i in range(HEADER_BYTES):
            head[i] = 0
        for i in range(4):
            head[i] = _MAGIC[i]
            head[20 + i] = self._crc[i]
        _put(head, 4, 2, number)
        _put(head, 8, 4, n)
        _put(head, 12, 4, self._sequence)
        _put(head, 16, 4, min(self.erases, _COUNT_MAX))
        self._sum(head, 28)
        for i in range(4):
            head[28 + i] = self._crc[i]
        at += HEADER_BYTES
        for part in self._split(view):
            self._program(at, part)
            at += len(part)
        # the header comes last: a page that was cut off has none
        self.medium.program(start, head)
        self._sequence += 1
        self.written_bytes += n

    def _program(self, at, part):
        """Program a part; the end of a page is filled up to a whole unit."""
        if len(part) % len(self._tail) == 0:
            self.medium.program(at, part)
            return
        for i in range(len(self._tail)):
            self._tail[i] = part[i] if i < len(part) else 255
        self.medium.program(at, self._tail)

    def _split(self, view):
        """Parts of a view that stay within a block, kept: later steps allocate nothing."""
        for known, parts in self._parts:
            if known is view:
                return parts
        parts, at, n = [], 0, len(view)
        whole = n - n % self.medium.unit
        room = self.block_bytes - HEADER_BYTES
        while at < whole:
            end = min(whole, at + room)
            parts.append(view[at:end])
            at, room = end, self.block_bytes
        if at < n:
            parts.append(view[at:n])
        if len(self._parts) > 4 * len(self._places) + 4:  # of a view that came only once
            self._parts.pop(0)
        self._parts.append((view, parts))
        return parts

    def _sum(self, data, n):
        crc.start(self._crc)
        crc.update(self._crc, data, 0, n)
        crc.finish(self._crc)


def _get(data, at, size):
    value = 0
    for i in range(size - 1, -1, -1):
        value = value << 8 | data[at + i]
    return value


def _put(data, at, size, value):
    for i in range(size):
        data[at + i] = value & 255
        value >>= 8
