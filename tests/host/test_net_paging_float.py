# SPDX-License-Identifier: MIT
"""Float32 training with a plan on the emulated nRF52840: every bit as without one."""

import ast
import os

import numpy as np
import pytest
from net_cases import trained_net

from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import training_step
from acclimate_host.connect import open_board, package, why_not
from acclimate_host.model.network import Network
from acclimate_host.paths import built
from acclimate_host.poet.fit import fit
from acclimate_host.sparse.scheme import full

_TRAIN = """
import gc, _net_f32, _net_f32_train
from acclimate import _native
_native.register('net_f32', _net_f32)
_native.register('net_f32_train', _net_f32_train)
from acclimate.flash import BlockFlash
from acclimate.net import FloatNet
from acclimate.pager import Pager
import qboard
def read(name):
    with open(name, 'rb') as file:
        return file.read()
def trained(name):
    gc.collect()
    pager = Pager(BlockFlash(qboard.Flash(qboard.RAW_START, 64 * qboard.PAGE_BYTES)))
    net = FloatNet(read(name + '.code'), read(name + '.weights'), seed=7, pager=pager)
    net.set_rate(0.05)
    x = bytearray(read('x.bin'))
    shares = [net.train_step(x, i % 2) for i in range(3)]
    return shares, bytes(net.weights()), pager.written_bytes
print([trained(name) for name in ('plain', 'planned')])
"""


def float_network(graph):
    random, values = np.random.default_rng(1), {}
    for node in graph.nodes:
        if node.op in ("conv", "dense"):
            shape = graph[node.inputs[1]].shape
            spread = 1 / np.sqrt(np.prod(shape[1:]))
            values[node.inputs[1]] = random.normal(0, spread, shape).astype(np.float32)
            values[node.inputs[2]] = random.normal(0, 0.1, shape[0]).astype(np.float32)
    return Network(graph, values)


def test_float_training_with_a_plan_is_equal_to_the_bit_on_the_board():
    module = built("native", "armv7emsp", "_net_f32.mpy")
    reason = why_not("nrf52840") or (None if module.exists() else "run: make native")
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    graph = trained_net(1)
    network = float_network(graph)
    plain = encode(training_step(graph, full(graph)), network)
    ram = int(0.85 * plain.arena_bytes)
    found = fit(network, full(graph), ram, recompute=False, time_limit=600, gap=0.3)
    channels, height, width = graph["x"].shape
    x = np.random.default_rng(3).normal(size=(height, width, channels)).astype("<f4").tobytes()
    with open_board("nrf52840") as board:
        natives = ("_net_f32.mpy", "_net_f32_train.mpy")
        for name in natives:
            board.put_bytes(built("native", "armv7emsp", name).read_bytes(), "/" + name)
        board.mkdir("/lib/acclimate")
        for file, data in package.build("armv7emsp", ["net", "net.float32", "pager"]).items():
            if file not in natives:
                board.put_bytes(data, f"/lib/acclimate/{file}")
        for name, program in (("plain", plain), ("planned", found.program)):
            board.put_bytes(program.code, f"/{name}.code")
            board.put_bytes(program.weights, f"/{name}.weights")
        board.put_bytes(x, "/x.bin")
        board.soft_reset()
        shown = board.exec(_TRAIN)
    (shares, weights, none), (planned, same, written) = ast.literal_eval(shown.splitlines()[-1])
    assert planned == shares and same == weights
    assert np.isfinite(np.frombuffer(weights, "<f4")).all()
    assert none == 0 and written == 3 * sum(found.page_bytes) > 0
    assert found.program.arena_bytes <= ram
