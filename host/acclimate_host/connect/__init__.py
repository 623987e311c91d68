# SPDX-License-Identifier: MIT
"""Reach a board: real, emulated, or the desktop binary; the same to everything above.

>>> from acclimate_host.connect import open_board
>>> with open_board("desktop") as board:                             # doctest: +SKIP
...     print(board.exec("print(1 + 1)"))
2
"""

from acclimate_host import boards
from acclimate_host.connect import desktop, emulator
from acclimate_host.connect.desktop import DesktopBoard
from acclimate_host.connect.emulator import Emulator
from acclimate_host.connect.serial_board import EmulatedBoard, SerialBoard
from acclimate_host.errors import AcclimateError, did_you_mean

__all__ = ["DesktopBoard", "EmulatedBoard", "SerialBoard", "is_port", "open_board", "why_not"]

RUNNABLE = (*desktop.NAMES, *emulator.NAMES)


def open_board(name_or_port, **options):
    """Open a board and return it; close it, or use it as a context manager.

    :param name_or_port: ``desktop``, ``desktop-f32``, ``nrf52840``, ``samd21``, ``esp32``
        (emulated), a serial port, a pty, or ``socket://HOST:PORT``.
    :param options: ``flash`` (file), ``icount`` (shift), ``images`` ({address: file}) and
        ``elf`` for emulated boards; ``root``, ``path`` and ``heap_bytes`` for the desktop
        binary; ``baudrate`` and ``timeout_s`` for a port.
    :raises ConnectError: it does not answer. Missing: it cannot run here. AcclimateError: there
        is no such board.
    """
    if name_or_port in desktop.NAMES:
        return DesktopBoard(name_or_port, **options)
    if name_or_port in emulator.NAMES:
        return EmulatedBoard(Emulator(name_or_port, **options))
    if name_or_port.endswith(".toml"):
        raise AcclimateError(f"{name_or_port} describes a board: name its port with --port DEV")
    if is_port(name_or_port):
        return SerialBoard(name_or_port, **options)
    if name_or_port in boards.names():
        raise AcclimateError(f"{name_or_port} is a real board: name its port with --port DEV")
    near = did_you_mean(name_or_port, RUNNABLE)
    raise AcclimateError(
        f"{name_or_port}: not one of {', '.join(RUNNABLE)}; a real board needs --port{near}"
    )


def why_not(name):
    """Return why the named runtime cannot be opened here, or None when it can."""
    return desktop.missing(name) if name in desktop.NAMES else emulator.missing(name)


def is_port(name):
    """Tell whether a name is that of a port, and not of a board that runs here."""
    return "/" in name or name.upper().startswith("COM")
