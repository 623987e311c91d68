# SPDX-License-Identifier: MIT
"""``acclimate confirm``: use the model on trial, or the one that waits, from now on.

Done over the cable; the board's program sees it after its next reset.
"""

from acclimate_host.capsules import cable, region
from acclimate_host.commands import add_board_arguments, add_region_arguments, open_chosen
from acclimate_host.errors import Refused


def add_arguments(parser):
    add_board_arguments(parser)
    add_region_arguments(parser)


def run(args):
    changed(args, lambda store: store.confirm(), "confirm")


def changed(args, change, verb):
    """Change what a board's region says of its model, and print what it says then.

    :raises Refused: the store is empty, so that there is nothing to `verb`.
    """
    with open_chosen(args, **region.open_options(args.board)) as board:
        place = region.region_of(board, args.region, args.start, args.bytes)
        store = cable.open_store(board, place, writes=True)
        if store.state == "empty":
            raise Refused(f"{board.name}: the store is empty: there is no model to {verb}")
        change(store)
        said = args.result = cable.describe(store)
        print(f"{board.name}: version {said['version']}, {said['state']}; reset the board")
