# SPDX-License-Identifier: MIT
"""The region of ROMFS: which one is asked for, how it is opened, and that an image is kept."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

import sys

from refusal import raised

from acclimate.flash import BlockFlash, FlashError, SamdFlash, open_romfs
from acclimate.flash.base import Flash
from acclimate.flash.romfs import region


class Regions:
    """vfs.rom_ioctl over regions; `asked` are its calls."""

    def __init__(self, *regions):
        self.regions, self.asked = regions, []

    def __call__(self, what, number=None):
        self.asked.append((what, number))
        if what == 1:
            return len(self.regions)
        assert what == 2
        return self.regions[number]


class Device:
    def __init__(self, head=b"\xff" * 4):
        self.data = bytearray(head) + bytearray(508)

    def ioctl(self, what, number):
        return {4: 4, 5: 128}[what]

    def readblocks(self, number, buffer, offset):
        for i in range(len(buffer)):
            buffer[i] = self.data[128 * number + offset + i]


class Ram(Flash):
    """Flash at an address, as what opens a region gives it."""

    def __init__(self, place, size, head=b"\xff" * 4):
        super().__init__(size, 128)
        self.place, self.head = place, head

    def _read(self, at, buffer):
        assert at + len(buffer) <= 4
        buffer[:] = self.head[at : at + len(buffer)]


class Modules:
    """Modules of a firmware while a test runs; None: this one has it not."""

    def __init__(self, **modules):
        self.modules = modules

    def __enter__(self):
        self.kept = {name: sys.modules.get(name) for name in self.modules}
        sys.modules.update({name: made for name, made in self.modules.items() if made is not None})

    def __exit__(self, *_):
        for name, made in self.kept.items():
            if made is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = made


class Addresses:
    def __init__(self):
        self.addressof = lambda buffer: 0x40000 + len(buffer)


def test_the_region_that_is_named_is_the_one_that_is_asked_for():
    regions = Regions(b"first", b"second")
    assert region(0, regions) == b"first" and regions.asked == [(1, None), (2, 0)]
    assert region(1, regions) == b"second" and region(rom_ioctl=regions) == b"first"
    del regions.asked[:]
    for number in (-1, 2, 3):
        told = raised(FlashError, region, number, regions)
        assert "has 2 regions, no number %d (-22)" % number in told
    assert all(call == (1, None) for call in regions.asked)  # only what is there is asked for
    assert "no number 0 (-5)" in raised(FlashError, region, 0, Regions(-5))
    assert "region 1 has 0 bytes" in raised(FlashError, region, 1, Regions(b"x", b""))
    device = Device()
    assert region(0, Regions(device)) is device


def test_a_device_is_used_as_it_is_and_an_image_in_it_is_kept():
    assert isinstance(open_romfs(rom_ioctl=Regions(Device())), BlockFlash)
    for head, is_image in (
        (b"\xd2\xcd\x31\x00", True),
        (b"\xd2\xcd\x31\xff", True),
        (b"\xd2\xcd\x30\x00", False),
        (b"\xd2\xcc\x31\x00", False),
        (b"\xd3\xcd\x31\x00", False),
    ):
        regions = Regions(Device(), Device(head))
        if is_image:
            assert "region 1 holds a ROMFS" in raised(FlashError, open_romfs, 1, False, regions)
        else:
            assert open_romfs(1, rom_ioctl=regions).size == 512
        assert open_romfs(1, True, regions).size == 512


def test_a_region_in_place_is_opened_at_its_address():
    with Modules(uctypes=Addresses()):
        flash = open_romfs(rom_ioctl=Regions(bytes(512)), open_at=Ram)
        assert (flash.place, flash.size) == (0x40200, 512)
        made = []

        def open_at(place, size):
            made.append((place, size))
            return Ram(place, size, b"\xd2\xcd\x31\x00")

        assert "ROMFS image" in raised(
            FlashError, open_romfs, 0, False, Regions(bytes(512)), open_at
        )
        assert made == [(0x40200, 512)]


def test_what_the_board_has_erases_single_pages():
    opened = []

    class Nrf:
        def __init__(self):
            def flash(start, len):
                opened.append((start, len))
                raise FlashError("opened")

            self.Flash = flash

    class Places:
        addressof = staticmethod(lambda buffer: 0x40000)

    with Modules(uctypes=Places, nrf=Nrf()):
        regions = Regions(bytes(16384))
        assert raised(FlashError, open_romfs, rom_ioctl=regions) == "opened"
        assert opened == [(0x40000, 16384)]
    from acclimate.flash import romfs

    with Modules(samd=object()):
        assert romfs._opener() is SamdFlash
    try:
        import nrf  # noqa: F401
    except ImportError:
        assert "nothing here erases" in raised(FlashError, romfs._opener)
