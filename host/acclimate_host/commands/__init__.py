# SPDX-License-Identifier: MIT
"""The verbs of the command line, one module each, and what they share."""

import argparse
import math
from pathlib import Path

from acclimate_host.capsules.build import read
from acclimate_host.commands.showing import progress
from acclimate_host.connect import RUNNABLE, emulator, firmware, is_port, merge, open_board
from acclimate_host.errors import AcclimateError, refused_of
from acclimate_host.paths import read_at_most, write_whole

__all__ = ["progress"]  # and what is defined here


def add_board_arguments(parser, needed=True):
    """Add ``--port`` and ``--board``, of which one names the board."""
    group = parser.add_mutually_exclusive_group(required=needed)
    group.add_argument(
        "--port", metavar="DEV", help="serial port, pty, or socket://HOST:PORT of a board"
    )
    group.add_argument(
        "--board", metavar="NAME", help="a board that runs here: " + ", ".join(RUNNABLE)
    )
    parser.add_argument(
        "--flash", metavar="FILE", help="file that keeps an emulated board's flash"
    )


def open_chosen(args, **options):
    """Open the board that the arguments name."""
    if args.flash:
        if args.board not in emulator.NAMES:
            raise AcclimateError(f"--flash is for --board {', '.join(emulator.NAMES)}")
        options["flash"] = args.flash
    if args.board:
        firmware.prepare(args.board)
    if args.port is None:
        return open_board(args.board, **options)
    if not is_port(args.port):
        hint = f"; or --board {args.port}" if args.port in RUNNABLE else ""
        raise AcclimateError(
            f"--port {args.port!r}: expected /dev/..., COM..., socket://HOST:PORT{hint}"
        )
    return open_board(args.port, **options)


def add_region_arguments(parser):
    """Add what tells where a board keeps its capsules, where it does not know itself."""
    parser.add_argument(
        "--region",
        metavar="EXPRESSION",
        help="the board's own expression for the block device, such as "
        "'import nrf; nrf.Flash(start=0xC0000, len=0x20000)'",
    )
    parser.add_argument("--start", type=to_number, default=0, help="address of the region")
    parser.add_argument("--bytes", type=to_number, default=0, help="length of the region")


def add_object_key_argument(parser):
    """Add ``--object-key``."""
    parser.add_argument(
        "--object-key",
        metavar="FILE",
        help="encrypts objects for boards that were given the same key: capsule key --objects",
    )


def add_extras_argument(parser, beside):
    """Add ``--with``, the names of extras; `beside` says what they come beside."""
    parser.add_argument(
        "--with",
        dest="extras",
        metavar="NAMES",
        default="",
        help=f"{beside}, with commas: {', '.join(merge.EXTRAS)}",
    )


def to_names(text):
    """Return the names in a text, which commas part."""
    return [name for name in text.split(",") if name]


def to_number(text):
    """Return the number in a text, decimal or with 0x."""
    return int(text, 0)


def check_counts(args, **most):
    """Refuse, before any work begins, how often something is done: below 1, or above its limit.

    :param most: the limit of each option by its name.
    """
    for name, limit in most.items():
        value = getattr(args, name)
        if not 1 <= value <= limit:
            raise AcclimateError(f"--{name} {value}: expected 1 to {limit}")


def to_port(text):
    """Return the TCP port in a text, 0 to 65535; 0 stands for any that is free."""
    if text.isdecimal() and int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a port, 0 to 65535, got {text!r}")


def to_seconds(text):
    """Return the seconds in a text: above 0, and at most 31 years, which every wait takes."""
    value = _to_float(text)
    if not 0 < value <= 1e9:
        raise argparse.ArgumentTypeError(f"expected seconds, above 0 to 1e9, got {text!r}")
    return value


def to_positive(text):
    """Return the number in a text: finite and above 0."""
    value = _to_float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return value


def _to_float(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


def table(rows, heads):
    """Print rows of texts in columns as wide as needed."""
    rows = [heads, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(line.rstrip())


_FILE_BYTES = 1 << 27  # seven sections of a capsule, or the flash of a board


def read_bytes(path):
    """Return the content of a file that the command line names.

    :raises AcclimateError: it cannot be read, or is too large for all that is read here
    """
    return read_at_most(path, _FILE_BYTES)


def read_capsule(path):
    """Return the bytes and the Capsule of a file that the command line names.

    :raises AcclimateError: it cannot be read, or is no whole capsule; the file is named
    """
    data = read_bytes(path)
    with refused_of(path):
        return data, read(data)


def read_text(path):
    """The same of a file of UTF-8 text.

    :raises AcclimateError: it cannot be read, or is not UTF-8
    """
    try:
        return read_bytes(path).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise AcclimateError(f"{path}: not text, byte {error.start} is not UTF-8") from None


def check_output(name):
    """Refuse a file that can never be written, before the work whose result goes there.

    :raises AcclimateError: its folder is not there, or it is a folder itself
    """
    if name and Path(name).is_dir():
        raise AcclimateError(f"{name}: Is a directory")
    if name and not Path(name).absolute().parent.is_dir():
        raise AcclimateError(f"no folder for {name}")


def check_picture(option, name):
    """The same of a picture, whose name also says its format."""
    check_output(name)
    if name and Path(name).suffix not in (".svg", ".png"):
        raise AcclimateError(f"--{option} {name}: expected a name in .svg or .png")


def write_together(files):
    """Write files that belong together: none of them where one is a folder.

    :param files: {path: bytes}
    """
    for path in files:
        check_output(path)
    for path, data in files.items():
        write_bytes(path, data)


def write_text(path, text):
    """Write a file of UTF-8 text that the command line names, as `write_bytes` does."""
    write_bytes(path, text.encode())


def write_bytes(path, data):
    """Write a file that the command line names; on a full disk the old one stays.

    :raises AcclimateError: it cannot be written
    """
    target = Path(path).resolve()
    try:
        if target.parent.is_dir() and (target.is_file() or not target.exists()):
            write_whole(target, data)
        else:
            Path(path).write_bytes(data)  # a device or a pipe; or the system says what is wrong
    except OSError as error:
        raise AcclimateError(f"{path}: {error.strerror}") from None
