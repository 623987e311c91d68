# SPDX-License-Identifier: MIT
"""A model meets each of ten users in turn: how often it is right before and after.

The closed loop lives through the session of `acclimate_host.demo.protocol` on the host, with the
device's own code; on a board the same labels come out (tests/host/test_demo.py). The settings were
chosen by hand on these recordings, once for all users; they are not tuned for a user.
"""

import statistics
import time

from acclimate.svm import SVM
from acclimate_host.demo import protocol, summary, watch
from acclimate_host.paths import built
from bench.common import table, write

ROWS = {
    "full": [
        ("full.before", None, None),
        ("full.all_others", None, None),
        ("full.after", ">=", 0.90),
        ("full.gain_of_worst_user", None, None),
    ],
    "small": [
        ("small.before", None, None),
        ("small.all_others", None, None),
        ("small.after", ">=", 0.90),
        ("small.gain_of_worst_user", None, None),
    ],
    "tiny": [
        ("tiny.before", None, None),
        ("tiny.all_others", None, None),
        ("tiny.after", None, None),
        ("tiny.gain_of_worst_user", None, None),
    ],
}


def everything_known(one, found, settings):
    """Share right of scikit-learn's SVC that has all windows of all others, not 20 a class."""
    from sklearn.svm import SVC

    others = [w for w in found if w.subject != one.user]
    known, asked = (
        [list(row) for row in protocol.rows(part, settings)] for part in (others, one.unseen)
    )
    svc = SVC(**settings.machine).fit(known, [w.truth for w in others])
    return svc.score(asked, [w.truth for w in one.unseen])


def measure(recordings, settings):
    """Result of all users with one variant."""
    found = protocol.windows(recordings, settings)
    users = {}
    for user in sorted({w.subject for w in found}):
        one = protocol.session(found, settings, user)
        outcome = protocol.simulate(one, settings, SVM)
        truths = [w.truth for w in one.unseen]
        kept = sum(event[1] == "kept" for event in outcome.events)
        before, after = (
            summary.share(truths, labels)[2] / 100 for labels in (outcome.before, outcome.after)
        )
        users[user] = {
            "windows_lived": len(one.stream),
            "windows_unseen": len(one.unseen),
            "before": round(before, 4),
            "after": round(after, 4),
            "all_others": round(everything_known(one, found, settings), 4),
            "kept": kept,
            "discarded": len(outcome.events) - kept,
        }
        print(f"  user {user:2d}  {100 * before:3.0f} % -> {100 * after:3.0f} %", flush=True)
    mean = {
        key: round(statistics.mean(u[key] for u in users.values()), 4)
        for key in ("before", "after", "all_others")
    }
    worst = min(u["after"] - u["before"] for u in users.values())
    against = [u["after"] - u["all_others"] for u in users.values()]
    factory = len(settings.exercises) * settings.per_class
    return {
        "factory_samples": factory,
        **mean,
        "gain_of_worst_user": round(worst, 4),
        "worse_than_all_others": sum(change < 0 for change in against),
        "worst_against_all_others": round(min(against), 4),
        "users": users,
    }


def main():
    started = time.monotonic()
    recordings = watch.load(built("data", "watch.npz"))
    result = {"data": "seglearn 1.2 watch data, windows of 2.56 s, second half of each recording"}
    for settings in (protocol.FULL, protocol.SMALL, protocol.TINY):
        print(
            f"{settings.name}: {settings.machine}, {settings.features().width} features, "
            f"{len(settings.exercises) * settings.per_class} samples"
        )
        result[settings.name] = measure(recordings, settings)
    missed = 0
    for name, rows in ROWS.items():
        missed += table(f"personal, {name} variant", result, rows)
    print(f"{time.monotonic() - started:.0f} s; {write('personal', result)}")
    return missed


if __name__ == "__main__":
    raise SystemExit(1 if main() else 0)
