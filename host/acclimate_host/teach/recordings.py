# SPDX-License-Identifier: MIT
"""The watch recordings as a file that a board without sensors replays: three gestures."""

import struct

import numpy as np

from acclimate_host.demo import watch
from acclimate_host.errors import Missing
from acclimate_host.paths import built

USER, EXERCISES = 1, (0, 1, 6)
LABELS = tuple(watch.EXERCISES[k] for k in EXERCISES)
_MOST_SAMPLES = 1024  # of a part: what a small board's files hold


def replay_file(user=USER, exercises=EXERCISES):
    """Return the bytes of ``replay.bin``; see sensors/replay.py.

    The first half of each recording is to teach with, the second is never taught.

    :raises Missing: the recordings are not installed
    """
    try:
        recordings = watch.load(built("data", "watch.npz"))
    except FileNotFoundError as error:
        raise Missing(f"no recordings to replay: {error}") from None
    counts, parts = [], []
    for exercise in exercises:
        one = next(r for r in recordings if (r.subject, r.exercise, r.side) == (user, exercise, 0))
        for part in np.array_split(one.samples, 2):
            part = part[:_MOST_SAMPLES]
            counts.append(len(part))
            parts.append(part)
    head = b"RPLY" + bytes([len(exercises), watch.CHANNELS])
    head += struct.pack(f"<{len(counts)}H", *counts)
    return head + np.concatenate(parts).astype("<i2").tobytes()
