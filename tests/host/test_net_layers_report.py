# SPDX-License-Identifier: MIT
"""Dead and saturated layers are found: the counts are those of numpy, the sentences say where."""

from dataclasses import replace

import numpy as np
import pytest
from net_cases import sample, schemes, step_of, stored, trained_net, values_for

from acclimate.net import Net, report, troubles
from acclimate.net import interpreter as _net_py
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import Options, inference_step
from acclimate_host.model.build import Builder
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import Network, as_bytes, clamp_limits
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.scheme import full
from acclimate_host.twin import net as twin_net

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")


@pytest.fixture(autouse=True)
def twin():
    twin_net.register()


def opened(program):
    return Net(program.code, program.weights)


def counts(network, node, made):
    """(channels, dead, at low, at high) of a layer over a batch, with numpy."""
    y, (low, high) = made[node.outputs[0]], clamp_limits(network.graph, node)
    off = (y > low).any(axis=(0, 2, 3))
    return y.shape[1], int((~off).sum()), int((y <= low).sum()), int((y >= high).sum())


@pytest.mark.parametrize(
    "options", [{"fuse_forward": False, "in_place": False}, {"fuse_forward": False}, {}]
)
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_numpy(seed, options):
    graph = trained_net(seed + 30)
    network = values_for(graph, seed)
    net = opened(encode(step_of(graph, schemes(graph)[0], **options), network))
    random = np.random.default_rng(seed)
    batch = np.stack([sample(graph, random) for _ in range(3)])
    made = Int8Run(network)(batch)
    layers = [n for n in graph.nodes if n.op in ("conv", "dense")]
    rows = report(net, [stored(x) for x in batch])
    assert rows[0].layer == "input" and rows[0].values == batch.size
    assert rows[0].at_low == (batch == -128).sum() and rows[0].at_high == (batch == 127).sum()
    whole = len(rows) - 1
    assert whole == len(layers) if not options.get("fuse_forward", True) else whole >= 4
    for row in rows[1:]:
        node = layers[row.layer]
        if node.attrs["layer"] == "c3" and options.get("fuse_forward", True):
            continue  # the addition behind it is part of it
        found = row.channels, row.dead, row.at_low, row.at_high
        assert found == counts(network, node, made), node.attrs["layer"]


def test_patches_of_a_layer_count_once_each():
    net = Builder("front", (3, 41, 38))
    y = net.conv("c1", net.conv("c0", net.x, 4, kernel=3), 4, kernel=3, groups=4, stride=2)
    graph = net.classify(net.pool("p", net.conv("c2", y, 5)), 3)
    network, x = values_for(graph, 2), sample(graph, np.random.default_rng(2))
    step = inference_step(graph, Options(patch_grid=2))
    row = report(Net(encode(step, network).code), [stored(x)])[-2]
    made = Int8Run(network)(x[None])
    node = next(n for n in graph.nodes if n.attrs.get("layer") == "c2")
    assert (row.channels, row.dead, row.at_low, row.at_high) == counts(network, node, made)


def mlp(scale):
    """A 784-input net, calibrated with inputs from 0 to 1; return (Net, inputs of that scale)."""
    random, build = np.random.default_rng(4), Builder("mlp", (784, 1, 1))
    graph = build.classify(build.conv("h", build.x, 16), 4)
    values = {
        "h.w": random.normal(0, 0.05, (16, 784, 1, 1)),
        "h.b": np.zeros(16),
        "fc.w": random.normal(0, 0.3, (4, 16, 1, 1)),
        "fc.b": np.zeros(4),
    }
    float_net = Network(graph, {k: v.astype(np.float32) for k, v in values.items()})
    x = random.uniform(0, 1, (20, 784, 1, 1))
    small = with_loss(quantize(float_net, x)[0])
    program = encode(step_of(small.graph, full(small.graph)), small)
    return opened(program), as_bytes(small.quantize_input(scale * x))


@pytest.mark.case("J4")
def test_784_inputs_that_nobody_scaled_are_named():
    net, inputs = mlp(1.0)
    assert troubles(net, report(net, inputs)) == []
    net, inputs = mlp(255.0)
    lines = troubles(net, report(net, inputs))
    assert any(line.startswith("input: ") and "scale it" in line for line in lines)
    net.set_rate(100.0)
    for x in inputs:
        net.train_step(x, 0)
    lines = troubles(net, report(net, inputs))
    assert any("lower the rate" in line for line in lines)


@pytest.mark.case("J4")
def test_a_dead_layer_is_named_and_pure_python_says_the_same():
    graph = trained_net(31)
    network = values_for(graph, 1)
    values = dict(network.values)
    values["c1.b"] = np.full_like(values["c1.b"], -(2**24))
    network = replace(network, values=values)
    options = {"fuse_forward": False, "in_place": False}
    net = opened(encode(step_of(graph, schemes(graph)[2], **options), network))
    inputs = [stored(sample(graph, np.random.default_rng(0)))]
    lines = troubles(net, report(net, inputs))
    assert any(line.startswith("layer 1: ") and "dead" in line for line in lines)
    rows = [repr(row) for row in report(net, inputs)]
    net._native = _net_py
    assert [repr(row) for row in report(net, inputs)] == rows
    assert "channels dead" in rows[2]
