# SPDX-License-Identifier: MIT
"""All RAM that a training step takes on the running, emulated nRF52840, the image included.

The program comes from the compiler with the input in the arena; weights that do not change and
the program stay in flash. `with_input` is the arena. `whole_ram` adds what the board uses
besides: the Net object, the package and the native modules (both are loaded into the heap), the
interpreter's own objects, and the deepest stack, seen by what a step overwrites of a painted
stack. `with_static` adds the static data of the firmware. `in_firmware` has the same of a
firmware with the package frozen and its C modules built in, so that code runs from flash, as that
of the paper does. Every byte that the board trains must equal the twin's.
"""

import ast
import zlib

import numpy as np

from acclimate_host.compile.choose import choose
from acclimate_host.compile.step import Options
from acclimate_host.connect import open_board, package, raw_flash
from acclimate_host.model.network import as_bytes
from acclimate_host.model.seeded import seeded_network
from acclimate_host.paths import built

BOARD = "nrf52840"
# The largest arenas that the targets allow; the compiler takes the fastest step within.
MOST = {"mbv2": 99_600, "mcunet": 115_000, "proxyless": 120_000}
TARGETS = [
    ("board.mbv2.with_input", "<=", 110_000),
    ("board.mcunet.with_input", "<=", 115_000),
    ("board.proxyless.with_input", "<=", 120_000),
    ("board.mbv2.whole_ram", "<=", 144_384),
    ("board.mcunet.whole_ram", None, None),
    ("board.proxyless.whole_ram", None, None),
    ("board.mbv2.in_firmware.whole_ram", "<=", 144_384),
    ("board.mcunet.in_firmware.whole_ram", None, None),
    ("board.proxyless.in_firmware.whole_ram", None, None),
]
_WITH_PACKAGE = built("firmware", "nrf52840-natives", "firmware.elf")
_STACK_BYTES, _RAM_BYTES, _RAM_END = 8192, 256 * 1024, 0x20040000
_SETUP = """
import gc, micropython
gc.collect()
start = gc.mem_alloc()
pool = gc.mem_alloc() + gc.mem_free()
"""
_STEP = """
import uctypes, qboard
from binascii import crc32
from acclimate.net import Net, bytes_needed
f = memoryview(qboard.Flash(qboard.RAW_START, {pages} * qboard.PAGE_BYTES))
program, weights = f[:{program}], f[{program}:{program} + {weights}]
image = f[{image}:{image} + {input}]
gc.collect()
loaded = gc.mem_alloc()
net = Net(program, weights, bytearray(bytes_needed(program)), seed=7, check=False)
net.set_rate(20000, -22)
def step():
    net.input[:] = image
    return net.train_step(net.input, 3)
gc.collect()
made = gc.mem_alloc()
def painted(paint):
    room = uctypes.bytearray_at({bottom}, {stack} - 1024)
    if paint:
        for i in range(len(room)):
            room[i] = 0x5A
        return 0
    for i in range(len(room)):
        if room[i] != 0x5A:
            return {stack} - i
    return 1024
painted(True)
one = step()
deepest = painted(False)
two = step()
gc.collect()
print((start, pool, loaded, made, gc.mem_alloc(), deepest, one, two, crc32(net.weights()),
    crc32(net.outputs())))
"""


def measure(result, nets, rows, short):
    """Add `board` to the result of the bench of memory: the 49 KB scheme of each net."""
    result["board"] = {}
    for row in rows:
        if int(row.extra_kib) == 49:
            name = short[row.net]
            network, program = program_of(nets[row.net], row.scheme, MOST[name])
            result["board"][name] = on_board(program, network)
            if _WITH_PACKAGE.exists():
                found = on_board(program, network, _WITH_PACKAGE)
                result["board"][name]["in_firmware"] = found


def program_of(graph, scheme, most):
    """Return (network, program): the fastest step in an arena of so many bytes, with its input."""
    network = seeded_network(graph)
    return network, choose(network, scheme, most, options=Options(input_in_arena=True)).program


def on_board(program, network, elf=None):
    """Return the RAM of a step by part.

    :param elf: a firmware that has the package; None: that of the board, which loads its files
    """
    shape = network.graph[network.input].shape
    x = as_bytes(np.random.default_rng(1).integers(-128, 128, (1, *shape)).astype(np.int8))[0]
    blob = program.code + program.weights + x
    values = {
        "program": len(program.code),
        "weights": len(program.weights),
        "input": len(x),
        "image": len(program.code) + len(program.weights),
        "pages": -(-len(blob) // 4096),
        "stack": _STACK_BYTES,
        "bottom": _RAM_END - _STACK_BYTES,
    }
    with open_board(BOARD, **({"elf": elf} if elf else {})) as board:
        if elf is None:
            _put_package(board)
        raw_flash.write(board, BOARD, blob)
        board.soft_reset()
        board.exec(_SETUP)
        found = ast.literal_eval(board.exec(_STEP.format(**values), 400))
    if found[6:] != _on_twin(program, x):
        raise SystemExit("the board's step differs from the twin's")
    start, pool, loaded, made, heap, stack = found[:6]
    static = _RAM_BYTES - _STACK_BYTES - pool
    return {
        "with_input": program.arena_bytes,
        "net_object": made - loaded - program.arena_bytes,
        "package": loaded - start,
        "interpreter": start,
        "static": static,
        "stack": stack,
        "heap": heap,
        "whole_ram": heap + stack,
        "with_static": heap + stack + static,
    }


def _put_package(board):
    board.mkdir("/lib/acclimate")
    for file, data in package.build("armv7emsp", ["net"]).items():
        folder = file.rpartition("/")[0]
        if folder:
            board.mkdir("/lib/acclimate/" + folder)
        board.put_bytes(data, f"/lib/acclimate/{file}")


def _on_twin(program, x):
    from acclimate.net import Net
    from acclimate_host.twin import net as twin_net

    twin_net.register()
    net = Net(bytearray(program.code), program.weights, seed=7)
    net.set_rate(20000, -22)
    shares = net.train_step(x, 3), net.train_step(x, 3)
    return (*shares, zlib.crc32(net.weights()), zlib.crc32(net.outputs()))
