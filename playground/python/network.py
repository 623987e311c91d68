# SPDX-License-Identifier: MIT
"""An int8 network that the host compiled learns a new writer's digits, one at a time."""

from array import array

from acclimate.net import Net

RATE = (1500, -16)  # 0.023
_state = None


def _read(name):
    with open("/page/" + name, "rb") as file:
        return file.read()


class Learner:
    """The network in its arena, and the writer's digits: each `size` bytes and a label."""

    def __init__(self):
        self.program = _read("digits.program")
        self.arena = bytearray(int.from_bytes(self.program[8:12], "little"))
        self.net = Net(self.program, _read("digits.weights"), self.arena)
        self.net.set_rate(*RATE)
        self.samples = _read("digits.samples")
        self.size = self.net.input_bytes
        self.count = len(self.samples) // (self.size + 1)
        self.learn = self.count // 2
        self.at = self.seen = 0

    def sample(self, k):
        start = k * (self.size + 1)
        return self.samples[start : start + self.size], self.samples[start + self.size]

    def right(self):
        """How many of the later digits are predicted right, and what was said of each."""
        said, right = [], 0
        for k in range(self.learn, self.count):
            x, truth = self.sample(k)
            said.append(self.net.predict(x))
            right += said[-1] == truth
        return right, said


def begin():
    global _state
    _state = Learner()
    s = _state
    right, said = s.right()
    return {
        "arena": len(s.arena),
        "program": len(s.program),
        "weights": len(s.net.weights()),
        "learn": s.learn,
        "tested": s.count - s.learn,
        "right": right,
        "digits": [[list(x), y] for x, y in (s.sample(k) for k in range(s.count))],
        "said": said,
    }


def train(count):
    """Learn the next `count` digits; the share that each was given before, and a test."""
    s = _state
    shares = []
    for _ in range(count):
        x, label = s.sample(s.at)
        shares.append(s.net.train_step(x, label) / 32768)
        s.at = (s.at + 7) % s.learn
        s.seen += 1
    right, said = s.right()
    return {"shares": shares, "seen": s.seen, "right": right, "said": said}


def say(pixels):
    """What the network says of a drawn digit of 64 pixels, 0..16."""
    x = _input(pixels)
    return {"said": _state.net.predict(x)}


def teach(pixels, label):
    """Learn one drawn digit, three times."""
    x = _input(pixels)
    shares = [_state.net.train_step(x, label) / 32768 for _ in range(3)]
    _state.seen += 1
    return {"said": _state.net.predict(x), "shares": shares, "right": _state.right()[0]}


def _input(pixels):
    out = array("b", bytes(_state.size))
    _state.net.quantize([v / 8 - 1 for v in pixels], out)
    return out
