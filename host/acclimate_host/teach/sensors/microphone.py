# SPDX-License-Identifier: MIT
"""A microphone with an amplifier on an analog pin: loudness, peak and pitch of short bursts."""

from machine import ADC

channels, rate_hz = 3, 25
_adc = ADC(0)
_BURST, _QUIET = 64, 128
_mean = 32768


def read(out, at):
    """Mean deviation, largest deviation, and crossings of the mean, of a burst."""
    global _mean
    total = loud = peak = crossings = 0
    side = 0
    for _ in range(_BURST):
        value = _adc.read_u16()
        total += value
        apart = value - _mean
        if abs(apart) > _QUIET:
            crossings += side * apart < 0
            side = apart
        apart = abs(apart)
        loud += apart
        peak = max(peak, apart)
    _mean = total // _BURST
    out[at] = min(32767, loud // _BURST)
    out[at + 1] = min(32767, peak)
    out[at + 2] = crossings * 256
