# SPDX-License-Identifier: MIT
"""TensorFlow Lite's int8 mean over each channel, as a pool or as a layer of equal weights.

Its interpreters divide the factor of a requantization by the number of values, and round what it
gives, as of a layer of weights 1. That factor is below 2^30 as often as not, which no layer here
has. A layer of larger weights rounds elsewhere; a bias moves it to the same places where no sum
changes its sign. So a rule is looked for that gives the same byte for each sum that can come.
"""

import math

import numpy as np

from .factors import MULTIPLIER_ONE, multiplier, requantize
from .importing import mean_layer

NOTE = "a mean of values of both signs may be one step off TensorFlow Lite's"
_WEIGHTS = range(127, 63, -1)
_NEAR = range(-3, 4)


def add_mean(low, x, y):
    """Add the mean of tensor `x` with (scale, zero point) `y`; return the name of the output.

    :param low: a lowering with `build`, `new`, `values`, `scales` and `notes`
    """
    count = math.prod(low.build.tensors[x].shape[1:])
    rule = _Rule(count, low.scales[x], y, _least(low, x))
    is_pool = y == low.scales[x] and rule.is_pool()
    exact = None if is_pool else rule.layer()
    if exact is None and not is_pool:
        low.notes.append(NOTE)
    if exact is None and y == low.scales[x]:
        return low.build.pool(low.new("p"), x)
    found = mean_layer(low, x)
    if exact is not None:
        _set(low, low.build.nodes[-1].attrs["layer"], x, *exact)
    return found


def _set(low, name, x, weight, bias, scale):
    """Give a layer one weight, one bias, and the scale of the weight."""
    channels = len(low.values[name + ".b"])
    low.values[name + ".w"][:] = weight
    low.values[name + ".b"][:] = bias
    low.scales[name + ".w"] = ((scale,) * channels, 0)
    low.scales[name + ".b"] = ((scale * low.scales[x][0],) * channels, 0)


def _least(low, x):
    """Return the least stored value that a tensor can have."""
    made = next((node for node in low.build.nodes if node.outputs[0] == x), None)
    return low.scales[x][1] if made is not None and made.attrs.get("relu") else -128


class _Rule:
    """What the interpreter gives for the sums that one channel can have."""

    def __init__(self, count, x, y, least):
        self.count, self.x, self.y = count, x, y
        m, exponent = multiplier(x[0] / y[0])
        shift = min(count.bit_length() - 1, 32, 31 + exponent)
        self.m, self.shift = (m << shift) // count, exponent - shift
        sums = np.arange(count * (least - x[1]), count * (127 - x[1]) + 1)
        wanted = self._stored(requantize(sums, self.m, self.shift))
        # All rules are monotone: equal on both sides of each change is equal everywhere.
        steps = np.flatnonzero(np.diff(wanted))
        at = np.unique(np.concatenate([[0, len(sums) - 1], steps, steps + 1]))
        self.sums, self.wanted = sums[at], wanted[at]

    def _stored(self, found):
        return np.clip(found + self.y[1], -128, 127)

    def is_pool(self):
        """Tell whether a pool, which adds stored values, gives the same bytes."""
        total, half = self.sums + self.count * self.x[1], self.count // 2
        found = np.sign(total) * ((np.abs(total) + half) // self.count)
        return bool((found == self.wanted).all())

    def layer(self):
        """Return (weight, bias, scale of the weight) of a layer with the same bytes, or None."""
        factor = self.m * 2.0 ** (self.shift - 31)
        per_sum = self.m * 2.0 ** max(self.shift, 0) / MULTIPLIER_ONE
        for weight in _WEIGHTS:
            scale = factor * self.y[0] / (self.x[0] * weight)
            m, shift = multiplier(self.x[0] * scale / self.y[0])
            rounded = 0.5 * MULTIPLIER_ONE / (m * 2.0 ** max(shift, 0))
            moved = weight * (0.5 / per_sum if self.shift < 0 else 0)
            for bias in (
                sign * round(moved - rounded) + near for sign in (1, -1) for near in _NEAR
            ):
                found = self._stored(requantize(self.sums * weight + bias, m, shift))
                if (found == self.wanted).all():
                    return weight, bias, scale
        return None
