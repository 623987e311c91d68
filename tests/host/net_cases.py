# SPDX-License-Identifier: MIT
"""Random small networks with random values, for the tests of the C core."""

import numpy as np

from acclimate_host.compile.step import training_step
from acclimate_host.model.build import Builder
from acclimate_host.model.importing import function_of, table
from acclimate_host.model.network import Network, with_scales
from acclimate_host.sparse.scheme import Scheme, full

RATE = (20000, -18)
OPTIMIZERS = ("plain", "momentum16", "momentum8", "accumulate", "wide")


def values_for(graph, seed):
    """Return a Network of a forward graph with seeded scales and integers."""
    random = np.random.default_rng(seed)
    scales, values = {}, {}
    for name, tensor in graph.tensors.items():
        if tensor.kind in ("input", "activation", "state"):
            scales[name] = (float(random.uniform(0.02, 0.06)), int(random.integers(-30, 30)))
    for node in graph.nodes:
        if node.op == "concat":  # parts that keep no scale of another tensor
            scales.update(dict.fromkeys(node.inputs, scales[node.outputs[0]]))
    for node in graph.nodes:
        y, x = node.outputs[0], node.inputs[0]
        if node.op in ("conv", "dense"):
            if node.attrs.get("relu"):
                scales[y] = (0.03, -128)
            weight, bias = node.inputs[1:3]
            shape = graph[weight].shape
            spread = 0.02 / np.sqrt(np.prod(shape[1:]))
            per_channel = random.uniform(0.3, 2, shape[0]) * spread
            if shape[0] > 3 and random.random() < 0.3:
                per_channel[random.integers(shape[0])] = 1e-9  # a dead channel
            per_channel = tuple(per_channel.tolist())
            scales[weight] = scales[bias] = (per_channel, 0)
            values[weight] = random.integers(-127, 128, shape).astype(np.int8)
            values[bias] = random.integers(-3000, 3000, shape[0]).astype(np.int32)
        elif node.op in ("pool", "average_pool", "max_pool", "pad", "window", "gather"):
            scales[y] = scales[x]
        elif node.op == "lookup":
            values[node.inputs[1]] = random.integers(-128, 128, 256).astype(np.int8)
            if node.attrs["function"] != "table":
                function = function_of(node.attrs["function"])
                values[node.inputs[1]] = table(function, scales[x], scales[y])
            scales[node.inputs[1]] = scales[y]
        if node.op == "window":
            values[y] = random.integers(-128, 128, graph[y].shape).astype(np.int8)
    return Network(with_scales(graph, scales), values)


def trained_net(seed, square=False):
    """Return a forward graph with every operator that has a gradient.

    :param square: only what one number describes: kernels, strides, padding
    """
    random = np.random.default_rng(seed)
    edges = [int(random.integers(5, 11)) for _ in range(2)]
    net = Builder("small", (int(random.integers(1, 5)), *edges))
    stride = int(random.integers(1, 3))
    y = net.conv("c0", net.x, 6, kernel=3, stride=stride)
    z = net.conv("c1", y, int(random.choice([8, 9, 10])))
    channels = net.tensors[z].shape[0]
    z = net.conv("c2", z, channels, kernel=int(random.choice([3, 5])), groups=channels)
    y = net.add("a", y, net.conv("c3", z, 6, relu=False))
    y = net.conv("c4", y, 8, kernel=3, groups=2)
    if square:
        y = net.conv("c5", y, 8, kernel=3, groups=8, stride=2)
    else:
        y = net.conv("c5", y, 8, kernel=(3, 2), groups=8, stride=(2, 1), pad=(1, 0, 1, 1))
    if random.random() < 0.5:
        y = net.pool("p", y)
    return net.classify(y, int(random.integers(2, 6)))


def schemes(graph):
    """Return the full scheme, and one of each kind of part."""
    depth = graph["c2.w"].shape[0]
    some = (("c0", 1), ("c1", 3), ("c2", 4), ("c3", depth), ("c4", 6), ("c5", 3))
    return full(graph), Scheme(6, some), Scheme(2), Scheme(0)


def pooled_net(seed, square=False):
    """Return a forward graph with pools between layers that learn: overlaps, gaps, padding.

    :param square: layers with only what one number describes
    """
    random = np.random.default_rng(seed)
    net = Builder("pooled", (2, *(int(random.integers(9, 14)) for _ in range(2))))

    def pool(kind, name, y):
        kernel = tuple(int(random.integers(1, 4)) for _ in range(2))
        stride = tuple(int(random.integers(1, 4)) for _ in range(2))
        pad = tuple(int(random.integers(kernel[k % 2])) for k in range(4))
        return net.sliding_pool(kind, name, y, kernel, stride, pad)

    y = pool("max_pool", "m0", net.conv("c0", net.x, 4, kernel=3))
    y = net.pad("n", y, (1, 0, 2, 1))
    y = pool("average_pool", "v", net.conv("c1", y, 5, kernel=1 if square else (1, 2)))
    y = pool("max_pool", "m1", net.conv("c2", y, 5, kernel=3, groups=5, relu=False))
    if seed % 3 == 0:
        y = net.sliding_pool("max_pool", "g", y, net.tensors[y].shape[1:], 1)
    elif seed % 3 == 1:
        y = net.pool("p", y)
    return net.classify(y, 3)


def predicting_net(seed):
    """Return a forward graph with what only predicts: pools, pads, tables, streams."""
    random = np.random.default_rng(seed)
    net = Builder("stream", (int(random.integers(1, 4)), 2, 9))
    y = net.window("w", net.x, 7)
    y = net.conv("c0", y, 5, kernel=(2, 3), stride=(1, 2), pad=(0, 1, 0, 1))
    y = net.pad("pad", y, (1, 0, 2, 1))
    y = net.lookup("t", y, "table")
    y = net.sliding_pool("max_pool", "m", y, 2, int(random.integers(1, 3)), (1, 0, 0, 1))
    y = net.sliding_pool("average_pool", "v", y, (3, 2), 1, (1, 1, 1, 0))
    return net.finish(net.dense("fc", y, 3))


def stored(x):
    """Return int8 values (channels, height, width) as the bytes that a board is given."""
    return bytearray(np.ascontiguousarray(np.transpose(x, (1, 2, 0))).tobytes())


def sample(graph, random):
    """Return a random int8 input."""
    return random.integers(-128, 128, graph["x"].shape).astype(np.int8)


def step_of(graph, scheme, **options):
    """Return the training step of a scheme with Options by name."""
    from acclimate_host.compile.step import Options

    return training_step(graph, scheme, Options(**options), tries=20)
