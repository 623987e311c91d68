# SPDX-License-Identifier: MIT
"""``acclimate emulate NAME``: an emulated board at a pty, for mpremote, Thonny and ``--port``."""

import signal
import sys
import time

from acclimate_host.connect import emulator, firmware
from acclimate_host.connect.emulator import Emulator
from acclimate_host.errors import BoardGone

_LOOK_S = 0.5


def add_arguments(parser):
    parser.add_argument("name", choices=emulator.NAMES, help="the emulated board")
    parser.add_argument(
        "--flash", metavar="FILE", help="file that keeps its flash; without one it is forgotten"
    )


def run(args):
    firmware.prepare(args.name)
    board = Emulator(args.name, flash=args.flash)
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background job ignores the first
        signal.signal(number, _interrupt)
    try:
        pty = board.start()
        print(pty, flush=True)
        print(
            f"an emulated {args.name} is at {pty}; Ctrl-C here ends it\n"
            f"  acclimate install --port {pty}\n  mpremote connect {pty}",
            file=sys.stderr,
        )
        _wait(board)
    except KeyboardInterrupt:
        print(f"acclimate emulate: {args.name} ended", file=sys.stderr)
    finally:
        board.close()


def _interrupt(_number, _frame):
    raise KeyboardInterrupt


def _wait(board):
    while board.status() is None:
        time.sleep(_LOOK_S)
    said = board.messages().splitlines()
    raise BoardGone(
        f"the emulated board ended (status {board.status()})" + (f": {said[-1]}" if said else ""),
        board.status(),
    )
