# SPDX-License-Identifier: MIT
"""The network's part of the demo with each of the ten users: `make bench NAME=demo_network`.

The demo shows one user. Here each has turned the watch: what is right before and after six passes
over 60 windows, on the desktop binary with native kernels, as `make demo` runs it.
"""

import statistics
import sys

from acclimate_host.demo import deploy, network, watch
from acclimate_host.paths import built
from bench.common import table, write

USERS = range(1, 11)
ROWS = [
    ("before", None, None),
    ("after", None, None),
    ("worst_gain", None, None),
    ("arena_bytes", "<=", 4096),
]


def measure(recordings, user, board, folder):
    """Return (share right before, after, bytes of the arena) of a user."""
    cache = built("data", f"network_without_user{user}.npz")
    plan = network.prepare(recordings, user, cache, network.is_native(board))
    shares = network.run(board, plan, lambda text: None, folder).shares
    return shares[0], shares[-1], plan.program.arena_bytes


def main():
    recordings = watch.load(built("data", "watch.npz"))
    folder = network.scratch_folder("desktop", None)
    found = {}
    for user in USERS:
        with deploy.open_for_demo("desktop", None, ("net",)).board as board:
            found[user] = measure(recordings, user, board, folder)
        print(f"  user {user}: {found[user][0]:.0%} right before, {found[user][1]:.0%} after")
    result = {
        "before": statistics.mean(before for before, _, _ in found.values()),
        "after": statistics.mean(after for _, after, _ in found.values()),
        "worst_gain": min(after - before for before, after, _ in found.values()),
        "arena_bytes": max(arena for _, _, arena in found.values()),
        "users": {str(user): list(numbers) for user, numbers in found.items()},
    }
    write("demo_network", result)
    return 1 if table("The demo's network, ten users", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
