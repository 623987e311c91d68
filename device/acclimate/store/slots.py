# SPDX-License-Identifier: MIT
"""Two slots of whole erase pages, and the sequential writer of one of them."""

from acclimate import _buffers
from acclimate.flash import FlashError
from acclimate.store.capsule import CapsuleError

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_HEAD_MAX = const(144)
# layout: end
JOURNAL_PAGES = 2


class Slots:
    """Where the slots are, and one write at a time into one of them.

    :param chunk: a bytearray that collects what is written; its length divides a page.
    """

    def __init__(self, flash, chunk):
        pages = flash.size // flash.erase_bytes
        self.flash = flash
        self.pages = (pages - JOURNAL_PAGES) // 2
        if self.pages * flash.erase_bytes < _HEAD_MAX:
            raise ValueError("region of %d pages: 4 or more, a slot has 144 bytes" % pages)
        n = len(chunk)  # the section table, which it holds as well, has at most 28
        if n < 32 or flash.erase_bytes % n or n % flash.unit:
            raise ValueError("chunk of %d bytes: 32 or more that divide a page" % n)
        self.bytes = self.pages * flash.erase_bytes
        self._chunk = chunk
        self._unit = bytearray(flash.unit)
        self._start = 0
        self._fill = 0
        self.written = 0
        self.limit = 0

    def start(self, slot):
        """Return where a slot starts in the flash."""
        return (JOURNAL_PAGES + slot * self.pages) * self.flash.erase_bytes

    def pages_of(self, n):
        """Return how many pages n bytes take."""
        return (n + self.flash.erase_bytes - 1) // self.flash.erase_bytes

    def erase(self, slot, first, last):
        """Erase the pages last - 1 down to first: the header goes last, so it vouches for all."""
        page = last - 1
        while page >= first:
            self.flash.erase(self.start(slot) + page * self.flash.erase_bytes)
            page -= 1

    def spoil(self, slot):
        """Mark a slot whose model was refused or failed: its first unit becomes 0."""
        for i in range(len(self._unit)):
            self._unit[i] = 0
        try:
            self.flash.program(self.start(slot), self._unit)
        except FlashError:
            pass  # the journal has it as well

    def resume_at(self, slot, total):
        """Return the start of the last page that holds any data: from there on to write again."""
        page = self.pages_of(total) - 1
        size = self.flash.erase_bytes
        while page > 0 and self.flash.is_blank(self.start(slot) + page * size, size):
            page -= 1
        return page * size

    def open(self, slot, at, total):
        """Start to write a slot at an offset (start of a page); total bytes are the limit."""
        self._start = self.start(slot)
        self._fill = 0
        self.written = at
        self.limit = total

    def write(self, data, n):
        """Add the first n bytes of data; refuse one that is more than declared."""
        if n > len(data):
            raise ValueError("write: expected at most %d bytes, got %d" % (len(data), n))
        if self.written + n > self.limit:
            raise CapsuleError("oversized", "more than the %d bytes declared" % self.limit)
        if self._fits_whole(data, n):
            self.flash.program(self._start + self.written, data)
            self.written += n
            return
        size, done = len(self._chunk), 0
        while done < n:
            part = min(size - self._fill, n - done)
            _buffers.copy(self._chunk, self._fill, data, done, part)
            self._fill += part
            done += part
            self.written += part
            if self._fill == size:
                self.flash.program(self._start + self.written - size, self._chunk)
                self._fill = 0

    def close(self):
        """Program what is left over, filled up with 255 to whole units."""
        if self.written != self.limit:
            raise CapsuleError("truncated", "%d of %d bytes" % (self.written, self.limit))
        unit, size = self._unit, len(self._unit)
        at = self._start + self.written - self._fill
        i = 0
        while i < self._fill:
            for k in range(size):
                unit[k] = self._chunk[i + k] if i + k < self._fill else 255
            self.flash.program(at + i, unit)
            i += size
        self._fill = 0

    def _fits_whole(self, data, n):
        page = self.flash.erase_bytes
        if self._fill or n != len(data) or n % self.flash.unit or not n:
            return False
        # The chunk that follows must start at a multiple of its length.
        return self.written % page + n <= page and n % len(self._chunk) == 0
