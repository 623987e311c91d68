# SPDX-License-Identifier: MIT
"""The C core of encrypted objects on the vectors and on random input; run by tools/sanitized.sh.

A wrong memory access or undefined arithmetic ends the process with a report.
usage: python sanitized_xchacha.py LIBRARY SEED [ROUNDS]
"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "device"))
from xchacha_vectors import VECTORS  # noqa: E402

from acclimate_host.twin import xchacha as twin  # noqa: E402


def main(library, seed, rounds=300):
    core, draw = twin.load(Path(library)), random.Random(int(seed))
    for line in VECTORS.strip().split("\n"):
        name, *parts = line.split("|")
        key, nonce, ad, sent, plain = map(bytes.fromhex, parts)
        buffer = bytearray(sent)
        assert core.unlock(buffer, len(plain), key, nonce, ad), name
        assert buffer[: len(plain)] == plain, name
    for _ in range(int(rounds)):
        buffer = bytearray(draw.randbytes(draw.randrange(16, 600)))
        ad = draw.randbytes(draw.randrange(100))
        n = len(buffer) - 16
        assert not core.unlock(buffer, n, draw.randbytes(32), draw.randbytes(24), ad)
    print("clean")


if __name__ == "__main__":
    main(*sys.argv[1:])
