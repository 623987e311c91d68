# SPDX-License-Identifier: MIT
"""The C core of the front end on tables that are whole and damaged; run by tools/sanitized.sh.

A wrong memory access or undefined arithmetic ends the process with a report.
usage: python sanitized_frontend.py LIBRARY SEED [ROUNDS]
"""

import random
import sys
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "device"))
from frontend_vectors import MOTION, SOUND  # noqa: E402

from acclimate_host.twin import frontend as twin  # noqa: E402


def main(library, seed, rounds=3000):
    core, draw = twin.load(Path(library)), random.Random(int(seed))
    for turn in range(int(rounds)):
        tables = bytearray(draw.choice((SOUND, MOTION)))
        width = tables[8] * tables[10]
        samples = tables[4] * tables[8]
        state = bytearray(4 * (width + (1 << tables[6]) + 1 + tables[10]))
        for _ in range(draw.choice((0, 1, 3)) if turn else 0):
            tables[draw.randrange(len(tables))] = draw.randrange(256)
        if draw.random() < 0.3:
            state = bytearray(draw.randbytes(len(state)))
        window = array("h", draw.randbytes(2 * samples))
        out = array(*draw.choice((("H", bytes(2 * width)), ("b", bytes(width)))))
        status = core.run(tables, state, window, out)
        assert turn or status == 0
    print("clean")


if __name__ == "__main__":
    main(*sys.argv[1:])
