# SPDX-License-Identifier: MIT
"""Operands of pools, and how finely their gradients count."""

import math

from ..model.graph import geometry

# Bits of k in section 5 of docs/numerics.md.
MOST_BITS = 23


def pool_window(node, x, y):
    """Return h, w, oh, ow, top, left, kh, kw, sh, sw, channels of a pool or pad, or its gradient.

    :param x: shape (channels, height, width) of the input
    :param y: shape of the output
    """
    kernel, stride, pad = x[1:], (1, 1), (0, 0)
    if "kernel" in node.attrs:
        shape = geometry(node.attrs)
        kernel, stride, pad = shape.kernel, shape.stride, shape.pad[:2]
    elif "pad" in node.attrs:
        kernel, pad = (1, 1), geometry({"kernel": 1, "stride": 1, **node.attrs}).pad[:2]
    return (*x[1:], *y[1:], *pad, *kernel, *stride, x[0])


def average_shift(window):
    """Return k of section 5: 1 / n of a window of n elements is stored as round(2**k / n).

    15 bits or more of it, as far as no sum over overlapping windows can leave int32.

    >>> average_shift((4, 4, 2, 2, 0, 0, 2, 2, 2, 2, 8))
    17
    """
    edges, outputs, pad, kernel, stride = (window[i : i + 2] for i in range(0, 10, 2))
    fewest = most = overlap = 1
    for axis in (0, 1):
        starts = [i * stride[axis] - pad[axis] for i in range(outputs[axis])]
        counts = [min(at + kernel[axis], edges[axis]) - max(at, 0) for at in starts]
        counts = [count for count in counts if count > 0]
        fewest, most = fewest * min(counts), most * max(counts)
        overlap *= -(-kernel[axis] // stride[axis])
    bits = min(MOST_BITS, 15 + int(math.log2(most)))
    while overlap * 128 * (2**bits // fewest + 1) >= 1 << 31:
        bits -= 1
    return bits
