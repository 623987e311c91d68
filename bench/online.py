# SPDX-License-Identifier: MIT
"""Learning each row once in fixed memory: accuracy of predict-then-learn, against river's.

Streams are river's own: what it ships and what it generates, the first ROWS of each. Opponents are
river's passive-aggressive classifier, with the same C, and its logistic regression, each behind
its StandardScaler and, where there are more than two labels, one against the rest.
"""

import itertools
import sys

from acclimate.svm.online import PassiveAggressive
from acclimate_host.paths import repository
from bench import common

ROWS = 3000
COSTS = (0.01, 0.1, 1.0)
TARGETS = [
    ("online.worst_minus_river", ">=", -0.01),
    ("online.mean_minus_river", ">=", 0.0),
    ("online.bytes", "<=", 1024),
]


def streams():
    """{name: rows of (features as a list, label)} of river."""
    from river import datasets
    from river.datasets import synth

    made = {
        "phishing": datasets.Phishing(),
        "segments": datasets.ImageSegments(),
        "sea": synth.SEA(seed=1, noise=0.1),
        "sea_drift": synth.ConceptDriftStream(
            synth.SEA(seed=1, variant=0),
            synth.SEA(seed=1, variant=3),
            position=2000,
            width=200,
            seed=1,
        ),
        "hyperplane": synth.Hyperplane(seed=1, n_features=8, n_drift_features=3, mag_change=0.001),
        "led": synth.LED(seed=1, noise_percentage=0.1),
        "waveform": synth.Waveform(seed=1),
        "agrawal": synth.Agrawal(seed=1, classification_function=2),
    }
    return {name: _rows(stream) for name, stream in made.items()}


def _rows(stream):
    rows, labels = [], {}
    for x, y in itertools.islice(stream, ROWS):
        rows.append((x, labels.setdefault(y, len(labels))))
    return rows


def ours(rows, cost):
    """Share of rows that are answered right before they are learned."""
    features = len(rows[0][0])
    machine = PassiveAggressive(features, max(2, max(y for _, y in rows) + 1), cost)
    right = 0
    for number, (x, y) in enumerate(rows):
        values = [float(v) for v in x.values()]
        right += number > 0 and machine.predict(values) == y
        machine.add(values, y)
    return right / len(rows)


def rivers(rows, model):
    right = 0
    for x, y in rows:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    return right / len(rows)


def opponents(cost, many):
    from river import linear_model, multiclass, preprocessing

    found = {
        "pa": linear_model.PAClassifier(C=cost, mode=1),
        "logistic": linear_model.LogisticRegression(),
    }
    for name, model in found.items():
        model = multiclass.OneVsRestClassifier(model) if many else model
        found[name] = preprocessing.StandardScaler() | model
    return found


def measure():
    cases = {}
    for name, rows in streams().items():
        many = max(y for _, y in rows) > 1
        case = {f"ours C={cost:g}": ours(rows, cost) for cost in COSTS}
        for cost in COSTS:
            case[f"pa C={cost:g}"] = rivers(rows, opponents(cost, many)["pa"])
        case["logistic"] = rivers(rows, opponents(1.0, many)["logistic"])
        cases[name] = case
        print(name, {key: round(value, 3) for key, value in case.items()}, flush=True)
    apart = [c["ours C=0.01"] - c["pa C=0.01"] for c in cases.values()]
    return {
        "cases": cases,
        "worst_minus_river": min(apart),
        "mean_minus_river": sum(apart) / len(apart),
        "bytes": PassiveAggressive.bytes_needed(20, 4),
    }


def main():
    try:
        result = {"online": measure()}
    except ImportError as error:
        print(f"left out: {error}: river comes with the bench requirements")
        return 2
    path = common.write("online", result)
    missed = common.table("Learning each row once, against river", result, TARGETS)
    print(f"written to {path.relative_to(repository())}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
