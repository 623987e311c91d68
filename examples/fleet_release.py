# SPDX-License-Identifier: MIT
"""The computer's side of fleet_device.py: train release N and publish it for the fleet.

Release 1 has heard one pump, release 2 has heard four, and release 3 learned from wrong labels.

    pip install '.[sklearn,serve]'
    python examples/fleet_release.py 1      # writes capsule.key and repository/
"""

import secrets
import sys
from pathlib import Path

from fleet_device import MODEL, Pump
from sklearn.svm import SVC

from acclimate_host.capsules.server import CapsuleServer

PUMPS = {1: (900,), 2: (300, 900, 1500, 2500), 3: (300, 900, 1500, 2500)}  # hum of each


def record(pumps, is_wrong, windows=60):
    """Return (rows, labels) of windows of each of the pumps."""
    rows, labels = [], []
    for hum in pumps:
        pump = Pump(hum, seed=1 + hum)
        for k in range(windows):
            rows.append(list(pump.hear(k % 2)))
            labels.append(1 - k % 2 if is_wrong else k % 2)
    return rows, labels


def main(release, folder="."):
    """Publish a release in folder/repository, signed with folder/capsule.key."""
    key = Path(folder, "capsule.key")
    if not key.exists():
        key.write_bytes(secrets.token_bytes(32))
    model = SVC(kernel="linear", C=0.1).fit(*record(PUMPS[release], release == 3))
    server = CapsuleServer(model, Path(folder, "repository"), model_id=MODEL, key=key)
    server.save()
    manifest = server.export()
    print(f"version {manifest.version} of {manifest.total} bytes")


if __name__ == "__main__":
    main(int(sys.argv[1]))
