# SPDX-License-Identifier: MIT
"""Drivers of the boards' own flash, each on a model of what its documentation says.

Where the real thing is here (a file, vfs.rom_ioctl, raw flash of an emulated board) it is used.
"""

# NOT_ON = {"samd21": "the models and all drivers need more than its 32 KB"}

import os
import sys

from acclimate.flash import (
    CardFlash,
    FileFlash,
    FlashError,
    NvmFlash,
    SamdFlash,
    open_esp32,
    open_flash,
    open_nrf,
    open_romfs,
)
from acclimate.flash.romfs import region


def raises(kind, call, *args, **options):
    try:
        call(*args, **options)
    except kind as error:
        return str(error)
    raise AssertionError("nothing raised")


def works(flash, other_page=True):
    """What a Store needs of any flash."""
    page = flash.erase_bytes
    flash.erase(0)
    assert flash.is_blank(0, page)
    first = bytes(range(64))
    flash.program(0, first)
    flash.program(page - 64, first)
    back = bytearray(64)
    flash.readinto(page - 64, back)
    assert back == first
    if other_page:
        flash.erase(page)
        flash.program(page, first)
        flash.erase(0)
        flash.readinto(page, back)
        assert back == first and flash.is_blank(0, page)


class Blocks:
    """esp32.Partition and nrf.Flash: with an offset, writing only clears bits."""

    def __init__(self, size, block=4096):
        self.data = bytearray(size)
        self.block = block
        self.fails = None

    def readblocks(self, number, buffer, offset=0):
        at = number * self.block + offset
        buffer[:] = self.data[at : at + len(buffer)]

    def writeblocks(self, number, buffer, offset=None):
        at = number * self.block + (offset or 0)
        if offset is None:
            self.ioctl(6, number)
        if self.fails:
            raise self.fails
        for i, byte in enumerate(buffer):
            self.data[at + i] &= byte

    def ioctl(self, what, number):
        if what == 6:
            at = number * self.block
            self.data[at : at + self.block] = b"\xff" * self.block
        return {4: len(self.data) // self.block, 5: self.block}.get(what, 0)


class Partition(Blocks):
    kind, label, encrypted = 1, "capsule", False

    def info(self):
        return self.kind, 0x99, 0x200000, len(self.data), self.label, self.encrypted

    @classmethod
    def find(cls, type=0, subtype=255, label=None):
        return [cls(16384)] if (type, label) == (1, cls.label) else []


class Encrypted(Partition):
    encrypted = True


class Application(Partition):
    kind = 0


def test_partition_of_an_esp32():  # case: E4
    flash = open_esp32(partition=Partition)
    assert flash.size == 16384 and flash.erase_bytes == 4096
    works(flash)
    assert "no data partition 'other'" in raises(FlashError, open_esp32, "other", Partition)
    assert "encrypted" in raises(FlashError, open_esp32, partition=Encrypted)
    assert "type 0" in raises(FlashError, open_esp32, partition=Application)


def test_error_of_the_driver_reaches_the_caller():  # case: D9
    flash = open_esp32(partition=Partition)
    flash._device.fails = OSError(-258)
    raises(OSError, flash.program, 0, b"1234")


class Nrf:
    """The module nrf of MicroPython 1.28 and later."""

    unused = 20480 + 100

    def unused_flash_start(self):
        return 0xC0000

    def unused_flash_length(self):
        return self.unused

    def Flash(self, *, start, len):
        assert start % 4096 == 0 and len % 4096 == 0
        return Blocks(len)


class OldNrf:
    Flash = Nrf.Flash


def test_unused_pages_of_an_nrf52():
    flash = open_nrf(nrf=Nrf())
    assert flash.size == 20480
    works(flash)
    assert open_nrf(0xE0000, 16384, Nrf()).size == 16384
    assert "four pages" in raises(FlashError, open_nrf, 0xE0000, 8192, Nrf())
    assert "four pages" in raises(FlashError, open_nrf, 0xE0010, 16384, Nrf())
    assert "1.28" in raises(FlashError, open_nrf, nrf=OldNrf())


class Controller:
    """NVMCTRL of the SAM D21: rows of 256 bytes, pages of 64, a page buffer, status bits."""

    def __init__(self, start, size):
        self.start, self.size = start, size
        self.memory = bytearray(b"\xa5" * size)
        self.buffer = bytearray(b"\xff" * 64)
        self.manual = 0
        self.address = 0
        self.status = 0
        self.programs = [9] * (size // 256)
        self.locked = False
        self.ready = 1
        self.busy = 0  # looks at its flag before it is ready again

    def command(self, value):
        self.idle()
        self.busy = 3
        at = self.address * 2 - self.start
        if value >> 8 != 0xA5 or not 0 <= at < self.size:
            self.status |= 4  # PROGE
        elif value & 127 == 0x44:
            self.buffer[:] = b"\xff" * 64
        elif self.locked:
            self.status |= 8  # LOCKE
        elif value & 127 == 2:
            row = at // 256
            self.memory[row * 256 : row * 256 + 256] = b"\xff" * 256
            self.programs[row] = 0
        elif value & 127 == 4:
            assert self.manual, "a page written by the hardware on its own"
            self.programs[at // 256] += 1
            assert self.programs[at // 256] <= 8, "more than 8 programs of a row"
            for i in range(64):
                self.memory[at - at % 64 + i] &= self.buffer[i]
            self.buffer[:] = b"\xff" * 64
        else:
            self.status |= 4

    def flag(self):
        self.busy = max(0, self.busy - 1)
        return 0x12 | (self.ready and not self.busy)

    def idle(self):
        assert not self.busy, "the controller is at work"


class Memory:
    """machine.mem8, mem16 or mem32 over the Controller."""

    BASE = 0x41004000

    def __init__(self, controller, width):
        self.c, self.width = controller, width

    def __getitem__(self, address):
        if address == self.BASE + 0x14 and self.width == 1:
            return self.c.flag()
        self.c.idle()
        if address == self.BASE + 0x18:
            return self.c.status
        assert address == self.BASE + 4
        return 0x1E | self.c.manual

    def __setitem__(self, address, value):
        c, width = self.c, self.width
        c.idle()
        if address == self.BASE and width == 2:
            c.command(value)
        elif address == self.BASE + 4 and width == 2:
            assert value & ~0x80 == 0x1E, "the wait states are another's"
            c.manual = value & 0x80
        elif address == self.BASE + 0x18 and width == 2:
            c.status &= ~value
        elif address == self.BASE + 0x1C and width == 4:
            c.address = value
        else:
            assert width > 1 and c.start <= address < c.start + c.size, "in bytes, or outside"
            at = (address - c.start) % 64
            c.buffer[at] &= value & 255
            c.buffer[at + 1] &= value >> 8


def samd(start=0x3C000, size=4096):
    c = Controller(start, size)
    mem = tuple(Memory(c, width) for width in (1, 2, 4))
    return c, SamdFlash(start, size, mem=mem, memory=c.memory)


def test_registers_of_a_samd21():
    c, flash = samd()
    works(flash)
    assert flash.erase_bytes == 1024 and flash.unit == 64
    for at in range(0, 1024, 64):
        flash.program(at, bytes(64))
    assert max(c.programs[:4]) == 4
    raises(ValueError, flash.program, 16, bytes(16))
    raises(ValueError, samd, 0x3C100)
    assert bytes(flash.mapped(1024, 3)) == bytes(range(3))


def test_fault_of_the_samd21_controller_is_raised():
    c, flash = samd()
    c.locked = True
    assert "status 8" in raises(FlashError, flash.erase, 0)
    c.locked = False
    flash.erase(0)
    c.ready = 0
    assert "not ready" in raises(FlashError, flash.program, 0, bytes(64))


def test_page_buffer_of_a_samd21_holds_what_is_given_alone():
    """Others may have left something in it; a record may have several pages."""
    c, flash = samd()
    data = bytes(range(7, 199))
    flash.erase(0)
    c.buffer[:] = bytes(64)
    flash.program(0, data)
    assert c.memory[:192] == data and flash.is_blank(192, 832)
    assert c.programs[0] == 3
    assert bytes(flash.view) == bytes(c.memory)


def test_region_of_a_samd21_begins_behind_the_firmware():
    for start in (0, -1024, 1023, 512, 0x3C001):
        call = lambda: SamdFlash(start, 4096, mem=((), (), ()), memory=b"")  # noqa: B023, E731
        assert "not a multiple of 1024" in raises(ValueError, call)


def test_samd21_without_arguments_asks_the_firmware():
    c, asked = Controller(0x3C000, 4096), []

    class Machine:
        mem8, mem16, mem32 = [Memory(c, width) for width in (1, 2, 4)]

    class Addresses:
        @staticmethod
        def bytearray_at(start, size):
            asked.append((start, size))
            return c.memory

    named = {"machine": Machine, "uctypes": Addresses}
    before = {name: sys.modules.get(name) for name in named}
    sys.modules.update(named)
    try:
        flash = SamdFlash(0x3C000, 4096)
        assert asked == [(0x3C000, 4096)]
        works(flash)
        given = bytearray(c.memory)
        assert bytes(SamdFlash(0x3C000, 4096, memory=given).mapped(0, 9)) == bytes(given[:9])
        assert len(asked) == 1
    finally:
        for name, module in before.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module


def test_byte_array_that_circuitpython_keeps():
    flash = NvmFlash(bytearray(1100))
    assert flash.size == 1024
    works(flash)
    part = NvmFlash(bytearray(1100), 64, 512)
    assert part.size == 512
    works(part)
    raises(ValueError, NvmFlash, bytearray(1100), 700, 512)
    raises(ValueError, NvmFlash, bytearray(100))


class Card:
    """machine.SDCard: whole blocks of 512 bytes; it may answer late, or lose a block."""

    def __init__(self, blocks):
        self.data = bytearray(blocks * 512)
        self.writes = 0
        self.late = 0

    def readblocks(self, number, buffer):
        assert len(buffer) == 512
        buffer[:] = self.data[number * 512 : number * 512 + 512]

    def writeblocks(self, number, buffer):
        assert len(buffer) == 512
        if self.late:
            self.late -= 1
            return -110
        self.writes += 1
        self.data[number * 512 : number * 512 + 512] = buffer

    def ioctl(self, what, number):
        return {4: len(self.data) // 512, 5: 512}.get(what)


def test_card_of_whole_blocks():  # case: K6
    card = Card(40)
    flash = CardFlash(card, first=8)
    assert flash.size == 16384
    works(flash)
    assert card.data[: 8 * 512] == bytes(8 * 512)
    card.late = 4
    flash.program(256, b"abcd")
    card.late = 5
    assert "-110" in raises(FlashError, flash.program, 260, b"abcd")
    raises(ValueError, CardFlash, card, 8, 40)
    raises(ValueError, CardFlash, card, 0, 0, 768)


def test_region_of_romfs_that_is_missing_is_named():  # case: F4
    assert "0 bytes" in raises(FlashError, region, 0, lambda *args: 1 if args == (1,) else b"")
    assert "no number 2" in raises(FlashError, region, 2, lambda *args: 1)
    assert "no number 0 (-22)" in raises(FlashError, region, 0, lambda *args: args[0] - 2 or -22)
    try:
        from vfs import rom_ioctl  # noqa: F401
    except ImportError:
        assert "no ROMFS" in raises(FlashError, region)
        return
    try:
        print(len(region()), "bytes of ROMFS here")
    except FlashError as error:
        assert "ROMFS" in str(error)


def test_region_of_romfs_is_used_page_by_page():
    device = Blocks(16384)
    works(open_romfs(rom_ioctl=lambda *args: 1 if args == (1,) else device))
    device.data[:4] = b"\xd2\xcd\x31\x08"
    used = "holds a ROMFS image"
    options = {"rom_ioctl": lambda *args: 1 if args == (1,) else device}
    assert used in raises(FlashError, open_romfs, **options)
    works(open_romfs(overwrite=True, **options))


def test_flash_is_found_by_what_the_board_can_do():
    path = "acclimate_open_test.bin"
    text = ""
    try:
        flash = open_flash(path)
    except FlashError as error:
        text = str(error)
        flash = None
    if flash is None:
        for name in ("esp32", "nrf", "romfs", "file", "nvm"):
            assert name + ": " in text
        try:
            flash = open_flash(path, 4 * 4096)
        except FlashError as error:
            return "no writable file system: %s" % error
    try:
        works(flash)
        assert isinstance(flash, FileFlash)
        flash.close()
        again = open_flash(path)
        assert again.size == 4 * 4096
        again.close()
    finally:
        os.remove(path)
