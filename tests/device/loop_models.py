# SPDX-License-Identifier: MIT
"""A closed loop over models that are small enough to see through, for several tests."""

from array import array

from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand


class Nearest:
    """Predicts the class with the nearest mean; stands for any model with the two methods."""

    def __init__(self, fail=False):
        self.means = array("h", [0, 0])
        self.fail = fail

    def predict(self, row):
        first, second = row[0] - self.means[0], row[0] - self.means[1]
        return 0 if first * first <= second * second else 1

    def fit_steps(self, X, y):
        for truth in (0, 1):
            total = count = i = 0
            while i < len(y):
                if y[i] == truth:
                    total += X[i]
                    count += 1
                i += 1
            if self.fail:
                raise ValueError("y: expected luck")
            self.means[truth] = total // count
            yield truth


class Useless(Nearest):
    """Trains, and says 0 to everything."""

    def fit_steps(self, X, y):
        yield 0


def rows(*values):
    return array("b", values)


def make(enough=4, spare=None, **options):
    live, spare = Nearest(), spare or Nearest()
    live.means[0], live.means[1] = -8, 8
    store = Stitcher(width=1, classes=2, per_class=4, held=4, hold_every=2)
    trainer = TrainOnDemand(live, spare, store, enough=enough, **options)
    return Loop(IO(live), Feedback(1, pending=2), store, trainer)


def feed(loop, values):
    """Drifted sensor: values below 45 are class 0."""
    row = rows(0)
    for value in values:
        row[0] = value
        loop.sense(row)
        loop.observe(0 if value < 45 else 1)


DRIFTED = (40, 50, 41, 51, 42, 52, 43, 53)


def refused(words, call, *arguments):
    try:
        call(*arguments)
    except ValueError as error:
        for word in words:
            assert word in str(error), error
    else:
        raise AssertionError("no error")
