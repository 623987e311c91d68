# SPDX-License-Identifier: MIT
"""Values for a graph that has none: instructions and arenas do not depend on them."""

import numpy as np

from .network import Network, with_scales


def seeded_network(graph, seed=1):
    """Return a Network of a forward graph: seeded integers, and scales as training leaves them.

    Outputs of ReLU6 take all of int8: zero point -128, scale 6 / 255.
    """
    rng, scales, values = np.random.default_rng(seed), {}, {}
    for name, tensor in graph.tensors.items():
        if tensor.kind in ("input", "activation"):
            scales[name] = (6 / 255, -128)
    for node in graph.nodes:
        if node.op == "pool":
            scales[node.outputs[0]] = scales[node.inputs[0]]
        if node.op in ("conv", "dense"):
            weight, bias = node.inputs[1:3]
            shape = graph[weight].shape
            spread = rng.uniform(0.5, 2, shape[0]) * 0.02 / np.sqrt(np.prod(shape[1:]))
            scales[weight] = scales[bias] = (tuple(spread.tolist()), 0)
            values[weight] = rng.integers(-127, 128, shape).astype(np.int8)
            values[bias] = rng.integers(-3000, 3000, shape[0]).astype(np.int32)
    return Network(with_scales(graph, scales), values)
