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
from bench.example_runs import EXAMPLES, fleet_days, program, served
from bench.examples import ALL, PAGE, fill

FILES = sorted(EXAMPLES.glob("*.py"))


def _needs(name):
    return pytest.mark.skipif(why_not(name) is not None, reason=str(why_not(name)))


BOARDS = [pytest.param(name, marks=_needs(name)) for name in ("desktop", "nrf52840")]
on_boards = pytest.mark.parametrize("board", BOARDS)
on_desktop, on_nrf52840 = _needs("desktop"), _needs("nrf52840")


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
    rows = re.findall(r"^ +" + r" +".join([r"(-?\d+)"] * count) + r"\b", text, re.MULTILINE)
    return [tuple(map(int, row)) for row in rows]


@pytest.mark.parametrize("name", ALL)
def test_the_page_has_one_place_for_what_an_example_prints(name):
    page = PAGE.read_text(encoding="utf-8")
    shown = fill(page, name, "new\n")
    assert shown != page and fill(shown, name, "new") == shown


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
            folder = found[name, words] = tmp_path_factory.mktemp(name)
            program(name, *words, folder=folder)
        return found[name, words]

    return function


def shown(name):
    """Return the output of an example that docs/examples.md shows."""
    page = (repository() / "docs" / "examples.md").read_text(encoding="utf-8")
    return re.search(rf"<!-- output: {name} -->\n```text\n(.*?)```\n", page, re.DOTALL).group(1)


def _plain(text):
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_page_has_picture_and_output_of_each():
    page = (repository() / "docs" / "examples.md").read_text(encoding="utf-8")
    for name in ALL:
        assert f"(images/example_{name}.svg)" in page and len(shown(name)) > 100
        assert (repository() / "docs" / "images" / f"example_{name}.svg").exists()
    for path in FILES:
        if "network" not in path.name:
            assert path.name in page or "side of" in path.read_text(encoding="utf-8")


@on_boards
def test_gesture_learns_its_user(run, board):
    text = run("gesture.py", board)
    rows = _columns(text, 3)
    assert len(rows) == 10 and _plain(text) == _plain(shown("gesture"))
    shipped = sum(right for _, right, _ in rows[5:])
    learned = sum(right for _, _, right in rows[5:])
    assert shipped <= 65 and learned >= 85  # of 90
    assert f"{shipped / 0.9:.0f} % right as shipped, {learned / 0.9:.0f} % learning" in text


@on_boards
def test_sound_is_told_when_the_bearing_wears_and_not_before(run, made, board):
    tables = made("sound_tables") / "sound.tables"
    text = run("sound.py", board, "--with", "kinds,frontend", "--put", tables)
    assert "one-class" in text and _plain(text) == _plain(shown("sound"))[1:]
    alarms = re.findall(r"ALARM: window (\d+)", text)
    assert len(alarms) == 1 and 43 <= int(alarms[0]) <= 60  # it wears from window 40 on
    assert int(text.split()[-1]) == 80 - int(alarms[0]) + 3  # in a row: it never stopped


@pytest.mark.slow
@on_boards
def test_a_keyword_model_is_replaced_by_better_ones_only(run, made, board):
    words = sorted((made("keyword_release") / "words").iterdir())
    text = run("keyword_device.py", board, "--with", "frontend", "--put", *words)
    found = re.findall(r"^(\S+)\.acap (\w+).*\n  version (\d): (\d+) right", text, re.MULTILINE)
    assert [what[:3] for what in found] == [
        ("1", "confirmed", "1"),
        ("damaged", "refused", "1"),
        ("2", "confirmed", "2"),
        ("3", "rolled", "2"),
    ]
    first, damaged, second, third = (int(right) for *_, right in found)
    assert max(first, damaged) <= 12 < 14 <= min(second, third)  # of 16


@pytest.mark.slow
@on_boards
def test_words_in_running_sound_are_heard(run, made, board):
    heard = sorted((made("keyword_network_train") / "heard").iterdir())
    text = run("keyword_network.py", board, "--with", "frontend", "--put", *heard)
    assert _last(text) == shown("keyword_network").strip()
    said, right, wrong = map(int, re.findall(r"\d+", _last(text)))
    assert said == 24 and right >= 20 and text.count("heard: ") == right + wrong


FLEET = (  # what a device says after each release, and what the fleet's owner reads
    ("taken: version 1, confirmed", "confirmed", "taken"),
    ("taken: version 2, confirmed", "confirmed", "taken"),
    ("refused: version 2, rolled back", "rolled back", "refused"),
)


def _last(text):
    return text.strip().splitlines()[-1]


@on_desktop
def test_fleet_device_takes_what_helps_and_reports(tmp_path, capsys):
    pytest.importorskip("uvicorn")
    days = fleet_days(tmp_path)
    for text, (said, state, outcome) in zip(days, FLEET, strict=True):
        assert _last(text) == said
        assert cli.main(["fleet", str(tmp_path / "repository"), "--model", "7"]) == 0
        row = next(x for x in capsys.readouterr().out.splitlines() if x.startswith("17 "))
        assert f"  {state}  " in row and f"  {outcome}  " in row


@pytest.mark.slow
@on_nrf52840
def test_fleet_device_judges_what_the_cable_brings(run, tmp_path, capsys):
    pytest.importorskip("uvicorn")
    key, flash = tmp_path / "capsule.key", tmp_path / "board.bin"
    program("fleet_release", 1, folder=tmp_path)
    pull = ["--board", "nrf52840", "--flash", str(flash), "--model", "7", "--device", "17"]
    more = ["--flash", flash, "--put", key]
    with served(tmp_path) as url:
        for release in (1, 3):  # the good one, and the one that learned wrong labels
            if release > 1:
                program("fleet_release", release, folder=tmp_path)
            assert cli.main(["pull", url, *pull, "--key", str(key), "--trial"]) == 0
            text = run("fleet_device.py", "nrf52840", *more)
            right = re.search(r"on trial: version \d, (\d+) of 10 right", text)
            if release == 1:
                assert int(right.group(1)) >= 6 and _last(text) == FLEET[0][0]
            else:
                assert int(right.group(1)) < 6
                assert _last(text) == "refused: version 1, rolled back"


@pytest.mark.parametrize(
    "board",
    [BOARDS[0], pytest.param("nrf52840", marks=[_needs("nrf52840"), pytest.mark.slow])],
)
def test_training_pages_and_still_learns(run, made, board):
    folder = made("paging_plan")
    text = run("paging.py", board, "--put", folder / "net_program", folder / "net_weights")
    rows = _columns(text, 3)
    before = int(re.search(r"^\s+0\s+(\d+)$", text, re.MULTILINE).group(1))
    assert before <= 22 and min(right for _, right, _ in rows[3:]) >= 27  # of 30
    assert {paged for *_, paged in rows} == {4352}
    assert f"{48 * 4352} bytes written" in text  # in 48 steps; tests write nothing
    arena = int(re.search(r"(\d+) bytes of arena", text).group(1))
    assert arena <= 12_411  # three quarters of the 16,548 that all layers need


@pytest.mark.slow
@on_desktop
def test_federated_average_knows_more_than_any_board(tmp_path, capsys):
    program("federated", folder=tmp_path)
    rows = _columns(capsys.readouterr().out, 5)
    assert [row[0] for row in rows] == [0, 1, 2, 3, 4]
    averages = [row[1] for row in rows]
    assert averages == sorted(averages) and averages[-1] >= averages[0] + 40
    assert averages[-1] > max(max(row[2:]) for row in rows) + 5  # alone, each lacks digits


@pytest.mark.slow
@on_desktop
@on_nrf52840
def test_federated_boards_of_two_kinds_learn_the_same(capsys):
    main = runpy.run_path(str(EXAMPLES / "federated.py"))["main"]
    boards = ("nrf52840", "desktop", "desktop")
    assert main(boards, rounds=2) == main(("desktop",) * 3, rounds=2)
