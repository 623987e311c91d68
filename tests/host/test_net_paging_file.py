# SPDX-License-Identifier: MIT
"""A network whose training needs twice the RAM of the nRF52840: it trains on the emulated board
with pages in files of its 256 KB file system, made beforehand, within its arena, every byte as
without a plan. What does not fit the files is computed again."""

import numpy as np
import pytest
from net_cases import stored, values_for
from test_net_paging_board import (
    BEGIN,
    PAGE_BYTES,
    STEPS,
    TRAIN,
    deep_net,
    on_board,
    on_twin,
    require_board,
)

from acclimate_host.boards import load
from acclimate_host.compile.encode import encode
from acclimate_host.compile.scheduled import plain_step
from acclimate_host.connect import open_board
from acclimate_host.poet.fit import fit
from acclimate_host.poet.problem import Budget
from acclimate_host.sparse.scheme import full

ARENA_BYTES = 150_000  # less than the flash's: all page stores are one file of code on the heap
FILES_BYTES = 58_000  # of pages, in the room that the board's modules leave
_TRAIN = (
    "import os\nfrom acclimate.pager import Files"
    + BEGIN
    + """
files = Files('/pages', {store})
free = os.statvfs('/')[3]
pager = Pager(files, endurance=10000)
"""
    + TRAIN
    + """
size = sum(os.stat('/pages/' + name)[6] for name in os.listdir('/pages'))
print((shares, list(crc), len(arena), pager.erases, pager.written_bytes, pager.erases_left(),
       size, free - os.statvfs('/')[3]))
"""
)


@pytest.mark.slow
def test_training_that_needs_twice_the_ram_pages_to_files():
    require_board()
    graph = deep_net()
    network = values_for(graph, 0)
    plain = encode(plain_step(graph, full(graph)), network)
    assert plain.arena_bytes >= 2 * load("nrf52840").value("ram_bytes")
    budget = Budget(ARENA_BYTES, aux_bytes=FILES_BYTES)
    found = fit(network, full(graph), ARENA_BYTES, budget=budget, time_limit=600, gap=0.3)
    blocks = found.store_blocks(PAGE_BYTES)
    image = np.random.default_rng(1).integers(-128, 128, graph["x"].shape).astype(np.int8)
    x = stored(image)
    shares, crc = on_twin(plain, x)
    modules = ("net", "pager")
    with open_board("nrf52840") as board:
        got = on_board(board, found.program, x, blocks + 1, _TRAIN, modules)
    assert got[:2] == (shares, crc)
    assert shares[0] < shares[-1]  # the loss falls
    assert got[2] == found.program.arena_bytes <= ARENA_BYTES
    assert got[3:6] == (
        STEPS * blocks,
        STEPS * sum(found.page_bytes),
        10000 * (blocks + 1) - STEPS * blocks,
    )
    assert got[6] == (blocks + 1) * PAGE_BYTES and got[7] <= 0  # no block more than at first
    assert sum(found.page_bytes) > 40_000
