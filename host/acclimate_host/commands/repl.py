# SPDX-License-Identifier: MIT
"""``acclimate repl``: a board's own prompt here. Ctrl-] ends it, Ctrl-D the desktop's."""

import os
import select
import sys

from acclimate_host.commands import add_board_arguments, open_chosen
from acclimate_host.connect.desktop import DesktopBoard
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, BoardGone

_END = b"\x1d"


def add_arguments(parser):
    add_board_arguments(parser)
    parser.add_argument(
        "--no-install",
        action="store_true",
        help="do not copy the device package to an emulated board first",
    )


def run(args):
    if not sys.stdin.isatty():
        raise AcclimateError("repl needs a terminal; for a file use: acclimate run FILE")
    import termios
    import tty

    with open_chosen(args) as board:
        if args.board and not args.no_install:
            install(board, yes=True)
            board.soft_reset()
        if isinstance(board, DesktopBoard):
            print(f"{board.name}: Ctrl-D ends this", flush=True)
            return board.prompt()
        print(f"{board.name}: Ctrl-] ends this")
        before = termios.tcgetattr(sys.stdin)
        try:
            tty.setraw(sys.stdin)
            board.link.exit_raw_repl()
            _talk(board.link.serial, sys.stdin.fileno(), sys.stdout.fileno())
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
            print()


def _talk(port, keyboard, screen):
    while True:
        if port.buffer or port.fill():
            os.write(screen, port.read(len(port.buffer)))
        if select.select([keyboard], [], [], 0)[0]:
            keys = os.read(keyboard, 256)
            if not keys or _END in keys:
                return
            try:
                port.write(keys)
            except BoardGone:
                return
