# SPDX-License-Identifier: MIT
"""How often is each acceptance rule right? `make bench NAME=acceptance`.

The rules are the device's own (acclimate.acceptance, integers), on a reservoir of at most 64 rows
of the user, half of what there is. What counts as right is the same for all rules: the model is
kept that is more accurate on the user's rows that share no sample with the reservoir's; when both
are equally accurate, either answer is right. Each update is met twice: by the user, and by one who
meets some of the labels only. Weights and limits for a data set are fitted on the other sets;
temperatures and the prior on two people that no model learned from.
"""

import concurrent.futures
import os
import sys
from functools import partial

import numpy as np

from acclimate import acceptance as rules
from acclimate.reservoir import Reservoir
from bench import acceptance_board
from bench.acceptance_data import SETS
from bench.acceptance_fit import fitted_limits, fitted_weights
from bench.acceptance_models import KINDS, updates_of
from bench.common import table, write

CAPACITY = 64
JUDGED_MIN = 10  # windows of a user of few labels: fewer tell nothing
SEEDS = (1, 2, 3)
_CONFIDENCE = (16, 0, 0, 0, 0)
ROWS = [
    ("sets", ">=", 3),
    ("updates", ">=", 400),
    ("right.label_free", ">=", 0.76),
    ("worst.label_free", ">=", 0.71),
    ("right.label_free_few", ">=", 0.72),
    ("worst.label_free_few", ">=", 0.68),
    ("right.labels_5", ">=", 0.80),
    ("right.labels_10", ">=", 0.82),
    ("right.labels_10_few", None, None),
    ("right.shipped", None, None),
    ("right.shipped_few", None, None),
    ("right.untold", None, None),
    ("right.untold_few", None, None),
    ("right.dcg", None, None),
    ("right.dcg_as_printed", None, None),
    ("right.ndcg_fitted", None, None),
    ("right.confidence_only", None, None),
    ("right.confidence_only_few", None, None),
    ("right.spread_only", None, None),
    ("right.prior_only", None, None),
    ("right.plain_labels_5", None, None),
    ("right.plain_labels_10", None, None),
    ("right.labels_all", None, None),
    ("right.always", None, None),
    ("right.never", None, None),
    ("instructions.m4f.offer", None, None),
    ("instructions.m0.offer", None, None),
    ("instructions.m4f.decide", "<=", 3_200_000),  # 50 ms at 64 MHz, one cycle each
    ("instructions.m0.decide", "<=", 2_400_000),  # 50 ms at 48 MHz
]


def observe(update, data, seed, judged_min=1):
    """Return what the rules see of one update, and what is true of it, as a dictionary.

    None where too few windows are left to tell which model is better.
    """
    sample = Reservoir(min(CAPACITY, len(update.rows) // 2), 2, seed=seed)
    for i, logits in enumerate(update.old):
        answer = rules.confidence(logits.tolist(), data.classes, update.old_temperature)
        sample.offer(bytes((i & 255, i >> 8)), answer >> 8, answer & 255)
    n = sample.count
    places = [sample.rows[2 * k] | sample.rows[2 * k + 1] << 8 for k in range(n)]
    answers = [
        rules.confidence(update.new[i].tolist(), data.classes, update.new_temperature)
        for i in places
    ]
    seen = (
        bytes(sample.predictions[:n]),
        bytes(a >> 8 for a in answers),
        bytes(sample.confidences[:n]),
        bytes(a & 255 for a in answers),
    )
    old, new = seen[:2]
    asked = bytearray(CAPACITY)
    differ = rules.disagreements(old, new, n, asked)
    order = np.random.default_rng(seed).permutation(list(asked[:differ])).astype(int)
    judged = ~data.touches(update.rows[places])[update.rows]
    if judged.sum() < judged_min:
        return None
    before, after = (
        (m[judged].argmax(1) == update.truth[judged]).mean() for m in (update.old, update.new)
    )
    return {
        "set": data.name,
        "classes": data.classes,
        "user": update.user,
        "kind": update.kind,
        "n": n,
        "prior": update.prior,
        "temperatures": (update.old_temperature, update.new_temperature),
        "seen": seen,
        "dcg": rules.dcg(old, new, seen[2], n),
        "ndcg": rules.ndcg(old, new, seen[2], n),
        "labels": [(int(old[k]), int(new[k]), int(update.truth[places[k]])) for k in order],
        "before": before,
        "after": after,
        "judged": int(judged.sum()),
        "few": False,
    }


def is_right(row, accept):
    change = row["after"] - row["before"]
    return change == 0 or (change > 0) == accept


def counted(row, labels):
    """Return (wins, losses) among the first labels that are asked where the models differ."""
    asked = row["labels"][:labels]
    return (
        sum(new == truth for _, new, truth in asked),
        sum(old == truth for old, _, truth in asked),
    )


def evidence(row, weights, labels=0):
    told = {"classes": row["classes"], "temperatures": row["temperatures"]}
    wins, losses = counted(row, labels)
    return rules.evidence(*row["seen"], row["n"], weights, row["prior"], wins, losses, **told)


def is_most(row):
    """Tell whether the device takes the user for one of most labels."""
    old, new = row["seen"][:2]
    return rules._weights(old, new, row["n"], row["classes"]) is rules._MOST


def accepts(row, weights=None, labels=0):
    """The rule that ships: labels of disagreements beside the evidence without labels."""
    return rules.decide(evidence(row, weights, labels)) == rules.ACCEPT


def plain_labels(row, labels):
    """The labels alone; a tie falls back on the confidence."""
    wins, losses = counted(row, labels)
    return wins > losses or (wins == losses and accepts(row, _CONFIDENCE))


def policies(rows):
    """Return ({name: answer for a row}, weights fitted for each data set on the others)."""
    limit = fitted_limits(rows, is_right)
    weights = fitted_weights(rows, evidence, is_most)

    def fitted(labels, row):
        most, few = weights[row["set"]]
        return accepts(row, most if is_most(row) else few, labels)

    found = {
        "always": lambda row: True,
        "never": lambda row: False,
        "oracle": lambda row: row["after"] > row["before"],
        "dcg": lambda row: row["dcg"] > 0,
        "dcg_as_printed": lambda row: -row["dcg"] > 0,
        "ndcg_fitted": lambda row: row["ndcg"] > limit[row["set"]],
        "confidence_only": lambda row: accepts(row, _CONFIDENCE),
        "spread_only": lambda row: accepts(row, (0, 16, 0, 0, 0)),
        "prior_only": lambda row: row["prior"] > 0,
        "label_free": partial(fitted, 0),
        "labels_5": partial(fitted, 5),
        "labels_10": partial(fitted, 10),
        "labels_all": partial(fitted, CAPACITY),
        # The weights of the device, which were fitted on all of these people.
        "shipped": accepts,
        "shipped_10": partial(accepts, labels=10),
        "untold": lambda row: accepts(row, rules.WEIGHTS),
        "plain_labels_5": lambda row: plain_labels(row, 5),
        "plain_labels_10": lambda row: plain_labels(row, 10),
    }
    return found, {name: list(w) for name, w in weights.items()}


def judge(rows):
    """Return the shares of right answers: the mean over the data sets, the worst, each apart."""
    rules_of, fitted = policies(rows)
    names = sorted({row["set"] for row in rows})
    result = {"fitted_weights": fitted, "right": {}, "worst": {}, "kind": {}, "by_set": {}}
    for name in names:
        mine = [row for row in rows if row["set"] == name]
        whole = [row for row in mine if not row["few"]]
        few = [row for row in mine if row["few"]]
        own = result["by_set"][name] = described(whole)
        for rule, answer in rules_of.items():
            own[rule] = _numbers(whole, answer)
            own[rule + "_few"] = _numbers(few, answer)
    for rule in own:
        if isinstance(own[rule], dict):
            shares = [result["by_set"][name][rule]["right"] for name in names]
            result["right"][rule] = round(float(np.mean(shares)), 4)
            result["worst"][rule] = min(shares)
    for kind in KINDS:
        result["kind"][kind.replace(" ", "_")] = {
            rule: round(
                float(np.mean([result["by_set"][n][rule]["by_kind"][kind] for n in names])), 3
            )
            for rule in rules_of
        }
    return result


def described(whole):
    """Return what kind of updates those of one data set are."""
    change = np.array([row["after"] - row["before"] for row in whole])
    return {
        "updates": len(whole),
        "users": len({row["user"] for row in whole}),
        "reservoir": round(float(np.mean([row["n"] for row in whole])), 1),
        "judged": round(float(np.mean([row["judged"] for row in whole])), 1),
        "old_accuracy": round(float(np.mean([row["before"] for row in whole])), 4),
        "helping": round(float(np.mean(change > 0)), 4),
        "equal": round(float(np.mean(change == 0)), 4),
        "mean_change": round(float(np.mean(np.abs(change))), 4),
    }


def _numbers(rows, rule):
    answers = [bool(rule(row)) for row in rows]
    right = np.array([is_right(r, a) for r, a in zip(rows, answers, strict=True)])
    final = [r["after"] if a else r["before"] for r, a in zip(rows, answers, strict=True)]
    change = np.array([row["after"] - row["before"] for row in rows])
    large = abs(change) >= 0.02
    taken = np.array(answers)
    kinds = np.array([row["kind"] for row in rows])
    return {
        "right": round(float(right.mean()), 4),
        "right_if_2_points": round(float(right[large].mean()), 4),
        "accepted_if_better": round(float(taken[change > 0].mean()), 4),
        "refused_if_worse": round(float((~taken[change < 0]).mean()), 4),
        "accepts": round(float(np.mean(answers)), 4),
        "final": round(float(np.mean(final)), 4),
        "by_kind": {k: round(float(right[kinds == k].mean()), 3) for k in KINDS},
    }


def simulate(job, data, per_user):
    """Return the rows of one (seed, user)."""
    seed, user = job
    rows = []
    for k, update in enumerate(updates_of(user, per_user, data, seed)):
        row = observe(update, data, 1000 * seed + k)
        if row:
            rows.append({**row, "seed": seed})
        draw = np.random.default_rng((seed, user, k))
        few = update.only(draw.choice(data.classes, data.few, replace=False))
        row = observe(few, data, 1000 * seed + k, JUDGED_MIN)
        if row:
            rows.append({**row, "seed": seed, "few": True})
    return rows


def observed(per_user, seeds, workers=None):
    """Return the rows of per_user updates for each user of each data set and each seed."""
    rows = []
    with concurrent.futures.ProcessPoolExecutor(workers or os.cpu_count()) as pool:
        for load in SETS:
            try:
                data = load()
            except FileNotFoundError as error:
                print(f"Left out  {load.__name__}: {error}")
                continue
            jobs = [(seed, user) for seed in seeds for user in np.unique(data.subject).tolist()]
            for part in pool.map(partial(simulate, data=data, per_user=per_user), jobs):
                rows += part
    return rows


def measure(per_user, seeds, workers=None):
    """Return the result of per_user updates for each user of each data set and each seed."""
    rows = observed(per_user, seeds, workers)
    judged = judge(rows)
    return {
        "sets": len(judged["by_set"]),
        "updates": sum(not row["few"] for row in rows),
        "seeds": list(seeds),
        "weights_of_all": list(fitted_weights(rows, evidence, is_most, every=True)),
        **judged,
    }


def main(per_user=45):
    result = {**measure(per_user, SEEDS), "instructions": acceptance_board.measure()}
    print(write("acceptance", result))
    for name, found in result["by_set"].items():
        print(name, {key: value for key, value in found.items() if not isinstance(value, dict)})
    return 1 if table("acceptance: share of right decisions", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
