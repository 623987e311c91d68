# SPDX-License-Identifier: MIT
"""The computer's side of paging.py: train a network, plan its training for less RAM.

    pip install '.[plan]'
    python examples/paging_plan.py      # writes net_program and net_weights

The planner may page only here, and computes nothing twice.
"""

from pathlib import Path

import numpy as np
from paging import BLOCK_BYTES, BLOCKS, CLASSES, EDGE, Camera

from acclimate_host.model.build import Builder
from acclimate_host.model.pretrain import pretrain
from acclimate_host.model.quantize import quantize
from acclimate_host.poet.fit import fit
from acclimate_host.poet.problem import Budget
from acclimate_host.sparse.scheme import full

SHARE = 0.75  # of the RAM that the step needs without a plan


def graph():
    net = Builder("bars", (1, EDGE, EDGE))
    y = net.conv("c0", net.x, 8, kernel=3)
    for i in range(1, 5):
        y = net.conv(f"c{i}", y, 8, kernel=3)
    return net.classify(net.pool("pool", y), CLASSES)


def images(count):
    """Return (images, labels) of dark bars."""
    camera, labels = Camera(is_inverted=False, seed=3), np.arange(count) % CLASSES
    seen = [np.array(camera.see(label), np.float32) for label in labels]
    return np.stack(seen).reshape(count, 1, EDGE, EDGE), labels


def main(folder="."):
    """Write both files; return (bytes of the arena, bytes without a plan)."""
    x, labels = images(120)
    network, _ = quantize(pretrain(graph(), x, labels, epochs=5, batch=12), x, headroom=0.5)
    scheme = full(network.graph)
    plain = fit(network, scheme, 10**6).plain_bytes
    ram = int(plain * SHARE)
    budget = Budget(ram, aux_bytes=BLOCKS * BLOCK_BYTES // 2)
    found = fit(network, scheme, ram, budget=budget, recompute=False, gap=0.05)
    Path(folder, "net_program").write_bytes(found.program.code)
    Path(folder, "net_weights").write_bytes(found.program.weights)
    blocks = found.store_blocks(BLOCK_BYTES)
    print(f"{found.program.arena_bytes:,} bytes instead of {plain:,}, {blocks} blocks a step")
    return found.program.arena_bytes, plain


if __name__ == "__main__":
    main()
