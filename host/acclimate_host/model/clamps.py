# SPDX-License-Identifier: MIT
"""ReLU behind what is no layer: sums, products, pools.

Their instructions clamp int8 outputs, but make no mask for the gradient, and float32 outputs
they do not clamp. A layer of one weight for each channel does both: as `LAYER.inside` it marks
the outputs that lie between the limits, as `LAYER.clamp` it clamps what is float32.
"""

import numpy as np

from .graph import Graph, Node, Tensor
from .network import clamp_limits

_LAYERS = ("conv", "dense")
# A weight and its scale whose product is 1, so that a sum is the element itself.
WEIGHT, SCALE = 64, 1 / 64


def inside_name(layer):
    """Return the name of the layer that marks where the ReLU of `layer` lets through."""
    return layer + ".inside"


def clamp_name(layer):
    """Return the name of the layer that is the ReLU of `layer` in float32."""
    return layer + ".clamp"


def is_clamped(node):
    """Tell whether a node has a ReLU and is no layer."""
    return node.phase == "forward" and bool(node.attrs.get("relu")) and node.op not in _LAYERS


def clamped_nodes(graph):
    """Return the nodes of a network's graph that `is_clamped` says yes to."""
    return [node for node in graph.nodes if is_clamped(node)]


def inside_limits(graph, node):
    """Return the stored (low, high) of outputs that a ReLU let through, both included.

    Outputs at its limits were cut, or might as well have been. A limit above the stored range
    cuts nothing.

    >>> from acclimate_host.model.build import Builder
    >>> from acclimate_host.model.network import with_scales
    >>> net = Builder("tiny", (1, 2, 2))
    >>> y = net.add("a", net.x, net.x)
    >>> net.clamp(y, 6.0)
    True
    >>> graph = with_scales(net.finish(y), {"a.y": (0.1, -100)})
    >>> inside_limits(graph, graph.nodes[0])
    (-99, -41)
    """
    y = graph[node.outputs[0]]
    low, high = clamp_limits(graph, node)
    cuts = y.zero_point + node.attrs.get("limit", 6.0) / y.scale < 127.5
    return low + 1, high - 1 if cuts else high


def inside_float(node):
    """Return the least and the largest float32 that a ReLU let through, 8 bytes."""
    limit = np.float32(node.attrs.get("limit", 6.0))
    most = limit if np.isinf(limit) else np.nextafter(limit, np.float32(0))
    return np.array([np.finfo(np.float32).tiny, most], "<f4").tobytes()


def one_weight_layer(graph, node, name):
    """Return (Graph, Node) of a layer that gives each element of a node's output back."""
    y, channels = graph[node.outputs[0]], graph[node.outputs[0]].shape[0]
    is_float = y.scale is None
    weight = Tensor(name + ".w", (channels, 1, 1, 1), scale=None if is_float else SCALE)
    bias = Tensor(name + ".b", (channels,), "int32")
    attrs = {"layer": name, "kernel": 1, "stride": 1, "pad": 0, "groups": channels}
    attrs.update(relu=True, limit=node.attrs.get("limit", 6.0))
    layer = Node("conv", (y.name, weight.name, bias.name), (y.name,), attrs=attrs)
    return Graph(name, {t.name: t for t in (y, weight, bias)}, (layer,)), layer
