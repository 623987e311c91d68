# SPDX-License-Identifier: MIT
"""Measures operators and the page store on a board; the figures make a cost table.

On a real board the time is its own clock's. On an emulated one it is the number of instructions
over the clock of the board that it stands for: an estimate, one cycle each, without the waits
of flash and bus and without the time that flash takes to erase and program.
"""

import ast
import json
from dataclasses import dataclass

import numpy as np

from ..compile.encode import encode
from ..compile.scheduled import plain_step
from ..compile.step import Options, inference_step
from ..connect.emulator import EXACT_SHIFT as ICOUNT_SHIFT
from ..errors import AcclimateError, BoardError, Missing
from ..model.build import Builder
from ..model.network import Network, with_scales
from ..sparse.scheme import full
from .costs import load
from .step_graph import step_graph

EMULATED_CLOCK_HZ = {"nrf52840": 64e6, "samd21": 48e6}
PAGE_SIZES = (256, 2048)
MEDIA = {
    "file": "from acclimate.flash import FileFlash\n"
    "medium = FileFlash('pages.bin', 16384, erase_bytes=4096)",
    "raw": "from acclimate.flash import BlockFlash\nimport qboard\n"
    "medium = BlockFlash(qboard.Flash(qboard.RAW_START, 4 * qboard.PAGE_BYTES))",
}
# What is measured -> operator of costs.OPERATORS whose speed it is.
OPERATOR_OF = {
    "conv 3x3": "conv",
    "depthwise 3x3": "depthwise",
    "pointwise": "pointwise",
    "dense": "dense",
    "backward and update": "backward",
}
_CLOCK_EMULATED = "import qboard\nclock = qboard.ticks\n"
_CLOCK = "import time\nclock = time.ticks_us\n"
_OPERATOR = """
import gc
gc.collect()
from acclimate.net import Net
f = open('profile.bin', 'rb')
program = f.read({program})
weights = f.read()
f.close()
net = Net(program, weights, seed=1)
net.set_rate(16384, -20)
x = bytearray(net.input_bytes)
def forward():  # predict, without looking for the largest of many outputs
    net._begin(x, 0, net._until, 0)
    while net._run(x, 1 << 29):
        pass
forward()
gc.collect()
found = []
for _ in range({rounds}):
    a = clock()
    forward()
    b = clock()
    if {trains}:
        net.train_step(x, 0)
    c = clock()
    found.append(((b - a) & 0x3fffffff, (c - b) & 0x3fffffff))
print(found)
del net, program, weights, x, forward
"""
_PAGES = """
import gc
gc.collect()
from acclimate.pager import Pager
{medium}
pager = Pager(medium)
found = []
for size in {sizes}:
    view = memoryview(bytearray(size))
    pager.page_out(0, view)
    a = clock()
    pager.page_out(0, view)
    b = clock()
    pager.page_in(0, view)
    c = clock()
    found.append(((b - a) & 0x3fffffff, (c - b) & 0x3fffffff))
print(found)
"""


@dataclass(frozen=True)
class Measured:
    """One operator: seconds of a run and its floating point operations (2 per product)."""

    name: str
    seconds: float
    flop: float

    @property
    def flop_per_s(self):
        """Operations in a second."""
        return self.flop / self.seconds if self.seconds > 0 else float("inf")


def nets():
    """{name: (network, whether it trains)} of small networks, one operator each, and a step."""
    found = {}
    for name, kernel, groups in (("conv 3x3", 3, 1), ("depthwise 3x3", 3, 8), ("pointwise", 1, 1)):
        net = Builder(name, (8, 10, 10))
        found[name] = with_values(net.finish(net.conv("c", net.x, 8, kernel, groups=groups)))
    net = Builder("dense", (8, 8, 8))
    found["dense"] = with_values(net.finish(net.dense("fc", net.x, 12)))
    net = Builder("step", (4, 10, 10))
    y = net.conv("c1", net.conv("c0", net.x, 8, kernel=3), 8)
    found["training step"] = with_values(net.classify(net.pool("p", y), 4))
    return found


def with_values(graph):
    """Network of a forward graph with seeded integers, plain scales and no bias."""
    random, scales, values = np.random.default_rng(0), {}, {}
    for name, tensor in graph.tensors.items():
        if tensor.kind in ("input", "activation"):
            scales[name] = (0.04, 0)
    for node in graph.nodes:
        if node.op == "pool":
            scales[node.outputs[0]] = scales[node.inputs[0]]
        if node.op == "add":
            scales[node.outputs[0]] = (0.04, 0)
        if node.op not in ("conv", "dense"):
            continue
        if node.attrs.get("relu"):
            scales[node.outputs[0]] = (0.03, -128)
        weight, bias = node.inputs[1:3]
        shape = graph[weight].shape
        scales[weight] = scales[bias] = ((0.02,) * shape[0], 0)
        values[weight] = random.integers(-90, 90, shape).astype(np.int8)
        values[bias] = np.zeros(shape[0], np.int32)
    return Network(with_scales(graph, scales), values)


def programs():
    """[(name, Program, flop of predicting, flop of the rest of the step)]."""
    found = []
    for name, network in nets().items():
        trains = any(node.phase == "loss" for node in network.graph.nodes)
        if trains:
            step = plain_step(network.graph, full(network.graph))
        else:
            step = inference_step(network.graph, Options(in_place=False, patch_grid=1))
        unit = load("m4").compute_time(1)
        graph = step_graph(step, network, "m4").graph
        flop = {node.id: node.compute_time / unit for node in graph.nodes}
        kinds = {
            name for node in step.graph.nodes if node.phase == "forward" for name in node.outputs
        }
        forward = sum(value for node, value in flop.items() if node in kinds)
        found.append((name, encode(step, network), forward, sum(flop.values()) - forward))
    return found


def heap_bytes():
    """Bytes of a board's heap that the largest measured network takes: program and arena."""
    return max(len(p.code) + len(p.weights) + p.arena_bytes for _, p, _, _ in programs())


class Bench:
    """Runs the measurements on an open board."""

    def __init__(self, board, clock_hz=None):
        self.board = board
        self.emulated = board.emulated
        if self.emulated and board.name not in EMULATED_CLOCK_HZ:
            raise AcclimateError(f"{board.name} has no instruction clock; measure on the board")
        self.clock_hz = clock_hz or EMULATED_CLOCK_HZ.get(board.name, 0)
        board.exec(_CLOCK_EMULATED if self.emulated else _CLOCK)
        self.tick_s = 1e-6
        if self.emulated:
            hz = board.ticks()[1]
            self.tick_s = 1e9 / hz / (1 << ICOUNT_SHIFT) / self.clock_hz

    def operators(self, rounds=3, progress=None):
        """[Measured] of each operator, and of what training adds to a prediction."""
        found, wanted = [], list(programs())
        for number, (name, program, forward, backward) in enumerate(wanted):
            if progress:
                progress(f"measuring {name}", number, len(wanted))
            self.board.put_bytes(program.code + program.weights, "profile.bin")
            values = {"program": len(program.code), "rounds": rounds, "trains": backward > 0}
            times = ast.literal_eval(self._exec(_OPERATOR.format(**values)))
            # whatever else ran beside it can only have added time
            run, train = (min(column) * self.tick_s for column in zip(*times, strict=True))
            if backward:
                if train <= run:
                    raise Missing(
                        f"{self.board.name}: its clock is too coarse or too disturbed to time a"
                        " training step; measure again when it is idle, or use a shipped table"
                    )
                found.append(Measured("backward and update", train - run, backward))
            found.append(Measured(name, train if backward else run, forward + backward))
        self.board.exec("import os\nos.remove('profile.bin')")
        return found

    def _exec(self, code):
        try:
            return self.board.exec(code, 120)
        except BoardError as error:
            if "MemoryError" not in str(error):
                raise
            raise Missing(
                f"{self.board.name}: too little heap to measure; use a shipped table"
            ) from error

    def pages(self, medium, progress=None):
        """{"pageout": (latency s, bytes/s), "pagein": ...} of the page store on a medium.

        medium: a name of MEDIA, or Python that sets `medium` on the board.
        """
        if progress:
            progress("measuring the page store")
        code = _PAGES.format(medium=MEDIA.get(medium, medium), sizes=PAGE_SIZES)
        rows = ast.literal_eval(self._exec(code))
        if medium == "file":
            self.board.exec("medium.close()\nimport os\nos.remove('pages.bin')")
        found = {}
        for column, name in enumerate(("pageout", "pagein")):
            small, large = (max(row[column], 1) * self.tick_s for row in rows)
            # a clock too coarse, or a disturbance: the larger page alone
            speed = PAGE_SIZES[1] / large
            if large > 1.1 * small:
                speed = (PAGE_SIZES[1] - PAGE_SIZES[0]) / (large - small)
            found[name] = (max(0.0, small - PAGE_SIZES[0] / speed), speed)
        return found


def mean_power(text, voltage_v=None):
    """Watts: the mean over time of a power meter's CSV.

    Columns by their heads: time_s with power_w, or with current_a and voltage_v (or the argument).
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]
    heads = [head.strip().lower() for head in lines[0].split(",")] if lines else []
    if "time_s" not in heads or not {"power_w", "current_a"}.intersection(heads):
        raise AcclimateError("power CSV: expected columns time_s and power_w, or current_a")
    try:
        rows = [dict(zip(heads, map(float, line.split(",")), strict=True)) for line in lines[1:]]
    except ValueError as error:
        raise AcclimateError(f"power CSV: {error}") from None
    if "power_w" not in heads and "voltage_v" not in heads and voltage_v is None:
        raise AcclimateError("power CSV: current without a voltage; give --voltage")
    times = [row["time_s"] for row in rows]
    if len(rows) < 2 or any(b <= a for a, b in zip(times, times[1:], strict=False)):
        raise AcclimateError("power CSV: expected two or more rows with rising time_s")
    power = [
        row["power_w"] if "power_w" in row else row["current_a"] * row.get("voltage_v", voltage_v)
        for row in rows
    ]
    area = sum(
        (b - a) * (p + q) / 2
        for a, b, p, q in zip(times, times[1:], power, power[1:], strict=False)
    )
    return area / (times[-1] - times[0])


def table_text(name, title, core, kind, element_bytes, figures):
    """TOML of a cost table; figures: {dotted name: (value, source)}."""
    heads = {"name": name, "title": title, "core": core, "kind": kind}
    # JSON's texts are TOML's basic strings
    lines = [*(f"{key} = {json.dumps(text)}" for key, text in heads.items()), ""]
    lines.append(f'element_bytes = {{ value = {element_bytes}, source = "int8" }}')
    section = ""
    for key, (value, source) in figures.items():
        head, dot, last = key.rpartition(".")
        if head != section:
            section = head
            lines += ["", f"[{head}]"]
        last = last if last.isidentifier() else json.dumps(last)
        lines.append(f"{last} = {{ value = {value:.6g}, source = {json.dumps(source)} }}")
    return "\n".join(lines) + "\n"
