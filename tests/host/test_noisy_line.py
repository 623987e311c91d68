# SPDX-License-Identifier: MIT
"""Lines as they are: output in fragments, a byte too many, a port that is slow."""

import io

import pytest

from acclimate_host.commands.run import Text
from acclimate_host.connect import open_board, why_not
from acclimate_host.connect.link import Link
from acclimate_host.connect.serial_board import SerialBoard
from acclimate_host.errors import AcclimateError, BoardError
from harness import fake_line
from harness.clock import Clock

WORDS = "é ü 漢字 かな 😀 👍🏽\r\nnext\rover\r\n\r\n€"


@pytest.mark.parametrize("size", range(1, 9))
def test_output_in_fragments_is_the_same_text(size):
    data, file = WORDS.encode(), io.StringIO()
    show = Text(file)
    for at in range(0, len(data), size):
        show(data[at : at + size])
        assert "\ufffd" not in file.getvalue()
    show.end()
    assert file.getvalue() == WORDS.replace("\r\n", "\n")


def test_what_ends_in_the_middle_of_a_character_is_shown_at_the_end():
    file = io.StringIO()
    show = Text(file)
    show("ab€".encode()[:-1] + b"")
    assert file.getvalue() == "ab"
    show.end()
    assert file.getvalue() == "ab\ufffd"
    show = Text(file := io.StringIO())
    show(b"x\r")
    show.end()
    assert file.getvalue() == "x\r"


class _OneByte:
    """A line that adds, changes or loses one byte, after so many of those that are written."""

    def __init__(self, line, at, change):
        self._line, self._left, self._change = line, at, change

    def __getattr__(self, name):
        return getattr(self._line, name)

    def write(self, data):
        if 0 <= self._left < len(data):
            data = data[: self._left] + self._change(data[self._left :])
            self._left = -1
        else:
            self._left -= len(data)
        return self._line.write(data)


CHANGES = {
    "one more": lambda data: b"x" + data,
    "another": lambda data: (b"y" if data[:1] != b"y" else b"z") + data[1:],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["nrf52840", "samd21"])
def test_one_wrong_byte_on_the_way_to_the_board_is_an_error(name, change):
    """Wherever it is in the text: the board never keeps another file silently."""
    if why_not(name):
        pytest.skip(why_not(name))
    data = b"abcdefgh" * 40
    told = 0
    with open_board(name) as board:
        line = board.link.serial.line
        for at in range(330, 720, 77):
            board.link.serial.line = _OneByte(line, at, CHANGES[change])
            try:
                SerialBoard.put_bytes(board, data, "/f")
                silent = True
            except (AcclimateError, BoardError):
                silent = False
            board.link.serial.line = line
            board.soft_reset()
            assert not silent or board.get_bytes("/f") == data
            told += not silent
    assert told


class _SlowLine(fake_line.FakeLine):
    """A byte each 0.2 s."""

    in_waiting = 0
    _reads = 0

    def read(self, count):
        if not count:
            return b""
        self.clock.skip(fake_line.SILENCE_S)
        self._reads += 1
        if self._reads % 4 or not self.waiting:
            return b""
        data, self.waiting = self.waiting[:1], self.waiting[1:]
        return data


def test_a_slow_port_has_until_the_deadline(monkeypatch):
    clock = Clock(runs=False).into(
        monkeypatch, "acclimate_host.connect.link", "acclimate_host.connect.port"
    )
    link = Link.over(_SlowLine(fake_line.stops_in_the_middle, clock))
    link.enter_raw_repl(timeout_overall=30)
    assert 5 < clock.monotonic() < 30
    assert link.run("print(6*7)", timeout_s=20) == "42\n"
