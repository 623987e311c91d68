# SPDX-License-Identifier: MIT
"""What one release takes on the server, by the number of devices: for bench/fleet.py.

A release is published for real, with an update from the one before, into a repository in a
temporary folder; the files that it added are counted.
"""

import os
import tempfile
from pathlib import Path

import numpy as np

from acclimate_host.capsules.build import build
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.signing import SigningKey

_FLEET = bytes(range(32))
_SAMPLE = 1000  # devices whose tags are written; each has a file of its own, so the sum is exact


def release_bytes(devices=(1, 1000, 1_000_000)):
    """Return {"bytes_per_release": {devices: bytes}, "tag_bytes_per_device": bytes, ...}.

    :param devices: how many devices each; under Ed25519 they change nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        signed = _release(Path(folder, "ed25519"))
        repository = Repository(Path(folder, "ed25519"))
        before = _bytes(repository.folder)
        repository.write_tags(_FLEET, range(1, _SAMPLE + 1), 7, "all")
        tags = _bytes(repository.folder) - before
    per_device = tags / _SAMPLE
    return {
        "bytes_per_release": {str(count): signed for count in devices},
        "tag_bytes_per_device": int(per_device) if per_device == int(per_device) else per_device,
        "bytes_per_release_hmac": {str(n): signed + int(n * per_device) for n in devices},
    }


def _release(folder):
    """Publish two releases; return the bytes that the second one added or replaced."""
    root, release, rollout = (SigningKey(bytes([i]) * 32) for i in (1, 2, 3))
    repository = Repository(folder, rollout)
    repository.publish_keys(root, [release.public], [rollout.public])
    draw = np.random.default_rng(1)
    weights = draw.integers(-100, 100, 17_000).astype(np.int8)
    for version in (1, 2):
        before = _files(folder)
        tuned = (weights + draw.integers(-1, 2, len(weights)) * (version - 1)).astype(np.int8)
        sections = {"PROGRAM": bytes(64), "WEIGHTS": tuned.tobytes()}
        repository.publish(build(sections, "NETWORK", 7, version, key=release))
    after = _files(folder)
    return sum(len(data) for name, data in after.items() if before.get(name) != data)


def _files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _bytes(folder):
    return sum(os.path.getsize(path) for path in _files(folder))
