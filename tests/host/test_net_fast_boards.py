# SPDX-License-Identifier: MIT
"""The fast kernels of the emulated boards give the bytes of the twin's plain C."""

import os
from array import array

import pytest
from net_cases import trained_net, values_for

from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import training_step
from acclimate_host.connect import why_not
from acclimate_host.model.build import Builder
from acclimate_host.paths import built
from acclimate_host.sparse.scheme import Scheme, full
from acclimate_host.twin import net as twin_net
from bench import net_board


def checksum(data):
    found = 0
    for byte in bytes(data):
        found = (found * 31 + byte) & 0xFFFFFF
    return found


def on_twin(program):
    """Run a program as bench.net_board does."""
    core, field = twin_net.load(), program.field
    arena = bytearray(program.arena_bytes)
    at, size = field("weights"), len(program.weights)
    arena[at : at + size] = program.weights
    state = field("state")
    arena[state : state + 12] = bytes((1, 0, 0, 0, 0, 64, 0, 0, 236, 255, 255, 255))
    x = bytes((i * 37 + 11) & 255 for i in range(field("input_bytes")))
    par = array("i", [0, field("forward"), 0, 1, 1 << 29, 0, 0, 0, 0])
    assert core.run(bytes(program.code), arena, x, par) == 0
    output = checksum(arena[field("output") : field("output") + field("outputs")])
    par[0], par[1] = field("forward"), field("forward") + field("training")
    assert core.run(bytes(program.code), arena, x, par) == 0
    return output, checksum(arena[at : at + size])


def _check(board):
    reason = why_not(board)
    for file in (*net_board.modules(net_board.ARCH[board]), built("twin", "libacclimate_net.so")):
        reason = reason or (None if file.exists() else f"{file.name} is not built")
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("board", ["nrf52840", "samd21"])
def test_a_training_step_of_a_small_network_equals_the_twin(board, seed):
    _check(board)
    graph = trained_net(seed)
    # 32 KB hold biases, and the weights of a few channels.
    few = Scheme(6, (("c5", 4), ("c3", 2)))
    scheme = full(graph) if board == "nrf52840" else few
    program = encode(training_step(graph, scheme), values_for(graph, seed))
    wanted = on_twin(program)
    _, found = net_board.instructions(board, program, training=True, at_once=True)
    assert found == wanted
    assert wanted[1] != checksum(program.weights)


@pytest.mark.parametrize("board", ["nrf52840", "samd21"])
def test_a_sum_with_a_relu_trains_to_the_bytes_of_the_twin(board):
    """One of five channels: not all rows of it have four."""
    _check(board)
    net = Builder("residual", (2, 5, 4))
    y = net.conv("c0", net.x, 5, kernel=3, relu=False)
    y = net.add("a", y, net.conv("c1", y, 5, relu=False))
    assert net.clamp(y, 2.0)
    graph = net.classify(net.pool("p", net.conv("c2", y, 4, relu=False)), 3)
    scheme = full(graph) if board == "nrf52840" else Scheme(3)
    step = training_step(graph, scheme)
    program = encode(step, values_for(graph, 1))
    assert [node.op for node in step.graph.nodes].count("clamp_mask") == 1
    wanted = on_twin(program)
    _, found = net_board.instructions(board, program, training=True, at_once=True)
    assert found == wanted
    assert wanted[1] != checksum(program.weights)
