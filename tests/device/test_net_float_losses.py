# SPDX-License-Identifier: MIT
# RUNTIMES = ("cpython-twin", "desktop-native", "desktop-f32", "nrf52840", "esp32", "rv32")
# NOT_ON = {"nrf52840-pure": "no float32 in Python", "esp32-pure": "no float32 in Python"}
"""Losses of float32 networks: close to float64."""

import net_vectors_float_binary as binary
import net_vectors_float_squared as squared
from net_float_checks import close

from acclimate.net import FloatNet


def check(v):
    net = FloatNet(bytearray(v.PROGRAM), v.WEIGHTS)
    assert abs(net.evaluate([(v.INPUT, v.TARGET)]) - v.LOSS) < 1e-3
    net.set_rate(v.RATE)
    net.train_step(v.INPUT, v.TARGET)
    assert abs(net.loss() - v.LOSS) < 1e-3
    assert close(bytes(net.weights())[v.BIAS_AT : v.BIAS_AT + len(v.BIAS)], v.BIAS)


def test_squared_loss_is_close_to_float64():
    check(squared)


def test_binary_loss_is_close_to_float64():
    check(binary)
