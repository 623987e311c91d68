# SPDX-License-Identifier: MIT
"""Train and use every kind of model on the C core with sanitizers; run by tools/sanitized.sh.

A wrong memory access or undefined arithmetic ends the process with a report.
usage: python sanitized_svm.py LIBRARY SEED
"""

import random
import sys
from array import array

from acclimate.svm import SVM
from acclimate.svm import model as svm_model
from acclimate_host.twin import svm as twin_svm

CODES = {"b": (-128, 127), "B": (0, 255), "h": (-32768, 32767), "f": (-1e3, 1e3)}


def samples(rng, code, rows, width):
    low, high = CODES[code]
    draw = rng.uniform if code == "f" else rng.randint
    return array(code, [draw(low, high) for _ in range(rows * width)])


def train(rng, kernel, code, state, classes):
    """Train one model on noise, which has the most support vectors, and predict every row."""
    rows, width = rng.randint(classes * 2, 40), rng.choice((1, 3, 4, 7, 64))
    X = samples(rng, code, rows, width)
    y = [i % classes for i in range(rows)]
    gram = rng.choice((None, False, True))
    model = SVM(kernel=kernel, state=state, max_iter=200, gram=gram, C=rng.choice((0.01, 1, 1e4)))
    try:
        model.fit(X, y)
    except ValueError as error:  # the only refusal there is for such data
        assert state == "fixed" and "too large for fixed point" in str(error), error
        return
    for row in range(rows):
        label = model.predict(X[row * width : (row + 1) * width])
        assert 0 <= label < classes


def main(library, seed):
    core = twin_svm.load(library)
    assert core is not None, f"{library} is not there"
    svm_model.use(core)
    rng = random.Random(seed)
    count = 0
    for kernel in ("linear", "poly", "rbf"):
        for code in CODES:
            for state in ("float",) if code == "f" or kernel != "linear" else ("float", "fixed"):
                for classes in (2, 3):
                    train(rng, kernel, code, state, classes)
                    count += 1
    print(f"{count} models, clean")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
