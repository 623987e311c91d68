# SPDX-License-Identifier: MIT
"""A heating controller that learns the house it was put into (after Edge2Train, section 3.3).

Every ten minutes until 7:00 it decides: start now? It ships with the model of a test house, learns
from each warm-up, and is compared with no learning and with a rule. The physics are made up.

    acclimate run examples/hvac.py --board nrf52840      # or desktop, or --port /dev/ttyACM0
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
        air += house[0] * heating - (air - outside) // house[1]
    return air


class Rule:  # starts when the cold, at the rate of the last nights, takes the time that is left
    def __init__(self, rate):
        self.rates = [rate] * 3

    def decide(self, air, outside, left):
        return (WARM - air) * 3 >= left * sum(self.rates[-3:])

    def morning(self, cold, took):
        self.rates.append(cold / took)


class Learner:  # the learned decision: 1 starts the heating, 0 waits
    def __init__(self, learns):
        self.store = Stitcher(width=3, classes=2, per_class=48, held=24, hold_every=4)
        models = [SVM(kernel="linear", C=0.03, storage="int8") for _ in range(2)]
        trainer = TrainOnDemand(
            models[0], models[1], self.store, 8 if learns else 9999, least_held=6
        )
        self.loop = Loop(IO(models[0]), Feedback(3, STEPS, STEPS), self.store, trainer)
        self.colds, self.outside = array("i", [0] * STEPS), 0

    def look(self, cold, left):
        """What the sensors say, as small integers."""
        return array("b", (max(0, min(127, cold // 64)), self.outside // 250, 3 * left))

    def decide(self, air, outside, left):
        self.outside, self.colds[STEPS - left] = outside, WARM - air
        return self.loop.sense(self.look(WARM - air, left))

    def morning(self, cold, took):
        """From `cold` on it took so many steps; from less it takes less, in proportion."""
        for step in range(self.loop.feedback.waiting):
            more = took * self.colds[step] // max(1, cold) - STEPS + step  # steps it started late
            self.loop.observe(int(more >= 0)) if abs(more) <= NEAR else self.loop.feedback.skip()
        for left in range(max(1, took - NEAR + 1), min(STEPS + 1, took + NEAR)):
            self.store.add(self.look(cold, left), int(took >= left), int(took >= left))
        self.loop.run_idle()


def teach(house):
    """The manufacturer's nights: a list of (air, outside, steps left, steps needed)."""
    found = []
    for outside in (8000, 4000, 0, -4000):
        air = WARM
        for step in range(-OFF_STEPS, STEPS):
            if step >= 0 and (step % 3 == 0 or step > STEPS - 12):
                need, warmer = 0, air
                while warmer < WARM:
                    warmer, need = pass_time(house, warmer, outside, True), need + 1
                found.append((air, outside, STEPS - step, need))
            air = pass_time(house, air, outside, False)
    return found


def night(controller, house, outside):
    """23:00 until it is warm: minutes of cold after 7:00 or of heating before."""
    air, left, took = WARM, OFF_STEPS + STEPS, 0
    while left > STEPS or left and not controller.decide(air, outside, left):
        air, left = pass_time(house, air, outside, False), left - 1
    cold = WARM - air
    while air < WARM:
        air, took = pass_time(house, air, outside, True), took + 1
    controller.morning(cold, max(1, took))
    return abs(took - left) * STEP_MIN


def main(nights=18, house=(45, 1200), show=True):
    """Print minutes wrong of all three in each night; return the mean of each."""
    lessons = teach((90, 1800))
    rate = sum((WARM - air) / max(1, need) for air, _, _, need in lessons) / len(lessons)
    controllers = [Learner(False), Rule(rate), Learner(True)]
    for learner in controllers[::2]:
        for air, learner.outside, left, need in lessons:
            learner.store.fill(learner.look(WARM - air, left), 1 if need >= left else 0)
        list(learner.loop.trainer.first_steps())
        learner.store.forget()  # its samples are of another house
    wrong, tell = [], print if show else lambda _: None
    tell("night outside | minutes wrong: never learns  rule  learns")
    for n in range(nights):
        outside = OUTSIDE[n % len(OUTSIDE)] * 1000
        wrong.append([night(controller, house, outside) for controller in controllers])
        tell("%5d %5d C | %26d %5d %7d" % tuple([n + 1, outside // 1000] + wrong[n]))
        gc.collect()
    means = [sum(of_night[k] for of_night in wrong) / nights for k in range(3)]
    tell("mean          | %26.1f %5.1f %7.1f" % tuple(means))
    return means


if __name__ == "__main__":
    means = main()
