# SPDX-License-Identifier: MIT
"""Networks of one layer, their values, and the same layer for the plain C."""

from array import array
from dataclasses import dataclass

from acclimate_host.compile.blob import LayerShape
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step, training_step
from acclimate_host.model.build import Builder
from acclimate_host.model.factors import multipliers
from acclimate_host.model.int8 import layer_factors
from acclimate_host.model.network import clamp_limits
from acclimate_host.model.seeded import seeded_network as valued
from acclimate_host.sparse.scheme import last_layers


@dataclass(frozen=True)
class Shape:
    """kind: pointwise, conv3x3, dense or depthwise; edge x edge x cin to cout channels."""

    kind: str
    edge: int
    cin: int
    cout: int

    @property
    def macs(self):
        if self.kind == "depthwise":
            return 9 * self.edge**2 * self.cin
        taps = 9 if self.kind == "conv3x3" else 1
        return taps * self.edge**2 * self.cin * self.cout

    def __str__(self):
        return f"{self.edge}x{self.edge}x{self.cin} to {self.cout}"

    def add(self, net, x, name):
        """Add the layer to a Builder."""
        if self.kind == "dense":
            return net.dense(name, x, self.cout)
        groups = self.cin if self.kind == "depthwise" else 1
        return net.conv(
            name, x, self.cout, kernel=1 if self.kind == "pointwise" else 3, groups=groups
        )


def forward(shape):
    """Return (program that runs the layer alone, what the plain C takes)."""
    net = Builder("layer", (shape.cin, shape.edge, shape.edge))
    network = valued(net.finish(shape.add(net, net.x, "layer")))
    return encode(inference_step(network.graph), network), plain(network)


def backward(shape):
    """Return a program whose backward pass forms the gradient of the layer's input once."""
    net = Builder("layer", (4, shape.edge, shape.edge))
    y = shape.add(net, net.conv("first", net.x, shape.cin), "layer")
    network = valued(net.classify(net.pool("pool", y), 4))
    graph = network.graph
    return encode(training_step(graph, last_layers(graph, 2)), network)


def plain(network):
    """Return the arguments of bench/native/net_ref but x and y, as bytes by name."""
    graph, node = network.graph, network.graph.nodes[0]
    layer = LayerShape(graph, node)
    m, shift = multipliers(layer_factors(layer.x, layer.weight, layer.y))
    h, w, oh, ow, top, _ = layer.window
    low, high = clamp_limits(graph, node)
    numbers = [
        h,
        w,
        layer.cin,
        oh,
        ow,
        layer.cout,
        *layer.kernel,
        layer.stride[0],
        top,
        layer.x.zero_point,
        layer.y.zero_point,
        low,
        high,
        0,
    ]
    weight = layer.ordered(network.values[layer.name + ".w"])
    order = (2, 3, 0, 1) if layer.depthwise else (0, 2, 3, 1)
    return {
        "layer": array("i", numbers).tobytes(),
        "w": weight.transpose(order).tobytes(),
        "bias": network.values[layer.name + ".b"].astype("<i4").tobytes(),
        "multiplier": m.astype("<i4").tobytes(),
        "shift": shift.astype("i1").tobytes(),
    }
