# SPDX-License-Identifier: MIT
"""Features of a window of raw sensor samples, in integer arithmetic on the board.

    >>> from array import array
    >>> f = WindowFeatures(channels=1, samples=8, shift=0)
    >>> out = array("b", bytes(f.width))
    >>> list(f.into(array("h", [0, 10, 0, -10, 0, 10, 0, -10]), out))
    [0, 5, -10, 10, 12]
    >>> f.names()
    ['0.mean', '0.dev', '0.min', '0.max', '0.cross']

Each channel gives up to five numbers, all of them int8: the mean, the mean absolute deviation
(the size of the movement; unlike a variance its sum stays a small integer on a 32-bit board), the
least and the largest value, and how often the signal crosses its mean (how fast the movement is).
Nothing is allocated in `into`, and no float is used.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Sequence

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

import gc
import sys

from acclimate import _face

# A board with an ARMv6-M core has little RAM, and its module no windows.
_SMALL = (getattr(sys.implementation, "_mpy", 0) >> 10) & 15 == 4
_NATIVE_ROOM = 65536  # with less free, the 8 KB that the module takes are kept
KINDS = ("mean", "dev", "min", "max", "cross")
_NAMES = {"Frontend": "acclimate._bands"}  # of the extra `frontend`
__getattr__ = _face("acclimate.features", _NAMES)


def _int8(value):
    """`value` limited to -128..127: a saturated feature, never a wrapped one."""
    if value > 127:
        return 127
    return -128 if value < -128 else value


def _check_count(name, items, count):
    """Refuse what has another length, or none."""
    try:
        have = len(items)
    except TypeError:
        have = repr(items)[:40]
    if have != count:
        raise ValueError("%s: expected %d elements, got %s" % (name, count, have))


def _signed(out):
    """Refuse a buffer whose items are bytes without a sign: boards would wrap what is below 0."""
    try:
        first = out[0]
        out[0] = -1
        signed = out[0] == -1
        out[0] = first
    except (ValueError, OverflowError, TypeError):  # CPython asks at once
        signed = False
    if not signed:
        raise ValueError("out: expected array('b'), got items without a sign")


def _native_window():
    free = getattr(gc, "mem_free", None)
    if free and free() < _NATIVE_ROOM:
        return None
    from acclimate import _native

    return getattr(_native.load("codec"), "window", None)


class WindowFeatures:
    """Turns windows of interleaved int16 samples into rows of int8 features.

    :param int channels: signals in a sample, 1..16 (6 for an accelerometer with gyroscope)
    :param int samples: samples in a window, 4..4096
    :param int shift: bits dropped from means and limits, 0..8: 8 maps the whole int16 range
        to int8, 7 keeps twice the resolution and saturates at half of the range
    :param kinds: names out of `KINDS`, in that order
    :raises ValueError: names the argument, what was expected and what came
    """

    def __init__(
        self, channels: int = 6, samples: int = 128, shift: int = 7, kinds: "Sequence[str]" = KINDS
    ) -> None:
        for name, value, low, high in (
            ("channels", channels, 1, 16),
            ("samples", samples, 4, 4096),
            ("shift", shift, 0, 8),
        ):
            if not isinstance(value, int) or not low <= value <= high:
                raise ValueError("%s: expected %d..%d, got %r" % (name, low, high, value))
        try:
            kinds = tuple(kinds)  # a generator is read once
        except TypeError:
            kinds = (kinds,)
        for kind in kinds or ((),):
            if kind not in KINDS:
                raise ValueError("kinds: expected some of %s, got %r" % (" ".join(KINDS), kind))
        self.channels = channels
        self.samples = samples
        self.shift = shift
        self._dev_shift = max(0, shift - 1)
        self._use = tuple(kind in kinds for kind in KINDS)
        self.width = channels * sum(self._use)
        self._how = shift + sum(16 << i for i in range(len(KINDS)) if self._use[i])
        self._native = None if _SMALL else _native_window()

    def __repr__(self):
        return "WindowFeatures(%d, %d): %d features" % (self.channels, self.samples, self.width)

    def names(self) -> list[str]:
        """Name of each feature, ``"channel.kind"``, in the order of a row."""
        kinds = [KINDS[i] for i in range(len(KINDS)) if self._use[i]]
        return ["%d.%s" % (c, kind) for c in range(self.channels) for kind in kinds]

    def into(self, window: "ReadableBuffer", out: "WriteableBuffer") -> "WriteableBuffer":
        """Write the features of `window` to `out` and return `out`.

        :param window: ``array("h")`` of samples * channels values, sample after sample
        :param out: ``array("b")`` of `width` elements
        :raises ValueError: a length that does not fit, or no whole numbers; nothing is written
        """
        native = self._native
        try:
            if native and native(window, out, self.channels, self.samples, self._how):
                return out
        except TypeError:  # no buffers, as is found below
            pass
        _check_count("window", window, self.samples * self.channels)
        _check_count("out", out, self.width)
        _signed(out)
        try:
            total = sum(window)
        except TypeError:
            total = None
        if not isinstance(total, int):
            raise ValueError("window: expected whole numbers, got others among them")
        at = channel = 0
        while channel < self.channels:
            at = self._channel(window, channel, out, at)
            channel += 1
        return out

    def _channel(self, window, start, out, index):
        """Features of one channel to `out` from `index`; returns the next place."""
        end = len(window)
        step = self.channels
        total = 0
        low = high = window[start]
        i = start
        while i < end:
            v = window[i]
            total += v
            if v < low:
                low = v
            elif v > high:
                high = v
            i += step
        mean = total // self.samples
        dev = self._deviation(window, start, mean)
        use = self._use
        shift = self.shift
        if use[0]:
            out[index] = _int8(mean >> shift)
            index += 1
        if use[1]:
            out[index] = _int8(dev >> self._dev_shift)
            index += 1
        if use[2]:
            out[index] = _int8(low >> shift)
            index += 1
        if use[3]:
            out[index] = _int8(high >> shift)
            index += 1
        if use[4]:
            out[index] = _int8(self._crossings(window, start, mean, dev >> 2) * 4)
            index += 1
        return index

    def _deviation(self, window, start, mean):
        """Mean absolute deviation of one channel."""
        end = len(window)
        step = self.channels
        total = 0
        i = start
        while i < end:
            v = window[i] - mean
            total += v if v >= 0 else -v
            i += step
        return total // self.samples

    def _crossings(self, window, start, mean, value):
        """How often the channel crosses its mean; a band of `value` on both sides hides noise."""
        end = len(window)
        step = self.channels
        up = mean + value
        down = mean - value
        count = 0
        side = 0
        i = start
        while i < end:
            v = window[i]
            if v > up:
                if side < 0:
                    count += 1
                side = 1
            elif v < down:
                if side > 0:
                    count += 1
                side = -1
            i += step
        return count
