# SPDX-License-Identifier: MIT
"""The journal's records and two pages, byte by byte, and what it does when the flash fails."""

# RUNTIMES = ("cpython", "desktop")

from nor import NorFlash
from refusal import raised

from acclimate import _crc as crc
from acclimate.flash import FlashError
from acclimate.store.journal import (
    CONFIRMED,
    EMPTY,
    ROLLED_BACK,
    STAGED,
    TRIAL,
    VERIFIED,
    Journal,
)

PAGE = 128
HEAD = 40
PLACES = (PAGE - HEAD) // 12 - 1  # records of a page; the last place is spare
SLOT_PAGES = 3


class Failing(NorFlash):
    """The next programs at these addresses do not arrive, but for zeros where they pass."""

    lost = ()
    zeros_pass = False

    def _program(self, at, buffer):
        if at not in self.lost or (self.zeros_pass and not any(buffer)):
            super()._program(at, buffer)


def fresh(kind=NorFlash, **options):
    return Journal(kind(8 * PAGE, PAGE, **options), SLOT_PAGES)


def begun(kind=NorFlash):
    journal = fresh(kind)
    assert journal.load() is False
    journal.append(EMPTY, 0, False, 0)
    return journal


def again(journal, slot_pages=SLOT_PAGES):
    other = Journal(journal.flash, slot_pages)
    other.is_loaded = other.load()
    return other


def place(index):
    """Where a record is in each of the two pages."""
    return HEAD + 12 * index, PAGE + HEAD + 12 * index


def is_twice(journal):
    data = journal.flash.data
    return data[:PAGE] == data[PAGE : 2 * PAGE]


FIELDS = (
    "state slot has_other boots version floor erases day day_erases "
    "generation verdict parity keys manifest _next"
).split()


def fields(journal):
    """All but the version where the record has none."""
    values = [getattr(journal, name) for name in FIELDS]
    if journal.state in (STAGED, VERIFIED, EMPTY):
        values[4] = 0
    return values


def number(data, at):
    return data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24


def crc_of(data):
    out = bytearray(4)
    crc.start(out)
    crc.update(out, data, 0, len(data))
    crc.finish(out)
    return bytes(out)


def test_states_have_their_numbers():
    assert (STAGED, VERIFIED, TRIAL, CONFIRMED, ROLLED_BACK, EMPTY) == (1, 2, 3, 4, 5, 6)


def test_a_blank_region_has_no_journal():
    journal = again(fresh())
    assert not journal.is_loaded
    assert fields(journal) == [EMPTY, 0, False, 0] + [0] * 7 + [[0, 0], 0, 0, 0]


def test_the_first_page_is_as_documented():
    journal = begun()
    page = bytes(journal.flash.data[:PAGE])
    assert page[:4] == b"AJNL" and number(page, 4) == 1
    assert page[8:20] == bytes(12) and page[20:36] == bytes((SLOT_PAGES,)) + bytes(15)
    assert page[36:40] == crc_of(page[:36])
    assert page[40:] == b"\xff" * (PAGE - 40)
    assert is_twice(journal) and journal.flash.erases == [1, 1] + [0] * 6
    journal = again(journal)
    assert journal.is_loaded and journal.generation == 1 and journal.state == EMPTY


def test_a_record_is_as_documented():
    journal = begun()
    journal.append(TRIAL, 1, True, 5, 0x01020304)
    record = bytes(journal.flash.data[40:52])
    assert record[:8] == bytes((0, 0, TRIAL, 1 | 2 | 5 << 2, 4, 3, 2, 1))
    assert record[8:12] == crc_of(bytes((1, 0, 0, 0)) + record[:8])
    journal.append(STAGED, 0, False, 0, 9, 0x1234, 0x15678)
    record = bytes(journal.flash.data[52:64])
    assert record[:8] == bytes((1, 0, STAGED, 0, 0x34, 0x12, 0x78, 0x56))
    journal.append(VERIFIED, 1, True, 0, 9, 0x1234, 2)
    record = bytes(journal.flash.data[64:76])
    assert record[:8] == bytes((2, 0, VERIFIED, 3, 0x34, 0x12, 2, 0))
    assert is_twice(journal)


def test_a_record_may_have_a_low_half_of_0():
    """It is then no version."""
    journal = begun()
    journal.append(VERIFIED, 1, True, 0, 0x50009, 0, 3)
    assert bytes(journal.flash.data[44:48]) == b"\0\0\3\0"
    for one in (journal, again(journal)):
        assert one.parity == [0, 0] and one.verdict == 3
    journal.append(STAGED, 0, True, 0, 0x50009, 0, 7)
    for one in (journal, again(journal)):
        assert (one.day, one.erases, one.day_erases, one.verdict) == (7, 0, 0, 0)
    journal.append(TRIAL, 0, True, 0, 0x50009)
    assert journal.version == again(journal).version == 0x50009


def test_every_record_is_read_as_it_was_written():
    for unit in (4, 16):
        journal = fresh(unit=unit)
        journal.append(EMPTY, 0, False, 0)
        version = 0
        for state in (STAGED, VERIFIED, TRIAL, CONFIRMED, ROLLED_BACK):
            for slot, has_other, boots in ((0, False, 0), (1, True, 60), (1, False, 1)):
                version += 0x10001
                counted = (2, 3) if state in (STAGED, VERIFIED) else ()
                journal.append(state, slot, has_other, boots, version, *counted)
                found = again(journal)
                assert fields(found) == fields(journal)
                assert (found.state, found.slot) == (state, slot)
                assert (found.has_other, found.boots) == (has_other, boots)
                assert counted or found.version == version
                if state == VERIFIED:
                    assert (found.parity[slot], found.verdict) == (2, 3)
                elif state == STAGED:
                    assert (found.parity[slot], found.verdict) == (0, 0)


def test_parity_and_verdict_survive_the_change_of_pages():
    journal = begun()
    journal.append(VERIFIED, 0, True, 0, 0, 0x1111, 0)
    journal.append(VERIFIED, 1, True, 0, 0, 0x2222, 5)
    for _ in range(2 * PLACES):
        journal.append(TRIAL, 1, True, 0, 8)
        found = again(journal)
        assert found.parity == journal.parity == [0x1111, 0x2222]
        assert found.verdict == journal.verdict == 5
    assert journal.generation == 3


def test_a_slot_that_is_written_anew_has_no_parity_and_no_verdict():
    journal = begun()
    journal.append(VERIFIED, 1, True, 0, 0, 0x2222, 5)
    journal.append(TRIAL, 1, True, 0, 8)
    journal.append(STAGED, 1, True, 0, 0, 3, 1)
    for one in (journal, again(journal)):
        assert one.parity == [0, 0] and one.verdict == 0 and one.floor == 8


def test_the_floor_is_the_highest_version_that_was_tried():
    journal = begun()
    for state, version, floor in (
        (VERIFIED, 9, 0),
        (TRIAL, 5, 5),
        (ROLLED_BACK, 4, 5),
        (CONFIRMED, 6, 6),
        (CONFIRMED, 4, 6),
        (TRIAL, 6, 6),
    ):
        journal.append(state, 0, True, 0, version)
        assert journal.floor == again(journal).floor == floor
        assert state == VERIFIED or journal.version == again(journal).version == version


def test_erases_are_summed_and_those_of_a_day_too():
    journal = begun()
    for day, pages, erases, of_day in ((1, 3, 3, 3), (1, 2, 5, 5), (2, 4, 9, 4), (1, 1, 10, 1)):
        journal.append(STAGED, 0, False, 0, 0, pages, day)
        for one in (journal, again(journal)):
            assert (one.erases, one.day, one.day_erases) == (erases, day, of_day)
        assert again(journal).version == 0
    journal.append(STAGED, 0, False, 0, 0, 0xFFF0, 1)
    journal.append(STAGED, 0, False, 0, 0, 0xFFF0, 1)
    assert journal.day_erases == again(journal).day_erases == 0xFFFF
    assert journal.erases == 10 + 2 * 0xFFF0


def test_sums_survive_the_change_of_pages():
    """No record is counted twice, whichever is the one that starts a page."""
    for start in range(4):
        journal = begun()
        for _ in range(start):
            journal.append(VERIFIED, 1, True, 0, 3)
        for count in range(40):
            if count % 3:
                journal.append(CONFIRMED, count & 1, True, 0, 1000 + count)
            else:
                journal.append(STAGED, 1, count % 2 == 0, 0, 0, 2, count // 9)
            assert fields(again(journal)) == fields(journal)
        assert journal.erases == 2 * 14 and journal.floor == 1000 + 38
        assert journal.day == 39 // 9 and journal.day_erases == 2 * 2


def test_pages_take_turns_when_they_are_full():
    """Each begins anew in one page while the other one still counts, then in the other one."""
    journal = begun()
    for count in range(1, 5 * PLACES):
        journal.append(CONFIRMED, 0, False, 0, count)
        # the first page has PLACES records, each later one begins with the state it was made for
        assert journal.generation == 1 + (count - 1) // PLACES
        assert journal._at == (journal.generation - 1) % 2 * PAGE
        assert is_twice(journal)
        assert journal.flash.erases == [journal.generation] * 2 + [0] * 6


def test_the_page_of_the_higher_generation_counts():
    """As a cut leaves it after the first of the two was begun anew."""
    for is_whole in (True, False):
        journal = begun()
        for count in range(PLACES):
            journal.append(CONFIRMED, 1, True, 0, count + 1)
        old = bytes(journal.flash.data[:PAGE])
        journal.append(CONFIRMED, 1, True, 0, PLACES + 1)
        assert journal._at == PAGE and journal.generation == 2
        journal.flash.data[:PAGE] = old
        if not is_whole:  # then the older page still tells the state before
            journal.flash.data[PAGE] = 0
        found = again(journal)
        assert found.is_loaded and found.version == PLACES + is_whole
        assert found.generation == 1 + is_whole
        assert found.note == "journal: a damaged page is made anew" and is_twice(found)
        assert again(found).note == "" and fields(again(found)) == fields(found)


def test_any_flipped_bit_of_a_page_s_header_makes_it_no_page():
    journal = begun()
    journal.append(CONFIRMED, 1, True, 0, 5)
    good, data = bytes(journal.flash.data), journal.flash.data
    for at in range(HEAD):
        for bit in (1, 128):
            data[at] ^= bit
            data[PAGE + at] ^= bit
            assert not again(journal).is_loaded, at
            data[: len(good)] = good
            for page in (0, PAGE):  # one that is whole makes the other anew
                data[page + at] ^= bit
                found = again(journal)
                assert found.is_loaded and fields(found) == fields(journal)
                assert found.note and data == good, at
    assert again(journal).note == ""


def test_a_page_whose_numbers_are_above_30_bits_is_no_page():
    for at in (4, 8, 12, 28, 32):
        for top, is_loaded in ((64, False), (63, True)):
            journal = begun()
            data = journal.flash.data
            for page in (0, PAGE):
                data[page + at + 3] = top
                data[page + 36 : page + 40] = crc_of(bytes(data[page : page + 36]))
            assert again(journal).is_loaded is is_loaded, at


def test_a_page_with_a_right_sum_but_other_letters_is_no_page():
    for at in range(4):
        journal = begun()
        data = journal.flash.data
        for page in (0, PAGE):
            data[page + at] ^= 1
            data[page + 36 : page + 40] = crc_of(bytes(data[page : page + 36]))
        assert not again(journal).is_loaded, at


def test_a_journal_of_another_layout_is_not_read():
    journal = begun()
    assert again(journal).is_loaded
    for pages in (SLOT_PAGES - 1, SLOT_PAGES + 1, SLOT_PAGES + 256):
        assert not again(journal, pages).is_loaded


def test_any_flipped_bit_of_a_record_makes_it_torn():
    """In both pages the state before counts; in one the other page makes it anew."""
    journal = begun()
    journal.append(CONFIRMED, 0, False, 0, 5)
    journal.append(TRIAL, 1, True, 2, 6)
    good, data = bytes(journal.flash.data), journal.flash.data
    here, there = place(1)
    for at in range(12):
        for bit in (1, 128):
            data[here + at] ^= bit
            data[there + at] ^= bit
            found = again(journal)
            assert found.is_loaded and found._next == 2, at
            assert (found.state, found.slot, found.version) == (CONFIRMED, 0, 5)
            data[: len(good)] = good
            for one in (here, there):
                data[one + at] ^= bit
                found = again(journal)
                assert fields(found) == fields(journal)
                assert found.note and data == good, at
    assert again(journal).note == ""


def sealed(journal, index, body):
    """Put a record with a right sum for generation 1 at a place of both pages."""
    for at in place(index):
        journal.flash.data[at : at + 8] = body
        journal.flash.data[at + 8 : at + 12] = crc_of(bytes((1, 0, 0, 0)) + bytes(body))


def test_a_record_of_an_unknown_state_or_another_place_is_torn():
    for body, torn in (
        (b"\0\0\x00\0\5\0\0\0", 1),
        (b"\0\0\x07\0\5\0\0\0", 1),
        (b"\1\0\x04\0\5\0\0\0", 1),
        (b"\0\1\x04\0\5\0\0\0", 1),
        (b"\0\0\x01\0\5\0\0\0", 0),
        (b"\0\0\x06\0\5\0\0\0", 0),
        (b"\0\0\x04\0\5\0\0\0", 0),
    ):
        journal = begun()
        sealed(journal, 0, body)
        found = again(journal)
        assert found.is_loaded and found._next == 1, body
        assert found.state == (EMPTY if torn else body[2])
        assert (found.version, found.erases) == (
            5 if not torn and body[2] != STAGED else 0,
            5 if not torn and body[2] == STAGED else 0,
        )


def test_a_record_of_the_page_s_former_life_is_torn():
    journal = begun()
    for count in range(2 * PLACES + 1):
        journal.append(CONFIRMED, 0, False, 0, count + 1)
    assert journal.generation == 3 and journal._at == 0
    sealed(journal, journal._next, bytes((journal._next, 0, TRIAL, 1, 9, 0, 0, 0)))
    found = again(journal)
    assert found._next == journal._next + 1
    assert found.state == CONFIRMED and found.version == 2 * PLACES + 1


def test_after_three_blank_places_nothing_is_looked_for():
    for blank, is_found in ((0, True), (1, True), (2, True), (3, False)):
        for lead in (0, 1):
            journal = begun()
            for _ in range(lead):
                journal.append(CONFIRMED, 0, False, 0, 5)
            at = lead + blank
            sealed(journal, at, bytes((at, 0, TRIAL, 1, 9, 0, 0, 0)))
            found = again(journal)
            assert (found.version == 9) is is_found, (blank, lead)
            assert found._next == (at + 1 if is_found else lead)


def test_blanks_are_counted_anew_after_each_record():
    journal = begun()
    for at in (2, 5):
        sealed(journal, at, bytes((at, 0, TRIAL, 1, at, 0, 0, 0)))
    assert PLACES == 6 and again(journal).version == 5


def test_the_spare_place_of_a_page_is_no_record():
    journal = begun()
    for count in range(PLACES):
        journal.append(CONFIRMED, 0, False, 0, count + 1)
    sealed(journal, PLACES, bytes((PLACES, 0, TRIAL, 1, 99, 0, 0, 0)))
    found = again(journal)
    assert (found.version, found.state, found._next) == (PLACES, CONFIRMED, PLACES)


def test_a_record_is_taken_from_a_page_whose_header_is_damaged():
    """A record of one page and the header of the other: together they are whole."""
    for index in range(3):
        for header in (0, 1):
            journal = begun()
            for version in (5, 6, 7):
                journal.append(CONFIRMED, 0, False, 0, version)
            data = journal.flash.data
            data[header * PAGE + 20] ^= 1
            data[place(index)[1 - header] + 4] ^= 1
            found = again(journal)
            assert found.is_loaded and fields(found) == fields(journal)


class Unreadable(NorFlash):
    """Some addresses cannot be read; which are read is kept."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.lost, self.reads = (), []

    def mapped(self, at, n):
        return None

    def _read(self, at, buffer):
        self.reads.append(at)
        if at in self.lost:
            raise OSError(5)
        super()._read(at, buffer)


def unreadable(lost, prepare=lambda journal: None):
    journal = fresh(Unreadable)
    journal.flash.view = None
    for version in (5, 6):
        journal.append(CONFIRMED, 0, False, 0, version)
    prepare(journal)
    journal.flash.lost = lost
    return journal


def test_what_cannot_be_read_may_be_the_newest_so_nothing_is_made_of_the_rest():
    """Nor is anything written over it."""
    for index in (0, 1, 2):
        for lost in (place(index), place(index)[:1], place(index)[1:]):
            journal = unreadable(lost)
            before = bytes(journal.flash.data)
            found = again(journal)
            assert not found.is_loaded and "cannot be read" in found.note, index
            try:
                found.append(TRIAL, 1, True, 0, 9)
            except FlashError:
                assert bytes(journal.flash.data) == before
            else:
                raise AssertionError("expected FlashError")
            journal.flash.lost = ()  # it was the driver
            assert again(journal).version == 6


def test_records_of_an_older_page_are_not_read():
    def turned(journal):
        for version in range(7, 7 + PLACES):
            old = bytes(journal.flash.data[:PAGE])
            journal.append(CONFIRMED, 0, False, 0, version)
            if journal.generation == 2:
                journal.flash.data[:PAGE] = old  # a cut before the second page was begun
                break

    journal = unreadable([place(index)[0] for index in range(PLACES)], turned)
    version = journal.version
    found = again(journal)
    assert found.is_loaded and found.version == version and found.generation == 2


def test_of_a_full_page_that_cannot_be_read_the_other_one_is_kept():
    """The next record begins anew in the page that lacks one, while the whole one still counts."""
    for index in range(PLACES):
        here, there = place(index)
        for lost, kept in ((here, there), (there, here)):
            journal = fresh(Unreadable)
            journal.flash.view = None
            journal.append(EMPTY, 0, False, 0)
            for version in range(PLACES):
                journal.append(CONFIRMED, 0, False, 0, 5 + version)
            journal.flash.lost = (lost,)
            found = again(journal)
            assert found.is_loaded and found.version == 4 + PLACES
            assert found._at == kept // PAGE * PAGE, index


def test_where_each_page_lacks_what_the_other_has_neither_is_erased():
    """Together they are whole; a page made anew would lose what only it has."""
    for first, second in ((0, 1), (1, 0)):
        journal = begun()
        for version in (5, 6, 7):
            journal.append(CONFIRMED, 0, False, 0, version)
        data = journal.flash.data
        data[place(first)[0] + 4] ^= 1
        data[place(second)[1] + 4] ^= 1
        erases = list(journal.flash.erases)
        found = again(journal)
        assert fields(found) == fields(journal) and found.note == ""
        assert journal.flash.erases == erases


def test_a_record_that_only_the_page_without_a_header_has_takes_its_place():
    for here in (0, 1):
        journal = begun()
        for version in (5, 6):
            journal.append(CONFIRMED, 0, False, 0, version)
        data = journal.flash.data
        data[(1 - here) * PAGE + 20] ^= 1  # its header
        at = place(1)[here]
        data[at : at + 12] = b"\xff" * 12  # it did not arrive in the page that counts
        found = again(journal)
        assert found.version == 6 and found._next == 2
        found.append(TRIAL, 1, True, 0, 7)
        assert again(found).version == 7 and is_twice(found)


def test_a_journal_that_could_not_be_read_is_there_once_the_driver_works():
    journal = unreadable(place(1))
    found = again(journal)
    journal.flash.lost = ()
    raised(FlashError, found.append, TRIAL, 1, True, 0, 9)  # it was made for what was not known
    assert (found.state, found.version) == (CONFIRMED, 6)
    found.append(TRIAL, 1, True, 0, 9)
    assert again(journal).version == 9


def test_what_lies_in_a_page_without_a_header_takes_no_place():
    """It was never a page of this journal, or is worn: it is made anew, and not gone around."""
    for version in (0, 5):
        journal = begun()
        if version:
            journal.append(CONFIRMED, 0, False, 0, version)
        journal.flash.data[PAGE : 2 * PAGE] = bytes(PAGE)
        found = again(journal)
        assert found._next == journal._next and fields(found) == fields(journal)
        assert is_twice(found)


def test_after_a_torn_record_the_next_place_is_used():
    for torn in (place(1), place(1)[:1], place(1)[1:]):
        journal = begun()
        journal.append(CONFIRMED, 0, False, 0, 5)
        for at in torn:
            journal.flash.data[at] = 0xFE  # a cut after the first bits
        journal = again(journal)
        assert (journal._next, journal.version) == (2, 5)
        journal.append(TRIAL, 1, True, 0, 6)
        found = again(journal)
        assert (found._next, found.version, found.state) == (3, 6, TRIAL)


def test_a_place_that_does_not_keep_its_record_is_passed_over():
    for spoilt in (1, 2):
        journal = begun(Failing)
        journal.append(CONFIRMED, 0, False, 0, 5)
        journal.flash.lost = [at for i in range(spoilt) for at in place(1 + i)]
        journal.append(TRIAL, 1, True, 0, 6)
        assert journal._next == 2 + spoilt and journal.generation == 1
        assert journal.state == TRIAL and journal.version == 6
        assert fields(again(journal)) == fields(journal)


def test_a_place_that_one_page_does_not_keep_is_in_the_other():
    for lost in place(1):
        journal = begun(Failing)
        journal.append(CONFIRMED, 0, False, 0, 5)
        journal.flash.lost = [lost]
        journal.append(TRIAL, 1, True, 0, 6)
        assert journal.note == "journal: a page is worn"
        found = again(journal)
        assert fields(found) == fields(journal)
        assert (found.state, found.version, found.generation) == (TRIAL, 6, 1)
        journal.flash.lost = ()  # it was no wear
        found = again(journal)
        assert found.version == 6 and is_twice(found)


def test_after_three_spoilt_places_the_other_page_is_used():
    journal = begun(Failing)
    journal.append(CONFIRMED, 0, False, 0, 5)
    journal.flash.lost = [at for i in range(3) for at in place(1 + i)]
    journal.append(TRIAL, 1, True, 0, 6)
    assert journal._at == PAGE and journal.generation == 2 and journal._next == 1
    found = again(journal)
    assert fields(found) == fields(journal)
    assert (found.state, found.version, found.floor) == (TRIAL, 6, 6)


def test_a_record_that_the_flash_does_not_keep_leaves_the_state_before():
    """What the flash holds is what counts, in this object too."""
    journal = begun(Failing)
    for count in range(PLACES):
        journal.append(CONFIRMED, 0, True, 0, 5 + count)
    before = fields(journal)
    journal.flash.lost = range(2 * PAGE)
    for state, options in ((TRIAL, (1, True, 2, 99)), (STAGED, (1, True, 0, 0, 3, 8))):
        try:
            journal.append(state, *options)
        except FlashError:
            assert fields(journal) == before == fields(again(journal))
        else:
            raise AssertionError("expected FlashError")
    journal.flash.lost = ()
    journal.append(TRIAL, 1, True, 0, 99)
    assert fields(again(journal)) == fields(journal) and journal.floor == 99


def test_a_page_that_is_worn_leaves_the_journal_to_the_other():
    for worn in (0, PAGE):
        journal = begun(Failing)
        journal.flash.lost = range(worn, worn + PAGE)
        for count in range(4 * PLACES):
            journal.append(CONFIRMED, 0, True, 0, 5 + count)
            assert journal.note == "journal: a page is worn"
            assert journal._at == PAGE - worn
            assert fields(again(journal)) == fields(journal)


def test_a_page_without_its_record_never_counts():
    """The header is programmed last."""
    order = []

    class Watched(NorFlash):
        def _program(self, at, buffer):
            order.append(at)
            super()._program(at, buffer)

    journal = begun(Watched)
    for count in range(PLACES + 1):
        journal.append(CONFIRMED, 0, False, 0, count + 1)
    assert order[-4:] == [PAGE + HEAD, PAGE, HEAD, 0]
    order.clear()
    journal = begun(Watched)  # without a model a page has no record
    assert order == [0, PAGE]


def test_a_page_that_keeps_no_record_is_an_error():
    journal = begun(Failing)
    for count in range(PLACES):
        journal.append(CONFIRMED, 0, True, 0, 5 + count)
    journal.flash.lost = [at for i in range(3) for at in place(i)]
    journal.flash.zeros_pass = True
    try:
        journal.append(TRIAL, 1, True, 0, 99)
    except FlashError as error:
        assert "journal page at 0 keeps no record" in str(error)
    else:
        raise AssertionError("expected FlashError")
    assert journal.state == EMPTY and not again(journal).is_loaded


class Dead(NorFlash):
    """The driver raises at every call of these kinds."""

    dead = ""

    def mapped(self, at, n):
        return None

    def _read(self, at, buffer):
        if "read" in self.dead:
            raise OSError(5)
        super()._read(at, buffer)

    def _program(self, at, buffer):
        if "program" in self.dead:
            raise OSError(5)
        super()._program(at, buffer)

    def _erase(self, at):
        if "erase" in self.dead:
            raise OSError(5)
        super()._erase(at)


def test_a_driver_that_fails_for_good_costs_no_record():
    """Also where the only state of the only page is in its first record."""
    for dead in ("read", "program", "erase", "program erase"):
        for floors in (1, PLACES - 1):
            for is_twice in (True, False):
                journal = begun(Dead)
                journal.flash.view = None
                journal.append(CONFIRMED, 1, True, 0, 5)
                journal._is_twice = is_twice
                for count in range(floors):
                    journal.keep(8, 10 + count, 0)
                journal.flash.dead = dead
                for count in range(3):
                    try:
                        journal.keep(8, 100 + count, 0)
                    except FlashError:
                        pass
                journal.flash.dead = ""
                found = again(journal)
                assert (found.state, found.slot, found.version) == (CONFIRMED, 1, 5), dead
                assert found.manifest >= 9 + floors


def test_a_spare_place_that_was_tried_in_part_is_tried_again():
    """What a cut left there does not say that the driver works."""
    for left in (b"\0" * 6, b"\xff" * 6 + b"\0" * 6, b"\0"):
        journal = begun(Dead)
        journal.flash.view = None
        journal.append(CONFIRMED, 1, True, 0, 5)
        journal._is_twice = False
        for count in range(PLACES - 1):
            journal.keep(8, 10 + count, 0)
        spare = place(PLACES)[0]
        journal.flash.data[spare : spare + len(left)] = left
        journal.flash.dead = "program"
        raised(FlashError, journal.keep, 8, 100, 0)
        journal.flash.dead = ""
        found = again(journal)
        assert (found.state, found.version, found.manifest) == (CONFIRMED, 5, 8 + PLACES)


# ---- floors of manifests and of key lists ------------------------------------------------------


def test_floors_change_no_state_and_outlive_all_records():
    for state in (EMPTY, STAGED, VERIFIED, TRIAL, CONFIRMED, ROLLED_BACK):
        journal = begun()
        counted = (2, 3) if state in (STAGED, VERIFIED) else ()
        kept = (0, False, 0) if state == EMPTY else (1, True, 4)
        journal.append(state, *kept, 0x10002, *counted)
        before = fields(journal)[:9]
        before += [journal.parity, journal.verdict]
        journal.keep(8, 0x1234, 0x3F)
        journal.keep(7, 9, 0)
        for _ in range(3 * PLACES):
            found = again(journal)
            assert (found.manifest, found.keys) == (0x3F1234, 9)
            after = fields(found)[:9] + [found.parity, found.verdict]
            assert after == before, state
            journal.keep(7, 9, 0)
        assert found.generation > 1 and is_twice(journal)


def test_a_floor_of_manifests_never_falls():
    journal = begun()
    journal.keep(8, 7, 0)
    journal.keep(8, 3, 0)
    assert journal.manifest == again(journal).manifest == 7


def test_a_new_epoch_begins_versions_and_manifests_anew():
    journal = begun()
    journal.append(CONFIRMED, 0, False, 0, 0x3FFFFFFF)
    journal.keep(8, 7, 0)
    journal.keep(7, 1, 0)  # the same epoch changes nothing
    assert journal.floor == 0x3FFFFFFF and journal.manifest == 7
    journal.keep(7, 2, 1)
    for _ in range(2 * PLACES):
        found = again(journal)
        assert (found.floor, found.manifest, found.keys) == (0, 0, 0x10002)
        assert found.state == CONFIRMED
        journal.keep(7, 2, 1)
    journal.append(TRIAL, 1, True, 0, 5)
    journal.keep(7, 3, 1)  # the next list of this epoch leaves it
    assert journal.floor == again(journal).floor == 5 and again(journal).keys == 0x10003
