# SPDX-License-Identifier: MIT
"""Tables of a front end: how a board makes levels of bands from a window of sound or motion.

A board reads the bytes as they are (`acclimate.features.Frontend`); nothing in them needs a float
there. Their layout is in docs/features.md.
"""

import struct
from dataclasses import dataclass

import numpy as np

from ..errors import AcclimateError

_MAGIC, _VERSION = 0x4641, 1
_MEAN, _NOISE, _GAIN, _LOG = 1, 2, 4, 8
_NOISE_BITS, _SMOOTHING_BITS, _SNR_BITS, _GAIN_BITS = 14, 10, 12, 21
_LOG_SHIFT = 6


@dataclass(frozen=True)
class Input:
    """How a network takes a level: ``level * factor`` in steps of `scale` from `zero_point` on.

    `factor` is what the network was trained with: 10/256 for micro_frontend's levels in
    the wake-word models, 1 for the levels themselves.
    """

    factor: float = 256 / 666
    scale: float = 1.0
    zero_point: int = -128

    def multiplier(self):
        """Return steps per level, with 16 binary places."""
        found = round(self.factor / self.scale * 65536)
        if not 0 < found < 65536:
            raise AcclimateError(
                f"factor / scale: expected more than 0 and less than 1, got "
                f"{self.factor / self.scale:g}"
            )
        return found


def log_mel(rate=16000, window_ms=30, channels=40, low=125.0, high=7500.0, pcan=True, to=None):
    """Return the tables of sound, as TensorFlow Lite Micro's micro_frontend has them.

    :param rate: samples a second
    :param window_ms: length of a window; the step from one to the next is the caller's
    :param channels: mel bands between `low` and `high` Hz
    :param pcan: automatic gain for each channel
    :param to: an `Input`: what an int8 output means
    :raises AcclimateError: names the argument, what was expected and what came
    """
    samples = _whole("window_ms", rate * window_ms / 1000)
    bits = _bits(samples)
    _check("high", low < high <= rate / 2, f"more than {low:g}, at most {rate / 2:g} Hz", high)
    bands = _triangles(_mel, rate, 1 << bits, channels, low, high)
    flags = _NOISE | _LOG | (_GAIN if pcan else 0)
    return _tables(samples, bits, 1, channels, flags, bands, to or Input())


def motion(rate=50, samples=128, axes=6, channels=16, low=0.0, high=None, to=None):
    """Return the tables of motion: levels of evenly spaced bands of each axis.

    The mean of each axis (gravity) is taken away first. Levels are natural logarithms times 64.

    :param rate: samples a second
    :param samples: of each axis in a window, 4..4096
    :param axes: interleaved signals, 1..16
    :param channels: bands of each axis between `low` and `high` Hz (half of `rate`)
    :param to: an `Input`: what an int8 output means
    :raises AcclimateError: names the argument, what was expected and what came
    """
    high = rate / 2 if high is None else high
    bits = _bits(_whole("samples", samples))
    _check("axes", axes in range(1, 17), "1..16", axes)
    _check("high", low < high <= rate / 2, f"more than {low:g}, at most {rate / 2:g} Hz", high)
    bands = _triangles(np.float32, rate, 1 << bits, channels, low, high)
    return _tables(int(samples), bits, axes, channels, _MEAN | _LOG, bands, to or Input())


def _check(name, is_good, expected, got):
    if not is_good:
        raise AcclimateError(f"{name}: expected {expected}, got {got!r}")


def _whole(name, value):
    _check(name, value == int(value) and 4 <= value <= 4096, "4..4096 whole samples", value)
    return int(value)


def _bits(samples):
    return max(3, (samples - 1).bit_length())


def _mel(hertz):
    return np.float32(1127) * np.log1p(np.float32(hertz) / np.float32(700), dtype=np.float32)


def _triangles(scale, rate, size, channels, low, high):
    """Return (first frequency, falling weights) of each band and of one before the first.

    Each frequency falls in one band and rises in the next: the two weights are 1 together.
    All sums are those of float32, as the reference has them.
    """
    _check("channels", channels in range(1, 257), "1..256", channels)
    hertz = np.float32(0.5) * np.float32(rate) / np.float32(size // 2)
    start = int(np.float32(1.5) + np.float32(low) / hertz)
    edge, top = scale(np.float32(low)), scale(np.float32(high))
    spacing = (top - edge) / np.float32(channels + 1)
    found, low_edge = [], edge
    for i in range(channels + 1):
        center = edge + spacing * np.float32(i + 1)
        at, weights = start, []
        while at <= size // 2 and scale(np.float32(at) * hertz) <= center:
            weights.append((center - scale(np.float32(at) * hertz)) / (center - low_edge))
            at += 1
        found.append((start if weights else 0, weights))
        start, low_edge = at, center
    return found


def _tables(samples, bits, axes, channels, flags, bands, to):
    correction = bits - 6
    head = [_MAGIC, _VERSION, samples, bits, axes, channels, flags]
    head += [int(share * (1 << _NOISE_BITS)) for share in (0.025, 0.06, 0.05)]
    snr_shift = _GAIN_BITS - correction - _SNR_BITS
    head += [_SMOOTHING_BITS, snr_shift, correction, _LOG_SHIFT, to.multiplier(), to.zero_point]
    _check("zero_point", -128 <= to.zero_point <= 127, "-128..127", to.zero_point)
    parts = [head, _window(samples), _order(1 << (bits - 1)), *_turns(1 << (bits - 1))]
    parts.append([number for at, weights in bands for number in (at, len(weights))])
    for _, weights in bands:
        for weight in weights:
            parts.append([_twelve(weight), _twelve(1 - weight)])
    if flags & _GAIN:
        parts.append(_gains(_SMOOTHING_BITS - correction))
    if flags & _LOG:
        parts.append(_logs())
    numbers = [int(number) & 0xFFFF for part in parts for number in part]
    return struct.pack(f"<{len(numbers)}H", *numbers)


def _even(numbers):
    return [*numbers, 0] if len(numbers) % 2 else numbers


def _twelve(weight):
    return np.floor(np.float32(weight) * np.float32(4096) + np.float32(0.5))


def _window(samples):
    """A Hann window with 12 binary places, each number in the middle of its sample."""
    turn = np.float32(np.pi) * np.float32(2) / np.float32(samples)
    angle = (turn * (np.arange(samples) + np.float32(0.5))).astype(np.float32)
    half = np.float32(0.5)
    return _even(list(np.floor((half - half * np.cos(angle)) * np.float32(4096) + half)))


def _order(n):
    """First input of each butterfly of the first stage: digits of the place, reversed."""
    radix = [4] * ((n.bit_length() - 1) // 2)
    if (n.bit_length() - 1) % 2:
        radix.append(2)
    order = [0]
    step = 1
    for r in radix[:-1]:
        order = [[at + step * digit for at in order] for digit in range(r)]
        order = [at for part in zip(*order, strict=True) for at in part]
        step *= r
    places = order
    # The outermost digit of a place is the innermost of its input.
    return _even(places)


def _turns(n):
    def numbers(angles):
        both = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return np.floor(0.5 + 32767 * both).ravel().tolist()

    turns = -2 * np.pi * np.arange(3 * n // 4) / n
    splits = -np.pi * ((np.arange(n // 2) + 1) / n + 0.5)
    return numbers(turns), numbers(splits)


def _gains(bits, strength=0.95, offset=80.0):
    """Parabolas of ``(noise + offset)**-strength``, one for each number of bits."""

    def at(x):
        base = np.float32(x) / np.float32(1 << bits) + np.float32(offset)
        gain = np.float32(1 << _GAIN_BITS) * np.power(base, np.float32(-strength))
        return 32767 if gain > 32767 else int(gain + np.float32(0.5))

    table = [at(0), at(1)]
    for interval in range(2, 33):
        x = 1 << (interval - 1)
        last = x + x - 1 if interval == 32 else 2 * x
        first, middle, end = (at(value) for value in (x, x + x // 2, last))
        line = 4 * (middle - first) - (end - first)
        table += [first, line, end - first - line, 0]
    return table


def _logs():
    """What a straight line lacks to the logarithm of base 2, at 128 points and the end."""
    x = np.arange(129) / 128
    return [*np.floor(65536 * (np.log2(1 + x) - x) + 0.5), 0]
