# SPDX-License-Identifier: MIT
"""Measures each operator of a network's training step on a board, once for each shape.

Each node of the step runs as a program of its own, so that only its own tensors must fit into the
board's RAM. What does not fit is left to the compiler's cost model: the median of measured seconds
through its instructions is the time of an instruction on this board.
"""

import ast
import statistics
from dataclasses import dataclass

from ..compile.cost_model import CostModel
from ..compile.encode import place
from ..compile.scheduled import plain_step
from ..compile.shapes import alone, node_instructions, node_shapes
from ..errors import BoardError
from ..model.seeded import seeded_network
from ..sparse.scheme import full
from .measure import programs

# Native architecture -> core of the cost model.
CORE_OF = {"armv7emsp": "m4f", "armv6m": "m0"}
_ENOUGH_TICKS = 4000  # of a real clock, for one timing
_MOST_RUNS = 50
_NODE = """
import gc
for name in ('net', 'program', 'weights', 'arena', 'x'):
    globals().pop(name, None)
gc.collect()
from acclimate.net import Net, bytes_needed
f = open('profile.bin', 'rb')
program = f.read({program})
weights = f.read()
f.close()
arena = bytearray(bytes_needed(program))
some = bytes((i * 37 + 11) & 255 for i in range(256))
for i in range(0, len(arena), 256):
    arena[i : i + 256] = some[: len(arena) - i]
net = Net(program, weights, arena, seed=1, check=False)
net.set_rate(16384, -20)
if net._until == 0:  # behind the outputs the other module goes on
    net._load_trainer()
    net._native = net._trainer
x = bytearray(net.input_bytes)
def run(until, times=1):
    total = 0
    for _ in range(times):
        net._begin(x, 0, until, 1)
        a = clock()
        while net._run(x, 1 << 29):
            pass
        total += (clock() - a) & 0x3fffffff
    return total
run(net._end)
n = max(1, min({most}, {enough} // max(1, run(net._end))))
print([(run(net._end, n) - run(0, n), n) for _ in range({rounds})])
"""


@dataclass(frozen=True)
class Shape:
    """One shape of a step: its text, a program of such a node, how many nodes have it.

    instructions: of the core's cost model, or None for a core without one.
    """

    text: str
    program: object
    count: int
    instructions: float | None


def shapes_of(network, core=None):
    """Return the Shapes of a network's whole training step, then those of layers that run again.

    A float network is taken as int8: what a kernel costs does not depend on the values.
    """
    if not network.quantized:
        network = seeded_network(network.graph)
    step = plain_step(network.graph, full(network.graph))
    placement, found = place(step, network), {}
    for again in (False, True):
        texts = node_shapes(placement, again)
        counts = node_instructions(placement, core, again) if core else [None] * len(texts)
        for position, (text, count) in enumerate(zip(texts, counts, strict=True)):
            if text not in found:
                program = alone(step, network, position, again=again)
                found[text] = Shape(text, program, texts.count(text), count)
    return list(found.values())


def measure_shapes(bench, shapes, rounds=3, progress=None):
    """Return {text: seconds} of the Shapes whose tensors fit into the board's heap."""
    found = {}
    for number, shape in enumerate(shapes):
        if progress:
            progress(f"measuring shape {number + 1} of {len(shapes)}", number, len(shapes))
        program = shape.program
        bench.board.put_bytes(program.code + program.weights, "profile.bin")
        enough = 0 if bench.emulated else _ENOUGH_TICKS
        values = {"program": len(program.code), "rounds": rounds, "enough": enough}
        try:
            answer = bench.board.exec(_NODE.format(most=_MOST_RUNS, **values), 120)
        except BoardError as error:
            if "MemoryError" not in str(error):
                raise
            continue
        times = ast.literal_eval(answer)
        found[shape.text] = max(0, min(ticks / n for ticks, n in times)) * bench.tick_s
    bench.board.exec("import os\nos.remove('profile.bin')")
    return found


def instruction_seconds(core, rows, shapes=(), measured=None):
    """Return (seconds of an instruction of a core, how many timings say so).

    :param rows: poet.measure.Measured of whole networks, taken where no shape was measured
    """
    pairs = [(measured[s.text], s.instructions) for s in shapes if s.text in (measured or {})]
    if not pairs:
        model, seconds = CostModel.load(core), {row.name: row.seconds for row in rows}
        pairs = [
            (seconds[name], model.total(program, training=bool(backward)))
            for name, program, _, backward in programs()
        ]
    return statistics.median(s / count for s, count in pairs), len(pairs)
