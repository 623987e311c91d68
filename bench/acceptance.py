# SPDX-License-Identifier: MIT
"""How often is each acceptance rule right? `make bench NAME=acceptance`.

The rules are the device's own (acclimate.acceptance, integers), on a reservoir of 64 windows of
the user. What counts as right is the same for all rules: the model is kept that is more accurate
on the user's windows that share no sample with the reservoir's; when both are equally accurate,
either answer is right. Each update is met twice: by the user, and by one who does only three of
the seven exercises. Weights and limits are fitted on both kinds of the nine other users;
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
from bench.acceptance_fit import fitted_limits, fitted_weights
from bench.acceptance_models import KINDS, updates_of, windows
from bench.acceptance_train import CLASSES
from bench.common import table, write

CAPACITY = 64
FEW = 3  # exercises that a user of few labels does, of 7
JUDGED_MIN = 10  # windows of a user of few labels: fewer tell nothing
SEEDS = (1, 2, 3)
ROWS = [
    ("updates", ">=", 400),
    ("right.label_free", ">=", 0.72),
    ("right.labels_5", ">=", 0.80),
    ("right.labels_10", ">=", 0.82),
    ("right.dcg", None, None),
    ("right.dcg_as_printed", None, None),
    ("right.ndcg_fitted", None, None),
    ("right.confidence_only", None, None),
    ("right.spread_only", None, None),
    ("right.prior_only", None, None),
    ("right.label_free_without_prior", None, None),
    ("right.plain_labels_5", None, None),
    ("right.plain_labels_10", None, None),
    ("right.labels_all", None, None),
    ("right.always_accept", None, None),
    ("right.always_reject", None, None),
    ("right.label_free_even", None, None),
    ("right.labels_10_even", None, None),
    ("few_labels.right.label_free_even", None, None),
    ("few_labels.right.labels_10_even", None, None),
    ("accepted_if_better.label_free", ">=", 0.70),
    ("refused_if_worse.label_free", ">=", 0.70),
    ("accepted_if_better.labels_10", ">=", 0.80),
    ("refused_if_worse.labels_10", ">=", 0.80),
    ("accepted_if_better.dcg", None, None),
    ("refused_if_worse.dcg", None, None),
    ("few_labels.right.label_free", ">=", 0.68),
    ("few_labels.right.labels_5", ">=", 0.80),
    ("few_labels.right.labels_10", ">=", 0.82),
    ("few_labels.right.dcg", None, None),
    ("instructions.m4f.offer", None, None),
    ("instructions.m0.offer", None, None),
    ("instructions.m4f.decide", "<=", 3_200_000),  # 50 ms at 64 MHz, one cycle each
    ("instructions.m0.decide", "<=", 2_400_000),  # 50 ms at 48 MHz
    ("right_if_2_points.label_free", None, None),
    ("right_if_2_points.labels_10", None, None),
    ("final.label_free", None, None),
    ("final.labels_10", None, None),
    ("final.always_reject", None, None),
    ("final.oracle", None, None),
]


def observe(update, data, seed, judged_min=1):
    """Return what the rules see of one update, and what is true of it, as a dictionary.

    None where too few windows are left to tell which model is better.
    """
    sample = Reservoir(CAPACITY, 2, seed=seed)
    for i, logits in enumerate(update.old):
        answer = rules.confidence(logits.tolist(), CLASSES, update.old_temperature)
        sample.offer(bytes((i & 255, i >> 8)), answer >> 8, answer & 255)
    n = sample.count
    places = [sample.rows[2 * k] | sample.rows[2 * k + 1] << 8 for k in range(n)]
    answers = [
        rules.confidence(update.new[i].tolist(), CLASSES, update.new_temperature) for i in places
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
        "user": update.user,
        "kind": update.kind,
        "n": n,
        "prior": update.prior,
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
    return rules.evidence(*row["seen"], row["n"], weights, row["prior"], *counted(row, labels))


def accepts(row, weights, labels=0):
    """The rule that ships: labels of disagreements beside the evidence without labels."""
    if labels:
        return rules.decide(evidence(row, weights, labels)) == rules.ACCEPT
    answer = rules.label_free(*row["seen"], row["n"], prior=row["prior"], weights=weights)
    return answer == rules.ACCEPT


def plain_labels(row, labels):
    """The labels alone; a tie falls back on the confidence."""
    wins, losses = counted(row, labels)
    return wins > losses or (wins == losses and accepts(row, (16, 0, 0, 0)))


def policies(rows):
    """Return ({name: answer for a row}, what was fitted for each user)."""
    limit = fitted_limits(rows, is_right)
    weights = fitted_weights(rows, evidence)
    without = fitted_weights(rows, evidence, prior=False)
    even = fitted_weights([row for row in rows if not row["few"]], evidence)

    def by(weights_of, labels, row):
        return accepts(row, weights_of[row["user"]], labels)

    found = {
        "always_accept": lambda row: True,
        "always_reject": lambda row: False,
        "oracle": lambda row: row["after"] > row["before"],
        "dcg": lambda row: row["dcg"] > 0,
        "dcg_as_printed": lambda row: -row["dcg"] > 0,
        "ndcg_fitted": lambda row: row["ndcg"] > limit[row["user"]],
        "confidence_only": lambda row: accepts(row, (16, 0, 0, 0)),
        "spread_only": lambda row: accepts(row, (0, 16, 0, 0)),
        "prior_only": lambda row: row["prior"] > 0,
        "label_free_without_prior": lambda row: accepts(row, without[row["user"]]),
        "label_free": partial(by, weights, 0),
        "labels_5": partial(by, weights, 5),
        "labels_10": partial(by, weights, 10),
        "labels_all": partial(by, weights, CAPACITY),
        # Fitted on users of all labels only.
        "label_free_even": partial(by, even, 0),
        "labels_5_even": partial(by, even, 5),
        "labels_10_even": partial(by, even, 10),
        "plain_labels_5": lambda row: plain_labels(row, 5),
        "plain_labels_10": lambda row: plain_labels(row, 10),
    }
    return found, {str(user): list(w) for user, w in weights.items()}


def judge(rows):
    """Return {name of the result: {rule: number}}; few_labels are those users apart."""
    rules_of, fitted = policies(rows)
    result = {"fitted_weights": fitted}
    for few, names in (
        (
            False,
            (
                "right",
                "right_if_2_points",
                "accepted_if_better",
                "refused_if_worse",
                "accepts",
                "final",
                "by_kind",
                "by_seed",
            ),
        ),
        (True, ("right", "accepted_if_better", "refused_if_worse", "accepts", "final")),
    ):
        chosen = [row for row in rows if row["few"] == few]
        into = result.setdefault("few_labels", {"updates": len(chosen)}) if few else result
        into |= {name: {} for name in names}
        for rule, numbers in ((name, _numbers(chosen, rule)) for name, rule in rules_of.items()):
            for name in names:
                into[name][rule] = numbers[name]
    return result


def _numbers(rows, rule):
    answers = [bool(rule(row)) for row in rows]
    right = np.array([is_right(r, a) for r, a in zip(rows, answers, strict=True)])
    final = [r["after"] if a else r["before"] for r, a in zip(rows, answers, strict=True)]
    change = np.array([row["after"] - row["before"] for row in rows])
    large = abs(change) >= 0.02
    taken = np.array(answers)
    kinds = np.array([row["kind"] for row in rows])
    seeds = np.array([row["seed"] for row in rows])
    return {
        "right": round(float(right.mean()), 4),
        "right_if_2_points": round(float(right[large].mean()), 4),
        "accepted_if_better": round(float(taken[change > 0].mean()), 4),
        "refused_if_worse": round(float((~taken[change < 0]).mean()), 4),
        "accepts": round(float(np.mean(answers)), 4),
        "final": round(float(np.mean(final)), 4),
        "by_seed": {int(k): round(float(right[seeds == k].mean()), 3) for k in np.unique(seeds)},
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
        few = update.only(draw.choice(CLASSES, FEW, replace=False))
        row = observe(few, data, 1000 * seed + k, JUDGED_MIN)
        if row:
            rows.append({**row, "seed": seed, "few": True})
    return rows


def measure(per_user, seeds, workers=None):
    """Return the result of per_user updates for each of the ten users and each seed."""
    data = windows()
    users = sorted(set(data.subject.tolist()))
    jobs = [(seed, user) for seed in seeds for user in users]
    with concurrent.futures.ProcessPoolExecutor(workers or os.cpu_count()) as pool:
        parts = list(pool.map(partial(simulate, data=data, per_user=per_user), jobs))
    rows = [row for part in parts for row in part]
    whole = [r for r in rows if not r["few"]]
    change = np.array([r["after"] - r["before"] for r in whole])
    return {
        "updates": len(whole),
        "users": len(users),
        "windows": len(data.y),
        "seeds": list(seeds),
        "reservoir": CAPACITY,
        "judged_windows": round(float(np.mean([r["judged"] for r in whole])), 1),
        "mean_old_accuracy": round(float(np.mean([r["before"] for r in whole])), 4),
        "helping": round(float(np.mean(change > 0)), 4),
        "equal": round(float(np.mean(change == 0)), 4),
        "mean_change": round(float(np.mean(np.abs(change))), 4),
        "weights_of_all": list(fitted_weights(rows, evidence, every=True)),
        "weights_of_all_even": list(fitted_weights(whole, evidence, every=True)),
        **judge(rows),
    }


def main(per_user=45):
    result = {**measure(per_user, SEEDS), "instructions": acceptance_board.measure()}
    print(write("acceptance", result))
    shown = ("updates", "windows", "mean_old_accuracy", "helping", "equal", "mean_change")
    print({name: result[name] for name in shown})
    return 1 if table("acceptance: share of right decisions", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
