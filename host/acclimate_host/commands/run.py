# SPDX-License-Identifier: MIT
"""``acclimate run FILE``: run a file on a board and show what it prints as it comes."""

import sys
from pathlib import Path

from acclimate_host.commands import add_board_arguments, open_chosen
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, BoardError


def add_arguments(parser):
    parser.add_argument("file", help="a Python file of this computer")
    add_board_arguments(parser)
    parser.add_argument(
        "--timeout", type=float, default=600, metavar="SECONDS",
        help="overall limit (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--no-install", action="store_true",
        help="do not copy the device package to an emulated board first",
    )  # fmt: skip


def run(args):
    path = Path(args.file)
    if not path.is_file():
        raise AcclimateError(f"no file {args.file}")
    with open_chosen(args) as board:
        if args.board and not args.no_install:
            install(board, sources=(path,), yes=True)
            board.soft_reset()
        try:
            board.run_file(path, args.timeout, _show)
        except BoardError as error:
            sys.stdout.flush()
            print(error.traceback, file=sys.stderr, end="")
            raise
        except KeyboardInterrupt:
            board.interrupt()
            raise


def _show(data):
    sys.stdout.write(data.decode("utf-8", "replace").replace("\r\n", "\n"))
    sys.stdout.flush()
