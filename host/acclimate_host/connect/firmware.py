# SPDX-License-Identifier: MIT
"""Firmware of the emulated boards that is not there yet: built in a clone, when it is wanted."""

import subprocess
import sys

from acclimate_host.connect import emulator
from acclimate_host.errors import Missing
from acclimate_host.paths import built, firmware, program, repository

# What a build needs: (program, group of Debian packages in tools/packages.sh).
_NEEDS = {
    "nrf52840": (("make", "base"), ("arm-none-eabi-gcc", "arm")),
    "samd21": (("make", "base"), ("arm-none-eabi-gcc", "arm")),
    "stm32f103": (("make", "base"), ("arm-none-eabi-gcc", "arm")),
    "stm32f767": (("make", "base"), ("arm-none-eabi-gcc", "arm")),
    "rp2350": (("make", "base"), ("arm-none-eabi-gcc", "arm")),
    "rv32": (("make", "base"), ("riscv64-unknown-elf-gcc", "riscv")),
    "esp32": (("make", "base"), ("clang-22", "xtensa"), ("xtensa-lx106-elf-ld", "xtensa")),
}


def prepare(name):
    """Build the firmware of an emulated board where it is missing and can be built.

    :raises Missing: with one line of what is missing, and the command that brings it.
    """
    if name not in _NEEDS or firmware(name).exists():
        return
    root = repository()
    if root is None or built() != root / "out":
        raise Missing(f"{name}: {emulator.missing(name)}")
    for needed, group in _NEEDS[name]:
        if program(needed) is None:
            raise Missing(
                f"{name}: no firmware yet, and no {needed} to build it: "
                f"run: make -C {root} setup PACKAGES='base {group}'"
            )
    print(f"building the firmware of {name}, once", file=sys.stderr)
    done = subprocess.run(
        ["make", "-s", "-C", str(root), f"firmware-{name}"], stdout=sys.stderr.fileno()
    )
    if done.returncode or not firmware(name).exists():
        raise Missing(f"{name}: its firmware was not built: run: make -C {root} firmware-{name}")
