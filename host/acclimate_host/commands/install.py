# SPDX-License-Identifier: MIT
"""``acclimate install``: copy the device package to a board, or to a CIRCUITPY drive."""

import sys
from dataclasses import asdict

from acclimate_host.commands import (
    add_board_arguments,
    add_extras_argument,
    open_chosen,
    progress,
    to_names,
)
from acclimate_host.connect.drive import install_drive
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError


def add_arguments(parser):
    add_board_arguments(parser, needed=False)
    parser.add_argument("--drive", metavar="FOLDER", help="a mounted CIRCUITPY drive instead")
    parser.add_argument(
        "--only", metavar="NAMES", help="these modules and what they import, as svm,loop"
    )
    add_extras_argument(parser, "beside the default set")
    parser.add_argument("--pure", action="store_true", help="leave native modules out")
    parser.add_argument(
        "-y", "--yes", action="store_true", help="remove stale .py files without asking"
    )


def run(args):
    only = None if args.only is None else to_names(args.only)
    if only == []:
        raise AcclimateError(f"--only {args.only!r}: expected names of modules, as svm,loop")
    if args.drive:
        report = install_drive(args.drive, only)
    elif args.port or args.board:
        with open_chosen(args) as board:
            extras = to_names(args.extras)
            options = dict(pure=args.pure, yes=args.yes, ask=_ask, progress=progress)
            report = install(board, only, extras=extras, **options)
        progress("")
    else:
        raise AcclimateError("name the board: --port DEV, --board NAME or --drive FOLDER")
    for line in report.lines():
        print(line)
    args.result = asdict(report)


def _ask(question):
    if not sys.stdin.isatty():
        return False
    return input(question + " [y/N] ").strip().lower() in ("y", "yes")
