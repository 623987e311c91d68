# SPDX-License-Identifier: MIT
"""The programs of examples/ on the desktop binary and on an emulated board, as a user runs them.

What each prints is what is looked at; hvac.py is run by test_demo.py.
"""

import ast
import re
import runpy

import pytest

from acclimate_host import cli
from acclimate_host.connect import why_not
from acclimate_host.paths import repository

EXAMPLES = repository() / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))
BOARDS = [
    pytest.param(
        name, marks=pytest.mark.skipif(why_not(name) is not None, reason=str(why_not(name)))
    )
    for name in ("desktop", "nrf52840")
]
on_boards = pytest.mark.parametrize("board", BOARDS)


@pytest.fixture
def run(capsys):
    """Return what ``acclimate run`` of an example prints."""

    def function(name, board, *more):
        capsys.readouterr()
        words = ["run", str(EXAMPLES / name), "--board", board, *map(str, more)]
        code = cli.main(words)
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return function


def _columns(text, count):
    """Return the rows of a printed table, as tuples of `count` whole numbers."""
    rows = re.findall(r"^\s+" + r"\s+".join([r"(-?\d+)"] * count) + r"\b", text, re.MULTILINE)
    return [tuple(map(int, row)) for row in rows]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_example_is_short_and_uses_public_names_only(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 120
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in getattr(node, "names", []) if hasattr(alias, "asname")]
        if isinstance(node, ast.ImportFrom):
            names.append(node.module)
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        private = [n for n in names if re.search(r"(^|\.)_[^_]", n)]
        assert not private, f"line {node.lineno}: {private}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_example_says_how_it_is_run(path):
    header = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    program = path.name.replace("_device", "") if "side of" in header else path.name
    assert re.search(rf"(run|python) examples/{program}\b|side of {program}\b", header)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Run a program of the computer's side, once: ``made(name, ...)`` returns its folder."""
    found = {}

    def function(name, *words):
        if (name, words) not in found:
            folder = tmp_path_factory.mktemp(name)
            runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](*words, folder=folder)
            found[name, words] = folder
        return found[name, words]

    return function


@on_boards
def test_gesture_learns_its_user(run, board):
    text = run("gesture.py", board)
    rows = _columns(text, 3)
    assert len(rows) == 10 and "no MPU-6050" in text
    shipped = sum(right for _, right, _ in rows[5:])
    learned = sum(right for _, _, right in rows[5:])
    assert shipped <= 65 and learned >= 85  # of 90
    assert f"{shipped / 0.9:.0f} % right as shipped, {learned / 0.9:.0f} % learning" in text


@on_boards
def test_sound_is_told_when_the_bearing_wears_and_not_before(run, made, board):
    tables = made("sound_tables") / "sound.tables"
    text = run("sound.py", board, "--with", "kinds,frontend", "--put", tables)
    assert "one-class" in text and "no microphone" in text
    alarms = re.findall(r"ALARM: window (\d+)", text)
    assert len(alarms) == 1 and 43 <= int(alarms[0]) <= 60  # it wears from window 40 on
    assert int(text.split()[-1]) == 80 - int(alarms[0]) + 3  # in a row: it never stopped
