# SPDX-License-Identifier: MIT
"""The input in the arena: it shares its place with what comes when it is dead."""

import numpy as np
import pytest
from net_cases import sample, stored, values_for
from test_net_choice import blocks

from acclimate.net import Net, NetError
from acclimate.net import interpreter as pure
from acclimate_host.compile.choose import choose
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import Options, inference_step, training_step
from acclimate_host.sparse.scheme import last_layers
from acclimate_host.twin import net as twin_net

needs_twin = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built: make twin")
IN_ARENA = Options(input_in_arena=True)


def both(scheme=None, edge=40):
    """(graph, program that reads the caller's buffer, program that reads the arena)."""
    graph = blocks(edge)
    network = values_for(graph, 1)
    made = [
        training_step(graph, scheme(graph), options) if scheme else inference_step(graph, options)
        for options in (Options(), IN_ARENA)
    ]
    return graph, *(encode(step, network) for step in made)


@needs_twin
def test_the_bytes_are_those_of_an_input_in_the_callers_buffer():
    graph, outside, inside = both(lambda g: last_layers(g, 3))
    twin_net.register()
    random, nets = np.random.default_rng(4), [Net(p.code, p.weights) for p in (outside, inside)]
    assert nets[0].input is None and len(nets[1].input) == nets[1].input_bytes
    for net in nets:
        net.set_rate(20000, -18)
    for step in range(4):
        x = stored(sample(graph, random))
        seen = []
        for net in nets:
            if net.input is not None and step % 2:
                net.input[:] = x  # as a camera fills it
                given = net.input
            else:
                given = x
            share = net.train_step(given, step % 3)
            seen.append((share, bytes(net.outputs()), bytes(net.weights())))
        assert seen[0] == seen[1]


def test_pure_python_reads_the_arena_too():
    graph, outside, inside = both(edge=12)
    x, seen = stored(sample(graph, np.random.default_rng(5))), []
    for program in (outside, inside):
        net = Net(program.code, program.weights)
        net._native = pure
        net.predict(x)
        seen.append(bytes(net.outputs()))
    assert seen[0] == seen[1] != bytes(len(seen[0]))


def test_the_place_of_the_input_is_used_again():
    graph = blocks(64)
    network = values_for(graph, 1)
    scheme = last_layers(graph, 2)
    outside = choose(network, scheme, 10**6)
    bytes_ = graph["x"].elements
    inside = choose(network, scheme, outside.arena_bytes + bytes_ // 2, options=IN_ARENA)
    assert inside.arena_bytes <= outside.arena_bytes + bytes_ // 2
    at = inside.program.field("input") - 1
    assert 0 <= at <= inside.arena_bytes - bytes_
    others = [
        (name, start)
        for name, start in inside.program.layout.offsets.items()
        if name != "x" and at <= start < at + bytes_
    ]
    assert others  # tensors that lie where the input lay


def test_a_wrong_length_is_refused_before_anything_is_copied():
    _, _, inside = both(edge=12)
    net = Net(inside.code, inside.weights)
    net.input[:] = bytes([7] * net.input_bytes)
    with pytest.raises(NetError, match="expected"):
        net.predict(bytes(net.input_bytes + 1))
    assert set(net.input) == {7}
