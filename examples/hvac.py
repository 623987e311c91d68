# SPDX-License-Identifier: MIT
"""A heating controller that learns the house it was put into (after Edge2Train, section 3.3).

The heating is off from 23:00 and the room shall be warm at 7:00. From 1:00 on the controller
decides every ten minutes: start now, or wait? It ships with a model of the manufacturer's test
house; this house is another. The warm-up that was observed tells which decisions of the night
were right: that feedback goes into the sample store, and the controller trains in the daytime.

Beside it, in the same house and weather: the same model without learning, and a rule of three
lines that goes by how fast it became warm in the last nights. Each minute that the room is cold
after 7:00, or heated before, counts.

Runs on CPython and on every board:   acclimate run examples/hvac.py --board nrf52840
The physics are made up here: one room, thousandths of a degree, no sun, no people.
"""

import gc
from array import array

from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand
from acclimate.svm import SVM

SVM.bytes_needed(2, 1)  # loads what trains: a deep call has little stack left for imports

WARM, STEPS, STEP_MIN, OFF_STEPS = 20000, 36, 10, 12  # 23:00 to 1:00, then decisions to 7:00
OUTSIDE = (6, 3, 1, -2, 0, 4, 7, 5, 2, -1, -4, -3, 1, 3, 5, 0, -2, 2)  # each night, Celsius
NEAR = 4  # steps around the right moment that are worth learning from


def pass_time(house, air, outside, heating):
    """Ten minutes; house: (warmth of a heated minute, minutes until 63 % of it are gone)."""
    for _ in range(STEP_MIN):
        air += (house[0] if heating else 0) - (air - outside) // house[1]
    return air


class Rule:
    """Start when the cold, at the rate of the last three nights, takes the time that is left."""

    def __init__(self, rate):
        self.rates = [rate] * 3

    def decide(self, air, outside, left):
        return (WARM - air) * 3 >= left * sum(self.rates[-3:])

    def morning(self, cold, took):
        self.rates.append(cold / took)


class Learner:
    """The learned decision: 1 starts the heating, 0 waits."""

    def __init__(self, learns):
        self.learns, self.nights = learns, 0
        self.store = Stitcher(width=3, classes=2, per_class=48, held=24, hold_every=4)
        models = [SVM(kernel="linear", C=0.03, storage="int8") for _ in range(2)]
        trainer = TrainOnDemand(models[0], models[1], self.store, enough=8, least_held=6)
        self.loop = Loop(IO(models[0]), Feedback(3, STEPS, STEPS), self.store, trainer)
        self.row, self.colds, self.outside = array("b", [0, 0, 0]), array("i", [0] * STEPS), 0

    def look(self, cold, left):
        """What the sensors say, as small integers."""
        self.row[0], self.row[1] = max(0, min(127, cold // 64)), self.outside // 250
        self.row[2] = 3 * left
        return self.row

    def decide(self, air, outside, left):
        self.outside, self.colds[STEPS - left] = outside, WARM - air
        return self.loop.sense(self.look(WARM - air, left))

    def morning(self, cold, took):
        """From `cold` on it took so many steps; from less it takes less, in proportion."""
        self.nights += 1
        if self.nights == 1:  # the test house's samples are of another house
            self.store.forget()
        for step in range(self.loop.feedback.waiting):
            need, left = took * self.colds[step] // max(1, cold), STEPS - step
            if abs(need - left) <= NEAR:
                self.loop.observe(1 if need >= left else 0)
            else:
                self.loop.feedback.skip()
        for left in range(max(1, took - NEAR + 1), min(STEPS + 1, took + NEAR)):
            right = 1 if took >= left else 0
            self.store.add(self.look(cold, left), right, right)
        if self.learns:
            self.loop.run_idle()


def teach(house):
    """The manufacturer's nights: ((air, outside, steps left, steps needed), ...), and the rate."""
    found, rates = [], []
    for outside in (8000, 4000, 0, -4000):
        air = WARM
        for step in range(-OFF_STEPS, STEPS):
            if step >= 0 and (step % 3 == 0 or step > STEPS - 12):
                need, warmer = 0, air
                while warmer < WARM:
                    warmer = pass_time(house, warmer, outside, True)
                    need += 1
                found.append((air, outside, STEPS - step, need))
                rates.append((WARM - air) / max(1, need))
            air = pass_time(house, air, outside, False)
    return found, sum(rates) / len(rates)


def night(controller, house, outside):
    """23:00 until it is warm: minutes of cold after 7:00 or of heating before."""
    air, left, took = WARM, STEPS, 0
    for _ in range(OFF_STEPS):
        air = pass_time(house, air, outside, False)
    while left and not controller.decide(air, outside, left):
        air = pass_time(house, air, outside, False)
        left -= 1
    cold = WARM - air
    while air < WARM:
        air = pass_time(house, air, outside, True)
        took += 1
    controller.morning(cold, max(1, took))
    return abs(took - left) * STEP_MIN


def main(nights=18, house=(45, 1200), show=True):
    """All three live through the same nights: mean minutes a morning of each."""
    lessons, rate = teach((90, 1800))
    controllers = [Learner(False), Rule(rate), Learner(True)]
    for learner in controllers[::2]:
        for air, learner.outside, left, need in lessons:
            learner.store.fill(learner.look(WARM - air, left), 1 if need >= left else 0)
        for _ in learner.loop.trainer.first_steps():
            pass
    sums = [0, 0, 0]
    if show:
        print("night outside | minutes wrong: never learns  rule  learns")
    for n in range(nights):
        outside = OUTSIDE[n % len(OUTSIDE)] * 1000
        wrong = [night(controller, house, outside) for controller in controllers]
        sums = [a + b for a, b in zip(sums, wrong)]  # noqa: B905  boards have no strict zip
        if show:
            print("%5d %5d C | %26d %5d %7d" % tuple([n + 1, outside // 1000] + wrong))
        gc.collect()
    if show:
        print("mean          | %26.1f %5.1f %7.1f" % tuple(total / nights for total in sums))
    return [total / nights for total in sums]


if __name__ == "__main__":
    means = main()
