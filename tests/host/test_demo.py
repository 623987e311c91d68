# SPDX-License-Identifier: MIT
"""The demo: an honest division of the recordings, and one result on the board and on the host."""

import os
import pty
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from acclimate.svm import SVM
from acclimate_host.cli import main
from acclimate_host.connect import emulator, open_board, why_not
from acclimate_host.connect.install import install
from acclimate_host.demo import deploy, protocol, summary, watch
from acclimate_host.demo.__main__ import clock_of, what_next
from acclimate_host.demo.runner import Runner
from acclimate_host.errors import AcclimateError
from acclimate_host.paths import built, device_package, repository
from bench.loop import HOUSES
from harness.clock import HANG_S
from harness.errors import naming

needs_data = pytest.mark.skipif(
    watch.source_path() is None and not built("data", "watch.npz").exists(),
    reason="seglearn is not installed",
)
needs_desktop = pytest.mark.skipif(why_not("desktop") is not None, reason="no desktop binary")
SETTINGS = replace(protocol.SMALL, exercises=(3, 4, 5))


@pytest.fixture(scope="module")
def session():
    recordings = watch.load(built("data", "watch.npz"))
    return protocol.session(protocol.windows(recordings, SETTINGS), SETTINGS, 2)


@needs_data
def test_nothing_of_the_user_is_in_the_factory_samples(session):
    assert all(w.subject != 2 for w in session.factory)
    assert {w.subject for w in session.stream + session.unseen} == {2}


@needs_data
def test_unseen_windows_are_later_than_all_that_was_lived_through(session):
    last = {}
    for w in session.stream:
        last[w.side, w.truth] = max(last.get((w.side, w.truth), 0), w.index)
    assert all(w.index > last[w.side, w.truth] for w in session.unseen)
    assert len(session.unseen) >= len(session.stream)


@needs_data
def test_a_user_that_does_not_exist_is_named():
    recordings = watch.load(built("data", "watch.npz"))
    with pytest.raises(ValueError, check=naming(11)):
        protocol.session(protocol.windows(recordings, SETTINGS), SETTINGS, 11)


@needs_data
@needs_desktop
def test_the_board_answers_as_the_host_does_and_becomes_better(session):
    lines = []
    with open_board("desktop", path=[device_package().parent]) as board:
        runner = Runner(board, SETTINGS, lines.append)
        on_board = runner.run(session)
    assert on_board == protocol.simulate(session, SETTINGS, SVM)
    truths = [w.truth for w in session.unseen]
    before, after = summary.share(truths, on_board.before), summary.share(truths, on_board.after)
    assert after[2] > before[2] + 10
    assert runner.costs.heap_peak > runner.costs.heap_start > 0
    assert any("kept" in line for line in lines)


@pytest.mark.parametrize("name", ["stm32f103", "nano"])
def test_a_board_that_the_demo_cannot_use_is_named_with_those_it_can(name):
    with pytest.raises(AcclimateError) as raised:
        deploy.open_for_demo(name, None)
    said = str(raised.value)
    assert name in said and all(board in said for board in deploy.BOARDS)


def test_the_end_names_a_command_and_pages_that_are_there(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(repository())
    told = " ".join(what_next(SimpleNamespace(board="desktop", port=None)))
    command, *words = told.removeprefix("Next").partition(" opens ")[0].split()
    assert Path(command).resolve() == Path(sys.executable).with_name("acclimate").resolve()
    assert words == ["repl", "--board", "desktop"]
    pages = re.findall(r"\S+\.md", told)
    assert len(pages) == 3 and all(Path(page).is_file() for page in pages)
    port = what_next(SimpleNamespace(board="desktop", port="/dev/ttyACM0"))
    assert port[0].endswith("repl --port /dev/ttyACM0")


def test_help_and_makefile_name_every_board_of_the_demo(capsys):
    with pytest.raises(SystemExit):
        main(["demo", "--help"])
    offered = capsys.readouterr().out.split("--board BOARD")[-1]
    makefile = (repository() / "Makefile").read_text()
    (line,) = re.findall(r"make demo \[BOARD=([a-z0-9|]+)\]", makefile)
    assert {"desktop", *line.split("|")} == set(deploy.BOARDS)
    assert all(board in offered for board in deploy.BOARDS)


class Asked:
    """A board of which one asks only how it counts."""

    emulated = True

    def __init__(self, name):
        options = {"icount": emulator.EXACT_SHIFT} if name in emulator.COUNTED else {}
        self.emulator = SimpleNamespace(icount=options.get("icount"))

    def exec(self, code):
        return "25000000"


def test_no_emulated_board_is_said_to_take_milliseconds_where_its_instructions_count():
    for name in emulator.NAMES:
        unit, remark = clock_of(Asked(name))
        counts = name != "esp32"
        assert ("instructions" in unit(1e6)) == counts and ("not measured" in remark) == counts


_PRETRAIN = """
from acclimate_host.commands.showing import progress
from acclimate_host.demo import __main__ as demo
demo._pretraining(2, 6)
progress("")
"""


def test_the_long_phase_of_the_network_says_how_far_it_is_on_a_terminal_only():
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", _PRETRAIN]
    subprocess.run(command, stdout=theirs, stderr=theirs, check=True, timeout=HANG_S)
    assert b"training the network" in os.read(ours, 1 << 16)
    os.close(ours), os.close(theirs)
    piped = subprocess.run(command, capture_output=True, check=True, timeout=HANG_S)
    assert not piped.stdout and not piped.stderr


_ONLY = r"""
import importlib.metadata as metadata, re, sys
wanted, todo = set(), ["acclimate[demo,desktop,build]"]
while todo:
    word = todo.pop()
    name, extras = re.match(r"([\w.-]+)(?:\[(.*?)\])?", word).groups()
    if (name, extras) in wanted:
        continue
    wanted.add((name, extras))
    try:
        needs = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        continue
    for need in needs:
        marker = re.search(r"extra == \W([\w-]+)", need)
        if marker is None or marker[1] in (extras or "").split(","):
            todo.append(need.split(";")[0].strip())
names = {re.sub(r"[-_.]+", "-", name).lower() for name, _ in wanted}
owners = metadata.packages_distributions()
class Rest:
    def find_spec(self, name, path=None, target=None):
        found = {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners.get(name, ())}
        if found and not found & names:
            raise ModuleNotFoundError(f"{name} is not in the extras of the demo")
sys.meta_path.insert(0, Rest())
from acclimate_host.demo import __main__
from acclimate_host.demo import deploy, network, second, update, update_small, watch
from acclimate_host.plots import arena, learning, updates
from acclimate_host.model import import_sklearn
import sklearn.svm, uvicorn
"""


@needs_data
def test_the_demo_imports_only_what_its_own_extras_bring():
    makefile = (repository() / "Makefile").read_text()
    assert "tools/venv.sh out/venv demo,desktop,build\n" in makefile
    done = subprocess.run([sys.executable, "-c", _ONLY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@needs_data
@needs_desktop
def test_picture_is_written(session, tmp_path):
    pytest.importorskip("matplotlib")
    from acclimate_host.plots.learning import personalisation

    outcome = protocol.simulate(session, SETTINGS, SVM)
    count = len(session.unseen)
    margins = [0.1 * i - 1 for i in range(count)]
    path = tmp_path / "demo.png"
    personalisation(
        path,
        outcome,
        [w.truth for w in session.unseen],
        (margins, margins),
        [(0, 50.0)],
        [watch.EXERCISES[e] for e in SETTINGS.exercises],
        ("Title", "where"),
    )
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.case("J8")
@pytest.mark.parametrize("name", ["desktop", "nrf52840"])
def test_heating_controller_learns_its_house_better_than_a_rule_does(name):
    if why_not(name):
        pytest.skip(f"{name}: {why_not(name)}")
    path = {"path": [device_package().parent]} if name == "desktop" else {}
    with open_board(name, **path) as board:
        if name != "desktop":
            install(board, only=["svm", "loop"], yes=True)
        board.run_file(repository() / "examples" / "hvac.py", timeout_s=HANG_S)
        means = board.exec("print(means)").splitlines()[-1]
    never, rule, learns = (float(word) for word in means.strip("[]").split(","))
    assert learns < rule / 2 and rule < never / 4


@pytest.mark.parametrize("nights", [18, 120])
@pytest.mark.parametrize("house", HOUSES)
def test_heating_controller_in_other_houses(house, nights, monkeypatch):
    monkeypatch.setattr("gc.collect", lambda *_: 0)  # each night: a second in a large process
    module = runpy.run_path(str(repository() / "examples" / "hvac.py"))
    _, rule, learns = module["main"](nights, house, show=False)
    assert learns <= rule


def test_table_lines_have_one_width():
    lines = summary.table([("a", "1"), ("longer", "22 of 30")])
    assert len({len(line) for line in lines}) == 1


def test_ticks_become_time_or_instructions():
    assert summary.ticks_as_time(1e6)(2500) == "2.5 ms"
    assert summary.ticks_as_instructions(1 / 25.6)(25.6 * 2_000_000) == "2.00 million instructions"


@needs_desktop
def test_desktop_board_opens_with_what_was_built():
    opened = deploy.open_for_demo("desktop", None)
    with opened.board as board:
        board.exec("from acclimate import loop, features, svm")
    assert "desktop" in opened.title and opened.native == (not opened.left_out)


@pytest.mark.slow
@needs_data
@pytest.mark.skipif(why_not("esp32") is not None, reason=f"esp32: {why_not('esp32')}")
def test_whole_demo_begins_and_trains_in_the_heap_of_an_esp32():
    settings = protocol.FULL
    recordings = watch.load(built("data", "watch.npz"))
    whole = protocol.session(protocol.windows(recordings, settings), settings, 1)
    # Two trainings: the second one has the models of the first beside it.
    part = replace(whole, stream=whole.stream[:48], unseen=whole.unseen[::4])
    with deploy.open_for_demo("esp32", None).board as board:
        runner = Runner(board, settings, lambda text: None)
        outcome = runner.run(part)
    assert outcome == protocol.simulate(part, settings, SVM)
    assert len(outcome.events) == 2 and runner.costs.heap_peak < 160 * 1024  # of 172


@needs_data
@pytest.mark.slow
@pytest.mark.skipif(why_not("samd21") is not None, reason=f"samd21: {why_not('samd21')}")
def test_the_main_job_learns_a_user_in_32_kilobytes():
    settings = protocol.TINY
    recordings = watch.load(built("data", "watch.npz"))
    whole = protocol.session(protocol.windows(recordings, settings), settings, 1)
    with deploy.open_for_demo("samd21", None).board as board:
        runner = Runner(board, settings, lambda text: None)
        outcome = runner.run(whole)
    truths = [w.truth for w in whole.unseen]
    before, after = (summary.share(truths, o)[2] for o in (outcome.before, outcome.after))
    assert outcome.events and after > before + 20
    assert runner.costs.heap_peak < 20 * 1024
