# SPDX-License-Identifier: MIT
"""The circup bundle: built by circuitpython-build-tools, installed by circup, run for real."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from acclimate import __version__
from acclimate_host.connect import circup, package
from acclimate_host.paths import repository
from harness.clock import HANG_S
from harness.runtimes import no_circuitpython

TOOL = repository() / "tools" / "circup.py"
needs_tools = pytest.mark.skipif(
    not importlib.util.find_spec("circup")
    or not importlib.util.find_spec("circuitpython_build_tools"),
    reason="circup and circuitpython-build-tools are not installed",
)


def test_the_library_says_its_version_and_where_it_comes_from(tmp_path):
    names = circup.write_library(tmp_path)
    assert {"__init__.py", "svm.py", "store.py"} <= set(names)
    text = (tmp_path / "acclimate" / "__init__.py").read_text()
    assert f'__version__ = "{__version__}"\n__repo__ = "{circup.REPO}"\n' in text
    assert 'packages = ["acclimate"]' in (tmp_path / "pyproject.toml").read_text()


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "name a new folder: python tools/circup.py FOLDER"),
        (["."], ". is there already: name a new folder"),
    ],
)
def test_the_tool_says_in_one_line_what_it_needs(arguments, words, tmp_path):
    (tmp_path / "file").touch()
    command = [sys.executable, str(TOOL), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S)
    assert (done.returncode, done.stderr) == (2, f"circup.py: {words}\n")


def run(folder, *command):
    environment = {
        **os.environ,
        "XDG_DATA_HOME": str(folder / "made" / "data"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join(str(repository() / part) for part in ("device", "host")),
    }
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_tools
@pytest.mark.slow
def test_circup_installs_the_bundle_and_circuitpython_learns(tmp_path):
    said = run(tmp_path, sys.executable, TOOL, tmp_path / "made")
    assert f"XDG_DATA_HOME={tmp_path / 'made' / 'data'} circup --offline --path" in said
    kinds = ["py", *(["10.x-mpy"] if package.circuitpython_compiler() else [])]
    drive = tmp_path / "drive"
    drive.mkdir()
    (drive / "boot_out.txt").write_text(
        "Adafruit CircuitPython 10.0.0 on 2025-08-01; Feather with nRF52840\r\n"
        "Board ID:feather\r\n"
    )
    command = (Path(sys.executable).with_name("circup"), "--offline", "--path", drive)
    said = run(tmp_path, *command, "install", "acclimate")
    assert "Installed 'acclimate'" in said
    assert f"acclimate=={__version__}" in run(tmp_path, *command, "freeze")
    installed = {path.name for path in (drive / "lib" / "acclimate").iterdir()}
    ending = ".mpy" if len(kinds) > 1 else ".py"
    assert {"__init__" + ending, "svm" + ending} <= installed
    if no_circuitpython():
        pytest.skip(no_circuitpython())
    program = drive / "code.py"
    program.write_text(LEARNS % str(drive / "lib"))
    interpreter = os.environ["CIRCUITPYTHON"]
    assert run(tmp_path, interpreter, "-X", "heapsize=200k", program) == "0 1\n"


LEARNS = """
import sys
sys.path.append(%r)
from acclimate.svm import SVM
model = SVM(kernel="linear", C=1).fit([[20, 0], [22, 1], [60, 9], [70, 9]], [0, 0, 1, 1])
print(model.predict([24, 1]), model.predict([66, 9]))
"""
