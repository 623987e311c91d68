# SPDX-License-Identifier: MIT
"""Random networks, schemes and options: the C core, pure Python and numpy give the same bytes.

Hypothesis makes the networks: kernels, strides to 3, groups, uneven padding, odd edges, residuals,
pooling. The numpy reference (net_integers) was written from docs/numerics.md.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from net_cases import OPTIMIZERS, RATE, sample, step_of, stored, values_for
from net_integers import Step

from acclimate.net import FloatNet, Net
from acclimate.net import interpreter as _net_py
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step
from acclimate_host.model.build import Builder
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.network import Network
from acclimate_host.sparse.scheme import Scheme, can_split
from acclimate_host.twin import net as twin_net
from harness.errors import naming

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")


def _pooled(draw, net, name, x):
    """A pool of any overlap, of which no window lies in the padding alone."""
    kernel = tuple(draw(st.integers(1, min(4, edge))) for edge in net.tensors[x].shape[1:])
    stride = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    pad = tuple(draw(st.integers(0, kernel[k % 2] - 1)) for k in range(4))
    kind = draw(st.sampled_from(("max_pool", "average_pool")))
    return net.sliding_pool(kind, name, x, kernel, stride, pad)


@st.composite
def graphs(draw):
    """A forward graph with loss, of small edges, that keeps at least one place."""
    edge = st.integers(1, 9)
    net = Builder("random", (draw(st.integers(1, 5)), draw(edge), draw(edge)))
    y = net.x
    for i in range(draw(st.integers(1, 5))):
        channels, height, width = net.tensors[y].shape
        if draw(st.booleans()) and i:  # a residual around a layer of the same shape
            other = net.conv(f"c{i}", y, channels, 1, relu=draw(st.booleans()))
            y = net.add(f"a{i}", y, other)
            continue
        if i and draw(st.integers(0, 2)) == 0:
            y = _pooled(draw, net, f"m{i}", y)
            continue
        if i and draw(st.integers(0, 5)) == 0:
            y = net.pad(f"n{i}", y, tuple(draw(st.integers(0, 2)) for _ in range(4)))
            continue
        pad = tuple(draw(st.integers(0, 2)) for _ in range(4))
        kernel = tuple(
            draw(st.integers(1, min(4, edge_ + a + b)))
            for edge_, a, b in ((height, pad[0], pad[2]), (width, pad[1], pad[3]))
        )
        stride = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
        form = draw(st.sampled_from(("whole", "depthwise", "groups")))
        if form == "depthwise":
            outputs = groups = channels
        else:
            groups = draw(st.sampled_from([g for g in (1, 2, 3) if channels % g == 0]))
            groups = groups if form == "groups" else 1
            outputs = groups * draw(st.integers(1, 4))
        y = net.conv(f"c{i}", y, outputs, kernel, stride, groups, draw(st.booleans()), pad)
    if draw(st.booleans()):
        y = net.pool("p", y)
    return net.classify(y, draw(st.integers(2, 5)))


@st.composite
def cases(draw):
    graph = draw(graphs())
    nodes = [node for node in graph.nodes if node.op == "conv"]
    biases = len(nodes) - draw(st.integers(0, len(nodes)))
    channels = []
    for node in nodes[len(nodes) - biases :]:
        depth = graph[node.inputs[0]].shape[0]
        parts = st.integers(0, depth) if can_split(graph, node) else st.sampled_from((0, depth))
        count = draw(parts)
        if count:
            channels.append((node.attrs["layer"], count))
    options = {"fuse_forward": draw(st.booleans()), "in_place": draw(st.booleans())}
    return graph, Scheme(biases, tuple(channels)), options, draw(st.sampled_from(OPTIMIZERS))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(), st.integers(0, 1000))
def test_core_python_and_reference_agree_on_every_byte(case, seed):
    twin_net.register()
    graph, scheme, options, optimizer = case
    network = values_for(graph, seed)
    step = step_of(graph, scheme, **options)
    program = encode(step, network, optimizer)
    nets = [Net(bytearray(program.code), program.weights, seed=seed + 1) for _ in range(2)]
    nets[1]._native = _net_py
    for net in nets:
        net.set_rate(*RATE)
    reference = Step(step, network, RATE, seed + 1, optimizer)
    random = np.random.default_rng(seed)
    for k in range(2):
        x, label = sample(graph, random), int(random.integers(graph["fc.y"].shape[0]))
        reference.move = optimizer != "accumulate" or k == 1
        wanted = reference(x, label)
        for net in nets:
            net._put(16, int(reference.move))
            assert net.train_step(stored(x), label) == wanted
            assert (net.rails, net.moved, net.dead) == (
                reference.rails,
                reference.moved,
                reference.dead,
            )
    values = {k: reference.values[k].astype(v.dtype) for k, v in network.values.items()}
    wanted = encode(step, replace(network, values=values), optimizer).weights
    assert [bytes(net.weights()) for net in nets] == [wanted, wanted]
    x = stored(sample(graph, random))
    assert nets[0].predict(x) == nets[1].predict(x)
    assert bytes(nets[0].outputs()) == bytes(nets[1].outputs())


@st.composite
def predicting(draw):
    """A forward graph with pools, pads and tables between layers."""
    net = Builder(
        "random", (draw(st.integers(1, 4)), draw(st.integers(3, 9)), draw(st.integers(3, 9)))
    )
    y = net.x
    for i in range(draw(st.integers(1, 4))):
        channels, *edges = net.tensors[y].shape
        kind = draw(st.sampled_from(("conv", "pool", "pad", "lookup")))
        if kind == "conv":
            kernel = tuple(draw(st.integers(1, min(3, edge))) for edge in edges)
            stride = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
            pad = tuple(draw(st.integers(0, kernel[k % 2] - 1)) for k in range(4))
            y = net.conv(
                f"c{i}", y, draw(st.integers(1, 4)), kernel, stride, 1, draw(st.booleans()), pad
            )
        elif kind == "pad":
            y = net.pad(f"n{i}", y, tuple(draw(st.integers(0, 2)) for _ in range(4)))
        elif kind == "lookup":
            y = net.lookup(f"t{i}", y, "table")
        else:
            y = _pooled(draw, net, f"p{i}", y)
    return net.finish(net.dense("fc", y, 3))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(predicting(), st.integers(0, 1000))
def test_core_python_and_numpy_predict_the_same_bytes(graph, seed):
    twin_net.register()
    network = values_for(graph, seed)
    code = encode(inference_step(graph), network).code
    nets = [Net(bytearray(code)) for _ in range(2)]
    nets[1]._native = _net_py
    x = sample(graph, np.random.default_rng(seed))
    wanted = Int8Run(network)(x[None])[network.output].tobytes()
    for net in nets:
        net.predict(stored(x))
        assert bytes(net.outputs()) == wanted


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs(), st.integers(0, 1000))
def test_float32_programs_predict_what_numpy_predicts(graph, seed):
    twin_net.register()
    random = np.random.default_rng(seed)
    values = {}
    for node in graph.nodes:
        if node.op in ("conv", "dense"):
            for name in node.inputs[1:3]:
                values[name] = random.normal(0, 0.5, graph[name].shape).astype(np.float32)
    network = Network(graph, values)
    net = FloatNet(bytearray(encode(inference_step(graph), network).code))
    x = random.normal(0, 1, graph["x"].shape).astype(np.float32)
    net.predict(np.ascontiguousarray(np.moveaxis(x, 0, 2)).tobytes())
    wanted = FloatRun(network).predict(x[None]).ravel()
    found = np.frombuffer(bytes(net.outputs()), "<f4")
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-4 * max(1, np.abs(wanted).max()))


def test_a_depthwise_layer_with_more_outputs_than_inputs_trains_whole_or_not_at_all():
    net = Builder("more", (2, 3, 3))
    graph = net.classify(net.conv("c0", net.x, 4, 1, 1, groups=2), 2)
    with pytest.raises(GraphError, check=naming("c0", 2)):
        step_of(graph, Scheme(1, (("c0", 1),)))


def test_a_grouped_layer_with_one_output_a_group_does_not_write_over_its_gradient():
    """It has as many groups as outputs, but is not depthwise."""
    net, weights = Builder("groups", (3, 3, 2)), set()
    y = net.conv("c1", net.conv("c0", net.x, 4, 1), 2, 3, 1, 2, True, (2, 2, 2, 2))
    graph = net.classify(y, 2)
    network = values_for(graph, 0)
    for in_place in (True, False):
        program = encode(step_of(graph, Scheme(2), in_place=in_place), network)
        net = Net(bytearray(program.code), program.weights)
        net.set_rate(20000, -12)
        for label in (0, 1, 0):
            net.train_step(stored(sample(graph, np.random.default_rng(label))), label)
        weights.add(bytes(net.weights()))
    assert len(weights) == 1


@pytest.mark.parametrize("fuse_forward", [True, False])
def test_a_residual_may_begin_at_the_input(fuse_forward):
    net = Builder("early", (3, 5, 4))
    graph = net.classify(net.add("a", net.x, net.conv("c0", net.x, 3, 3)), 2)
    network, x = values_for(graph, 0), sample(graph, np.random.default_rng(0))
    step = step_of(graph, Scheme(1, (("c0", 2),)), fuse_forward=fuse_forward)
    program = encode(step, network)
    net, reference = Net(bytearray(program.code), program.weights), Step(step, network, RATE)
    net.set_rate(*RATE)
    assert [net.train_step(stored(x), 1) for _ in range(2)] == [reference(x, 1) for _ in range(2)]
