# SPDX-License-Identifier: MIT
"""What builders of firmware include: the C modules as user modules, the package frozen.

The device tests run on such a firmware as the runtime ``nrf52840-natives``.
"""

import re
import runpy
import sys
import types

import pytest

from acclimate import __version__, _native
from acclimate_host.connect import open_board
from acclimate_host.paths import firmware, repository
from harness import runtimes

ROOT = repository()
NATIVES = ROOT / "native_modules"
# Of a module that only predicts: a firmware has the whole SVM.
ANSWERING = (
    "svm_check.c",
    "svm_predict_mod.c",
    "svm_read.c",
    "svm_read_mod.c",
    "svm_round.c",
    "svm_weights.c",
)


def of_make():
    text = (NATIVES / "micropython.mk").read_text().replace("\\\n", " ")
    lists = re.findall(r"\$\(addprefix (\w+)/, ([^)]*)\)", text)
    return {f"{folder}/{name}" for folder, names in lists for name in names.split()}


def of_cmake():
    text = (NATIVES / "micropython.cmake").read_text()
    return set(re.findall(r"LIST_DIR}/(\w+/\w+\.[cS])$", text, re.MULTILINE))


def test_make_and_cmake_name_the_same_files_and_each_is_there():
    assert of_make() == of_cmake()
    assert all((NATIVES / name).is_file() for name in of_make())
    for folder in ("codec", "ed25519", "frontend", "net", "svm", "svm_linear", "xchacha"):
        text = (NATIVES / folder / "Makefile").read_text().replace("\\\n", " ")
        names = {
            n for line in text.splitlines() if "=" in line for n in re.findall(r"\w+\.[cS]", line)
        }
        assert {f"{folder}/{n}" for n in names - {"net_float.c", *ANSWERING}} <= of_make(), folder
    wrappers = {str(path.relative_to(NATIVES)) for path in NATIVES.glob("*/*_mod.c")}
    assert wrappers - {f"svm/{name}" for name in ANSWERING} <= of_make()


def test_make_and_cmake_set_the_same_flags():
    make, cmake = (
        (NATIVES / name).read_text() for name in ("micropython.mk", "micropython.cmake")
    )
    for flag in re.findall(r"-D(\w+)", make):
        assert flag in cmake
    assert "-ffp-contract=off" in make and "-ffp-contract=off" in cmake


def test_a_firmware_with_some_of_the_modules_registers_these(monkeypatch):
    found = {}
    monkeypatch.setattr(_native, "register", lambda name, module, why: found.update({name: why}))
    for name in (
        "codec",
        "ed25519",
        "frontend",
        "net_all",
        "svm",
        "svm_fit",
        "svm_linear",
        "xchacha",
    ):
        there = types.ModuleType("_" + name) if name in ("svm", "codec") else None
        monkeypatch.setitem(sys.modules, "_" + name, there)
    runpy.run_path(str(ROOT / "device" / "built_in" / "acclimate" / "_manifest.py"))
    assert found == {"codec": "built in", "svm": "built in"}


@pytest.mark.skipif(
    not firmware(runtimes.BUILT_IN).exists(), reason="firmware nrf52840-natives is not built"
)
def test_a_firmware_with_everything_built_in_needs_no_file():
    code = "import acclimate\nfrom acclimate import _native\nfrom acclimate.svm import SVM\n"
    code += "m = SVM(kernel='linear', C=1).fit([[20, 0], [70, 9]], [0, 1])\n"
    code += "print(m.predict([66, 9]), acclimate.__version__)\n"
    code += (
        "print([_native.load(n) is not None for n in ('svm', 'codec', 'net_all', 'net_rare')])\n"
    )
    code += "print(_native.reason('svm_linear'))"
    with open_board("nrf52840", elf=firmware(runtimes.BUILT_IN)) as board:
        said = board.exec(code).splitlines()
        assert not board.ls("/")
    assert said == [f"1 {__version__}", "[True, True, True, True]", "built in"]
