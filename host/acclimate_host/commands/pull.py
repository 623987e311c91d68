# SPDX-License-Identifier: MIT
"""``acclimate pull URL``: a board without network pulls its next model over the serial line."""

import re
from pathlib import Path

from acclimate_host.capsules import region
from acclimate_host.capsules.layout import BOUND_MAX, NUMBER_MAX
from acclimate_host.capsules.server import read_key
from acclimate_host.capsules.tunnel import check_url, pull
from acclimate_host.commands import (
    add_board_arguments,
    add_region_arguments,
    open_chosen,
    progress,
)
from acclimate_host.errors import Refused


def add_arguments(parser):
    parser.add_argument("url", help="of the repository, such as http://127.0.0.1:8000")
    add_board_arguments(parser)
    add_region_arguments(parser)
    parser.add_argument("--model", type=int, required=True, metavar="ID", help="model id")
    parser.add_argument("--cohort", default="all", help="which manifest (%(default)s)")
    parser.add_argument("--device", type=int, default=0, metavar="N", help="number of the device")
    parser.add_argument(
        "--key", metavar="FILE", help="give the board this key first, over its cable"
    )
    parser.add_argument(
        "--unsigned", action="store_true", help="a board without a key takes what comes"
    )
    parser.add_argument(
        "--trial", action="store_true", help="use the model on trial; without: confirm it"
    )


def run(args):
    check_url(args.url)
    if not re.fullmatch("[a-z0-9][a-z0-9_-]{0,31}", args.cohort):
        raise Refused(f"cohort {args.cohort!r}: lower-case letters, digits, - and _, at most 32")
    for name, most in (("model", NUMBER_MAX), ("device", BOUND_MAX)):
        if not 0 <= getattr(args, name) <= most:
            raise Refused(f"--{name}: expected 0 to {most}, got {getattr(args, name)}")
    key = read_key(Path(args.key)) if args.key else None
    with open_chosen(args, **region.open_options(args.board)) as board:
        place = region.region_of(board, args.region, args.start, args.bytes)
        region.require(board, place)
        region.prepare(board)
        if key:
            region.give_key(board, key)
        state, version, note = region.open_store(
            board, place, model=args.model, device=args.device, unsigned=args.unsigned
        )
        print(f"{board.name}: {_found(state, version, note)}")
        reason = pull(
            board,
            args.url,
            args.cohort,
            args.device,
            lambda done: progress(f"{done:,} bytes"),
            object_key=region.object_key_path(board) if region.has_object_key(board) else None,
        )
        progress("")
        args.result = {"board": board.name, "taken": not reason, "reason": reason or None}
        if reason:
            print(f"{board.name}: nothing taken: {reason}")
            return
        board.exec("store.trial()" if args.trial else "store.confirm()", 60)
        state, version, _ = region.status(board)
        args.result.update(version=version, state=state)
        print(f"{board.name}: version {version}, {state}")


def _found(state, version, note):
    """Return what the board's store held, in words."""
    if state == "empty" and "refused, magic" in note:  # blank flash: that no capsule begins there
        return "no model yet"
    return f"version {version}, {state}" + (f" ({note})" if note else "")
