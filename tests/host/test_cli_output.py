# SPDX-License-Identifier: MIT
"""What the command prints: progress on a terminal only, JSON, completion, nobody's banners."""

import json
import os
import pty
import shutil
import socket
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from acclimate_host import cli
from acclimate_host.commands import bench, choose, cp, showing
from acclimate_host.connect import open_board, why_not
from acclimate_host.connect.emulator import Emulator
from acclimate_host.connect.install import install
from acclimate_host.paths import repository
from harness.clock import HANG_S

ROOT = repository()
PATH = os.pathsep.join(str(ROOT / part) for part in ("device", "host"))
needs_desktop = pytest.mark.skipif(why_not("desktop") is not None, reason=str(why_not("desktop")))


def run(*words, code=0, **options):
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": PATH},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        **options,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def on_a_terminal(code):
    """Run a program whose outputs are a terminal; return all that it wrote there."""
    main, line = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": PATH, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=line, stdout=line, stderr=line, env=environment
    )
    os.close(line)
    written = b""
    try:
        while part := os.read(main, 65536):
            written += part
    except OSError:
        pass  # the other end was closed
    os.close(main)
    assert process.wait(HANG_S) == 0, written
    return written.decode()


SHOWN = """
from acclimate_host.commands.showing import progress
for done in range(4):
    progress("copying", done, 4)
print("done here", flush=True)
progress("")
"""


def test_progress_has_the_time_left_and_is_for_terminals_only():
    written = on_a_terminal(SHOWN)
    assert "copying" in written and " left " in written and "done here" in written
    done = run("-c", SHOWN)
    assert (done.stdout, done.stderr) == ("done here\n", "")


SLOW = """
import time
from acclimate_host.commands import showing as module
module._AFTER_S = 0
with module.waiting("plan is at work"):
    while not module.progress.shows():
        time.sleep(0.01)
assert not module.progress.shows()
"""


def test_what_says_nothing_for_long_shows_that_it_works():
    assert "plan is at work" in on_a_terminal(SLOW)


LIBRARY = """
import ctypes, sys
from acclimate_host import cli
from acclimate_host.commands import boards
def verb(args):
    ctypes.CDLL(None).puts(b"banner of a library")
    print("a result")
boards.run = verb
sys.exit(cli.main(["boards"]))
"""


def test_what_a_library_writes_past_python_is_not_on_standard_output():
    done = run("-c", LIBRARY)
    assert done.stdout == "a result\n" and "banner" in done.stderr


def test_doctor_prints_no_banner():
    done = run("-m", "acclimate_host.cli", "doctor", "--json")
    found = json.loads(done.stdout)
    assert {"state": "ok", "text": "13 board descriptions"}.keys() == found[0].keys()
    assert "Copyright" not in done.stdout + done.stderr


COMPLETE = """
source "$1"
shift
way=$(complete -p acclimate | sed "s/.*-F \\([^ ]*\\).*/\\1/")
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
$way acclimate "${COMP_WORDS[COMP_CWORD]}" ""
printf "%s\\n" "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    "typed, offered",
    [
        (["inst"], {"install"}),
        (["ro"], {"romfs", "rollout", "rollback"}),
        (["install", "--wi"], {"--with"}),
        (["cp", "--recu"], {"--recursive"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completes_verbs_and_options(typed, offered, tmp_path):
    """Bash itself is asked, as by the key Tab."""
    script = tmp_path / "acclimate.bash"
    script.write_text(run("-m", "acclimate_host.cli", "completion", "bash").stdout)
    done = subprocess.run(
        ["bash", "-c", COMPLETE, "bash", script, "acclimate", *typed],
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert offered <= set(map(str.strip, done.stdout.splitlines())), done.stdout + done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_verb_and_is_a_script(shell):
    script = run("-m", "acclimate_host.cli", "completion", shell).stdout
    for verb in cli.COMMANDS:
        assert verb in script
    assert "--recursive" in script or "-l recursive" in script
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_every_verb_that_has_results_offers_json():
    parsers = cli.parser(every=True)._subparsers._group_actions[0].choices
    for verb, parser in parsers.items():
        if verb not in (*cli._WITHOUT_RESULT, "capsule"):
            assert "--json" in parser.format_help(), verb
    assert "--json" in parsers["bench"].format_help()
    # These talk, run until they are ended, or show what another program prints.
    talk = {"run", "repl", "emulate", "serve", "completion", "demo", "teach", "record"}
    assert set(cli._WITHOUT_RESULT) - {"bench"} == talk | {"playground"}


def test_every_verb_that_may_last_shows_what_it_does(monkeypatch):
    """`waiting` shows a line after two seconds; verbs without it show their own, or talk."""
    shown = []
    monkeypatch.setattr(cli, "waiting", lambda text: shown.append(text) or nullcontext())
    for verb in cli.COMMANDS:
        args = SimpleNamespace(run=lambda _: 0)
        assert cli._run(args, verb) == 0
    assert {text.split()[0] for text in shown} == set(cli.COMMANDS) - set(cli._WITHOUT_RESULT)


@pytest.mark.parametrize("verb", cli.COMMANDS)
def test_ctrl_c_in_any_verb_is_one_line_and_130(verb, monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    def parser(*_):
        return SimpleNamespace(parse_args=lambda _: SimpleNamespace(run=interrupted))

    monkeypatch.setattr(cli, "parser", parser)
    assert cli.main([verb]) == 130
    assert capsys.readouterr().err == f"acclimate {verb}: interrupted\n"


def test_a_copy_over_a_serial_line_says_how_far_it_is(tmp_path, monkeypatch):
    """Of all bytes of all files, so that the time left comes from them."""
    if why_not("samd21"):
        pytest.skip(why_not("samd21"))
    (tmp_path / "in").mkdir()
    for name, size in (("a.bin", 700), ("b.bin", 300)):
        (tmp_path / "in" / name).write_bytes(bytes(size))
    seen = []
    monkeypatch.setattr(cp, "progress", lambda text, *far: far and seen.append(far))
    assert cli.main(["cp", "-r", str(tmp_path / "in"), ":", "--board", "samd21"]) == 0
    assert {total for _, total in seen} == {1000}
    done = [at for at, _ in seen]
    assert done == sorted(done) and done[0] == 0 and done[-1] == 1000 and len(set(done)) >= 4


def test_long_searches_and_measurements_say_how_far_they_are(tmp_path, monkeypatch):
    """`choose` by its machines; what it shows has a total, so that there is a time left."""
    rows = [f"{i % 9},{i * 7 % 5},{int(i % 9 > 4)},{i % 3}" for i in range(60)]
    (tmp_path / "x.csv").write_text("\n".join(rows) + "\n")
    seen = []
    monkeypatch.setattr(choose, "progress", lambda text, *far: far and seen.append(far))
    words = ["choose", str(tmp_path / "x.csv"), "--kernels", "linear", "--vectors", "all"]
    assert cli.main([*words, "--users"]) == 0
    assert seen and all(0 < done <= total for done, total in seen)


def test_prune_of_a_repository_is_json_as_well(tmp_path, capsys):
    for name in ("models", "objects"):
        (tmp_path / name).mkdir()
    assert cli.main(["rollout", str(tmp_path), "prune", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": 0, "bytes": 0}


@needs_desktop
def test_results_are_json_and_words_stay_away(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("abc")
    assert cli.main(["cp", str(tmp_path / "a.txt"), ":", "--board", "desktop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"files": 1, "bytes": 3}
    assert cli.main(["install", "--board", "desktop", "--only", "_sha256", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(found["copied"]) == ["__init__.mpy", "_sha256.mpy"] and not found["kept"]
    assert cli.main(["plan", "linear", "--ram", "50%", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"]


@needs_desktop
def test_doctor_installs_damaged_files_again(tmp_path, capsys, monkeypatch):
    with open_board("desktop", root=tmp_path) as board:
        install(board, ["svm"])
        path = tmp_path / "lib" / "acclimate" / "svm.mpy"
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
    real = open_board
    monkeypatch.setattr(
        "acclimate_host.commands.open_board", lambda name, **_: real(name, root=tmp_path)
    )
    assert cli.main(["doctor", "--board", "desktop"]) == 9
    assert path.read_bytes() != whole
    capsys.readouterr()
    assert cli.main(["doctor", "--board", "desktop", "--fix"]) == 0
    assert path.read_bytes() == whole
    assert "fixed: 1 files" in capsys.readouterr().out


@needs_desktop
def test_bench_compares_native_with_pure_python(capsys, monkeypatch):
    seen = []
    monkeypatch.setattr(bench, "progress", lambda *shown: seen.append(shown))
    assert cli.main(["bench", "--json"]) == 0
    assert [far for text, *far in seen if "measuring" in text] == [[i, 4] for i in range(4)]
    assert not showing.progress.shows()
    found = json.loads(capsys.readouterr().out)
    assert found["unit"] == "microseconds"
    assert [row["kernel"] for row in found["rows"]] == ["linear", "linear", "rbf", "rbf"]
    assert all(row["train"] >= 0 and row["predict"] >= 0 for row in found["rows"])
    assert cli.main(["bench", "teapot"]) == 2
    assert "there are: acceptance, " in capsys.readouterr().err  # and no __init__


def test_objects_say_what_they_are():
    if not why_not("desktop"):
        with open_board("desktop") as board:
            assert repr(board) == "DesktopBoard('desktop')"
    if not why_not("samd21"):
        board = Emulator("samd21")
        assert repr(board) == "Emulator('samd21', off)"
        board.close()


@pytest.mark.parametrize(
    "option", [["--capsule", "c"], ["--firmware", "f"], ["--romfs", "r"], ["--fix"]]
)
def test_the_doctor_says_nothing_is_fine_that_nobody_looked_at(option, capsys, monkeypatch):
    monkeypatch.setattr("acclimate_host.commands.doctor.check_computer", lambda: [])
    assert cli.main(["doctor", *option]) == 2
    assert option[0] in capsys.readouterr().err


@needs_desktop
@pytest.mark.parametrize("name", ["capsule", "firmware"])
def test_a_board_without_a_partition_table_fits_nothing(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("acclimate_host.commands.doctor.check_computer", lambda: [])
    path = tmp_path / "f"
    path.write_bytes(b"x")
    assert cli.main(["doctor", "--board", "desktop", f"--{name}", str(path)]) == 9
    assert f"problem --{name}: this board has no partition table" in capsys.readouterr().out


@needs_desktop
def test_a_pull_of_a_board_with_blank_flash_says_so_and_names_the_server(capsys):
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port = line.getsockname()[1]  # nobody listens there once it is closed
    url = f"http://127.0.0.1:{port}"
    assert cli.main(["pull", url, "--board", "desktop", "--model", "1", "--unsigned"]) == 6
    said = capsys.readouterr()
    assert said.out == "desktop: no model yet\n"
    assert f"desktop: 127.0.0.1:{port}: " in said.err
