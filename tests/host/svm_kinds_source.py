# SPDX-License-Identifier: MIT
"""Make tests/device/svm_kinds_vectors.py: what scikit-learn answers on rows of eighths.

    python tests/host/svm_kinds_source.py

The raw values of the fixed state are the device package's own, of this CPython.
"""

import warnings
from pathlib import Path

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC, SVR, OneClassSVM

from acclimate.svm import SVM

PATH = Path(__file__).resolve().parents[1] / "device" / "svm_kinds_vectors.py"
OFFSETS = (20.0, 101_325.0)  # degrees, and pascals far from 0
KERNELS = (
    ("rbf", {"gamma": 0.0625}),
    ("linear", {}),
    ("poly", {"gamma": 0.125, "degree": 2, "coef0": 1.0}),
)


def rows(count, seed, spread=1.0):
    """Rows of multiples of 1/8, which every runtime's numbers hold."""
    made = np.random.default_rng(seed).normal(size=(count, 2)) * spread * [2, 4]
    return np.round(made * 8) / 8 + OFFSETS


def near(kernel, x):
    """Rows for a kernel that sees where they lie: near 0, but not around it."""
    x = x - OFFSETS
    return x + OFFSETS if kernel == "rbf" else x + [8, 16] if kernel == "linear" else x / 4


def targets(x):
    x = x - OFFSETS
    return np.round((900 + 2 * x[:, 0] - x[:, 1] + 3 * np.sin(x[:, 0])) * 8) / 8


def one_class():
    fine = rows(30, 1)
    tests = np.clip(rows(10, 2, 1.75), fine.min(0), fine.max(0))  # what a fixed store holds
    for kernel, options in KERNELS:
        x, t = near(kernel, fine), near(kernel, tests)
        # Closer to the optimum than a device stops: only its own distance is left.
        fitted = OneClassSVM(kernel=kernel, nu=0.25, tol=1e-6, **options).fit(x)
        own = SVM(kernel, kind="one-class", nu=0.25, state="fixed", **options).fit(x.tolist())
        yield {
            "kernel": kernel,
            "options": options,
            "x": x,
            "tests": t,
            "values": fitted.decision_function(t),
            "labels": fitted.predict(t),
            "fixed": raw(own, t),
        }


def regression():
    x = rows(24, 3)
    tests = np.clip(rows(8, 4), x.min(0), x.max(0))
    for kernel, options in KERNELS:
        a, t = near(kernel, x), near(kernel, tests)
        c = 0.125 if kernel == "linear" else 4.0  # what 14 bits of kernel value bear
        fitted = SVR(kernel=kernel, C=c, epsilon=0.25, tol=1e-4, **options).fit(a, targets(x))
        own = SVM(kernel, C=c, epsilon=0.25, kind="regression", state="fixed", **options)
        own.fit(a.tolist(), targets(x).tolist())
        yield {
            "kernel": kernel,
            "options": {"C": c, **options},
            "x": a,
            "y": targets(x),
            "tests": t,
            "values": fitted.predict(t),
            "fixed": raw(own, t),
        }


def probability():
    """Two classes with scikit-learn's calibration of a machine that is fitted already."""
    x = rows(30, 5)
    held, tests = (np.clip(rows(n, n), x.min(0), x.max(0)) for n in (40, 12))
    random = np.random.default_rng(8)

    def label(x):
        return ((x - OFFSETS) @ [2, -1] + random.normal(size=len(x)) * 3 > 1).astype(int)

    y, seen = label(x), label(held)
    fitted = SVC(kernel="rbf", gamma=0.0625).fit(x - OFFSETS, y)
    sure = CalibratedClassifierCV(FrozenEstimator(fitted), method="sigmoid", ensemble=False)
    sure.fit(held - OFFSETS, seen)
    return {
        "x": x,
        "y": y,
        "held": held,
        "seen": seen,
        "tests": tests,
        "values": sure.predict_proba(tests - OFFSETS)[:, 1],
    }


def raw(machine, tests):
    model = machine._model
    found = []
    for row in tests.tolist():
        row = row if machine.scaler is None else machine.scaler.row(row)
        found.append(model.values(row)[0])
    return found


def text():
    lines = [
        "# SPDX-License-Identifier: MIT",
        '"""Made by tests/host/svm_kinds_source.py: what scikit-learn answers."""',
        "",
        f"ONE_CLASS = {_plain(list(one_class()))}",
        f"REGRESSION = {_plain(list(regression()))}",
        f"PROBABILITY = {_plain(probability())}",
        "",
    ]
    return "\n".join(lines)


def _plain(value):
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (list, np.ndarray)):
        return [_plain(part) for part in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.6g}") if value % 0.125 else float(value)
    return value if isinstance(value, str) else int(value)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    PATH.write_text(text())
