# SPDX-License-Identifier: MIT
"""The board's side of the demo: runs on the device, is called line by line by the host.

Raw samples come in, features are computed here, the loop predicts, learns and tests here; only
labels, counts and clock readings go out.
"""

import gc
from array import array
from binascii import a2b_base64, b2a_base64

from acclimate.features import WindowFeatures
from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand
from acclimate.svm import SVM

try:
    from qboard import ticks

except ImportError:
    from time import ticks_us as ticks

MASK = 0x3FFFFFFF  # both clocks wrap; differences below 2**30 survive that


class Demo:
    """Everything is allocated here, once."""

    def __init__(self, channels, samples, shift, kinds, store, train, pending, machine):
        self.features = WindowFeatures(channels, samples, shift, kinds)
        width = self.features.width
        self.window = array("h", range(channels * samples))  # any values, and no second buffer
        self.store = Stitcher(width, *store)
        models = [SVM(storage="int8", **machine) for _ in range(2)]
        trainer = TrainOnDemand(models[0], models[1], self.store, *train)
        io = IO(models[0], self.features)
        self.loop = Loop(io, Feedback(width, pending + 1), self.store, trainer)
        self.row = array("b", bytes(width))
        classes = store[0]
        self.values = array("f", bytes(2 * classes * (classes - 1)))
        self.peak = 0

    def raw(self, at, text):
        """Take a part of a window: `text` is base64 of little-endian int16 values."""
        for value in array("h", a2b_base64(text)):
            self.window[at] = value
            at += 1

    def fill(self, truth, text):
        """Take one factory sample."""
        self.take(text)
        self.store.fill(self.row, truth)

    def clocked(self, step):
        """Run `step` and return (what it returned, ticks)."""
        start = ticks()
        result = step()
        return result, (ticks() - start) & MASK

    def factory(self):
        """Train the model that the product ships with. Prints: rows, ticks."""
        steps = iter(self.loop.trainer.first_steps())
        total = 0
        more = True
        while more is not None:
            more, used = self.clocked(lambda: next(steps, None))
            total += used
            self.note_peak()
        print(self.loop.trainer.rows, total)

    def ship(self, path):
        """Begin with a model from a file instead. Prints: ticks."""
        machine, used = self.clocked(lambda: SVM.load(path))
        machine.storage = "int8"
        machine.gamma = None  # chosen anew from what it is trained on
        self.loop.trainer.live = self.loop.io.model = machine
        print(used)

    def sense(self):
        """Predict the window. Prints: label, ticks of the features, ticks of the prediction."""
        loop = self.loop
        start = ticks()
        self.features.into(self.window, loop.io.row)
        middle = ticks()
        label = loop.io.model.predict(loop.io.row)
        end = ticks()
        loop.feedback.expect(loop.io.row, label)
        print(label, (middle - start) & MASK, (end - middle) & MASK)

    def observe(self, truth):
        """The truth about an earlier window has come; then train when it is time."""
        self.loop.observe(truth)
        self.train()

    def train(self):
        """All idle steps that wait.

        Prints for a training: verdict, ticks, longest step, rows, old, new and tested.
        """
        total = longest = 0
        trainer = self.loop.trainer
        verdict = None
        while verdict is None:
            verdict, used = self.clocked(self.loop.idle)
            total += used
            longest = max(longest, used)
            self.note_peak()
            if not trainer.busy():
                break
        if verdict:
            print(
                verdict,
                total,
                longest,
                trainer.rows,
                trainer.old_right,
                trainer.new_right,
                trainer.tested,
            )

    def keep(self):
        """Features of the window, for tests. Prints: base64 of the row."""
        self.features.into(self.window, self.row)
        print(b2a_base64(bytes(memoryview(self.row))).decode().strip())

    def take(self, text):
        """The row is what `keep` printed."""
        at = 0
        for value in array("b", a2b_base64(text)):
            self.row[at] = value
            at += 1

    def test(self, _, text):
        """Answer a row without learning from it. Prints: label."""
        self.take(text)
        print(self.loop.io.model.predict(self.row))

    def margin(self, truth, text):
        """How clearly a row is what it is.

        Prints: the smallest decision value that speaks for the truth, in thousandths (above 0:
        it wins each of its pairs).
        """
        self.take(text)
        values = self.loop.io.model.decision(self.row, self.values)
        classes = self.store.classes
        least = None
        at = 0
        for i in range(classes):
            for j in range(i + 1, classes):
                if truth in (i, j):
                    value = values[at] if truth == i else -values[at]
                    least = value if least is None or value < least else least
                at += 1
        print(int(least * 1000))

    def note_peak(self):
        """Remember the most bytes that were in use between two steps, without garbage."""
        gc.collect()
        self.peak = max(self.peak, gc.mem_alloc())

    def bytes(self):
        """Heap in use after a collection. Prints: in use, free."""
        gc.collect()
        print(gc.mem_alloc(), gc.mem_free(), self.peak)
