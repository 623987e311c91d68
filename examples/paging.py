# SPDX-License-Identifier: MIT
"""Training that pages: all layers learn in less RAM than their step needs.

A camera sees bars: level, upright, aslant. The network learned dark bars on a light ground; this
camera sees light bars on a dark ground. What the step does not need for a while lies in files.

    python examples/paging_plan.py           # on the computer: train, plan, compile
    acclimate run examples/paging.py --board nrf52840 --put net_program net_weights
    (--port DEV instead of --board, after `acclimate install --only net,pager`)

The camera is simulated: `see` fills what your driver would fill.
"""

import gc

from acclimate.net import Net
from acclimate.pager import Files, Pager

EDGE, CLASSES, BLOCKS, BLOCK_BYTES = 16, 3, 8, 4096
RATE, TEST = 0.01, 30


class Camera:
    """Images of EDGE x EDGE numbers from 0 to 1: a bar somewhere, and noise."""

    def __init__(self, is_inverted, seed=7):
        self.is_inverted, self.seed = is_inverted, seed
        self.image = [0.0] * (EDGE * EDGE)

    def draw(self, most):
        self.seed = (self.seed * 171) % 30269
        return self.seed % most

    def see(self, label):
        """Fill and return the image: 0 a level bar, 1 an upright one, 2 one aslant."""
        place = 2 + self.draw(EDGE - 4)
        for y in range(EDGE):
            for x in range(EDGE):
                off = (y - place, x - place, (x + y) % EDGE - place)[label]
                value = (20 if abs(off) <= 1 else 60) + self.draw(40)
                self.image[EDGE * y + x] = (100 - value if self.is_inverted else value) / 100
        return self.image


def read(path):
    with open(path, "rb") as file:
        return file.read()


def test(net, x, camera):
    """Return how many of TEST images are right."""
    right = 0
    for k in range(TEST):
        right += net.predict(net.quantize(camera.see(k % CLASSES), x)) == k % CLASSES
    return right


def main(rounds=8, steps=6):
    """Print a row a round: steps so far, how many images are right, what a step paged."""
    pager = Pager(Files("pages", BLOCKS, BLOCK_BYTES), endurance=10000)
    net = Net(read("net_program"), read("net_weights"), pager=pager)
    net.set_rate(RATE)
    camera, x = Camera(is_inverted=True), bytearray(net.input_bytes)
    print(net)
    print("step | right of %d, bytes paged in a step" % TEST)
    print("%4d %5d" % (0, test(net, x, camera)))
    for n in range(1, rounds + 1):
        start = pager.written_bytes
        for k in range(steps):
            net.train_step(net.quantize(camera.see(k % CLASSES), x), k % CLASSES)
        paged = (pager.written_bytes - start) // steps
        print("%4d %5d %8d" % (n * steps, test(net, x, camera), paged))
        gc.collect()
    print(pager)


if __name__ == "__main__":
    main()
