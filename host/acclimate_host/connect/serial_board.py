# SPDX-License-Identifier: MIT
"""A board behind a raw REPL: serial port, pty, socket, or an emulator's pty."""

import base64
import binascii
import shlex
import time

from mpremote.transport import TransportError
from serial.tools import list_ports

from acclimate_host.connect.board import Board
from acclimate_host.connect.emulator import MAILBOX
from acclimate_host.connect.link import Link
from acclimate_host.errors import AcclimateError, ConnectError

_CHUNK_BYTES = 256
_OPEN_S = 10
_EMULATED_S = 600  # opening and each call: other programs may need this computer too
_START_S = 1  # for the first word of a board; a program at its start may be silent
_LOOK_AGAIN_S = 0.1  # while a USB port is away; the system tells nobody when it is back
# The names are hidden ones, as the user's own of that name would be lost.
_CHECK = """
try:
    from binascii import crc32 as _k
except ImportError:
    _k = sum
print(_k is not sum)
"""
_OPEN_FOR_WRITE = (
    _CHECK
    + """
try:
    from binascii import a2b_base64 as _u
except ImportError:
    _u = None
print(_u is not None)
_f = open(%r, 'wb')
def _p(d):
    print(_f.write(d), _k(d))
"""
)
_OPEN_FOR_READ = (
    _CHECK
    + """
from binascii import hexlify as _u
_f = open(%r, 'rb')
def _p(count):
    d = _f.read(count)
    print(_u(d).decode(), _k(d))
"""
)
_CLOSE = "_f.close()\ndel _f, _k, _u, _p"


class SerialBoard(Board):
    """A board at a serial port, a pty or ``socket://HOST:PORT``."""

    def __init__(self, device, name=None, baudrate=115200, timeout_s=_OPEN_S):
        self.name = name or device
        self.device = device
        self.baudrate = baudrate
        self.timeout_s = timeout_s
        self.link = None
        self._connect()
        self._usb_serial = _serial_number(device)

    @property
    def words(self):
        return f"--port {self.device}"

    def _connect(self):
        self.link = Link(self.device, self.baudrate, self.status)
        try:
            self._wait_for_start()
            self.link.enter_raw_repl(timeout_overall=self.timeout_s)
        except BaseException:
            self.link.close()
            raise

    def _wait_for_start(self):
        """A board at a port has started long ago."""

    def status(self):
        """Return None while the board is there, else (exit status, last message)."""
        return None

    def exec(self, code, timeout_s=10, consumer=None):
        return self.link.run(code, timeout_s, consumer)

    def soft_reset(self):
        self.link.soft_reset()

    def reset(self):
        """Reset the processor and connect again.

        A USB port vanishes for a moment and may come back under another name: the board is
        then found by its serial number, for at most ``timeout_s``.
        """
        try:
            self.link.exec_raw_no_follow("import machine\nmachine.reset()")
            self.link.serial.drain()
        except (AcclimateError, TransportError):
            pass  # a port that vanishes with the reset
        self.link.close()
        deadline = time.monotonic() + self.timeout_s
        while True:
            self.device = _find(self._usb_serial) or self.device
            try:
                return self._connect()
            except ConnectError as error:
                if error.stage != "open" or time.monotonic() > deadline:
                    raise
            time.sleep(_LOOK_AGAIN_S)

    def interrupt(self):
        """Stop what runs, as Ctrl-C at the prompt does."""
        self.link.interrupt()

    def close(self):
        if self.link is None:
            return
        try:
            self.link.exit_raw_repl()
        except AcclimateError:
            pass  # the board is gone already
        self.link.close()

    def put_bytes(self, data, path, progress=None):
        crc, self._base64 = (word == "True" for word in self.exec(_OPEN_FOR_WRITE % path).split())
        for start in range(0, len(data), _CHUNK_BYTES):
            chunk = bytes(data[start : start + _CHUNK_BYTES])
            answer = self.exec(f"_p({self._literal(chunk)})").split()
            if answer != [str(len(chunk)), str(_check(chunk, crc))]:
                raise _torn(path, f"{len(chunk)} bytes at {start} arrived otherwise")
            if progress:
                progress(start + len(chunk), len(data))
        self.exec(_CLOSE)
        self._compare_length(path, len(data))

    def _compare_length(self, path, wanted):
        found = int(self.exec("import os\nprint(os.stat(%r)[6])" % path))
        if found != wanted:
            raise _torn(path, f"{found} bytes on the board for {wanted}")

    def _literal(self, chunk):
        """Return the shorter expression for the bytes: every character costs time."""
        plain = repr(chunk)
        encoded = "_u('%s')" % base64.b64encode(chunk).decode()
        if len(encoded) >= len(plain) or not self._base64:
            return plain
        return encoded

    def get_bytes(self, path):
        crc = self.exec(_OPEN_FOR_READ % path).strip() == "True"
        data = bytearray()
        while True:
            answer = self.exec(f"_p({_CHUNK_BYTES})")
            try:
                *text, check = answer.split()
                chunk = bytes.fromhex("".join(text))
                whole = int(check) == _check(chunk, crc)
            except ValueError:
                whole = False
            if not whole:
                raise _torn(path, f"what came at byte {len(data)} is not what was sent")
            if not chunk:
                break
            data += chunk
        self.exec(_CLOSE)
        return bytes(data)


class EmulatedBoard(SerialBoard):
    """A board in an emulator.

    ``ticks_per_instruction`` turns differences of ``ticks()`` into instructions when the
    emulator runs with an instruction clock.
    """

    emulated = True

    def __init__(self, emulator, timeout_s=_EMULATED_S):
        self.emulator = emulator
        try:
            super().__init__(emulator.start(), emulator.name, timeout_s=timeout_s)
        except BaseException:
            emulator.close()
            raise

    def exec(self, code, timeout_s=_EMULATED_S, consumer=None):
        return super().exec(code, timeout_s, consumer)

    @property
    def words(self):
        kept = self.emulator.kept
        return f"--board {self.name}" + (f" --flash {shlex.quote(str(kept))}" if kept else "")

    @property
    def flash(self):
        """Path of the file that keeps the flash."""
        return self.emulator.flash

    def put_bytes(self, data, path, progress=None):
        """Copy through memory that both sides see where there is some, not byte by byte."""
        address, offset, size = MAILBOX.get(self.emulator.name, (0, 0, 0))
        if not 0 < len(data) <= size:
            return super().put_bytes(data, path, progress)
        with open(self.flash, "r+b") as file:
            file.seek(offset)
            file.write(data)
        self.exec(
            "import uctypes\nwith open(%r, 'wb') as _f:\n"
            " _f.write(uctypes.bytearray_at(%d, %d))\ndel _f" % (path, address, len(data))
        )

    def _wait_for_start(self):
        """Let QEMU look for input once the board listens: by itself it does so each second."""
        self.link.patience_s = _EMULATED_S
        self.link.hears(_START_S)
        self.emulator.resume()

    def status(self):
        status = self.emulator.status()
        return None if status is None else (status, self.emulator.messages())

    def ticks(self):
        """Return (ticks, HZ) of the board's clock: 30 bits, wraps."""
        ticks, hz = self.exec("import qboard\nprint(qboard.ticks(), qboard.HZ)").split()
        return int(ticks), int(hz)

    def instructions(self, ticks, hz):
        """Return the instructions behind a difference of ticks; needs an instruction clock."""
        if self.emulator.icount is None:
            raise ConnectError(f"{self.name} runs without an instruction clock: open with icount")
        return round((ticks & 0x3FFFFFFF) * 1e9 / hz / (1 << self.emulator.icount))

    def kill(self):
        self.link.close()
        self.emulator.stop()

    def reset(self):
        self.kill()
        self.device = self.emulator.start()
        self._connect()

    def close(self):
        if self.link is not None:
            self.link.close()
        self.emulator.close()


def _check(chunk, crc):
    """Return what the board's own check of the bytes must give."""
    return binascii.crc32(chunk) if crc else sum(chunk)


def _torn(path, what):
    return AcclimateError(f"{path}: {what}: try again, or check the cable")


def _serial_number(device):
    """Return the USB serial number of a port, or None."""
    for port in list_ports.comports():
        if port.device == device:
            return port.serial_number
    return None


def _find(serial_number):
    """Return the port that a USB serial number has now, or None."""
    for port in list_ports.comports() if serial_number else ():
        if port.serial_number == serial_number:
            return port.device
    return None
