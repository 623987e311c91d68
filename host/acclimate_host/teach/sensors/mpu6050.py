# SPDX-License-Identifier: MIT
"""MPU-6050, MPU-6500, MPU-9250 (GY-521 boards): +-8 g, +-1000 degrees/s; change the pins."""

from machine import I2C, Pin

channels, rate_hz = 6, 50
_i2c = I2C(0, scl=Pin(22), sda=Pin(21))
_ADDRESS = 0x68
_raw = bytearray(14)
for _register, _value in ((0x6B, 0), (0x1C, 0x10), (0x1B, 0x10)):  # awake, ranges
    _i2c.writeto_mem(_ADDRESS, _register, bytes([_value]))


def read(out, at):
    _i2c.readfrom_mem_into(_ADDRESS, 0x3B, _raw)
    for k in (0, 2, 4, 8, 10, 12):  # between them is the temperature
        value = _raw[k] << 8 | _raw[k + 1]
        out[at] = value - 65536 if value > 32767 else value
        at += 1
