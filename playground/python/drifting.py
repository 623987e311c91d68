# SPDX-License-Identifier: MIT
"""A stream whose classes wander: a loop that notices and trains, and a model that never does."""

from array import array
from math import cos, pi, sin
from random import random, seed

from acclimate.drift import PageHinkley
from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand
from acclimate.svm import SVM

SHIPPED, SHOWN = 40, 120
_MACHINE = {"kernel": "rbf", "C": 10, "storage": "int8"}
world = None


def gauss(mean, deviation):
    """About normal: MicroPython has no such function."""
    return mean + deviation * (random() + random() + random() - 1.5) * 2


class World:
    """Two classes of readings on a circle, whose angle `turn` changes as the page says."""

    def __init__(self):
        seed(5)
        self.turn = self.wanted = 0.0
        self.count = 0
        self.store = store = Stitcher(2, 2, 30, held=12)
        for k in range(SHIPPED):
            store.fill(self.reading(k & 1), k & 1)
        live, spare = SVM(**_MACHINE), SVM(**_MACHINE)
        trainer = TrainOnDemand(live, spare, store, enough=16, margin=-1, least_held=4)
        for _ in trainer.first_steps():
            pass
        self.loop = Loop(IO(live), Feedback(2, memory=40), store, trainer, drift=PageHinkley(6))
        self.shipped = live
        self.fixed = SVM(**_MACHINE)  # what never learns
        rows, truths = array("b"), bytearray()
        for k in range(SHIPPED):
            rows.extend(self.reading(k & 1))
            truths.append(k & 1)
        self.fixed.fit(rows, truths)

    def reading(self, truth):
        """A reading of a class, int8."""
        angle = self.turn * pi / 180 + (pi if truth else 0)
        x, y = 52 * cos(angle) + gauss(0, 22), 52 * sin(angle) + gauss(0, 22)
        return array("b", [max(-127, min(127, int(v))) for v in (x, y)])

    def step(self):
        """One reading: predicted, answered, and learned from when it is time."""
        self.turn += max(-1.5, min(1.5, self.wanted - self.turn))
        truth = int(random() < 0.5)
        row = self.reading(truth)
        before = self.loop.drifts
        said = self.loop.sense(row)
        right = self.loop.observe(truth)
        fixed_right = self.fixed.predict(row) == truth
        verdict = self.loop.run_idle()
        self.count += 1
        event = "drift" if self.loop.drifts > before else verdict
        return [row[0], row[1], truth, int(right), int(fixed_right), event, said]


def begin():
    global world
    world = World()
    return {"grid": _grid()}


def run(count, wanted):
    """Some readings; `wanted` is the angle, in degrees, that the classes move to."""
    world.wanted = wanted
    seen = [world.step() for _ in range(count)]
    new = any(s[5] == "kept" for s in seen)
    return {
        "seen": seen,
        "count": world.count,
        "turn": world.turn,
        "rows": world.loop.trainer.rows,
        "kept": world.loop.trainer.kept,
        "drifts": world.loop.drifts,
        "grid": _grid() if new else None,
    }


def _grid():
    """What the model in use says at 32 x 32 places, as a text of digits."""
    predict = world.loop.trainer.live.predict
    row = array("b", [0, 0])
    out = bytearray(1024)
    for k in range(1024):
        row[0], row[1] = (k & 31) * 8 - 124, (k >> 5) * 8 - 124
        out[k] = 48 + predict(row)
    return out.decode()
