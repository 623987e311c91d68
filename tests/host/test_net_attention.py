# SPDX-License-Identifier: MIT
"""Attention alone: gradients against central differences, sizes that do not fit, memory."""

import numpy as np
import pytest
from net_cases import RATE, sample, step_of, stored, values_for
from net_integers import Step

from acclimate.net import Net
from acclimate.net import interpreter as in_python
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step, training_step
from acclimate_host.model.attention import exponentials
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import Network, with_scales
from acclimate_host.sparse.scheme import full
from acclimate_host.twin import net as twin_net
from harness.errors import naming

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")

# Rows, columns, channels of q and k, channels of v, heads.
SHAPES = ((6, 6, 8, 8, 1), (1, 5, 4, 6, 2), (7, 1, 3, 5, 1), (16, 16, 16, 16, 4), (5, 24, 9, 3, 3))


def attention_alone(rows, columns, n, m, heads, factor=None):
    """Three layers over two parts of the input, attention, and a classifier."""
    net = Builder("alone", (4, rows + columns, 1))
    whole = np.arange(4 * (rows + columns))
    q = net.gather("gq", net.x, whole[: 4 * rows], (4, rows, 1))
    other = net.gather("gk", net.x, whole[4 * rows :], (4, columns, 1))
    q = net.conv("q", q, n, relu=False)
    k, v = (net.conv(name, other, size, relu=False) for name, size in (("k", n), ("v", m)))
    y = net.attention("t", q, k, v, heads, factor)
    return net.finish(net.dense("fc", y, 3))


def trained(shape, seed, factor=None):
    network = with_loss(values_for(attention_alone(*shape, factor), seed), "cross-entropy")
    return network, step_of(network.graph, full(network.graph))


def real_rows(x, tensor, heads):
    real = (x - tensor.zero_point) * tensor.scale
    return real.reshape(heads, len(x) // heads, -1).swapaxes(1, 2)


def weighed(q, k, v, g, factor):
    """What a gradient descends: the outputs times G, in float64."""
    scores = factor * q @ k.swapaxes(1, 2)
    shares = np.exp(scores - scores.max(axis=2, keepdims=True))
    return float((shares / shares.sum(axis=2, keepdims=True) @ v * g).sum())


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_central_differences(shape):
    """Of q, k and v apart, from the bytes that the kernel reads: cosine and size."""
    for seed in range(3):
        network, step = trained(shape, seed)
        node = next(n for n in network.graph.nodes if n.op == "attention")
        tensors, factor = [network.graph[n] for n in node.inputs], node.attrs["factor"]
        reference = Step(step, network, (20000, -60))
        random = np.random.default_rng(seed)
        reference(sample(network.graph, random), seed)
        parts = [real_rows(reference.made[t.name], t, shape[4]) for t in tensors]
        g = reference.g["fc.gx"] * 2.0 ** reference.exponents["fc.gx"]
        g = real_rows(g, type(tensors[0])("g", g.shape, scale=1.0), shape[4])
        for which in range(3):
            name = f"t.g{which}"
            ours = reference.g[name] * 2.0 ** reference.exponents[name]
            ours = ours.reshape(shape[4], len(ours) // shape[4], -1).swapaxes(1, 2)
            exact = np.zeros(ours.shape)
            for at in np.ndindex(ours.shape):
                sides = []
                for h in (1e-5, -1e-5):
                    moved = [part.copy() for part in parts]
                    moved[which][at] += h
                    sides.append(weighed(*moved, g, factor))
                exact[at] = (sides[0] - sides[1]) / 2e-5
            size = np.sqrt((exact**2).sum())
            if shape[1] == 1 and which < 2:  # one share is 1 whatever its score
                assert not ours.any() and size < 1e-6
                continue
            cosine = (ours * exact).sum() / size / np.sqrt((ours**2).sum())
            assert cosine > 0.999, (seed, which)
            assert np.sqrt((ours**2).sum()) == pytest.approx(size, rel=0.02)


@pytest.mark.parametrize("shape", SHAPES)
def test_core_python_and_reference_agree_on_every_byte(shape):
    twin_net.register()
    network, step = trained(shape, 4)
    program = encode(step, network)
    nets = [Net(bytearray(program.code), program.weights, seed=9) for _ in range(2)]
    nets[1]._native = nets[1]._trainer = in_python
    reference, random = Step(step, network, RATE, 9), np.random.default_rng(4)
    for net in nets:
        net.set_rate(*RATE)
    for label in range(3):
        x = sample(network.graph, random)
        share = reference(x, label)
        assert [net.train_step(stored(x), label) for net in nets] == [share, share]
    assert bytes(nets[0].weights()) == bytes(nets[1].weights())
    for name in ("q.w", "k.w", "v.w")[2 * (shape[1] == 1) :]:  # one share is always 1
        assert (reference.values[name] != network.values[name]).any()


@pytest.mark.parametrize("factor", (1e-9, 0.01, 1.0, 60.0))
def test_shares_are_those_of_softmax(factor):
    """From scores that are all alike to one that takes all."""
    network = values_for(attention_alone(12, 12, 8, 8, 2, factor), 1)
    node = next(n for n in network.graph.nodes if n.op == "attention")
    x = sample(network.graph, np.random.default_rng(2))
    made = {k: v[0].astype(float) for k, v in Int8Run(network)(x[None]).items()}
    q, k, v = (real_rows(made[n], network.graph[n], 2) for n in node.inputs)
    scores = factor * q @ k.swapaxes(1, 2)
    shares = np.exp(scores - scores.max(axis=2, keepdims=True))
    exact = shares / shares.sum(axis=2, keepdims=True) @ v
    y = network.graph["t.y"]
    ours = real_rows(made["t.y"], y, 2)
    low, high = ((edge - y.zero_point) * y.scale for edge in (-128, 127))
    assert ours == pytest.approx(
        np.clip(exact, low, high), abs=0.51 * y.scale + 0.012 * abs(v).max()
    )


def test_no_table_of_all_pairs_is_in_the_arena():
    """Bytes grow with the rows, not with their square."""
    sizes = {}
    for rows in (32, 64, 128):
        graph = attention_alone(rows, rows, 2, 2, 1)
        network = with_loss(values_for(graph, 1), "cross-entropy")
        predicts = encode(inference_step(graph), network).arena_bytes
        trains = encode(training_step(network.graph, full(network.graph)), network).arena_bytes
        sizes[rows] = np.array([predicts, trains])
    assert (sizes[128] - sizes[64] <= 2.1 * (sizes[64] - sizes[32])).all()
    assert sizes[128][1] < 128 * 128 / 2


@pytest.mark.slow
def test_any_byte_of_the_record_may_be_damaged():
    """Factors, zero points and the table of shares: refused, or run within bounds."""
    network, step = trained(SHAPES[0], 1)
    program = encode(step, network)
    at = program.code.find(exponentials().astype("<u2").tobytes()) - 24
    x = stored(sample(network.graph, np.random.default_rng(1)))
    refusals = 0
    for place in range(at, at + 24 + 128):
        for value in (0, 127, 128, 255):
            code = bytearray(program.code)
            code[place] = value
            statuses = []
            for native in (twin_net.load(), in_python):
                net = Net(code, program.weights, check=False)
                net._native = net._trainer = native
                net.set_rate(*RATE)
                try:
                    net.train_step(x, 1)
                    statuses.append(bytes(net.weights()))
                except ValueError as error:
                    statuses.append("program:" in str(error))
            assert statuses[0] is not False
            refusals += statuses[0] is True
    assert refusals > 3


def test_what_does_not_fit_is_refused():
    net = Builder("bad", (4, 6, 1))
    short = net.conv("c", net.x, 6, kernel=(2, 1), stride=(2, 1), pad=0)
    for q, k, v, heads in (
        (net.x, short, short, 1),
        (net.x, net.x, short, 1),
        (net.x,) * 3 + (3,),
    ):
        with pytest.raises(GraphError, check=naming("t", "heads")):
            net.attention("t", q, k, v, heads)
    with pytest.raises(GraphError, check=naming("t", "factor")):
        net.attention("t", net.x, net.x, net.x, factor=-1)
    long = Builder("long", (2, 1025, 1))
    with pytest.raises(GraphError, check=naming("1025", "1024")):
        long.attention("t", long.x, long.x, long.x)


def test_scores_of_steps_beyond_the_table_are_refused():
    graph = attention_alone(3, 3, 2, 2, 1)
    network = values_for(graph, 1)
    coarse = with_scales(network.graph, {"q.y": (30.0, 0), "k.y": (30.0, 0)})
    with pytest.raises(GraphError, check=naming("t", "scores")):
        encode(inference_step(coarse), Network(coarse, network.values))
