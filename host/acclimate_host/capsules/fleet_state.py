# SPDX-License-Identifier: MIT
"""A fleet in sums: what `acclimate fleet --sums` prints and `serve --dashboard` shows."""

from collections import Counter
from typing import Any

from acclimate_host.capsules.history import History
from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.rollout import Rollout


def fleet_state(repository: Repository, reports: Reports | None = None) -> dict[str, Any]:
    """Return {"models": one dictionary a model and cohort, "devices": sums}.

    A sum counts the devices of one model, version and state; its size does not depend on how
    many devices there are.
    """
    reports = reports or Reports(repository.folder / "reports")
    said = reports.all()
    models = []
    for model, cohort, manifest in repository.models():
        rollout = Rollout(repository, model, cohort, reports)
        state = rollout.state()
        models.append(
            {
                "model": model,
                "cohort": cohort,
                "version": manifest.version,
                "percent": manifest.percent,
                "releases": History(repository.folder, model, cohort).releases()[-20:],
                "rollout": state and {**state, "sums": rollout.sums(state)},
            }
        )
    counts = Counter(
        (r["model"], r["version"], r["state"], r["outcome"], bool(r.get("is_authentic")))
        for r in said
    )
    names = ("model", "version", "state", "outcome", "is_authentic")
    sums = [
        {**dict(zip(names, key, strict=True)), "devices": count}
        for key, count in sorted(counts.items())
    ]
    seen = [report["seen"] for report in said]
    return {
        "models": models,
        "devices": sums,
        "total": len(said),
        "latest": max(seen, default=None),
        "most_erases": max((report["erases"] for report in said), default=0),
    }
