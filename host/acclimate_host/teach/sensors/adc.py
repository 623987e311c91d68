# SPDX-License-Identifier: MIT
"""One analog pin; change the pin to yours."""

from machine import ADC

channels, rate_hz = 1, 50
_adc = ADC(0)


def read(out, at):
    out[at] = _adc.read_u16() - 32768
