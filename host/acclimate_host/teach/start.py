# SPDX-License-Identifier: MIT
"""What ``teach`` and ``record`` share: their arguments, and the session that these describe."""

from contextlib import contextmanager

from acclimate_host.commands import add_board_arguments, open_chosen
from acclimate_host.errors import AcclimateError
from acclimate_host.teach import recordings
from acclimate_host.teach.record import Record
from acclimate_host.teach.session import SENSORS, Session, Settings


def add_session_arguments(parser):
    add_board_arguments(parser)
    parser.add_argument(
        "--labels", metavar="A,B,...", help="names of 2 to 9 gestures (those of the replay)"
    )
    parser.add_argument(
        "--sensor",
        default="replay",
        metavar="NAME",
        help="a file of yours in .py, or one of " + ", ".join(SENSORS) + " (%(default)s)",
    )
    parser.add_argument(
        "--samples", type=int, default=128, metavar="N", help="of a window (%(default)s)"
    )
    parser.add_argument(
        "--no-install", action="store_true", help="do not bring the device package up to date"
    )


@contextmanager
def session(args, folder=None):
    """Give the session that the arguments describe, set up; at the end the board is closed.

    :param folder: where labelled windows are kept, or None
    """
    settings = Settings(_labels(args), args.sensor, args.samples)
    settings.check()
    record = Record(folder, settings.labels, settings.samples) if folder else None
    data = recordings.replay_file() if args.sensor == "replay" else None
    options = {"icount": 10} if args.board in ("nrf52840", "samd21") else {}
    board = open_chosen(args, **options)

    def reopen():
        if not args.port:
            made.board.reset()
            return made.board
        try:
            made.board.close()
        except AcclimateError:
            pass  # it is gone
        return open_chosen(args, **options)

    made = Session(board, settings, record, reopen, data)
    try:
        made.set_up(not args.no_install, lambda text: print(text, flush=True))
        yield made
    finally:
        made.board.close()


def _labels(args):
    if args.labels:
        return tuple(name.strip() for name in args.labels.split(","))
    return recordings.LABELS if args.sensor == "replay" else ("one", "two", "three")
