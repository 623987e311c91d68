# SPDX-License-Identifier: MIT
"""A digital microphone on I2S (INMP441, SPH0645, ICS-43434); change the pins to yours."""

from machine import I2S, Pin

channels, rate_hz = 3, 0  # the microphone's own clock sets the pace: 25 a second
_pins = {"sck": Pin(14), "ws": Pin(15), "sd": Pin(32)}
_i2s = I2S(0, mode=I2S.RX, bits=16, format=I2S.MONO, rate=8000, ibuf=4096, **_pins)
_burst = bytearray(2 * 320)
_QUIET = 64


def read(out, at):
    """Mean size, largest size, and sign changes of 320 samples."""
    _i2s.readinto(_burst)
    loud = peak = changes = 0
    side = 0
    for k in range(0, len(_burst), 8):  # every fourth is enough
        value = _burst[k] | _burst[k + 1] << 8
        if value > 32767:
            value -= 65536
        if abs(value) > _QUIET:
            changes += side * value < 0
            side = value
        loud += abs(value)
        peak = max(peak, abs(value))
    out[at] = min(32767, loud // 80)
    out[at + 1] = min(32767, peak)
    out[at + 2] = changes * 256
