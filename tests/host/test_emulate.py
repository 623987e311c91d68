# SPDX-License-Identifier: MIT
"""``acclimate emulate`` and ``cp``: an emulated board for plain tools, reached through its pty."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from acclimate_host import cli
from acclimate_host.connect import emulator, firmware, why_not
from acclimate_host.connect.install import install
from acclimate_host.connect.serial_board import SerialBoard
from acclimate_host.errors import Missing
from acclimate_host.paths import repository
from harness.clock import HANG_S

ROOT = repository()


@contextmanager
def emulated(name, folder, *more):
    """Run the verb in a folder; give its pty, end it as Ctrl-C does."""
    path = os.pathsep.join([str(ROOT / "device"), str(ROOT / "host")])
    process = subprocess.Popen(
        [sys.executable, "-m", "acclimate_host.cli", "emulate", name, *more],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, said
    assert not rest and said.endswith(f"acclimate emulate: {name} ended\n")


def mpremote(pty, *words):
    command = [sys.executable, "-m", "mpremote", "connect", pty, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


_QUICK = ("esp32",)


@pytest.fixture(
    params=[
        name if name in _QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in emulator.NAMES
    ]
)
def name(request):
    if why_not(request.param):
        pytest.skip(why_not(request.param))
    return request.param


def test_flash_lasts_and_plain_mpremote_reaches_the_board(name, tmp_path, capsys):
    """Accents, CJK and emoji come through; the flash file is found from any folder."""
    program = tmp_path / "words.py"
    program.write_text("print('é漢😀', 6 * 7)\n", encoding="utf-8")
    flash = ("--flash", "kept.flash")
    with emulated(name, tmp_path, *flash) as pty:
        assert mpremote(pty, "run", program) == "é漢😀 42\n"
        assert cli.main(["cp", str(program), ":lib/words.py", "--port", pty]) == 0
        with SerialBoard(pty, timeout_s=HANG_S) as board:
            install(board, ["predict"])
        assert "words.py" in mpremote(pty, "fs", "ls", ":/lib")
    board = ["--board", name, "--flash", str(tmp_path / "kept.flash")]
    capsys.readouterr()
    assert cli.main(["doctor", *board]) == 0
    said = capsys.readouterr().out
    assert "acclimate 0.1.0 is installed" in said and "problem" not in said
    assert cli.main(["cp", ":lib/words.py", str(tmp_path / "back.py"), *board]) == 0
    assert (tmp_path / "back.py").read_bytes() == program.read_bytes()


@pytest.mark.slow
def test_an_example_runs_by_plain_mpremote(tmp_path):
    if why_not("nrf52840"):
        pytest.skip(why_not("nrf52840"))
    with emulated("nrf52840", tmp_path) as pty:
        with SerialBoard(pty, timeout_s=HANG_S) as board:
            install(board, ["svm", "loop"])
        said = mpremote(pty, "run", ROOT / "examples" / "hvac.py")
    assert said == subprocess.run(
        [sys.executable, ROOT / "examples" / "hvac.py"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "device")},
    ).stdout.replace("\r\n", "\n")


def test_folders_are_copied_both_ways(tmp_path, capsys):
    if why_not("samd21"):
        pytest.skip(why_not("samd21"))
    (tmp_path / "here" / "deep").mkdir(parents=True)
    (tmp_path / "here" / "deep" / "x.bin").write_bytes(bytes(range(256)) * 3)
    (tmp_path / "here" / "empty.txt").write_bytes(b"")
    board = ["--board", "samd21", "--flash", str(tmp_path / "kept.flash")]
    assert cli.main(["cp", str(tmp_path / "here"), ":", *board]) == 2
    assert "use -r" in capsys.readouterr().err
    assert cli.main(["cp", "-r", str(tmp_path / "here"), ":", *board]) == 0
    assert cli.main(["cp", "-r", ":here", str(tmp_path / "back"), *board]) == 0
    back = {p.relative_to(tmp_path / "back"): p for p in (tmp_path / "back").rglob("*.*")}
    assert back.keys() == {Path("deep/x.bin"), Path("empty.txt")}
    assert back[Path("deep/x.bin")].read_bytes() == bytes(range(256)) * 3


@pytest.mark.parametrize(
    "words, told",
    [
        (["a.txt"], "needs two paths"),
        (["a.txt", "b.txt"], "begin with :"),
        ([":a", "b", ":c"], "begin with :"),
        (["absent.txt", ":"], "no file absent.txt"),
        ([":absent.txt", "x"], "no file absent.txt on desktop"),
    ],
)
def test_what_cannot_be_copied_is_told_in_one_line(words, told, capsys):
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    assert cli.main(["cp", *words, "--board", "desktop"]) == 2
    assert told in capsys.readouterr().err


def test_missing_firmware_is_one_line_with_what_brings_it(tmp_path, monkeypatch):
    """A clone without a compiler names it; an installation names the package."""
    monkeypatch.setattr(firmware, "firmware", lambda name: tmp_path / "none")
    monkeypatch.setattr(emulator, "firmware", lambda name: tmp_path / "none")
    monkeypatch.setattr(firmware, "program", lambda name: None if "gcc" in name else "/bin/true")
    if not os.environ.get("ACCLIMATE_OUT"):
        with pytest.raises(Missing, match="no arm-none-eabi-gcc.* run: make -C .* setup"):
            firmware.prepare("nrf52840")
    monkeypatch.setattr(firmware, "repository", lambda: None)
    monkeypatch.setattr(emulator, "repository", lambda: None)
    with pytest.raises(Missing, match="make wheel builds|is not installed"):
        firmware.prepare("nrf52840")
