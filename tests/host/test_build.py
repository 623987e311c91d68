# SPDX-License-Identifier: MIT
"""The build rules: native modules of several files, their variants, and the stages."""

import importlib.util
import os
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from acclimate_host.connect import open_board, package, why_not
from acclimate_host.demo import deploy
from acclimate_host.paths import built, repository
from harness.clock import HANG_S

ROOT = repository()
COMPILERS = {
    "x64": "gcc",
    "armv6m": "arm-none-eabi-gcc",
    "armv7emsp": "arm-none-eabi-gcc",
    "xtensawin": "clang-22",
    "rv32imc": "riscv64-unknown-elf-gcc",
}
BOARD_OF = {
    "x64": "desktop",
    "armv6m": "samd21",
    "armv7emsp": "nrf52840",
    "xtensawin": "esp32",
    "rv32imc": "rv32",
}

MAKEFILE = """\
MODULE = _toy
SRC = toy_mod.c toy_scale.c toy_sum.c
CFLAGS_x64 = -DBIAS=1
CFLAGS_armv6m = -DBIAS=2
CFLAGS_armv7emsp = -DBIAS=3
CFLAGS_xtensawin = -DBIAS=4
CFLAGS_rv32imc = -DBIAS=5
VARIANTS_armv6m = small
CFLAGS_small = -DTOY_SMALL
include {rule}
"""

SUM = """\
#include "toy.h"
static const int8_t offsets[2] = { 1, -1 };
int32_t toy_sum(const int8_t *values, uint32_t count) {
    int32_t sum = BIAS + offsets[count & 1];
    for (uint32_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum;
}
"""

SCALE = """\
#include "toy.h"
#if !defined(TOY_SMALL)
static const float factors[2] = { 0.5f, 0.25f };
float toy_scale(int32_t value, uint32_t which) {
    return (float)value * factors[which & 1];
}
#endif
"""

HEADER = """\
#include <stdint.h>
int32_t toy_sum(const int8_t *values, uint32_t count);
float toy_scale(int32_t value, uint32_t which);
"""

WRAPPER = """\
#include "py/dynruntime.h"
#include "toy.h"
static mp_obj_t total(mp_obj_t values) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(values, &info, MP_BUFFER_READ);
    return mp_obj_new_int(toy_sum(info.buf, info.len));
}
static MP_DEFINE_CONST_FUN_OBJ_1(total_obj, total);
#if !defined(TOY_SMALL)
static mp_obj_t scale(mp_obj_t value, mp_obj_t which) {
    return mp_obj_new_float_from_f(toy_scale(mp_obj_get_int(value), mp_obj_get_int(which)));
}
static MP_DEFINE_CONST_FUN_OBJ_2(scale_obj, scale);
#endif
mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) {
    MP_DYNRUNTIME_INIT_ENTRY
    mp_store_global(MP_QSTR_total, MP_OBJ_FROM_PTR(&total_obj));
    #if !defined(TOY_SMALL)
    mp_store_global(MP_QSTR_scale, MP_OBJ_FROM_PTR(&scale_obj));
    #endif
    MP_DYNRUNTIME_INIT_EXIT
}
"""


def skip_or_fail(reason):
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@pytest.fixture
def toy(tmp_path):
    """A native module of three files, outside the repository; returns its folder."""
    folder = tmp_path / "toy"
    folder.mkdir()
    rule = ROOT / "native_modules" / "native.mk"
    texts = {
        "Makefile": MAKEFILE.format(rule=rule),
        "toy.h": HEADER,
        "toy_sum.c": SUM,
        "toy_scale.c": SCALE,
        "toy_mod.c": WRAPPER,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def build(folder, arch, out, *variables):
    """Run make as the repository does; return what it printed."""
    if not built("micropython", "py", "dynruntime.mk").exists():
        skip_or_fail("MicroPython's source is not there; run make setup")
    if shutil.which(COMPILERS[arch]) is None:
        skip_or_fail(f"{COMPILERS[arch]} is not installed")
    path = os.pathsep.join([str(built("venv", "bin")), os.environ["PATH"]])
    command = [
        "make",
        "-C",
        folder,
        f"ARCH={arch}",
        f"OUT={out}",
        f"MPY_DIR={built('micropython')}",
        *variables,
    ]
    done = subprocess.run(
        command, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=HANG_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.case("A13")
@pytest.mark.parametrize("arch", COMPILERS)
def test_module_of_several_files_runs_on_its_board(toy, tmp_path, arch):
    build(toy, arch, tmp_path / "out")
    reason = why_not(BOARD_OF[arch])
    if reason:
        skip_or_fail(reason)
    data = (tmp_path / "out" / "native" / arch / "_toy.mpy").read_bytes()
    with open_board(BOARD_OF[arch]) as board:
        board.put_bytes(data, board.root.rstrip("/") + "/_toy.mpy")
        board.exec("import sys; sys.path.insert(0, %r)" % board.root)
        answer = board.exec(
            "import _toy; print(_toy.total(b'\\x05\\xff\\x03'), _toy.scale(-7, 1))"
        )
    bias = 1 + list(COMPILERS).index(arch)
    assert answer.split() == [str(7 + bias - 1), "-1.75"]


def test_variant_is_smaller_and_named_after_the_module(toy, tmp_path):
    build(toy, "armv6m", tmp_path / "out")
    folder = tmp_path / "out" / "native" / "armv6m"
    assert sorted(path.name for path in folder.glob("*.mpy")) == ["_toy.mpy", "_toy_small.mpy"]
    sizes = [(folder / name).stat().st_size for name in ("_toy.mpy", "_toy_small.mpy")]
    assert sizes[1] < sizes[0] / 2


def test_what_a_user_gives_to_make_does_not_rename_a_module(toy, tmp_path):
    build(toy, "x64", tmp_path / "out", "NAME=svm", "BOARD=nrf52840", "PORT=/dev/ttyACM0")
    folder = tmp_path / "out" / "native" / "x64"
    assert [path.name for path in folder.glob("*.mpy")] == ["_toy.mpy"]


def test_module_is_built_again_only_when_a_header_changed(toy, tmp_path):
    assert "built out/" in build(toy, "x64", tmp_path / "out")
    assert "built out/" not in build(toy, "x64", tmp_path / "out")
    later = (toy / "toy.h").stat().st_mtime + 10
    os.utime(toy / "toy.h", (later, later))
    assert "built out/" in build(toy, "x64", tmp_path / "out")


def load_stage_tool():
    spec = importlib.util.spec_from_file_location("stage", ROOT / "tools" / "stage.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_manifest_names_length_and_crc_of_each_native_module():
    names = {}
    exec(package.manifest_source({"_svm": b"native code"}, "9.8.7"), names)
    assert names["VERSION"] == "9.8.7"
    assert names["NATIVE"] == {"_svm": (11, zlib.crc32(b"native code"))}


def test_stage_holds_every_device_module_as_bytecode(tmp_path, monkeypatch):
    tool = load_stage_tool()
    monkeypatch.setattr(tool, "OUT", tmp_path)
    tool.stage("py")
    expected = {Path("acclimate", name + ".mpy") for name in package.files()}
    stage = tmp_path / "stage" / "py"
    found = {path.relative_to(stage) for path in stage.rglob("*.*")}
    assert found == expected


def test_scripts_name_no_absolute_path_of_a_machine():
    paths = [ROOT / "Makefile", *ROOT.glob("tools/**/*"), *ROOT.glob("boards/emulated/**/*")]
    for path in paths:
        if path.is_file() and "__pycache__" not in path.parts:
            found = re.search(r"(?<![\w./])/(home|root|work|tmp|opt)/", path.read_text())
            assert found is None, f"{path}: {found.group()}"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_native_brings_the_compilers_first_which_a_demo_did_not():
    done = subprocess.run(
        ["make", "-n", "native"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    told = done.stdout
    brought = told.index("tools/packages.sh base arm xtensa riscv")
    assert brought < told.index("tools/native.sh") < told.index("tools/left_out.sh")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_demo_of_a_board_that_there_is_not_ends_before_the_set_up():
    command = ["make", "demo", "BOARD=nope"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 2
    told, names = done.stdout.strip().split(": one of ")
    assert told == "make demo BOARD=nope" and set(names.split()) == set(deploy.BOARDS)
