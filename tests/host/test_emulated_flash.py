# SPDX-License-Identifier: MIT
"""The flash of the emulated boards behaves as NOR flash does, power cuts and all."""

import os

import pytest

from acclimate_host.connect import open_board, why_not
from acclimate_host.errors import BoardError, BoardGone

ERASE_STEPS = 16  # a page of 4096 bytes in quarter kilobytes

PRELUDE = """
import qboard
flash = qboard.Flash(qboard.RAW_START, qboard.RAW_BYTES)
def read(n, offset=0):
    page = bytearray(n)
    flash.readblocks(1, page, offset)
    return bytes(page)
"""


def open_emulated(name, **options):
    reason = why_not(name)
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    return open_board(name, **options)


@pytest.fixture(params=["nrf52840", "samd21", "esp32"])
def board(request):
    with open_emulated(request.param) as opened:
        opened.exec(PRELUDE)
        yield opened


@pytest.fixture(params=["nrf52840", "esp32"])
def lasting_board(request, tmp_path):
    """A board whose flash is a file, and so outlives the emulator."""
    with open_emulated(request.param, flash=tmp_path / "flash.bin") as opened:
        opened.exec(PRELUDE)
        yield opened


def restart(board):
    board.reset()
    board.exec(PRELUDE)


def test_new_flash_is_erased_and_formatted(board):
    assert board.exec("print(all(b == 255 for b in memoryview(flash)[:4096]))") == "True\n"
    assert board.exec("import os; print(os.listdir('/'))") == "[]\n"


def test_programming_only_clears_bits_and_erasing_sets_them(board):
    board.exec("flash.writeblocks(1, b'\\x0f\\xff\\x00\\x55', 8)")
    board.exec("flash.writeblocks(1, b'\\x3c\\xff\\xff\\xff', 8)")
    assert board.exec("print(read(8, 4).hex())") == "ffffffff0cff0055\n"
    board.exec("flash.ioctl(6, 1)")
    assert board.exec("print(read(8, 4).hex())") == "ff" * 8 + "\n"


def test_flash_is_read_in_place_at_its_address(board):
    board.exec("flash.writeblocks(1, b'in place', 0)")
    code = "import uctypes; print(bytes(uctypes.bytearray_at(%s, 8)), bytes(flash_bytes[:8]))"
    board.exec("flash_bytes = memoryview(flash)[qboard.PAGE_BYTES:]")
    answer = board.exec(code % "qboard.RAW_START + qboard.PAGE_BYTES")
    assert answer == "b'in place' b'in place'\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "flash.writeblocks(0, b'abc', 0)",
        "flash.writeblocks(0, b'abcd', 2)",
        "flash.readblocks(10000, bytearray(4), 0)",
        "flash.ioctl(6, -1)",
        "qboard.Flash(0, qboard.PAGE_BYTES)",
        "qboard.Flash(qboard.RAW_START + 4, qboard.PAGE_BYTES)",
        "qboard.Flash(qboard.RAW_START, qboard.RAW_BYTES + qboard.PAGE_BYTES)",
    ],
)
def test_what_is_unaligned_or_outside_is_refused(board, code):
    with pytest.raises(BoardError, match="ValueError"):
        board.exec(code)


def test_wear_is_counted_for_each_page(board):
    board.exec("a, b = qboard.RAW_START, qboard.RAW_START + qboard.PAGE_BYTES; w = qboard.wear()")
    board.exec("flash.ioctl(6, 1); flash.ioctl(6, 1); flash.writeblocks(1, bytes(12), 0)")
    answer = board.exec(
        "v = qboard.wear(); print(v[0]-w[0], v[1]-w[1], qboard.wear(a), qboard.wear(b))"
    )
    assert answer == "2 3 0 2\n"


def test_flash_and_wear_outlive_a_restart(lasting_board):
    lasting_board.exec("flash.ioctl(6, 1); flash.writeblocks(1, b'kept', 0)")
    lasting_board.put_bytes(b"a file", "/kept.txt")
    restart(lasting_board)
    assert lasting_board.exec(
        "print(read(4), qboard.wear(qboard.RAW_START + qboard.PAGE_BYTES))"
    ) == ("b'kept' 1\n")
    assert lasting_board.get_bytes("/kept.txt") == b"a file"


@pytest.mark.slow
@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("step", [1, 5, ERASE_STEPS, ERASE_STEPS + 1, ERASE_STEPS + 3])
def test_power_cut_stops_at_exactly_that_step(lasting_board, step, torn):
    lasting_board.exec("flash.ioctl(6, 1); flash.writeblocks(1, bytes(4096), 0)")
    with pytest.raises(BoardGone):
        lasting_board.exec(
            f"qboard.cut({step}, {torn}); flash.ioctl(6, 1); flash.writeblocks(1, bytes(12), 0)"
        )
    restart(lasting_board)
    page = bytes.fromhex(lasting_board.exec("print(read(4096).hex())"))
    expected = bytearray(4096)
    done = step - 1
    erased = min(done, ERASE_STEPS) * 256 + (128 if torn and step <= ERASE_STEPS else 0)
    expected[:erased] = b"\xff" * erased
    words = max(0, done - ERASE_STEPS) * 4
    expected[:words] = bytes(words)
    if torn and step > ERASE_STEPS:
        expected[words : words + 2] = bytes(2)
    assert page == expected
