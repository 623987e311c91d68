# SPDX-License-Identifier: MIT
"""A closed loop with a detector of drift that tells what it is told to, for several tests."""

from loop_models import Nearest

from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand


class Told:
    """A detector that tells when it is asked for the n-th time."""

    def __init__(self, at):
        self.at = at
        self.resets = 0

    def add(self, wrong):
        self.at -= 1
        return self.at == 0

    def reset(self):
        self.resets += 1

    def recent(self):
        return 0


def drifting(at, on_drift=None, rounds=2):
    live, spare = Nearest(), Nearest()
    live.means[0], live.means[1] = -8, 8
    store = Stitcher(width=1, classes=2, per_class=8, held=8, hold_every=2)
    trainer = TrainOnDemand(live, spare, store, enough=8, margin=-1)
    return Loop(
        IO(live), Feedback(1), store, trainer, drift=Told(at), on_drift=on_drift, rounds=rounds
    )
