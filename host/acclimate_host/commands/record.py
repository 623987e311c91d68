# SPDX-License-Identifier: MIT
"""``acclimate record``: keep labelled windows of a board's sensor, as CSV and npy."""

from acclimate_host.teach import terminal
from acclimate_host.teach.start import add_session_arguments, session


def add_arguments(parser):
    parser.add_argument("folder", help="gets windows.csv, windows.npy and labels.npy")
    add_session_arguments(parser)


def run(args):
    with session(args, args.folder) as board:
        terminal.teach(board, trains=False)
        print(f"{len(board.windows)} windows are new in {args.folder}")
