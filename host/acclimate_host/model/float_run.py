# SPDX-License-Identifier: MIT
"""Runs a float network forward over a batch with numpy: calibration and checks."""

import math

import numpy as np

from .attention import heads_of, joined_heads
from .importing import function_of
from .moves import gathered, joined
from .network import in_shape
from .slide import conv, windows


class FloatRun:
    """The forward pass in float64; windows of streams go on from call to call."""

    def __init__(self, network):
        self.network, self.graph = network, network.graph
        self.nodes = [node for node in self.graph.nodes if node.phase == "forward"]
        self.values = {k: v.astype(np.float64) for k, v in network.values.items()}
        self.state = {}
        self.masks = None  # or a dict, which gets each ReLU's clamp mask

    def __call__(self, x):
        """Return {tensor: array} for inputs (batch, channels, height, width)."""
        x = in_shape(x, self.graph[self.network.input].shape)
        made = {self.network.input: x.astype(np.float64)}
        for node in self.nodes:
            inputs = [made[n] if n in made else self.values.get(n) for n in node.inputs]
            y = getattr(self, "_" + node.op)(node, *inputs)
            if node.attrs.get("relu"):
                limit = node.attrs.get("limit", 6.0)
                if self.masks is not None:
                    self.masks[node.outputs[0]] = (y > 0) & (y < limit)
                y = np.clip(y, 0, limit)
            made[node.outputs[0]] = y
        return made

    def predict(self, x, batch=256):
        """Return the outputs, (samples, outputs)."""
        found = [self(x[i : i + batch])[self.network.output] for i in range(0, len(x), batch)]
        return np.concatenate(found).reshape(len(x), -1)

    def _conv(self, node, x, weight, bias):
        return conv(x, weight, node.attrs) + bias[:, None, None]

    def _dense(self, node, x, weight, bias):
        y = x.reshape(len(x), -1) @ weight.reshape(len(weight), -1).T + bias
        return y[:, :, None, None]

    def _add(self, node, left, right):
        return left + right

    def _multiply(self, node, left, right):
        return left * right

    def _concat(self, node, *parts):
        return joined(parts, node.attrs["axis"], self.graph[node.outputs[0]].shape)

    def _gather(self, node, x):
        return gathered(x, node, self.graph[node.outputs[0]].shape)

    def _norm(self, node, x):
        mean = x.mean(axis=1, keepdims=True)
        return (x - mean) / np.sqrt(x.var(axis=1, keepdims=True) + node.attrs["eps"])

    def _attention(self, node, q, k, v):
        q, k, v = (heads_of(part, node) for part in (q, k, v))
        scores = node.attrs["factor"] * (q @ k.swapaxes(2, 3))
        e = np.exp(scores - scores.max(axis=3, keepdims=True))
        y = e / e.sum(axis=3, keepdims=True) @ v
        return joined_heads(y, self.graph[node.outputs[0]].shape)

    def _pool(self, node, x):
        return x.mean(axis=(2, 3), keepdims=True)

    def _average_pool(self, node, x):
        total = windows(x, node.attrs).sum(axis=(4, 5))
        return total / windows(np.ones_like(x), node.attrs).sum(axis=(4, 5))

    def _max_pool(self, node, x):
        return windows(x, node.attrs, -math.inf).max(axis=(4, 5))

    def _pad(self, node, x):
        pad = node.attrs["pad"]
        top, left, bottom, right = pad if isinstance(pad, tuple) else (pad,) * 4
        return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))

    def _lookup(self, node, x, _):
        return function_of(node.attrs["function"])(x)

    def _window(self, node, x):
        name = node.outputs[0]
        first = np.broadcast_to(self.values[name], (len(x), *self.graph[name].shape))
        old = self.state.get(name, first)
        self.state[name] = np.concatenate([old[:, :, x.shape[2] :], x], axis=2)
        return self.state[name]


def accuracy(network, x, labels):
    """Return the share of samples whose largest output is that of their label."""
    return float((FloatRun(network).predict(x).argmax(axis=1) == labels).mean())
