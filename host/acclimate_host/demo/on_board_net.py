# SPDX-License-Identifier: MIT
"""The board's side of the network's demo: samples lie in a file, numbers go out.

The file has `input_bytes` of stored values for each sample, and its label in one byte.
"""

import gc
from binascii import b2a_base64

from acclimate.net import Net

try:
    from qboard import ticks
except ImportError:
    from time import time_ns

    def ticks():
        return time_ns() // 1000


MASK = 0x3FFFFFFF


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Learner:
    """A network over one arena of a fixed size, and one buffer for a sample."""

    def __init__(self, folder, arena_bytes, learn, test):
        program, weights = read(folder + "/net_program"), read(folder + "/net_weights")
        self.net = Net(program, weights, bytearray(arena_bytes))
        self.file = open(folder + "/net_samples", "rb")
        self.row = bytearray(self.net.input_bytes + 1)
        self.x = memoryview(self.row)[: self.net.input_bytes]
        self.learn, self.tested = learn, test
        gc.collect()

    def sample(self, number):
        """Read a sample into the buffer; return its label."""
        self.file.seek(number * len(self.row))
        self.file.readinto(self.row)
        return self.row[-1]

    def epoch(self, stride, rate, exponent):
        """Learn from each sample once, `stride` apart. Prints: right before, longest, ticks."""
        self.net.set_rate(rate, exponent)
        total = longest = right = 0
        for i in range(self.learn):
            label = self.sample(i * stride % self.learn)
            start = ticks()
            share = self.net.train_step(self.x, label)
            used = (ticks() - start) & MASK
            right += share > 16384
            total += used
            longest = max(longest, used)
        print(right, longest, total)

    def test(self):
        """Prints how many of the later samples are predicted right, and the ticks that took."""
        right = total = 0
        for i in range(self.learn, self.learn + self.tested):
            label = self.sample(i)
            start = ticks()
            right += self.net.predict(self.x) == label
            total += (ticks() - start) & MASK
        print(right, total)

    def weights(self, at, count):
        """Prints bytes of what training changed, in base64."""
        part = bytes(self.net.weights()[at : at + count])
        print(b2a_base64(part).decode().strip())
