# SPDX-License-Identifier: MIT
"""The files of the device package on a board: several modules are one, with the same names."""

import ast
import re

import pytest

from acclimate_host import paths
from acclimate_host.connect import merge, package
from acclimate_host.connect.room import littlefs_blocks
from acclimate_host.errors import Refused
from harness.errors import naming

TOGETHER, APART, ROOMY = (merge.layout(arch) for arch in (None, "armv6m", "xtensawin"))


@pytest.fixture
def room(tmp_path, monkeypatch):
    """Make a package of two modules of a room: `make(one, two)` gives the text of their file."""

    def make(one, two, together=("room.one", "room.two")):
        (tmp_path / "room").mkdir(exist_ok=True)
        files = {"__init__": "", "room/__init__": "", "room/one": one, "room/two": two}
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text("# head\n" + text)
        monkeypatch.setattr(merge, "device_package", lambda: tmp_path)
        for cached in (merge.modules, merge._tree, merge._constants):
            cached.cache_clear()
        return merge.Layout({"room": ("room", *together)} if together else {})

    yield make
    monkeypatch.undo()
    for cached in (merge.modules, merge._tree, merge._constants):
        cached.cache_clear()


# What an SVM that only predicts has in place of the whole one: in a layout of its own.
ANSWERING = {"svm.predictor", "svm.loader", "svm.answers"}


@pytest.mark.parametrize("layout", [TOGETHER, APART, ROOMY], ids=["together", "apart", "roomy"])
def test_every_module_is_in_one_file_and_every_file_compiles(layout):
    listed = [module for modules in layout.units.values() for module in modules]
    assert sorted(listed) == sorted(merge.modules().keys() - ANSWERING)
    for unit in layout.units:
        compile(layout.merged(unit), unit, "exec")


def test_no_file_on_a_board_imports_a_module_of_a_room():
    for layout in (TOGETHER, APART, ROOMY):
        for unit in layout.units:
            for node in ast.walk(ast.parse(layout.merged(unit))):
                if isinstance(node, ast.ImportFrom) and merge.of_package(node.module):
                    assert node.module.count(".") <= 1, (unit, node.module)


def test_imports_within_a_file_go_and_names_meet(room):
    one = "def double(x):\n    return 2 * x\n"
    two = "from acclimate.room.one import double as twice\n\n"
    two += "def four(x):\n    return twice(twice(x))\n"
    found = {}
    exec(room(one, two).merged("room"), found)
    assert found["four"](3) == 12


def test_one_name_for_two_things_is_two_names(room):
    one = "_LIMIT = 3\n\ndef low(x):\n    return x < _LIMIT\n"
    two = "_LIMIT = 5\n\ndef high(x, _y=_LIMIT):\n    return x > _LIMIT and x > _y\n"
    found = {}
    exec(room(one, two).merged("room"), found)
    assert found["low"](2) and not found["low"](4) and found["high"](6) and not found["high"](4)


@pytest.mark.parametrize("together", [("room.one", "room.two"), ()])
def test_constants_are_numbers_where_they_are_used(room, monkeypatch, together):
    monkeypatch.setattr(merge, "_CONSTANTS", ("room.one",))
    one = "LOW, HIGH = range(-1, 1)\nTEXT = 'three'\n\n\ndef low():\n    return LOW\n"
    two = "from acclimate.room import one as P\nfrom acclimate.room.one import LOW as least\n"
    two += "\n\ndef f(x):\n    return 5 - least, x[P.HIGH], P.LOW ** 2\n"
    layout = room(one, two, together)
    text = layout.merged("room" if together else "room_two")
    assert "LOW" not in text and "HIGH" not in text
    found = {}
    exec(text, found)  # apart, it needs nothing of the other file
    assert found["f"]("x") == (6, "x", 1)
    exec(layout.merged("room" if together else "room_one"), found)
    assert found["low"]() == -1 and found["TEXT"] == "three" and "LOW" not in found


def test_no_board_looks_for_names_of_annotations():
    for unit in TOGETHER.units:
        assert "circuitpython_typing" not in TOGETHER.merged(unit)


def test_the_last_module_keeps_its_names(room):
    layout = room("def run():\n    return 1\n", "def run():\n    return 2\n")
    found = {}
    exec(layout.merged("room"), found)
    assert found["run"]() == 2 and found["run_one"]() == 1


def test_a_module_used_as_an_object_is_found_in_its_file(room):
    two = "from acclimate.room import one\n\ndef use():\n    return one.value()\n"
    found = {}
    exec(room("def value():\n    return 7\n", two).merged("room"), found)
    assert found["use"]() == 7


def test_a_variable_that_would_hide_a_name_is_refused(room):
    two = (
        "from acclimate.room import one\n\ndef use():\n    value = one.value()\n    return value\n"
    )
    with pytest.raises(Refused, check=naming("room.two", "room.one.value")):
        room("def value():\n    return 7\n", two).merged("room")


def test_a_name_that_a_module_does_not_define_is_refused(room):
    two = "from acclimate.room.one import other\n"
    with pytest.raises(Refused, check=naming("room.two", "other", "room.one")):
        room("value = 1\n", two).merged("room")


def test_a_face_lists_only_what_is_in_other_files():
    faces = [node for node in ast.parse(TOGETHER.merged("svm")).body if merge._is_face(node)]
    names = ast.literal_eval(faces[0].value)
    assert names == {"PassiveAggressive": "acclimate._svm_online"}


def test_a_program_imports_from_the_files():
    text = "from acclimate.store.journal import Journal\nfrom acclimate.svm import SVM\n"
    assert TOGETHER.for_board(text).splitlines() == [
        "from acclimate.store import Journal",
        "from acclimate.svm import SVM",
    ]
    assert APART.for_board(text).splitlines() == [
        "from acclimate.store import Journal",
        "from acclimate.svm_machine import SVM",
    ]


def test_what_micropython_has_built_in_is_not_looked_for_in_files():
    text = "from array import array\nfrom binascii import crc32\nimport os\n"
    told = "from {} import array\nfrom ubinascii import crc32\nimport os\n"
    assert merge.for_micropython(text, "svm") == told.format("acclimate")
    assert merge.for_micropython(text) == told.format("uarray")
    assert merge.for_micropython("x = 1\n", "__init__").endswith("from uarray import array\n")


def test_no_board_keeps_the_name_const():
    for layout in (TOGETHER, APART):
        texts = {unit: layout.merged(unit) for unit in layout.units}
        assert sum("import const" in text for text in texts.values()) > 5
        for unit, text in texts.items():
            told = merge.for_micropython(text, unit)
            nodes = ast.walk(ast.parse(told))
            uses = [node for node in nodes if getattr(node, "id", "") == "const"]
            # What is not all that one name is given would be called on the board.
            folded = re.findall(r"^\w+ = const\(", told, re.MULTILINE)
            assert "import const" not in told and len(folded) == len(uses), unit
            assert told.count("\n") - text.count("\n") == (unit == "__init__")


def test_a_room_that_is_one_file_looks_for_no_names():
    alone, found = TOGETHER.merged("flash"), {}
    assert "_NAMES" not in alone and "_face(" not in alone and "_face(" in APART.merged("flash")
    exec(alone, {"__name__": "flash"}, found)
    assert {"FileFlash", "open_flash"} <= set(found) and "__getattr__" not in found


@pytest.mark.parametrize("arch", ["armv7emsp", "xtensawin"])
def test_a_native_module_of_an_extra_comes_with_the_extra_alone(arch):
    if not package.natives(arch):
        pytest.skip(f"no native modules are built for {arch}")
    assert "_svm_fit.mpy" not in package.build(arch, ["svm"])
    assert "_svm_fit.mpy" in package.build(arch, ["svm", "svm.plain"])


def test_sha_256_in_python_stays_out_where_firmware_and_a_native_module_have_it():
    if not package.natives("armv7emsp"):
        pytest.skip("no native modules are built for armv7emsp")

    def has_it(*only, arch="armv7emsp", **how):
        return "_sha256.mpy" in package.build(arch, [*only], **how)

    assert not has_it("store")
    assert has_it("store", has_sha256=False) and has_it("store", has_crc32=False)
    assert has_it("store", pure=True) and has_it("store", without=("_codec",))
    assert has_it("store", "_sha256") and has_it("store", arch="armv6m")


def test_the_default_set_keeps_within_what_an_nrf52840_has():
    if not package.natives("armv7emsp"):
        pytest.skip("no native modules are built for armv7emsp")
    from acclimate_host.connect.room import ROLES

    files = package.build("armv7emsp", list(ROLES), without=package.natives_left_out())
    blocks = sum(littlefs_blocks(len(data), 4096) for data in files.values()) + 6
    assert len(files) <= 24 and blocks * 4096 <= 229376, (len(files), blocks)


@pytest.mark.parametrize("room", ["store", "pull"])
def test_an_esp32_loads_one_driver_and_has_them_all(room):
    files, _ = package.closure([room], arch="xtensawin")
    assert {"store", "flash", "flash_esp32", "flash_file"} <= set(files)
    assert ROOMY.units["flash"] == ("flash",) and "_pull_more" not in ROOMY.units
    assert ROOMY.units["store"] == TOGETHER.units["store"]
    assert merge.layout("rv32imc") is ROOMY and merge.layout("armv7emsp") is TOGETHER
    alone, _ = package.closure(["store"], arch="armv6m")  # 32 KB: who wants a driver names it
    assert "flash_esp32" not in alone


def test_where_the_heap_is_small_no_code_only_prints():
    for name in ("features", "reservoir", "drift", "loop"):
        small, large = (merge.layout(arch).merged(name) for arch in ("armv6m", "armv7emsp"))
        assert "__repr__" in large and "__repr__" not in small
        kept = large.count("def ") - large.count("def __repr__")
        assert small.count("def ") == kept and small.count("\n") == large.count("\n")
        compile(small, name, "exec")
    assert "__repr__" in merge.layout("armv6m").merged("svm_machine")


def test_frozen_numbers_are_finite_in_float32():
    for path in paths.device_package().rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, float):
                assert abs(node.value) < 3.4028235e38, f"{path.name}, line {node.lineno}"


def test_what_only_prints_is_left_out_where_the_heap_is_small():
    def text(layout, name):
        unit = layout.unit_of[name]
        return layout.merged(unit, [name])

    for name in ("store.core", "reservoir"):
        assert "__repr__" in text(TOGETHER, name) and "__repr__" in text(ROOMY, name)
        assert "__repr__" not in text(APART, name)
        assert "__repr__" not in text(merge.layout(merge.FROZEN), name)
