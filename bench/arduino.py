# SPDX-License-Identifier: MIT
"""Sketches of the Arduino library, compiled for three cores with a stub of the board's core.

Bytes of flash and RAM come from the linker; QEMU runs what was linked. A library is made by
``tools/arduino_library.py``.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from acclimate_host.paths import program, repository

SKETCHES = ("TrainSVM", "LearnNetwork", "CheckCapsule")
STACK_BYTES = 2048
_BOARD = repository() / "arduino" / "board"
_COMMON = "-mthumb -Os -Wall -Wextra -Werror -ffunction-sections -fdata-sections".split()
_CPP = "-std=gnu++11 -fno-exceptions -fno-rtti -fno-threadsafe-statics".split()


@dataclass(frozen=True)
class Core:
    """Flags, the machine of QEMU that has such a core, and flash and RAM of a board with it."""

    flags: tuple
    machine: str
    flash_bytes: int
    ram_bytes: int


CORES = {
    "m4f": Core(
        ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
        "mps2-an386",
        1 << 20,
        256 << 10,
    ),
    # The STM32F103C8 of the Edge2Train paper: 20 KB of SRAM, 128 KB of flash.
    "m3": Core(("-mcpu=cortex-m3",), "mps2-an385", 128 << 10, 20 << 10),
    # QEMU's microbit has 16 KB; the SAMD21 has 32.
    "m0": Core(("-mcpu=cortex-m0plus",), "microbit", 256 << 10, 16 << 10),
}


def missing():
    """Return why no sketch can be built and run here, or None."""
    for name in ("arm-none-eabi-g++", "qemu-system-arm"):
        if not program(name):
            return f"{name} is not installed (Debian: tools/packages.sh arm)"
    return None


class Library:
    """The library's objects for one core.

    :param folder: of the library; work: folder for what is built
    """

    def __init__(self, folder, work, core):
        self.folder, self.core, self.work = Path(folder), CORES[core], Path(work) / core
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        source = self.folder / "src"
        self._compile("gcc", ["-std=gnu11"], [*source.glob("*.c"), *source.glob("*.S")])
        self._compile("g++", _CPP, [*source.glob("*.cpp"), _BOARD / "core.cpp"])

    def _compile(self, tool, flags, files):
        command = ["arm-none-eabi-" + tool, *self.core.flags, *_COMMON, *flags]
        command += [f"-I{self.folder / 'src'}", f"-I{_BOARD}", "-c", *map(str, files)]
        subprocess.run(command, check=True, cwd=self.work)

    def sketch(self, name):
        """Compile and link a sketch; return (its program, {flash_bytes, ram_bytes}).

        :raises CalledProcessError: a warning, or more flash or RAM than the board has
        """
        source = self.folder / "examples" / name / (name + ".ino")
        extra = ["-include", "Arduino.h", "-x", "c++", "-o", name + ".sketch"]
        self._compile("g++", [*_CPP, *extra], [source])
        elf = self.work / (name + ".elf")
        sizes = {"FLASH": self.core.flash_bytes, "RAM": self.core.ram_bytes, "STACK": STACK_BYTES}
        command = ["arm-none-eabi-gcc", *self.core.flags, "-mthumb", "-nostartfiles"]
        command += ["--specs=nosys.specs", "-Wl,--gc-sections", "-Wl,--no-warn-rwx-segments"]
        command += [f"-Wl,--defsym={key}_BYTES={value}" for key, value in sizes.items()]
        command += ["-T", str(_BOARD / "board.ld"), name + ".sketch"]
        command += [*sorted(p.name for p in self.work.glob("*.o")), "-o", str(elf)]
        subprocess.run(command, check=True, cwd=self.work)
        return elf, _bytes(elf)

    def run(self, elf, timeout_s=60):
        """Run a program in QEMU; return what it printed."""
        command = ["qemu-system-arm", "-M", self.core.machine, "-nographic", "-semihosting"]
        done = subprocess.run(
            [*command, "-kernel", str(elf)], capture_output=True, text=True, timeout=timeout_s
        )
        return done.stderr + done.stdout


def _bytes(elf):
    text = subprocess.check_output(["arm-none-eabi-size", str(elf)], text=True)
    code, data, bss = map(int, re.findall(r"\d+", text.splitlines()[1])[:3])
    return {"flash_bytes": code + data, "ram_bytes": data + bss - STACK_BYTES}
