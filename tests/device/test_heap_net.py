# SPDX-License-Identifier: MIT
"""Networks, stores and samples that are made and dropped leave the heap as it was."""
# RUNTIMES = ("desktop", "desktop-native", "desktop-f32", "nrf52840", "esp32", "rv32")

from heap_rounds import check
from net_vectors_mlp import INPUTS, LABELS, PROGRAM, WEIGHTS
from nor import NorFlash

from acclimate.net import Net
from acclimate.reservoir import Reservoir
from acclimate.store import Store


def test_net():  # case: A18
    def use():
        net = Net(bytearray(PROGRAM), WEIGHTS)
        net.set_rate(0.02)
        net.train_step(INPUTS[0], LABELS[0])

    check(use)


def test_store_and_reservoir():  # case: A18
    def use():
        assert Store(NorFlash(8 * 256, 256)).active is None
        Reservoir(8, 4).offer(b"1234", 0, 0)

    check(use)
