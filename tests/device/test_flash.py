# SPDX-License-Identifier: MIT
"""Flash drivers: bounds, bits that only go to 0, reading back, files, block devices."""

import os

from nor import ERASE_TORN, PROGRAM_TORN, NorFlash, PowerCut

from acclimate.flash import BlockFlash, FileFlash, FlashError


def raises(kind, call, *args):
    try:
        call(*args)
    except kind as error:
        return str(error)
    raise AssertionError("nothing raised")


def test_model_clears_bits_and_erases_pages():
    flash = NorFlash(512, 128)
    flash.program(8, b"\x0f\xff\x00\x55")
    raises(FlashError, flash.program, 8, b"\x3c\xff\xff\xff")
    assert flash.data[8:12] == b"\x0c\xff\x00\x55"
    flash.erase(0)
    assert flash.data[:128] == b"\xff" * 128 and flash.erases == [1, 0, 0, 0]


def test_what_is_outside_or_unaligned_is_refused():
    flash = NorFlash(512, 128)
    raises(ValueError, flash.readinto, 510, bytearray(4))
    raises(ValueError, flash.readinto, -1, bytearray(4))
    raises(ValueError, flash.program, 2, b"1234")
    raises(ValueError, flash.program, 0, b"123")
    raises(ValueError, flash.erase, 64)
    raises(ValueError, flash.erase, 512)
    raises(ValueError, NorFlash, 500, 128)


def test_third_program_of_a_unit_is_refused_by_the_model():
    flash = NorFlash(512, 128)
    flash.program(0, b"\xff\xff\xff\x0f")
    flash.program(0, b"\xff\xff\xff\x0f")
    assert "too often" in raises(ValueError, flash.program, 0, b"\xff\xff\xff\x0f")


def test_every_cut_leaves_bits_between_old_and_new():
    for torn in PROGRAM_TORN:
        flash = NorFlash(512, 128)
        flash.cut_after(2, torn)
        raises(PowerCut, flash.program, 0, b"\x12\x34\x56\x78" * 3)
        raises(PowerCut, flash.readinto, 0, bytearray(4))
        flash.power_on()
        assert flash.data[:4] == b"\x12\x34\x56\x78" and flash.data[8:12] == b"\xff" * 4
        for i in range(4):
            assert flash.data[4 + i] & flash.data[i] == flash.data[i]
    for torn in ERASE_TORN:
        flash = NorFlash(512, 128)
        flash.program(0, b"\x00" * 128)
        flash.cut_after(1, torn)
        raises(PowerCut, flash.erase, 0)
        flash.power_on()
        assert any(flash.data[:128]) and not all(b == 255 for b in flash.data[:128])


class Device:
    """A block device with the offset form, whose driver can be told to fail."""

    def __init__(self):
        self.nor = NorFlash(1024, 256)
        self.answer = None

    def readblocks(self, block, buffer, offset):
        self.nor.readinto(block * 256 + offset, buffer)
        return self.answer

    def writeblocks(self, block, buffer, offset):
        self.nor.program(block * 256 + offset, buffer)
        return self.answer

    def ioctl(self, what, block):
        if what == 6:
            self.nor.erase(block * 256)
            return 0
        return 4 if what == 4 else 256


def test_block_device_is_used_from_its_first_block_on():  # case: D8
    device = Device()
    flash = BlockFlash(device, first=1)
    assert flash.size == 768 and flash.erase_bytes == 256
    flash.program(4, b"abcd")
    assert device.nor.data[260:264] == b"abcd"
    flash.erase(0)
    assert device.nor.erases == [0, 1, 0, 0]
    device.answer = -5
    assert "driver answers -5" in raises(FlashError, flash.program, 8, b"abcd")
    raises(ValueError, BlockFlash, device, 4, 3, 2)


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
