# SPDX-License-Identifier: MIT
"""The flash region for capsules, by what this board can do.

    flash = open_flash()                          # what fits best
    flash = open_flash("capsule.bin", 65536)      # the file, where no raw flash is found

Tried in this order: an ESP32 partition called "capsule"; unused pages of an nRF52; the ROMFS
region; the file, if a size is given; ``microcontroller.nvm``.
"""

from acclimate.flash.base import Flash, FlashError
from acclimate.flash.file import FileFlash


def _opened(name, path, size):
    if name == "file":
        return FileFlash(path, size)
    if name == "esp32":
        from acclimate.flash.esp32 import open_esp32

        return open_esp32()
    if name == "nrf":
        from acclimate.flash.nrf import open_nrf

        return open_nrf()
    if name == "romfs":
        from acclimate.flash.romfs import open_romfs

        return open_romfs()
    from acclimate.flash.nvm import NvmFlash

    return NvmFlash()


def open_flash(path: str = "capsule.bin", size: int = 0) -> Flash:
    """Return the first region that is there; each that is not is named in the error.

    :param path: file; :param size: its bytes; 0: no file is made, but one that exists is used.
    :raises FlashError: nothing here can hold capsules.
    """
    reasons = []
    for name in ("esp32", "nrf", "romfs", "file", "nvm"):
        try:
            return _opened(name, path, size)
        except (ImportError, OSError, ValueError) as error:
            reasons.append("%s: %s" % (name, error))
    raise FlashError("no flash for capsules; " + "; ".join(reasons))
