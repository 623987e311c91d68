# SPDX-License-Identifier: MIT
"""The emulator's process: it never outlives the program that started it."""

import subprocess
import sys
from pathlib import Path

import pytest

from acclimate_host.connect import why_not
from harness.clock import wait_until

_PARENT = """
import os, signal
from acclimate_host.connect import open_board
board = open_board("nrf52840")
print(board.emulator.process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def emulated_board():
    reason = why_not("nrf52840")
    if reason:
        pytest.skip(reason)


def _state(pid):
    """Letter of /proc/PID/stat, or None when the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def test_a_killed_parent_takes_the_emulator_with_it():
    done = subprocess.run([sys.executable, "-c", _PARENT], capture_output=True, text=True)
    pid = int(done.stdout)
    wait_until(lambda: _state(pid) in (None, "Z"))
