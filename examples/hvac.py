# SPDX-License-Identifier: MIT
"""A heating controller that learns the house it was put into (after Edge2Train, section 3.3).

The heating is off from 23:00 and the room shall be warm at 7:00. From 1:00 on the controller
decides every ten minutes: start now, or wait? It ships with a model of the manufacturer's light
test house. This house is heavier, so it starts too late and the morning is cold. The warm-up that
was then observed tells which decisions of the night were right: that is the live feedback. It
goes into the sample store, and the controller trains again in the daytime, in short steps.

A second controller with the same model, house and weather never learns. It is the comparison.

Runs on CPython and on every board:   acclimate run examples/hvac.py --board nrf52840
The physics are made up here: one room, thousandths of a degree, no sun, no people.
"""

import gc
from array import array

from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand
from acclimate.svm import SVM

SVM.bytes_needed(2, 1)  # loads what trains: a deep call has little stack left for imports

WARM = 20000  # thousandths of a degree Celsius
STEPS = 36  # decisions from 1:00 to 7:00
STEP_MIN = 10
OFF_STEPS = 12  # 23:00 to 1:00
OUTSIDE = (6, 3, 1, -2, 0, 4, 7, 5, 2, -1, -4, -3, 1, 3, 5, 0, -2, 2)  # each night, Celsius


class House:
    """One room that loses heat to the outside.

    :param int heat: thousandths of a degree that a minute of heating gives
    :param int keeps_min: minutes after which 63 % of the warmth would be gone
    """

    def __init__(self, heat, keeps_min):
        self.heat = heat
        self.keeps_min = keeps_min
        self.air = WARM

    def step(self, outside, heating):
        """Ten minutes."""
        for _ in range(STEP_MIN):
            self.air += (self.heat if heating else 0) - (self.air - outside) // self.keeps_min

    def steps_to_warm(self, outside):
        """How long it would take from here: known to the manufacturer only."""
        air, steps = self.air, 0
        while self.air < WARM and steps < 2 * STEPS:
            self.step(outside, True)
            steps += 1
        self.air = air
        return steps


class Controller:
    """The learned decision: 1 starts the heating, 0 waits."""

    def __init__(self, learns):
        self.learns = learns
        store = Stitcher(width=3, classes=2, per_class=48, held=24, hold_every=4)
        models = [SVM(kernel="linear", C=0.1, storage="int8") for _ in range(2)]
        trainer = TrainOnDemand(*models, store, enough=24, margin=-1, least_held=6)
        self.loop = Loop(IO(models[0]), Feedback(3, STEPS, STEPS), store, trainer)
        self.row = array("b", [0, 0, 0])
        self.air = array("i", [0] * (STEPS + 1))

    def look(self, air, outside, step):
        """What the sensors say, as small integers."""
        self.row[0] = max(0, min(127, (WARM - air) // 100))
        self.row[1] = outside // 250
        self.row[2] = STEPS - step
        return self.row

    def feedback(self, start, warm_after):
        """The truth about each decision of the night.

        From the start, `warm_after` steps made up for the cold of that moment; earlier there was
        less to make up for, in proportion.
        """
        cold = max(1, WARM - self.air[start])
        for step in range(self.loop.feedback.waiting):
            need = warm_after * (WARM - self.air[step]) // cold
            self.loop.observe(1 if need >= STEPS - step else 0)
        if self.learns:
            return self.loop.run_idle()
        return None


def teach(controller, house):
    """The manufacturer's nights: in the test house the right answer is known."""
    for outside in (8, 4, 0, -4):
        house.air = WARM
        for step in range(-OFF_STEPS, STEPS):
            if step >= 0 and (step % 3 == 0 or step > STEPS - 12):
                need = house.steps_to_warm(outside * 1000)
                row = controller.look(house.air, outside * 1000, step)
                controller.loop.stitcher.fill(row, 1 if need >= STEPS - step else 0)
            house.step(outside * 1000, False)
    for _ in controller.loop.trainer.first_steps():
        pass


def night(controller, house, outside):
    """23:00 until it is warm; returns (minutes cold after 7:00, minutes warm before, verdict)."""
    house.air = WARM
    for _ in range(OFF_STEPS):
        house.step(outside, False)
    start = STEPS
    for step in range(STEPS):
        controller.air[step] = house.air
        row = controller.look(house.air, outside, step)
        if start == STEPS and controller.loop.sense(row):
            start = step
        house.step(outside, start <= step and house.air < WARM)
        if start <= step and house.air >= WARM:
            break
    if start == STEPS:
        controller.air[start] = house.air
    warm_after = step + 1 - start
    cold = 0
    while house.air < WARM:
        house.step(outside, True)
        cold += 1
        warm_after += 1
    early = max(0, STEPS - start - warm_after)
    return cold * STEP_MIN, early * STEP_MIN, controller.feedback(start, warm_after)


def main(nights=18):
    """Both controllers live through the same nights."""
    print("night outside | never learns: cold  early | learns: cold  early")
    sums = [[0, 0, 0, 0], [0, 0, 0, 0]]
    pair = [Controller(False), Controller(True)]
    for controller in pair:
        teach(controller, House(heat=90, keeps_min=1800))
    for n in range(nights):
        outside = OUTSIDE[n % len(OUTSIDE)] * 1000
        row = []
        verdict = None
        for controller in pair:
            cold, early, verdict = night(controller, House(heat=45, keeps_min=1200), outside)
            row += [cold, early]
        half = sums[0 if n < nights // 2 else 1]
        for i in range(4):
            half[i] += row[i]
        print(
            "%5d %5d C | %14d min %3d min | %8d min %3d min  %s"
            % (n + 1, outside // 1000, row[0], row[1], row[2], row[3], verdict or "")
        )
        gc.collect()
    for name, half, count in (
        ("First half", sums[0], nights // 2),
        ("Second half", sums[1], nights - nights // 2),
    ):
        print(
            "%s: too cold after 7:00 for %d minutes a morning without learning, %d with it;"
            % (name, half[0] // count, half[2] // count)
        )
        print(
            "  warm before 7:00 for %d minutes without, %d with"
            % (half[1] // count, half[3] // count)
        )
    return sums


if __name__ == "__main__":
    sums_of_halves = main()
