# SPDX-License-Identifier: MIT
"""A real training step of MobileNetV2-w0.35 on the emulated nRF52840: frozen weights and image
in its flash, one arena in its RAM, every byte equal to the twin's."""

import ast
import os
import zlib

import numpy as np
import pytest
from net_cases import stored, values_for

from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import training_step
from acclimate_host.connect import open_board, package, why_not
from acclimate_host.model.zoo import backbone, names
from acclimate_host.paths import built
from acclimate_host.sparse.scheme import published
from bench import memory_board

PAPER_BYTES = 141 * 1024  # all RAM of the published training step
RAW_IN_FILE = 0x100000  # of the flash file, which the machine maps (soc.h)
_STEP = """
import gc
from acclimate import _native
import _net, _net_train
_native.register('net', _net)
_native.register('net_train', _net_train)
from acclimate.net import Net, bytes_needed
import qboard, micropython
f = memoryview(qboard.Flash(qboard.RAW_START, {pages} * qboard.PAGE_BYTES))
program, weights = f[:{program}], f[{program}:{program} + {weights}]
x = f[{image}:{image} + {input}]
gc.collect()
arena = bytearray(bytes_needed(program))
net = Net(program, weights, arena, seed=7)
net.set_rate(20000, -22)
first = one = two = None  # a name that is new would take heap
micropython.heap_lock()
first = net.predict(x)
one = net.train_step(x, 3)
two = net.train_step(x, 3)
micropython.heap_unlock()
shares = one, two
try:
    from binascii import crc32
except ImportError:
    from acclimate._crc32 import crc32
sums = crc32(net.weights()), crc32(net.outputs())
print((first, shares, net.moved, net.rails) + sums + (len(arena),))
"""


@pytest.fixture(scope="module")
def published_step():
    nets = {name: backbone(name) for name in names()}
    row = next(row for row in published(nets) if row.net == "mbv2-w0.35")
    assert row.extra_kib == 49.8
    return nets[row.net], row.scheme


@pytest.fixture(scope="module")
def case(published_step):
    graph, scheme = published_step
    program = encode(training_step(graph, scheme), values_for(graph, 0))
    random = np.random.default_rng(1)
    return program, stored(random.integers(-128, 128, graph["x"].shape).astype(np.int8))


def on_twin(case):
    from acclimate.net import Net
    from acclimate_host.twin import net as twin_net

    twin_net.register()
    program, x = case
    net = Net(bytearray(program.code), program.weights, seed=7)
    net.set_rate(20000, -22)
    first = net.predict(x)
    shares = net.train_step(x, 3), net.train_step(x, 3)
    return (
        first,
        shares,
        net.moved,
        net.rails,
        zlib.crc32(net.weights()),
        zlib.crc32(net.outputs()),
        program.arena_bytes,
    )


def on_board(case, board):
    program, x = case
    blob = program.code + program.weights + bytes(x)
    values = {
        "program": len(program.code),
        "weights": len(program.weights),
        "input": len(x),
        "image": len(program.code) + len(program.weights),
        "pages": -(-len(blob) // 4096),
    }
    for name in ("_net.mpy", "_net_train.mpy"):
        board.put_bytes(built("native", "armv7emsp", name).read_bytes(), "/" + name)
    board.mkdir("/lib/acclimate")
    for file, data in package.build("armv7emsp", ["net"], pure=True).items():
        board.put_bytes(data, f"/lib/acclimate/{file}")
    with open(board.emulator.flash, "r+b") as flash:
        flash.seek(RAW_IN_FILE)
        flash.write(blob)
    board.soft_reset()
    return ast.literal_eval(board.exec(_STEP.format(**values)))


@pytest.fixture
def built_all():
    reason = why_not("nrf52840")
    for file in (built("native", "armv7emsp", "_net.mpy"), built("twin", "libacclimate_net.so")):
        reason = reason or (None if file.exists() else f"{file.name} is not built")
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


def test_all_ram_of_a_board_that_trains_from_installed_files_is_within_the_papers(
    published_step, built_all
):
    network, program = memory_board.program_of(*published_step, memory_board.MOST["mbv2"])
    assert memory_board.on_board(program, network)["whole_ram"] <= PAPER_BYTES


def test_a_step_of_mobilenet_on_the_board_equals_the_twin(case, built_all):
    wanted = on_twin(case)
    with open_board("nrf52840") as board:
        found = on_board(case, board)
    assert found == wanted
    assert wanted[2] > 1000 and wanted[-1] <= 100 * 1024
