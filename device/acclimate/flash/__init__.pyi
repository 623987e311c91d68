# SPDX-License-Identifier: MIT
# Written by tools/faces.py.
from acclimate.flash.base import BlockFlash as BlockFlash
from acclimate.flash.base import Flash as Flash
from acclimate.flash.base import FlashError as FlashError
from acclimate.flash.card import CardFlash as CardFlash
from acclimate.flash.choose import open_flash as open_flash
from acclimate.flash.esp32 import open_esp32 as open_esp32
from acclimate.flash.file import FileFlash as FileFlash
from acclimate.flash.nrf import open_nrf as open_nrf
from acclimate.flash.nvm import NvmFlash as NvmFlash
from acclimate.flash.retry import RetryingDevice as RetryingDevice
from acclimate.flash.romfs import open_romfs as open_romfs
from acclimate.flash.samd import SamdFlash as SamdFlash
