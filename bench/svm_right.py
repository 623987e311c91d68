# SPDX-License-Identifier: MIT
"""SVM: is what says "converged" right? Data sets x kernels x C against libsvm, both states.

A run is *false* when it says `converged` without a warning and either its labels differ from
libsvm's on more than 1 % of the test rows while decisions are off by more than 5 % of their
range, or its true KKT gap is above 0.02 (in double precision, from its coefficients). Labels and
accuracy are compared over the runs that converged without a warning. A run that warns is right
when it is not false otherwise. Rows are rounded to float32 first; libsvm gets the same rows, less
their means where the kernel does not see that, because its own kernel values are float32.
The advice that spans of features differ is
no warning here: it is about accuracy, and libsvm's is the same.

Which rows are trained on is drawn by a seed. The limits of the warnings were chosen on draws 0 to
2, and mended after 3 to 5; the figures are those of 6 to 8, which nobody had looked at then. What
was refused there is trained since (`--draw N`: of that one alone).
"""

import argparse
import sys
import warnings
from array import array

import numpy as np
from sklearn import datasets
from sklearn.svm import SVC

import acclimate_host.twin.svm  # noqa: F401  trains with the C core
from acclimate.svm import SVM
from acclimate.svm import parameters as P
from acclimate_host.paths import repository
from bench import common, svm_budget

TRAIN, TEST = 120, 200
DRAWS = (6, 7, 8)
COSTS = (0.1, 1.0, 10.0, 1000.0)
KERNELS = (
    ("linear", {}),
    ("rbf", {"gamma": None}),
    ("rbf", {"gamma": 0.1}),
    ("rbf", {"gamma": 2.0}),
    ("poly", {"degree": 2, "gamma": None, "coef0": 1.0}),
    ("poly", {"degree": 3, "gamma": None, "coef0": 0.0}),
)
MAX_ITER = 100_000
WIDE = 0.02  # a KKT gap from here on is false
TARGETS = [
    ("float.false_converged", "=", 0),
    ("fixed.false_converged", "=", 0),
    ("float.same_labels", ">=", 0.99),
    ("fixed.same_labels", ">=", 0.95),
    ("float.converged", ">=", 0.86),
    ("fixed.converged", ">=", 0.85),
    ("float.warned_though_right", "<=", 0.02),
    ("fixed.warned_though_right", "<=", 0.02),
    ("float.accuracy_minus_libsvm", ">=", -0.005),
    ("fixed.accuracy_minus_libsvm", ">=", -0.005),
    ("float.raised", "=", 0),
    ("fixed.raised", "=", 0),
    ("budget.worst_minus_random", ">=", -0.02),
]


def problems():
    """{name: (rows, labels)}: real, synthetic, far from 0, imbalanced, degenerate, huge."""
    out = {}
    for name in ("iris", "wine", "breast_cancer", "digits"):
        data = getattr(datasets, "load_" + name)()
        out[name] = data.data, data.target
    out["digits_3_8"] = _two(*out["digits"], 3, 8)
    out["iris_1_2"] = _two(*out["iris"], 1, 2)
    for name in ("wine", "breast_cancer"):
        x, y = out[name]
        out[name + "_scaled"] = (x - x.mean(0)) / x.std(0), y
    moons = datasets.make_moons(400, noise=0.2, random_state=1)
    out["moons"] = moons
    out["circles"] = datasets.make_circles(400, noise=0.1, factor=0.5, random_state=2)
    blobs = datasets.make_blobs(400, centers=3, n_features=4, cluster_std=3.0, random_state=3)
    out["blobs"] = blobs
    out["classification"] = datasets.make_classification(
        400, 10, n_informative=5, flip_y=0.1, random_state=4
    )
    for offset in (1e3, 1e4, 1e5, -1e4):
        out[f"moons+{offset:g}"] = moons[0] + offset, moons[1]
        out[f"blobs+{offset:g}"] = blobs[0] + offset, blobs[1]
    random = np.random.default_rng(5)
    out["bme280"] = _bme280(random)
    out["moons_x1000"] = moons[0] * 1000, moons[1]
    out["moons_/1000"] = moons[0] / 1000, moons[1]
    rare = datasets.make_classification(400, 6, weights=[0.93], flip_y=0.02, random_state=6)
    out["imbalanced"] = rare
    out["duplicates"] = np.round(moons[0] * 4), moons[1]
    out["constant_columns"] = np.hstack([moons[0], np.full((400, 3), 7.0)]), moons[1]
    out["wrong_labels"] = moons[0], np.where(random.random(400) < 0.15, 1 - moons[1], moons[1])
    out["counts"] = random.integers(0, 4096, (400, 3)), random.integers(0, 2, 400)
    out["counts"][1][:] = (out["counts"][0].sum(1) > 6100).astype(int)
    out["bytes"] = _bytes(random)
    out["one_column"] = moons[0][:, :1], moons[1]
    return out


def _two(x, y, a, b):
    kept = (y == a) | (y == b)
    return x[kept], (y[kept] == b).astype(int)


def _bme280(random):
    """Pascals, degrees and relative humidity; the label turns on all three."""
    x = np.stack(
        [
            101_325 + 300 * random.standard_normal(400),
            20 + 5 * random.standard_normal(400),
            50 + 12 * random.standard_normal(400),
        ],
        1,
    )
    z = (x - x.mean(0)) / x.std(0)
    return x, (z[:, 0] + 0.5 * z[:, 1] - z[:, 2] + 0.3 * random.standard_normal(400) > 0) * 1


def _bytes(random):
    x = np.clip(random.normal(140, 25, (400, 16)), 0, 255).round()
    return x, (x[:, :8].sum(1) > x[:, 8:].sum(1)).astype(int)


def split(x, y, draw=0):
    """Float32 rows for training and test, the same for every run of a draw."""
    order = np.random.default_rng(draw).permutation(len(x))
    x, y = np.asarray(x, np.float32)[order], np.asarray(y)[order]
    for label in set(y.tolist()) - set(y[:TRAIN].tolist()):
        at = int(np.argmax(y == label))
        x[[0, at]], y[[0, at]] = x[[at, 0]], y[[at, 0]]
    n = min(TRAIN, len(x) * 6 // 10)
    return x[:n], y[:n], x[n : n + TEST], y[n : n + TEST]


def one_run(state, kernel, options, cost, data, reference):
    """What became of one training; a dict, or None when it raised."""
    x, y, tests, truth = data
    right, values = reference
    # A budget of all rows keeps the coefficients of linear machines too; training is the same.
    machine = SVM(kernel, C=cost, state=state, max_iter=MAX_ITER, budget=len(x), **options)
    try:
        machine.fit(x.tolist(), y.tolist())
        found = [machine.decision(row) for row in tests.tolist()]
        labels = np.array([machine.predict(row) for row in tests.tolist()])
    except (ValueError, MemoryError, OverflowError) as error:
        return {"raised": str(error)}
    found = np.array([list(v) if isinstance(v, array) else v for v in found])
    off = np.abs(found - values).max() / max(np.abs(values).max(), 1e-12)
    warning = "; ".join(w for w in (machine.warning or "").split("; ") if "spans" not in w)
    majority = np.bincount(truth).max() / len(truth)
    same = float(np.mean(labels == right))
    return {
        "converged": bool(machine.converged),
        "warning": warning,
        "same": same,
        "off": float(off),
        "differs": bool(same < 0.99 and off > 0.05),
        "gap": float(machine.gap),
        "true_gap": true_gap(machine),
        "accuracy": float(np.mean(labels == truth)),
        "libsvm": float(np.mean(right == truth)),
        "useful": bool(np.mean(right == truth) > majority + 0.02),
    }


def true_gap(machine):
    """Largest KKT gap over the pairs, from the coefficients, in double precision."""
    model = machine._model
    rows = np.array(model.x, float).reshape(-1, model.d)
    cost = machine.C * (4.0**-model.shift if machine.kernel_name == "linear" else 1.0)
    gaps = []
    for pair in model.pairs:
        beta, kernel, most = _double(machine, pair, rows, cost)
        at = {row if row >= 0 else ~row: b for row, b in zip(pair.rows, beta, strict=True)}
        i, j = _of_pair(model, len(gaps))
        labels = np.frombuffer(machine.samples.labels, np.uint8)
        used = np.flatnonzero((labels == model.classes[i]) | (labels == model.classes[j]))
        sign = np.where(labels[used] == model.classes[i], 1.0, -1.0)
        own = np.array([at.get(row, 0.0) for row in used])
        left = sign - kernel(rows[used]) @ own
        edge = most * (1 - 1e-7)
        up = np.where(sign > 0, own < edge, own < 0)
        down = np.where(sign > 0, own > 0, own > -edge)
        gaps.append(left[up].max() - left[down].min() if up.any() and down.any() else 0.0)
    return float(max(gaps))


def _of_pair(model, number):
    k = len(model.classes)
    return [(i, j) for i in range(k) for j in range(i + 1, k)][number]


def _double(machine, pair, rows, cost):
    """(coefficients, function of rows to their kernel matrix, largest coefficient) of a pair."""
    model, par = machine._model, pair.par
    if model.fixed and par is None:  # a linear pair: what its training was given
        par = array("i", bytes(4 * P.PAR_COUNT))
        P.fill_fixed(par, model.d, 0, 0, cost, cost, 1e-3, 1)
    unit = 2.0 ** -par[P.SCALE] if model.fixed else 1.0
    beta = np.array(pair.beta, float) * unit
    most = par[P.C_POS] * unit if model.fixed else float(np.float32(cost))
    if machine.kernel_name == "linear":
        return beta, lambda x: x @ x.T, most
    if machine.kernel_name == "poly":
        gamma, coef0 = (par[P.GAMMA], par[P.COEF0]) if not model.fixed else (1.0, None)
        coef0 = par[P.COEF0] * 2.0 ** par[P.GAMMA] if coef0 is None else coef0
        return beta, lambda x: (gamma * (x @ x.T) + coef0) ** machine.degree, most
    gamma = par[P.GAMMA]
    if model.fixed:
        gamma = par[P.GAMMA] * 2.0 ** -par[P.GAMMA_SHIFT] * np.log(2)
    return beta, lambda x: np.exp(-gamma * _distances(x)), most


def _distances(x):
    square = (x * x).sum(1)
    return np.maximum(square[:, None] + square[None] - 2 * x @ x.T, 0)


def libsvm(kernel, options, cost, data):
    x, y, tests, _ = data
    gamma = options.get("gamma") or "scale"
    machine = SVC(
        kernel=kernel,
        C=cost,
        gamma=gamma,
        degree=options.get("degree", 3),
        coef0=options.get("coef0", 0.0),
        decision_function_shape="ovo",
        max_iter=2_000_000,
    )
    x, tests = x.astype(float), tests.astype(float)
    if gamma == "scale":
        machine.gamma = 1 / (x.shape[1] * x.var())
    if kernel != "poly":  # the same problem; libsvm's own kernel values are float32
        x, tests = x - x.mean(0), tests - x.mean(0)
    machine.fit(x, y)
    return machine.predict(tests), machine.decision_function(tests)


def summary(runs):
    """The figures of one state."""
    raised = [r for r in runs if "raised" in r]
    ended = [r for r in runs if "raised" not in r]
    converged = [r for r in ended if r["converged"]]
    silent = [r for r in converged if not r["warning"]]
    wide = [r for r in silent if r["true_gap"] > WIDE]
    false = [r for r in silent if r["differs"] or r["true_gap"] > WIDE]
    warned = [
        r
        for r in ended
        if r["warning"]
        and r["converged"]
        and r["same"] >= 0.99
        and r["off"] <= 0.05
        and r["true_gap"] <= WIDE
        and r["useful"]
    ]
    return {
        "runs": len(runs),
        "raised": len(raised),
        "converged": len(converged) / len(runs),
        "false_converged": len(false),
        "false": [r["name"] for r in false],
        "gap_above": len(wide),
        "same_labels": float(np.mean([r["same"] for r in silent])),
        "warned_though_right": len(warned) / len(runs),
        "warned": [(r["name"], r["warning"]) for r in warned],
        "accuracy_minus_libsvm": float(
            np.mean([r["accuracy"] for r in silent]) - np.mean([r["libsvm"] for r in silent])
        ),
        "errors": sorted({r["name"] + ": " + r["raised"] for r in raised}),
    }


def of_draw(draw):
    """{state: what became of each training} with one draw of training rows."""
    runs = {"float": [], "fixed": []}
    for name, (x, y) in problems().items():
        data = split(x, y, draw)
        for kernel, options in KERNELS:
            for cost in COSTS:
                reference = libsvm(kernel, options, cost, data)
                for state, found in runs.items():
                    run = one_run(state, kernel, options, cost, data, reference)
                    run["name"] = f"{name} {kernel} {options.get('gamma')} C={cost:g}, draw {draw}"
                    found.append(run)
        print(draw, name, file=sys.stderr, flush=True)
    return runs


def main():
    warnings.simplefilter("ignore")  # libsvm stopped at its own limit: its labels are taken
    parser = argparse.ArgumentParser()
    parser.add_argument("--draw", type=int, help="training rows of this draw alone")
    draw = parser.parse_args().draw
    found = [of_draw(k) for k in (DRAWS if draw is None else (draw,))]
    runs = {state: [run for part in found for run in part[state]] for state in found[0]}
    result = {state: summary(of_state) for state, of_state in runs.items()}
    if draw is None:
        result["budget"] = svm_budget.measure()
    result["runs"] = runs
    path = common.write("svm_right" if draw is None else f"svm_right_{draw}", result)
    missed = common.table("SVM against libsvm, and with a budget", result, TARGETS)
    print(f"written to {path.relative_to(repository())}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
