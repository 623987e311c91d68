# SPDX-License-Identifier: MIT
"""A training step's arena: what it is, and a linear bound that it never falls below.

The bound adds up what lives at each layer of the forward pass, and again of the backward pass,
in any case: the layer's output or gradients, trained parameters, and the inputs and masks that
the layers up to it keep for the backward pass.
"""

from dataclasses import dataclass

from ..compile.fuse import is_depthwise
from ..compile.step import Options, inference_step, training_step
from ..model.zoo import convolutions
from .contribution import options as all_options


def arena_bytes(graph, scheme, step_options=None, tries=0):
    """Return the bytes of the arena of a training step, as the compiler lays it out."""
    return training_step(graph, scheme, step_options or Options(), tries).layout.size_bytes


@dataclass(frozen=True)
class Bound:
    """At each place: `fixed` bytes, and those that `biases[k]` or `weights[option]` add."""

    fixed: tuple
    biases: tuple
    weights: dict

    def of(self, scheme):
        """Return the bound of a scheme in bytes."""
        chosen = [self.weights[c] for c in scheme.channels]
        return max(
            fixed + self.biases[scheme.bias_layers][t] + sum(c[t] for c in chosen)
            for t, fixed in enumerate(self.fixed)
        )


def bound(graph, ratios, step_options=None):
    """Return the Bound of a forward graph with loss.

    Places are the n convolutions in the forward pass, the loss, and the n in the backward pass,
    by their number in the forward pass.
    """
    nodes = convolutions(graph)
    n = len(nodes)
    live, parameters = _inference(graph, nodes, step_options or Options())
    fixed = [bytes_ + parameters for bytes_ in live] + [parameters] * (n + 1)

    def kept(i, size, last):
        """Bytes that layer i keeps: after it in the forward pass, down to layer `last`."""
        return [size * (t > i) for t in range(n + 1)] + [size * (t >= last) for t in range(n)]

    biases = [[0] * (2 * n + 1)]
    for k in range(1, n + 1):
        i = n - k
        # A mask is used up before the gradient of the layer's input is formed.
        row = _sum(biases[-1], kept(i, graph[nodes[i].outputs[1]].size_bytes, i + 1))
        row = [bytes_ + graph[nodes[i].inputs[2]].size_bytes for bytes_ in row]
        row[n + 1 + i] += _gradients(graph, nodes[i], False)
        if k > 1:
            row[n + 2 + i] += _gradients(graph, nodes[i + 1], True) - _gradients(
                graph, nodes[i + 1], False
            )
        biases.append(row)
    weights = {}
    for layer, below, counts in all_options(graph, ratios):
        i, node = n - below, nodes[n - below]
        x, weight = graph[node.inputs[0]], graph[node.inputs[1]]
        for count in counts:
            share = weight.size_bytes * count // x.shape[0]
            # The network's input stays with the caller.
            size = x.size_bytes * count // x.shape[0] if x.kind != "input" else 0
            weights[layer, count] = tuple(share + bytes_ for bytes_ in kept(i, size, i))
    return Bound(tuple(fixed), tuple(tuple(row) for row in biases), weights)


def _sum(left, right):
    return [a + b for a, b in zip(left, right, strict=True)]


def _gradients(graph, node, deeper):
    """Bytes of a layer's gradients at once: of its output, and of its input where one is formed.

    A depthwise layer may write one over the other.
    """
    x, y = graph[node.inputs[0]].elements, graph[node.outputs[0]].elements
    if not deeper:
        return y
    return max(x, y) if is_depthwise(graph, node) else x + y


def _inference(graph, nodes, step_options):
    """Return (bytes of each layer's output, 0 where it never exists whole; classifier's own)."""
    place = {node.attrs["layer"]: i for i, node in enumerate(nodes)}
    parameters = sum(
        graph[name].size_bytes
        for node in graph.nodes
        if node.op == "dense"
        for name in node.inputs[1:3]
    )
    live = [0] * len(nodes)
    step = inference_step(graph, step_options, tries=0)
    for node in step.graph.nodes:
        i = place.get(node.attrs.get("layer"))
        if i is not None:
            # What is kept may be among the node's inputs; so count its output alone.
            live[i] = max(live[i], sum(step.graph[name].size_bytes for name in node.outputs))
    return live, parameters
