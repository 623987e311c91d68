# SPDX-License-Identifier: MIT
"""Runs a quantized network forward over a batch with numpy, byte for byte as a board does.

docs/numerics.md, sections 1 to 3. For the host's own work (accuracy, calibration, importers);
boards and their twin run the C core.
"""

import numpy as np

from .attention import heads_of, joined_heads, run_attention
from .clamps import inside_limits, is_clamped
from .factors import multiplier, multipliers, requantize
from .graph import GraphError
from .lstm import run_lstm
from .moves import flat, gathered, joined, unflat
from .network import clamp_limits, in_shape
from .slide import conv, windows
from .svdf import run_svdf

NORM_MOST = 500  # channels of a normalization


class Int8Run:
    """The forward pass of a quantized Network; windows of streams go on from call to call."""

    def __init__(self, network):
        if not network.quantized:
            raise GraphError(f"{network.graph.name}: its numbers are float; quantize it first")
        self.network, self.graph = network, network.graph
        self.nodes = [node for node in self.graph.nodes if node.phase == "forward"]
        self.state = {}
        self.masks = None  # or a dict, which gets the clamp masks of convolutions and ReLUs

    def __call__(self, x):
        """Return {tensor: int8 array} for int8 inputs (batch, channels, height, width)."""
        x = in_shape(x, self.graph[self.network.input].shape)
        made = {self.network.input: x.astype(np.int8)}
        for node in self.nodes:
            y = made[node.outputs[0]] = getattr(self, "_" + node.op)(node, made)
            if self.masks is not None and is_clamped(node):
                low, high = inside_limits(self.graph, node)
                self.masks[node.outputs[0]] = (y >= low) & (y <= high)
        return made

    def predict(self, x, batch=256):
        """Return the stored outputs, (samples, outputs), of int8 inputs."""
        found = [self(x[i : i + batch])[self.network.output] for i in range(0, len(x), batch)]
        return np.concatenate(found).reshape(len(x), -1)

    def sums(self, node, made):
        """Return the int64 sums of a layer, bias included."""
        x, weight, bias = node.inputs[:3]
        real = made[x].astype(np.float64) - self.graph[x].zero_point
        weight = self.network.values[weight].astype(np.float64)
        bias = self.network.values[bias].astype(np.int64)
        if node.op == "dense":
            found = real.reshape(len(real), -1) @ weight.reshape(len(weight), -1).T
            found = found[:, :, None, None]
        else:
            found = conv(real, weight, node.attrs)
        return found.astype(np.int64) + bias[:, None, None]

    def _conv(self, node, made):
        x, weight = (self.graph[name] for name in node.inputs[:2])
        y = self.graph[node.outputs[0]]
        m, shift = multipliers(layer_factors(x, weight, y))
        stored = requantize(self.sums(node, made), m[:, None, None], shift[:, None, None])
        stored += y.zero_point
        clamped = np.clip(stored, *clamp_limits(self.graph, node))
        if self.masks is not None and node.op == "conv":
            self.masks[y.name] = stored == clamped
        return clamped.astype(np.int8)

    _dense = _conv

    def _add(self, node, made):
        a, b = (self.graph[name] for name in node.inputs)
        y = self.graph[node.outputs[0]]
        twice = 2 * max(a.scale, b.scale)
        total = np.int64(0)
        for tensor in (a, b):
            part = (made[tensor.name].astype(np.int64) - tensor.zero_point) << 20
            total = total + requantize(part, *multiplier(tensor.scale / twice))
        stored = requantize(total, *multiplier(twice / (2**20 * y.scale))) + y.zero_point
        return np.clip(stored, *clamp_limits(self.graph, node)).astype(np.int8)

    def _multiply(self, node, made):
        a, b = (self.graph[name] for name in node.inputs)
        y = self.graph[node.outputs[0]]
        left, right = (made[t.name].astype(np.int64) - t.zero_point for t in (a, b))
        stored = requantize(left * right, *multiplier(a.scale * b.scale / y.scale)) + y.zero_point
        return np.clip(stored, *clamp_limits(self.graph, node)).astype(np.int8)

    def _concat(self, node, made):
        parts = [made[name] for name in node.inputs]
        return joined(parts, node.attrs["axis"], self.graph[node.outputs[0]].shape)

    def _gather(self, node, made):
        return gathered(made[node.inputs[0]], node, self.graph[node.outputs[0]].shape)

    def _lstm(self, node, made):
        y, h, c = node.outputs
        n, count = self.graph[y].shape[0], len(made[node.inputs[0]])
        old = []
        for name in (h, c):
            first = self.network.values[name].astype(np.int64).reshape(1, n)
            old.append(self.state.get(name, np.broadcast_to(first, (count, n))))
        self._goes_on(h, len(old[0]), count)
        x = self.graph[node.inputs[0]]
        rows = flat(made[x.name]).reshape(count, -1, x.shape[0])
        found, *new = run_lstm(node, self.graph, self.network.values, rows, *old)
        self.state.update(zip((h, c), new, strict=True))
        return unflat(found.astype(np.int8).reshape(count, -1), self.graph[y].shape)

    def _svdf(self, node, made):
        name, count = node.outputs[1], len(made[node.inputs[0]])
        first = self.network.values[name][..., 0].T
        old = self.state.get(name, np.broadcast_to(first, (count, *first.shape)))
        self._goes_on(name, len(old), count)
        found = run_svdf(node, self.graph, self.network.values, flat(made[node.inputs[0]]), old)
        self.state[name] = found[1]
        return unflat(found[0], self.graph[node.outputs[0]].shape)

    def _goes_on(self, name, before, count):
        if before != count:
            raise GraphError(f"{name}: a stream of {before} at once goes on with {count}")

    def _norm(self, node, made):
        x, y = (self.graph[name] for name in (node.inputs[0], node.outputs[0]))
        found, _, _ = normal(made[x.name].astype(np.int64), norm_extra(x, node.attrs["eps"]))
        stored = requantize(found, *multiplier(1 / (1024 * y.scale))) + y.zero_point
        return np.clip(stored, -128, 127).astype(np.int8)

    def _attention(self, node, made):
        parts = [made[name].astype(np.int64) - self.graph[name].zero_point for name in node.inputs]
        found = run_attention(node, self.graph, *(heads_of(part, node) for part in parts))
        return joined_heads(found.astype(np.int8), self.graph[node.outputs[0]].shape)

    def _pool(self, node, made):
        x = made[node.inputs[0]].astype(np.int64)
        count = x.shape[2] * x.shape[3]
        return _share(x.sum(axis=(2, 3), keepdims=True), count).astype(np.int8)

    def _average_pool(self, node, made):
        x = made[node.inputs[0]].astype(np.int64)
        total = windows(x, node.attrs).sum(axis=(4, 5))
        count = windows(np.ones_like(x), node.attrs).sum(axis=(4, 5))
        stored = _share(total, count)
        return np.clip(stored, *clamp_limits(self.graph, node)).astype(np.int8)

    def _max_pool(self, node, made):
        stored = windows(made[node.inputs[0]], node.attrs, -128).max(axis=(4, 5))
        return np.clip(stored, *clamp_limits(self.graph, node)).astype(np.int8)

    def _pad(self, node, made):
        x = self.graph[node.inputs[0]]
        pad = node.attrs["pad"]
        top, left, bottom, right = pad if isinstance(pad, tuple) else (pad,) * 4
        around = ((0, 0), (0, 0), (top, bottom), (left, right))
        return np.pad(made[x.name], around, constant_values=x.zero_point)

    def _lookup(self, node, made):
        x, table = node.inputs
        return self.network.values[table][made[x].astype(np.int64) + 128]

    def _window(self, node, made):
        x, name = made[node.inputs[0]], node.outputs[0]
        first = np.broadcast_to(self.network.values[name], (len(x), *self.graph[name].shape))
        old = self.state.get(name, first)
        if len(old) != len(x):
            raise GraphError(f"{name}: a stream of {len(old)} at once goes on with {len(x)}")
        self.state[name] = np.concatenate([old[:, :, x.shape[2] :], x], axis=2)
        return self.state[name]


def normal(x, extra):
    """Return (elements in 1/1024 of the deviation of their pixel, root, twice): section 3."""
    n = x.shape[1]
    total = x.sum(axis=1, keepdims=True)
    rest = np.maximum(1, n * (x**2).sum(axis=1, keepdims=True) - total**2 + extra)
    twice = np.zeros_like(rest)
    while (rest < 1 << 30).any():
        twice += rest < 1 << 30
        rest = np.where(rest < 1 << 30, rest << 2, rest)
    root = np.floor(np.sqrt(rest.astype(np.float64))).astype(np.int64)
    root -= root * root > rest
    d = n * x - total
    return np.sign(d) * (((np.abs(d) << (10 + twice)) + root // 2) // root), root, twice


def norm_extra(x, eps):
    """Return what eps adds to n^2 times the variance of stored elements of tensor `x`.

    :raises GraphError: where 32 bits do not hold the sum
    """
    n = x.shape[0]
    extra = round(n**2 * eps / x.scale**2)
    if n > NORM_MOST or n**2 * 16384 + extra >= 1 << 32:
        raise GraphError(
            f"{x.name}: a normalization over {n} channels, eps {eps:g} on steps of {x.scale:.3g}; "
            f"at most {NORM_MOST} channels, or larger inputs and a smaller eps"
        )
    return extra


def layer_factors(x, weight, y):
    """Return the real factor of each output channel of a layer: s_x * s_w / s_y.

    :raises GraphError: where no integer holds one
    """
    per_channel = np.broadcast_to(np.asarray(weight.scale, np.float64), weight.shape[:1])
    factors = x.scale * per_channel / y.scale
    if factors.max() >= 2**30:
        raise GraphError(
            f"{y.name}: one step of its layer's sums is {factors.max():.3g} of its own; most is "
            "2^30: smaller weights, or samples in which it is not 0"
        )
    return factors


def _share(total, count):
    """Return total / count to the nearest, halves away from zero."""
    half = count // 2
    return np.sign(total) * ((np.abs(total) + half) // count)


def accuracy(network, x, labels):
    """Return the share of int8 samples whose largest output is that of their label."""
    return float((Int8Run(network).predict(x).argmax(axis=1) == labels).mean())
