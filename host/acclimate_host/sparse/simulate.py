# SPDX-License-Identifier: MIT
"""Fine-tuning with numpy: float32, and int8 stored in ways that a board should not use.

A second opinion beside the twin, written apart from it: gradients are real numbers here, only
weights and activations are stored. It also shows what goes wrong without quantization-aware
scaling, and with a store that truncates.
"""

import numpy as np

from ..model.attention import heads_of, joined_heads
from ..model.float_run import FloatRun
from ..model.graph import GraphError, geometry
from ..model.importing import function_of
from ..model.int8 import Int8Run
from ..model.losses import with_loss
from ..model.moves import flat, unflat
from ..model.network import Network
from ..model.slide import input_gradient, weight_gradient, windows

STORES = ("stochastic", "nearest", "truncate")


class Simulation:
    """A network that is trained one sample at a time.

    :param network: float, or quantized
    :param scheme: which biases and input channels are trained; the classifier always is
    :param store: how a quantized network rounds what it stores, one of STORES
    :param scaling: quantization-aware; False: each stored number moves by the rate times the
        gradient with respect to itself (the classifier is scaled all the same)
    """

    def __init__(self, network, scheme, store="stochastic", scaling=True, seed=1):
        if store not in STORES:
            raise GraphError(f"store: expected one of {', '.join(STORES)}, got {store!r}")
        self.network, self.scaling, self.store = with_loss(network), scaling, store
        self.graph = self.network.graph
        kind = np.int64 if network.quantized else np.float64
        self.values = {k: v.astype(kind) for k, v in network.values.items()}
        self.random = np.random.default_rng(seed)
        self.biases = set(scheme.trained_biases(self.graph))
        self.channels = scheme.trained_channels(self.graph)
        self.nodes = [n for n in self.graph.nodes if n.phase == "forward"]
        self.convolutions = {n.attrs["layer"] for n in self.nodes if n.op == "conv"}
        names = [n.attrs["layer"] for n in self.nodes]
        trained = self.biases | set(self.channels)
        self.first = min((names.index(layer) for layer in trained), default=len(names) - 1)
        self.run = (Int8Run if network.quantized else FloatRun)(
            Network(self.graph, self.values, ())
        )
        self.run.values = self.values
        self.run.masks = {}

    # ---- gradients -------------------------------------------------------------------------

    def gradients(self, x, label):
        """Return (loss, {parameter: gradient in real units}) of one sample.

        :param x: (channels, height, width), int8 for a quantized network
        """
        made = self.run(x[None])
        logits = self._real(made, self.network.output).ravel()
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        loss = -float(np.log(max(shares[label], 1e-30)))
        shares[label] -= 1
        pending, found = {self.network.output: shares.reshape(1, -1, 1, 1)}, {}
        for i in range(len(self.nodes) - 1, self.first - 1, -1):
            node = self.nodes[i]
            g = pending.pop(node.outputs[0], None)
            if g is not None:
                g = g * self.run.masks.get(node.outputs[0], 1)
                getattr(self, "_" + node.op)(node, made, g, pending, found, i > self.first)
        return loss, found

    def _real(self, made, name):
        if not self.network.quantized:
            return made[name]
        tensor = self.graph[name]
        return (made[name].astype(np.float64) - tensor.zero_point) * tensor.scale

    def _weight(self, node):
        weight = self.values[node.inputs[1]].astype(np.float64)
        return weight * self._scale(node.inputs[1])[:, None, None, None]

    def _scale(self, name):
        count = self.graph[name].shape[0]
        scale = self.graph[name].scale if self.network.quantized else 1.0
        return np.broadcast_to(np.asarray(scale, np.float64), (count,))

    def _conv(self, node, made, g, pending, found, deeper):
        layer, x = node.attrs["layer"], self._real(made, node.inputs[0])
        if layer in self.biases:
            found[layer + ".b"] = g.sum(axis=(0, 2, 3))
        count = self.channels.get(layer)
        if count:
            shape = self.graph[node.inputs[1]].shape
            if node.attrs["groups"] == 1:
                shape = (shape[0], count, *shape[2:])
                found[layer + ".w"] = weight_gradient(x[:, :count], g, node.attrs, shape)
            else:
                found[layer + ".w"] = weight_gradient(x, g, node.attrs, shape)[:count]
        if deeper:
            weight = self._weight(node)
            _add(pending, node.inputs[0], input_gradient(g, weight, node.attrs, x.shape[1:]))

    def _dense(self, node, made, g, pending, found, deeper):
        layer, x = node.attrs["layer"], self._real(made, node.inputs[0])
        flat = g.reshape(-1)
        found[layer + ".w"] = np.multiply.outer(flat, x[0])
        found[layer + ".b"] = flat
        if deeper:
            weight = self._weight(node)
            gx = flat @ weight.reshape(len(flat), -1)
            _add(pending, node.inputs[0], gx.reshape(x.shape))

    def _add(self, node, made, g, pending, found, deeper):
        for name in node.inputs:
            _add(pending, name, g)

    def _multiply(self, node, made, g, pending, found, deeper):
        for name, other in (node.inputs, node.inputs[::-1]):
            gx = g * self._real(made, other)
            one = made[name].shape[2:] == (1, 1)
            _add(pending, name, gx.sum(axis=(2, 3), keepdims=True) if one else gx)

    def _lookup(self, node, made, g, pending, found, deeper):
        x, function = self._real(made, node.inputs[0]), function_of(node.attrs["function"])
        _add(pending, node.inputs[0], g * (function(x) - function(x - 1e-6)) / 1e-6)

    def _norm(self, node, made, g, pending, found, deeper):
        x = self._real(made, node.inputs[0])
        inverse = 1 / np.sqrt(x.var(axis=1, keepdims=True) + node.attrs["eps"])
        y = (x - x.mean(axis=1, keepdims=True)) * inverse
        rest = g - g.mean(axis=1, keepdims=True) - y * (g * y).mean(axis=1, keepdims=True)
        _add(pending, node.inputs[0], rest * inverse)

    def _attention(self, node, made, g, pending, found, deeper):
        parts = [self._real(made, name) for name in node.inputs]
        q, k, v = (heads_of(part, node) for part in parts)
        factor, g = node.attrs["factor"], heads_of(g, node)
        scores = factor * (q @ k.swapaxes(2, 3))
        e = np.exp(scores - scores.max(axis=3, keepdims=True))
        shares = e / e.sum(axis=3, keepdims=True)
        slopes = g @ v.swapaxes(2, 3)
        slopes -= (shares * slopes).sum(axis=3, keepdims=True)
        slopes *= factor * shares
        gradients = (slopes @ k, slopes.swapaxes(2, 3) @ q, shares.swapaxes(2, 3) @ g)
        for name, part in zip(node.inputs, gradients, strict=True):
            _add(pending, name, joined_heads(part, self.graph[name].shape))

    def _gather(self, node, made, g, pending, found, deeper):
        shape = made[node.inputs[0]].shape
        rows = np.zeros(flat(made[node.inputs[0]]).shape)
        np.add.at(rows[0], np.asarray(node.attrs["index"]), flat(g)[0])
        _add(pending, node.inputs[0], unflat(rows, shape[1:]))

    def _concat(self, node, made, g, pending, found, deeper):
        at = 0
        for name in node.inputs:
            shape = made[name].shape
            if node.attrs["axis"] == "channels":
                part, at = g[:, at : at + shape[1]], at + shape[1]
            else:
                size = flat(made[name]).shape[1]
                part, at = unflat(flat(g)[:, at : at + size], shape[1:]), at + size
            _add(pending, name, part)

    def _pool(self, node, made, g, pending, found, deeper):
        shape = made[node.inputs[0]].shape
        _add(pending, node.inputs[0], np.broadcast_to(g / (shape[2] * shape[3]), shape))

    def _average_pool(self, node, made, g, pending, found, deeper):
        shape = made[node.inputs[0]].shape[1:]
        ones = np.ones((shape[0], 1, *geometry(node.attrs).kernel))
        attrs = {**node.attrs, "groups": shape[0]}
        count = windows(np.ones((1, *shape)), node.attrs).sum(axis=(4, 5))
        _add(pending, node.inputs[0], input_gradient(g / count, ones, attrs, shape))

    def _max_pool(self, node, made, g, pending, found, deeper):
        """To the first of the largest in each window."""
        x, form = made[node.inputs[0]].astype(np.float64), geometry(node.attrs)
        view = windows(x, node.attrs, -np.inf)
        first = view.reshape(*view.shape[:4], -1).argmax(axis=4)
        row, column = np.divmod(first, form.kernel[1])
        _, channel, top, left = np.indices(first.shape)
        gx = np.zeros(x.shape[1:])
        where = (
            channel,
            top * form.stride[0] - form.pad[0] + row,
            left * form.stride[1] - form.pad[1] + column,
        )
        np.add.at(gx, where, g)
        _add(pending, node.inputs[0], gx[None])

    def _pad(self, node, made, g, pending, found, deeper):
        pad = node.attrs["pad"]
        top, left = (pad, pad) if isinstance(pad, int) else pad[:2]
        height, width = made[node.inputs[0]].shape[2:]
        _add(pending, node.inputs[0], g[:, :, top : top + height, left : left + width])

    # ---- updates ---------------------------------------------------------------------------

    def step(self, x, label, rate):
        """Learn from one sample; return its loss before."""
        loss, found = self.gradients(x, label)
        for name, gradient in found.items():
            self._update(name, rate * gradient)
        return loss

    def _update(self, name, move):
        value = self.values[name]
        if not self.network.quantized:
            value[tuple(slice(edge) for edge in move.shape)] -= move
            return
        scale = self._scale(name)[: len(move)]
        scale = scale.reshape(-1, *(1,) * (move.ndim - 1))
        is_scaled = self.scaling or name[:-2] not in self.convolutions
        move = move / scale if is_scaled else move * scale
        part = value[tuple(slice(edge) for edge in move.shape)]
        limit = 127 if name.endswith(".w") else 2**30
        part[...] = np.clip(self._stored(part, move), -limit, limit)

    def _stored(self, value, move):
        wanted = value - move
        if self.store == "truncate":
            return np.trunc(wanted).astype(np.int64)
        shift = self.random.random(wanted.shape) if self.store == "stochastic" else 0.5
        return np.floor(wanted + shift).astype(np.int64)

    def tune(self, inputs, labels, setting):
        """Train as `finetune.Tuner.tune` does, in the same order of samples."""
        random, done = np.random.default_rng(setting.seed), 0
        steps, losses = setting.epochs * len(inputs), []
        rate = setting.rate
        for _ in range(setting.epochs):
            total = 0.0
            for i in random.permutation(len(inputs)):
                if done % 16 == 0:
                    rate = setting.rate * (1 - (1 - setting.last) * done / steps)
                total += self.step(inputs[i], int(labels[i]), rate)
                done += 1
            losses.append(total / len(inputs))
        return losses

    def accuracy(self, inputs, labels):
        """Return the share of samples that the network, as it is now, predicts right."""
        masks, self.run.masks = self.run.masks, None
        got = self.run.predict(np.asarray(inputs)).argmax(axis=1)
        self.run.masks = masks
        return float((got == np.asarray(labels)).mean())


def _add(pending, name, g):
    pending[name] = pending[name] + g if name in pending else g
