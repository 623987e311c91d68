# SPDX-License-Identifier: MIT
"""Firmware of the emulated boards, found by ``acclimate_host.connect.emulator``.

>>> import acclimate_emulators                                        # doctest: +SKIP
>>> acclimate_emulators.firmware("nrf52840")                          # doctest: +SKIP
PosixPath('.../acclimate_emulators/firmware/nrf52840/firmware.elf')
"""

from pathlib import Path


def firmware(name):
    """Return the path of a board's firmware; the file is not there for a board unknown here."""
    return Path(__file__).resolve().parent / "firmware" / name / "firmware.elf"
