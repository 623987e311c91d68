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

        def remove_node(self, node):
            """Hand on what a worker that died has left, without the test in which it died.

            xdist would hand on all groups that the worker ever had; one without an open test
            makes the worker that gets it wait for ever.
            """
            left = {}
            for name, tests in self.assigned_work[node].items():
                if unfinished := {test: False for test, done in tests.items() if not done}:
                    left[name] = unfinished
            self.assigned_work[node] = {}
            super().remove_node(node)
            if not left:
                return None
            name, tests = next(iter(left.items()))
            died_in = next(iter(tests))
            del tests[died_in]
            self.workqueue.update({name: tests for name, tests in left.items() if tests})
            for other in self.nodes:
                self._reschedule(other)
            return died_in

        def _reschedule(self, node):
            if node not in self.registered_collections:
                return  # it still collects, in place of one that died
            try:
                super()._reschedule(node)
                # A worker begins a test only when it knows the next one.
                while (
                    self.workqueue
                    and not node.shutting_down
                    and self._pending_of(self.assigned_work[node]) < 2
                ):
                    self._assign_work_unit(node)
            except OSError:  # it has died, too: what it was given comes back once that is told
                pass

    return ByBoard(config, log)
