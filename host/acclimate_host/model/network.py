# SPDX-License-Identifier: MIT
"""A network: its graph and the values of its parameters.

In a quantized network every activation has a scale and a zero point, every weight a scale per
output channel, and `values` holds the stored integers (int8 weights and tables, int32 biases);
in a float one `values` holds float32 and scales are None. Weights have the graph's shape:
(outputs, inputs of the group, height, width), for a dense layer (outputs, *shape of its input).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from .graph import GraphError


@dataclass(frozen=True)
class Network:
    """Graph, values by tensor name, and `notes`: what an importer or quantizer has to say."""

    graph: object
    values: dict
    notes: tuple = field(default=())

    @property
    def quantized(self):
        return self.graph[self.input].scale is not None

    @property
    def input(self):
        """The name of the input tensor."""
        return next(t.name for t in self.graph.tensors.values() if t.kind == "input")

    @property
    def output(self):
        """The name of the tensor that holds the prediction."""
        return self.graph.outputs[0]

    def quantize_input(self, samples):
        """Return real samples as the int8 that the network reads, halves away from zero."""
        tensor = self.graph[self.input]
        return to_int8(in_shape(samples, tensor.shape), tensor)

    def real_output(self, stored):
        """Return the real values that stored outputs mean."""
        tensor = self.graph[self.output]
        return (np.asarray(stored, np.float64) - tensor.zero_point) * tensor.scale


def in_shape(samples, shape):
    """Return samples in a network's `shape`, which has axes of one place behind a model's own.

    So samples of (count, 30) or (count, 6, 64) are those of (30, 1, 1) or (6, 64, 1). Whatever
    fits in no such way is returned as it came.
    """
    samples = np.asarray(samples)
    behind = (1,) * (len(shape) + 1 - samples.ndim)
    if samples.ndim > 1 and behind and samples.shape[1:] + behind == tuple(shape):
        return samples.reshape(len(samples), *shape)
    return samples


def to_int8(values, tensor):
    """Return real values in the scale and zero point of `tensor`, limited to its range."""
    q = np.asarray(values, np.float64) / tensor.scale
    q = np.floor(np.abs(q) + 0.5) * np.sign(q) + tensor.zero_point
    return np.clip(q, -128, 127).astype(np.int8)


def with_scales(graph, scales):
    """Return the graph with {tensor: (scale, zero point)} set."""
    tensors = dict(graph.tensors)
    for name, (scale, zero_point) in scales.items():
        tensors[name] = replace(tensors[name], scale=scale, zero_point=zero_point)
    return replace(graph, tensors=tensors)


def clamp_limits(graph, node):
    """Return the stored (low, high) between which a node's output lies.

    ReLU cuts at the zero point and at its limit in stored units, not above 127.
    """
    y = graph[node.outputs[0]]
    if not node.attrs.get("relu"):
        return -128, 127
    limit = node.attrs.get("limit", 6.0) / y.scale
    return y.zero_point, 127 if limit > 255 else min(127, y.zero_point + int(limit + 0.5))


def check_values(network):
    """Raise GraphError unless each parameter has a value of the right shape and type."""
    tables = {n.inputs[1] for n in network.graph.nodes if n.op == "lookup"}
    for name, tensor in network.graph.tensors.items():
        if tensor.kind not in ("frozen", "trained", "state"):
            continue
        if name in tables and not network.quantized:
            continue  # made by the quantizer, which knows the scales
        value = network.values.get(name)
        wanted = tensor.dtype if network.quantized else "float32"
        if value is None or value.shape != tensor.shape or str(value.dtype) != wanted:
            got = "nothing" if value is None else f"{value.dtype} {value.shape}"
            raise GraphError(f"{name}: expected {wanted} {tensor.shape}, got {got}")
        if not np.isfinite(value).all():
            raise GraphError(f"{name}: expected finite numbers, got NaN or infinity")


def as_bytes(samples):
    """Return each of (count, channels, height, width) as bytes in a board's order, HWC."""
    return [sample.transpose(1, 2, 0).tobytes() for sample in np.asarray(samples)]
