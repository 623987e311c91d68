# SPDX-License-Identifier: MIT
"""Machines that are made and dropped leave the heap as it was."""
# RUNTIMES = ("desktop", "desktop-native", "desktop-f32", "nrf52840", "esp32", "rv32")

from heap_rounds import check

from acclimate.svm import SVM


def test_svm():  # case: A18
    def use():
        m = SVM(kernel="rbf", C=100, gamma=1.0)
        m.fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
        assert m.predict([0, 1]) == 1

    check(use)
