# SPDX-License-Identifier: MIT
"""Trains small float networks from nothing on the host, with numpy alone.

For nets that a board adapts later: a few ten thousand weights, a few thousand samples. Every
convolution is normalized over its batch while it is trained; the finished network has that
folded in. Larger networks come from PyTorch or Keras through ONNX.
"""

import numpy as np

from .graph import GraphError
from .network import Network
from .slide import conv, input_gradient, weight_gradient

_EPSILON, _KEEP = 1e-5, 0.9


def pretrain(graph, x, labels, epochs=30, batch=32, rate=0.01, seed=1, progress=None):
    """Return the float Network of `graph`, trained with Adam on softmax and cross-entropy.

    :param graph: conv, dense, add and pool nodes, with a loss node (Builder.classify)
    :param x: (count, channels, height, width) floats, roughly -1 to 1
    :param labels: (count,) whole numbers from 0
    :param rate: first learning rate; it falls to 0 as a half cosine
    :param progress: called with (epoch, mean loss) after each epoch
    :raises GraphError: for operators that have no gradient here, or a loss that is not finite
    """
    x, labels = np.asarray(x, np.float32), np.asarray(labels)
    train = _Training(graph, seed)
    random = np.random.default_rng(seed)
    steps = epochs * (len(x) // batch)
    for epoch in range(epochs):
        order, losses = random.permutation(len(x)), []
        for i in range(len(x) // batch):
            chosen = order[i * batch : (i + 1) * batch]
            done = (epoch * (len(x) // batch) + i) / max(steps, 1)
            losses.append(
                train.step(x[chosen], labels[chosen], rate * 0.5 * (1 + np.cos(np.pi * done)))
            )
        if not np.isfinite(np.mean(losses)):
            raise GraphError(f"{graph.name}: the loss is not finite; lower rate from {rate}")
        if progress:
            progress(epoch, float(np.mean(losses)))
    return train.folded()


class _Training:
    """Parameters, what Adam keeps of them, and running means of the normalization."""

    def __init__(self, graph, seed):
        self.graph = graph
        self.nodes = [n for n in graph.nodes if n.phase == "forward"]
        unknown = {n.op for n in self.nodes} - {"conv", "dense", "add", "pool"}
        if unknown:
            raise GraphError(f"{graph.name}: no gradient on the host for {', '.join(unknown)}")
        random = np.random.default_rng(seed)
        self.values, self.running, self.moments, self.count = {}, {}, {}, 0
        for node in self.nodes:
            if node.op not in ("conv", "dense"):
                continue
            shape, layer = graph[node.inputs[1]].shape, node.attrs["layer"]
            spread = np.sqrt((2 if node.op == "conv" else 1) / np.prod(shape[1:]))
            self.values[layer + ".w"] = random.normal(0, spread, shape).astype(np.float32)
            self.values[layer + ".b"] = np.zeros(shape[0], np.float32)
            if node.op == "conv":
                self.values[layer + ".gamma"] = np.ones(shape[0], np.float32)
                self.running[layer] = [np.zeros(shape[0]), np.ones(shape[0])]

    def step(self, x, labels, rate):
        """One step on a batch; returns its mean loss."""
        made, kept = {self.nodes[0].inputs[0]: x}, {}
        for node in self.nodes:
            made[node.outputs[0]] = self._forward(node, made, kept)
        logits = made[self.nodes[-1].outputs[0]][:, :, 0, 0].astype(np.float64)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        loss = -np.log(np.maximum(shares[np.arange(len(x)), labels], 1e-30)).mean()
        shares[np.arange(len(x)), labels] -= 1
        last = (shares / len(x)).astype(np.float32)[..., None, None]
        gradients = {self.nodes[-1].outputs[0]: last}
        found = {}
        for node in reversed(self.nodes):
            self._backward(node, made, kept, gradients, found)
        self._adam(found, rate)
        return loss

    def _forward(self, node, made, kept):
        x = made[node.inputs[0]]
        if node.op == "add":
            y, kept[node.attrs["layer"]] = _clamped(node, x + made[node.inputs[1]])
            return y
        if node.op == "pool":
            return x.mean(axis=(2, 3), keepdims=True)
        layer = node.attrs["layer"]
        weight, bias = self.values[layer + ".w"], self.values[layer + ".b"]
        if node.op == "dense":
            y = x.reshape(len(x), -1) @ weight.reshape(len(weight), -1).T + bias
            return y[..., None, None]
        sums = conv(x, weight, node.attrs)
        mean, variance = sums.mean(axis=(0, 2, 3)), sums.var(axis=(0, 2, 3))
        for old, new in zip(self.running[layer], (mean, variance), strict=True):
            old *= _KEEP
            old += (1 - _KEEP) * new
        spread = 1 / np.sqrt(variance + _EPSILON)
        normal = (sums - _wide(mean)) * _wide(spread)
        y = normal * _wide(self.values[layer + ".gamma"]) + _wide(bias)
        y, mask = _clamped(node, y)
        kept[layer] = (normal, spread, mask)
        return y

    def _backward(self, node, made, kept, gradients, found):
        g = gradients.pop(node.outputs[0])
        x = made[node.inputs[0]]
        if node.op == "add":
            g = g * kept.pop(node.attrs["layer"])
            for name in node.inputs:
                _add(gradients, name, g)
        elif node.op == "pool":
            count = x.shape[2] * x.shape[3]
            _add(gradients, node.inputs[0], np.broadcast_to(g / count, x.shape))
        elif node.op == "dense":
            layer, weight = node.attrs["layer"], self.values[node.attrs["layer"] + ".w"]
            flat = g[:, :, 0, 0]
            found[layer + ".w"] = (flat.T @ x.reshape(len(x), -1)).reshape(weight.shape)
            found[layer + ".b"] = flat.sum(axis=0)
            _add(
                gradients,
                node.inputs[0],
                (flat @ weight.reshape(len(weight), -1)).reshape(x.shape),
            )
        else:
            self._conv_backward(node, x, g, kept, gradients, found)

    def _conv_backward(self, node, x, g, kept, gradients, found):
        layer = node.attrs["layer"]
        normal, spread, mask = kept.pop(layer)
        g = g * mask
        axes = (0, 2, 3)
        found[layer + ".b"] = g.sum(axis=axes)
        found[layer + ".gamma"] = (g * normal).sum(axis=axes)
        count = g.size // g.shape[1]
        share, along = found[layer + ".b"] / count, found[layer + ".gamma"] / count
        g = _wide(self.values[layer + ".gamma"] * spread) * (
            g - _wide(share) - normal * _wide(along)
        )
        weight = self.values[layer + ".w"]
        found[layer + ".w"] = weight_gradient(x, g, node.attrs, weight.shape)
        if self.graph[node.inputs[0]].kind != "input":
            _add(gradients, node.inputs[0], input_gradient(g, weight, node.attrs, x.shape[1:]))

    def _adam(self, found, rate):
        self.count += 1
        slow, fast = 1 - 0.999**self.count, 1 - 0.9**self.count
        for name, gradient in found.items():
            first, second = self.moments.setdefault(
                name, [np.zeros_like(self.values[name]), np.zeros_like(self.values[name])]
            )
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient**2 - second)
            self.values[name] -= rate * (first / fast) / (np.sqrt(second / slow) + 1e-8)

    def folded(self):
        """Return the Network, its normalization folded into weights and biases."""
        values = {}
        for node in self.nodes:
            if node.op not in ("conv", "dense"):
                continue
            layer = node.attrs["layer"]
            weight, bias = self.values[layer + ".w"], self.values[layer + ".b"]
            if node.op == "conv":
                mean, variance = self.running[layer]
                factor = self.values[layer + ".gamma"] / np.sqrt(variance + _EPSILON)
                weight, bias = weight * factor[:, None, None, None], bias - mean * factor
            values[layer + ".w"] = weight.astype(np.float32)
            values[layer + ".b"] = bias.astype(np.float32)
        return Network(self.graph, values)


def _wide(values):
    return np.asarray(values, np.float32)[:, None, None]


def _clamped(node, y):
    """Return (output, mask) of a node's ReLU; the mask is 1 where there is none."""
    if not node.attrs.get("relu"):
        return y, 1
    limit = node.attrs.get("limit", 6.0)
    return np.clip(y, 0, limit), (y > 0) & (y < limit)


def _add(gradients, name, g):
    gradients[name] = gradients[name] + g if name in gradients else g
