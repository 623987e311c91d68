# SPDX-License-Identifier: MIT
"""The journal: two pages of records, of which the newest valid one tells the state.

A page counts only once its header is whole, which is programmed last; the older page is
erased only when its successor is needed. So a cut leaves the record before or the one after.
"""

from acclimate import _crc as crc
from acclimate.flash import FlashError
from acclimate.store.capsule import number, put_number

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_P_GENERATION = const(4)
_P_FLOOR = const(8)
_P_ERASES = const(12)
_P_DAY = const(16)
_P_DAY_ERASES = const(18)
_P_SLOT_PAGES = const(20)
_P_CRC = const(24)
_P_BYTES = const(28)
_R_SEQUENCE = const(0)
_R_STATE = const(2)
_R_SLOT = const(3)
_R_LOW = const(4)
_R_HIGH = const(6)
_R_CRC = const(8)
_R_BYTES = const(12)
_ST_STAGED = const(1)
_ST_TRIAL = const(3)
_ST_CONFIRMED = const(4)
_ST_EMPTY = const(6)
# layout: end

STAGED = 1
VERIFIED = 2
TRIAL = 3
CONFIRMED = 4
ROLLED_BACK = 5
EMPTY = 6
_TRIES = const(3)


class Journal:
    """The state of a region, kept in its first two pages.

    ``state``, ``slot`` (0 or 1), ``has_other``, ``boots`` and ``version`` are those of the
    newest record; ``floor``, ``erases`` and ``day_erases`` are sums over all.
    """

    def __init__(self, flash, slot_pages):
        self.flash = flash
        self.slot_pages = slot_pages
        self._page = bytearray(_round(_P_BYTES, flash.unit))
        self._record = bytearray(_round(_R_BYTES, flash.unit))
        self._crc = bytearray(4)
        self._generation = bytearray(4)
        self.torn = 0  # places that a cut has spoilt in this page
        self.journal_erases = 0
        self._clear()

    def _clear(self):
        self._at = 0  # start of the page in use
        self._next = 0  # place of the next record in it
        self.generation = 0
        self.state, self.slot, self.has_other, self.boots = EMPTY, 0, False, 0
        self.version = self.floor = self.erases = self.day = self.day_erases = 0

    def load(self):
        """Read the state; return False when neither page is valid."""
        self._clear()
        best = -1
        for at in (0, self.flash.erase_bytes):
            if self._load_page(at) and number(self._page, _P_GENERATION) > self.generation:
                self.generation = number(self._page, _P_GENERATION)
                best = at
        if best < 0:
            return False
        self._load_page(best)
        self._at = best
        page = self._page
        put_number(self._generation, 0, self.generation)
        self.floor = number(page, _P_FLOOR)
        self.erases = number(page, _P_ERASES)
        self.day = _half(page, _P_DAY)
        self.day_erases = _half(page, _P_DAY_ERASES)
        self._load_records()
        return True

    def append(self, state, slot, has_other, boots, version=0, pages=0, day=0):
        """Make a state the newest one; it counts once this returns.

        Without a valid page (``load`` gave False) this starts a new journal.
        """
        self.state, self.slot, self.has_other, self.boots = state, slot, has_other, boots
        low, high = version & 0xFFFF, version >> 16
        if state == STAGED:
            low, high = pages, day & 0xFFFF
        self._count(state, low, high)
        try:
            if not self.generation or not self._write(low, high):
                self._compact(low, high)
        except FlashError:
            self.load()  # what the flash holds is what counts
            raise

    def _places(self):
        return (self.flash.erase_bytes - len(self._page)) // len(self._record)

    def _load_page(self, at):
        page = self._page
        self.flash.readinto(at, page)
        if page[0] != 65 or page[1] != 74 or page[2] != 78 or page[3] != 76:
            return False
        if min(number(page, _P_FLOOR), number(page, _P_ERASES)) < 0:
            return False
        return self._check(page, _P_CRC, False) and _half(page, _P_SLOT_PAGES) == self.slot_pages

    def _load_records(self):
        self.torn = 0
        self._next = 0
        while self._next < self._places():
            record = self._record
            self.flash.readinto(self._place(self._next), record)
            if _blank(record):
                break
            known = 1 <= record[_R_STATE] <= _ST_EMPTY and _half(record, _R_SEQUENCE) == self._next
            if known and self._check(record, _R_CRC, True):
                self._take(record)
            else:
                self.torn += 1
            self._next += 1

    def _take(self, record):
        self.state = record[_R_STATE]
        bits = record[_R_SLOT]
        self.slot, self.has_other, self.boots = bits & 1, bool(bits & 2), bits >> 2
        self._count(self.state, _half(record, _R_LOW), _half(record, _R_HIGH))

    def _count(self, state, low, high):
        if state == _ST_STAGED:
            self.erases += low
            if high != self.day:
                self.day, self.day_erases = high, 0
            self.day_erases = min(self.day_erases + low, 0xFFFF)
            return
        self.version = low | high << 16
        if (state == _ST_TRIAL or state == _ST_CONFIRMED) and self.version > self.floor:
            self.floor = self.version

    def _write(self, low, high):
        """Program a record at the next place, or at one after where places are spoilt.

        Return False where the page is full, or spoilt too often: the other page is next.
        """
        for _ in range(_TRIES):
            if self._next >= self._places():
                return False
            self._fill(low, high)
            place = self._next
            self._next += 1
            try:
                self.flash.program(self._place(place), self._record)
                return True
            except FlashError:
                self.torn += 1
        return False

    def _fill(self, low, high):
        record = self._record
        for i in range(len(record)):
            record[i] = 255
        _put_half(record, _R_SEQUENCE, self._next)
        record[_R_STATE] = self.state
        record[_R_SLOT] = self.slot | (2 if self.has_other else 0) | self.boots << 2
        _put_half(record, _R_LOW, low)
        _put_half(record, _R_HIGH, high)
        self._seal(record, _R_CRC, True)

    def _compact(self, low=0, high=0):
        """Go on in the other page: erase it, program the state, and last its header."""
        if self.generation:
            self._at = self.flash.erase_bytes - self._at
        self.flash.erase(self._at)
        self.journal_erases += 1
        self.generation += 1
        put_number(self._generation, 0, self.generation)
        self._next = 0
        self.torn = 0
        if self.state != _ST_EMPTY and not self._write(low, high):
            raise FlashError("flash: journal page at %d keeps no record" % self._at)
        self._program_page(low if self.state == _ST_STAGED else 0)

    def _program_page(self, counted):
        # The record that follows counts its own pages; they are not counted twice.
        page = self._page
        for i in range(len(page)):
            page[i] = 255
        page[0], page[1], page[2], page[3] = 65, 74, 78, 76
        put_number(page, _P_GENERATION, self.generation)
        put_number(page, _P_FLOOR, self.floor)
        put_number(page, _P_ERASES, self.erases - counted)
        _put_half(page, _P_DAY, self.day)
        _put_half(page, _P_DAY_ERASES, max(0, self.day_erases - counted))
        _put_half(page, _P_SLOT_PAGES, self.slot_pages)
        _put_half(page, _P_SLOT_PAGES + 2, 0)
        self._seal(page, _P_CRC, False)
        self.flash.program(self._at, page)

    def _place(self, index):
        return self._at + len(self._page) + index * len(self._record)

    def _sum(self, buffer, n, keyed):
        crc.start(self._crc)
        if keyed:
            crc.update(self._crc, self._generation, 0, 4)
        crc.update(self._crc, buffer, 0, n)
        crc.finish(self._crc)

    def _seal(self, buffer, at, keyed):
        self._sum(buffer, at, keyed)
        for i in range(4):
            buffer[at + i] = self._crc[i]

    def _check(self, buffer, at, keyed):
        self._sum(buffer, at, keyed)
        for i in range(4):
            if buffer[at + i] != self._crc[i]:
                return False
        return True


def _half(buffer, at):
    return buffer[at] | buffer[at + 1] << 8


def _put_half(buffer, at, value):
    buffer[at] = value & 255
    buffer[at + 1] = value >> 8 & 255


def _blank(buffer):
    for byte in buffer:
        if byte != 255:
            return False
    return True


def _round(n, unit):
    return (n + unit - 1) // unit * unit
