# SPDX-License-Identifier: MIT
"""Flash regions with one interface: raw flash, partitions, cards, files."""

from acclimate import _face

_NAMES = {
    "Flash": "acclimate.flash.base",
    "FlashError": "acclimate.flash.base",
    "BlockFlash": "acclimate.flash.base",
    "FileFlash": "acclimate.flash.file",
    "CardFlash": "acclimate.flash.card",
    "NvmFlash": "acclimate.flash.nvm",
    "SamdFlash": "acclimate.flash.samd",
    "RetryingDevice": "acclimate.flash.retry",
    "open_flash": "acclimate.flash.choose",
    "open_esp32": "acclimate.flash.esp32",
    "open_nrf": "acclimate.flash.nrf",
    "open_romfs": "acclimate.flash.romfs",
}
__getattr__ = _face("acclimate.flash", _NAMES)
