# SPDX-License-Identifier: MIT
"""The C core of signatures on the vectors and on random input; run by tools/sanitized.sh.

A wrong memory access or undefined arithmetic ends the process with a report.
usage: python sanitized_ed25519.py LIBRARY SEED [ROUNDS]
"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "device"))
from ed25519_vectors import VECTORS  # noqa: E402

from acclimate_host.twin import ed25519 as twin  # noqa: E402


def main(library, seed, rounds=100):
    core, draw = twin.load(Path(library)), random.Random(int(seed))
    known = []
    for line in VECTORS.strip().split("\n"):
        name, key, message, made, taken = line.split("|")
        key, data = bytes.fromhex(key), bytes.fromhex(message + made)
        assert core.verify(data, len(data) - 64, key, 0) is (taken == "1"), name
        known.append((key, data))
    for _ in range(int(rounds)):
        key, data = map(bytearray, draw.choice(known))
        for buffer in (key, data):
            if draw.random() < 0.5:
                at = draw.randrange(len(buffer))
                buffer[at:] = draw.randbytes(len(buffer) - at)
        core.verify(data, len(data) - 64, key, 0)
        core.is_key(draw.randbytes(32), 0)
    print("clean")


if __name__ == "__main__":
    main(*sys.argv[1:])
