# SPDX-License-Identifier: MIT
"""The page store on a file, a raw flash region, a card, serial RAM and over a line."""
# NOT_ON = {"samd21": "files, cards and the test need more than its 32 KB"}

import os
import sys

from page_cases import check_medium, page, raises

from acclimate.flash import BlockFlash, FileFlash, FlashError
from acclimate.pager import Card, Files, Host, Pager, SpiRam


def test_file():  # case: D4
    path = "acclimate_pages_test.bin"
    try:
        flash = FileFlash(path, 2048, erase_bytes=256)
    except OSError as error:
        return "no writable file system: %s" % error
    try:
        size = os.stat(path)[6]
        check_medium(flash)
        assert os.stat(path)[6] == size == 2048
        flash.close()
    finally:
        os.remove(path)


def test_files_of_a_block_each():
    folder = "acclimate_pages_test"
    try:
        medium = Files(folder, 8, 512)
    except OSError as error:
        return "no writable file system: %s" % error
    try:
        files = sorted(os.listdir(folder))
        check_medium(medium, 700, locked=hasattr(sys.implementation, "_mpy"))
        assert sorted(os.listdir(folder)) == files == [str(i) for i in range(8)]
        for name in files:
            assert os.stat(folder + "/" + name)[6] == 512
        medium.close()
        again = Files(folder, 8, 512)  # what is there stays
        assert Pager(again).erases > 0
        again.close()
        assert "not a multiple of 64" in raises(ValueError, Files, folder, 8, 100)
        assert "not whole blocks" in raises(ValueError, Files, folder, 0, 512)
        assert "8 of 8" not in raises(FlashError, Files, folder + "/0", 8, 512)
    finally:
        for i in range(8):
            os.remove("%s/%d" % (folder, i))
        os.rmdir(folder)


def test_board_flash_region():
    try:
        import qboard
    except ImportError:
        return "no raw flash here"
    flash = BlockFlash(qboard.Flash(qboard.RAW_START, 4 * qboard.PAGE_BYTES))
    check_medium(flash, 5000, locked=True)


class Blocks:
    """A card of 16 blocks."""

    def __init__(self):
        self.data = bytearray(16 * 512)
        self.answer = 0

    def readblocks(self, block, buffer):
        buffer[:] = self.data[block * 512 : block * 512 + len(buffer)]
        return self.answer

    def writeblocks(self, block, buffer):
        self.data[block * 512 : block * 512 + len(buffer)] = buffer
        return self.answer

    def ioctl(self, what, block):
        return 16


def test_card():
    card = Blocks()
    pager = check_medium(Card(card, 4, 8), 700)
    assert not any(card.data[: 4 * 512]) and not any(card.data[12 * 512 :])
    card.answer = -5
    assert "driver answers -5" in raises(FlashError, pager.page_out, 0, page(0))
    assert "the card has 16" in raises(ValueError, Card, card, 10, 7)


class Spi:
    """A serial RAM; the pin tells where a command begins."""

    def __init__(self, size):
        self.data, self.command, self.at = bytearray(size), b"", 0

    def value(self, level):
        self.command = b""

    def write(self, data):
        if not self.command:
            self.command = bytes(data)
            self.at = self.command[1] << 16 | self.command[2] << 8 | self.command[3]
            return
        assert self.command[0] == 2
        self.data[self.at : self.at + len(data)] = data

    def readinto(self, buffer):
        assert self.command[0] == 3
        buffer[:] = self.data[self.at : self.at + len(buffer)]


def test_spi_ram():
    spi = Spi(4096)
    check_medium(SpiRam(spi, spi, 4096), 300)
    raises(ValueError, SpiRam, spi, spi, 100)


class Wire:
    """The other end of the line, as acclimate_host.connect.pages serves it."""

    def __init__(self, size):
        self.data, self.put, self.answer = bytearray(size), b"", b""
        self.silent = False

    def write(self, data):
        self.put += bytes(data)
        head = self.put
        if len(head) < 10:
            return
        at, n = head[2] | head[3] << 8, head[6] | head[7] << 8
        if head[1] == 114:
            self.answer, self.put = bytes(self.data[at : at + n]), b""
        elif len(head) == 10 + n:
            self.data[at : at + n] = head[10:]
            self.answer, self.put = b"k", b""

    def readinto(self, buffer):
        if self.silent:
            return 0
        buffer[:] = self.answer[: len(buffer)]
        return len(buffer)


def test_host_over_a_line():
    wire = Wire(4096)
    pager = check_medium(Host(wire, 4096), 300)
    wire.silent = True
    assert "no answer" in raises(FlashError, pager.page_out, 0, page(0))
