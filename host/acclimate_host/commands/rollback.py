# SPDX-License-Identifier: MIT
"""``acclimate rollback``: go back to the model before, or refuse the one that waits.

Done over the cable; the board's program sees it after its next reset.
"""

from acclimate_host.commands.confirm import add_arguments, changed
from acclimate_host.errors import Refused

__all__ = ["add_arguments", "run"]


def run(args):
    changed(args, _roll_back)


def _roll_back(board, store):
    if store.state == "empty":
        raise Refused(f"{board.name}: empty: there is no model to give up")
    store.rollback()
