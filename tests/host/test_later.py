# SPDX-License-Identifier: MIT
"""Methods that load later, as boards with little heap have them: the same classes in the end."""

import ast
import hashlib
import zlib

import pytest

from acclimate_host.connect import later, merge, open_board, package, why_not
from acclimate_host.connect.install import install
from acclimate_host.errors import BoardError
from harness.runtimes import DEVICE_TESTS, MODELS

ARCH = "armv6m"
FILES = ("test_store", "test_store_boot_rules", "test_store_faults", "test_store_rules")
FILES += ("test_store_save", "test_delta")


def members(text):
    """Return the functions and methods of a text, as in `LATER`."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found.append(node.name)
        elif isinstance(node, ast.ClassDef):
            found += [f"{node.name}.{n.name}" for n in node.body if hasattr(n, "name")]
    return found


@pytest.mark.parametrize("unit", later.LATER)
def test_what_loads_later_is_in_one_of_the_files_and_no_longer_in_the_first(unit):
    layout = merge.layout(ARCH)
    whole = set(members(layout.merged(unit, layout.units[unit])))
    first = members(layout.merged(unit))
    moved = [name for words in later.LATER[unit].values() for name in words.split()]
    assert len(moved) == len(set(moved)) and whole >= set(moved)
    assert sorted([*first, *moved]) == sorted([*whole, "_later"])


@pytest.mark.parametrize("unit", later.LATER)
def test_a_file_that_loads_later_finds_every_name_that_it_uses(unit):
    layout = merge.layout(ARCH)
    first = ast.parse(layout.merged(unit))
    there = {name for node in first.body for name in later._bound(node)}
    there |= {node.name for node in first.body if hasattr(node, "name")}
    for file in later.LATER[unit]:
        for node in ast.parse(layout.merged(file)).body:
            if isinstance(node, ast.ImportFrom) and node.module == f"acclimate.{unit}":
                assert {alias.name for alias in node.names} <= there, file


def test_frozen_and_merged_files_have_all_methods():
    for kind in (None, "xtensawin", merge.FROZEN):
        layout = merge._layout(kind) if kind == merge.FROZEN else merge.layout(kind)
        assert not layout.later and "_later" not in layout.merged("store")
    # Firmware that has the modules apart names those that it freezes.
    layout = merge.layout(ARCH)
    assert "_later" not in layout.merged("store", layout.units["store"])


# It looks for a method in the class itself, not in a store.
_LOADED_FIRST = ("test_what_does_not_arrive_as_it_was_signed_is_cancelled",)


def functions():
    for file in FILES:
        tree = ast.parse((DEVICE_TESTS / (file + ".py")).read_text())
        for node in tree.body:
            if getattr(node, "name", "").startswith("test_"):
                yield file, node.name


@pytest.fixture(scope="module")
def board():
    """A desktop interpreter with the files of a board with little heap."""
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    with open_board("desktop") as opened:
        folder = opened.lib + "/acclimate"
        opened.mkdir(folder)
        for name, data in package.build(ARCH, ["store", "flash"], pure=True).items():
            opened.put_bytes(data, f"{folder}/{name}")
        sources = [DEVICE_TESTS / f"{n}.py" for n in (*FILES, "store_cases", "capsule_vectors")]
        for path in (*sources, *MODELS.glob("*.py")):
            data = package.compile_file(path, path.name, ARCH)
            opened.put_bytes(data, f"{opened.lib}/{path.stem}.mpy")
        yield opened


@pytest.mark.parametrize("file,name", list(functions()))
def test_a_store_whose_methods_load_later_does_the_same(board, file, name):
    board.soft_reset()
    if name in _LOADED_FIRST:
        board.exec("from acclimate import _store_open, _store_change")
    try:
        answer = board.exec(f"import {file}\nprint({file}.{name}())")
    except BoardError as error:
        pytest.fail(f"{error.output}{error.traceback}", pytrace=False)
    assert not answer.startswith("SKIP")


def test_a_name_that_no_file_has_is_an_attribute_error(board):
    board.soft_reset()
    code = "from acclimate.store import Wanted, Store\nfrom acclimate.store import Head\n"
    said = board.exec(code + "print(hasattr(Head(), 'teapot'), hasattr(Head(), 'is_newer'))")
    assert said == "False True\n"


def test_a_file_that_is_missing_is_named_each_time(board):
    board.soft_reset()
    path = f"{board.lib}/acclimate/_store_head.mpy"
    data = board.get_bytes(path)
    board.rm(path)
    said = board.exec(
        "from acclimate.store import Head\nfor _ in range(2):\n    try:\n"
        "        Head().parse(0)\n    except ImportError as error:\n        print(error)"
    )
    board.put_bytes(data, path)
    assert said.count("_store_head") == 2


def test_a_small_heap_gets_the_smaller_native_module():
    names = package.natives(ARCH)
    if "_codec" not in names:
        pytest.skip("native modules of armv6m were not built")
    files = package.build(ARCH, ["store"], slim=True)
    assert files["_codec.mpy"] == names["_codec_small"].read_bytes()
    assert "_codec_small.mpy" not in files
    assert package.build(ARCH, ["store"])["_codec.mpy"] == names["_codec"].read_bytes()
    if why_not("samd21"):
        pytest.skip(why_not("samd21"))
    with open_board("samd21") as opened:
        install(opened, ["store"], yes=True)
        found = opened.get_bytes(opened.lib + "/acclimate/_codec.mpy")
        assert found == files["_codec.mpy"]


_DIGESTS = """
from acclimate import _native
core = _native.load("codec")
state, out, data = bytearray(core.SHA_BYTES), bytearray(32), bytes(range(256))
core.sha_start(state)
core.sha_update(state, data, {first})
core.sha_part(state, data, {first}, {n} - {first})
core.sha_finish(state, out)
print(bytes(out))
crc = bytearray(b"\\xff" * 4)
core.crc_update(crc, data, 0, {n})
core.copy(out, 1, data, {first}, 9)
print(bytes(crc), bytes(out[1:10]), core.common_prefix(data, 0, data[:40] + data, 0, 99))
"""


def test_the_smaller_native_module_gives_the_same_bits():
    if why_not("samd21"):
        pytest.skip(why_not("samd21"))
    with open_board("samd21") as opened:
        install(opened, ["_buffers"], yes=True)
        opened.soft_reset()
        for first, n in ((0, 0), (3, 64), (55, 56), (64, 119), (130, 256)):
            data = bytes(range(256))[:n]
            crc = bytes(255 ^ byte for byte in zlib.crc32(data).to_bytes(4, "little"))
            copied = bytes(range(first, first + 9))
            assert opened.exec(_DIGESTS.format(first=first, n=n)).splitlines() == [
                repr(hashlib.sha256(data).digest()),
                f"{crc!r} {copied!r} 40",
            ]
