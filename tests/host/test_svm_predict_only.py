# SPDX-License-Identifier: MIT
"""`acclimate install --only predict`: three files that answer as the whole SVM does."""

import ast
import io
import zlib

import numpy as np
import pytest

from acclimate.svm import SVM
from acclimate_host.connect import open_board, package, why_not
from acclimate_host.connect.check import check_package
from acclimate_host.connect.install import install
from acclimate_host.errors import BoardError
from acclimate_host.paths import repository
from bench.svm_predict_only import taken
from harness.runtimes import must_run

ROWS = [[i * 7 % 50, i * 11 % 30, i % 7, i * i % 13] for i in range(48)]
TWO = [1 if 2 * r[0] + r[1] > 60 else 0 for r in ROWS]
THREE = [3 if r[0] < 15 else 7 if r[0] + r[1] < 45 else 9 for r in ROWS]
REAL = [[v / 8 - 1 for v in r] for r in ROWS]
SIGNED = [[v - 20 for v in r] for r in ROWS]
FAR = [[v / 4 + 5000 for v in r] for r in ROWS]
# Of heap: linear, RBF of 3 labels, the same with rows that are scaled first.
MOST = {"nrf52840": (7_168, 8_192, 8_192), "samd21": (4_096, 7_168)}

# Everything that is asked prints one line: answers, or the error.
PROGRAM = """
from array import array
from acclimate.svm import SVM
def told(call, *args):
    try:
        found = call(*args)
        print(repr([found if isinstance(found, (int, float)) else list(found)]))
    except Exception as error:
        print(repr(type(error).__name__ + ": " + str(error)))
for name in {names}:
    m = SVM.load(name + ".svm")
    for row in {rows}:
        told(m.predict, row)
        told(m.decision, row)
        told(m.predict, array("f", row))
        told(m.decision, row, array("f", bytes(24)))
        told(m.predict, tuple(row))
        if min(row) >= 0 and max(row) < 128 and row == [int(v) for v in row]:
            told(m.predict, bytearray([int(v) for v in row]))
            told(m.predict, array("b", [int(v) for v in row]))
            told(m.predict, array("h", [int(v) for v in row]))
    told(m.predict_many, {rows}, bytearray({count}))
    told(m.predict_many, array("f", [v for r in {rows} for v in r]), bytearray({count}))
    for bad in ([1, 2], [1, 2, 3, 4, 5], [1, 2, 3, 1e30], [1, 2, 3, -3e38], [1, 2.25, 3, 40000],
                [70000, -70000, 1000000, -5], [1, 2, 3, 2 << 28], [-(2 << 28), 2, 3, 4]):
        told(m.predict, bad)
        told(m.decision, bad)
    told(m.predict, [1, 2, 3, float("nan")])
    told(m.predict, [1, float("inf"), 3, 4])
    told(m.predict_many, {rows}[:2], bytearray(3))
    told(m.predict_many, bytearray(12), bytearray(2))
    told(m.predict_many, bytearray(7), bytearray(2))
    told(m.decision, {rows}[0], array("f"))
"""
FILES = """
from acclimate.svm import SVM
import io
with open("{name}.svm", "rb") as file:
    data = file.read()
def told(data):
    try:
        return SVM.load(io.BytesIO(data)).predict([1, 2, 3, 4])
    except Exception as error:
        return type(error).__name__ + ": " + str(error).split(">", 1)[-1]
for k in range(0, len(data), {step}):
    print(repr(told(data[:k])))
    other = bytearray(data)
    other[k] ^= 1
    print(repr(told(other)))
"""


def machines(fixed):
    """{name: (machine, rows that it is asked)} for the state of a board."""
    state = "fixed" if fixed else "float"
    made = {
        "bytes": (SVM(state=state).fit(ROWS, TWO), ROWS),
        "signed": (SVM(state=state, C=0.1).fit(SIGNED, THREE), SIGNED),
        "shorts": (SVM(state=state, storage="int16", C=0.01).fit(ROWS, THREE), ROWS),
        "rbf": (SVM("rbf", gamma=0.01, C=10, state=state).fit(ROWS, THREE), ROWS),
        "poly": (SVM("poly", gamma=0.01, degree=2, coef0=1, state=state).fit(ROWS, TWO), ROWS),
        "real": (SVM("rbf", gamma=0.1, C=10, state=state).fit(REAL, THREE), REAL),
        "scaled": (SVM("rbf", C=10, scale=True, state=state).fit(ROWS, THREE), ROWS),
        "scaled_real": (SVM(scale=True, state=state).fit(REAL, TWO), REAL),
        "far": (SVM("rbf", gamma=0.1, C=10, state=state).fit(FAR, TWO), FAR),
    }
    if not fixed:
        made["floats"] = SVM(state=state).fit(REAL, THREE), REAL
    return made


def board_of(name):
    reason = why_not(name)
    if reason:
        (pytest.fail if must_run() else pytest.skip)(f"{name}: {reason}")
    return open_board(name)


def put(board, found, folder):
    for name, (machine, _) in found.items():
        machine.save(str(folder / name))
        board.put_bytes((folder / name).read_bytes(), f"{board.root.rstrip('/')}/{name}.svm")


def asked(board, found):
    """What a board answers: {machine: lines}."""
    said = {}
    for name, (_, rows) in found.items():
        rows = rows[:3] + rows[20:22]
        code = PROGRAM.format(names=[name], rows=rows, count=len(rows))
        said[name] = board.exec(code).split("\n")
    return said


@pytest.mark.parametrize(
    "name", ["desktop", *(pytest.param(n, marks=pytest.mark.slow) for n in ("nrf52840", "esp32"))]
)
def test_answers_and_errors_are_those_of_the_whole_svm(name, tmp_path):
    with board_of(name) as board:
        found = machines(False)
        put(board, found, tmp_path)
        report = install(board, package.PREDICT)
        assert len(report.copied) == 3 and report.natives == ("_svm_predict",)
        board.soft_reset()
        alone = asked(board, found)
        damaged = board.exec(FILES.format(name="bytes", step=1))
        install(board, ["svm"], yes=True)
        board.soft_reset()
        assert asked(board, found) == alone
        whole = board.exec(FILES.format(name="bytes", step=1))
    assert damaged == whole and "CRC-32" in whole and len(whole.splitlines()) > 100


NUMBERS = """
import io
from acclimate.svm import SVM
with open("{name}.svm", "rb") as file:
    data = file.read()
def told(at, value):
    other = bytearray(data)
    other[at : at + 4] = value
    other[-4:] = crc32(memoryview(other)[:-4]).to_bytes(4, "little")
    try:
        return SVM.load(io.BytesIO(other)).predict({row})
    except Exception as error:
        return type(error).__name__
for at in (20, 24, 28):  # C, gamma, coef0
    for bits in {bits}:
        print(at, repr(told(at, bits.to_bytes(4, "little"))))
"""
CRC32 = """
def crc32(data, crc=0xFFFFFFFF):
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
"""
# 0, -0, the smallest and largest numbers, 1, infinity, NaN, and what is below zero.
BITS = [0, 1 << 31, 1, 0x7F7FFFFF, 0x3F800000, 0x7F800000, 0x7F800001, 0xBF800000, 0xFF800000]


@pytest.mark.parametrize(
    "name", ["desktop", "nrf52840", "samd21", pytest.param("esp32", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("key", ["bytes", "rbf"])
def test_impossible_settings_are_refused_as_by_the_whole_svm(name, key, tmp_path):
    """The checksum is right: somebody made such a file."""
    found = machines(name == "samd21")[key][0]
    code = CRC32 + NUMBERS.format(name=key, bits=BITS, row=ROWS[0])
    with board_of(name) as board:
        put(board, {key: (found, ROWS)}, tmp_path)
        install(board, package.PREDICT)
        board.soft_reset()
        alone = board.exec(code).splitlines()
    data = bytearray((tmp_path / key).read_bytes())
    for at in (20, 24, 28):
        for bits in BITS:
            other = data[:-4]
            other[at : at + 4] = bits.to_bytes(4, "little")
            other += zlib.crc32(other).to_bytes(4, "little")
            try:
                want = repr(SVM.load(io.BytesIO(other)).predict(ROWS[0]))
            except ValueError:
                want = "'ValueError'"
            assert alone.pop(0) == f"{at} {want}", (at, hex(bits))
    assert not alone


@pytest.mark.slow
def test_without_fpu_answers_are_those_of_the_fixed_state(tmp_path):
    with board_of("samd21") as board:
        found = machines(True)
        install(board, package.PREDICT)
        for name in ("bytes", "signed", "shorts", "rbf", "poly", "scaled", "far"):
            machine, rows = found[name]
            board.soft_reset()  # 22 KB of heap are for one
            put(board, {name: (machine, rows)}, tmp_path)
            said = [line for line in asked(board, {name: (machine, rows)})[name] if line]
            told = [ast.literal_eval(line) for line in said]
            own = SVM.load(str(tmp_path / name))
            first = rows[0]
            assert told[0] == told[2] == [own.predict(first)], name
            values = own.decision(first)
            np.testing.assert_allclose(np.ravel(told[1]), values, rtol=2e-6)
            every = [own.predict(row) for row in rows[:3] + rows[20:22]]
            assert [told.count([every])] == [2]  # predict_many of a list, of an array
            errors = [line for line in told if isinstance(line, str)]
            assert any("expected 4 features, got 2" in text for text in errors)
            assert name == "far" or any("finite" in text for text in errors)
            assert all(text.startswith("ValueError: ") for text in errors), errors
            board.rm(f"/{name}.svm")


def test_machines_of_the_other_state_and_of_other_kinds_are_refused(tmp_path):
    kinds = {"kind": (SVM("rbf", kind="one-class").fit(ROWS), ROWS)}
    kinds["labels"] = SVM().fit(ROWS, ["a" if v else "b" for v in TWO]), ROWS
    kinds["fixed"] = SVM("rbf", state="fixed").fit(ROWS, TWO), ROWS
    with board_of("nrf52840") as board:
        put(board, kinds, tmp_path)
        install(board, package.PREDICT)
        for name in kinds:
            with pytest.raises(BoardError, match=f"{name}.svm: expected a machine that predicts"):
                board.exec(f"from acclimate.svm import SVM\nSVM.load('{name}.svm')")
        for code in ("SVM()", "SVM('rbf', C=1)"):
            with pytest.raises(BoardError, match="only predicting is installed"):
                board.exec(f"from acclimate.svm import SVM\n{code}")


def test_a_damaged_native_module_is_refused_and_doctor_names_it(tmp_path):
    with board_of("nrf52840") as board:
        install(board, package.PREDICT)
        assert all(fine for fine, _ in check_package(board, board.info()))
        path = board.lib + "/acclimate/_svm_predict.mpy"
        data = bytearray(board.get_bytes(path))
        data[-9] ^= 4
        board.put_bytes(bytes(data), path)
        put(board, {"x": machines(False)["rbf"]}, tmp_path)
        with pytest.raises(BoardError, match="_svm_predict.mpy differs"):
            board.exec("from acclimate.svm import SVM\nSVM.load('x.svm')")
        [text] = [text for fine, text in check_package(board, board.info()) if not fine]
        assert "_svm_predict.mpy: differs" in text
        board.rm(path)
        bad = [text for fine, text in check_package(board, board.info()) if not fine]
        assert any("__init__" in text for text in bad)


def test_one_install_over_the_other_leaves_one_whole_package():
    with board_of("desktop") as board:
        install(board)
        report = install(board, package.PREDICT)
        assert {"__init__.mpy", "net.mpy", "loop.mpy"} <= set(report.removed)
        assert len(board.ls(board.lib + "/acclimate")) == 3
        assert all(fine for fine, _ in check_package(board, board.info()))
        report = install(board, ["svm"])
        assert set(report.removed) == {"_svm_predict.mpy", "_svm_slow.mpy"}
        assert all(fine for fine, _ in check_package(board, board.info()))
        board.exec("from acclimate.svm import SVM\nSVM().fit([[0], [4]], [0, 1])")


def test_rooms_may_come_beside_and_mixtures_by_hand_are_named():
    with board_of("desktop") as board:
        install(board, package.PREDICT)
        assert not install(board, ["features"]).removed
        assert all(fine for fine, _ in check_package(board, board.info()))
        for name, data in package.build("x64", ["svm"]).items():
            if name != "svm.mpy":
                board.put_bytes(data, f"{board.lib}/acclimate/{name}")
        bad = [text for fine, text in check_package(board, board.info()) if not fine]
        assert any("_svm_train.mpy: needs more" in text for text in bad), bad
        data = package.build("x64", ["svm"])["svm.mpy"]
        board.put_bytes(data, f"{board.lib}/acclimate/svm.mpy")
        bad = [text for fine, text in check_package(board, board.info()) if not fine]
        assert any("_svm_predict.mpy: of no use" in text for text in bad), bad


def _published(name):
    """The heap that docs/svm.md says: linear, RBF of 3 labels, the same with scaled rows."""
    page = (repository() / "docs" / "svm.md").read_text(encoding="utf-8")
    table = page.partition("| Machine | nRF52840 |")[2].partition("\n\n")[0]
    column = 2 if name == "nrf52840" else 3
    cells = [line.split("|")[column] for line in table.splitlines()[2:]]
    return [int(cell.replace(",", "")) for cell in cells]


@pytest.mark.parametrize("name", MOST)
def test_import_and_machine_take_little_heap(name):
    """No more than is published, which is within the limits."""
    found = machines(name == "samd21")
    with board_of(name) as board:
        install(board, package.PREDICT)
        for key, said, most in zip(
            ("bytes", "rbf", "scaled"), _published(name), MOST[name], strict=False
        ):
            assert taken(board, found[key][0]) <= said <= most, key
