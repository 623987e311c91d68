# SPDX-License-Identifier: MIT
"""``acclimate bench``: what training and prediction take on a board, with native code and without.

In a clone ``acclimate bench NAME`` runs one of the measurements of bench/, which compare with
named baselines and write out/bench/NAME.json.
"""

import json
import subprocess
import sys

from acclimate_host.commands import add_board_arguments, open_chosen, progress, table
from acclimate_host.commands.showing import waiting
from acclimate_host.connect import emulator
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, Missing, did_you_mean
from acclimate_host.paths import repository

_ROWS, _FEATURES = 40, 8
_MEASURED = [(kernel, pure) for kernel in ("linear", "rbf") for pure in (False, True)]
_ON_BOARD = """
import gc
from acclimate import _native
if {pure}:
    _native.register("svm", None, "left out")
try:
    from qboard import ticks
except ImportError:
    from time import ticks_us as ticks
from acclimate.svm import SVM
X = [[(i * 37 + k * 11) % 101 + (i % 2) * 60 for k in range({features})] for i in range({rows})]
y = [i % 2 for i in range({rows})]
m = SVM(kernel={kernel!r}, C=1)
m.fit(X, y)
gc.collect()
a = ticks()
m.fit(X, y)
b = ticks()
m.predict(X[0])
c = ticks()
print([_native.load("svm") is not None, b - a & 0x3fffffff, c - b & 0x3fffffff])
"""


def add_arguments(parser):
    parser.add_argument("name", nargs="?", help="in a clone: a measurement of bench/, as svm")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_board_arguments(parser, needed=False)


def run(args):
    if args.name:
        return _of_the_clone(args.name)
    if not args.port and not args.board:
        args.board = "desktop"
    counted = args.board in emulator.COUNTED
    exact = {"icount": emulator.EXACT_SHIFT} if counted else {}
    with waiting("bench is at work"), open_chosen(args, **exact) as board:
        install(board, ["svm"], yes=True, progress=progress)
        rows = []
        for kernel, pure in _MEASURED:
            progress(f"measuring {kernel}", len(rows), len(_MEASURED))
            rows.append(_measured(board, kernel, pure))
        if counted:
            hz = int(board.exec("import qboard\nprint(qboard.HZ)"))
            rows = [_in_instructions(row, board, hz) for row in rows]
    unit = "instructions" if counted else "microseconds"
    if args.json:
        print(json.dumps({"board": board.name, "unit": unit, "rows": rows}, indent=1))
        return 0
    print(f"{board.name}: {_ROWS} rows of {_FEATURES} features, two classes; {unit}")
    heads = ("kernel", "arithmetic", "training", "one prediction")
    shown = ("kernel", "arithmetic", "train", "predict")
    table(
        [[f"{row[key]:,}" if key in shown[2:] else row[key] for key in shown] for row in rows],
        heads,
    )
    return 0


def _measured(board, kernel, pure):
    board.soft_reset()
    text = _ON_BOARD.format(pure=pure, rows=_ROWS, features=_FEATURES, kernel=kernel)
    native, train, predict = json.loads(
        board.exec(text, 600).replace("True", "true").replace("False", "false")
    )
    arithmetic = "native" if native else "pure Python"
    return {"kernel": kernel, "arithmetic": arithmetic, "train": train, "predict": predict}


def _in_instructions(row, board, hz):
    counted = {key: board.instructions(row[key], hz) for key in ("train", "predict")}
    return {**row, **counted}


def _of_the_clone(name):
    root = repository()
    if root is None:
        raise Missing(f"{name} is a measurement of a clone; here: acclimate bench --board NAME")
    files = (root / "bench").glob("*.py")
    known = sorted(path.stem for path in files if "\nif __name__" in path.read_text("utf-8"))
    if name not in known:
        near = did_you_mean(name, known)
        raise AcclimateError(f"no measurement {name}; there are: {', '.join(known)}{near}")
    (root / "out" / "bench").mkdir(parents=True, exist_ok=True)
    return subprocess.run([sys.executable, "-m", "bench." + name], cwd=root).returncode
