# SPDX-License-Identifier: MIT
"""The board's side of federated.py: train the newest model on own samples; those never leave.

A capsule brings the model, and what was learned is kept as a capsule of the board's own, which the
computer reads over the cable. Samples are rows of 64 pixels and a label, in a file of the board.
"""

import gc

from acclimate.flash import BlockFlash, open_flash
from acclimate.net import FloatNet
from acclimate.store import PROGRAM, WEIGHTS, Store, Wanted

ROW = 65  # 64 pixels from 0 to 16, and the label


def read(path):
    with open(path, "rb") as file:
        return file.read()


def open_region():
    try:
        import qboard  # an emulated board
    except ImportError:
        return open_flash("capsule.region", 262144)
    return BlockFlash(qboard.Flash(qboard.RAW_START, qboard.RAW_BYTES))


store = Store(open_region(), Wanted(model=9, kind=2, key=read("capsule.key")))


def load():
    parts = []
    for section in (PROGRAM, WEIGHTS):
        parts.append(bytearray(store.section(section)[1]))
        store.readinto(section, 0, parts[-1])
    return FloatNet(*parts)


def rows(path, net):
    """Yield (input, label) of a file of samples; the input is used again."""
    data, x = read(path), bytearray(net.input_bytes)
    for at in range(0, len(data), ROW):
        yield net.quantize([pixel / 16 for pixel in data[at : at + 64]], x), data[at + 64]


def count_right(net):
    """Return how many of the samples in test.bin are right."""
    return sum(net.predict(x) == label for x, label in rows("test.bin", net))


def train(passes, rate):
    """Train, keep what was learned in the store; return (right before, right after)."""
    gc.collect()
    net = load()
    net.set_rate(rate)
    before = count_right(net)
    for _ in range(passes):
        for x, label in rows("own.bin", net):
            net.train_step(x, label)
    net.save(store)
    return before, count_right(net)
