# SPDX-License-Identifier: MIT
"""What both importers do with a signal's places: joined, cut, enlarged, sloped by channel.

A `low` has `build`, `new`, `values`, `scales` and `quantized`; see `import_tflite`.
"""

import math

import numpy as np

from .importing import function_of, table
from .moves import is_in_order, places


def in_order(low, x, index, shape):
    """Return a tensor of `shape` whose elements are those of `x` at `index`, in memory's order.

    No operator is added where nothing changes; what was moved before is moved once.
    """
    x, index = source_of(low, x, index)
    old = low.build.tensors[x].shape
    if tuple(old) == tuple(shape) and is_in_order(index, math.prod(old)):
        return x
    y = low.build.gather(low.new("g"), x, index, shape)
    if x in low.scales:
        low.scales[y] = low.scales[x]
    return y


def source_of(low, x, index):
    """Return (tensor that no gather made, places of it) for places of a tensor."""
    index = np.asarray(index)
    while True:
        made = next((node for node in low.build.nodes if x in node.outputs), None)
        if made is None or made.op != "gather":
            return x, index
        x, index = made.inputs[0], np.asarray(made.attrs["index"])[index]


def shaped(low, x, shape):
    """Return `x` in another shape (channels, height, width), in the same order of the memory."""
    return in_order(low, x, range(math.prod(shape)), shape)


def of_scale(low, x, target):
    """Return a tensor in another (scale, zero point), by a table where it differs."""
    if low.scales.get(x, target) == target:
        return x
    return _looked_up(low, x, "identity", target)


def _looked_up(low, x, function, target):
    """Return the tensor of a function of a quantized one, with a (scale, zero point)."""
    name = low.new("t")
    low.values[name + ".table"] = table(function_of(function), low.scales[x], target)
    y = low.build.lookup(name, x, function)
    low.scales[name + ".table"] = low.scales[y] = target
    return y


def joined(low, parts, orders, axis, shape):
    """Return parts behind each other along an axis of the file.

    :param orders: for each part an array of the file's shape: where each element lies in memory
    :param shape: (channels, height, width) of the result
    """
    starts = np.cumsum([0, *(order.size for order in orders)])
    whole = np.concatenate([a + b for a, b in zip(orders, starts[:-1], strict=True)], axis)
    same = len({low.build.tensors[part].shape[1:] for part in parts}) == 1
    if (
        axis in (whole.ndim - 1, -1)
        and same
        and shape[1:] == low.build.tensors[parts[0]].shape[1:]
    ):
        y = low.build.concat(low.new("j"), parts)
    else:
        y = low.build.concat(low.new("j"), parts, "all", shape)
    if parts[0] in low.scales:
        low.scales[y] = low.scales[parts[0]]
    if low.build.nodes[-1].attrs["axis"] == "channels":
        return y
    return in_order(low, y, whole.ravel(), shape)


def sloped(low, x, slope):
    """Return a PReLU of `x`: x + (slope - 1) * min(x, 0), with a slope for each channel."""
    channels = low.build.tensors[x].shape[0]
    negative = low.build.lookup(low.new("t"), x, "minimum 0.0")
    name = low.new("c")
    y = low.build.conv(name, negative, channels, 1, 1, channels, False, 0)
    low.values[name + ".w"] = np.reshape(slope - 1.0, (channels, 1, 1, 1))
    low.values[name + ".b"] = np.zeros(channels)
    return low.build.add(low.new("a"), x, y)


def enlarged(low, x, factor, centers=None):
    """Return `x` with each row and column `factor` (rows, columns) times.

    :param centers: None: the nearest; True: linear between the middles of the elements; False:
        linear between their beginnings. Beyond the ends the last value counts on
    """
    if centers is None:
        y = low.build.resize(low.new("r"), x, factor)
        if x in low.scales:
            low.scales[y] = low.scales[x]
        return y
    shape = low.build.tensors[x].shape
    sides = [_filter(size, centers) for size in factor]
    lines = [
        np.clip(np.arange(-before, edge * size + after) // size, 0, edge - 1)
        for edge, size, (_, before, after) in zip(shape[1:], factor, sides, strict=True)
    ]
    at = places(shape)[:, lines[0]][:, :, lines[1]]
    large = in_order(low, x, at.transpose(1, 2, 0).ravel(), at.shape)
    kernel = np.outer(sides[0][0], sides[1][0])
    name = low.new("c")
    y = low.build.conv(name, large, shape[0], kernel.shape, 1, shape[0], False, 0)
    low.values[name + ".w"] = np.broadcast_to(kernel, (shape[0], 1, *kernel.shape)).copy()
    low.values[name + ".b"] = np.zeros(shape[0])
    return y


def _filter(size, centers):
    """Return (weights over repeated elements, how many stand in front and behind)."""
    if not centers:
        return np.ones(size) / size, 0, size - 1
    if size % 2:
        return np.ones(size) / size, size // 2, size // 2
    weights = np.ones(size + 1)
    weights[[0, -1]] = 0.5
    return weights / size, size // 2, size // 2


def with_zeros(low, x, before, after):
    """Return `x` with channels of zeros around its own."""
    channels, height, width = low.build.tensors[x].shape
    parts = [x]
    for count, is_first in ((before, True), (after, False)):
        if count:
            at = places((channels, height, width))[np.arange(count) % channels]
            some = in_order(low, x, at.transpose(1, 2, 0).ravel(), at.shape)
            zero = low.build.lookup(low.new("t"), some, "minimum 0.0 | maximum 0.0")
            parts = [zero, *parts] if is_first else [*parts, zero]
    return low.build.concat(low.new("j"), parts)


def gated(low, x, gate):
    """Return a product of two signals, or None where their shapes do not fit."""
    shapes = [low.build.tensors[name].shape for name in (x, gate)]
    if shapes[1] != shapes[0] and shapes[1] != (shapes[0][0], 1, 1):
        if shapes[0] != (shapes[1][0], 1, 1):
            return None
        x, gate = gate, x
    return low.build.multiply(low.new("m"), x, gate)


def selected(low, condition, left, right):
    """Return `left` where a condition is 1, `right` where it is 0, in a float model."""
    return low.build.add(low.new("a"), right, gated(low, difference(low, left, right), condition))


def difference(low, left, right):
    """Return left - right of two signals of one shape."""
    if low.quantized:
        scale, zero = low.scales[right]
        minus = _looked_up(low, right, "negative", (scale, -1 - zero))  # each step has its own
        return low.build.add(low.new("a"), left, minus)
    channels = low.build.tensors[right].shape[0]
    name = low.new("c")
    minus = low.build.conv(name, right, channels, 1, 1, channels, False, 0)
    low.values[name + ".w"] = np.full((channels, 1, 1, 1), -1.0)
    low.values[name + ".b"] = np.zeros(channels)
    return low.build.add(low.new("a"), left, minus)
