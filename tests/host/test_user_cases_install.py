# SPDX-License-Identifier: MIT
"""Native modules, versions of files and installations, as people met them elsewhere."""

import dataclasses
import io

import pytest
import test_build

from acclimate import __version__, _loader
from acclimate_host import boards, cli
from acclimate_host.connect import merge, mpy, open_board, package, why_not
from acclimate_host.connect.check import check_package
from acclimate_host.connect.drive import install_drive
from acclimate_host.connect.install import install
from acclimate_host.errors import BoardError, Refused
from harness.errors import naming
from harness.runtimes import ARCHS

FOLDER = "/acclimate"
NATIVES = [
    (arch, name)
    for arch in ("x64", "armv6m", "armv7emsp", "xtensawin", "rv32imc")
    for name in package.natives(arch)
]


def needs_native(arch):
    if not package.natives(arch):
        pytest.skip(f"no native modules for {arch} are built")


@pytest.fixture
def desktop():
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    with open_board("desktop") as board:
        yield board


@pytest.mark.case("A1")
def test_old_bytecode_on_new_firmware_names_both_versions_and_the_command():
    with pytest.raises(Refused, check=naming("version 5", "version 6", "pip install -U")):
        mpy.check_fits(mpy.read_header(b"M\x05\x00\x1f"), mpy.MpyForm(6, 3, "armv6m"))


# ---- one release, whole files --------------------------------------------------------------


@pytest.mark.case("A8")
def test_every_shipped_file_has_the_release_and_keeps_its_lines():
    head = f'__import__("acclimate")._release("{__version__}", __name__)  # SPDX'.encode()
    for name in set(package.files()) - {"__init__"}:
        made = package.stamped(name)
        assert made.startswith(head), name
        assert made.count(b"\n") == merge.layout().merged(name).count("\n")
    assert b'__version__ = "%s"' % __version__.encode() in package.stamped("__init__")


@pytest.mark.case("A8")
def test_a_file_of_another_release_is_one_clear_error(runtime):
    install(runtime, ["_buffers"])
    other = package.compile_source(package.stamped("_buffers", "0.0.9"), "acclimate/_buffers.py")
    runtime.put_bytes(other, runtime.lib + FOLDER + "/_buffers.mpy")
    with pytest.raises(BoardError, check=naming("0.0.9")):
        runtime.exec("from acclimate import _buffers")


@pytest.mark.case("A8")
def test_sources_on_a_drive_carry_the_release_too(tmp_path, desktop, monkeypatch):
    monkeypatch.setattr(package, "circuitpython_compiler", lambda: None)
    (tmp_path / "boot_out.txt").write_text("Adafruit CircuitPython 10.0.0")
    install_drive(tmp_path, ["_sha256"])
    text = (tmp_path / "lib" / "acclimate" / "_sha256.py").read_bytes()
    assert text == package.stamped("_sha256")
    desktop.mkdir(desktop.lib + FOLDER)
    desktop.put_bytes(package.stamped("__init__"), desktop.lib + FOLDER + "/__init__.py")
    desktop.put_bytes(text, desktop.lib + FOLDER + "/_sha256.py")
    code = "from acclimate._sha256 import sha256\nprint(sha256(b'abc').hexdigest()[:8])"
    assert desktop.exec(code) == "ba7816bf\n"


def findings(board):
    return check_package(board, board.info())


@pytest.mark.case("A7")
def test_one_unreadable_file_never_hides_the_others(desktop, monkeypatch):
    folder = desktop.lib + FOLDER
    assert findings(desktop) == []
    install(desktop, ["svm", "loop", "store"])
    assert all(fine for fine, _ in findings(desktop))
    desktop.put_bytes(b"not bytecode at all", folder + "/loop.mpy")
    desktop.put_bytes(b"", folder + "/_svm_train.mpy")
    desktop.put_bytes(b"C\x06\x00\x1frest", folder + "/flash.mpy")
    desktop.put_bytes(desktop.get_bytes(folder + "/svm.mpy")[:-20], folder + "/svm.mpy")
    desktop.put_bytes(b"x = 1", folder + "/loop.py")
    desktop.put_bytes(b"", folder + "/teapot.mpy")
    desktop.rm(folder + "/_buffers.mpy")
    real = desktop.sha256

    def sha256(path):
        if path.endswith("_svm_solver.mpy"):
            raise BoardError("OSError: 5")
        return real(path)

    monkeypatch.setattr(desktop, "sha256", sha256)
    bad = "\n".join(text for fine, text in findings(desktop) if not fine)
    for wanted in (
        "loop.mpy: it: not a .mpy file",
        "_svm_train.mpy: it: not a .mpy file",
        "flash.mpy: it is for CircuitPython",
        f"svm.mpy: differs from that of {__version__}",
        "loop.py hides newer bytecode",
        "teapot.mpy: not of this release",
        "_svm_solver.mpy: cannot be read",
        "imported by what is: _buffers",
    ):
        assert wanted in bad
    assert len(bad.splitlines()) == 8


@pytest.mark.case("A7")
def test_a_damaged_first_file_is_found_without_importing_it(desktop):
    install(desktop, ["_sha256"])
    path = desktop.lib + FOLDER + "/__init__.mpy"
    desktop.put_bytes(b"", path)
    [(fine, text)] = findings(desktop)
    assert (
        not fine
        and "not a .mpy file" in text
        and text.endswith("run: acclimate install --board desktop")
    )
    other = package.stamped("__init__").replace(__version__.encode(), b"0.0.9")
    desktop.put_bytes(package.compile_source(other, "acclimate/__init__.py"), path)
    [(fine, text)] = findings(desktop)
    assert not fine and f"has acclimate 0.0.9, here is {__version__}" in text


# ---- native code ---------------------------------------------------------------------------


@pytest.mark.case("A4", "A9")
def test_each_board_gets_its_own_native_modules_without_being_told(runtime):
    needs_native(ARCHS[runtime.name])
    report = install(runtime, ["_buffers"])
    runtime.soft_reset()  # a small heap has room only while nothing else was done
    arch = ARCHS[runtime.name]
    assert report.arch == arch and report.natives == ("_codec",)
    name = package.SLIM["_codec"] if arch == "armv6m" else "_codec"  # the heap is small
    file = package.natives(arch)[name].read_bytes()
    assert runtime.get_bytes(runtime.lib + FOLDER + "/_codec.mpy") == file
    code = "from acclimate import _native\n_native.load('codec')\nprint(_native.reason('codec'))"
    assert runtime.exec(code) == "loaded\n"


@pytest.mark.case("A10")
def test_firmware_that_may_collect_native_code_is_named(desktop, monkeypatch):
    real = desktop.info()
    monkeypatch.setattr(desktop, "info", lambda: dataclasses.replace(real, version=(1, 23, 0)))
    report = install(desktop, ["_buffers"])
    assert any("1.23.0 may collect native code; 1.24 or newer" in n for n in report.notes)


@pytest.mark.case("A14")
def test_code_that_does_not_run_here_falls_back_with_one_notice(desktop):
    """As where a chip keeps its heap in memory that holds no code: import raises each time."""
    needs_native("x64")
    install(desktop, ["svm", "_buffers"])
    desktop.exec(
        "from acclimate import _native\n"
        "def refuse(*_): raise MemoryError('no executable memory')\n"
        "real = __import__\nimport builtins\n"
        "def limited(name, *rest):\n"
        "    return refuse() if name in ('_svm', '_codec') else real(name, *rest)\n"
        "builtins.__import__ = limited"
    )
    code = "from acclimate.svm import SVM\nm = SVM().fit([[0], [4]], [0, 1])\n"
    code += "from acclimate import _buffers\n"
    code += "print(_buffers.common_prefix(b'ab', 0, b'ac', 0, 2), m.predict([3]))"
    lines = desktop.exec(code).splitlines()
    assert lines == [
        "acclimate: _svm.mpy refused (import: MemoryError: no executable memory); "
        "pure Python is used",
        "1 1",
    ]


@pytest.mark.case("A14")
def test_the_list_of_boards_says_who_loads_native_code(capsys):
    known, errors = boards.load_all()
    assert not errors
    real = [board for board in known if board.kind == "board"]
    assert len(real) >= 8
    assert {board.native("micropython") for board in real} == {"yes", "custom build"}
    # a processor that CircuitPython has left has none of its runtimes
    assert {board.native("circuitpython") for board in real} == {"no", None}
    assert cli.main(["boards", "metro_m0_express"]) == 0
    assert "micropython: native modules: custom build" in capsys.readouterr().out


@pytest.mark.case("A15")
def test_without_native_code_nothing_is_printed_and_results_are_the_same(desktop):
    code = (
        "from acclimate.svm import SVM\nX = [[3, 7], [1, 2], [9, 1], [8, 8], [2, 9], [7, 3]]\n"
        "m = SVM(kernel='rbf', gamma=0.1, state='fixed', storage='int16')\n"
        "m.fit(X, [0, 0, 1, 1, 0, 1])\nprint([m.decision(row) for row in X], m.n_iter)"
    )
    answers = []
    for pure in (False, True):
        if pure:
            for name in [n for n in desktop.ls(desktop.lib + FOLDER) if n.startswith("_")]:
                desktop.rm(f"{desktop.lib}{FOLDER}/{name}")
        install(desktop, ["svm"], pure=pure)
        desktop.soft_reset()
        answers.append(desktop.exec(code))
    assert answers[0] == answers[1] and len(answers[0].splitlines()) == 1


@pytest.mark.slow
@pytest.mark.case("A16", "A17")
@pytest.mark.parametrize("arch, name", NATIVES, ids=[f"{a}-{n}" for a, n in NATIVES])
def test_every_cut_and_every_flipped_byte_of_every_module_is_refused(arch, name, monkeypatch):
    """The board's own check, here: the same code, and time for all bytes of all modules."""
    good = package.natives(arch)[name].read_bytes()
    entry = {}
    exec(package.manifest_source({name: good}), entry)
    wanted, content = entry["NATIVE"][name], [good]
    monkeypatch.setattr(_loader, "open", lambda *_: io.BytesIO(content[0]), raising=False)
    assert _loader._check("x", wanted) is None
    for size in range(len(good)):
        content[0] = good[:size]
        assert _loader._check("x", wanted) == f"{size} bytes, not {len(good)}"
    for at in range(len(good)):
        damaged = bytearray(good)
        damaged[at] ^= 1 << at % 8
        content[0] = bytes(damaged)
        assert _loader._check("x", wanted) == "its CRC-32 differs", at


@pytest.mark.case("A13")
@pytest.mark.parametrize("use", ["nobody_has_this((float)v)", "expf((float)v)", "(float)v / w"])
def test_what_cannot_be_linked_for_the_smallest_core_fails_the_build(tmp_path, use):
    """Not the import. Float products are linked there: see test_build, which runs them."""
    folder, out = tmp_path / "toy", tmp_path / "out"
    folder.mkdir()
    rule = package.repository() / "native_modules" / "native.mk"
    texts = {
        "Makefile": f"MODULE = _toy\nSRC = toy_mod.c toy.c\nLINK_RUNTIME = 1\ninclude {rule}\n",
        "toy_mod.c": test_build.WRAPPER,
        "toy.h": test_build.HEADER,
        "toy.c": '#include "toy.h"\nfloat nobody_has_this(float);\nfloat expf(float);\n'
        "int32_t toy_sum(const int8_t *v, uint32_t n) { return v[0] + (int32_t)n; }\n"
        "float toy_scale(int32_t v, uint32_t w) { return %s + (float)w; }\n" % use,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    with pytest.raises(AssertionError, match="nobody_has_this|LinkError|relocations"):
        test_build.build(folder, "armv6m", out)
    assert not list(out.rglob("_toy.mpy"))
