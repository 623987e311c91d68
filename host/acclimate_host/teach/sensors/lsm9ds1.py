# SPDX-License-Identifier: MIT
"""LSM9DS1 (Nano 33 BLE Sense): +-8 g, +-500 degrees/s; the pins are those of that board."""

from machine import I2C, Pin

channels, rate_hz = 6, 50
_i2c = I2C(1, scl=Pin(15), sda=Pin(14))
_ADDRESS = 0x6B
_gyroscope, _acceleration = bytearray(6), bytearray(6)
for _register, _value in ((0x10, 0x68), (0x20, 0x78), (0x22, 0x44)):  # 119 Hz, ranges, whole words
    _i2c.writeto_mem(_ADDRESS, _register, bytes([_value]))


def read(out, at):
    _i2c.readfrom_mem_into(_ADDRESS, 0x28, _acceleration)
    _i2c.readfrom_mem_into(_ADDRESS, 0x18, _gyroscope)
    for raw in (_acceleration, _gyroscope):
        for k in (0, 2, 4):
            value = raw[k] | raw[k + 1] << 8
            out[at] = value - 65536 if value > 32767 else value
            at += 1
