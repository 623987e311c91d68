# SPDX-License-Identifier: MIT
"""The board's side of the second part: keep what the user did, ask for labels, judge a model.

Rows of features come in; labels and verdicts go out. ``store`` is what the host's set-up made.
"""

import gc
import io
from array import array

from acclimate import acceptance
from acclimate.reservoir import Reservoir
from acclimate.store import WEIGHTS
from acclimate.svm import SVM

CAPACITY = 64


def load(flash, start, head):
    """Return the machine in a capsule's weights, wherever in the flash it is."""
    gc.collect()
    index = head.find(WEIGHTS)
    return SVM.load(Section(flash, start + head.section_at(index), head.section_size(index)))


class Section:
    """A part of the flash as a stream: a small heap has no room for a copy of it all."""

    def __init__(self, flash, at, size):
        self.flash = flash
        self.start = self.at = at
        self.end = at + size

    def seek(self, at):
        self.at = self.start + at

    def read(self, count):
        data = bytearray(min(count, self.end - self.at))
        self.flash.readinto(self.at, data)
        self.at += len(data)
        return data

    def readinto(self, items):
        width = len(bytes(items[:1]))  # MicroPython tells the bytes of an item in no other way
        if width == 1:
            self.flash.readinto(self.at, items)
            self.at += len(items)
        elif width:
            io.BytesIO(self.read(width * len(items))).readinto(items)


class Judge:
    """A fair sample of what the device met, and the verdict on another model."""

    def __init__(self, store, width):
        self.store = store
        self.sample = Reservoir(CAPACITY, width)
        self.numbers = bytearray(CAPACITY)  # of the windows that are held
        self.row = array("b", bytes(width))
        self.new = bytearray(CAPACITY)
        self.differ = bytearray(CAPACITY)
        self.model = self.other = self.shares = None

    def use(self):
        """Load the model in use. Prints: its version."""
        store = self.store
        self.model = self.other = None
        self.model = load(store.flash, store.slots.start(store.active), store.head)
        print(store.head.version)

    def meet(self, number, row):
        """One window of the user: predicted, and kept or not."""
        place = self.sample.offer(row, self.model.predict(row), 0)
        if place >= 0:
            self.numbers[place] = number

    def answer(self, model, row):
        """Return label x 256 + how sure a machine is of it: Platt's sigmoids, 0 to 255."""
        self.shares = model.predict_proba(row, self.shares)
        return model.predict(row) << 8 | int(255 * max(self.shares) + 0.5)

    def ask(self, most):
        """Answer the sample with both models; print the windows that need a label."""
        store, sample = self.store, self.sample
        waiting = store.waiting()
        self.other = load(waiting.flash, store.slots.start(waiting.active), waiting.head)
        sample.refresh(lambda row: self.answer(self.model, row), self.row)
        for i in range(sample.count):
            sample.row(i, self.row)
            self.new[i] = self.other.predict(self.row)
        n = acceptance.disagreements(sample.predictions, self.new, sample.count, self.differ)
        self.asked = min(most, n)
        print(n, *[self.numbers[self.differ[k]] for k in range(self.asked)])

    def judge(self, *labels):
        """The labels have come. Prints: verdict, how often the new and the old were right."""
        told = {self.differ[k]: labels[k] for k in range(self.asked)}
        verdict = acceptance.accept(
            self.store, self.sample, lambda _, row: self.answer(self.other, row), labels=told
        )
        self.other = None
        right = [
            sum(told[i] == made[i] for i in told) for made in (self.new, self.sample.predictions)
        ]
        print(("undecided", "reject", "accept")[verdict + 1], *right, self.store.verdict()[1])

    def test(self, *rows):
        """Labels of rows, without keeping them."""
        print(*[self.model.predict(row) for row in rows])
