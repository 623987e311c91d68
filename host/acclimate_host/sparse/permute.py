# SPDX-License-Identifier: MIT
"""Reorders channels at export so that those worth training come first.

A board trains the first input channels of a weight, which then lie in one piece. The order of
channels within a network is free as long as all that share a channel agree; so each group of
tensors that share channels gets one order, and outputs stay the same bit for bit.
"""

from dataclasses import replace

import numpy as np

from ..model.network import Network

_SAME = ("add", "multiply", "pool", "average_pool", "max_pool", "pad", "lookup", "window")


def channels_by_size(network, layers=None):
    """Return the network with channels ordered by the size of the weights that read them.

    :param layers: layers whose input channels count; None for all
    """
    spaces = _Spaces(network.graph)
    sizes = {}
    for node in network.graph.nodes:
        if (
            node.op not in ("conv", "dense")
            or layers is not None
            and (node.attrs["layer"] not in layers)
        ):
            continue
        space, size = spaces.of(node.inputs[0]), _input_sizes(network, node)
        if size is not None and not spaces.is_fixed(space):
            sizes[space] = sizes.get(space, 0) + size / max(size.max(), 1e-30)
    orders = {space: np.argsort(-size, kind="stable") for space, size in sizes.items()}
    return reorder(network, {space: order for space, order in orders.items()}, spaces)


def _input_sizes(network, node):
    """Return the summed magnitudes of the real weights of each input channel, or None."""
    weight = np.abs(network.values[node.inputs[1]].astype(np.float64))
    if network.quantized:
        weight = weight * np.asarray(network.graph[node.inputs[1]].scale)[:, None, None, None]
    channels = network.graph[node.inputs[0]].shape[0]
    if node.op == "conv" and node.attrs["groups"] > 1:
        return weight.sum(axis=(1, 2, 3)) if len(weight) == channels else None
    return weight.sum(axis=(0, 2, 3))


def reorder(network, orders, spaces=None):
    """Return the network with the channels of each space in a new order.

    :param orders: {space: old numbers in their new order}
    """
    spaces = spaces or _Spaces(network.graph)
    graph, values = network.graph, dict(network.values)
    tensors = dict(graph.tensors)
    for node in graph.nodes:
        if node.op == "window":
            _along(values, tensors, node.outputs[0], orders.get(spaces.of(node.outputs[0])), 0)
        if node.op not in ("conv", "dense"):
            continue
        x, weight, bias = node.inputs[:3]
        order = orders.get(spaces.of(node.outputs[0]))
        _along(values, tensors, weight, order, 0)
        _along(values, tensors, bias, order, 0)
        if node.op == "dense" or node.attrs["groups"] == 1:
            _along(values, tensors, weight, orders.get(spaces.of(x)), 1)
    return Network(replace(graph, tensors=tensors), values, network.notes)


def _along(values, tensors, name, order, axis):
    if order is None:
        return
    values[name] = np.ascontiguousarray(np.take(values[name], order, axis=axis))
    scale = tensors[name].scale
    if axis == 0 and isinstance(scale, tuple):
        tensors[name] = replace(tensors[name], scale=tuple(scale[i] for i in order))


class _Spaces:
    """Which tensors share their channels; a fixed space keeps its order."""

    def __init__(self, graph):
        self.parent, self.fixed = {name: name for name in graph.tensors}, set()
        fixed = [t.name for t in graph.tensors.values() if t.kind == "input"]
        fixed += [n.outputs[0] for n in graph.nodes if n.op == "dense"]
        fixed += [name for name in graph.outputs if name in graph.tensors]
        for node in graph.nodes:
            if node.phase != "forward":
                continue
            x, y = node.inputs[0], node.outputs[0]
            if node.op in _SAME:
                for name in node.inputs[: 2 if node.op in ("add", "multiply") else 1]:
                    self._join(name, y)
            elif node.op in ("concat", "gather", "norm", "lstm", "svdf", "attention"):
                is_recurrent = node.op in ("lstm", "svdf")
                inputs = node.inputs[:1] if is_recurrent else node.inputs
                fixed += [*inputs, y]
            elif node.op == "conv" and node.attrs["groups"] > 1:
                if node.attrs["groups"] == graph[x].shape[0] == graph[y].shape[0]:
                    self._join(x, y)
                else:
                    fixed += [x, y]
        self.fixed = {self.of(name) for name in fixed}

    def of(self, name):
        while self.parent[name] != name:
            name = self.parent[name]
        return name

    def is_fixed(self, space):
        return space in self.fixed

    def _join(self, a, b):
        self.parent[self.of(a)] = self.of(b)
