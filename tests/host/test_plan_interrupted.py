# SPDX-License-Identifier: MIT
"""``acclimate plan`` on a terminal: what it says while it runs, and real Ctrl-C."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys

import pytest

from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.problem import from_json
from harness.clock import HANG_S, let_work


class Terminal:
    """`acclimate plan` in a session of its own, its output on a pseudo-terminal."""

    def __init__(self, *words):
        self.master, slave = pty.openpty()
        self.child = subprocess.Popen(
            [sys.executable, "-m", "acclimate_host.cli", "plan", *words],
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        os.close(self.master)

    def until(self, pattern):
        """Read on until the text matches; the match."""
        while not (found := re.search(pattern, self.text)):
            assert self._read(), self.text
        return found

    def ctrl_c(self):
        """As the terminal does it: to all processes of the session. Returns the exit code."""
        os.killpg(self.child.pid, signal.SIGINT)
        while self._read():
            pass
        return self.child.wait(HANG_S)

    def _read(self):
        assert select.select([self.master], [], [], HANG_S)[0], self.text
        try:
            data = os.read(self.master, 4096)
        except OSError:
            return False
        self.text += data.decode()
        return bool(data)


@pytest.mark.parametrize("more_s", [0, 1])
def test_ctrl_c_writes_the_best_plan_so_far(more_s, tmp_path):
    out = tmp_path / "plan.json"
    with Terminal("bert", "--ram", "30%", "--out", str(out)) as terminal:
        terminal.until(": best")
        let_work(terminal.child.pid, more_s)
        assert terminal.ctrl_c() == 0, terminal.text
    assert "interrupted: this is the best plan until then" in terminal.text
    assert "above any plan" in terminal.text and "Traceback" not in terminal.text
    graph, budget, plan, claim = from_json(json.loads(out.read_text()))
    verdict = evaluate(graph, budget, plan)
    assert verdict.valid and verdict.energy == claim["energy"] > claim["lower_bound"] > 0
    assert not claim["proven"]


def test_progress_has_incumbent_bound_gap_and_time_left():
    with Terminal("bert", "--ram", "30%", "--time-limit", str(HANG_S)) as terminal:
        found = terminal.until(
            r"best ([\d.]+) J, bound ([\d.]+) J, gap ([\d.e-]+) %, "
            r"(about|at most) (\d+) s to go"
        )
        assert terminal.ctrl_c() == 0
    best, bound, gap = map(float, found.groups()[:3])
    assert bound < best and gap == pytest.approx(100 * (1 - bound / best), rel=0.1)
    assert int(found[5]) <= HANG_S


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_ends_a_sweep_with_the_plans_that_are_done(workers):
    words = (
        "bert",
        "--sweep",
        "ram=100%,60%,30%,25%",
        "--sweep",
        "method=keep_all,poet",
        "--workers",
        workers,
    )
    with Terminal(*words) as terminal:
        terminal.until("[45] of 8 plans")
        assert terminal.ctrl_c() == 0, terminal.text
    assert re.search(r"interrupted: [4-7] of 8 plans", terminal.text), terminal.text
    assert "Traceback" not in terminal.text and "m4     keep_all" in terminal.text
