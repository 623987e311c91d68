# SPDX-License-Identifier: MIT
"""A network whose training needs twice the RAM of the nRF52840: it trains on the emulated board
with pages in its raw flash, within its arena, every byte as without a plan."""

import ast
import os
import zlib

import numpy as np
import pytest
from net_cases import stored, values_for

from acclimate_host.boards import load
from acclimate_host.compile.encode import encode
from acclimate_host.compile.scheduled import plain_step
from acclimate_host.connect import merge, open_board, package, why_not
from acclimate_host.model.build import Builder
from acclimate_host.paths import built
from acclimate_host.poet.fit import fit
from acclimate_host.sparse.scheme import full

ARENA = 150_000
STEPS, LABEL, RATE = 3, 2, (20000, -18)
RAW_IN_FILE = 0x100000  # of the flash file, which the machine maps (soc.h)
PAGE_BYTES = 4096
BEGIN = """
import gc
from acclimate import _native
import _net, _net_train
_native.register('net', _net)
_native.register('net_train', _net_train)
from acclimate.net import Net, bytes_needed
from acclimate.pager import Pager
import qboard, micropython
gc.collect()
arena = bytearray(bytes_needed(memoryview(qboard.Flash(qboard.RAW_START, 4096))))
raw = memoryview(qboard.Flash(qboard.RAW_START, {pages} * 4096))
program, weights = raw[:{program}], raw[{program}:{program} + {weights}]
x = raw[{image}:{image} + {input}]
"""
TRAIN = """
net = Net(program, weights, arena, seed=7, pager=pager)
net.set_rate(*{rate})
shares, two = [net.train_step(x, {label})], None
micropython.heap_lock()
two = net.train_step(x, {label})
micropython.heap_unlock()
shares.append(two)
for _ in range({steps} - 2):
    shares.append(net.train_step(x, {label}))
from acclimate._crc import start, update, finish
crc = bytearray(4)
start(crc)
update(crc, net.weights(), 0, net.weights_bytes)
finish(crc)
"""
_TRAIN = (
    "from acclimate.flash import BlockFlash"
    + BEGIN
    + """
flash = BlockFlash(qboard.Flash(qboard.RAW_START + {pages} * 4096, {store} * 4096))
pager = Pager(flash, endurance=10000)
"""
    + TRAIN
    + """
print((shares, list(crc), len(arena), pager.erases, pager.written_bytes, pager.erases_left()))
"""
)


def deep_net():
    """Sixteen layers of 4 channels and 88 x 88 values: 550 KB of tensors for few weights."""
    net = Builder("deep", (1, 88, 88))
    y = net.conv("c0", net.x, 4, kernel=3)
    for i in range(1, 16):
        y = net.conv(f"c{i}", y, 4, kernel=3 if i % 4 == 0 else 1)
    return net.classify(net.pool("p", net.conv("last", y, 8, kernel=3, stride=4)), 4)


@pytest.fixture(scope="module")
def case():
    graph = deep_net()
    network = values_for(graph, 0)
    plain = encode(plain_step(graph, full(graph)), network)
    # paging only: the point is the flash, and recomputing would be the cheaper way here
    found = fit(network, full(graph), ARENA, recompute=False, time_limit=600, gap=0.05)
    image = np.random.default_rng(1).integers(-128, 128, graph["x"].shape).astype(np.int8)
    return plain, found, stored(image)


def on_twin(program, x):
    from acclimate.net import Net
    from acclimate_host.twin import net as twin_net

    twin_net.register()
    net = Net(bytearray(program.code), program.weights, seed=7)
    net.set_rate(*RATE)
    shares = [net.train_step(x, LABEL) for _ in range(STEPS)]
    return shares, list(zlib.crc32(net.weights()).to_bytes(4, "little"))


def on_board(board, program, x, store, script=_TRAIN, modules=("net", "pager", "flash")):
    """What the script prints, run on a board whose raw flash holds program, weights and image."""
    blob = program.code + program.weights + bytes(x)
    pages = -(-len(blob) // PAGE_BYTES)
    natives = ("_net.mpy", "_net_train.mpy")
    for name in natives:
        board.put_bytes(built("native", "armv7emsp", name).read_bytes(), "/" + name)
    board.mkdir("/lib/acclimate")
    for file, data in package.build("armv7emsp", list(modules)).items():
        if file not in natives:
            board.put_bytes(data, f"/lib/acclimate/{file}")
    with open(board.emulator.flash, "r+b") as flash:
        flash.seek(RAW_IN_FILE)
        flash.write(blob)
    board.soft_reset()
    values = {
        "program": len(program.code),
        "weights": len(program.weights),
        "input": len(x),
        "image": len(program.code) + len(program.weights),
        "pages": pages,
        "store": store,
        "label": LABEL,
        "steps": STEPS,
        "rate": RATE,
    }
    shown = board.exec(merge.layout().for_board(script.format(**values)))
    return ast.literal_eval(shown.strip().splitlines()[-1])


def require_board():
    reason = why_not("nrf52840")
    for file in (built("native", "armv7emsp", "_net.mpy"), built("twin", "libacclimate_net.so")):
        reason = reason or (None if file.exists() else f"{file.name} is not built")
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@pytest.mark.slow
@pytest.mark.case("B4")
def test_training_that_needs_twice_the_ram_pages_to_flash(case):
    require_board()
    plain, found, x = case
    assert plain.arena_bytes >= 2 * load("nrf52840").value("ram_bytes")
    shares, crc = on_twin(plain, x)
    blocks = found.store_blocks(PAGE_BYTES)
    with open_board("nrf52840") as board:
        got = on_board(board, found.program, x, blocks + 20)
    assert got[:2] == (shares, crc)
    assert shares[0] < shares[-1]  # the loss falls
    assert got[2] == found.program.arena_bytes <= ARENA
    assert got[3:] == (
        STEPS * blocks,
        STEPS * sum(found.page_bytes),
        10000 * (blocks + 20) - STEPS * blocks,
    )
