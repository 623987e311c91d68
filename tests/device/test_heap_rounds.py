# SPDX-License-Identifier: MIT
"""Objects that are made and dropped again and again leave the heap as it was."""
# RUNTIMES = ("desktop", "desktop-native", "desktop-f32", "nrf52840", "esp32")

import gc

from net_vectors_mlp import INPUTS, LABELS, PROGRAM, WEIGHTS

from acclimate.net import Net
from acclimate.nor import NorFlash
from acclimate.reservoir import Reservoir
from acclimate.store import Store
from acclimate.svm import SVM


def check(use):
    """Ten rounds take what one took: no module is loaded twice, nothing is kept."""
    sizes = [0] * 12
    for i in range(12):
        use()
        gc.collect()
        gc.collect()
        sizes[i] = gc.mem_alloc()
    assert sizes[-1] <= sizes[1], sizes


def test_svm():
    def use():
        m = SVM(kernel="rbf", C=100, gamma=1.0)
        m.fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
        assert m.predict([0, 1]) == 1

    check(use)


def test_net():
    def use():
        net = Net(bytearray(PROGRAM), WEIGHTS)
        net.train_step(INPUTS[0], LABELS[0])

    check(use)


def test_store_and_reservoir():
    def use():
        assert Store(NorFlash(8 * 256, 256)).active is None
        Reservoir(8, 4).offer(b"1234", 0, 0)

    check(use)
