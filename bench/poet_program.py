# SPDX-License-Identifier: MIT
"""What a schedule costs in the program: its bytes, and the instructions of the interpreter.

ResNet-18 of the CIFAR kind (widths 16, 32, 64; batch normalisation folded), int8, of each layer
a quarter trained, on 16x16 images so that the step without a schedule fits the emulated nRF52840
too; the code has the same length for any image. `overhead`: reading the added instructions, as
a share of the step; what they make happen (layers that run again, pages) is the plan's own cost
and is not in it. `load`: what making the Net costs (its checks and the copy of the weights), and
what the schedule adds to that. `encode_seconds` is this computer's, for the whole program.
`overhead_with_load` counts both as if each step loaded its program anew.
"""

import ast
import time

from acclimate_host.compile.encode import encode
from acclimate_host.compile.program_format import code
from acclimate_host.compile.scheduled import plain_step
from acclimate_host.model.build import Builder
from acclimate_host.poet.fit import fit
from acclimate_host.poet.measure import with_values
from acclimate_host.sparse.scheme import Scheme

_LOAD = """
import gc, qboard
from acclimate import _native
import _net, _net_train
_native.register('net', _net)
_native.register('net_train', _net_train)
from acclimate.net import Net
flash = memoryview(qboard.Flash({at}, {whole} + -{whole} % 4096))
program, weights = flash[:{program}], flash[{program}:{whole}]
arena = bytearray({arena})
class Pages:
    page_out = page_in = None
gc.collect()
t = qboard.ticks()
net = Net(program, weights, arena, seed=1, pager=Pages())
print((qboard.ticks() - t) & 0x3fffffff)
"""
WIDTHS = ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1))


def resnet18(edge=16, classes=10):
    """Network of the CIFAR kind with seeded values."""
    net = Builder("resnet18", (3, edge, edge))
    y = net.conv("c0", net.x, 16, kernel=3)
    for i, (width, stride) in enumerate(WIDTHS):
        body = net.conv(f"b{i}a", y, width, kernel=3, stride=stride)
        body = net.conv(f"b{i}b", body, width, kernel=3, relu=False)
        side = net.conv(f"b{i}s", y, width, kernel=1, stride=stride, relu=False)
        y = net.add(f"b{i}", body, side)
    return with_values(net.classify(net.pool("p", y), classes))


def quarter(graph):
    """Every bias, and of each layer's weights a quarter of the input channels."""
    layers = [node for node in graph.nodes if node.op == "conv"]
    counts = [(n.attrs["layer"], max(1, graph[n.inputs[1]].shape[1] // 4)) for n in layers]
    return Scheme(len(layers), tuple(counts))


def measure(share=0.6, seconds=60):
    """{"plain_bytes", "added_bytes", "arena", ...}; instructions where the board runs here."""
    network = resnet18()
    scheme = quarter(network.graph)
    plain = encode(plain_step(network.graph, scheme), network)
    always = plain.field("weights_bytes") + plain.field("kept_bytes")
    ram = int(always + share * (plain.arena_bytes - always))
    found = fit(network, scheme, ram, time_limit=seconds, gap=1e-3)
    began = time.perf_counter()
    encode(plain_step(network.graph, scheme), network)
    seconds = time.perf_counter() - began
    kinds = [kind for kind, _ in found.answer.plan]
    result = {
        "plain_code_bytes": plain.code_bytes,
        "added_bytes": found.added_bytes,
        "plain_arena_bytes": plain.arena_bytes,
        "arena_bytes": found.program.arena_bytes,
        "computed_again": kinds.count("compute") - len(found.graph.nodes),
        "pages_out": kinds.count("pageout"),
        "pages_in": kinds.count("pagein"),
        "encode_seconds": round(seconds, 3),
    }
    result.update(_instructions(plain, found.program))
    return result


def _instructions(plain, program):
    from acclimate_host.connect import why_not
    from bench import net_board

    if why_not("nrf52840") or not net_board.module("armv7emsp").exists():
        return {"overhead": None, "reason": "the emulated nRF52840 does not run here"}
    before = net_board.instructions("nrf52840", plain, training=True)[0]
    after = net_board.instructions("nrf52840", program, training=True)[0]
    pages = {code(name) for name in ("PAGE_OUT", "PAGE_KEEP", "PAGE_IN")}
    cost = [count for op, count in after if op in pages]
    total = sum(count for _, count in after)
    # an instruction that only returns to its caller costs what reading one costs
    each = max(cost) if cost else min(count for _, count in after)
    added = len(after) - len(before)
    load = [_load(p) for p in (plain, program)]
    more = max(0, load[1] - load[0])
    return {
        "instructions_plain": sum(count for _, count in before),
        "instructions": total,
        "added_instructions": added,
        "reading_one": each,
        "overhead": added * each / total,
        "load_instructions_plain": load[0],
        "load_instructions": load[1],
        "load": more / total,
        "overhead_with_load": (added * each + more) / total,
    }


def _load(program):
    """Instructions in which the emulated board makes a Net of a program in its flash."""
    from acclimate_host.connect import open_board, package, raw_flash
    from bench import net_board

    blob = program.code + program.weights
    names = {
        "at": raw_flash.START["nrf52840"],
        "program": len(program.code),
        "whole": len(blob),
        "arena": program.arena_bytes,
    }
    with open_board("nrf52840", icount=net_board.SHIFT) as board:
        natives = net_board.modules("armv7emsp")
        for path in natives:
            board.put_bytes(path.read_bytes(), "/" + path.name)
        board.mkdir("/lib/acclimate")
        for file, data in package.build("armv7emsp", ["net"]).items():
            if file not in [path.name for path in natives]:
                board.put_bytes(data, f"/lib/acclimate/{file}")
        raw_flash.write(board, "nrf52840", blob)
        board.soft_reset()
        ticks = ast.literal_eval(board.exec(_LOAD.format(**names), 240).splitlines()[-1])
        return round(ticks * 1e9 / board.ticks()[1] / (1 << net_board.SHIFT))
