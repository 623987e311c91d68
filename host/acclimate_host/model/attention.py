# SPDX-License-Identifier: MIT
"""Attention in integers, as boards do it: docs/numerics.md, section 3."""

import numpy as np

from .factors import multiplier, requantize
from .graph import GraphError
from .moves import flat, unflat

STEPS = 64  # of 1 in the exponent of a share
PLACES = 1024  # of an exponent; what lies further below counts as the last


def heads_of(x, node):
    """Return arrays (batch, channels, height, width) as (batch, heads, rows, channels of one)."""
    heads = node.attrs["heads"]
    rows = flat(x).reshape(len(x), -1, heads, x.shape[1] // heads)
    return rows.transpose(0, 2, 1, 3)


def joined_heads(y, shape):
    """Return the reverse of `heads_of`, in a shape (channels, height, width)."""
    return unflat(y.transpose(0, 2, 1, 3).reshape(len(y), -1), shape)


def exponentials():
    """Return the table of shares: 32768 exp(-i / 2), and 32768 exp(-i / 64), for i below 32.

    >>> exponentials()[[0, 1, 33]].tolist()
    [32768, 19875, 32260]
    """
    i = np.arange(32)
    parts = np.concatenate([np.exp(-i * 32 / STEPS), np.exp(-i / STEPS)])
    return np.floor(32768 * parts + 0.5).astype(np.int64)


def score_factors(node, graph):
    """Return (multiplier, shift, most): what makes places of the table of differences of scores.

    Differences from `most` on count as that: all of them lie at the end of the table.

    :raises GraphError: where a score's step alone is beyond the table
    """
    q, k = (graph[name] for name in node.inputs[:2])
    factor = STEPS * node.attrs["factor"] * q.scale * k.scale
    if factor > PLACES:
        raise GraphError(
            f"{node.attrs['layer']}: scores in steps of {factor / STEPS:.3g}; most 16"
        )
    most = min(int(PLACES / factor) + 1, (1 << 31) - 1)
    return *multiplier(factor), most


def output_factor(node, graph):
    """Return (multiplier, shift) of a sum of shares times values."""
    v, y = graph[node.inputs[2]], graph[node.outputs[0]]
    return multiplier(v.scale / (32768 * y.scale))


def gradient_factor(node, graph, which):
    """Return the real factor of a gradient's sums, without the exponent of the result's.

    :param which: 0 of q, 1 of k, 2 of v
    """
    if which == 2:
        return 1 / 32768
    q, k, v = (graph[name] for name in node.inputs)
    other = k if which == 0 else q
    fold = (2 * v.shape[0] // node.attrs["heads"] - 1).bit_length()
    return node.attrs["factor"] * other.scale * v.scale * 2.0 ** (fold - 12)


def shares_of(node, graph, q, k):
    """Return the shares in 1/32768 of stored numbers less zero, (batch, heads, rows, columns)."""
    scores = q @ k.swapaxes(2, 3)
    m, shift, most = score_factors(node, graph)
    below = np.minimum(scores.max(axis=3, keepdims=True) - scores, most)
    place = np.minimum(requantize(below, m, shift), PLACES - 1)
    table = exponentials()
    e = (table[place >> 5] * table[32 + (place & 31)] + 16384) >> 15
    total = e.sum(axis=3, keepdims=True)
    return ((e << 15) + total // 2) // total


def run_attention(node, graph, q, k, v):
    """Return the stored outputs of (batch, heads, rows, channels), int64, less zero points."""
    total = shares_of(node, graph, q, k) @ v
    y = graph[node.outputs[0]]
    return np.clip(requantize(total, *output_factor(node, graph)) + y.zero_point, -128, 127)
