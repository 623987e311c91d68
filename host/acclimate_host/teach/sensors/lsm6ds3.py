# SPDX-License-Identifier: MIT
"""LSM6DS3, LSM6DSL, LSM6DSO, LSM6DSOX (XIAO Sense, Nano RP2040): +-8 g, +-1000 degrees/s."""

from machine import I2C, Pin

channels, rate_hz = 6, 50
_i2c = I2C(0, scl=Pin(13), sda=Pin(12))  # of the Nano RP2040 Connect; change them to yours
_ADDRESS = 0x6A
_raw = bytearray(12)
for _register, _value in ((0x10, 0x4C), (0x11, 0x48), (0x12, 0x44)):  # 104 Hz, ranges, whole words
    _i2c.writeto_mem(_ADDRESS, _register, bytes([_value]))


def read(out, at):
    _i2c.readfrom_mem_into(_ADDRESS, 0x22, _raw)
    for k in (6, 8, 10, 0, 2, 4):  # the accelerometer first
        value = _raw[k] | _raw[k + 1] << 8
        out[at] = value - 65536 if value > 32767 else value
        at += 1
