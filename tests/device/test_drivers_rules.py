# SPDX-License-Identifier: MIT
"""Drivers that answer late, short, or not at all, and the bounds of each kind of flash."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

import sys

from refusal import raised

from acclimate.flash import (
    BlockFlash,
    CardFlash,
    FileFlash,
    FlashError,
    NvmFlash,
    RetryingDevice,
    choose,
    open_flash,
)
from acclimate.flash.base import Flash


class Device:
    """A block device whose next calls answer, or raise, what stands in `answers`."""

    def __init__(self, blocks=8, block=512, answers=()):
        self.blocks, self.block = blocks, block
        self.data = bytearray(512 * 40)
        self.answers, self.calls = list(answers), []

    def _next(self, name, number, n):
        self.calls.append((name, number, n))
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def readblocks(self, number, buffer):
        answer = self._next("read", number, len(buffer))
        for i in range(len(buffer)):
            buffer[i] = self.data[512 * number + i]
        return answer

    def writeblocks(self, number, buffer):
        answer = self._next("write", number, len(buffer))
        if answer is None:
            self.data[512 * number : 512 * number + len(buffer)] = bytes(buffer)
        return answer

    def ioctl(self, what, value):
        return {4: self.blocks, 5: self.block, 6: value + 1}[what]

    def names(self):
        return "".join(call[0][0] for call in self.calls)


# ---- tried again -------------------------------------------------------------------------------


def patient(device, **options):
    """A RetryingDevice whose pauses are noted instead of waited for."""
    made, pauses = RetryingDevice(device, **options), []

    def pause():
        pauses.append(made._wait_s)

    made._pause = pause
    return made, pauses


def test_what_is_refused_is_tried_five_times_with_pauses_of_20_ms():
    for call in ("readblocks", "writeblocks"):
        for fault in (OSError(110), -110, False, 5, 1):
            device = Device(answers=[fault] * 4)
            made, pauses = patient(device)
            getattr(made, call)(3, bytearray(512))
            assert [c[1:] for c in device.calls] == [(3, 512)] * 5
            assert pauses == [0.02] * 4 and made.retries == 4
            device = Device(answers=[fault] * 5)
            made, pauses = patient(device)
            told = raised(OSError, getattr(made, call), 3, bytearray(512))
            assert "110" in told if isinstance(fault, OSError) else "answers %s at block 3" % fault
            assert len(device.calls) == 5 and len(pauses) == 4 and made.retries == 4


def test_none_true_and_0_are_good_and_asked_for_once():
    for answer in (None, True, 0):
        device = Device(answers=[answer])
        made, pauses = patient(device)
        made.readblocks(0, bytearray(512))
        assert device.names() == "r" and made.retries == 0 and not pauses


def test_the_error_of_the_last_try_is_the_one_that_is_told():
    device = Device(answers=[OSError(5), -3])
    assert "answers -3 at block 7" in raised(
        FlashError, patient(device, tries=2)[0].readblocks, 7, b""
    )
    device = Device(answers=[-3, OSError(5)])
    assert "5" in raised(OSError, patient(device, tries=2)[0].readblocks, 7, b"")


def test_tries_and_pauses_have_bounds():
    for tries, wait_ms in ((0, 20), (101, 20), (-1, 20), (5, -1), (5, 10001), (0, -1)):
        assert "1 to 100" in raised(ValueError, RetryingDevice, Device(), tries, wait_ms)
    for tries, wait_ms, wait_s in ((1, 0, 0), (100, 10000, 10), (2, 1, 0.001)):
        made = RetryingDevice(Device(), tries, wait_ms)
        assert (made._tries, made._wait_s) == (tries, wait_s)
    device = Device(answers=[-1])
    raised(FlashError, RetryingDevice(device, 1).readblocks, 0, b"")
    assert device.names() == "r"
    device = Device(answers=[-1] * 9)
    raised(FlashError, patient(device, tries=2.5)[0].readblocks, 0, b"")  # and it ends
    assert device.names() == "rrr"


def test_a_pause_takes_its_time():
    waits = []

    class Time:
        def __init__(self):
            self.sleep = lambda seconds: waits.append(seconds)

    kept = sys.modules.get("time")
    sys.modules["time"] = Time()
    try:
        RetryingDevice(Device(answers=[-1]), 2, 250).readblocks(0, bytearray(512))
    finally:
        if kept is None:
            del sys.modules["time"]
        else:
            sys.modules["time"] = kept
    assert waits == [0.25]


def test_the_device_is_asked_what_it_is():
    assert RetryingDevice(Device(9)).ioctl(4, 0) == 9 and RetryingDevice(Device()).ioctl(6, 2) == 3


# ---- devices without a size --------------------------------------------------------------------


def test_a_device_that_tells_no_size_is_named():
    class Broken(Device):
        def ioctl(self, what, number):
            raise OSError(19)

    for made in (Device(None), Device("many"), Device(8, "large"), Broken()):
        for kind in (BlockFlash, CardFlash):
            assert "no size" in raised(FlashError, kind, made)
    assert "page 0" in raised(ValueError, BlockFlash, Device(8, None))
    assert CardFlash(Device(8, None)).size == CardFlash(Device(8, 0)).size == 4096


def test_a_device_of_no_blocks_or_bytes_is_refused():
    for made in (Device(0), Device(8, 0), Device(-1), Device(8, -512)):
        raised(ValueError, BlockFlash, made)
    for size, page, unit in ((0, 0, 4), (128, 0, 4), (128, -64, 4), (128, 64, 0), (128, 64, -4)):
        assert "parts of 64" in raised(ValueError, Flash, size, page, unit)


# ---- cards -------------------------------------------------------------------------------------


def test_a_region_of_a_card_is_whole_pages_within_it():
    card = Device(blocks=40)
    for first, blocks, size in (
        (0, 0, 20480),
        (8, 0, 16384),
        (39, 1, 0),
        (8, 31, 12288),
        (24, 16, 8192),
    ):
        if size:
            assert CardFlash(card, first, blocks).size == size
        else:
            raised(ValueError, CardFlash, card, first, blocks)
    for first, blocks in ((-1, 0), (-1, 8), (8, 33), (0, 41), (40, 1)):
        assert "the card has 40" in raised(ValueError, CardFlash, card, first, blocks)
    assert "whole blocks of 512" in raised(ValueError, CardFlash, card, 0, 0, 768)
    made = CardFlash(card, 0, 0, 512, 8)
    assert (made.erase_bytes, made.unit) == (512, 8)


def card(first=2, **options):
    device = Device(12, **options)
    return device, CardFlash(device, first, 8, 1024)


def test_bytes_lie_where_they_belong_also_over_the_border_of_a_block():
    device, flash = card()
    for i in range(len(device.data)):
        device.data[i] = i * 7 + (i >> 8) & 255
    for at, n in ((0, 1), (500, 24), (1000, 1100), (4095, 1), (0, 4096)):
        back = bytearray(n)
        flash.readinto(at, back)
        assert back == device.data[1024 + at : 1024 + at + n]
    before = bytes(device.data)
    flash.erase(1024)
    assert bytes(device.data) == before[:2048] + b"\xff" * 1024 + before[3072:]
    flash.program(1500, bytes(range(1, 61)))
    assert device.data[2524:2584] == bytes(range(1, 61))
    assert device.data[2048:2524] == b"\xff" * 476 and device.data[2584:3072] == b"\xff" * 488
    device.data[2524] = 0b1100  # bits are cleared, never set
    flash._held = -1
    flash._program(1500, b"\x0a")
    assert device.data[2524] == 0b1000


def test_a_block_is_read_once_and_again_after_it_was_written():
    device, flash = card()
    for at in (0, 100, 508, 512, 516):
        flash.readinto(at, bytearray(4))
    assert [call[:2] for call in device.calls] == [("read", 2), ("read", 3)]
    flash.erase(0)
    device.calls.clear()
    flash.program(4, b"abcd")
    assert [call[:2] for call in device.calls] == [("read", 2), ("write", 2), ("read", 2)]
    device.calls.clear()
    flash.readinto(0, bytearray(4))
    assert device.names() == ""


def test_a_block_that_was_lost_is_seen_and_not_what_was_in_the_buffer():
    device, flash = card()
    flash.erase(0)
    device.answers = [None, 0]  # taken, it says, and it is not
    raised(FlashError, flash.program, 8, b"abcd")
    back = bytearray(4)
    flash.readinto(8, back)
    assert back == b"\xff" * 4
    device.answers = [OSError(5)] * 5
    flash._device._pause = lambda: None
    raised(FlashError, flash.readinto, 512, bytearray(4))
    flash.readinto(8, back)
    assert back == b"\xff" * 4 and device.calls[-1][:2] == ("read", 2)


# ---- bytes that CircuitPython keeps ------------------------------------------------------------


def test_each_byte_of_an_nvm_is_that_of_its_region():
    nvm = bytearray(1000)
    flash = NvmFlash(nvm, 64)
    assert (flash.size, flash.erase_bytes, flash.unit) == (768, 256, 4)
    flash.erase(256)
    flash.program(260, b"abcdefgh")
    assert nvm[64 + 256 : 64 + 512] == b"\xff" * 4 + b"abcdefgh" + b"\xff" * 244
    assert nvm[: 64 + 256] == bytes(320) and nvm[64 + 512 :] == bytes(424)
    back = bytearray(3)
    flash.readinto(261, back)
    assert back == b"bcd"
    for start, size in ((-64, 512), (0, 1024), (745, 256), (-1, 0), (999, 256)):
        raised(ValueError, NvmFlash, nvm, start, size)
    assert NvmFlash(nvm, 744, 256).size == 256
    assert NvmFlash(nvm, 0, 512, 512, 8).erase_bytes == 512


def test_a_board_without_any_is_named():
    class Controller:
        nvm = None

    sys.modules["microcontroller"], kept = Controller(), sys.modules.get("microcontroller")
    try:
        assert "has none" in raised(ValueError, NvmFlash)
        Controller.nvm = bytearray(512)
        assert NvmFlash().size == 512
    finally:
        del sys.modules["microcontroller"]
        if kept:
            sys.modules["microcontroller"] = kept


def test_an_nvm_that_cannot_be_written_is_a_fault_of_the_flash():
    class Locked:
        def __len__(self):
            return 512

        def __getitem__(self, part):
            return b"\xff" * 4

        def __setitem__(self, part, data):
            raise RuntimeError("Unable to write to nvm")

    flash = NvmFlash(Locked())
    assert "Unable to write" in raised(FlashError, flash.erase, 0)
    assert "Unable to write" in raised(FlashError, flash._program, 0, b"abcd")


# ---- what a board has --------------------------------------------------------------------------


def test_what_is_there_is_taken_in_its_order_and_what_is_not_is_named():
    order = ("esp32", "nrf", "romfs", "file", "nvm")
    kept = choose._opened
    try:
        for there in range(6):
            asked = []

            def opened(name, path, size, there=there, asked=asked):
                asked.append((name, path, size))
                if len(asked) - 1 == there:
                    return name
                raise (ImportError, OSError, ValueError)[len(asked) % 3]("no " + name)

            choose._opened = opened
            if there < 5:
                assert open_flash("p", 5) == order[there]
            else:
                told = raised(FlashError, open_flash)
                for name in order:
                    assert "%s: no %s" % (name, name) in told
                assert asked[0] == ("esp32", "capsule.bin", 0)
            assert [one[0] for one in asked] == list(order[: there + 1])
    finally:
        choose._opened = kept


def test_each_name_opens_its_own():
    names = {"esp32": "esp32", "nrf": "nrf", "romfs": "vfs", "nvm": "microcontroller"}
    before = {name: sys.modules.get(name) for name in names.values()}

    class Module:
        """Stands for a module of a firmware, and tells that it was asked."""

        def __init__(self, name):
            def asked(*_, **__):
                raise FlashError("asked " + name)

            self.Partition = type("P", (), {"find": staticmethod(asked)})
            self.unused_flash_start = self.rom_ioctl = asked
            self.nvm = bytearray(512)

    try:
        for name in before:
            sys.modules[name] = Module(name)
        for name in ("esp32", "nrf", "romfs"):
            assert raised(FlashError, choose._opened, name, "p", 0) == "asked " + names[name]
        assert choose._opened("nvm", "p", 0).size == 512
        told = raised(FlashError, choose._opened, "file", "acclimate_no_flash.bin", 0)
        assert "acclimate_no_flash.bin" in told
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    assert FileFlash
