# SPDX-License-Identifier: MIT
"""Learning within a budget: four streams, clean and with 15 % wrong labels.

`add` keeps `budget` samples; the opponent trains anew on a random sample of the budget's size.
"""

import numpy as np
from sklearn import datasets

from acclimate.svm import SVM

LENGTH, TEST = 400, 400
SEEDS = 10  # of 16 cases the worst is told: with three its chance alone is some 3 points
BUDGETS = (20, 80)
OPTIONS = {"kernel": "rbf", "gamma": 1.0, "C": 10.0, "state": "float"}


def streams(seed):
    """{name: (rows, labels)} of LENGTH + TEST samples in random order."""
    n = LENGTH + TEST
    blobs = datasets.make_blobs(n, centers=4, cluster_std=1.5, random_state=7)
    made = {
        "moons": datasets.make_moons(n, noise=0.3, random_state=seed),
        "circles": datasets.make_circles(n, noise=0.15, factor=0.4, random_state=seed),
        "blobs": (blobs[0] / 4, blobs[1]),
        "classification": datasets.make_classification(n, 4, flip_y=0, random_state=seed),
    }
    out = {}
    for name, (x, y) in made.items():
        order = np.random.default_rng(seed).permutation(n)
        out[name] = np.float32(x[order]), y[order]
    return out


def wrong(y, share, seed):
    """Labels of which `share` are another class."""
    random = np.random.default_rng(seed + 100)
    classes = int(y.max()) + 1
    moved = random.random(len(y)) < share
    return np.where(moved, (y + random.integers(1, classes, len(y))) % classes, y)


def accuracy(machine, x, y):
    return float(np.mean([machine.predict(row) == label for row, label in zip(x, y, strict=True)]))


def measure():
    """{worst_minus_random, cases}: accuracy after the stream minus that of random samples."""
    cases = {}
    for noise in (0.0, 0.15):
        for budget in BUDGETS:
            for seed in range(SEEDS):
                for name, (x, y) in streams(seed).items():
                    labels = wrong(y[:LENGTH], noise, seed)
                    rows, tests = x[:LENGTH].tolist(), x[LENGTH:].tolist()
                    kept = SVM(budget=budget, **OPTIONS)
                    for row, label in zip(rows, labels.tolist(), strict=True):
                        kept.add(row, label)
                    random = np.random.default_rng(seed + 7)
                    drawn = []
                    for _ in range(5):
                        some = random.choice(LENGTH, budget, replace=False)
                        machine = SVM(**OPTIONS).fit(
                            [rows[k] for k in some], labels[some].tolist()
                        )
                        drawn.append(accuracy(machine, tests, y[LENGTH:]))
                    case = cases.setdefault(f"{name} noise={noise} budget={budget}", [])
                    case.append((accuracy(kept, tests, y[LENGTH:]), float(np.mean(drawn))))
    means = {name: np.mean(found, 0).tolist() for name, found in cases.items()}
    return {
        "worst_minus_random": min(a - b for a, b in means.values()),
        "mean_minus_random": float(np.mean([a - b for a, b in means.values()])),
        "cases": {name: {"add": a, "random": b} for name, (a, b) in means.items()},
    }
