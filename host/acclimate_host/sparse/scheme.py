# SPDX-License-Identifier: MIT
"""A scheme says which biases and which input channels of which weights are trained."""

import json
from dataclasses import dataclass
from importlib.resources import files
from numbers import Integral

from ..model.graph import GraphError
from ..model.zoo import convolutions


@dataclass(frozen=True)
class Scheme:
    """Biases of the last `bias_layers` convolutions; `channels`: ((layer, count), ...).

    `count` is how many input channels of that layer's weight are trained, from the first on
    (for a depthwise layer: of its channels). The classifier is always trained.
    """

    bias_layers: int
    channels: tuple = ()

    def trained_biases(self, graph):
        """Return the names of the convolutions whose bias is trained."""
        names = [node.attrs["layer"] for node in convolutions(graph)]
        is_whole = isinstance(self.bias_layers, Integral)
        if not is_whole or not 0 <= self.bias_layers <= len(names):
            raise GraphError(
                f"bias_layers is {self.bias_layers!r}: expected 0 to {len(names)}, the layers of "
                f"{graph.name} before its classifier"
            )
        return names[len(names) - self.bias_layers :]

    def trained_channels(self, graph):
        """Return {layer: count}, checked against the graph."""
        limits = {n.attrs["layer"]: graph[n.inputs[0]].shape[0] for n in convolutions(graph)}
        groups = {
            n.attrs["layer"]: n.attrs["groups"]
            for n in convolutions(graph)
            if not can_split(graph, n)
        }
        found = {}
        for layer, count in self.channels:
            if layer not in limits:
                known = ", ".join(limits) or "none"
                raise GraphError(f"no convolution {layer!r} in {graph.name}; there are: {known}")
            if layer in found:
                raise GraphError(f"{layer}: named twice, with {found[layer]} and {count} channels")
            if not isinstance(count, Integral) or not 1 <= count <= limits[layer]:
                raise GraphError(f"{layer}: {count!r} channels; it has 1 to {limits[layer]}")
            if count < limits[layer] and layer in groups:
                raise GraphError(f"{layer}: {groups[layer]} groups; train it whole or not at all")
            found[layer] = int(count)
        return found


def can_split(graph, node):
    """Tell whether a convolution may train a part of its input channels: no groups, or depthwise
    with one output for each input."""
    x, y = (graph[name].shape[0] for name in (node.inputs[0], node.outputs[0]))
    return node.attrs["groups"] == 1 or node.attrs["groups"] == x == y


@dataclass(frozen=True)
class Published:
    """A scheme from the paper's material, with the extra memory that was stated for it."""

    net: str
    scheme: Scheme
    extra_kib: float


def from_ratios(graph, bias_layers, layers, ratios):
    """Return the scheme that trains int(ratio * channels) input channels of each layer."""
    nodes = convolutions(graph)
    counts = []
    for index, ratio in zip(layers, ratios, strict=True):
        count = int(graph[nodes[index].inputs[0]].shape[0] * ratio)
        if count:
            counts.append((nodes[index].attrs["layer"], count))
    return Scheme(bias_layers, tuple(counts))


def last_layers(graph, count):
    """Return the scheme that trains the last `count` convolutions whole."""
    nodes = convolutions(graph)
    start = len(nodes) - count
    return from_ratios(graph, count, range(start, len(nodes)), [1] * count)


def full(graph):
    """Return the scheme that trains everything.

    :raises GraphError: a layer has weights that no board trains
    """
    for node in graph.nodes:
        if node.op in ("lstm", "svdf"):
            raise GraphError(
                f"{node.attrs['layer']}: a {node.op} is not trained; name the layers behind it, "
                "or train the last ones (--last N)"
            )
    return last_layers(graph, len(convolutions(graph)))


def published(backbones):
    """Return the published schemes; `backbones` maps a net's name to its graph."""
    text = files("acclimate_host").joinpath("data", "sparse_schemes.json").read_text()
    found = []
    for row in json.loads(text)["schemes"]:
        scheme = from_ratios(
            backbones[row["net"]],
            row["bias_layers_last"],
            row["weight_layers"],
            row["input_channel_ratio"],
        )
        found.append(Published(row["net"], scheme, row["extra_memory_kib"]))
    return found
