# SPDX-License-Identifier: MIT
"""Which tests stay together in one worker of pytest-xdist."""

from harness import runtimes


def is_emulated(runtime):
    board = runtimes.VARIANTS.get(runtime.board, runtime.board)
    return board in runtimes.EMULATED + runtimes.MORE_CORES


# runtime -> the board that it shares with others
_BOARDS = {r.name: r.board for r in runtimes.RUNTIMES if is_emulated(r)}


def scope(nodeid):
    """Return the group of a test: one emulated board, else the file, whose fixtures it shares."""
    path, *names = nodeid.split("::")
    runtime = names[0] if "/device/" in path else ""
    return _BOARDS.get(runtime, path)


def scheduler(config, log):
    """Return xdist's scheduler, with these groups."""
    from xdist.scheduler import LoadScopeScheduling

    class ByBoard(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return scope(nodeid)

    return ByBoard(config, log)
