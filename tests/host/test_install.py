# SPDX-License-Identifier: MIT
"""Installing on real interpreters: the right files, all verified, nothing stale."""

import dataclasses
import subprocess
import sys

import pytest

from acclimate import __version__
from acclimate_host import cli
from acclimate_host.connect import mpy, open_board, package
from acclimate_host.connect.drive import install_drive
from acclimate_host.connect.install import install
from acclimate_host.connect.mpy import read_header
from acclimate_host.errors import AcclimateError, BoardError, Refused
from harness.clock import HANG_S
from harness.runtimes import ARCHS

FOLDER = "/acclimate"


@pytest.mark.case("A9")
def test_the_board_decides_what_is_copied(runtime):
    report = install(runtime, ["_sha256"])
    assert sorted(report.copied) == ["__init__.mpy", "_sha256.mpy"]
    assert runtime.ls(runtime.lib + FOLDER).keys() == set(report.copied)
    code = "import acclimate\nfrom acclimate._sha256 import sha256\n"
    code += "print(acclimate.__version__, sha256(b'abc').hexdigest()[:8])"
    assert runtime.exec(code) == f"{__version__} ba7816bf\n"


def test_a_second_installation_copies_nothing(runtime):
    install(runtime, ["_sha256"])
    report = install(runtime, ["_sha256"])
    assert report.copied == []
    assert sorted(report.kept) == ["__init__.mpy", "_sha256.mpy"]


@pytest.mark.case("K2")
def test_a_damaged_file_of_the_right_length_is_replaced(runtime):
    install(runtime, ["_sha256"])
    path = runtime.lib + FOLDER + "/_sha256.mpy"
    data = bytearray(runtime.get_bytes(path))
    data[-1] ^= 1
    runtime.put_bytes(bytes(data), path)
    assert install(runtime, ["_sha256"]).copied == ["_sha256.mpy"]


@pytest.fixture
def desktop():
    with open_board("desktop") as board:
        yield board


@pytest.mark.case("B8")
def test_a_stale_source_twin_is_removed_only_after_asking(desktop):
    install(desktop, ["_sha256"])
    twin = desktop.lib + FOLDER + "/_sha256.py"
    desktop.put_bytes(b"raise ValueError", twin)
    asked = []
    with pytest.raises(Refused, match="sha256.py would hide.*--yes"):
        install(desktop, ["_sha256"], ask=lambda question: asked.append(question))
    assert "sha256.py" in asked[0] and desktop.exists(twin)
    report = install(desktop, ["_sha256"], ask=lambda question: True)
    assert report.removed == ["_sha256.py"] and not desktop.exists(twin)


def test_bytecode_of_an_older_release_goes_with_a_full_installation(desktop):
    desktop.mkdir(desktop.lib + FOLDER)
    desktop.put_bytes(b"old", desktop.lib + FOLDER + "/dropped_module.mpy")
    assert "dropped_module.mpy" in install(desktop).removed


def pretend(board, monkeypatch, **changes):
    real = board.info()
    monkeypatch.setattr(board, "info", lambda: dataclasses.replace(real, **changes))


@pytest.mark.case("A1", "K8")
def test_an_old_interpreter_is_refused_before_anything_is_copied(desktop, monkeypatch):
    form = mpy.decode_implementation(517)
    pretend(desktop, monkeypatch, mpy_value=517, mpy_version=form.version, arch=form.arch)
    with pytest.raises(Refused, match="version 6.*version 5.*1.12 to 1.18.*flash MicroPython"):
        install(desktop, ["_sha256"])
    assert not desktop.exists(desktop.lib + FOLDER)


@pytest.mark.case("A5", "K8")
def test_circuitpython_is_sent_to_the_drive(desktop, monkeypatch):
    pretend(desktop, monkeypatch, runtime="circuitpython", version=(10, 0, 0))
    with pytest.raises(Refused, match="CircuitPython 10.0.0.*--drive"):
        install(desktop)


@pytest.mark.case("A14")
def test_a_board_without_native_code_gets_python_only(desktop, monkeypatch):
    monkeypatch.setattr(desktop, "loads_native", lambda: False)
    report = install(desktop)
    assert report.natives == ()
    assert any("loads no native code" in note for note in report.notes)


def test_a_full_board_is_refused_with_both_sizes(desktop, monkeypatch):
    monkeypatch.setattr(desktop, "free_bytes", lambda path: 1000)
    with pytest.raises(
        Refused, match="needs [0-9]+ bytes in 2 files, the board has 1000.*remove files"
    ):
        install(desktop, ["_sha256"])
    assert not desktop.exists(desktop.lib + FOLDER)


def test_a_copy_that_differs_is_an_error(desktop, monkeypatch):
    real = desktop.put_bytes
    monkeypatch.setattr(desktop, "put_bytes", lambda data, path: real(data[:-1], path))
    monkeypatch.setattr(desktop, "loads_native", lambda: False)
    with pytest.raises(AcclimateError, match="differs after copying"):
        install(desktop, ["_sha256"])


def test_an_unknown_module_names_those_there_are(desktop):
    with pytest.raises(AcclimateError, match="no module teapot in acclimate; .*store, svm"):
        install(desktop, ["teapot"])


@pytest.fixture
def drive(tmp_path, monkeypatch):
    """An empty CIRCUITPY drive, and no compiler for it."""
    monkeypatch.delenv("CIRCUITPYTHON", raising=False)
    monkeypatch.delenv("CIRCUITPYTHON_MPY_CROSS", raising=False)
    (tmp_path / "boot_out.txt").write_text("Adafruit CircuitPython 10.0.0 on 2025-08-01")
    (tmp_path / "lib" / "acclimate").mkdir(parents=True)
    return tmp_path


def test_a_drive_gets_sources(drive):
    (drive / "lib" / "acclimate" / "_sha256.mpy").write_bytes(b"old")
    report = install_drive(drive, ["_sha256"])
    assert sorted(report.copied) == ["__init__.py", "_sha256.py"]
    assert report.removed == ["_sha256.mpy"]
    assert install_drive(drive, ["_sha256"]).copied == []


def test_what_is_no_drive_is_refused(tmp_path):
    with pytest.raises(Refused, match="boot_out.txt"):
        install_drive(tmp_path)


COMPILER = package.circuitpython_compiler()


@pytest.mark.skipif(COMPILER is None, reason="no mpy-cross of CircuitPython")
def test_a_drive_gets_bytecode_of_circuitpythons_own_compiler(drive, monkeypatch):
    monkeypatch.setenv("CIRCUITPYTHON_MPY_CROSS", COMPILER)
    target = drive / "lib" / "acclimate"
    (target / "_sha256.py").write_bytes(b"old")
    report = install_drive(drive, ["_sha256"])
    assert sorted(report.copied) == ["__init__.mpy", "_sha256.mpy"]
    assert report.removed == ["_sha256.py"]
    for name in report.copied:
        assert read_header((target / name).read_bytes()).runtime == "circuitpython"
    assert install_drive(drive, ["_sha256"]).copied == []


@pytest.mark.skipif(COMPILER is None, reason="no mpy-cross of CircuitPython")
def test_a_drive_of_another_major_version_gets_sources(drive, monkeypatch):
    monkeypatch.setenv("CIRCUITPYTHON_MPY_CROSS", COMPILER)
    (drive / "boot_out.txt").write_text("Adafruit CircuitPython 7.3.3 on 2022-08-29")
    report = install_drive(drive, ["_sha256"])
    assert sorted(report.copied) == ["__init__.py", "_sha256.py"]
    assert len(report.notes) == 1 and COMPILER in report.notes[0]


# ---- native modules as they ship, on the interpreter that would run them ------------------

_ATTACK = """
from acclimate import _native
good = open({path!r}, 'rb').read()
_native._import = lambda *_: None
def refused(content):
    with open({path!r}, 'wb') as f: f.write(content)
    return verdict()
def flipped(at):
    with open({path!r}, 'r+b') as f:
        f.seek(at)
        f.write(bytes((good[at] ^ 1 << at % 8,)))
        f.flush()
        answer = verdict()
        f.seek(at)
        f.write(good[at:at + 1])
    return answer
def verdict():
    _native._reasons.pop({name!r}, None)
    _native.load({name!r})
    return _native.reason({name!r}).startswith('refused')
"""


def shipped():
    """Return the native module of the extra `small`, which is one of the smallest, or skip."""
    if "_svm_linear" not in package.natives(ARCHS["desktop"]):
        pytest.skip("no native module is built for x64; run: make native")
    return "_svm_linear"


@pytest.mark.case("A16", "A17")
def test_no_flipped_byte_and_no_cut_of_a_shipped_module_is_imported(desktop):
    name = shipped()
    install(desktop, extras=["small"])
    path = f"{desktop.lib}{FOLDER}/{name}.mpy"
    desktop.exec(_ATTACK.format(path=path, name=name[1:]))
    code = "print(all(refused(good[:n]) for n in range(50, len(good))))\nprint(refused(good))\n"
    code += "print(all(flipped(i) for i in range(len(good))))\nprint(refused(good))"
    answers = desktop.exec(code, timeout_s=HANG_S).split()
    assert [answer for answer in answers if answer in ("True", "False")] == [
        "True",
        "False",
        "True",
        "False",
    ]


@pytest.mark.slow
def test_doctor_names_a_damaged_module_and_a_mixed_release(desktop, monkeypatch, capsys):
    name = shipped()
    install(desktop, extras=["small"])
    path = f"{desktop.lib}{FOLDER}/{name}.mpy"
    desktop.put_bytes(desktop.get_bytes(path)[:-1], path)
    monkeypatch.setattr("acclimate_host.commands.doctor.open_chosen", lambda args: desktop)
    assert cli.main(["doctor", "--board", "desktop"]) == 9
    output = capsys.readouterr().out
    assert f"problem native module {name}: refused" in output


# ---- the command line --------------------------------------------------------------------


def test_run_shows_output_and_the_boards_traceback(tmp_path, capsys):
    path = tmp_path / "job.py"
    path.write_text("from acclimate._sha256 import sha256\nprint('works')\n1/0\n")
    assert cli.main(["run", str(path), "--board", "desktop"]) == 1
    out, err = capsys.readouterr()
    assert out == "works\n"
    assert "line 3" in err
    assert err.splitlines()[-1].startswith("acclimate run: on the board: ZeroDivisionError")


def test_extras_come_beside_named_modules(desktop):
    install(desktop, only=["svm"], extras=["kinds"])
    present = desktop.ls(desktop.lib + FOLDER)
    assert any("kinds" in name for name in present) and not any("net" in name for name in present)


def test_run_brings_extras_and_files(tmp_path, capsys):
    (tmp_path / "rows").write_bytes(bytes([20, 21, 20, 22]))
    path = tmp_path / "job.py"
    path.write_text(
        "from acclimate.svm import SVM\n"
        "guard = SVM(kind='one-class', nu=0.5).fit(open('rows', 'rb').read(), 4)\n"
        "print(guard.predict([1]))\n"
    )
    run = ["run", str(path), "--board", "desktop", "--put", str(tmp_path / "rows")]
    assert cli.main([*run, "--with", "kinds"]) == 0
    assert capsys.readouterr().out == "-1\n"
    assert cli.main(run) == 1
    assert "install --with kinds" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, code, text",
    [
        (["run", __file__, "--board", "desktop", "--put", "no-such"], 2, "no-such: No such file"),
        (["run", __file__, "--port", "p", "--with", "kinds"], 2, "install --with kinds"),
        (["run", __file__, "--board", "desktop", "--with", "teapot"], 2, "--with teapot"),
        (["run", "no-such-file.py", "--board", "desktop"], 2, "no file no-such-file.py"),
        (["run", __file__, "--board", "teapot"], 2, "not one of"),
        (["install", "--port", "/dev/there-is-no-such-port"], 3, "cannot open"),
        (["install"], 2, "--port DEV, --board NAME or --drive"),
        (["install", "--board", "desktop", "--only", "teapot"], 2, "no module teapot"),
        (["install", "--board", "desktop", "--flash", "f"], 2, "--flash is for"),
        (["boards", "teapot"], 2, "no board 'teapot'"),
    ],
)
def test_errors_are_one_line_with_their_exit_code(arguments, code, text, capsys):
    assert cli.main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1 and text in err


@pytest.mark.parametrize("words", ["boards teapot -v", "-v boards teapot", "--verbose boards t"])
def test_verbose_adds_the_traceback(words, capsys):
    assert cli.main(words.split()) == 2
    assert "Traceback" in capsys.readouterr().err


def test_boards_lists_all(capsys):
    assert cli.main(["boards"]) == 0
    out = capsys.readouterr().out
    assert "feather_m0_express" in out and "nrf52840" in out


def test_progress_is_for_terminals_only():
    command = [sys.executable, "-m", "acclimate_host.cli", "install", "--board", "desktop"]
    code = "import sys; sys.path[:0] = ['device', 'host']; from acclimate_host import cli; "
    command = [sys.executable, "-c", code + "sys.exit(cli.main())", *command[3:]]
    result = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert result.returncode == 0, result.stderr
    assert "\r" not in result.stdout and "\x1b" not in result.stdout


@pytest.mark.case("A8")
def test_a_mixed_set_raises_one_clear_error(desktop):
    install(desktop)
    text = package.manifest_source({}, "0.0.1")
    desktop.put_bytes(text.encode(), desktop.lib + FOLDER + "/_manifest.py")
    desktop.rm(desktop.lib + FOLDER + "/_manifest.mpy")
    with pytest.raises(BoardError, match="0.0.1: run acclimate install again"):
        desktop.exec("from acclimate import _native\n_native.load('x')")
