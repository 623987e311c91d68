# SPDX-License-Identifier: MIT
"""The usual small network, convolutions with max pooling between, learns in front of its pools."""

import numpy as np
import pytest
from net_cases import pooled_net, values_for
from sklearn.datasets import load_digits
from test_net_scheduled import trained

from acclimate.net import FloatNet, Net
from acclimate_host.compile.encode import encode
from acclimate_host.compile.pools import average_shift
from acclimate_host.compile.scheduled import plain_step
from acclimate_host.compile.step import training_step
from acclimate_host.model.build import Builder
from acclimate_host.model.network import Network, as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.poet.answer import Infeasible
from acclimate_host.poet.fit import fit
from acclimate_host.poet.smallest import everything_kept
from acclimate_host.poet.step_graph import step_graph
from acclimate_host.sparse.scheme import Scheme, full
from acclimate_host.twin import net as twin_net

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")


def float_values(program, net, network):
    """Return a Network with the values that a float32 net has learned."""
    data, values = bytes(net.weights()), dict(network.values)
    for name, at, size in program.parts:
        shape = network.graph[name].shape
        if len(shape) == 4:  # rows of height, width, channels
            shape = (shape[0], *shape[2:], shape[1])
        value = np.frombuffer(data[at : at + size], "<f4").reshape(shape)
        values[name] = np.moveaxis(value, -1, 1).copy() if value.ndim == 4 else value.copy()
    return Network(network.graph, values)


@pytest.fixture(scope="module")
def digits():
    """Upright digits learned from nothing in float32, and the same digits turned and inverted."""
    twin_net.register()
    data, random = load_digits(), np.random.default_rng(1)
    order = random.permutation(len(data.images))
    x, labels = data.images[order][:, None] / 8 - 1, data.target[order]
    net = Builder("pooled", (1, 8, 8))
    y = net.sliding_pool("max_pool", "m0", net.conv("c0", net.x, 8, 3, limit=np.inf), 2, 2)
    y = net.sliding_pool("max_pool", "m1", net.conv("c1", y, 16, 3, limit=np.inf), 2, 2)
    graph = net.classify(y, 10)
    values = {}
    for name, tensor in graph.tensors.items():
        if tensor.kind == "frozen":
            spread = np.sqrt(2 / np.prod(tensor.shape[1:])) if len(tensor.shape) > 1 else 0
            values[name] = random.normal(0, spread, tensor.shape).astype(np.float32)
    network = Network(graph, values)
    program = encode(training_step(graph, full(graph)), network)
    board = FloatNet(bytearray(program.code), program.weights)
    board.set_rate(0.01)
    stored = [np.moveaxis(one, 0, 2).astype("<f4").tobytes() for one in x]
    for i in [i for _ in range(3) for i in range(900)]:
        board.train_step(stored[i], int(labels[i]))
    right = np.mean([board.predict(stored[i]) == labels[i] for i in range(900, 1400)])
    assert right > 0.93
    turned = -np.rot90(x[900:], axes=(2, 3))
    return quantize(float_values(program, board, network), x[:300])[0], turned, labels[900:]


def test_what_stands_in_front_of_pools_learns_what_the_classifier_alone_cannot(digits):
    small, x, labels = digits
    stream, found = list(zip(as_bytes(small.quantize_input(x)), labels.tolist(), strict=True)), []
    for scheme in (Scheme(0), full(small.graph)):
        program = encode(training_step(small.graph, scheme), small)
        net = Net(bytearray(program.code), program.weights)
        net.set_rate(0.01)
        for _ in range(4):
            for _ in net.train(stream[:300]):
                pass
        found.append(net.evaluate(stream[300:]))
    print(f"{found[0]:.1%} right with the classifier alone, {found[1]:.1%} with all")
    assert found[1] > 0.85 and found[1] > found[0] + 0.1


@pytest.mark.parametrize("seed", [0, 1])
def test_a_plan_that_recomputes_and_pages_gives_the_same_bytes_through_pools(seed):
    graph = pooled_net(seed)
    network = values_for(graph, seed)
    wanted = trained(encode(training_step(graph, full(graph)), network), graph)
    with pytest.raises(Infeasible) as caught:
        fit(network, full(graph), 1, time_limit=600, gap=0.05)
    least = caught.value.smallest_ram
    plain = everything_kept(step_graph(plain_step(graph, full(graph)), network, "m4").graph)
    ram = int(least + 0.1 * (plain - least)) + 60
    found = fit(network, full(graph), ram, time_limit=600, gap=0.05)
    assert found.program.arena_bytes <= ram < 0.85 * found.plain_bytes
    again = sum(kind == "compute" for kind, _ in found.answer.plan) > len(found.graph.nodes)
    assert again or found.page_bytes
    assert trained(found.program, graph)[:2] == wanted[:2]


@pytest.mark.parametrize(
    "edges, outputs, pad, kernel, stride, bits",
    [
        ((4, 4), (2, 2), (0, 0), (2, 2), (2, 2), 17),
        ((16, 16), (1, 1), (0, 0), (16, 16), (1, 1), 23),
        ((300, 1), (1, 1), (0, 0), (300, 1), (1, 1), 23),
        ((9, 9), (9, 9), (8, 8), (9, 9), (1, 1), 17),  # its corners hold one element
    ],
)
def test_no_sum_of_an_average_pool_s_gradient_leaves_int32(
    edges, outputs, pad, kernel, stride, bits
):
    assert average_shift((*edges, *outputs, *pad, *kernel, *stride, 1)) == bits
