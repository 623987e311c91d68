# SPDX-License-Identifier: MIT
"""Networks on the C core: training, and programs with any byte changed; run by tools/sanitized.sh.

A wrong memory access or undefined arithmetic ends the process with a report.
usage: python sanitized_net.py LIBRARY SEED [ROUNDS]
"""

import random
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "host"))

import net_cases as cases  # noqa: E402
import net_vectors_source as vectors  # noqa: E402
import numpy as np  # noqa: E402

from acclimate_host.compile.emit import number  # noqa: E402
from acclimate_host.compile.encode import encode  # noqa: E402
from acclimate_host.compile.instructions import read_code  # noqa: E402
from acclimate_host.compile.program_format import HEADER, STATE  # noqa: E402
from acclimate_host.compile.step import inference_step  # noqa: E402
from acclimate_host.model.build import Builder  # noqa: E402
from acclimate_host.paths import repository  # noqa: E402
from acclimate_host.sparse.scheme import Scheme, full  # noqa: E402
from acclimate_host.twin import net as twin_net  # noqa: E402

# The Makefile's FAST: kernels of the backward pass that no module of a small board has.
FAST = ("gradient_fast.c", "weights_fast.c", "sums.c")


def arena_of(program):
    arena, at = bytearray(program.arena_bytes), program.field("weights")
    arena[at : at + len(program.weights)] = program.weights
    state = program.field("state")
    mantissa, exponent = cases.RATE
    values = {
        "seed": 5,
        "rate_mantissa": mantissa,
        "rate_exponent": exponent,
        "momentum": 230,
        "move": 1,
    }
    for name, value in values.items():
        where = state + STATE.offset(name)
        arena[where : where + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")
    return arena


def run(core, program, code, arena, x, label=0):
    end = program.field("forward") + program.field("training")
    par = array("i", [0, end, label, 1, 1 << 29, 0, 0, 0, 0])
    status = 2
    while status == 2:  # a page: nobody answers it here
        status = core.run(code, arena, x, par)
    return status


def graph_of(seed):
    """Every third network has pools between its layers."""
    return cases.trained_net(seed) if seed % 3 else cases.pooled_net(seed)


def trains(core, seed, draw):
    graph = graph_of(seed)
    scheme = draw.choice(cases.schemes(graph)) if seed % 3 else full(graph)
    options = {"fuse_forward": draw.random() < 0.5, "in_place": draw.random() < 0.5}
    step = cases.step_of(graph, scheme, **options)
    program = encode(step, cases.values_for(graph, seed), draw.choice(cases.OPTIMIZERS))
    arena, generator = arena_of(program), np.random.default_rng(seed)
    for _ in range(3):
        x = cases.stored(cases.sample(graph, generator))
        assert run(core, program, program.code, arena, x, 1) == 0
    return program, x


def predicts(core, seed):
    graph = cases.predicting_net(seed)
    program = encode(inference_step(graph), cases.values_for(graph, seed))
    x = cases.stored(cases.sample(graph, np.random.default_rng(seed)))
    assert run(core, program, program.code, arena_of(program), x) == 0
    return program, x


def survives(core, program, x, draw):
    """Operands of any value: a fault, or a result, but nothing outside the buffers."""
    constants = program.field("constants")
    for _ in range(25):
        code = bytearray(program.code)
        for _ in range(draw.randint(1, 4)):
            code[draw.randrange(HEADER.bytes, constants)] = draw.randrange(256)
        run(core, program, bytes(code), arena_of(program), x)


def attends(core, seed):
    """Attention in training, of two rows to one or three."""
    net = Builder("attends", (4, 3, 1))
    rows = net.sliding_pool("max_pool", "r", net.x, (2, 1), 1)
    other = net.x if seed % 2 else net.pool("p", net.x)
    parts = zip("qkv", (rows, other, other), strict=True)
    y = net.attention("t", *(net.conv(name, x, 4, relu=False) for name, x in parts))
    graph = net.classify(y, 3)
    program = encode(cases.step_of(graph, full(graph)), cases.values_for(graph, seed))
    x = cases.stored(cases.sample(graph, np.random.default_rng(seed)))
    assert run(core, program, program.code, arena_of(program), x, 1) == 0
    return program, x


def remembers(core, made):
    """Layers whose state goes on from call to call."""
    network, random = made()
    program = encode(inference_step(network.graph), network)
    x, arena = cases.stored(cases.sample(network.graph, random)), arena_of(program)
    for _ in range(3):
        assert run(core, program, program.code, arena, x) == 0
    return program, x


def overlaps_stay_inside(core, program, x):
    """Where an instruction works may be what it reads or writes: numbers change under it."""
    end = HEADER.bytes + program.field("forward") + program.field("training")
    for instruction in read_code(program.code[HEADER.bytes : end]):
        at, values = HEADER.bytes + instruction.at + 1, instruction.operands.values()
        # 24 bytes behind an attention's work lies the sum of its second row, of one column.
        others = {number(v // part + more) for v in values for part in (1, 2) for more in (0, 24)}
        for name, value in instruction.operands.items():
            size = len(number(value))
            for other in others:
                code = bytearray(program.code)
                if name in ("work", "y", "g") and len(other) == size:
                    code[at : at + size] = other
                    run(core, program, bytes(code), arena_of(program), x, 1)
            at += size


def small_stays_inside(core, seed):
    """The module of small boards checks no operand; what the compiler writes needs none."""
    graph, generator = graph_of(seed), np.random.default_rng(seed)
    network, x = cases.values_for(graph, seed), cases.stored(cases.sample(graph, generator))
    for scheme in (Scheme(2), Scheme(0)):  # biases, and the classifier alone
        program = encode(cases.step_of(graph, scheme), network)
        assert run(core, program, program.code, arena_of(program), x, 1) == 0


def address_only(folder, definitions=(), without=()):
    """Build the core with AddressSanitizer alone.

    definitions: for the compiler; without: files of the core that this build has no use for.
    Damaged constants make shifts and sums of any size, which give wrong numbers and no more.
    """
    name = "net" + "".join(definitions) + ".so"
    source, target = repository() / "native_modules" / "net", Path(folder) / name
    files = [file for file in source.glob("*.c") if not file.name.endswith("_mod.c")]
    files = [file for file in files if file.name not in without]
    flags = "-std=c99 -O1 -g -fsanitize=address -ffp-contract=off -shared -fPIC".split()
    subprocess.run(["gcc", *flags, *definitions, *files, "-o", target, "-lm"], check=True)
    return twin_net.load(target)


def main(library, seed, rounds=8):
    core, draw = twin_net.load(Path(library)), random.Random(int(seed))
    with tempfile.TemporaryDirectory() as folder:
        addresses, small = address_only(folder), address_only(folder, ["-DNET_SMALL"], FAST)
        for i in range(int(rounds)):
            for program, x in (trains(core, 10 * int(seed) + i, draw), predicts(core, i)):
                survives(addresses, program, x, draw)
            program, x = attends(core, i)
            survives(addresses, program, x, draw)
            overlaps_stay_inside(addresses, program, x)
            for made in (vectors.recurrent, vectors.svdf):
                survives(addresses, *remembers(core, made), draw)
            small_stays_inside(small, 10 * int(seed) + i)
    print("clean")


if __name__ == "__main__":
    main(*sys.argv[1:])
