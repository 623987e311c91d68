# SPDX-License-Identifier: MIT
"""Values that change places: tensors in the order of a board's memory, and what gathers from it.

A board holds height, width, channels; here arrays are (batch, channels, height, width).
"""

import math

import numpy as np


def flat(x):
    """Return arrays (batch, channels, height, width) as rows in the order of the memory."""
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)).reshape(len(x), -1)


def unflat(rows, shape):
    """Return rows in the order of the memory as arrays of a shape (channels, height, width)."""
    channels, height, width = shape
    return rows.reshape(len(rows), height, width, channels).transpose(0, 3, 1, 2)


def places(shape):
    """Return where each element of (channels, height, width) lies in memory.

    >>> places((2, 1, 2)).tolist()
    [[[0, 2]], [[1, 3]]]
    """
    return unflat(np.arange(math.prod(shape))[None], shape)[0]


def gathered(x, node, shape):
    """Return what a gather node makes of arrays `x`."""
    return unflat(flat(x)[:, np.asarray(node.attrs["index"])], shape)


def joined(parts, axis, shape):
    """Return what a concat node makes of arrays: channels behind each other, or all of each."""
    if axis == "channels":
        return np.concatenate(parts, axis=1)
    return unflat(np.concatenate([flat(part) for part in parts], axis=1), shape)


def is_in_order(index, elements):
    """Say whether a gather takes every element where it is: a change of shape only."""
    return len(index) == elements and list(index) == list(range(elements))


def blocks_of(index, elements):
    """Return (elements of a block, places of the blocks): the longest runs that move together.

    >>> blocks_of((4, 5, 6, 7, 0, 1, 2, 3), 8)
    (4, [1, 0])
    """
    index = np.asarray(index)
    for n in range(math.gcd(len(index), elements), 0, -1):
        if len(index) % n or elements % n:
            continue
        rows = index.reshape(-1, n)
        first = rows[:, 0]
        if not (first % n).any() and (rows == first[:, None] + np.arange(n)).all():
            return n, (first // n).tolist()
    raise AssertionError("blocks of one element always do")


def sources(blocks, count):
    """Return for each of `count` blocks the places that it was copied to: (starts, places)."""
    found = [[] for _ in range(count)]
    for place, block in enumerate(blocks):
        found[block].append(place)
    starts = np.cumsum([0, *map(len, found)]).tolist()
    return starts, [place for part in found for place in part]
