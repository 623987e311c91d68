# SPDX-License-Identifier: MIT
"""The wheel, installed in an environment of its own, away from the repository."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from acclimate_host.connect import package, why_not
from acclimate_host.paths import built, repository
from harness.clock import HANG_S

ROOT = repository()
TEN_LINES = """\
from acclimate.svm import SVM
model = SVM(kernel="linear", C=1).fit([[20, 0], [22, 1], [60, 9], [70, 9]], [0, 0, 1, 1])
print(model.predict([24, 1]), model.predict([66, 9]))
"""


class Installed:
    """A wheel in a new environment, which borrows what it depends on from this one."""

    def __init__(self, folder, wheel):
        self.folder, self.bin = folder, folder / "venv" / "bin"
        run(folder, sys.executable, "-m", "venv", "--without-pip", folder / "venv")
        run(
            folder,
            sys.executable,
            "-m",
            "pip",
            "-q",
            "--python",
            self.bin / "python",
            "install",
            "--no-deps",
            "--no-index",
            "--no-compile",
            wheel,
        )
        (site,) = (folder / "venv").glob("lib/python3*/site-packages")
        # Only the folder itself: .pth files in it, and so the repository, do not count.
        (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def __call__(self, *arguments, code=0):
        (self.folder / "work").mkdir(exist_ok=True)
        return run(self.folder / "work", self.bin / arguments[0], *arguments[1:], code=code)


def run(folder, *command, code=0):
    """Run a command in a folder, without this environment's variables; return its output."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("ACCL", "PYTHON"))}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**environment, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANG_S,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def made_of_a_copy(folder):
    """Build the wheel from a copy of the sources; return its path.

    With the native modules of x64, as far as this machine could build them.
    """
    copy = folder / "copy"
    copy.mkdir(parents=True)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in ("device", "host", "boards"):
        shutil.copytree(
            ROOT / name,
            copy / name,
            ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "emulated"),
        )
    for path in package.natives("x64").values():
        target = copy / "out" / "native" / "x64" / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    page = built("playground", "site")
    if page.is_dir():
        shutil.copytree(page, copy / "out" / "playground" / "site")
    run(
        copy,
        sys.executable,
        "-m",
        "pip",
        "-q",
        "wheel",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "-w",
        folder,
        ".",
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    return Installed(folder, made_of_a_copy(folder))


def test_installed_package_is_not_the_repository(installed):
    code = "import acclimate, acclimate_host; print(acclimate.__file__, acclimate_host.__file__)"
    for path in installed("python", "-c", code).split():
        assert Path(path).is_relative_to(installed.folder / "venv")


def test_installed_command_knows_all_boards_and_their_costs(installed):
    listed = installed("acclimate", "boards")
    for path in ROOT.glob("boards/*.toml"):
        assert path.stem in listed
    assert "power.voltage_v = 3.0" in installed("acclimate", "boards", "nano33ble")
    code = "from acclimate_host.poet.inputs import cost_table; print(cost_table('m4').name)"
    assert installed("python", "-c", code) == "m4\n"


@pytest.mark.skipif(not built("playground", "site").is_dir(), reason="the page was not built")
def test_installed_package_has_the_page_and_what_teaches(installed):
    code = (
        "from acclimate_host.page import files; print(files.folder())\n"
        "from acclimate_host.teach import session; print(session.SENSORS)"
    )
    folder, sensors = installed("python", "-c", code).splitlines()
    assert Path(folder).is_relative_to(installed.folder / "venv")
    names = sorted(path.name for path in built("playground", "site").iterdir())
    assert sorted(path.name for path in Path(folder).iterdir()) == names
    assert "mpu6050" in sensors


@pytest.mark.parametrize("words", [("--method", "dtr"), ("--formulation", "paper")])
def test_installed_command_names_the_place_of_what_only_a_paper_has(installed, words):
    said = installed("acclimate", "plan", "linear", *words, code=2)
    assert " ".join(words)[2:] in said and "bench/papers of the repository" in said


def test_installed_package_learns_on_cpython(installed):
    assert installed("python", "-c", TEN_LINES) == "0 1\n"


@pytest.mark.skipif(why_not("desktop") is not None, reason=str(why_not("desktop")))
def test_installed_command_installs_and_runs_on_the_desktop_binary(installed):
    said = installed("acclimate", "install", "--board", "desktop")
    extras = {"_svm_linear", *package.natives_left_out()}
    names = ", ".join(sorted(package.natives("x64").keys() - extras))
    wanted = f"native modules for x64: {names}" if names else "no native modules for x64"
    assert wanted in said
    if names:
        said = installed("acclimate", "install", "--board", "desktop", "--with", "small")
        assert "_svm, _svm_linear\n" in said
    file = installed.folder / "ten.py"
    file.write_text(TEN_LINES)
    assert installed("acclimate", "run", file, "--board", "desktop") == "0 1\n"


@pytest.mark.skipif(why_not("desktop") is not None, reason=str(why_not("desktop")))
def test_wheel_without_native_modules_says_what_it_uses_instead(installed):
    for folder in installed.folder.glob("venv/lib/python3*/site-packages/acclimate_host/native"):
        shutil.rmtree(folder)
    said = installed("acclimate", "install", "--board", "desktop")
    assert "no native modules: pure Python does the same work" in said
    assert "this installation has no native modules for x64; make native" in said
