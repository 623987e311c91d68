# SPDX-License-Identifier: MIT
"""The region that the firmware keeps for ROMFS, used for capsules instead.

    flash = open_romfs()

``vfs.rom_ioctl`` finds the region and reads it in place, but erases only from its start on,
which two slots cannot do with. So pages are erased through what the board has besides:
``esp32.Partition``, ``nrf.Flash`` or, on the SAMD21, the controller's registers.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Callable
except ImportError:
    pass

from acclimate.flash.base import BlockFlash, Flash, FlashError

_NUMBER, _SEGMENT = 1, 2
_MAGIC = b"\xd2\xcd\x31"


def region(segment=0, rom_ioctl=None):
    """Return the ROMFS region as a memoryview, or as a block device where it is not mapped.

    :raises FlashError: the firmware has no ROMFS, or ROMFS without a region.
    """
    if rom_ioctl is None:
        try:
            from vfs import rom_ioctl
        except ImportError:
            raise FlashError(
                "this firmware has no ROMFS: it needs MicroPython 1.25 or later, built with it"
            ) from None
    count = rom_ioctl(_NUMBER)
    found = rom_ioctl(_SEGMENT, segment) if 0 <= segment < count else -22
    if isinstance(found, int):
        raise FlashError("ROMFS has %d regions, no number %d (%d)" % (count, segment, found))
    if not hasattr(found, "ioctl") and not len(found):
        raise FlashError("ROMFS region %d has 0 bytes on this board" % segment)
    return found


def open_romfs(
    segment: int = 0,
    overwrite: bool = False,
    rom_ioctl: "Callable[..., Any] | None" = None,
    open_at: "Callable[[int, int], Any] | None" = None,
) -> Flash:
    """Return the ROMFS region as flash.

    :param overwrite: take it even though a ROMFS image is there.
    :param open_at: function of (address, bytes) that opens flash; found by what the board has.
    :raises FlashError: there is no region, it is in use, or nothing here erases single pages.
    """
    found = region(segment, rom_ioctl)
    if hasattr(found, "ioctl"):
        flash = BlockFlash(found)
    else:
        open_at = open_at or _opener()
        from uctypes import addressof

        flash = open_at(addressof(found), len(found))
    head = bytearray(4)
    flash.readinto(0, head)
    if not overwrite and bytes(head[:3]) == _MAGIC:
        raise FlashError("region %d holds a ROMFS image; overwrite=True takes it" % segment)
    return flash


def _opener():
    try:
        import nrf

        from acclimate.flash.nrf import open_nrf

        return lambda start, size: open_nrf(start, size, nrf)
    except ImportError:
        pass
    try:
        import samd  # noqa: F401  the registers are those of this family

        from acclimate.flash.samd import SamdFlash

        return SamdFlash
    except ImportError:
        raise FlashError("nothing here erases single pages of the ROMFS region") from None
