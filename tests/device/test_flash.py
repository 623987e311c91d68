# SPDX-License-Identifier: MIT
"""Flash drivers: reading back, files, block devices."""

import os

from nor import NorFlash

from acclimate.flash import BlockFlash, FileFlash, FlashError


def raises(kind, call, *args):
    try:
        call(*args)
    except kind as error:
        return str(error)
    raise AssertionError("nothing raised")


class Device:
    """A block device with the offset form, whose driver can be told to fail."""

    def __init__(self):
        self.nor = NorFlash(256, 64)
        self.answer = None

    def readblocks(self, block, buffer, offset):
        self.nor.readinto(block * 64 + offset, buffer)
        return self.answer

    def writeblocks(self, block, buffer, offset):
        self.nor.program(block * 64 + offset, buffer)
        return self.answer

    def ioctl(self, what, block):
        if what == 6:
            self.nor.erase(block * 64)
            return 0
        return 4 if what == 4 else 64


def test_block_device_is_used_from_its_first_block_on():  # case: D8
    device = Device()
    flash = BlockFlash(device, first=1)
    assert flash.size == 192 and flash.erase_bytes == 64
    flash.program(4, b"abcd")
    assert device.nor.data[68:72] == b"abcd"
    flash.erase(0)
    assert device.nor.erases == [0, 1, 0, 0]
    device.answer = -5
    assert "driver answers -5" in raises(FlashError, flash.program, 8, b"abcd")
    raises(ValueError, BlockFlash, device, 4, 3, 2)


def test_what_is_outside_or_not_aligned_changes_nothing():
    device = Device()
    flash = BlockFlash(device, first=1)
    flash.program(0, b"abcdefgh")
    before = bytes(device.nor.data)
    for at in (12, 32, 63, -64, 192):
        assert str(at) in raises(ValueError, flash.erase, at)
    for at, data in ((2, b"abcd"), (8, b"abc"), (-4, b"abcd"), (192, b"abcd"), (188, bytes(8))):
        assert str(at) in raises(ValueError, flash.program, at, data)
    for at, n in ((-1, 4), (189, 4), (193, 0)):
        assert str(at) in raises(ValueError, flash.readinto, at, bytearray(n))
    assert device.nor.data == before and device.nor.erases == [0, 0, 0, 0]


def test_file_keeps_what_was_programmed():
    path = "acclimate_flash_test.bin"
    try:
        flash = FileFlash(path, 1024, erase_bytes=256)
    except OSError as error:
        return "no writable file system: %s" % error
    try:
        flash.program(64, b"kept")
        flash.close()
        flash = FileFlash(path, erase_bytes=256)
        buffer = bytearray(4)
        flash.readinto(64, buffer)
        assert buffer == b"kept" and flash.size == 1024
        flash.erase(0)
        assert flash.is_blank(0, 256)
        flash.close()
        raises(ValueError, FileFlash, path, 2048)
    finally:
        os.remove(path)


def test_board_flash():
    try:
        import qboard
    except ImportError:
        return "no raw flash here"
    flash = BlockFlash(qboard.Flash(qboard.RAW_START, 4 * qboard.PAGE_BYTES))
    flash.erase(0)
    flash.program(128, b"raw flash 16 by.")
    assert bytes(flash.mapped(128, 9)) == b"raw flash"
