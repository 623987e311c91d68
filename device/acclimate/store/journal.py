# SPDX-License-Identifier: MIT
"""The journal: two pages with the same records, of which the newest valid one tells the state.

A page counts only once its header is whole, which is programmed last. A page is erased only
while the other one holds the state. So a cut leaves the record before or the one after, and
whatever is damaged in one page is whole in the other.
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
_P_VERDICT = const(22)
_P_PARITY = const(24)
_P_KEYS = const(28)
_P_MANIFEST = const(32)
_P_CRC = const(36)
_P_BYTES = const(40)
_R_SEQUENCE = const(0)
_R_STATE = const(2)
_R_SLOT = const(3)
_R_LOW = const(4)
_R_HIGH = const(6)
_R_CRC = const(8)
_R_BYTES = const(12)
_ST_STAGED = const(1)
_ST_VERIFIED = const(2)
_ST_EMPTY = const(6)
_FLOOR_KEYS = const(7)
_FLOOR_MANIFEST = const(8)
# layout: end

STAGED = 1
VERIFIED = 2
TRIAL = 3
CONFIRMED = 4
ROLLED_BACK = 5
EMPTY = 6
_TRIES = const(3)
_BLANK = const(0)
_DAMAGED = const(1)
_WHOLE = const(2)


class Journal:
    """The state of a region, kept twice: in each of its first two pages.

    ``state``, ``slot`` (0 or 1), ``has_other``, ``boots`` and ``version`` are those of the
    newest record; ``floor``, ``erases`` and ``day_erases`` are sums over all. ``parity`` has
    the check bytes of the head of each slot (0: not known), ``verdict`` what the device made of
    the waiting model. ``note`` says what was mended.
    """

    def __init__(self, flash, slot_pages):
        self.flash = flash
        self.slot_pages = slot_pages
        self._page = bytearray(_round(_P_BYTES, flash.unit))
        self._record = bytearray(_round(_R_BYTES, flash.unit))
        self._crc = bytearray(4)
        self.parity = [0, 0]
        self._clear()

    def _clear(self):
        self._next = 0  # place of the next record in the page in use, which starts at `_at`
        self.note = ""  # while it loads: what the driver refused to read
        self.generation = 0
        self.state, self.slot, self.has_other, self.boots = EMPTY, 0, False, 0
        self.version = self.floor = self.erases = self.day = self.day_erases = self.verdict = 0
        self.keys = self.manifest = 0  # epoch << 16 | sequence of the list; sequence

    def load(self):
        """Read the state from what is whole; return False when both pages are not valid.

        A page that lacks something is made anew from the other one.
        """
        self._clear()
        first, second = self._load_page(0), self._load_page(self.flash.erase_bytes)
        self.generation = max(first, second)
        if not self.generation:
            return False
        self._at = self.flash.erase_bytes if second > first else 0
        page = self._page
        self._load_page(self._at)
        self.floor = number(page, _P_FLOOR)
        self.erases = number(page, _P_ERASES)
        self.day = _half(page, _P_DAY)
        self.day_erases = _half(page, _P_DAY_ERASES)
        self.verdict = _half(page, _P_VERDICT)
        self.keys = number(page, _P_KEYS)
        self.manifest = number(page, _P_MANIFEST)
        for i in range(2):
            self.parity[i] = _half(page, _P_PARITY + 2 * i)
        lacks = self._load_records(first == second, min(first, second) > 0)
        self._is_twice = first == second  # whether the other page holds the same
        if self._is_twice and lacks == 1:
            self._at = self._other()
        if not self.note and (not self._is_twice or 0 < lacks < 3):
            self.note = "journal: a damaged page is made anew"
            self._copy()
        return self.generation > 0

    def append(self, state, slot, has_other, boots=0, version=0, low=-1, high=0):
        """Make a state the newest one; it counts once this returns.

        Without a valid page (``load`` gave False) this starts a new journal.

        :param low: and high: of the record, instead of a version.
        :raises FlashError: neither page takes it.
        """
        self.state, self.slot, self.has_other, self.boots = state, slot, has_other, boots
        if low < 0:
            low, high = version & 0xFFFF, version >> 16
        self.keep(state, low, high & 0xFFFF)

    def keep(self, state, low, high):
        """Write a record; a floor (7: keys, 8: manifests) changes no state.

        :raises FlashError: neither page takes it.
        """
        note = self.note
        if note and not self.generation:  # not read is not empty: nothing begins anew over it
            self.load()
            raise FlashError(note)
        self._count(state, low, high)
        try:
            if not self.generation or not self._write(state, low, high):
                self._compact(state, low, high)
        except FlashError:
            self.load()  # what the flash holds is what counts
            raise

    def _other(self):
        return self.flash.erase_bytes - self._at

    def _places(self):
        # The last one is spare: see _compact.
        return (self.flash.erase_bytes - len(self._page)) // len(self._record) - 1

    def _read(self, at, buffer):
        try:
            self.flash.readinto(at, buffer)
        except FlashError:
            self.note = "flash: the journal cannot be read"
            return False
        return True

    def _load_page(self, at):
        """Read a page's header; return its generation, or 0 where it is not valid."""
        page = self._page
        if not self._read(at, page):
            return 0
        if page[0] != 65 or page[1] != 74 or page[2] != 78 or page[3] != 76:
            return 0
        for field in (_P_FLOOR, _P_ERASES, _P_KEYS, _P_MANIFEST):
            if number(page, field) < 0:
                return 0
        if not self._check(page, _P_CRC, False) or _half(page, _P_SLOT_PAGES) != self.slot_pages:
            return 0
        return max(0, number(page, _P_GENERATION))

    def _load_records(self, is_same, is_other_older):
        """Take each record from the page where it is whole.

        Return 1 when the page in use lacks one, plus 2 when the other page does.
        """
        self._next = lacks = place = blank = 0
        while place < self._places() and blank < _TRIES:
            there = _BLANK if is_other_older and not is_same else self._look(self._other(), place)
            here = self._look(self._at, place)
            if here != _WHOLE and there == _WHOLE:
                self._look(self._other(), place)
            place += 1
            if here == _WHOLE or there == _WHOLE:
                self._take(self._record)
                lacks |= (here != _WHOLE) | (there != _WHOLE) << 1
            elif self.note:  # the newest record may be just this one
                self.generation = 0
            if here or there == _WHOLE or (is_same and there):
                self._next, blank = place, 0
            else:
                blank += 1
        return lacks

    def _look(self, page, place):
        """Read a record; return whether it is whole, damaged or blank."""
        record = self._record
        if not self._read(self._place(page, place), record):
            return _DAMAGED
        if _blank(record):
            return _BLANK
        known = 1 <= record[_R_STATE] <= _FLOOR_MANIFEST and _half(record, _R_SEQUENCE) == place
        return _WHOLE if known and self._check(record, _R_CRC, True) else _DAMAGED

    def _take(self, record):
        if record[_R_STATE] <= _ST_EMPTY:
            self.state = record[_R_STATE]
            bits = record[_R_SLOT]
            self.slot, self.has_other, self.boots = bits & 1, bool(bits & 2), bits >> 2
        self._count(record[_R_STATE], _half(record, _R_LOW), _half(record, _R_HIGH))

    def _count(self, state, low, high):
        if state == _FLOOR_KEYS:
            if high != self.keys >> 16:
                self.version = self.floor = self.manifest = 0
            self.keys = low | high << 16
            return
        if state == _FLOOR_MANIFEST:
            self.manifest = max(self.manifest, low | high << 16)
            return
        if state == _ST_STAGED:
            self.erases += low
            if high != self.day:
                self.day, self.day_erases = high, 0
            self.day_erases = min(self.day_erases + low, 0xFFFF)
            self.verdict = low = high = 0
        if state == _ST_STAGED or state == _ST_VERIFIED:
            self.parity[self.slot] = low
            self.verdict = high
            return
        self.version = low | high << 16
        self.floor = max(self.floor, self.version)

    def _write(self, state, low, high):
        """Program a record into both pages, at one place after where places are spoilt.

        Return False where the page is full, or spoilt too often: it is compacted then.
        """
        for _ in range(_TRIES):
            if self._next >= self._places():
                return False
            self._fill(state, low, high)
            place = self._next
            self._next += 1
            here = self._program(self._at, place)
            there = self._is_twice and self._program(self._other(), place)
            if here or there:
                if self._is_twice and not (here and there):
                    self._at = self._at if here else self._other()
                    self._copy()
                return True
        return False

    def _program(self, page, place):
        try:
            self.flash.program(self._place(page, place), self._record)
        except FlashError:
            return False
        return True

    def _copy(self):
        """Bring the other page to what the one in use holds; one that is worn is left alone."""
        other = self._other()
        try:
            self.flash.erase(other)
            for place in range(self._next):
                if self._look(self._at, place) == _WHOLE:
                    self.flash.program(self._place(other, place), self._record)
            self.flash.program(other, self._page)
            self._is_twice = True
        except FlashError:
            self._is_twice = False
            self.note = "journal: a page is worn"

    def _fill(self, state, low, high):
        record = self._record
        for i in range(len(record)):
            record[i] = 255
        _put_half(record, _R_SEQUENCE, self._next)
        record[_R_STATE] = state
        record[_R_SLOT] = self.slot | (2 if self.has_other else 0) | self.boots << 2
        _put_half(record, _R_LOW, low)
        _put_half(record, _R_HIGH, high)
        self._seal(record, _R_CRC, True)

    def _compact(self, state, low, high):
        """Begin anew in one page, then in the other: the older one counts until then."""
        if state > _ST_EMPTY:  # the page's header has the floor; the record is that of the state
            low, high = self.version & 0xFFFF, self.version >> 16
            if self.state == _ST_STAGED:
                low, high = 0, self.day
            elif self.state == _ST_VERIFIED:
                low, high = self.parity[self.slot], self.verdict
        at, old = 0, self.flash.erase_bytes
        if self.generation:
            at, old = self._other(), self._at
        self.generation += 1
        put_number(self._page, _P_GENERATION, self.generation)
        try:
            self._begin(at, low, high)
        except FlashError:  # it is worn: only the page in use is left to begin in
            # The spare place tells, before anything is lost, whether the driver has failed.
            spare = self._place(old, self._places())
            self.flash.readinto(spare, self._record)
            if any(self._record):  # not tried before
                self.flash.program(spare, bytes(len(self._record)))
            self._begin(old, low, high)
        self._copy()

    def _begin(self, at, low, high):
        """Erase a page, program the state, and last its header."""
        self._is_twice = False
        self.flash.erase(at)
        self._at = at
        self._next = 0
        if self.state != _ST_EMPTY and not self._write(self.state, low, high):
            raise FlashError("flash: journal page at %d keeps no record" % at)
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
        _put_half(page, _P_VERDICT, self.verdict)
        put_number(page, _P_KEYS, self.keys)
        put_number(page, _P_MANIFEST, self.manifest)
        for i in range(2):
            _put_half(page, _P_PARITY + 2 * i, self.parity[i])
        self._seal(page, _P_CRC, False)
        self.flash.program(self._at, page)

    def _place(self, page, index):
        return page + len(self._page) + index * len(self._record)

    def _sum(self, buffer, n, keyed):
        crc.start(self._crc)
        if keyed:
            crc.update(self._crc, self._page, _P_GENERATION, _P_FLOOR)
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
