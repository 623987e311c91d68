# SPDX-License-Identifier: MIT
# RUNTIMES = ("cpython-twin", "desktop-native", "desktop-f32", "nrf52840", "esp32", "rv32")
# NOT_ON = {"nrf52840-pure": "no float32 in Python", "esp32-pure": "no float32 in Python"}
"""A float32 network, in the same interpreter: close to float64, and the same Net."""

import struct

import net_vectors_float as v
import net_vectors_float_pools as pools
from net_float_checks import close

from acclimate.net import FloatNet, Net, NetError


def test_a_step_is_close_to_float64():
    check_step(v)


def test_a_step_through_pools_is_close_to_float64():
    check_step(pools)


def check_step(v):
    net = FloatNet(bytearray(v.PROGRAM), v.WEIGHTS)
    net.set_rate(v.RATE)
    best = net.predict(v.INPUT)
    assert close(bytes(net.outputs()), v.OUTPUTS)
    assert 0 <= best < 3 and 85 <= net.confidence() <= 255
    net.train_step(v.INPUT, v.LABEL)
    assert close(bytes(net.weights()), v.TRAINED)


def test_int8_and_float32_are_not_mixed_up():
    try:
        Net(bytearray(v.PROGRAM), v.WEIGHTS)
    except NetError as error:
        assert "FloatNet" in str(error)
        return
    raise AssertionError("not refused")


def test_numbers_that_are_not_finite_are_told_and_change_nothing():
    net = FloatNet(bytearray(v.PROGRAM), v.WEIGHTS)
    net.set_rate(v.RATE)
    for bad in (float("nan"), float("inf")):
        x = struct.pack("<f", bad) * (len(v.INPUT) // 4)
        assert 0 <= net.predict(x) < 3 and net.confidence() == 0
        try:
            net.train_step(x, 1)
        except NetError as error:
            assert "not finite" in str(error)
        else:
            raise AssertionError("not refused")
        assert bytes(net.weights()) == v.WEIGHTS
    net.train_step(v.INPUT, v.LABEL)
    assert close(bytes(net.weights()), v.TRAINED)
    net.predict(v.INPUT)
    assert net.real_outputs()[net.best()] == max(net.real_outputs())
