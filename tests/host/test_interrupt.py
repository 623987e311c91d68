# SPDX-License-Identifier: MIT
"""Ctrl-C stops a program on every emulated board, and the board then runs the next one."""

import os

import pytest

from acclimate_host.connect import open_board, why_not
from acclimate_host.errors import BoardTimeout
from harness.clock import HANG_S, Clock
from harness.runtimes import EMULATED

PROGRAMS = {
    "loop": "while True:\n    pass",
    "sleep": "import time\nwhile True:\n    time.sleep(60)",
    "training": "def f():\n    for i in range(1 << 29):\n        yield i\nfor _ in f():\n    pass",
}


@pytest.mark.case("G7")
@pytest.mark.parametrize("name", EMULATED)
def test_ctrl_c_stops_a_program_that_does_not_end(name, monkeypatch):
    clock = Clock().into(monkeypatch, "acclimate_host.connect.link", "acclimate_host.connect.port")
    reason = why_not(name)
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    with open_board(name) as board:
        for program in PROGRAMS.values():
            with pytest.raises(BoardTimeout):
                board.exec("print(1)\n" + program, HANG_S, lambda output: clock.skip(HANG_S))
            assert board.exec("print(6 * 7)").strip() == "42"


@pytest.mark.parametrize("name", EMULATED)
def test_characters_before_ctrl_c_do_not_hide_it(name):
    """What a terminal program sends to get a prompt from a board that is busy."""
    reason = why_not(name)
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    with open_board(name) as board:
        board.link.exec_raw_no_follow(PROGRAMS["loop"])
        board.link.enter_raw_repl()
        assert board.exec("print(6 * 7)").strip() == "42"
