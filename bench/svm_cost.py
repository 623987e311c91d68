# SPDX-License-Identifier: MIT
"""What a prediction of an SVM costs on the emulated M4F: base, pairs, vectors, features.

The numbers of `acclimate_host.model.choose_svm` are these, for rows of float32 and of bytes.
"""

import ast
import itertools
import sys

import numpy as np

from acclimate.svm import SVM
from acclimate_host.connect import open_board, package
from acclimate_host.model.choose_svm import COSTS, work
from acclimate_host.paths import repository
from bench import common
from bench.svm_board import SHIFT, instructions

SHAPES = ((10, 4), (40, 4), (24, 24))  # vectors, features
_PROGRAM = """
import gc
import qboard
from array import array
from acclimate.svm import SVM
T = qboard.ticks
def one(m, row):
    t = T()
    m.predict(row)
    t = T() - t
    e = T()
    e = T() - e
    return t - e
out = []
for k in range({count}):
    m = SVM.load('/m%d.svm' % k)
    row = array({codes!r}[k], [0] * {features!r}[k])
    one(m, row)
    gc.collect()
    out.append(one(m, row))
print(out)
"""


def machines():
    """[(kernel, item type, machine)] of two and four classes."""
    random = np.random.default_rng(1)
    for storage in ("float32", "int8"):
        for kernel in ("linear", "rbf", "poly"):
            for (vectors, d), classes in itertools.product(SHAPES, (2, 4)):
                rows = random.integers(-60, 60, (vectors, d))
                x = rows / 64 if storage == "float32" else rows
                options = {"gamma": 2.0 if storage == "float32" else 0.001, "degree": 3}
                options = {"state": "float", "storage": storage, "C": 10.0, **options}
                machine = SVM(kernel, max_iter=2000, **options)
                machine.fit(x.tolist(), [k % classes for k in range(vectors)])
                yield kernel, storage, machine


def measure(folder):
    found = list(machines())
    board = open_board("nrf52840", icount=SHIFT)
    try:
        board.mkdir(board.lib + "/acclimate")
        for path, data in package.build("armv7emsp", only=["svm"]).items():
            board.put_bytes(data, f"{board.lib}/acclimate/{path}")
        for k, case in enumerate(found):
            path = folder / "m.svm"
            case[2].save(str(path))
            board.put_bytes(path.read_bytes(), f"/m{k}.svm")
        board.soft_reset()
        text = _PROGRAM.format(
            count=len(found),
            codes=["f" if case[1] == "float32" else "b" for case in found],
            features=[case[2]._model.d for case in found],
        )
        ticks = ast.literal_eval(board.exec(text, 600).splitlines()[-1])
        counts = [instructions(board, t) for t in ticks]
        return [
            (case[0], case[1], *work(case[2]), count)
            for case, count in zip(found, counts, strict=True)
        ]
    finally:
        board.close()


def fitted(cases):
    """{item type: {kernel: [base, each pair, each coefficient, each multiplication]}}."""
    table = {}
    for storage in ("float32", "int8"):
        for kernel in ("linear", "rbf", "poly"):
            rows = [c for c in cases if c[0] == kernel and c[1] == storage]
            a = np.array([[1, *c[2:5]] for c in rows], float)
            found = np.linalg.lstsq(a, np.array([c[5] for c in rows], float), rcond=None)[0]
            table.setdefault(storage, {})[kernel] = [round(float(v), 1) for v in found]
    return table


def main():
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        cases = measure(Path(folder))
    table = fitted(cases)
    worst = 0.0
    for kernel, storage, *parts, count in cases:
        said = float(np.dot(COSTS["m4f"][storage][kernel], [1, *parts]))
        worst = max(worst, abs(said - count) / count)
        print(f"{storage} {kernel} {parts}: {count:,} instructions, {said:,.0f} said")
    print(table)
    result = {"cost": {"table": table, "cases": cases, "largest_error": worst}}
    path = common.write("svm_cost", result)
    targets = [("cost.largest_error", "<=", 0.02)]
    missed = common.table("Instructions of a prediction, as the host says", result, targets)
    print(f"written to {path.relative_to(repository())}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
