# SPDX-License-Identifier: MIT
"""The module of the ESP32 (Xtensa) gives the twin's bytes: random networks, forward and training,
int8 with every optimizer, and float32."""

import ast
import os
import struct

import numpy as np
import pytest
from net_cases import OPTIMIZERS, sample, schemes, step_of, stored, trained_net, values_for

from acclimate.net import FloatNet, Net
from acclimate_host.compile.encode import encode
from acclimate_host.connect import open_board, package, why_not
from acclimate_host.model.network import Network
from acclimate_host.paths import built
from acclimate_host.twin import net as twin_net

NATIVES = ("_net", "_net_train", "_net_f32", "_net_f32_train")
MODULES = [built("native", "xtensawin", name + ".mpy") for name in NATIVES]
_STEPS = """
def steps(net, inputs, labels):
    found = [net.predict(inputs[0]), bytes(net.outputs())]
    for i, x in enumerate(inputs):
        net._put(16, i & 1)  # accumulation moves every other time
        found.append(net.train_step(x, labels[i]))
    found += [net.moved, net.rails, net.dead, bytes(net.weights())]
    return found
"""
_ON_BOARD = """
from acclimate import _native
import _net, _net_train, _net_f32, _net_f32_train
_native.register('net', _net)
_native.register('net_train', _net_train)
_native.register('net_f32', _net_f32)
_native.register('net_f32_train', _net_f32_train)
from acclimate.net import Net
from acclimate.net import FloatNet
def read(name, n):
    data = bytearray(n)
    with open(name, 'rb') as file:
        file.readinto(data)
    return data
net = {kind}(read('p', {program}), read('w', {weights}), seed=7)
net.set_rate({rate})
x = read('x', {input} * {count})
print(steps(net, [x[i * {input}:(i + 1) * {input}] for i in range({count})], {labels}))
"""
names = {}
exec(_STEPS, names)


@pytest.fixture(scope="module")
def board():
    reason = why_not("esp32")
    for file in (*MODULES, built("twin", "libacclimate_net.so")):
        reason = reason or (None if file.exists() else f"{file.name} is not built")
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    twin_net.register()
    with open_board("esp32") as board:
        for module in MODULES:
            board.put_bytes(module.read_bytes(), "/" + module.name)
        board.mkdir("/lib/acclimate")
        for file, data in package.build("xtensawin", ["net", "net.float32"], pure=True).items():
            board.put_bytes(data, f"/lib/acclimate/{file}")
        yield board


def compared(board, kind, program, inputs, labels, rate):
    """Return what the same steps give on the board and on the twin."""
    board.put_bytes(program.code, "/p")
    board.put_bytes(program.weights, "/w")
    board.put_bytes(b"".join(inputs), "/x")
    values = {
        "kind": kind.__name__,
        "program": len(program.code),
        "weights": len(program.weights),
        "rate": ", ".join(map(str, rate)),
        "input": len(inputs[0]),
        "count": len(inputs),
        "labels": labels,
    }
    board.soft_reset()
    found = ast.literal_eval(board.exec(_STEPS + _ON_BOARD.format(**values)))
    net = kind(bytearray(program.code), program.weights, seed=7)
    net.set_rate(*rate)
    wanted = names["steps"](net, inputs, labels)
    assert wanted[-1] != program.weights
    return found, wanted


@pytest.mark.parametrize("seed", range(5))
def test_int8_networks_give_the_twin_s_bytes(board, seed):
    graph = trained_net(seed + 60)
    scheme = schemes(graph)[seed % 3]
    program = encode(step_of(graph, scheme), values_for(graph, seed), OPTIMIZERS[seed])
    random = np.random.default_rng(seed)
    inputs = [bytes(stored(sample(graph, random))) for _ in range(4)]
    found, wanted = compared(board, Net, program, inputs, [0, 1, 1, 0], (20000, -18))
    assert found == wanted


def test_a_float32_network_gives_the_twin_s_numbers(board):
    import net_reference

    graph = trained_net(3, square=True)
    values = net_reference.parameters(graph, 3)
    network = Network(graph, {k: v.astype(np.float32) for k, v in values.items()})
    program = encode(step_of(graph, schemes(graph)[0]), network)
    random, shape = np.random.default_rng(3), graph["x"].shape
    inputs = [
        np.ascontiguousarray(np.moveaxis(random.normal(0, 1, shape), 0, 2)).astype("<f4").tobytes()
        for _ in range(2)
    ]
    found, wanted = compared(board, FloatNet, program, inputs, [0, 1], (0.01,))
    for ours, theirs in ((found[1], wanted[1]), (found[-1], wanted[-1])):
        ours, theirs = (np.frombuffer(data, "<f4") for data in (ours, theirs))
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)
    losses = [
        [struct.unpack("<f", struct.pack("<I", bits))[0] for bits in row[2:4]]
        for row in (found, wanted)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
