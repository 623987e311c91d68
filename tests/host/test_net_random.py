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

from acclimate import _net_py
from acclimate.net import Net
from acclimate_host import twin_net
from acclimate_host.compile.encode import encode
from acclimate_host.model.build import Builder
from acclimate_host.sparse.scheme import Scheme

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")


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
        pad = tuple(draw(st.integers(0, 2)) for _ in range(4))
        kernel = tuple(draw(st.integers(1, min(4, edge_ + a + b)))
                       for edge_, a, b in ((height, pad[0], pad[2]), (width, pad[1], pad[3])))
        # A row of padding that no kernel leaves for the image says nothing new.
        pad = tuple(min(p, kernel[i % 2] - 1) for i, p in enumerate(pad))
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
    biases = draw(st.integers(0, len(nodes)))
    channels = []
    for node in nodes[len(nodes) - biases :]:
        depth, groups = graph[node.inputs[0]].shape[0], node.attrs["groups"]
        count = draw(st.integers(0, depth)) if groups in (1, depth) else draw(
            st.sampled_from((0, depth))
        )  # fmt: skip
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
                reference.rails, reference.moved, reference.dead,
            )  # fmt: skip
    values = {k: reference.values[k].astype(v.dtype) for k, v in network.values.items()}
    wanted = encode(step, replace(network, values=values), optimizer).weights
    assert [bytes(net.weights()) for net in nets] == [wanted, wanted]
    x = stored(sample(graph, random))
    assert nets[0].predict(x) == nets[1].predict(x)
    assert bytes(nets[0].outputs()) == bytes(nets[1].outputs())
