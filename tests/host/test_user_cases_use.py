# SPDX-License-Identifier: MIT
"""Runtimes, examples, long trainings and serial lines, as people met them elsewhere."""

import ast
import re
import sys
import types
from array import array
from pathlib import Path

import numpy as np
import pytest
from net_vectors_mlp import INPUTS, LABELS, PROGRAM, WEIGHTS

from acclimate.flash import FileFlash, open_flash
from acclimate.net import Net
from acclimate.svm import SVM
from acclimate.svm import kernels as _svm_kernel
from acclimate.svm import ulab as _ulab
from acclimate_host.commands import doctor
from acclimate_host.connect import install, merge, open_board, why_not
from acclimate_host.figures import tomllib
from acclimate_host.paths import built, device_package, repository
from harness.device_file import DeviceTestFile
from harness.runtimes import DEVICE_TESTS
from tools import house

HERE = Path(__file__).parent


# ---- what differs between the runtimes -----------------------------------------------------


def odd_operations(path):
    """Return what a device file does to arrays beyond the common subset."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            if node.slice.step is not None or isinstance(node.ctx, ast.Del):
                found.append(f"{path.name}:{node.lineno} {ast.unparse(node)}")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in (
                "tobytes",
                "frombytes",
                "fromlist",
                "tolist",
                "byteswap",
                "buffer_info",
                "cast",
            ):
                found.append(f"{path.name}:{node.lineno} {ast.unparse(node)[:60]}")
    return found


@pytest.mark.case("K5")
def test_only_operations_on_arrays_that_both_runtimes_have_are_used(tmp_path):
    """tests/device/test_array_subset.py runs them everywhere."""
    odd = [line for path in device_package().rglob("*.py") for line in odd_operations(path)]
    # CPython and the desktop binary alone have cast, and are asked for it first.
    assert [line for line in odd if ".cast(" not in line] == []
    for path in device_package().rglob("*.py"):
        if ".cast(" in path.read_text():
            assert 'hasattr(view, "cast")' in path.read_text(), path
    (tmp_path / "x.py").write_text("del a[1:2]\nb = a[::2]\na.tobytes()\n")
    assert len(odd_operations(tmp_path / "x.py")) == 3
    file = DeviceTestFile(DEVICE_TESTS / "test_array_subset.py")
    assert file.functions and not file.options["RUNTIMES"] and not file.options["NOT_ON"]


@pytest.mark.case("K7")
def test_no_mount_point_is_assumed(tmp_path):
    for path in merge.modules().values():
        assert '"/sd' not in path.read_text() and "'/sd" not in path.read_text(), path.name
    folder = tmp_path / "media" / "card0"
    folder.mkdir(parents=True)
    flash = FileFlash(str(folder / "pages"), 8192)
    flash.program(0, b"1234")
    flash.close()
    assert open_flash(str(folder / "pages")).size == 8192


class FakeUlab:
    """numpy under the names and with the 4-byte floats that ulab has on boards."""

    float = np.float32
    calls = 0

    @classmethod
    def frombuffer(cls, data, *, dtype, count, offset):
        cls.calls += 1
        return np.frombuffer(data, dtype, count, offset)

    dot = staticmethod(np.dot)


@pytest.fixture
def ulab(monkeypatch):
    module = types.ModuleType("ulab")
    module.numpy = FakeUlab
    monkeypatch.setitem(sys.modules, "ulab", module)
    FakeUlab.calls = 0
    return module


def task():
    draw = np.random.default_rng(3)
    X = draw.normal(size=(40, 24)).astype(np.float32)
    return X.tolist(), (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int).tolist()


@pytest.mark.case("K10")
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_ulab_is_used_where_it_is_and_changes_no_answer(kernel, ulab, monkeypatch):
    from acclimate.svm import model as svm_model
    from acclimate.svm import solver as _svm_py
    from acclimate.svm import train

    for module in (svm_model, train):  # each has the name, whoever imported it first
        monkeypatch.setattr(module, "core_for", lambda fixed: _svm_py)
    X, y = task()
    options = {"kernel": kernel, "storage": "float32", "state": "float"}
    without = SVM(**options).fit(X, y)
    monkeypatch.setattr(_svm_kernel, "_by_ulab", _ulab.load())
    FakeUlab.calls = 0
    with_it = SVM(**options).fit(X, y)
    assert FakeUlab.calls > 1000
    assert [with_it.predict(row) for row in X] == [without.predict(row) for row in X]
    for row in X:
        assert with_it.decision(row) == pytest.approx(without.decision(row), abs=2e-3)
    used = FakeUlab.calls
    whole = SVM(kernel=kernel, storage="int8", state="float")
    whole.fit([[int(9 * v) for v in row] for row in X], y)
    assert FakeUlab.calls == used  # sums of integers stay exact


@pytest.mark.case("K10")
@pytest.mark.parametrize("missing", ["frombuffer", "dot", "float"])
def test_another_ulab_costs_nothing_but_speed(missing, ulab, monkeypatch):
    assert _ulab.load() is not None
    monkeypatch.delattr(FakeUlab, missing)
    assert _ulab.load() is None


@pytest.mark.case("K10")
def test_a_ulab_with_other_floats_or_none_at_all_is_not_used(ulab, monkeypatch):
    monkeypatch.setattr(FakeUlab, "float", np.float64)
    assert _ulab.load() is None
    monkeypatch.setitem(sys.modules, "ulab", None)
    assert _ulab.load() is None
    assert _svm_kernel.dot(array("f", [1, 2]), 0, array("f", [3, 4]), 0, 2) == 11


# ---- long trainings ------------------------------------------------------------------------


def lines_of(work):
    """Return how many lines of Python a call runs through."""
    lines = []

    def trace(frame, event, argument):
        lines.append(event)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines.count("line")


@pytest.mark.case("J12")
def test_no_piece_of_work_with_six_thousand_rows_looks_at_all_and_it_can_be_left():
    draw = np.random.default_rng(1)
    X = draw.integers(0, 200, (6000, 2)).astype(np.uint8)
    y = (X.astype(int).sum(axis=1) > 200).astype(np.uint8)
    m = SVM(kernel="linear", storage="uint8", max_iter=300)
    m.fit([[0, 0], [200, 200]], [0, 1])
    before = m.decision([90, 90])
    steps = m.fit_steps(bytearray(X.tobytes()), bytearray(y.tobytes()))
    pieces = [lines_of(lambda: next(steps)) for _ in range(60)]
    steps.close()
    assert max(pieces) < 6000
    assert m.predict([0, 0]) in (0, 1) and isinstance(m.decision([90, 90]), float), before


@pytest.mark.case("J12")
def test_training_of_a_network_shows_a_sign_of_life_after_each_layer():
    net = Net(bytearray(PROGRAM), WEIGHTS)
    net.set_rate(0.02)
    samples = list(zip(INPUTS, LABELS, strict=True))
    each = sum(1 for _ in net.train(samples, budget=1))
    assert each > 5 * len(samples)
    steps = net.train(samples, budget=1)
    next(steps)
    steps.close()
    assert net.predict(INPUTS[0]) in range(3)  # left in the middle, it still predicts


# ---- names and examples --------------------------------------------------------------------


@pytest.mark.case("J8")
def test_a_public_name_is_not_dropped_without_a_release_in_between():
    """tests/public_names.toml is what was released; see its head."""
    known = tomllib.loads((HERE.parent / "public_names.toml").read_text())
    there = house.public_names(device_package())
    gone = [f"{m}.{n}" for m, names in known.items() for n in names if n not in there.get(m, ())]
    assert gone == [], "keep the old name for one release, with a warning"
    assert known == there, "a new name needs a line there"


@pytest.mark.case("J8")
def test_every_example_is_run_by_a_test():
    texts = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    examples = list((repository() / "examples").glob("*.py"))
    assert examples
    for path in examples:
        whole = path.stem.replace("_device", "")  # the computer's side runs the board's
        named = (f'"{path.name}"', f'("{path.stem}"', f'("{whole}"')
        assert any(name in texts for name in named), path.name


# ---- what an import takes ------------------------------------------------------------------


def published():
    """Return {module: bytes} of the table in docs/install.md."""
    text = (repository() / "docs" / "install.md").read_text()
    part = text.partition("| import | bytes of heap |")[2].partition("\n\n")[0]
    rows = [line.split("|") for line in part.splitlines() if line.startswith("| `")]
    return {row[1].split("`")[1]: int(row[2].replace(",", "")) for row in rows}


_COST = """
import gc
gc.collect()
gc.collect()
a = gc.mem_alloc()
import acclimate.{name}
gc.collect()
print(gc.mem_alloc() - a, gc.mem_free())
"""
SMALL = ("features", "reservoir", "store.live_model", "store.save_policy", "drift", "loop")


@pytest.mark.case("B6")
def test_an_import_takes_no_more_than_is_published_on_the_32_kb_board():
    if why_not("samd21"):
        pytest.skip(why_not("samd21"))
    table = published()
    assert set(table) >= {*SMALL, "svm.small", "net", "store"}
    with open_board("samd21") as board:
        install.install(board, SMALL, pure=True, yes=True)
        board.soft_reset()
        cost = board.exec(
            "import gc\ngc.collect()\na = gc.mem_alloc()\nimport acclimate\n"
            "gc.collect()\nprint(gc.mem_alloc() - a)"
        )
        assert int(cost) < 900  # the package itself imports nothing
        for name in SMALL:
            board.soft_reset()
            cost = int(board.exec(_COST.format(name=name.replace(".", "_"))).split()[0])
            assert cost <= table[name], (name, cost)


def test_a_store_from_files_takes_no_more_than_is_published_on_the_32_kb_board():
    if why_not("samd21"):
        pytest.skip(why_not("samd21"))
    count = _COST.replace("import acclimate.{name}", "from acclimate.store import Store")
    with open_board("samd21") as board:
        install.install(board, ["store"], yes=True)
        board.soft_reset()
        assert int(board.exec(count).split()[0]) <= published()["store"] <= 14336


def test_training_and_a_frozen_store_take_no_more_than_is_published_on_the_32_kb_board():
    elf = built("firmware", "samd21-capsules", "firmware.elf")
    if why_not("samd21") or not elf.exists():
        pytest.skip(why_not("samd21") or f"no firmware at {elf}")
    page = (repository() / "docs" / "install.md").read_text()
    most = {
        name: int(re.search(re.escape(name) + r"[^|]*\| ([\d,]+) \|", page)[1].replace(",", ""))
        for name in ("which trains", "acclimate.svm import SVM`", "acclimate.store import Store`")
    }
    count = _COST.replace("import acclimate.{name}", "{name}")
    with open_board("samd21") as board:
        install.install(board, ["svm.small"], yes=True)
        codes = ("import acclimate.svm_small", "from acclimate.svm import SVM")
        for name, code in zip(most, codes, strict=False):
            board.soft_reset()
            assert int(board.exec(count.format(name=code)).split()[0]) <= most[name], name
    with open_board("samd21", elf=elf) as board:
        taken = int(board.exec(count.format(name="from acclimate.store import Store")).split()[0])
        assert taken <= most["acclimate.store import Store`"] <= 2048
    assert most["which trains"] <= most["acclimate.svm import SVM`"] <= 9216


@pytest.mark.case("B7")
def test_predicting_leaves_eight_kilobytes_of_the_32_kb_board():
    if why_not("samd21"):
        pytest.skip(why_not("samd21"))
    with open_board("samd21") as board:
        install.install(board, ["svm.small"], yes=True)
        board.soft_reset()
        free = board.exec(
            "import gc\nfrom acclimate.svm import SVM\nm = SVM(small=True)\n"
            "X = bytearray((0, 1, 2, 7, 8, 9))\nm.fit(X, bytes((3, 3, 3, 5, 5, 5)))\n"
            "print(m.predict(bytearray((8,))))\ngc.collect()\nprint(gc.mem_free())",
        ).split()
        assert free[0] == "5" and int(free[1]) >= 8192


# ---- serial lines --------------------------------------------------------------------------


class Lines:
    """The control lines of a port."""

    cts, dsr = True, False

    def __init__(self, fails=False):
        self.history, self.fails, self.dtr, self.rts = [], fails, True, True

    def __setattr__(self, name, value):
        if name in ("dtr", "rts") and "rts" in self.__dict__:
            if self.fails:
                raise OSError("not a terminal")
            self.history.append((name, value))
        super().__setattr__(name, value)


def board_with(lines):
    serial = types.SimpleNamespace(line=lines)
    link = types.SimpleNamespace(serial=serial)
    return types.SimpleNamespace(
        link=link, emulated=False, name="/dev/ttyACM0", exec=lambda code: ""
    )


@pytest.mark.case("G8")
def test_doctor_toggles_the_control_lines_and_reports_them():
    lines = Lines()
    [finding] = doctor._line_state(board_with(lines))
    assert finding.state == "ok" and "CTS True, DSR False; DTR True, RTS True" in finding.text
    assert [change for change in lines.history if not change[1]]  # released
    assert lines.history[-2:] == [("rts", True), ("dtr", True)] or lines.dtr
    [finding] = doctor._line_state(board_with(Lines(fails=True)))
    assert finding.text == "/dev/ttyACM0 has no control lines"
