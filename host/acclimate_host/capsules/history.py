# SPDX-License-Identifier: MIT
"""What a repository has published: one line of JSON for each release, oldest first.

    history/<model>-<cohort>.jsonl    version, epoch, object of the whole capsule, bytes, ...

Bases for updates and the way back to the version before come from here, and `prune` keeps what
they need.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acclimate_host.capsules import kept
from acclimate_host.capsules.encryption import unseal
from acclimate_host.capsules.manifest import Manifest, object_name
from acclimate_host.errors import Refused
from acclimate_host.paths import write_whole

KEPT = 3  # releases before the newest one that updates are made from


class History:
    """The releases of one cohort of a model.

    :param folder: of the repository. :param clock: gives seconds since 1970.
    :param object_key: that its objects may be encrypted with.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        model: int,
        cohort: str = "all",
        clock: Callable[[], float] = time.time,
        object_key: bytes | None = None,
    ) -> None:
        self._object_key = object_key
        self.folder = Path(folder)
        self.path = self.folder / "history" / f"{model}-{cohort}.jsonl"
        self._clock = clock

    def __repr__(self) -> str:
        return f"History({str(self.path)!r})"

    def add(self, manifest: Manifest) -> None:
        """Note a release that was published."""
        release = release_of(manifest) | {"at": int(self._clock())}
        lines = [json.dumps(known) for known in (*self.releases(), release)]
        write_whole(self.path, ("\n".join(lines) + "\n").encode())

    def releases(self) -> list[dict[str, Any]]:
        """Return the releases, oldest first.

        :raises Refused: the file is damaged.
        """
        return kept.releases(self.path)

    def foreign(self) -> set[str]:
        """Return the digests of releases of the model's other cohorts that were none of this one.

        A history that is damaged tells nothing of its cohort.
        """
        others: set[str] = set()
        for path in self.path.parent.glob(self.path.name.partition("-")[0] + "-*.jsonl"):
            if path != self.path:
                with contextlib.suppress(Refused):
                    others |= _digests(kept.releases(path))
        return others - _digests(self.releases())

    def before(self, manifest: Manifest) -> dict[str, Any]:
        """Return the last release but that of the manifest, which is noted, or {}."""
        own = manifest.epoch, manifest.version
        known = {(r.get("epoch", 0), r["version"]): r for r in self.releases()}
        if own not in known:
            self.add(manifest)
        return next((known[at] for at in reversed(known) if at != own), {})

    def capsules(self, count: int = KEPT) -> list[bytes]:
        """Return the whole capsules of the latest releases, newest first; damaged ones not."""
        found = []
        for release in self.releases()[::-1][:count]:
            data = read_object(self.folder, release["object"], self._object_key)
            if data is not None:
                found.append(data)
        return found


def _digests(releases: list[dict[str, Any]]) -> set[str]:
    return {release["digest"] for release in releases if "digest" in release}


def release_of(manifest: Manifest) -> dict[str, Any]:
    """Return what a history notes of a manifest, but for the time."""
    whole = manifest.whole
    return {
        "version": manifest.version,
        "epoch": manifest.epoch,
        "object": whole.name,
        "digest": manifest.digest.hex(),
        "bytes": whole.size,
        "percent": manifest.percent,
    }


def read_object(
    folder: str | os.PathLike[str], name: str, object_key: bytes | None = None
) -> bytes | None:
    """Return the plain bytes of an object, or None where it is gone, damaged or of another key."""
    try:
        data = Path(folder, "objects", name).read_bytes()
    except OSError:
        return None
    try:
        return unseal(data, object_key) if object_name(data) == name else None
    except Refused:
        return None
