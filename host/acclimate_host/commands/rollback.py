# SPDX-License-Identifier: MIT
"""``acclimate rollback``: go back to the model before, or refuse the one that waits.

Done over the cable; the board's program sees it after its next reset.
"""

from acclimate_host.commands.confirm import add_arguments, changed

__all__ = ["add_arguments", "run"]


def run(args):
    changed(args, lambda store: store.rollback(), "give up")
