# SPDX-License-Identifier: MIT
"""Run a network program on an emulated board and count its instructions."""

import ast
from pathlib import Path

from acclimate_host.compile.program_format import HEADER
from acclimate_host.connect import open_board
from acclimate_host.paths import built
from bench import raw_flash

SHIFT = 10
ARCH = {"nrf52840": "armv7emsp", "samd21": "armv6m"}
_ALL = 1 << 29

_SETUP = """
import gc, qboard
from array import array
import _net
gc.collect()
T = qboard.ticks
program = memoryview(qboard.Flash({at}, {whole}))[:{size}]
arena = bytearray({arena_bytes})
x = bytearray({input_bytes})
for i in range(len(x)):
    x[i] = (i * 37 + 11) & 255
par = array('i', [0] * 9)
def run(first, until, training=0):
    par[0], par[1], par[3], par[4] = first, until, training, {all}
    t = T()
    s = _net.run(program, arena, x, par)
    return (T() - t) & 0x3fffffff, s
def weights():
    for i in range({weights_bytes}):
        arena[{weights_at} + i] = program[{weights_in} + i]
def state():
    arena[{state}] = 1
    arena[{state} + 4] = 0
    arena[{state} + 5] = 64
    arena[{state} + 8] = 236
    arena[{state} + 9] = arena[{state} + 10] = arena[{state} + 11] = 255
"""
_RUN = """
weights()
state()
run(0, 0)
e = run(0, 0)[0]
out = []
def walk(at, until, training):
    s = 1
    while s == 1:
        par[0], par[1], par[3], par[4] = at, until, training, 1
        t = T()
        s = _net.run(program, arena, x, par)
        t = (T() - t) & 0x3fffffff
        out.append((at, t - e))
        at = par[0]
    return s
s = walk(0, {forward}, {training})
s = s or ({training} and walk({forward}, {end}, 1))
print([s, out])
"""


def module(arch):
    """Return the path of the built native module of the network."""
    return built("native", arch, "_net.mpy")


def instructions(name, program, training=False, native=None):
    """Return [(opcode, instructions of the board)] of each instruction of a program.

    The input is a fixed pattern; the board's own output decides nothing here.

    :param training: run the backward part too
    :param native: path of another native module to run
    :raises RuntimeError: when the program ends with a fault
    """
    data = bytes(program.code)
    weights_in = len(data) + -len(data) % 4
    data += bytes(-len(data) % 4) + bytes(program.weights)
    field = program.field
    names = {
        "at": raw_flash.START[name], "size": len(data), "whole": -(-len(data) // 4096) * 4096,
        "arena_bytes": program.arena_bytes,
        "input_bytes": field("input_bytes"), "all": _ALL, "weights_in": weights_in,
        "weights_bytes": len(program.weights), "weights_at": field("weights"),
        "state": field("state"), "forward": field("forward"),
        "end": field("forward") + field("training"), "training": int(training),
    }  # fmt: skip
    with open_board(name, icount=SHIFT) as board:
        path = native or module(ARCH[name])
        board.put_bytes(Path(path).read_bytes(), "_net.mpy")
        raw_flash.write(board, name, data)
        board.soft_reset()
        board.exec(_SETUP.format(**names))
        answer = ast.literal_eval(board.exec(_RUN.format(**names), 300))
        hz = board.ticks()[1]
    status, steps = answer
    if status:
        raise RuntimeError(f"{name}: the program ended with status {status}")
    code = program.code[HEADER.bytes :]
    return [(code[at], round(ticks * 1e9 / hz / (1 << SHIFT))) for at, ticks in steps]
