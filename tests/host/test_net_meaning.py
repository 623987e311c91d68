# SPDX-License-Identifier: MIT
"""What integer updates mean: descent along the real gradient, whatever a layer's scales are."""

import net_reference
import numpy as np
import pytest
from net_cases import step_of, trained_net
from net_integers import Step, scaled

from acclimate_host.model.network import Network, with_scales
from acclimate_host.sparse.scheme import full

RATE = 0.01
NEAR = 0.2  # of values from 0 to 6


def relu_everywhere(graph):
    """The reference limits layers without ReLU at a bound of its own."""
    for node in graph.nodes:
        if node.op == "conv":
            node.attrs["relu"] = True
    return graph


def quantized(graph, seed):
    """Return a Network whose stored integers stand close to seeded real values."""
    random = np.random.default_rng(seed)
    real, scales, values = net_reference.parameters(graph, seed), {}, {}
    scales["x"] = (1 / 40, 3)
    for node in graph.nodes:
        x, y = node.inputs[0], node.outputs[0]
        if node.op == "conv":
            scales[y] = (6 / 255, -128)
        elif node.op == "add":
            scales[y] = (12 / 255, -128)
        elif node.op == "pool":
            scales[y] = scales[x]
        elif node.op == "dense":
            scales[y] = (0.06, 0)
        if node.op in ("conv", "dense"):
            weight, bias = node.inputs[1:3]
            # Channels of very different scale: the real gradient must not notice.
            spread = np.exp(random.uniform(-2, 0, graph[weight].shape[0]))
            w = real[weight] * spread.reshape(-1, *[1] * (real[weight].ndim - 1)) * 1.5
            s = np.abs(w).reshape(len(w), -1).max(axis=1) / 120
            values[weight] = np.rint(w / s.reshape(-1, *[1] * (w.ndim - 1))).astype(np.int8)
            s_b = s * scales[x][0]
            values[bias] = np.rint(real[bias] / s_b).astype(np.int32)
            scales[weight], scales[bias] = (tuple(s.tolist()), 0), (tuple(s_b.tolist()), 0)
    return Network(with_scales(graph, scales), values)


def real_values(network):
    """Return what the stored parameters mean."""
    found = {}
    for name, value in network.values.items():
        scale = np.asarray(network.graph[name].scale)
        found[name] = value * scale.reshape(-1, *[1] * (value.ndim - 1))
    return found


def moved(network, reference):
    """Return how far each parameter went, in real units."""
    found = {}
    for name, old in network.values.items():
        scale = np.asarray(network.graph[name].scale)
        new = reference.values[name].astype(np.float64)
        for (key, *where), rest in ((k, v) for k, v in reference.v.items() if k[0] == name):
            assert key == name
            flat = new.reshape(len(old), -1, 1, 1) if name == "fc.w" else new
            flat[tuple(where)] += rest / 256
        found[name] = (new - old) * scale.reshape(-1, *[1] * (old.ndim - 1))
    return found


class Sided(net_reference.Run):
    """The real step, where each value stands on the side of its clamp that the integers saw.

    A value at a clamp's bound stands on either side of it by what int8 leaves out, and the
    gradient jumps there. So which side is checked for itself: only within NEAR of a bound may
    the two differ.
    """

    bounded = False

    def __init__(self, graph, values, sums, monkeypatch):
        self.sums, self.margins, clamp = sums, {}, net_reference.clamp

        def seen(sums, relu):
            layer = list(self.sums)[len(self.margins)]
            self.margins[layer] = np.minimum(np.abs(sums), np.abs(sums - 6))
            return clamp(sums, relu)

        with monkeypatch.context() as patch:
            patch.setattr(net_reference, "clamp", seen)
            super().__init__(graph, values)

    def _clamp_gradient(self, node, g, mask):
        layer = node.attrs["layer"]
        other = mask != self.sums[layer]
        assert self.margins[layer][other].max(initial=0) < NEAR, layer
        return (g * self.sums[layer],)


@pytest.mark.parametrize("seed", range(14))
def test_a_step_goes_down_the_real_gradient(seed, monkeypatch):
    graph = relu_everywhere(trained_net(seed, square=True))
    network = quantized(graph, seed)
    step = step_of(network.graph, full(network.graph))
    rate = scaled(RATE)
    reference = Step(step, network, rate, seed + 1, "wide")
    reference.bounded = False  # what the direction is, not how far
    random, total, wanted = np.random.default_rng(seed), {}, {}
    for _ in range(6):
        x = random.integers(-100, 100, graph["x"].shape).astype(np.int8)
        label = int(random.integers(graph["fc.y"].shape[0]))
        before = Network(
            network.graph,
            {n: reference.values[n].astype(v.dtype) for n, v in network.values.items()},
        )
        values = real_values(before)
        values.update(x=(x.astype(np.float64) - 3) / 40, label=np.array(label))
        first = {n: v.copy() for n, v in values.items()}
        reference(x, label)
        Sided(step.graph, values, reference.sums, monkeypatch)
        for name in network.values:
            change = (values[name] - first[name]) * RATE / net_reference.RATE
            wanted[name] = wanted.get(name, 0) + change
    total = moved(network, reference)
    for name in network.values:
        a, b = total[name].ravel(), wanted[name].ravel()
        size = np.linalg.norm(b)
        if size > 0.004:  # less is a few steps of the stored gradients
            assert a @ b / (np.linalg.norm(a) * size) > 0.9, name
            assert 0.8 < np.linalg.norm(a) / size < 1.25, name
    a, b = (np.concatenate([v[n].ravel() for n in network.values]) for v in (total, wanted))
    assert a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) > 0.997
    assert 0.95 < np.linalg.norm(a) / np.linalg.norm(b) < 1.05
