# SPDX-License-Identifier: MIT
"""Pages of an nRF52's flash, by default those that the firmware and its files leave unused.

flash = open_nrf()
flash = open_nrf(0xC0000, 0x10000)
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any
except ImportError:
    pass

from acclimate.flash.base import BlockFlash, FlashError

_PAGE = 4096


def open_nrf(start: int | None = None, size: int | None = None, nrf: "Any" = None) -> BlockFlash:
    """Return flash from address ``start`` on, of ``size`` bytes, both multiples of 4096.

    :param nrf: the module of the firmware, imported without it.
    :raises FlashError: nothing is unused, or this firmware cannot tell.
    """
    if nrf is None:
        import nrf
    if start is None:
        if not hasattr(nrf, "unused_flash_start"):
            raise FlashError("nrf tells no unused flash before MicroPython 1.28: give start, size")
        start = nrf.unused_flash_start()
        size = nrf.unused_flash_length() // _PAGE * _PAGE
    if size is None or start % _PAGE or size % _PAGE or size < 4 * _PAGE:
        raise FlashError(
            "nrf: %s bytes at %s: expected four pages of 4096 or more, whole ones" % (size, start)
        )
    return BlockFlash(nrf.Flash(start=start, len=size))
