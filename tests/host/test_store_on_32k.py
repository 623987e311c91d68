# SPDX-License-Identifier: MIT
"""The device tests of the store on the emulated 32 KB board, with the package frozen."""

import ast
import os

import capsule_cases as cases
import pytest

from acclimate_host.capsules.build import build
from acclimate_host.capsules.delta import update
from acclimate_host.connect import open_board, package, why_not
from acclimate_host.errors import BoardError
from acclimate_host.paths import built
from bench import capsule_board
from harness.runtimes import DEVICE_TESTS, copy_model

ELF = built("firmware", "samd21-capsules", "firmware.elf")
FILES = ("test_store", "test_store_save", "test_delta")


def functions(name):
    tree = ast.parse((DEVICE_TESTS / (name + ".py")).read_text())
    return [n.name for n in tree.body if getattr(n, "name", "").startswith("test_")]


@pytest.fixture(scope="module")
def board():
    reason = why_not("samd21") or (None if ELF.exists() else f"no firmware at {ELF.parent.name}")
    if reason:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with open_board("samd21", elf=ELF) as opened:
        for name in ("capsule_vectors", "store_cases", *FILES):
            source = DEVICE_TESTS / (name + ".py")
            data = package.compile_file(source, source.name)
            opened.put_bytes(data, f"/{name}.mpy")
        copy_model(opened)
        native = built("native", "armv6m", "_codec.mpy")
        opened.put_bytes(native.read_bytes(), "/_codec.mpy")
        yield opened


# Two images of the region do not fit beside the package: the bench cuts on the model instead.
_LEFT_OUT = ("test_cuts_leave_old_or_new",)


@pytest.mark.parametrize(
    "file,name",
    [(file, name) for file in FILES for name in functions(file) if name not in _LEFT_OUT],
)
def test_store_in_32_kb(board, file, name):
    board.soft_reset()
    try:
        answer = board.exec(f"import gc\nimport {file}\nprint({file}.{name}())")
    except BoardError as error:
        pytest.fail(f"{error.output}{error.traceback}", pytrace=False)
    assert answer.startswith(("None", "hashlib"))


_ON_FLASH = """
import _codec, qboard
from acclimate import _native
_native.register('codec', _codec)
from acclimate.store import Wanted
from acclimate.flash import BlockFlash
from acclimate.store import Store
from capsule_vectors import BASE, KEY, TARGET, UPDATE
flash = BlockFlash(qboard.Flash(qboard.RAW_START, 6 * qboard.PAGE_BYTES))
def boot():
    return Store(flash, Wanted(model=7, kind=1, key=KEY), chunk_bytes=64)
boot().swap_capsule(BASE, True)
boot().swap_capsule(UPDATE, True)
store = boot()
print(bytes(flash.mapped(store.slots.start(store.active), len(TARGET))) == TARGET)
"""


def test_update_with_the_native_module_in_the_flash_of_the_32_kb_board(board):
    board.soft_reset()
    assert board.exec(_ON_FLASH) == "True\n"


def test_an_update_takes_no_more_than_1536_bytes_of_heap_on_the_32_kb_board(board):
    sections = {"PROGRAM": bytes(64), "WEIGHTS": cases.weights(2500, 1)}
    base, target = (
        build({**sections, **new}, "SVM", 7, version, key=capsule_board.KEY)
        for version, new in ((1, {}), (2, {"WEIGHTS": cases.tuned(sections["WEIGHTS"], 2)}))
    )
    board.soft_reset()  # what the test before left in the heap is in the way
    found = capsule_board.update_fits(board, "samd21", base, target, update(base, target), 1536)
    board.soft_reset()
    assert found


def test_native_module_of_a_frozen_package_is_found_in_lib_and_checked(board):
    files = package.build("armv6m", ["_buffers"])
    board.soft_reset()
    board.exec(
        "import os\nfor p in ('/lib', '/lib/acclimate'):\n"
        "    try:\n        os.mkdir(p)\n    except OSError:\n        pass"
    )
    for name in ("_manifest.mpy", "_codec.mpy"):
        board.put_bytes(files[name], "/lib/acclimate/" + name)
    load = "from acclimate import _native\n_native.load('codec')\nprint(_native.reason('codec'))"
    board.soft_reset()
    assert board.exec(load).strip() == "loaded"
    damaged = bytearray(files["_codec.mpy"])
    damaged[len(damaged) // 2] ^= 4
    board.put_bytes(bytes(damaged), "/lib/acclimate/_codec.mpy")
    board.soft_reset()
    assert "CRC-32 differs" in board.exec(load)
    for name in ("_manifest.mpy", "_codec.mpy"):
        board.exec(f"import os\nos.remove('/lib/acclimate/{name}')")
