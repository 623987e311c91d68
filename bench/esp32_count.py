# SPDX-License-Identifier: MIT
"""Instructions on the emulated ESP32, counted by a plugin of QEMU at each `qboard.ticks()`.

The user-mode emulator has no instruction clock. A program on the board calls `qboard.ticks()` at
the places in question; the n-th call is the n-th line of what the plugin writes.
"""

import subprocess
import tempfile
from pathlib import Path

from elftools.elf.elffile import ELFFile

from acclimate_host.connect import emulator, open_board
from acclimate_host.paths import built, program, repository


def plugin():
    """Build the plugin and return its path."""
    source = repository() / "bench" / "native" / "count" / "count.c"
    target = built("bench", "native", "count.so")
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [program("gcc"), "-O2", "-Wall", "-shared", "-fPIC", source, "-o", target]
    subprocess.run([str(part) for part in command], check=True)
    return target


def missing():
    """Return why nothing can be counted here, or None."""
    said = subprocess.run(
        [str(program("qemu-xtensa") or "false"), "--help"], capture_output=True, text=True
    )
    if "plugin" not in said.stdout:
        return "qemu-xtensa has no plugins here"
    return emulator.missing("esp32")


def _address(name):
    """Address of a function of the firmware."""
    with open(emulator.firmware("esp32"), "rb") as file:
        for symbol in ELFFile(file).get_section_by_name(".symtab").iter_symbols():
            if symbol.name == name:
                return symbol["st_value"]
    raise LookupError("no function %s in the firmware" % name)


class Counted:
    """The emulated ESP32 as a context manager: the open board, and its counts so far."""

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._out = Path(self._folder.name) / "counts"
        options = f"file={plugin()},mark={_address('qboard_ticks'):x},out={self._out}"
        self.board = open_board("esp32", plugin=options)
        return self

    def __exit__(self, *_):
        self.board.close()
        self._folder.cleanup()

    def counts(self):
        """Instructions since the start at each call of `qboard.ticks()`."""
        return [int(line) for line in self._out.read_text().split()]
