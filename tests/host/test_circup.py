# SPDX-License-Identifier: MIT
"""The circup bundle: built by circuitpython-build-tools, installed by circup, run for real."""

import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from acclimate import __version__
from acclimate_host.connect import circup, package
from acclimate_host.paths import repository
from harness.clock import HANG_S
from harness.runtimes import no_circuitpython

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


def run(folder, *command):
    environment = {
        **os.environ,
        "XDG_DATA_HOME": str(folder / "data"),
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
def test_circup_installs_the_bundle_and_circuitpython_learns(tmp_path):
    run(tmp_path, sys.executable, repository() / "tools" / "circup.py", tmp_path / "made")
    # What circup would fetch: its list of bundles, and the unpacked bundle.
    data = tmp_path / "data" / "circup"
    data.mkdir(parents=True)
    (data / "bundle_config.json").write_text(json.dumps({"acclimate": circup.BUNDLE}))
    (data / "circup.json").write_text(json.dumps({circup.BUNDLE: [__version__]}))
    kinds = ["py", *(["10.x-mpy"] if package.circuitpython_compiler() else [])]
    for kind in kinds:
        (path,) = (tmp_path / "made" / "bundles").glob(f"{circup.PREFIX}-{kind}-*.zip")
        folder = f"{circup.PREFIX}-{kind.replace('.x-', '')}"
        zipfile.ZipFile(path).extractall(data / "acclimate" / folder)
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
