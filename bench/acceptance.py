# SPDX-License-Identifier: MIT
"""How often is each acceptance rule right? `make bench NAME=acceptance`.

The rules are the device's own (acclimate.acceptance, integers), on a reservoir of 64 windows of
the user. A decision is right when it keeps the model that is better on the user's windows that
the reservoir does not hold (either one when they are equal). Limits and weights are fitted on the
nine other users; temperatures and the prior on two people that no model learned from.
"""

import concurrent.futures
import os
import sys
from functools import partial

import numpy as np

from acclimate import acceptance as rules
from acclimate.reservoir import Reservoir
from bench.acceptance_models import KINDS, updates_of, windows
from bench.common import table, write

CAPACITY = 64
ROWS = [
    ("updates", ">=", 400),
    ("right.label_free", ">=", 0.72),
    ("right.labels_5", ">=", 0.80),
    ("right.labels_10", ">=", 0.82),
    ("right.dcg", None, None),
    ("right.dcg_as_printed", None, None),
    ("right.ndcg_fitted", None, None),
    ("right.confidence_only", None, None),
    ("right.prior_only", None, None),
    ("right.plain_labels_5", None, None),
    ("right.plain_labels_10", None, None),
    ("right.plain_labels_all", None, None),
    ("right.always_accept", None, None),
    ("right.always_reject", None, None),
    ("right_if_2_points.label_free", None, None),
    ("right_if_2_points.labels_10", None, None),
    ("final.label_free", None, None),
    ("final.labels_10", None, None),
    ("final.always_reject", None, None),
    ("final.oracle", None, None),
]


def observe(update, seed):
    """Return what the rules see of one update, and what is true of it, as a dictionary."""
    sample = Reservoir(CAPACITY, 2, seed=seed)
    for i in update.stream:
        answer = rules.confidence(update.old[i].tolist(), 7, update.old_temperature)
        sample.offer(bytes((i & 255, i >> 8)), answer >> 8, answer & 255)
    n = sample.count
    places = [sample.rows[2 * k] | sample.rows[2 * k + 1] << 8 for k in range(n)]
    answers = [rules.confidence(update.new[i].tolist(), 7, update.new_temperature)
               for i in places]  # fmt: skip
    new = bytes(a >> 8 for a in answers)
    new_confidence = bytes(a & 255 for a in answers)
    old, old_confidence = sample.predictions, sample.confidences
    asked = bytearray(CAPACITY)
    differ = rules.disagreements(old, new, n, asked)
    order = np.random.default_rng(seed).permutation(list(asked[:differ])).astype(int)
    judged = np.ones(len(update.truth), bool)
    judged[places] = False
    accuracy = [(m[judged].argmax(1) == update.truth[judged]).mean()
                for m in (update.old, update.new)]  # fmt: skip
    return {
        "user": update.user, "kind": update.kind, "n": n, "prior": update.prior,
        "dcg": rules.dcg(old, new, old_confidence, n),
        "ndcg": rules.ndcg(old, new, old_confidence, n),
        "rise": rules.gain(old_confidence, new_confidence, n),
        "old": bytes(old[:n]), "new": new, "old_confidence": bytes(old_confidence[:n]),
        "new_confidence": new_confidence,
        "labels": [(int(old[k]), int(new[k]), int(update.truth[places[k]])) for k in order],
        "before": accuracy[0], "after": accuracy[1],
    }  # fmt: skip


def is_right(row, accept):
    change = row["after"] - row["before"]
    return change == 0 or (change > 0) == accept


def label_free(row, floor=-rules.ONE, weight=0):
    answer = rules.label_free(
        row["old"], row["new"], row["old_confidence"], row["new_confidence"], row["n"], floor, 0,
        row["prior"], weight,
    )  # fmt: skip
    return answer == rules.ACCEPT


def by_labels(row, count, weight, label_weight):
    """Ask `count` labels where the models differ, beside the evidence without labels."""
    asked = row["labels"][:count]
    wins = sum(new == truth for _, new, truth in asked)
    losses = sum(old == truth for old, _, truth in asked)
    found = rules.evidence(row["rise"], row["n"], row["prior"], weight, wins, losses, label_weight)
    return found > 0


def plain_labels(row, count):
    """The same with the labels alone; a tie falls back on the confidence."""
    asked = row["labels"][:count]
    wins = sum(new == truth for _, new, truth in asked)
    losses = sum(old == truth for old, _, truth in asked)
    otherwise = rules.ACCEPT if label_free(row) else rules.REJECT
    return rules.with_labels(wins, losses, otherwise) == rules.ACCEPT


def choose(rows, decide, options):
    """Return, per user, the option that is right most often for the other users."""
    right = np.array([[is_right(row, decide(row, option)) for option in options] for row in rows])
    users = np.array([row["user"] for row in rows])
    return {
        user: options[int(np.argmax(right[users != user].mean(0)))]
        for user in set(users.tolist())
    }


def judge(rows):
    """Return {name of the result: {rule: number}}."""
    limits = [int(share * 32768) for share in np.arange(-1, 1, 0.02)]
    limit = choose(rows, lambda row, limit: row["ndcg"] > limit, limits)
    floors = [int(share * 32768) for share in np.arange(-1, 0.51, 0.25)]
    weights = (0, 2, 4, 8, 12, 16, 24, 32, 64)
    free = choose(rows, lambda row, o: label_free(row, *o),
                  [(f, w) for f in floors for w in weights])  # fmt: skip
    pairs = [(w, k) for w in weights for k in (16, 32, 64, 96, 128, 192, 256, 512, 4096)]
    five = choose(rows, lambda row, o: by_labels(row, 5, *o), pairs)
    ten = choose(rows, lambda row, o: by_labels(row, 10, *o), pairs)
    policies = {
        "always_accept": lambda row: True,
        "always_reject": lambda row: False,
        "oracle": lambda row: row["after"] > row["before"],
        "dcg": lambda row: row["dcg"] > 0,
        "dcg_as_printed": lambda row: -row["dcg"] > 0,
        "ndcg_fitted": lambda row: row["ndcg"] > limit[row["user"]],
        "confidence_only": lambda row: row["rise"] > 0,
        "prior_only": lambda row: row["prior"] > 0,
        "label_free": lambda row: label_free(row, *free[row["user"]]),
        "labels_5": lambda row: by_labels(row, 5, *five[row["user"]]),
        "labels_10": lambda row: by_labels(row, 10, *ten[row["user"]]),
        "plain_labels_5": lambda row: plain_labels(row, 5),
        "plain_labels_10": lambda row: plain_labels(row, 10),
        "plain_labels_all": lambda row: plain_labels(row, CAPACITY),
    }
    names = ("right", "right_if_2_points", "accepts", "final", "by_kind")
    result = {"fitted": {"label_free": free, "labels_5": five, "labels_10": ten}}
    result |= {name: {} for name in names}
    for name, accepts in policies.items():
        answers = [accepts(row) for row in rows]
        right = np.array([is_right(r, a) for r, a in zip(rows, answers, strict=True)])
        large = np.array([abs(row["after"] - row["before"]) >= 0.02 for row in rows])
        result["right"][name] = round(float(right.mean()), 4)
        result["right_if_2_points"][name] = round(float(right[large].mean()), 4)
        result["accepts"][name] = round(float(np.mean(answers)), 4)
        final = [r["after"] if a else r["before"] for r, a in zip(rows, answers, strict=True)]
        result["final"][name] = round(float(np.mean(final)), 4)
        result["by_kind"][name] = {
            kind: round(float(right[[r["kind"] == kind for r in rows]].mean()), 3)
            for kind in KINDS
        }
    return result


def main(per_user=45):
    data = windows()
    users = sorted(set(data[2].tolist()))
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(partial(updates_of, per_user=per_user, data=data), users))
    rows = [observe(u, 1 + k) for k, u in enumerate(u for part in made for u in part)]
    change = np.array([r["after"] - r["before"] for r in rows])
    result = {
        "updates": len(rows), "users": len(users), "windows": len(data[1]),
        "reservoir": CAPACITY,
        "mean_old_accuracy": round(float(np.mean([r["before"] for r in rows])), 4),
        "helping": round(float(np.mean(change > 0)), 4),
        "median_change": round(float(np.median(np.abs(change))), 4),
        **judge(rows),
    }  # fmt: skip
    write("acceptance", result)
    shown = ("updates", "windows", "mean_old_accuracy", "helping", "median_change")
    print({name: result[name] for name in shown})
    return 1 if table("acceptance: share of right decisions", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
