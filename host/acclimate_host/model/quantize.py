# SPDX-License-Identifier: MIT
"""Post-training quantization: a float Network and samples give an int8 Network and a report.

Weights are int8 with one scale per output channel, biases int32, activations int8 with scale
and zero point from the range that the samples show. docs/numerics.md says what is done with them.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from .coarse import checked
from .float_run import FloatRun
from .graph import GraphError, Node, Tensor
from .importing import BIAS_LIMIT, function_of, table
from .int8 import Int8Run
from .network import in_shape, with_scales

_FIXED = {"sigmoid": (1 / 256, -128), "tanh": (1 / 128, 0)}  # scale, zero point of a table's y
_KEEPS_SCALE = ("pool", "average_pool", "max_pool", "pad", "window", "gather")

# What keeps a scale on the board.
_LEAST, _MOST = (float(limit) for limit in (np.finfo("f4").tiny, np.finfo("f4").max))

_MAKES_SCALE = ("conv", "dense", "add", "multiply", "attention")


@dataclass(frozen=True)
class LayerReport:
    """What quantization does to one layer.

    `low`, `high`: range of its output; `clipped`: share of output values outside of it;
    `step`: scale of the output over the standard deviation of its values; `weight_error`,
    `error`: root mean square error over root mean square, of the weights and of the output
    after all layers so far; `dead`: output channels whose weights are all 0.
    """

    layer: str
    low: float
    high: float
    clipped: float
    step: float
    weight_error: float
    error: float
    dead: int


@dataclass(frozen=True)
class QuantizationReport:
    """Layers in order, and the share of samples whose largest output stays the same."""

    layers: tuple
    agreement: float

    def __str__(self):
        rows = [
            f"{'layer':10} {'range':>18} {'clipped':>8} {'step/std':>8} "
            f"{'w error':>8} {'error':>7} {'dead':>4}"
        ]
        for row in self.layers:
            bounds = f"{row.low:.3g} .. {row.high:.3g}"
            rows.append(
                f"{row.layer:10} {bounds:>18} {row.clipped:8.2%} {row.step:8.4f} "
                f"{row.weight_error:8.2%} {row.error:7.2%} {row.dead:4}"
            )
        rows.append(f"same largest output: {self.agreement:.2%} of the samples")
        return "\n".join(rows)


def quantize(network, samples, percentile=100.0, headroom=0.0):
    """Return (int8 Network, QuantizationReport).

    :param samples: (count, channels, height, width) real inputs like those to come, or of the
        model's own shape, such as (count, 30); a few hundred give stable ranges
    :param percentile: of each side of an activation's values that lies within its range; 100
        loses none, 99.9 gives a finer scale where a few values stick out
    :param headroom: share by which trained weights may grow beyond today's largest of their
        channel before they meet the rail, 0.25 for example; coarser steps are the price
    :raises GraphError: for samples of another shape, with numbers that are not finite, or a
        network that is quantized already
    """
    samples = _checked(network, samples, percentile, headroom)
    network = _with_one_scale(network)
    made = FloatRun(network)(samples)
    ranges = _Ranges(network, made, percentile)
    scales, values = dict(ranges.scales), {}
    for node in network.graph.nodes:
        if node.phase != "forward":
            continue
        if node.op in ("conv", "dense"):
            _layer(network, node, scales, values, headroom)
        elif node.op == "lookup":
            x, y = scales[node.inputs[0]], scales[node.outputs[0]]
            values[node.inputs[1]] = table(function_of(node.attrs["function"]), x, y)
        elif node.op == "window":
            y = node.outputs[0]
            stored = np.rint(network.values[y] / scales[y][0]) + scales[y][1]
            values[y] = np.clip(stored, -128, 127).astype(np.int8)
    small = checked(with_scales(network.graph, scales), values, network.notes)
    return small, _report(network, small, samples, made, ranges)


def _with_one_scale(network):
    """Return the network with a table before each part of a concat that has a scale of its own.

    All parts have the scale of the whole: a layer that nothing else reads makes it so itself.
    """
    graph, joined = network.graph, []
    readers = graph.readers()
    makers = {node.outputs[0]: node for node in graph.nodes}
    tensors, nodes = dict(graph.tensors), []
    for node in graph.nodes:
        if node.op != "concat":
            nodes.append(node)
            continue
        parts = []
        for number, name in enumerate(node.inputs):
            made = makers.get(name)
            is_free = made is not None and made.op in _MAKES_SCALE and len(readers[name]) == 1
            if not is_free or name in parts or name in graph.outputs:
                layer = f"{node.attrs['layer']}.{number}"
                table, y = Tensor(layer + ".table", (256,), kind="frozen"), layer + ".y"
                tensors[table.name], tensors[y] = table, replace(graph[name], name=y)
                tensors[y] = replace(tensors[y], kind="activation")
                attrs = {"layer": layer, "function": "identity"}
                nodes.append(Node("lookup", (name, table.name), (y,), attrs=attrs))
                name = y
            parts.append(name)
        joined.append(replace(node, inputs=tuple(parts)))
        nodes.append(joined[-1])
    if not joined:
        return network
    return replace(network, graph=replace(graph, tensors=tensors, nodes=tuple(nodes)))


def _checked(network, samples, percentile, headroom):
    samples = np.asarray(samples)
    if samples.dtype.kind not in "biuf":
        raise GraphError(f"samples: expected real numbers, got {samples.dtype}")
    samples = samples.astype(np.float64)
    shape = network.graph[network.input].shape
    samples = in_shape(samples, shape)
    if network.quantized:
        raise GraphError(f"{network.graph.name}: quantized already; give the float network")
    if samples.ndim != 4 or samples.shape[1:] != shape or not len(samples):
        raise GraphError(
            f"samples: expected (count, {shape[0]}, {shape[1]}, {shape[2]}), got {samples.shape}"
        )
    if not np.isfinite(samples).all():
        raise GraphError("samples: expected finite numbers, got NaN or infinity")
    if np.abs(samples).max() > _MOST:
        raise GraphError(f"samples: expected float32 numbers, got {np.abs(samples).max():.3g}")
    if not 50 < percentile <= 100:
        raise GraphError(f"percentile: expected more than 50, at most 100, got {percentile}")
    if not 0 <= headroom <= 4:
        raise GraphError(f"headroom: expected 0 to 4, got {headroom}")
    return samples


class _Ranges:
    """Range, scale and zero point of every activation."""

    def __init__(self, network, made, percentile):
        self.bounds, self.scales = {}, {}
        self._alike, self._values = {}, network.values
        for node in network.graph.nodes:
            if "like" in node.attrs:
                self._alike.setdefault(node.attrs["like"], []).append(node.outputs[0])
        self._set(network.input, made, percentile, 0.0)
        for node in network.graph.nodes:
            if node.phase != "forward":
                continue
            y = node.outputs[0]
            if node.op in _KEEPS_SCALE:
                x = node.inputs[0]
                self.bounds[y], self.scales[y] = self.bounds[x], self.scales[x]
            elif node.op == "lookup" and node.attrs["function"] in _FIXED:
                scale, zero = self.scales[y] = _FIXED[node.attrs["function"]]
                self.bounds[y] = ((-128 - zero) * scale, (127 - zero) * scale)
            else:
                least = self._rounding(node, made)
                self._set(y, made, percentile, least, self._alike.get(node.attrs.get("like")))
            if node.op == "concat":
                self.scales.update(dict.fromkeys(node.inputs, self.scales[y]))
                self.bounds.update(dict.fromkeys(node.inputs, self.bounds[y]))

    def _rounding(self, node, made):
        """Return the range that float64's rounding alone may give to what is 0."""
        inputs = [made.get(name, self._values.get(name)) for name in node.inputs]
        sizes = [float(np.abs(x).max()) for x in inputs if x is not None]
        if node.op in ("conv", "dense", "multiply"):
            sizes[:2] = [sizes[0] * sizes[1]]
        return 2.0**-40 * max(sizes)

    def _set(self, name, made, percentile, least, alike=None):
        """Set the range of a tensor, or of all of those that are to have one in common.

        :param least: a range up to this is none: the activation is dead
        """
        values = np.concatenate([made[n].ravel() for n in alike]) if alike else made[name]
        if percentile == 100:
            low, high = values.min(), values.max()
        else:
            low, high = np.percentile(values, [100 - percentile, percentile])
        low, high = min(float(low), 0.0), max(float(high), 0.0)
        if high - low <= least:
            high = low + 1.0  # a dead activation; any scale will do
        scale = (high - low) / 255
        if not _LEAST <= scale <= _MOST:
            raise GraphError(f"{name}: expected a range of float32, got {low:.3g} .. {high:.3g}")
        zero = int(np.clip(np.rint(-128 - low / scale), -128, 127))
        self.bounds[name], self.scales[name] = (low, high), (scale, zero)


def _layer(network, node, scales, values, headroom):
    """Quantize one layer's weight and bias; both get their scales."""
    x, weight, bias = node.inputs
    real = network.values[weight].astype(np.float64)
    real_bias = network.values[bias].astype(np.float64)
    largest = np.abs(real).reshape(len(real), -1).max(axis=1)
    scale = largest * (1 + headroom) / 127
    input_scale, output_scale = scales[x][0], scales[node.outputs[0]][0]
    # A bias must stay within 2^30 of its own steps; a dead channel needs some scale too.
    least = np.abs(real_bias) / (BIAS_LIMIT / 2 * input_scale)
    usual = float(np.median(scale[scale > 0])) if (scale > 0).any() else output_scale
    # Its output is its bias, whose step is not to be above the output's.
    usual = max(min(usual, output_scale / input_scale), _LEAST)
    scale = np.maximum(np.where(scale > 0, scale, usual), least)
    # float32 numbers, which every file format keeps.
    scale = scale.astype(np.float32).astype(np.float64)
    stored = np.clip(np.rint(real / scale[:, None, None, None]), -127, 127)
    values[weight] = stored.astype(np.int8)
    values[bias] = np.rint(real_bias / (scale * input_scale)).astype(np.int32)
    scales[weight] = (tuple(scale.tolist()), 0)
    scales[bias] = (tuple((scale * input_scale).tolist()), 0)


def _report(network, small, samples, made, ranges):
    stored = Int8Run(small)(small.quantize_input(samples))
    rows = []
    for node in network.graph.nodes:
        if node.phase != "forward":
            continue
        y = node.outputs[0]
        low, high = ranges.bounds[y]
        tensor, real = small.graph[y], made[y]
        got = (stored[y].astype(np.float64) - tensor.zero_point) * tensor.scale
        weight_error, dead = _weight_report(network, small, node)
        rows.append(
            LayerReport(
                node.attrs["layer"],
                low,
                high,
                float(((real < low) | (real > high)).mean()),
                tensor.scale / float(real.std()) if real.std() else math.inf,
                weight_error,
                _error(real, got),
                dead,
            )
        )
    before = made[network.output].reshape(len(samples), -1).argmax(axis=1)
    after = stored[small.output].reshape(len(samples), -1).argmax(axis=1)
    return QuantizationReport(tuple(rows), float((before == after).mean()))


def _weight_report(network, small, node):
    if node.op not in ("conv", "dense"):
        return 0.0, 0
    real = network.values[node.inputs[1]].astype(np.float64)
    scale = np.asarray(small.graph[node.inputs[1]].scale)[:, None, None, None]
    dead = int((np.abs(real).reshape(len(real), -1).max(axis=1) == 0).sum())
    return _error(real, small.values[node.inputs[1]] * scale), dead


def _error(real, got):
    size = float(np.sqrt((real**2).mean()))
    return float(np.sqrt(((real - got) ** 2).mean())) / size if size else 0.0
