# SPDX-License-Identifier: MIT
"""Start and end the emulators of the project's boards; each gives a pty."""

import ctypes
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import tty
from pathlib import Path

from acclimate_host.errors import BoardGone, Missing
from acclimate_host.paths import firmware, program, repository

_FLASH_FILE_BYTES = 16 * 1024 * 1024  # the machine's PSRAM region, of which 2 MiB are used

_MACHINES = {
    "nrf52840": [
        "-machine",
        "mps2-an386,memory-backend=psram",
        "-object",
        "memory-backend-file,id=psram,size=16M,share=on,mem-path={flash}",
    ],
    "stm32f103": [
        "-machine",
        "mps2-an385,memory-backend=psram",
        "-object",
        "memory-backend-file,id=psram,size=16M,share=on,mem-path={flash}",
    ],
    "stm32f767": [
        "-machine",
        "mps2-an500,memory-backend=psram",
        "-object",
        "memory-backend-file,id=psram,size=16M,share=on,mem-path={flash}",
    ],
    "rp2350": [
        "-machine",
        "mps2-an505,memory-backend=psram",
        "-object",
        "memory-backend-file,id=psram,size=16M,share=on,mem-path={flash}",
    ],
    # The set of instructions of an ESP32-C3. All memory of the machine is the flash file.
    "rv32": [
        "-machine",
        "virt,memory-backend=ram",
        "-object",
        "memory-backend-file,id=ram,size=16M,share=on,mem-path={flash}",
        "-m",
        "16M",
        "-cpu",
        "rv32,a=off,f=off,d=off",
        "-bios",
        "none",
    ],
    "samd21": [
        "-machine",
        "microbit",
        "-global",
        "nrf51-soc.flash-size=524288",
        "-global",
        "nrf51-soc.sram-size=32768",
    ],
}
NAMES = (*_MACHINES, "esp32")
# Boards whose instructions are counted, not timed, when they are opened with this shift.
COUNTED, EXACT_SHIFT = tuple(_MACHINES), 10
# Boards whose flash is a file while they run.
PERSISTENT = ("nrf52840", "stm32f103", "stm32f767", "rp2350", "rv32", "esp32")
# Flash that is in the file only while the emulator does not run: address, size.
_KEPT_AT_END = {"samd21": (0x40000, 0x20000)}
# Memory of the machine, also in the flash file, that the firmware does not use.
MAILBOX = {  # address, offset in file, size
    "nrf52840": (0x21800000, 0x800000, 0x400000),
    "stm32f767": (0x60800000, 0x800000, 0x400000),
    "rp2350": (0x80800000, 0x800000, 0x400000),
    "rv32": (0x80400000, 0x400000, 0x400000),
}
# The program of each, and the Debian package that has it.
_PROGRAMS = {
    "rv32": ("qemu-system-riscv32", "qemu-system-misc"),
    "esp32": ("qemu-xtensa", "qemu-user"),
}
_ARM_PROGRAM = ("qemu-system-arm", "qemu-system-arm")


def missing(name):
    """Return why the emulated board cannot run here, or None when it can."""
    emulator, package = _PROGRAMS.get(name, _ARM_PROGRAM)
    if program(emulator) is None:
        return f"{emulator} is not installed (Debian package {package})"
    if not firmware(name).exists():
        return f"no firmware for it: {how_to_get(name)}"
    return None


def how_to_get(name):
    """Return the words that bring a firmware here."""
    if repository():
        return f"run: make firmware-{name}"
    return "install the wheel acclimate_emulators, which make wheel builds in a clone"


class Emulator:
    """One emulated board; ``start`` again is its power switch.

    :param name: one of ``NAMES``.
    :param flash: file that keeps the flash; a temporary one is made and removed without it.
    :param icount: None, or the shift of QEMU's instruction clock; 10 gives exact counts.
    :param images: ``{address: path}`` of files that are placed in memory before the start.
    :param plugin: QEMU's ``-plugin`` argument, for the emulated ESP32.
    """

    def __init__(self, name, flash=None, icount=None, images=None, elf=None, plugin=None):
        self.name = name
        self.icount = icount
        self.plugin = plugin
        self.images = dict(images or {})
        self.elf = Path(elf) if elf else firmware(name)
        reason = missing(name) if elf is None else None
        if reason:
            raise Missing(f"emulated board {name}: {reason}")
        if name == "esp32" and (icount is not None or images):
            raise Missing("emulated board esp32 has neither icount nor memory images")
        self._own_flash = flash is None
        self.flash = Path(flash) if flash else Path(_temporary_file())
        self.process = None
        self._slave = None
        self._messages = None
        self._monitor = self._passed = None

    def __repr__(self):
        state = "running" if self.process and self.status() is None else "off"
        return f"Emulator({self.name!r}, {state})"

    @property
    def kept(self):
        """The flash file that was named, or None."""
        return None if self._own_flash else self.flash

    def start(self):
        """Power on; return the pty's path."""
        if self.name == "esp32":
            command = [program("qemu-xtensa"), "-cpu", "de233_fpu"]
            command += ["-plugin", self.plugin] if self.plugin else []
            command += [self.elf, self.flash]
        else:
            command = self._system_command()
        self._messages = tempfile.TemporaryFile()
        # The emulator has the master's end, the serial library opens the other one by name;
        # QEMU's own pty device would look for a listener only once a second.
        master, self._slave = pty.openpty()
        tty.setraw(self._slave)
        try:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                stdin=master,
                stdout=master,
                stderr=self._messages,
                start_new_session=True,
                preexec_fn=_DIE_WITH_PARENT,
                pass_fds=[self._passed.fileno()] if self._passed else (),
            )
        finally:
            os.close(master)
            if self._passed:
                self._passed.close()
                self._passed = None
        return os.ttyname(self._slave)

    def status(self):
        """Return the exit status, or None while it runs."""
        return self.process.poll() if self.process else None

    def messages(self):
        """Return what the emulator itself said (not the board)."""
        self._messages.seek(0)
        return self._messages.read().decode("utf-8", "replace").strip()

    def pause(self):
        """Freeze it: a board that waits for input polls, and so takes a core of this computer."""
        if self.status() is None and self.process:
            self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        """Let a frozen one go on."""
        if self.status() is None and self.process:
            self.process.send_signal(signal.SIGCONT)

    def stop(self):
        """Power off; the flash file stays."""
        if self.process is None:
            return
        if self._monitor and self.status() is None:
            self._keep_flash()
        self.process.kill()
        self.process.wait()
        os.close(self._slave)
        self._messages.close()
        self.process = None

    def close(self):
        self.stop()
        if self._own_flash:
            self.flash.unlink(missing_ok=True)

    def _system_command(self):
        command = [program(_PROGRAMS.get(self.name, _ARM_PROGRAM)[0])]
        command += [part.format(flash=self.flash) for part in _MACHINES[self.name]]
        command += ["-display", "none", "-monitor", "none", "-semihosting"]
        command += ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
        if self.icount is not None:
            command += ["-icount", f"shift={self.icount},sleep=off"]
        for address, path in self.images.items():
            command += ["-device", f"loader,file={path},addr={address:#x},force-raw=on"]
        if self.name in PERSISTENT:
            _grow(self.flash, _FLASH_FILE_BYTES)
        if self.name in _KEPT_AT_END and not self._own_flash:
            address, size = _KEPT_AT_END[self.name]
            if self.flash.exists() and self.flash.stat().st_size == size:
                where = f"loader,file={self.flash},addr={address:#x},force-raw=on"
                command += ["-device", where]
            ours, its = socket.socketpair()
            self._monitor, self._passed = ours, its
            command += ["-chardev", f"socket,id=monitor,fd={its.fileno()}"]
            command += ["-mon", "chardev=monitor,mode=control"]
        return [*command, "-kernel", self.elf]

    def _keep_flash(self):
        """Have QEMU write the flash to its file; the old file stays until the new one is whole."""
        address, size = _KEPT_AT_END[self.name]
        fresh = self.flash.with_name(self.flash.name + ".new").absolute()
        self.resume()
        values = {"val": address, "size": size, "filename": str(fresh)}
        with self._monitor, self._monitor.makefile("rw") as monitor:
            for command in (
                {"execute": "qmp_capabilities"},
                {"execute": "memsave", "arguments": values},
            ):
                monitor.write(json.dumps(command) + "\n")
                monitor.flush()
                while "return" not in (answer := json.loads(monitor.readline() or '{"error": 0}')):
                    if "error" in answer:
                        raise BoardGone(f"{self.flash}: the flash was not kept: {answer['error']}")
        os.replace(fresh, self.flash)
        self._monitor = None


def _die_with_parent():
    """In the child: be killed when the parent ends, however it ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_DIE_WITH_PARENT = _die_with_parent if _LIBC else None


def _temporary_file():
    handle, path = tempfile.mkstemp(prefix="acclimate-", suffix=".flash")
    os.close(handle)
    return path


def _grow(path, size_bytes):
    """Make the file as long as the machine maps; what is new reads as zeros (sparse)."""
    if not path.exists() or path.stat().st_size < size_bytes:
        with open(path, "ab") as file:
            file.truncate(size_bytes)
