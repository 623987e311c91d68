# SPDX-License-Identifier: MIT
"""CIRCUITPY drives: what fits, what loads in the heap, and that no old file is ever cut off."""

import os
import shutil
import subprocess

import pytest

from acclimate.svm import SVM
from acclimate_host.connect import package
from acclimate_host.connect.drive import install_drive
from acclimate_host.connect.room import DRIVE_ROLES, small_drive_roles
from acclimate_host.errors import AcclimateError, Refused
from harness.clock import HANG_S
from harness.errors import naming
from harness.runtimes import no_circuitpython

LARGE = "Adafruit CircuitPython 10.0.0 on 2025-08-01; Feather nRF52840 Express with nRF52840"
SMALL = "Adafruit CircuitPython 10.0.0 on 2025-08-01; Adafruit Trinket M0 with samd21e18"
NO_COMPILER = "CircuitPython's mpy-cross is not named"
COMPILER = package.circuitpython_compiler()
# Heap free at the prompt: a SAMD21, and an nRF52840 or RP2040.
HEAPS = {"22 KB": "22900", "200 KB": "200k"}


@pytest.fixture
def drive(tmp_path, monkeypatch):
    """An empty drive of a large board, for which sources are copied."""
    monkeypatch.delenv("CIRCUITPYTHON", raising=False)
    monkeypatch.delenv("CIRCUITPYTHON_MPY_CROSS", raising=False)
    return as_drive(tmp_path, LARGE)


def as_drive(folder, about):
    (folder / "boot_out.txt").write_text(about)
    (folder / "lib").mkdir(exist_ok=True)
    return folder


def bytecode(monkeypatch):
    if COMPILER is None:
        pytest.skip(NO_COMPILER)
    monkeypatch.setenv("CIRCUITPYTHON_MPY_CROSS", COMPILER)


def with_free(monkeypatch, free_bytes):
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: usage._replace(free=free_bytes))


def test_too_little_room_is_told_before_anything_changes(drive, monkeypatch):
    install_drive(drive, ["features"])
    target = drive / "lib" / "acclimate"
    (target / "features.py").write_text("an older one")
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    with_free(monkeypatch, 2000)
    with pytest.raises(Refused, check=naming("features.py", "2000 free", "nothing was changed")):
        install_drive(drive, ["features"])
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before


def test_the_default_set_is_as_much_as_fits_and_the_rest_is_named(drive, monkeypatch):
    with_free(monkeypatch, 250_000)
    report = install_drive(drive)
    assert "svm.py" in report.copied and "pull.py" not in report.copied
    assert "without" in report.notes[0] and "pull" in report.notes[0]


@pytest.fixture
def full_drive(tmp_path, drive):
    """A drive of 64 KB that is really full at the end."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no file system of a fixed size can be mounted here")
    yield as_drive(folder, LARGE)
    subprocess.run(["umount", str(folder)], check=True)


def test_a_really_full_drive_keeps_the_old_file_whole(full_drive, monkeypatch):
    """Also where the drive told more room than it has."""
    install_drive(full_drive, ["features"])
    path = full_drive / "lib" / "acclimate" / "features.py"
    path.write_text("an older one")
    (full_drive / "fill").write_bytes(bytes(shutil.disk_usage(full_drive).free))
    with pytest.raises(Refused, check=naming("features.py", "the drive has 0 free")):
        install_drive(full_drive, ["features"])
    with_free(monkeypatch, 1 << 20)
    with pytest.raises(AcclimateError, check=naming("features.py", "the old file is as it was")):
        install_drive(full_drive, ["features"])
    assert path.read_text() == "an older one"
    assert not list(path.parent.glob("*.new"))


def test_a_32_kb_board_gets_what_loads_there_or_a_refusal(drive, monkeypatch):
    as_drive(drive, SMALL)
    report = install_drive(drive)
    assert {"features.py", "reservoir.py"} <= set(report.copied)
    assert not [name for name in report.copied if name.startswith(("svm", "net", "store"))]
    assert "22 KB of heap: features, reservoir" in report.notes[0]
    wanted = naming("svm.small", "CIRCUITPYTHON_MPY_CROSS", "--only features")
    with pytest.raises(Refused, check=wanted):
        install_drive(drive, ["svm.small"])
    with pytest.raises(Refused, check=naming("store", "22 KB", "--only features")) as refused:
        install_drive(drive, ["svm", "store"])
    assert "MPY_CROSS" not in str(refused.value)
    bytecode(monkeypatch)
    report = install_drive(drive)
    assert {"svm_small.mpy", "loop.mpy", "net.mpy"} <= set(report.copied)
    assert "features.py" in report.removed
    with pytest.raises(Refused, check=naming("store", "--only svm.small,features,loop")):
        install_drive(drive, ["store"])


def test_three_files_of_python_predict_on_a_drive_too(drive):
    assert len(install_drive(drive, package.PREDICT).copied) == 3


# ---- in the real interpreter --------------------------------------------------------------

FIT = "from acclimate.svm import SVM; SVM(C=1).fit([[0, 1], [1, 0], [9, 9], [8, 9]], [0, 0, 1, 1])"
FACES = {
    "svm": FIT,
    "net": "from acclimate.net import Net",
    "store": "from acclimate.store import Store",
    "pull": "from acclimate.pull import Client",
    "svm.small": "from acclimate.svm import SVM; SVM()",
    "pager": "from acclimate.pager import Pager",
    "pull.mqtt": "from acclimate.pull import Mqtt",
}
TRIED = """
import sys
sys.path.append({lib!r})
{use}
print("loads")
"""

USED = """
import sys
sys.path.append({lib!r})
from acclimate.svm import SVM
m = SVM.load({model!r})
print(m.predict([24, 1]), m.predict([66, 9]))
"""


def loads(drive, name, heap):
    """Tell whether a module loads in a CircuitPython with so much heap."""
    use = FACES.get(name, f"import acclimate.{name}")
    program = drive / "code.py"
    program.write_text(TRIED.format(lib=str(drive / "lib"), use=use))
    interpreter = os.environ["CIRCUITPYTHON"]
    done = subprocess.run(
        [interpreter, "-X", "heapsize=" + HEAPS[heap], str(program)],
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert done.stdout == "loads\n" or "MemoryError" in done.stdout, done.stdout
    return done.stdout == "loads\n"


@pytest.mark.slow
@pytest.mark.skipif(no_circuitpython() is not None, reason=str(no_circuitpython()))
@pytest.mark.parametrize("kind", ["py", "mpy"])
@pytest.mark.parametrize("heap", HEAPS)
def test_the_real_interpreter_loads_what_is_promised(tmp_path, monkeypatch, heap, kind):
    """On the small heap exactly what the table says, on the large one everything."""
    if kind == "mpy":
        bytecode(monkeypatch)
    else:
        compiler = "acclimate_host.connect.package.circuitpython_compiler"
        monkeypatch.setattr(compiler, lambda: None)
    small = heap == "22 KB"
    promised = small_drive_roles(bytecode=kind == "mpy") if small else DRIVE_ROLES
    for name in DRIVE_ROLES:
        folder = tmp_path / name
        folder.mkdir()
        as_drive(folder, SMALL if small and name in promised else LARGE)
        install_drive(folder, [name])
        assert loads(folder, name, heap) == (name in promised), name


@pytest.mark.skipif(no_circuitpython() is not None, reason=str(no_circuitpython()))
def test_a_trained_svm_is_used_on_the_small_heap(tmp_path, monkeypatch):
    bytecode(monkeypatch)
    install_drive(as_drive(tmp_path, SMALL), ["svm.small"])
    X = [[20, 0], [22, 1], [60, 9], [70, 9]]
    SVM(small=True, C=1).fit(X, [0, 0, 1, 1]).save(str(tmp_path / "worn.svm"))
    program = tmp_path / "code.py"
    program.write_text(USED.format(lib=str(tmp_path / "lib"), model=str(tmp_path / "worn.svm")))
    command = [os.environ["CIRCUITPYTHON"], "-X", "heapsize=" + HEAPS["22 KB"], str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert done.stdout == "0 1\n"
