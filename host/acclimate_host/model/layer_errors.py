# SPDX-License-Identifier: MIT
"""Which layer of an int8 network is to blame: int8 against float on samples, layer by layer.

rows = layer_errors(network, samples)       # a float Network; the worst layer first
print(rows[0].layer, rows[0].own_db)
"""

import math
from dataclasses import dataclass

import numpy as np

from .coarse import worth
from .float_run import FloatRun
from .graph import GraphError
from .int8 import Int8Run
from .network import to_int8
from .quantize import quantize


@dataclass(frozen=True)
class LayerError:
    """Signal to noise of one layer's output in dB, and how its channels use its range.

    `own_db`: the layer alone, with inputs that are exact but for their int8 steps. `total_db`:
    after all layers so far. `low`, `high`: share of stored outputs at -128 and 127. `ranges`:
    (least, largest) real output of each channel; `bounds`: what int8 can hold. `worth`: steps of
    the output that one step of an input is at most.
    """

    layer: str
    op: str
    own_db: float
    total_db: float
    low: float
    high: float
    ranges: tuple
    bounds: tuple
    worth: float


def layer_errors(network, samples, percentile=100.0):
    """Return the LayerErrors of a float network, that with the most noise of its own first.

    :param samples: (count, channels, height, width) real inputs
    :raises GraphError: for a quantized network, or samples that do not fit
    """
    if network.quantized:
        raise GraphError(
            f"{network.graph.name}: its numbers are int8; there is no float to compare"
        )
    small, _ = quantize(network, samples, percentile)
    real, run = FloatRun(network)(samples), Int8Run(small)
    stored = run(network_input(small, samples))
    rows = []
    for node in run.nodes:
        if node.op == "window":
            continue  # rows of earlier calls: nothing is computed
        exact = {
            name: to_int8(real[name], small.graph[name]) for name in node.inputs if name in real
        }
        own = getattr(run, "_" + node.op)(node, exact)
        rows.append(_row(small, node, real[node.outputs[0]], stored[node.outputs[0]], own))
    return sorted(rows, key=lambda row: row.own_db)


def network_input(small, samples):
    """Return samples as the int8 that a quantized network reads."""
    return small.quantize_input(np.asarray(samples, np.float64))


def _row(small, node, real, stored, own):
    y = small.graph[node.outputs[0]]
    channels = np.moveaxis(real, 1, 0).reshape(real.shape[1], -1)
    ranges = tuple(zip(channels.min(axis=1), channels.max(axis=1), strict=True))
    bounds = tuple((end - y.zero_point) * y.scale for end in (-128, 127))
    return LayerError(
        node.attrs["layer"],
        node.op,
        _db(real, (own.astype(np.float64) - y.zero_point) * y.scale),
        _db(real, (stored.astype(np.float64) - y.zero_point) * y.scale),
        float((stored == -128).mean()) if y.zero_point > -128 else 0.0,
        float((stored == 127).mean()),
        ranges,
        bounds,
        worth(small, node),
    )


def _db(real, got):
    """Return the power of a signal over that of what differs, in dB; 99 where nothing does."""
    noise, signal = ((got - real) ** 2).mean(), (real**2).mean()
    return 99.0 if noise == 0 else 10 * math.log10(max(signal, 1e-30) / noise)
