# SPDX-License-Identifier: MIT
"""The board's side of teaching, copied to it as teach_board: called line by line, prints JSON.

A sensor is a module with `channels`, `rate_hz` (0: as fast as asked) and ``read(out, at)``, which
writes one sample of int16 numbers into out[at:].
"""

import gc
import json
import sys
from array import array
from binascii import a2b_base64, b2a_base64

from acclimate.features import WindowFeatures
from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand
from acclimate.svm import SVM

try:
    from qboard import ticks

    MASK = 0x3FFFFFFF
except ImportError:
    from time import ticks_us as ticks

    MASK = 0x3FFFFFFF
from time import sleep_ms, ticks_add, ticks_diff, ticks_ms

UNTAUGHT = 255  # said before there is a model


class Teacher:
    """The stream, the sample store and the model; everything is allocated here.

    :param int classes: gestures, 2..9
    :param int samples: of a window. :param int hop: new samples between two looks
    :param int least: windows of each class, without those held back, before the first training
    """

    def __init__(self, sensor, classes, samples, hop, shift, machine, per_class, least):
        self.sensor = sensor
        self.classes = classes
        self.least = least
        self.hop = hop
        channels = sensor.channels
        self.features = WindowFeatures(channels, samples, shift)
        width = self.features.width
        self.window = array("h", bytes(2 * channels * samples))
        self.filled = 0
        self.row = array("b", bytes(width))
        self.store = Stitcher(width, classes, per_class, 4 * classes)
        self.live, spare = SVM(**machine), SVM(**machine)
        self.trainer = TrainOnDemand(self.live, spare, self.store, 2 * classes, -1, classes)
        self.loop = Loop(
            IO(self.live, self.features), Feedback(width, memory=20), self.store, self.trainer
        )
        self.first = None  # the first training, while it goes on
        self.taught = False
        self.said = UNTAUGHT
        self.told = bytearray(classes)
        self.held = bytearray(classes)
        self.confusion = array("H", bytes(2 * classes * classes))
        self.ticks = self.trainings = 0
        self.due = ticks_ms()
        gc.collect()

    def sample(self):
        """Move the window by one hop, at the pace of the sensor."""
        window, channels, sensor = self.window, self.sensor.channels, self.sensor
        new = self.hop * channels
        keep = len(window) - new
        for i in range(keep):
            window[i] = window[i + new]
        for at in range(keep, len(window), channels):
            if sensor.rate_hz:
                wait = ticks_diff(self.due, ticks_ms())
                if wait > 0:
                    sleep_ms(wait)
                elif wait < -500:
                    self.due = ticks_ms()  # it was away for a while
                self.due = ticks_add(self.due, 1000 // sensor.rate_hz)
            sensor.read(window, at)
        self.filled = min(len(window), self.filled + new)

    def poll(self):
        """A hop of the stream, what it looks like, and some training. Prints the state."""
        self.sample()
        if self.taught and self.filled == len(self.window):
            self.said = self.loop.io.step(self.window)
        verdict = self.work()
        state = self.state(verdict)
        new = self.hop * self.sensor.channels
        last = memoryview(self.window)[len(self.window) - new :]
        state["new"] = b2a_base64(bytes(last)).decode().strip()
        print(json.dumps(state))

    def tell(self, truth):
        """The last seconds were `truth`. Prints the state, with the whole window."""
        if self.filled < len(self.window):
            print(json.dumps({"word": "not yet: the first window is still being filled"}))
            return
        self.learn(truth)
        state = self.state(None)
        state["window"] = b2a_base64(bytes(self.window)).decode().strip()
        print(json.dumps(state))

    def learn(self, truth):
        """Take the window as a sample of a class."""
        if self.taught:
            said = self.loop.sense(self.window)
            self.confusion[truth * self.classes + said] += 1
            before = self.store.held_count
            self.loop.observe(truth)
            self.told[truth] += 1
            self.held[truth] += self.store.held_count > before
            return
        self.features.into(self.window, self.row)
        kept_back = self.store.add(self.row, UNTAUGHT, truth)
        self.told[truth] += 1
        self.held[truth] += kept_back

    def part(self, at, text):
        """Take a part of a window that was kept on the computer."""
        for value in array("h", a2b_base64(text)):
            self.window[at] = value
            at += 1
        self.filled = len(self.window)

    def lacking(self):
        """Classes that have too few windows to begin with."""
        return [c for c in range(self.classes) if self.told[c] - self.held[c] < self.least]

    def train(self):
        """Begin a training now. Prints the state, or which classes lack windows."""
        if self.lacking():
            print(json.dumps({"least": self.least, "lacking": self.lacking()}))
            return
        if not self.taught and self.first is None:
            self.first = iter(self.trainer.first_steps())
        elif self.taught and not self.trainer.busy():
            self.trainer.start()
        print(json.dumps(self.state(None)))

    def work(self):
        """Some steps of a training. Returns a verdict when one has ended."""
        if not self.taught and self.first is None and not self.lacking():
            self.first = iter(self.trainer.first_steps())
        verdict = None
        for _ in range(8):
            start = ticks()
            busy = True
            if self.first is not None:
                busy = next(self.first, None) is not None
                if not busy:
                    self.first = None
                    self.taught = True
                    verdict = "first"
            elif self.taught:
                verdict = self.force() if self.trainer.busy() else self.loop.idle()
                busy = self.trainer.busy()
            else:
                return None
            self.ticks += (ticks() - start) & MASK
            if verdict is not None:
                self.trainings += 1
                gc.collect()
                return verdict
            if not busy:
                return None
        return None

    def force(self):
        """A step of a training that was asked for, wherever the loop stands."""
        verdict = self.trainer.idle()
        if verdict == "kept":
            self.loop.io.model = self.trainer.live
            self.loop.feedback.new_model()
        return verdict

    def state(self, verdict):
        """What a page or a terminal shows; the heap is counted without garbage."""
        gc.collect()
        return {
            "said": self.said if self.taught and self.said != UNTAUGHT else None,
            "verdict": verdict,
            "training": self.first is not None or self.trainer.busy(),
            "taught": self.taught,
            "lacking": [] if self.taught else self.lacking(),
            "told": list(self.told),
            "held": self.store.held_count,
            "recent": self.loop.feedback.recent() if self.loop.feedback.answered else None,
            "kept": self.trainer.kept,
            "discarded": self.trainer.discarded,
            "confusion": list(self.confusion),
            "heap": [gc.mem_alloc(), gc.mem_free()],
            "ticks": self.ticks,
        }

    def show(self):
        print(json.dumps(self.state(None)))

    def perform(self, gesture, unseen):
        """For a replay: which recording comes now."""
        self.sensor.perform(gesture, unseen)
        self.filled = 0
        print(json.dumps(self.state(None)))

    def save(self, folder, program):
        """Write model and program; what main.py was there before is kept. Prints names."""
        import os

        if not self.taught:
            print(json.dumps({"word": "nothing to save: no training has ended yet"}))
            return
        self.loop.trainer.live.save(folder + "taught.svm")
        before = None
        names = os.listdir(folder or "/")
        if "main.py" in names:
            with open(folder + "main.py") as file:
                if "acclimate teach" not in file.read(200):
                    before = "main_before.py"
                    os.rename(folder + "main.py", folder + before)
        with open(folder + "main.py", "w") as file:
            file.write(program)
        print(json.dumps({"saved": ["main.py", "taught.svm"], "before": before}))


def load_sensor(name):
    """Import a sensor by name, anew when it was changed."""
    sys.modules.pop(name, None)
    return __import__(name)
