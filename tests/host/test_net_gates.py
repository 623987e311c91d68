# SPDX-License-Identifier: MIT
"""Gates, functions, joined and moved tensors: the same bytes everywhere, gradients of float64."""

from dataclasses import replace

import numpy as np
import pytest
from net_cases import OPTIMIZERS, RATE, sample, step_of, stored, values_for
from net_integers import Step

from acclimate.net import FloatNet, Net
from acclimate.net import interpreter as in_python
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step, training_step
from acclimate_host.model.build import Builder
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import Network, as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse import simulate
from acclimate_host.sparse.scheme import full
from acclimate_host.sparse.simulate import Simulation
from acclimate_host.twin import net as twin_net
from harness.errors import naming

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
FUNCTIONS = ("sigmoid", "tanh", "silu", "hard_swish", "gelu", "leaky_relu 0.2", "relu6")


def gated(function="sigmoid"):
    """A squeeze-and-excite block and a gate of the same shape, each with a function."""
    net = Builder("gated", (2, 5, 4))
    y = net.conv("c0", net.x, 6, kernel=3, relu=False)
    y = net.lookup("f0", y, function)
    gate = net.conv("c1", net.pool("p", y), 6, relu=False)
    y = net.multiply("m0", y, net.lookup("f1", gate, "sigmoid"))
    y = net.multiply("m1", y, net.conv("c2", y, 6, kernel=3, relu=False))
    return net.finish(net.dense("fc", net.multiply("m2", y, y), 3))


def moved(function="silu"):
    """Halves of an image, one of them smaller and made large again, joined in two ways."""
    net = Builder("moved", (2, 4, 6))
    y = net.conv("c0", net.x, 4, kernel=3, relu=False)
    small = net.conv("c1", y, 3, kernel=3, stride=2, relu=False)
    large = net.resize("r", small, (2, 2))
    turned = np.arange(96).reshape(4, 6, 4).transpose(1, 0, 2)[::-1].ravel()
    other = net.gather("t", y, turned, (4, 6, 4))
    other = net.conv("c2", net.gather("s", other, range(96), (4, 4, 6)), 5, relu=False)
    large = net.conv("c3", large, 2, relu=False)
    y = net.concat("j", [large, other])
    y = net.lookup("f", y, function)
    left = net.gather("h", y, np.arange(168).reshape(4, 6, 7)[:, :3, 2:].ravel(), (5, 4, 3))
    parts = [net.conv("c4", left, 2, relu=False), net.conv("c5", y, 1, relu=False)]
    return net.finish(net.dense("fc", net.concat("k", parts, "all"), 3))


def normed(function="gelu"):
    """A block with a short cut, as transformers have it: normalized, widened, narrowed, added."""
    net = Builder("normed", (5, 3, 2))
    y = net.conv("c0", net.x, 12, relu=False)
    z = net.conv("c1", net.norm("n0", y), 12, groups=12, relu=False)
    z = net.conv(
        "c2", net.lookup("f", net.conv("c3", z, 16, relu=False), function), 12, relu=False
    )
    y = net.norm("n1", net.add("a", y, z), 0.1)
    return net.finish(net.dense("fc", y, 3))


def rectified(function="relu"):
    """ReLUs behind sums, a product and a pool, as a residual network and importers have them."""
    net = Builder("rectified", (2, 5, 4))
    y = net.conv("c0", net.x, 6, kernel=3, relu=False)
    y = net.add("a0", y, net.conv("c1", y, 6, kernel=3, relu=False))
    assert net.clamp(y)
    y = net.add("a1", net.conv("c2", y, 6, relu=False), y)
    assert net.clamp(y, 2.0)
    y = net.multiply("m", y, net.conv("c3", y, 6, relu=False))
    net.nodes[-1].attrs.update(relu=True, limit=1.0)
    y = net.conv("c4", y, 5, relu=False)
    y = net.sliding_pool("average_pool", "v", y, 2, 1)
    net.nodes[-1].attrs.update(relu=True, limit=np.inf)
    return net.finish(net.dense("fc", y, 3))


def attentive(function="gelu"):
    """A transformer's block over six rows, then a look at three; two heads in both."""
    net = Builder("attentive", (5, 6, 1))
    y = net.conv("c0", net.x, 8, relu=False)
    z = net.norm("n0", y)
    parts = [net.conv(f"c{i}", z, 8, relu=False) for i in (1, 2, 3)]
    y = net.add("a0", y, net.conv("c4", net.attention("t0", *parts, 2, 0.2), 8, relu=False))
    z = net.lookup("f", net.conv("c5", net.norm("n1", y), 12, relu=False), function)
    y = net.add("a1", y, net.conv("c6", z, 8, relu=False))
    short = net.conv("c7", y, 6, kernel=(2, 1), stride=(2, 1), pad=0, relu=False)
    wide = net.conv("c8", short, 8, relu=False)
    y = net.attention("t1", y, wide, short, 2, 0.05)  # large numbers, none is normalized
    return net.finish(net.dense("fc", net.pool("p", net.conv("c9", y, 5, relu=False)), 3))


KINDS = {
    "gated": gated,
    "moved": moved,
    "normed": normed,
    "rectified": rectified,
    "attentive": attentive,
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS[:2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_core_python_and_reference_agree_on_every_byte(kind, optimizer, seed):
    twin_net.register()
    function = FUNCTIONS[seed + 3 * (optimizer == "plain")]
    network = with_loss(values_for(KINDS[kind](function), seed), "cross-entropy")
    step = step_of(network.graph, full(network.graph))
    program = encode(step, network, optimizer)
    nets = [Net(bytearray(program.code), program.weights, seed=9) for _ in range(2)]
    nets[1]._native = nets[1]._trainer = in_python
    reference, random = Step(step, network, RATE, 9, optimizer), np.random.default_rng(seed)
    for net in nets:
        net.set_rate(*RATE)
    for label in range(3):
        x = sample(network.graph, random)
        share = reference(x, label)
        assert [net.train_step(stored(x), label) for net in nets] == [share, share]
    values = {k: reference.values[k].astype(v.dtype) for k, v in network.values.items()}
    trained = encode(step, replace(network, values=values), optimizer).weights
    assert [bytes(net.weights()) for net in nets] == [trained, trained]
    assert nets[0].moved == reference.moved > 0


def real_network(kind, function, seed=0):
    graph, random = KINDS[kind](function), np.random.default_rng(seed)
    values = {
        name: random.normal(0, 1.6 / np.sqrt(max(1, np.prod(t.shape[1:]))), t.shape)
        for name, t in graph.tensors.items()
        if t.kind == "frozen" and not name.endswith(".table")
    }
    values = {name: value.astype(np.float32) for name, value in values.items()}
    return with_loss(Network(graph, values), "cross-entropy"), random


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_float64(kind, function, monkeypatch):
    """At the output of each convolution: cosine and size over six samples."""
    # What the rows of keys and values get nearly cancels, and rounding of before it does not:
    # test_net_attention.py looks at attention alone.
    least, apart = (0.98, 0.15) if kind == "attentive" else (0.992, 0.1)
    network, random = real_network(kind, function)
    samples = random.normal(0, 1, (64, *network.graph["x"].shape))
    small, _ = quantize(network, samples)
    step = step_of(small.graph, full(small.graph))
    reference, simulation = Step(step, small, (20000, -60)), Simulation(small, full(small.graph))
    exact, cosines = {}, []
    add = simulate._add
    monkeypatch.setattr(simulate, "_add", lambda p, n, g: (add(p, n, g), exact.update({n: p[n]})))
    for number, x in enumerate(small.quantize_input(samples[:6])):
        reference(x, number % 3)
        simulation.gradients(x, number % 3)
        for name, stored_ in reference.g.items():
            if name.endswith(".gy"):
                ours = stored_ * 2.0 ** reference.exponents[name]
                made = name.replace(".gy", ".y")
                theirs = (exact[made] * simulation.run.masks[made])[0]
                size = np.sqrt((theirs**2).sum())
                if size > 0.01:  # below, shares of 1/32768 are coarse
                    cosines.append((ours * theirs).sum() / np.sqrt((ours**2).sum()) / size)
                    assert np.sqrt((ours**2).sum()) == pytest.approx(size, rel=apart)
    assert len(cosines) > 6 and min(cosines) > least


@pytest.mark.parametrize("kind", KINDS)
def test_float32_is_close_to_float64(kind):
    """Without tables, which are int8's."""
    network, random = real_network(kind, "sigmoid")
    graph, gone = network.graph, {}
    for node in graph.nodes:
        if node.op == "lookup":
            gone[node.outputs[0]] = node.inputs[0]
    nodes = [
        replace(n, inputs=tuple(gone.get(name, name) for name in n.inputs))
        for n in graph.nodes
        if n.op != "lookup"
    ]
    network = replace(network, graph=graph.with_nodes(nodes))
    program = encode(training_step(network.graph, full(network.graph)), network)
    net = FloatNet(program.code, program.weights)
    x = random.normal(0, 1, graph["x"].shape).astype(np.float32)
    given = as_bytes(x[None])[0]
    net.predict(given)
    assert net.real_outputs() == pytest.approx(FloatRun(network).predict(x[None])[0], rel=1e-4)
    net.set_rate(1e-5)
    net.train_step(given, 1)
    _, gradient = Simulation(network, full(network.graph)).gradients(x, 1)
    weights = bytes(net.weights())
    for name, at, size in program.parts:
        if name.endswith(".b"):
            old, new = (
                np.frombuffer(w[at : at + size], "<f4").astype(float)
                for w in (program.weights, weights)
            )
            size = np.abs(old).max() * 2**-23
            assert old - new == pytest.approx(1e-5 * gradient[name], rel=1e-2, abs=2 * size)


def test_what_only_predicts_runs_in_place_and_equals_the_reference():
    twin_net.register()
    for kind in KINDS:
        network, random = real_network(kind, "gelu")
        samples = random.normal(0, 1, (16, *network.graph["x"].shape))
        small, report = quantize(network, samples)
        assert report.agreement > 0.8
        program = encode(inference_step(small.graph), small)
        net = Net(program.code, program.weights)
        x = small.quantize_input(samples)
        wanted = Int8Run(small).predict(x)
        for given, row in zip(as_bytes(x), wanted, strict=True):
            net.predict(given)
            assert bytes(net.outputs()) == row.astype(np.int8).tobytes()


def test_parts_of_a_concat_get_one_scale():
    network, random = real_network("moved", "silu")
    samples = random.normal(0, 1, (16, *network.graph["x"].shape))
    small, _ = quantize(network, samples)
    for node in small.graph.nodes:
        if node.op == "concat":
            kinds = {(small.graph[n].scale, small.graph[n].zero_point) for n in node.inputs}
            assert len(kinds) == 1


def test_shapes_that_do_not_fit_are_refused():
    net = Builder("bad", (2, 3, 3))
    y = net.conv("c", net.x, 4)
    with pytest.raises(GraphError, check=naming("m", "one pixel")):
        net.multiply("m", net.x, y)
    with pytest.raises(GraphError, check=naming("j", "heights and widths")):
        net.concat("j", [net.x, net.pool("p", y)])
    with pytest.raises(GraphError, check=naming("g", "places")):
        net.gather("g", net.x, [18], (1, 1, 1))
