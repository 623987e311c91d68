# SPDX-License-Identifier: MIT
"""A gesture that learns its user: rest, shake or circle, from an accelerometer.

The product ships with samples of its maker's hand. This user moves less, slower, and holds the
device tilted. The program names a gesture and the user makes it, so the truth is known. Beside
it answers the model as it was shipped. What was learned stays in gesture.svm.

An MPU-6050 at I2C(0) is read where there is one. Else a hand is simulated, as it then says.

    acclimate run examples/gesture.py --board nrf52840     # or desktop, or --port /dev/ttyACM0
    mpremote run examples/gesture.py                       # after `acclimate install`
"""

import gc
from array import array

from acclimate.features import WindowFeatures
from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand
from acclimate.svm import SVM

NAMES = ("rest", "shake", "circle")
SAMPLES, CHANNELS = 32, 3  # 32 samples of 3 axes: 0.64 s at 50 Hz
MAKER, USER = (9000, 5, 0), (4200, 2, 5000)  # size, turns in a window, tilt
WAVE = (0, 38, 71, 92, 100, 92, 71, 38, 0, -38, -71, -92, -100, -92, -71, -38)  # a sine, percent


class SimulatedHand:
    """Makes windows of a gesture, in the numbers of the sensor at +-2 g (16384 is 1 g)."""

    def __init__(self, size, turns, tilt, seed):
        self.size, self.turns, self.tilt, self.seed = size, turns, tilt, seed

    def noise(self, most):
        self.seed = self.seed * 171 % 30269
        return self.seed % (2 * most + 1) - most

    def record(self, label, window):
        size = self.size + self.noise(self.size // 2)
        phase, turns = self.noise(8), self.turns * (2 if label == 1 else 1)
        for k in range(SAMPLES):
            at = phase + k * turns * len(WAVE) // SAMPLES
            x = size * WAVE[at % len(WAVE)] // 100 if label else 0
            y = size * WAVE[(at + 4) % len(WAVE)] // 100 if label == 2 else 0
            window[3 * k] = x + self.tilt + self.noise(1200)
            window[3 * k + 1] = y + self.noise(1200)
            window[3 * k + 2] = 16384 - abs(self.tilt) // 2 + self.noise(1200)
        return window


class Mpu6050:
    """The real hand: 50 samples a second of an MPU-6050."""

    def __init__(self):
        from machine import I2C

        self.bus, self.data = I2C(0), bytearray(6)
        self.bus.writeto_mem(0x68, 0x6B, b"\0")  # wake up; OSError where there is no sensor

    def record(self, label, window):
        from time import sleep_ms

        print("make this gesture now:", NAMES[label])
        sleep_ms(1000)
        for k in range(SAMPLES):
            self.bus.readfrom_mem_into(0x68, 0x3B, self.data)
            for axis in range(CHANNELS):
                value = self.data[2 * axis] << 8 | self.data[2 * axis + 1]
                window[3 * k + axis] = value - 65536 if value > 32767 else value
            sleep_ms(20)
        return window


def find_hand():
    try:
        return Mpu6050()
    except (ImportError, OSError, ValueError, TypeError):
        print("no MPU-6050: a simulated hand")
        return SimulatedHand(*USER, seed=77)


def main(rounds=10, windows=18):
    """Print a row a round; return percent right in the second half: (as shipped, learning)."""
    features = WindowFeatures(CHANNELS, SAMPLES, shift=8, kinds=("mean", "dev", "cross"))
    window, row = array("h", bytes(2 * CHANNELS * SAMPLES)), array("b", bytes(features.width))
    live, spare = (SVM(C=0.1, storage="int8") for _ in range(2))
    store = Stitcher(features.width, len(NAMES), per_class=12, held=9, hold_every=3)
    trainer = TrainOnDemand(live, spare, store, enough=6, least_held=3)
    loop = Loop(IO(live, features), Feedback(features.width), store, trainer)
    maker = SimulatedHand(*MAKER, seed=5)
    for k in range(8 * len(NAMES)):
        label = k % len(NAMES)
        store.fill(features.into(maker.record(label, window), row), label)
    for _ in trainer.first_steps():
        pass
    live.save("gesture.svm")
    shipped, hand, rights = SVM.load("gesture.svm"), find_hand(), []
    print("round | right of %d: as shipped, learning" % windows)
    for n in range(1, rounds + 1):
        right = [0, 0]
        for k in range(windows):
            label = k % len(NAMES)
            right[1] += loop.sense(hand.record(label, window)) == label
            right[0] += shipped.predict(loop.io.row) == label
            loop.observe(label)
        verdict = loop.run_idle()
        if verdict == "kept":
            live.save("gesture.svm")
        print("%5d %8d %8d" % (n, right[0], right[1]), verdict or "")
        rights.append(right)
        gc.collect()
    late = rights[rounds // 2 :]
    return [100 * sum(right[i] for right in late) / len(late) / windows for i in range(2)]


if __name__ == "__main__":
    shipped, learning = main()
    print("second half: %.0f %% right as shipped, %.0f %% learning" % (shipped, learning))
