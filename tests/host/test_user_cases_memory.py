# SPDX-License-Identifier: MIT
"""Heaps in pieces, imports on small boards and telemetry, as people met them elsewhere."""

import re

import pytest
from net_vectors_mlp import PROGRAM, WEIGHTS

from acclimate_host.connect import merge, open_board, why_not
from acclimate_host.connect.install import install

KB = 1024

# Fill the heap to the end, then give back every other block: enough bytes, in small pieces. The
# first blocks stay: they may lie beside what was free before.
_PIECES = """
import gc
gc.collect()
_hold = []
try:
    while True: _hold.append(bytearray(3000))
except MemoryError: pass
for _i in range({left} // 3000): _hold[20 + 2 * _i] = None
gc.collect()
"""


@pytest.fixture(params=["desktop", "nrf52840"])
def board(request):
    if why_not(request.param):
        pytest.skip(why_not(request.param))
    options = {"heap_bytes": 400 * KB} if request.param == "desktop" else {}
    with open_board(request.param, **options) as opened:
        yield opened


def numbers(text):
    form = r"needs (\d+) bytes in one block; (\d+) are free, the largest block has (\d+)"
    found = re.search(form, text)
    assert found, text
    return tuple(map(int, found.groups()))


def outcome(board, code):
    """Return the text of the error that the code raises."""
    lines = "\n ".join(code.splitlines())
    code = f"try:\n {lines}\n print('no error')\nexcept (MemoryError, ValueError) as e: print(e)"
    return board.exec(code).strip()


@pytest.mark.slow
@pytest.mark.case("B1")
def test_a_heap_in_pieces_is_an_error_with_needed_free_and_largest(board):
    install(board, ["_buffers", "svm"])
    board.exec("from acclimate import _buffers as heap, svm, _svm_train, _svm_train as svm_data")
    board.exec(_PIECES.format(left=20 * KB))
    need, free, largest = numbers(outcome(board, "heap.block(5000, 'arena')"))
    assert need == 5000 and free > 5000 and 2000 <= largest < 5000
    assert "arena: needs" in outcome(board, "heap.block(5000, 'arena')")
    answer = board.exec("b = bytearray(%d)\nprint(len(b))" % (largest - 64))
    assert int(answer) == largest - 64  # what is called the largest block can be had


@pytest.mark.case("J9")
def test_a_model_larger_than_the_largest_block_says_both(board):
    install(board, ["net"])
    board.exec(f"from acclimate.net import Net, bytes_needed\np = bytearray({PROGRAM!r})")
    board.exec(
        f"w = {WEIGHTS!r}\nfrom acclimate import _buffers as heap\nfrom acclimate import _native",
    )
    board.exec("Net(p, w).predict(bytes(16))")  # it works, and loads what it needs
    board.exec("import struct\np[8:12] = struct.pack('<I', 40000)")
    board.exec(_PIECES.format(left=30 * KB))
    need, _, largest = numbers(outcome(board, "Net(p, w, check=False)"))
    assert need == 40000 and largest < 6000


@pytest.mark.case("B2")
def test_training_that_does_not_fit_leaves_the_model_as_it_was(board):
    install(board, ["svm"])
    board.exec(
        "from acclimate.svm import SVM\nfrom acclimate import _buffers as heap\n"
        "m = SVM(kernel='rbf', gamma=1.0).fit([[0], [4], [1], [5]], [0, 1, 0, 1])\n"
        "before = m.decision([2])\nX = bytearray(1200)\ny = bytearray([0, 1] * 600)",
    )
    board.exec(_PIECES.format(left=24 * KB))
    text = outcome(board, "m.fit(X, y)")
    need, _, largest = numbers(text)
    assert need > largest and ("solver state" in text or "samples" in text)
    assert board.exec("print(m.decision([2]) == before, m.n_iter)").startswith("True")


@pytest.mark.case("B1")
def test_the_matrix_gives_way_where_the_heap_has_no_block_for_it():
    """Enough bytes for it, none in one piece: training goes on without."""
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    with open_board("desktop", heap_bytes=400 * KB) as board:
        install(board, ["svm"])
        board.exec(
            "from acclimate.svm import SVM\nX = bytearray([0, 9] * 60)\n"
            "y = bytearray([0, 1] * 60)\nSVM(storage='uint8').fit(X[:4], y[:4])",
        )
        board.exec(
            "import gc\n_hold = []\nwhile gc.mem_free() > 100000: _hold.append(bytearray(9000))\n"
            "for i in range(0, len(_hold), 3): _hold[i] = None\ngc.collect()",
        )
        code = "m = SVM(storage='uint8').fit(X, y)\nprint(m.predict(bytes([8])), m.converged)"
        assert board.exec(code) == "1 True\n"


@pytest.mark.case("B3")
def test_no_error_of_ours_shows_a_raw_format_code():
    """An interpreter may print %u where a size should be: our texts hold the numbers."""
    for path in merge.modules().values():
        text = path.read_text()
        assert "%u" not in text and "%zu" not in text, path.name
        for raised in re.findall(r"raise MemoryError\(([^)]*)", text):
            assert "%" in raised, (path.name, raised)
