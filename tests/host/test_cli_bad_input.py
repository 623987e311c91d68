# SPDX-License-Identifier: MIT
"""Whatever is wrong with a command line: one clear line, an exit code, and nothing is changed."""

import contextlib
import io
import shlex
import signal
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from test_net_onnx import channels_last

import acclimate_host
from acclimate.net import NetError
from acclimate_host.capsules.build import build
from acclimate_host.capsules.keys import write_new
from acclimate_host.capsules.repository import Repository
from acclimate_host.cli import main
from acclimate_host.commands import write_bytes
from acclimate_host.connect import why_not
from acclimate_host.errors import AcclimateError, Missing
from harness.errors import naming

KEY, OTHER = bytes(range(32)), bytes(32)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder with a signed repository, keys, a capsule, junk and a folder."""
    monkeypatch.chdir(tmp_path)
    capsules = [build({"WEIGHTS": bytes([v]) * 64}, "DATA", 7, v, key=KEY) for v in (1, 2)]
    Repository("shop", KEY).publish(capsules[0])
    for name, data in (
        ("fleet.key", KEY),
        ("other.key", OTHER),
        ("junk", b"junk"),
        ("none", b""),
        ("rows.csv", b"1,2,0\n3,4,1\n1,3,0\n3,5,1\n" * 5),
        ("half.key.pub", b""),
        ("same.csv", b"1,2,0\n3,4,0\n"),
        ("once.csv", b"a,b,label\n1,2,0\n3,4,1\n"),
        ("named.csv", b"label,a\nfine,1\nworn,2\n"),
        ("odd.json", b"{}"),
        ("one.acap", capsules[0]),
        ("two.acap", capsules[1]),
    ):
        (tmp_path / name).write_bytes(data)
    for name, data in (
        ("blob", b"\xff\0"),
        ("bad.py", b"x = 1\ny ="),
        ("deep.py", b"(" * 9000 + b")" * 9000),
    ):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder").mkdir()
    with open("large", "wb") as file:
        file.truncate(1 << 24)
    return tmp_path


@pytest.mark.parametrize(
    "command, words",
    [
        ("boards nowhere", "no board 'nowhere'"),
        ("install --board nowhere", "nowhere: not one of desktop"),
        ("install --board nrf5284", "did you mean nrf52840?"),
        ("install --board nano33ble", "nano33ble is a real board: name its port with --port"),
        ("install --board desktop --only smv", "did you mean svm?"),
        ("install --board desktop --with pagr", "did you mean pager?"),
        ("install --port /dev/null", "cannot open /dev/null: it is no serial port; acclimate d"),
        ("install --port /dev/block/0", "cannot open /dev/block/0: no such port"),
        ("install --port socket://127.0.0.1:1", "socket://127.0.0.1:1: [Errno"),
        ("boards nano33", "did you mean nano33ble?"),
        ("bench svmm", "did you mean svm?"),
        ("demo --board nrf5284", "did you mean nrf52840?"),
        ("teach --board desktop --sensor mpu605", "did you mean mpu6050?"),
        ("mirror folder s3://bucket", "folder: no repository; acclimate publish makes one"),
        ("choose same.csv", "same.csv: all rows have one label"),
        ("choose once.csv", "y: expected 2 rows or more of a label, to hold one back"),
        ("choose named.csv", "expected numbers as features, and the label last: could not"),
        ("capsule build -o made --model 7 --version 1 --program net.onnx", "acclimate compile"),
        ("boards folder/mine.toml", "no file folder/mine.toml"),
        ("install --board mine.toml", "mine.toml describes a board: name its port with --port"),
        ("plan odd.json", "odd.json: not a planning problem: nodes is missing"),
        ("run folder --board desktop", "folder is a folder: name a Python file in it"),
        ("instal --board desktop", "acclimate: no verb instal; did you mean install?"),
        ("teapot", "acclimate: no verb teapot; acclimate -h lists them"),
        ("-v", "acclimate: -v belongs to a verb: name one; acclimate -h lists them"),
        ("-v teapot", "acclimate: no verb teapot; acclimate -h lists them"),
        ("-v --port /dev/null install", "acclimate: no option --port before a verb"),
        ("--port /dev/null install", "acclimate: no option --port before a verb; acclimate -h"),
        ("--versoin", "before a verb; did you mean --version?"),
        ("install --board desktop --only ,", "--only ',': expected names"),
        ("install --drive folder", "no boot_out.txt"),
        ("publish junk two.acap", "junk"),
        ("publish '' two.acap", "folder '': expected a path"),
        ("publish new two.acap --key ''", "--key '': expected a path"),
        ("publish new two.acap --key fleet.key --object-key ''", "--object-key ''"),
        ("publish new two.acap --key fleet.key --fleet-key ''", "--fleet-key '': expected a path"),
        ("publish new two.acap --key fleet.key --base ''", "--base '': expected a path"),
        ("rollout shop step --model 7 --key ''", "--key '': expected a path"),
        ("rollout shop back --model 7 --key fleet.key --release-key ''", "--release-key ''"),
        ("fleet shop --percent 5 --model 7 --key=", "--key '': expected a path"),
        ("keys '' --root r --release p --rollout p", "folder '': expected a path"),
        ("capsule build -o made --model 7 --version 1 --weights two.acap --key ''", "--key ''"),
        ("serve shop --key ''", "--key '': expected a path"),
        ("send two.acap --mqtt localhost --topic ''", "topic"),
        ("send two.acap --mqtt localhost --topic a/#", "topic"),
        ("send two.acap --mqtt localhost --topic +/down", "topic"),
        ("publish shop junk", "no capsule"),
        ("publish shop folder", "folder: Is a directory"),
        ("publish shop two.acap --key other.key", "authenticity"),
        ("publish shop two.acap", "signed until now: give the key"),
        ("publish shop two.acap --new-key", "--new-key: give the key"),
        ("publish shop two.acap --key fleet.key --percent 101", "percent 101: 0 to 100"),
        ("publish shop two.acap --key fleet.key --cohort ../x", "cohort '../x'"),
        ("fleet folder", "no repository; acclimate publish makes one"),
        ("fleet shop --model 8", "--model 8: shop has no such model"),
        ("fleet shop --model 8 --json", "--model 8: shop has no such model"),
        ("fleet shop --percent 50", "name the model with --model"),
        ("fleet shop --percent 50 --model 8", "nothing is published"),
        ("fleet shop --percent 50 --model 7", "signed until now: give the key"),
        ("fleet shop --percent 50 --model 7 --key other.key", "not signed with this key"),
        ("serve folder", "no repository; acclimate publish makes one"),
        ("serve shop --port 70000", "--port 70000: expected 0 to 65535"),
        ("serve shop --host ''", "--host '': expected an address"),
        ("serve shop --key junk", "junk: key of 4 bytes: 16 to 64"),
        ("capsule build -o no/such/x --model 7 --version 1 --weights junk", "no/such/x"),
        ("capsule verify junk", "junk: this is no capsule"),
        ("capsule verify one.acap --key none", "none: expected a public key of 64"),
        ("capsule verify one.acap --key junk", "junk: expected a public key of 64"),
        ("capsule inspect folder", "folder: Is a directory"),
        ("capsule diff one.acap junk -o made", "junk: this is no capsule"),
        ("capsule build -o made --model 7 --version 1 --weights none", "every file is empty"),
        ("capsule build -o made --model 7 --version 1 --weights junk --temperature nan", "nan"),
        ("capsule build -o made --model 7 --version 1 --weights large", "at most 16777215"),
        ("capsule key half.key --ed25519", "half.key.pub exists"),
        ("rollout shop start junk --key fleet.key", "junk: this is no capsule"),
        ("flash-capsule junk --board desktop", "junk: this is no capsule"),
        ("status --port ttyACM0", "--port 'ttyACM0': expected /dev/"),
        ("status --port ''", "--port '': expected /dev/"),
        ("status --port nrf52840", "or --board nrf52840"),
        ("choose junk -o made", "junk: expected a .csv, or an .npz"),
        ("choose folder -o made", "folder: expected a .csv, or an .npz"),
        ("plan linear --ram much", "RAM 'much'"),
        ("plan nothing", "unknown model 'nothing'"),
        ("run blob --board desktop", "blob: not text, byte 0 is not UTF-8"),
        ("run bad.py --board desktop", "bad.py is not Python: line 2"),
        ("run deep.py --board desktop", "deep.py is not Python"),
        ("profile --board desktop --power blob", "blob: not text"),
        ("send junk --mqtt 127.0.0.1:x --topic t", "expected HOST or HOST:PORT"),
        ("send junk --mqtt 127.0.0.1:0 --topic t", "expected HOST or HOST:PORT"),
        ("send junk --mqtt :1883 --topic t", "expected HOST or HOST:PORT"),
        (
            "send junk --mqtt 127.0.0.1 --topic t --block 0",
            "blocks of 0 bytes: expected 1 to 65535",
        ),
        ("send junk --mqtt 127.0.0.1 --topic t --password-file blob", "blob: not text"),
        ("capsule diff one.acap folder -o made", "folder: Is a directory"),
        ("flash-capsule one.acap --table no/file", "no/file: No such file"),
        ("show mbv2-w0.35 --patches 99999999999999999999", "65535 classes and 100 patches"),
        ("show mbv2-w0.35 --classes 99999999999999999999", "65535 classes and 100 patches"),
        ("compile junk", "expected a .onnx or .tflite file"),
        ("choose rows.csv --picture made.txt", "--picture made.txt: expected a name in .svg"),
        ("choose rows.csv -o no/made", "no folder for no/made"),
        ("choose rows.csv --ram 1", "fits --ram 1: the smallest"),
        ("choose rows.csv -o folder", "folder: Is a directory"),
        ("show mbv2-w0.35 --arena made.txt", "--arena made.txt: expected a name in .svg"),
        ("show mbv2-w0.35 --out no/made.svg", "no folder for no/made.svg"),
        ("contribute net.onnx --data x.npz --out no/made", "no folder for no/made"),
        ("profile --board desktop --out no/made.toml", "no folder for no/made.toml"),
        ("profile --board desktop --voltage nan --current 1", "--voltage nan"),
        ("profile --board desktop --rounds 0", "--rounds 0: expected 1 to 1000"),
        ("profile --board desktop --rounds 1001", "--rounds 1001: expected 1 to 1000"),
        ("contribute x --data y --seeds 1001", "--seeds 1001: expected 1 to 1000"),
        ("contribute x --data y --epochs 10001", "--epochs 10001: expected 1 to 10000"),
        ("contribute x --data y --workers 1025", "--workers 1025: expected 1 to 1024"),
        (
            "plan linear --sweep ram=40%..80%:1000 --sweep deadline=1.1x..2x:11",
            "sweep of 11000 plans: expected 10000 or fewer",
        ),
        ("rollout shop prune --deltas -1", "--deltas -1: expected 0 to 7"),
        ("rollout shop prune --deltas 8", "--deltas 8: expected 0 to 7"),
        ("profile --board desktop --voltage 3 --current -1", "--current -1"),
    ],
)
def test_one_line_names_what_is_wrong(place, capsys, command, words):
    before = {p: p.read_bytes() for p in place.rglob("*") if p.is_file()}
    assert main(shlex.split(command)) in (2, 3, 6, 7)
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
    assert {p: p.read_bytes() for p in place.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    "command",
    [
        "run junk --board desktop --timeout",
        "send junk --mqtt h --topic t --rate",
    ],
)
@pytest.mark.parametrize("number", ["nan", "inf", "0", "-1", "1e999", "much"])
def test_numbers_that_no_wait_or_rate_can_have_are_refused(place, capsys, command, number):
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), number])
    assert ended.value.code == 2 and number in capsys.readouterr().err


@pytest.mark.parametrize(
    "command, words",
    [
        ("install --prot /dev/x", "no such argument: --prot /dev/x; did you mean --port?"),
        ("install --boards=desktop", "did you mean --board?; acclimate install -h says more"),
        ("capsule build --verson 1", "required: -o/--output"),
        ("capsule key k --ed2519", "did you mean --ed25519?; acclimate capsule key -h"),
        ("run", "required: file; acclimate run -h says more"),
    ],
)
def test_a_slip_in_an_argument_is_told_with_the_next_step(place, capsys, command, words):
    with pytest.raises(SystemExit) as ended:
        main(command.split())
    assert ended.value.code == 2 and words in capsys.readouterr().err


def test_without_a_verb_all_verbs_are_listed(capsys):
    assert main([]) == 2
    said = capsys.readouterr().err
    assert "copy the device package" in said and said.endswith("acclimate -h lists them\n")


def test_an_error_of_the_device_package_run_here_is_one_line_too(monkeypatch, capsys):
    def other_release(args):
        raise NetError("program: format 1; this release runs 2")

    monkeypatch.setattr("acclimate_host.commands.boards.run", other_release)
    assert main(["boards"]) == 2
    assert capsys.readouterr().err == "acclimate boards: program: format 1; this release runs 2\n"


@pytest.mark.parametrize("size", ["inf", "nan", "1e99", "0", "-4k"])
def test_sizes_that_no_arena_can_have_are_refused(place, capsys, size):
    with pytest.raises(SystemExit) as ended:
        main(["contribute", "net.onnx", "--data", "user.npz", "--memory=" + size])
    assert ended.value.code == 2 and "expected bytes, such as 100k" in capsys.readouterr().err


@pytest.mark.skipif(why_not("nrf52840") is not None, reason=str(why_not("nrf52840")))
@pytest.mark.parametrize("flash", ["no/such/file", "folder"])
def test_flash_file_that_cannot_be_is_named(place, capsys, flash):
    assert main(["run", "junk", "--board", "nrf52840", "--flash", flash]) == 2
    said = capsys.readouterr().err
    assert flash in said and said.count("\n") == 1


def test_doctor_reports_a_board_that_is_not_there_as_a_problem(capsys):
    assert main(["doctor", "--port", "/dev/null"]) == 9
    assert "problem cannot open /dev/null" in capsys.readouterr().out


@contextlib.contextmanager
def full_disk():
    """Few bytes that a file may have; only around a write: the report of the tests is a file."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, kept)


@pytest.mark.parametrize("there", [b"the old one", None])
def test_what_cannot_be_written_whole_leaves_the_old_file(place, there):
    path = place / "made"
    if there:
        path.write_bytes(there)
    before = sorted(place.iterdir())
    with pytest.raises(AcclimateError, match="made: File too large"), full_disk():
        write_bytes(path, bytes(4096))
    assert sorted(place.iterdir()) == before
    assert not there or path.read_bytes() == there


def test_a_key_that_cannot_be_written_whole_is_no_key(place):
    with pytest.raises(AcclimateError, check=naming("new.key")), full_disk():
        write_new("new.key")
    assert not (place / "new.key").exists()


def test_a_link_and_a_device_can_be_written(place):
    (place / "link").symlink_to(place / "target")
    write_bytes(place / "link", b"new")
    write_bytes("/dev/null", b"new")
    assert (place / "link").is_symlink() and (place / "target").read_bytes() == b"new"


def test_what_extra_to_install_can_be_pasted_into_any_shell():
    """zsh takes [ and ] for a pattern."""
    host = Path(acclimate_host.__file__).parent
    found = [line for p in host.rglob("*.py") for line in p.read_text("utf-8").splitlines()]
    asked = [
        line for line in found if "pip install" in line and "[" in line.split("pip install")[1]
    ]
    assert asked and all("pip install '" in line for line in asked)


@pytest.mark.parametrize(
    "package, command",
    [
        ("onnx", "compile net.onnx --samples x.npy"),
        ("onnx", "plan net.onnx"),
        ("tflite", "compile net.tflite --samples x.npy"),
        ("distributed", "plan linear --sweep ram=60% --dask 127.0.0.1:1"),
    ],
)
def test_a_package_that_is_not_there_has_an_exit_code_of_its_own(
    package, command, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for name in ("net.onnx", "net.tflite"):
        (tmp_path / name).write_bytes(b"TFL3" * 4)
    monkeypatch.setitem(sys.modules, package, None)
    assert main(shlex.split(command)) == Missing.exit_code
    assert "pip install 'acclimate[" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "choose huge.npz",
        "compile net.onnx --samples huge.npy --loss mse",
        "contribute net.onnx --data huge.npz",
        "record made --board desktop --labels a,b",
    ],
)
def test_arrays_that_say_they_are_larger_than_any_memory_are_refused(
    command, tmp_path, monkeypatch, capsys
):
    """A few bytes of a file must not ask for terabytes."""
    monkeypatch.chdir(tmp_path)
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (10**13, 4)}
    )
    Path("huge.npy").write_bytes(head.getvalue() + bytes(64))
    Path("made").mkdir()
    for name in ("windows", "labels"):
        Path("made", f"{name}.npy").write_bytes(head.getvalue())
    with zipfile.ZipFile("huge.npz", "w") as archive:
        for name in ("x", "labels"):
            archive.writestr(f"{name}.npy", head.getvalue() + bytes(64))
    onnx.save(channels_last().finish(), "net.onnx")
    assert main(shlex.split(command)) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_plan_without_highs_says_so(capsys, monkeypatch):
    monkeypatch.setattr("acclimate_host.poet.highs.highspy", None)
    assert main(["plan", "linear", "--ram", "60%", "--time-limit", "1"]) == 0
    assert "pip install 'acclimate[plan]'" in capsys.readouterr().err
