# SPDX-License-Identifier: MIT
"""The board's side of the second part in 32 KB: a linear machine of two labels, 16 rows kept.

As update_board.py; how sure the machine is follows from its decision value, by one sigmoid.
"""

import gc
from array import array

from acclimate import acceptance
from acclimate.reservoir import Reservoir
from acclimate.store import WEIGHTS
from acclimate.svm import SVM

CAPACITY = 16


class _Section:
    """The weights of a store or of a waiting model, as a file that is read from its beginning."""

    def __init__(self, model):
        self.model = model
        self.at = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def readinto(self, out):
        items = out if isinstance(out, bytearray) else bytearray(len(out) * 4)
        self.model.readinto(WEIGHTS, self.at, items)
        self.at += len(items)
        if items is not out:
            for i in range(len(out)):
                out[i] = int.from_bytes(items[4 * i : 4 * i + 4], "little")

    def read(self, count):
        out = bytearray(min(count, self.size() - self.at))
        self.readinto(out)
        return out

    def size(self):
        head = self.model.head
        return head.section_size(head.find(WEIGHTS))


class Judge:
    """A sample of what the device met while a model waits, and the verdict on that model."""

    def __init__(self, store, width, temperature):
        gc.collect()
        self.store = store
        self.temperature = temperature
        self.model = SVM.load(_Section(store))
        self.sample = Reservoir(CAPACITY, width)
        self.numbers = bytearray(CAPACITY)
        self.row = array("b", bytes(width))
        self.differ = bytearray(CAPACITY)
        self.new = bytearray(CAPACITY)

    def answer(self, machine, row, temperature):
        """Return label x 256 + how sure, 0 to 255."""
        value = max(-32768, min(32767, int(256 * machine.decision(row))))
        return acceptance.confidence((0, value), 2, temperature)

    def meet(self, number, row):
        """One window of the user: predicted, and kept or not."""
        answer = self.answer(self.model, row, self.temperature)
        place = self.sample.offer(row, answer >> 8, answer & 255)
        if place >= 0:
            self.numbers[place] = number

    def ask(self, most, temperature):
        """Load the model that waits; print on how many rows they differ and which need a label."""
        self.model = None  # what it said is in the sample: its RAM is for the other one
        gc.collect()
        self.sure = temperature
        self.other = SVM.load(_Section(self.store.waiting()))
        sample = self.sample
        for i in range(sample.count):
            sample.row(i, self.row)
            self.new[i] = self.other.predict(self.row)
        n = acceptance.disagreements(sample.predictions, self.new, sample.count, self.differ)
        self.asked = min(most, n)
        print(n, *[self.numbers[self.differ[k]] for k in range(self.asked)])

    def judge(self, *labels):
        """Print the verdict, how often the new and the old were right, and the score."""
        told = {self.differ[k]: labels[k] for k in range(self.asked)}
        verdict = acceptance.accept(
            self.store,
            self.sample,
            lambda _, row: self.answer(self.other, row, self.sure),
            labels=told,
        )
        old = self.sample.predictions
        right = [sum([told[i] == made[i] for i in told]) for made in (self.new, old)]
        print(("undecided", "reject", "accept")[verdict + 1], *right, self.store.verdict()[1])
        self.other = self.sample = None  # their RAM is for the trial
        gc.collect()

    def test(self, *rows):
        """Labels of rows, without keeping them."""
        print(*[self.model.predict(row) for row in rows])
