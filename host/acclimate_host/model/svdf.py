# SPDX-License-Identifier: MIT
"""A recurrent layer (SVDF) in int8, as TensorFlow Lite Micro computes it: docs/numerics.md.

Each output sums `rank` filters. A filter is one number of the input from each call, weighed over
the last `memory` calls. What it keeps of these calls is int16, or int8 with a zero point.
"""

import numpy as np

from .factors import multiplier, requantize


def svdf_factors(node, graph):
    """Return the record's numbers: zero points, multipliers, shifts. Products are in float32."""
    x, y, state = graph[node.inputs[0]], graph[node.outputs[0]], graph[node.outputs[1]]
    weight, time, kept = (np.float32(graph[n].scale) for n in (*node.inputs[1:3], state.name))
    made = np.float32(x.scale) * weight / kept, kept * time / np.float32(y.scale)
    factors = [multiplier(float(factor)) for factor in made]
    zeros = [x.zero_point, state.zero_point, y.zero_point]
    return [*zeros, *(m for m, _ in factors), *(shift for _, shift in factors)]


def run_svdf(node, graph, values, x, kept):
    """Return (outputs (batch, n), state) of stored inputs (batch, cin).

    :param kept: the state (batch, filters, memory)
    """
    zero_x, zero, zero_y, m, m_y, shift, shift_y = svdf_factors(node, graph)
    weight, time, bias = (values[name].astype(np.int64) for name in node.inputs[1:])
    limits = np.iinfo(graph[node.outputs[1]].dtype)
    filters, memory = time.shape[:2]
    sums = (x.astype(np.int64) - zero_x) @ weight.reshape(filters, -1).T
    new = np.clip(requantize(sums, m, shift), limits.min, limits.max) + zero
    kept = np.concatenate([kept[..., 1:], new.astype(limits.dtype)[..., None]], -1)
    parts = (kept.astype(np.int64) - zero) * time.reshape(filters, memory)
    total = (parts.reshape(len(x), len(bias), -1).sum(-1) + bias).astype(np.int32)
    y = requantize(total, m_y, shift_y) + zero_y
    return np.clip(y, -128, 127).astype(np.int8), kept
