# SPDX-License-Identifier: MIT
"""What every driver has from `Flash`: bounds, reading back, and one more try where it helps."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

import sys

from refusal import raised

from acclimate.flash import BlockFlash, FlashError
from acclimate.flash.base import Flash

PAGE, SIZE = 128, 512


class Chip(Flash):
    """Flash in RAM that does as it is told.

    ``faults``: what the next calls of a driver do instead: "raise", or "skip": nothing; for
    "program" also a bytearray of what arrives. ``calls``: (name, place, bytes) of all.
    """

    def __init__(self, size=SIZE, page=PAGE, unit=4, is_mapped=False, tries=True):
        super().__init__(size, page, unit)
        self._tries = tries
        self.data = bytearray(b"\xff" * size)
        self.faults = {"read": [], "program": [], "erase": []}
        self.calls = []
        if is_mapped:
            self.view = memoryview(self.data)

    def _next(self, name, at, n):
        self.calls.append((name, at, n))
        fault = self.faults[name].pop(0) if self.faults[name] else None
        if fault == "raise":
            raise OSError(5)
        if fault == "failed":
            raise FlashError("its own words")
        return fault

    def _read(self, at, buffer):
        self._next("read", at, len(buffer))
        for i in range(len(buffer)):
            buffer[i] = self.data[at + i]

    def _program(self, at, buffer):
        fault = self._next("program", at, len(buffer))
        arrives = buffer if fault is None else b"" if fault == "skip" else fault
        for i in range(len(arrives)):
            self.data[at + i] &= arrives[i]

    def _erase(self, at):
        if self._next("erase", at, self.erase_bytes) is None:
            for i in range(self.erase_bytes):
                self.data[at + i] = 255

    def count(self, name):
        return len([call for call in self.calls if call[0] == name])


def chips(**options):
    for is_mapped in (False, True):
        yield Chip(is_mapped=is_mapped, **options)


# ---- what a flash may be, and bounds -----------------------------------------------------------


def test_a_flash_is_whole_pages_of_whole_checks_of_whole_units():
    for size, page, unit in ((0, 128, 4), (64, 128, 4), (192, 128, 4), (127, 128, 4)):
        assert "whole pages" in raised(ValueError, Flash, size, page, unit)
    for size, page, unit in ((192, 96, 4), (128, 32, 4), (128, 128, 3), (128, 128, 128)):
        assert "parts of 64" in raised(ValueError, Flash, size, page, unit)
    for size, page, unit in ((128, 128, 64), (64, 64, 1), (4096, 1024, 16)):
        made = Flash(size, page, unit)
        assert (made.size, made.erase_bytes, made.unit) == (size, page, unit)
        assert made.view is None and made.mapped(0, 1) is None
    assert Flash(64, 64).unit == 4


def test_nothing_outside_of_it_is_touched():
    for chip in chips():
        for at, n in ((-1, 1), (-4, 4), (SIZE, 1), (SIZE - 3, 4), (0, SIZE + 4), (SIZE + 4, 0)):
            assert "of %d" % SIZE in raised(ValueError, chip.readinto, at, bytearray(n))
            assert raised(ValueError, chip.program, at, bytes(n))
        for at in (-PAGE, SIZE, SIZE - PAGE + 1):
            raised(ValueError, chip.erase, at)
        for at, n in ((2, 4), (4, 2), (0, 1), (1, 3)):
            assert "not units of 4" in raised(ValueError, chip.program, at, bytes(n))
        for at in (1, 4, 64, PAGE + 64):
            assert "no start of a page" in raised(ValueError, chip.erase, at)
        assert chip.calls == []
        for at, n in ((0, 0), (SIZE, 0), (SIZE - 1, 1), (0, SIZE)):
            chip.readinto(at, bytearray(n))
        chip.program(SIZE, b"")
        chip.program(0, bytes(SIZE))
        assert chip.data == bytes(SIZE)
        chip.erase(SIZE - PAGE)
        assert chip.data == bytes(SIZE - PAGE) + b"\xff" * PAGE


def test_bytes_are_read_from_where_they_are():
    for chip in chips():
        for i in range(SIZE):
            chip.data[i] = i * 7 & 255
        for at, n in ((0, 1), (63, 2), (100, 200), (SIZE - 1, 1)):
            buffer = bytearray(n)
            chip.readinto(at, buffer)
            assert buffer == chip.data[at : at + n]


# ---- what did not arrive is seen ---------------------------------------------------------------


def lengths():
    """(place, bytes) of programs, also near the end, where the window of a check moves down."""
    for at in (0, 4, 60, 64, 68, SIZE - 8, SIZE - 64, SIZE - 68, SIZE - 200):
        for n in (4, 60, 64, 68, 132, 200):
            if at + n <= SIZE:
                yield at, n


def test_every_byte_of_a_program_is_read_back():
    for is_mapped in (False, True):
        for at, n in lengths():
            for wrong in (0, 1, n // 2, n - 1):
                chip = Chip(is_mapped=is_mapped, tries=False)
                whole = bytes(i * 5 & 127 for i in range(n))
                bad = bytearray(whole)
                bad[wrong] ^= 128
                chip.faults["program"] = [bad]
                told = raised(FlashError, chip.program, at, whole)
                assert "byte %d did not keep" % (at + wrong) in told, (at, n)
                assert chip.count("program") == 1
            chip = Chip(is_mapped=is_mapped, tries=False)
            chip.program(at, whole)
            assert bytes(chip.data[at : at + n]) == whole and chip.count("program") == 1


def test_reading_back_stays_inside_and_takes_whole_pieces():
    for n in (1, 2, 63):
        chip = Chip(unit=1)
        chip.program(SIZE - n, bytes(n))
        assert [call[1:] for call in chip.calls if call[0] == "read"] == [(SIZE - 64, 64)]
    chip = Chip()
    chip.program(SIZE - 68, bytes(68))
    assert [call[1:] for call in chip.calls if call[0] == "read"] == [
        (SIZE - 68, 64),
        (SIZE - 64, 64),
    ]
    for chip in chips():
        chip.program(0, bytes(200))
        assert chip.count("read") == (0 if chip.view is not None else 4)


def test_a_page_that_is_not_blank_after_its_erase_is_an_error():
    for chip in chips():
        for at in (0, 1, 63, 64, PAGE - 1):
            for value in (0, 127, 254):
                chip.data[PAGE + at] = value
                chip.faults["erase"] = ["skip"]
                assert "page %d" % PAGE in raised(FlashError, chip.erase, PAGE)
                chip.data[PAGE + at] = 255
        chip.data[PAGE - 1] = chip.data[2 * PAGE] = 0  # of its neighbours
        chip.faults["erase"] = ["skip"]
        chip.erase(PAGE)


def test_blank_is_all_255():
    for chip in chips():
        for at, n in ((0, 64), (64, 128), (SIZE - 64, 64), (0, SIZE)):
            assert chip.is_blank(at, n) is True
            for wrong in (at, at + 1, at + n - 1):
                chip.data[wrong] = 254
                assert chip.is_blank(at, n) is False
                chip.data[wrong] = 255
            for beside in (at - 1, at + n):
                if 0 <= beside < SIZE:
                    chip.data[beside] = 0
                    assert chip.is_blank(at, n) is True
                    chip.data[beside] = 255
        chip.data[0] = 7
        for i in range(1, 64):
            chip.data[i] = 7  # all the same, but not 255
        assert chip.is_blank(0, 64) is False
        assert (chip.count("read") == 0) is (chip.view is not None)  # it is looked at in place


# ---- one more try ------------------------------------------------------------------------------


def test_a_driver_that_fails_once_is_asked_again():
    for name, call in (
        ("read", lambda chip: chip.readinto(4, bytearray(4))),
        ("erase", lambda chip: chip.erase(PAGE)),
        ("program", lambda chip: chip.program(8, b"abcd")),
    ):
        chip = Chip()
        chip.faults[name] = ["raise"]
        call(chip)
        assert chip.count(name) == 2
        chip = Chip(tries=False)
        chip.faults[name] = ["raise"]
        assert "driver fails at" in raised(FlashError, call, chip)
        assert chip.count(name) == 1
        chip = Chip()
        chip.faults[name] = ["raise"] * 2
        assert "driver fails at" in raised(FlashError, call, chip)
        assert chip.count(name) == 2
        chip = Chip()
        chip.faults[name] = ["failed"] * 2  # what a driver says itself stays as it is
        assert raised(FlashError, call, chip) == "its own words"


def test_only_the_units_that_did_not_arrive_are_programmed_again():
    whole = bytes(range(40))
    for unit in (4, 8):
        for missing in ((0,), (1,), (3,), (0, 2), (1, 2, 3)):
            for chip in chips(unit=unit):
                arrives = bytearray(whole)
                for place in missing:
                    for i in range(unit):
                        arrives[place * unit + i] = 255
                chip.faults["program"] = [arrives]
                chip.program(64, whole)
                assert bytes(chip.data[64:104]) == whole
                again = [call[1:] for call in chip.calls if call[0] == "program"][1:]
                assert again == [(64 + place * unit, unit) for place in missing]


def test_of_a_unit_that_arrived_in_part_all_is_programmed_again():
    whole = bytes(range(40))
    for chip in chips():
        arrives = bytearray(whole)
        arrives[18] = arrives[31] = 255
        chip.faults["program"] = [arrives]
        chip.program(64, whole)
        assert bytes(chip.data[64:104]) == whole
        again = [call[1:] for call in chip.calls if call[0] == "program"][1:]
        assert again == [(64 + 16, 4), (64 + 28, 4)]


def test_a_unit_is_programmed_twice_at_the_most():
    for fault in ("skip", "raise"):
        for chip in chips():
            chip.faults["program"] = ["skip", fault]
            told = raised(FlashError, chip.program, 8, b"abcd")
            assert "keep" in told if fault == "skip" else "driver fails at 8:" in told
            assert chip.count("program") == 2 and bytes(chip.data[8:12]) == b"\xff" * 4


def test_a_bit_that_is_0_already_cannot_be_helped():
    """The unit is left alone, and so are those behind it: the page is spoilt."""
    for chip in chips():
        chip.data[12] = 0
        assert "byte 12 did not" in raised(FlashError, chip.program, 8, b"abcdefgh")
        assert chip.count("program") == 1
        chip.faults["program"] = [b"\xff" * 8]  # nothing of it arrives
        raised(FlashError, chip.program, 8, b"abcdefgh")
        assert [call[1] for call in chip.calls if call[0] == "program"] == [8, 8]


# ---- block devices -----------------------------------------------------------------------------


class Device:
    """A block device with the offset form; `answers` are what its calls return."""

    def __init__(self, blocks=6, block=PAGE):
        self.block, self.blocks = block, blocks
        self.data = bytearray(b"\xff" * (blocks * block))
        self.answer = None

    def readblocks(self, number, buffer, offset):
        at = number * self.block + offset
        for i in range(len(buffer)):
            buffer[i] = self.data[at + i]
        return self.answer

    def writeblocks(self, number, buffer, offset):
        at = number * self.block + offset
        for i in range(len(buffer)):
            self.data[at + i] &= buffer[i]
        return self.answer

    def ioctl(self, what, number):
        if what == 6:
            for i in range(self.block):
                self.data[number * self.block + i] = 255
            return 0 if self.answer is None else self.answer
        return {4: self.blocks, 5: self.block}[what]


def test_a_region_lies_within_its_device():
    for first, blocks, size in ((0, 0, 6), (2, 0, 4), (2, 3, 3), (5, 1, 1)):
        flash = BlockFlash(Device(), first=first, blocks=blocks)
        assert flash.size == size * PAGE and flash.erase_bytes == PAGE
    for first, blocks in ((-1, 0), (0, 7), (4, 3), (6, 1), (7, 0)):
        raised(ValueError, lambda f=first, b=blocks: BlockFlash(Device(), first=f, blocks=b))


def test_each_block_of_a_region_is_that_of_the_device():
    device = Device()
    flash = BlockFlash(device, first=2, blocks=3)
    for at in (0, 64, PAGE, 2 * PAGE + 124):
        flash.program(at, b"abcd")
        assert bytes(device.data[2 * PAGE + at : 2 * PAGE + at + 4]) == b"abcd"
        back = bytearray(4)
        flash.readinto(at, back)
        assert back == b"abcd"
    flash.erase(PAGE)
    assert bytes(device.data[3 * PAGE : 3 * PAGE + 4]) == b"\xff" * 4
    assert bytes(device.data[2 * PAGE : 2 * PAGE + 4]) == b"abcd"
    assert bytes(device.data[5 * PAGE - 4 : 5 * PAGE]) == b"abcd"


def test_what_a_driver_answers_is_heeded():
    for answer, is_good in (
        (None, True),
        (True, True),
        (0, True),
        (False, False),
        (-5, False),
        (1, False),
        (5, False),
    ):
        device = Device()
        flash = BlockFlash(device)
        device.answer = answer
        calls = (
            lambda f=flash: f.readinto(0, bytearray(4)),
            lambda f=flash: f.erase(0),
            lambda f=flash: f.program(0, b"abcd"),
        )
        for call in calls:
            if is_good:
                call()
            else:
                assert "answers %s at 0" % answer in raised(FlashError, call)


def test_a_device_without_a_size_is_named():
    class Broken(Device):
        def ioctl(self, what, number):
            raise OSError(19)

    assert "no size" in raised(FlashError, BlockFlash, Broken())


def test_a_device_in_the_address_space_is_read_in_place():
    if sys.implementation.name != "cpython":
        return  # a class of Python is no buffer there

    class Mapped(bytearray):
        ioctl, block, blocks, answer = Device.ioctl, PAGE, 6, None
        readblocks, writeblocks = Device.readblocks, Device.writeblocks
        data = property(lambda self: self)

    device = Mapped(b"\xff" * 6 * PAGE)
    flash = BlockFlash(device, first=2, blocks=3)
    assert len(flash.view) == 3 * PAGE
    flash.program(PAGE + 4, b"abcd")
    assert bytes(flash.view[PAGE + 4 : PAGE + 8]) == bytes(device[3 * PAGE + 4 : 3 * PAGE + 8])
    assert bytes(flash.mapped(PAGE + 4, 4)) == b"abcd"
    assert flash.is_blank(0, PAGE) and not flash.is_blank(PAGE, PAGE)
