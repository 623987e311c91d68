# SPDX-License-Identifier: MIT
"""What reservoir and decision cost on the emulated boards, in instructions (Python, no native).

``offer`` is one input that the full reservoir does not keep, ``offer_kept`` one of 24 bytes that
it keeps, ``decide`` the whole decision without labels on 64 rows.
"""

import ast

from acclimate_host.connect import open_board
from acclimate_host.connect.install import install
from bench.common import cortex_boards

_SHIFT = 10
_OFFER = """
import gc, qboard
from acclimate.reservoir import Reservoir
T = qboard.ticks
sample, row = Reservoir(64, 24), bytes(range(24))
for i in range(64):
    sample.offer(row, 1, 100)
def run(n, count):
    gc.collect()
    sample.count = count
    t = T()
    for i in range(n):
        sample.offer(row, 1, 100)
    return T() - t & 0x3fffffff
print([run(200, 64), run(400, 64), run(20, 10), run(40, 10)])
"""
_DECIDE = """
import gc, qboard
from acclimate import acceptance
T = qboard.ticks
old = bytes([i % 7 for i in range(64)])
new = bytes([(i + (i % 5 == 0)) % 7 for i in range(64)])
before, after = (bytes([i * k % 256 for i in range(64)]) for k in (37, 53))
gc.collect()
t = T()
acceptance.label_free(old, new, before, after, 64)
print(T() - t & 0x3fffffff)
"""


def measure():
    """Return {"m4f": {...}, "m0": {...}} for the boards that are here."""
    result = {}
    for name, key in cortex_boards():
        with open_board(name, icount=_SHIFT) as board:
            install(board, ["reservoir", "acceptance"], yes=True)
            _, hz = board.ticks()
            offers = ast.literal_eval(_run(board, _OFFER))
            decision = int(_run(board, _DECIDE))
        counts = [round(ticks * 1e9 / hz / (1 << _SHIFT)) for ticks in (*offers, decision)]
        result[key] = {
            "offer": (counts[1] - counts[0]) // 200,
            "offer_kept": (counts[3] - counts[2]) // 20,
            "decide": counts[4],
        }
    return result


def _run(board, code):
    board.soft_reset()
    return board.exec(code, 60)
