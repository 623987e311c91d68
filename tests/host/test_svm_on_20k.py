# SPDX-License-Identifier: MIT
"""What learns on the emulated board with 20 KB of RAM, a Cortex-M3 of the STM32F103 class."""

import pytest

from acclimate_host.connect import open_board, package, why_not
from harness.runtimes import DEVICE_TESTS, must_run

HEAP_BYTES = 12_000  # at its prompt
ONLINE = """
import gc
gc.collect()
free = gc.mem_free()
from acclimate.svm import PassiveAggressive
m = PassiveAggressive(20, classes=4)
gc.collect()
print(free, free - gc.mem_free())
for k in range(40):
    m.add([k % 5 + j for j in range(20)], k % 4)
gc.collect()
before = gc.mem_free()
for k in range(40):
    m.add([k % 5 + j for j in range(20)], k % 4)
gc.collect()
print(before - gc.mem_free())
"""
SMALL = """
from acclimate import _native
_native.load("svm_linear")
X = bytearray(30 * 16)
ARENA = bytearray(460)
from acclimate.svm import SVM
for k in range(480):
    X[k] = (k * 37 + k // 16 * 11) % 16 + 12 * (k % 16 == 15 and k // 16 & 1)
y = bytes(k & 1 for k in range(30))
m = SVM(small=True, arena=ARENA)
m.fit(X, y)
print(_native.reason("svm_linear"), m.converged, m.evaluate(X, y))
m.save("m.svm")
print(SVM.load("m.svm").decision(X[:16]) == m.decision(X[:16]))
"""


@pytest.fixture(scope="module")
def board():
    reason = why_not("stm32f103")
    if reason:
        (pytest.fail if must_run() else pytest.skip)(f"stm32f103: {reason}")
    with open_board("stm32f103") as board:
        board.mkdir(f"{board.lib}/acclimate")
        files = package.build("armv6m", ["svm.small"])
        for name in ("_manifest.mpy", "_svm_linear.mpy"):
            board.put_bytes(files[name], f"{board.lib}/acclimate/{name}")
        yield board


def test_each_row_once_in_memory_that_stays(board):
    board.soft_reset()
    heap, taken, grown = map(int, board.exec(ONLINE).split())
    assert heap >= HEAP_BYTES and taken <= 1600 and grown <= 0


def test_the_small_machine_trains_with_its_native_solver_and_keeps_its_file(board):
    board.soft_reset()
    assert board.exec(SMALL).split() == ["loaded", "True", "1.0", "True"]


@pytest.mark.parametrize("name", ["test_svm_online", "test_svm_online_refused", "test_reservoir"])
def test_device_tests_that_fit(board, name):
    board.soft_reset()
    files = [DEVICE_TESTS / f"{part}.py" for part in (name, "raised")]
    for path in files:
        board.put_bytes(package.compile_file(path, path.name), on_board(board, path.stem))
    board.soft_reset()
    names = board.exec(
        f"import gc\nimport {name} as _test\nprint(*[n for n in dir(_test) if n[:5] == 'test_'])"
    ).split()
    for function in names:
        board.exec(f"gc.collect()\n_test.{function}()")
    assert names
    for path in files:
        board.rm(on_board(board, path.stem))


def on_board(board, name):
    return f"{board.root.rstrip('/')}/{name}.mpy"
