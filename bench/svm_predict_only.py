# SPDX-License-Identifier: MIT
"""Heap beyond boot of a machine that only answers (`acclimate install --only predict`).

Import, machine and one answer, from files: 60 rows of 4 features; `linear` tells two labels apart,
`rbf` three by all 60 rows (800 bytes of file), `scaled` brings its features to one scale first.
"""

import tempfile
from pathlib import Path

from acclimate.svm import SVM
from acclimate_host.connect import open_board, package
from acclimate_host.connect.install import install

ROWS = [[i * 7 % 50, i * 11 % 30, i % 7, i * i % 13] for i in range(60)]
TWO = [1 if 2 * r[0] + r[1] > 60 else 0 for r in ROWS]
THREE = [0 if r[0] < 15 else 1 if r[0] + r[1] < 45 else 2 for r in ROWS]
STATES = {"nrf52840": "float", "samd21": "fixed"}
_COUNT = """
import gc
gc.collect()
free = gc.mem_free()
from acclimate.svm import SVM
m = SVM.load("m.svm")
m.predict({})
gc.collect()
print(free - gc.mem_free())
"""


def machines(state):
    """Return {name: machine} in one state."""
    return {
        "linear": SVM(state=state).fit(ROWS, TWO),
        "rbf": SVM("rbf", gamma=0.01, C=10, state=state).fit(ROWS, THREE),
        "scaled": SVM("rbf", C=10, scale=True, state=state).fit(ROWS, THREE),
    }


def taken(board, machine):
    """Return the bytes of heap that one machine takes on a board where it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.svm")
        machine.save(str(path))
        board.put_bytes(path.read_bytes(), board.root.rstrip("/") + "/m.svm")
    board.soft_reset()
    return int(board.exec(_COUNT.format(ROWS[3])))


def measure():
    """Return {what: {board: number}}: heap (``ram`` is of ``rbf``), files and their bytes."""
    found = {"ram": {}, "linear": {}, "scaled": {}, "files": {}, "bytes": {}}
    for name, state in STATES.items():
        with open_board(name) as board:
            found["files"][name] = len(install(board, package.PREDICT).copied)
            found["bytes"][name] = sum(board.ls(board.lib + "/acclimate").values())
            for key, machine in machines(state).items():
                found["ram" if key == "rbf" else key][name] = taken(board, machine)
    return found


if __name__ == "__main__":
    import json

    from bench.common import write

    result = measure()
    print(json.dumps(result, indent=1))
    print(write("svm_predict_only", result))
