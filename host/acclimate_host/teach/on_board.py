# SPDX-License-Identifier: MIT
"""The board's side of teaching, copied to it as teach_board: a stream that a model learns from."""

import gc
import json
import os
from array import array
from binascii import a2b_base64

from stream_board import Stream, load_sensor  # noqa: F401 (the host calls both by these names)

from acclimate.features import WindowFeatures
from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand
from acclimate.svm import SVM

try:
    from qboard import ticks
except ImportError:
    from time import ticks_us as ticks

MASK = 0x3FFFFFFF  # both clocks wrap; differences below 2**30 survive that
UNTAUGHT = 255  # said before there is a model
STEPS = 8  # of a training in one look


class Teacher(Stream):
    """The stream, the sample store and the model; everything is allocated here.

    :param int shift: of the features. :param dict machine: arguments of SVM
    :param int per_class: windows of a class that are kept, beside those held back
    :param int least: windows of each class, without those held back, before the first training
    """

    def __init__(self, sensor, classes, samples, hop, shift, machine, per_class, least):
        super().__init__(sensor, classes, samples, hop)
        self.least = least
        self.features = WindowFeatures(sensor.channels, samples, shift)
        width = self.features.width
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
        self.held = bytearray(classes)
        self.confusion = array("H", bytes(2 * classes * classes))
        self.ticks = self.trainings = 0
        gc.collect()

    def work(self):
        """What the model says of the window, and some training."""
        if self.taught and self.filled == len(self.window):
            self.said = self.loop.io.step(self.window)
        return self.train_some()

    def learn(self, truth):
        """Take the window as a sample of a class."""
        if self.taught:
            said = self.loop.sense(self.window)
            self.confusion[truth * self.classes + said] += 1
            before = self.store.held_count
            self.loop.observe(truth)
            super().learn(truth)
            self.held[truth] += self.store.held_count > before
            return
        self.features.into(self.window, self.row)
        kept_back = self.store.add(self.row, UNTAUGHT, truth)
        super().learn(truth)
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

    def train_some(self):
        """Some steps of a training. Returns a verdict when one has ended."""
        if not self.taught and self.first is None and not self.lacking():
            self.first = iter(self.trainer.first_steps())
        verdict = None
        for _ in range(STEPS):
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
        found = super().state(verdict)
        loop, trainer = self.loop, self.trainer
        found["said"] = self.said if self.taught and self.said != UNTAUGHT else None
        found["training"] = self.first is not None or trainer.busy()
        found["taught"] = self.taught
        found["lacking"] = [] if self.taught else self.lacking()
        found["held"] = self.store.held_count
        found["recent"] = loop.feedback.recent() if loop.feedback.answered else None
        found["kept"], found["discarded"] = trainer.kept, trainer.discarded
        found["confusion"] = list(self.confusion)
        found["ticks"] = self.ticks
        return found

    def save(self, folder, program):
        """Write model and program; what main.py was there before is kept. Prints names."""
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
