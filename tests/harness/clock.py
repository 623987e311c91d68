# SPDX-License-Identifier: MIT
"""Time for tests: a clock that a test moves, and work of a process instead of seconds.

No test asserts how fast this machine is. `HANG_S` only ends a test that would never end.
"""

import os
import time
from pathlib import Path

HANG_S = 600


class Clock:
    """Stands for the module ``time`` where deadlines are compared.

    :param runs: real time passes too; without it only ``skip`` moves the clock.
    """

    def __init__(self, runs=True):
        self.runs = runs
        self.skipped_s = 0.0

    def monotonic(self):
        return self.skipped_s + (time.monotonic() if self.runs else 0.0)

    def __getattr__(self, name):
        return getattr(time, name)

    def skip(self, seconds):
        self.skipped_s += seconds

    def into(self, monkeypatch, *modules):
        """Let modules (by their names) look at this clock; return it."""
        for module in modules:
            monkeypatch.setattr(module + ".time", self)
        return self


def wait_until(condition, what="what the test waits for"):
    """Look again and again; the limit is against hanging only."""
    end = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen in {HANG_S} s"
        time.sleep(0.01)


def cpu_seconds(pid):
    """Return the processor time that a process had so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def let_work(pid, seconds):
    """Return when a process has had some more seconds of processor time."""
    end = cpu_seconds(pid) + seconds
    wait_until(lambda: cpu_seconds(pid) >= end, f"{seconds} s of work")
