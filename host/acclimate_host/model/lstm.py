# SPDX-License-Identifier: MIT
"""A recurrent layer (LSTM) in int8, as TensorFlow Lite Micro computes it: docs/numerics.md.

Gates are input, forget, cell and output. Their sums are int16 in 1/4096, the cell is int16.
"""

import numpy as np

from .factors import multiplier, requantize
from .graph import GraphError


def sigmoid_table():
    """Return 65536 * sigmoid(i / 24) as 256 numbers.

    Each lies between the curve and its chords, where a line from one to the next is nearest.
    """
    s = 1 / (1 + np.exp(-np.arange(256) / 24))
    bent = s * (1 - s) * (1 - 2 * s) / 24**2
    return np.minimum(np.floor(65536 * (s - bent / 16) + 0.5), 65535).astype(np.int64)


def lstm_factors(node, graph):
    """Return the record's numbers: zeros, factors (multipliers, shifts), clip, factor of tanh."""
    x, y = graph[node.inputs[0]], graph[node.outputs[0]]
    attrs, found = node.attrs, [x.zero_point, y.zero_point]
    sums = [
        [multiplier(float(np.float32(scale) * np.float32(part)) * 4096) for part in attrs[name]]
        for scale, name in ((x.scale, "scales"), (y.scale, "again_scales"))
    ]
    power = attrs["cell_power"]
    products = (2.0**-15, 2.0 ** (-30 - power), 2.0**-30 / y.scale)
    for part in (*sums, [multiplier(factor) for factor in products]):
        found += [m for m, _ in part] + [shift for _, shift in part]
    left = 12 + power
    tangent = (3 << left, 0) if left >= 0 else (3, -left)
    return [*found, attrs["clip"], *tangent]


def between(table, size, bits):
    i, rest = size >> bits, size & ((1 << bits) - 1)
    i = np.minimum(i, 254)
    return (table[i] << bits) + rest * (table[i + 1] - table[i])


def sigmoid(table, x):
    size = np.abs(3 * x)
    y = np.where(size >> 9 >= 255, 0x7FFF << 10, between(table, size, 9))
    return np.where(x >= 0, y + 512, (1 << 25) - y + 511) >> 10


def tangent(table, x, factor, shift):
    x = (x * factor + ((1 << shift) >> 1)) >> shift
    y = np.where(np.abs(x) >> 8 >= 255, 0xFFFF << 8, between(table, np.abs(x), 8))
    return np.where(x >= 0, y - (1 << 23) + 128, (1 << 23) - y + 127) >> 8


def run_lstm(node, graph, values, rows, h, c):
    """Return (outputs (batch, rows, n), h, c) of stored rows (batch, rows, inputs)."""
    numbers, table = lstm_factors(node, graph), sigmoid_table()
    zero_x, zero_y = numbers[:2]
    parts = [numbers[i : i + 4] for i in range(2, 18, 4)]
    m, shift, (clip, factor, down) = numbers[18:21], numbers[21:24], numbers[24:]
    wi, wr, bias = (values[name].astype(np.int64) for name in node.inputs[1:])
    n, found = h.shape[1], []
    wi, wr = wi.reshape(4, n, -1), wr.reshape(4, n, n)

    def scaled(sums, one, by):
        return np.clip(requantize(sums, one, by), -32768, 32767)

    for t in range(rows.shape[1]):
        gates = []
        for g in range(4):
            sums = (rows[:, t].astype(np.int64) - zero_x) @ wi[g].T + bias.reshape(4, n)[g]
            again = (h - zero_y) @ wr[g].T
            both = scaled(sums, parts[0][g], parts[1][g]) + scaled(again, parts[2][g], parts[3][g])
            gates.append(np.clip(both, -32768, 32767))
        first, kept, out = (sigmoid(table, gates[g]) for g in (0, 1, 3))
        new = first * tangent(table, gates[2], 3, 0)
        c = scaled(kept * c, m[0], shift[0]) + scaled(new, m[1], shift[1])
        c = np.clip(np.clip(c, -32768, 32767), -clip, clip)
        out = requantize(out * tangent(table, c, factor, down), m[2], shift[2]) + zero_y
        h = np.clip(out, -128, 127)
        found.append(h)
    return np.stack(found, 1), h, c


def check_lstm(scale):
    """Return the power of two that a cell's scale is.

    :raises GraphError: for another scale
    """
    power = int(round(np.log2(scale)))
    if not np.isclose(scale, 2.0**power, rtol=1e-4) or not -15 <= power <= -8:
        raise GraphError(f"LSTM: a cell of scale {scale:g}; expected a power of two near 2^-11")
    return power
