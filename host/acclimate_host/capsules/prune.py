# SPDX-License-Identifier: MIT
"""Removes from a repository the objects that nobody needs any more."""

import os
import re
from pathlib import Path

from acclimate_host.capsules.build import check_numbers
from acclimate_host.capsules.history import KEPT, History
from acclimate_host.capsules.kept import rollout_state
from acclimate_host.capsules.layout import NUMBER_MAX
from acclimate_host.capsules.manifest import read_manifest
from acclimate_host.capsules.repository import Repository
from acclimate_host.errors import Refused


def prune(folder: str | os.PathLike[str], kept: int = KEPT) -> tuple[int, int]:
    """Remove the objects that nobody needs; return (how many, their bytes).

    Kept are those that a manifest names, those that a rollout may go back to, and the whole
    capsules of the latest releases of each cohort, the newest and `kept` before it.

    Whoever publishes meanwhile is waited for: an object is there before its manifest.

    :raises Refused: a manifest, a rollout or a history cannot be read; nothing is removed then.
    """
    check_numbers(NUMBER_MAX, kept=kept)
    with Repository(folder).alone():
        return _prune(Path(folder), kept)


def _prune(folder: Path, kept: int) -> tuple[int, int]:
    needed: set[str | None] = set()
    for path in folder.glob("models/*/*.man"):
        needed |= {entry.name for entry in read_manifest(path).entries}
    for path in folder.glob("rollouts/*.json"):
        state = rollout_state(path) or {}
        needed.add(state.get("before_object"))
    for path in folder.glob("history/*.jsonl"):
        model, _, cohort = path.stem.partition("-")
        if not re.fullmatch("[0-9]{1,10}", model):
            raise Refused(f"{path}: expected MODEL-COHORT.jsonl: move it elsewhere")
        releases = History(folder, int(model), cohort).releases()
        needed |= {release["object"] for release in releases[-kept - 1 :]}
    count = size = 0
    for path in (folder / "objects").iterdir():
        if path.name not in needed and path.is_file():
            size += path.stat().st_size
            count += 1
            path.unlink()
    return count, size
