# SPDX-License-Identifier: MIT
"""Runs network programs on an emulated board and counts their instructions, one by one."""

import ast
from pathlib import Path

from ..compile.program_format import NEEDS
from ..paths import built
from . import open_board, raw_flash

SHIFT = 10
ARCH = {"nrf52840": "armv7emsp", "samd21": "armv6m"}
_ALL = 1 << 29

_COMMON = """
import gc, qboard
from array import array
T = qboard.ticks
flash = memoryview(qboard.Flash({at}, {whole}))
def pattern(n):
    x = bytearray(n)
    for i in range(n):
        x[i] = (i * 37 + 11) & 255
    return x
def checksum(data):
    s = 0
    for b in data:
        s = (s * 31 + b) & 0xffffff
    return s
gc.collect()
"""
_PROGRAM = """
modules = [__import__(name) for name in {modules}]
program = flash[:{size}]
arena = bytearray({arena_bytes})
x = pattern({input_bytes})
par = array('i', [0] * 9)
for i in range({weights_bytes}):
    arena[{weights_at} + i] = program[{weights_in} + i]
for i, b in enumerate((1, 0, 0, 0, 0, 64, 0, 0, 236, 255, 255, 255)):
    arena[{state} + i] = b
out = []
def walk(at, until, training, empty=0):
    s, m = 1, 0
    while 0 < s < 4:  # 2: a page, which is left out here; 3: the other module has it
        par[0], par[1], par[3], par[4] = at, until, training, {budget}
        run = modules[m].run
        t = T()
        s = run(program, arena, x, par)
        t = (T() - t) & 0x3fffffff
        if s == 3:
            m = (m + 1) % len(modules)
        if s != 3 or par[0] != at:
            out.append((at, t - empty))
        at = par[0]
    return s
walk(0, 0, 0)
walk(0, 0, 0)
e = out[1][1]
out.clear()
s = walk(0, {forward}, {training}, e)
sum = checksum(arena[{output}:{output} + {outputs}])
s = s or ({training} and walk({forward}, {end}, 1, e))
print([s, out, (sum, checksum(arena[{weights_at}:{weights_at} + {weights_bytes}]))])
"""


def module(arch):
    """Return the path of the native module that predicts."""
    return built("native", arch, "_net.mpy")


def modules(arch, training=True, rare=False):
    """Return the paths of the native modules that a program needs, in their turn."""
    names = ["_net_all" if arch == "armv6m" and training else "_net"]
    names += ["_net_train"] * (training and arch != "armv6m") + ["_net_rare"] * rare
    return [built("native", arch, name + ".mpy") for name in names]


def run(name, data, natives, code, names):
    """Run `code` with `data` in the raw flash; return (what it printed, instructions a tick)."""
    names = dict(names, at=raw_flash.START[name], whole=-(-len(data) // 4096) * 4096)
    with open_board(name, icount=SHIFT) as board:
        for native in map(Path, natives):
            board.put_bytes(native.read_bytes(), native.name)
        raw_flash.write(board, name, data)
        board.soft_reset()
        answer = ast.literal_eval(board.exec((_COMMON + code).format(**names), 400))
        return answer, 1e9 / board.ticks()[1] / (1 << SHIFT)


def instructions(name, program, training=False, native=None, at_once=False):
    """Return ([(byte of the code, instructions of the board)], checksums) of a program.

    The checksums are those of the outputs and, at the end, of the trained weights.

    The input is a fixed pattern.

    :param training: run the backward part too
    :param native: path of another native module to run
    :param at_once: count the whole program in one; the clock
        wraps after 42 million instructions
    :raises RuntimeError: when the program ends with a fault
    """
    data = bytes(program.code)
    weights_in = len(data) + -len(data) % 4
    data += bytes(-len(data) % 4) + bytes(program.weights)
    field = program.field
    names = {
        "size": len(data),
        "arena_bytes": program.arena_bytes,
        "weights_in": weights_in,
        "input_bytes": field("input_bytes"),
        "budget": _ALL if at_once else 1,
        "weights_bytes": len(program.weights),
        "weights_at": field("weights"),
        "state": field("state"),
        "forward": field("forward"),
        "output": field("output"),
        "end": field("forward") + field("training"),
        "training": int(training),
        "outputs": field("outputs"),
    }
    found = modules(ARCH[name], training, bool(field("needs") & NEEDS["RARE"]))
    natives = [Path(native)] if native else found
    names["modules"] = tuple(path.stem for path in natives)
    (status, steps, checksums), per_tick = run(name, data, natives, _PROGRAM, names)
    if status:
        raise RuntimeError(f"{name}: the program ended with status {status}")
    return [(at, round(ticks * per_tick)) for at, ticks in steps], checksums
