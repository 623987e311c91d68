# SPDX-License-Identifier: MIT
"""``acclimate confirm``: use the model on trial, or the one that waits, from now on.

Done over the cable; the board's program sees it after its next reset.
"""

from acclimate_host.capsules import cable, region
from acclimate_host.commands import add_board_arguments, add_region_arguments, open_chosen


def add_arguments(parser):
    add_board_arguments(parser)
    add_region_arguments(parser)


def run(args):
    changed(args, lambda board, store: store.confirm())


def changed(args, change):
    """Change what a board's region says of its model, and print what it says then."""
    with open_chosen(args, **region.open_options(args.board)) as board:
        place = region.region_of(board, args.region, args.start, args.bytes)
        store = cable.open_store(board, place, writes=True)
        change(board, store)
        said = args.result = cable.describe(store)
        print(f"{board.name}: version {said['version']}, {said['state']}; reset the board")
