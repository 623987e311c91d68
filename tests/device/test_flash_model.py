# SPDX-License-Identifier: MIT
"""The model of NOR flash: bounds, bits that only go to 0, torn operations."""

from nor import ERASE_TORN, PROGRAM_TORN, NorFlash, PowerCut

from acclimate.flash import FlashError


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
