# SPDX-License-Identifier: MIT
"""Fits the cost model of the network kernels to counts of the emulated boards.

    python -m bench.net_costs    # some minutes; writes host/acclimate_host/data/kernel_costs.json

Layers of seeded shapes, alone and fused, and small networks with their training steps are
counted instruction by instruction; a non-negative least squares fit of relative errors gives
instructions for each feature. Whole networks take no part in the fit: bench/net_whole.py
checks the model with them.
"""

import json
import random
import sys

import numpy as np

from acclimate_host.compile.cost_model import CORES, FILE, features, layer_cost
from acclimate_host.compile.encode import encode
from acclimate_host.compile.instructions import read_code, split_program
from acclimate_host.compile.step import Options, inference_step, training_step
from acclimate_host.errors import BoardError
from acclimate_host.model.build import Builder
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import Network, with_scales
from acclimate_host.model.small import inverted_residual
from acclimate_host.paths import repository
from acclimate_host.sparse.scheme import Scheme, full, last_layers
from bench import net_board, net_layers

BOARDS = {"m4f": "nrf52840", "m0": "samd21"}
# Edge, channels in and out, kernel and stride of layers whose training is counted.
BACKWARD = {
    "m4f": (
        (8, 32, 64, 1, 1),
        (4, 96, 24, 1, 1),
        (4, 40, 112, 1, 1),
        (8, 24, 16, 3, 1),
        (8, 16, 16, 3, 2),
        (16, 24, 24, "depthwise", 1),
        (8, 64, 64, "depthwise", 2),
        (4, 160, 160, "depthwise", 1),
        (6, 24, 24, 5, 1),
    ),
    "m0": ((4, 8, 8, 1, 1), (4, 8, 8, "depthwise", 1)),
}
MOST = {"m4f": 14_000, "m0": 3_000}  # elements of one tensor
LAYERS = {"m4f": 96, "m0": 48}


def rows(core, program, training=False):
    """Return [(operation, features, instructions counted)] of a program on a board."""
    forward, behind, constants = split_program(program)
    code = forward + behind if training else forward
    counted, _ = net_board.instructions(BOARDS[core], program, training=training)
    found = []
    # A PITCH is counted with the convolution behind it.
    read = [i for i in read_code(code) if i.op != "PITCH"]
    for instruction, (_, count) in zip(read, counted, strict=True):
        made = features(
            CORES[core], instruction, lambda number: layer_cost(constants, number), training
        )
        found.append((instruction.op, made, count))
    return found


def layers(core):
    """Yield programs of seeded layers, alone and in pairs."""
    choose = random.Random(7)
    for number in range(LAYERS[core]):
        edge = choose.choice((1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32))
        most = max(2, MOST[core] // (edge * edge))
        cin = min(choose.choice((1, 2, 3, 8, 13, 24, 32, 48, 64, 100, 160)), most)
        cout = min(choose.choice((4, 8, 10, 16, 24, 32, 48, 64, 96)), most)
        kernel = choose.choice((1, 1, 3, 3, 5, (3, 1), (2, 4), (10, 4), 7))
        stride = choose.choice((1, 1, 2))
        relu = choose.choice((True, False))
        if 2 * cin * cout * edge * edge > 40_000_000:
            continue
        net = Builder("layer", (cin, edge, edge))
        y = net.x
        options = Options(patch_grid=1)
        kind = number % 6
        if kind == 0:
            y = net.dense("c", y, cout)
        elif kind == 1:
            y = net.conv("c", y, cout, kernel, stride, relu=relu)
        elif kind == 2:
            y = net.conv("c", y, cin, choose.choice((3, 5)), stride, cin, relu=relu)
        elif kind == 3:
            y = net.conv("c", y, cout, kernel, relu=relu)
            y = net.conv("d", y, cout, choose.choice((3, 5)), stride, cout, relu=relu)
            options = Options(planes=choose.choice((4, 8, 12, 16)), patch_grid=1)
        elif kind == 4:
            y = net.conv("c", y, cout, relu=relu)
            y = net.add("a", y, net.conv("d", y, cout, kernel=choose.choice((1, 3)), relu=False))
            options = Options(fuse_forward=choose.choice((True, False)), patch_grid=1)
        else:
            y = net.conv("c", y, cout, relu=relu)
            y = net.conv("d", y, cout, choose.choice((3, 5)), stride, cout, relu=relu)
            y = net.conv("e", y, cout, relu=False)
            if edge > 3:
                y = net.sliding_pool(choose.choice(("average_pool", "max_pool")), "p", y, 2, 2)
            options = Options(
                fuse_forward=False, in_place=choose.choice((True, False)), patch_grid=1
            )
        network = net_layers.valued(net.finish(y))
        yield encode(inference_step(network.graph, options), network), False
    yield from _tall(core)
    yield from _steps(core)
    yield from _rare(core)
    yield from _recurrent(core)
    yield from _svdf(core)


def _tall(core):
    """Yield programs of first layers whose kernels are tall and have few bytes a row."""
    if core != "m4f":
        return
    for kernel, edges, outputs in (((10, 4), (49, 10), 24), ((8, 2), (20, 12), 16)):
        for planes in (0, 4, 8):
            net = Builder("tall", (1, *edges))
            y = net.conv("c", net.x, outputs, kernel, 2)
            if planes:
                y = net.conv("d", y, outputs, 3, groups=outputs)
            network = net_layers.valued(net.finish(y))
            options = Options(planes=planes or 4, patch_grid=1)
            yield encode(inference_step(network.graph, options), network), False


def _steps(core):
    """Yield programs of small training steps."""
    shapes = ((1, 16, 16), (3, 12, 12), (2, 20, 1)) if core == "m4f" else ((1, 8, 8),)
    for shape in shapes:
        graph = inverted_residual("small", shape, 10, *(() if core == "m4f" else (4,)))
        network = net_layers.valued(graph)
        parts = Scheme(5, (("c6", 8), ("c7", 12), ("c9", 24)))
        for scheme in (full(graph), last_layers(graph, 4), parts):
            for options in (Options(), Options(fuse_forward=False)):
                yield encode(training_step(graph, scheme, options), network), True
    for edge, cin, cout, kernel, stride in BACKWARD[core]:
        net = Builder("layer", (4, edge, edge))
        y = net.conv("c0", net.x, cin)
        groups = cin if kernel == "depthwise" else 1
        y = net.conv("c1", y, cout, 3 if kernel == "depthwise" else kernel, stride, groups)
        network = net_layers.valued(net.classify(net.pool("p", y), 10))
        yield encode(training_step(network.graph, last_layers(network.graph, 2)), network), True


def _with_tables(graph):
    """Return a seeded network whose tables turn values around; all have one scale."""
    network = net_layers.valued(graph)
    tables = {n.inputs[1] for n in graph.nodes if n.op == "lookup"}
    values = {**network.values, **dict.fromkeys(tables, np.arange(127, -129, -1, np.int8))}
    scales = dict.fromkeys(tables, (6 / 255, -128))
    return Network(with_scales(network.graph, scales), values)


def _recurrent(core):
    """Yield programs of recurrent layers."""
    random = np.random.default_rng(3)
    for rows, numbers, units in ((6, 8, 12), (12, 20, 6), (3, 32, 24))[
        : 3 if core == "m4f" else 1
    ]:
        net = Builder("recurrent", (numbers, rows, 1))
        scales = (0.01, 0.02, 0.01, 0.02)
        attrs = {"scales": scales, "again_scales": scales, "cell_power": -12, "clip": 32767}
        network = net_layers.valued(net.finish(net.lstm("l", net.x, units, **attrs)))
        shapes = {name: network.graph[name].shape for name in ("l.wi", "l.wr")}
        values = {
            n: random.integers(-127, 128, shape).astype(np.int8) for n, shape in shapes.items()
        }
        values["l.b"] = random.integers(-3000, 3000, 4 * units).astype(np.int32)
        values["l.h"] = np.zeros((units, 1, 1), np.int8)
        values["l.c"] = np.zeros((units, 1, 1), np.int16)
        graph = with_scales(network.graph, {"l.h": (6 / 255, -128)})
        yield encode(inference_step(graph), Network(graph, values)), False


def _svdf(core):
    """Yield programs of recurrent layers over all of their input."""
    random = np.random.default_rng(3)
    shapes = ((8, 12, 1, 8), (40, 6, 2, 3), (16, 32, 1, 32), (96, 16, 1, 8), (3, 9, 3, 16))
    for number, (inputs, units, rank, memory) in enumerate(shapes):
        kind = ("int16", "int8")[number % 2]
        net = Builder("svdf", (inputs, 1, 1))
        graph = net.finish(net.svdf("s", net.x, units, rank, memory, kind))
        known = {"s.wf": (0.01, 0), "s.wt": (0.01, 0), "s.s": (0.01, 0)}
        graph = with_scales(net_layers.valued(graph).graph, known)
        values = {
            name: random.integers(-99, 99, t.shape).astype(t.dtype)
            for name, t in graph.tensors.items()
            if t.kind in ("frozen", "state")
        }
        yield encode(inference_step(graph), Network(graph, values)), False


def _rare(core):
    """Yield programs of the rarer instructions, forward and in training."""
    shapes = ((6, 5, 4), (16, 8, 8), (24, 12, 1), (40, 3, 3)) if core == "m4f" else ((6, 4, 3),)
    for number, shape in enumerate(shapes):
        channels, height, width = shape
        net = Builder("rare", (3, height, width))
        y = net.lookup("f", net.conv("c0", net.x, channels, relu=False), "silu")
        gate = net.lookup("g", net.conv("c1", net.pool("p", y), channels, relu=False), "sigmoid")
        y = net.multiply("m1", net.multiply("m0", y, gate), y)
        large = net.resize("r", y, (2, 1))
        turned = np.arange(2 * channels * height * width).reshape(2 * height, width, channels)
        back = net.gather("t", large, turned[::-1].ravel(), (channels, 2 * height, width))
        y = net.norm("n", net.concat("j", [large, back]))
        y = net.conv("c2", y, 4, relu=False)
        network = _with_tables(net.finish(net.dense("fc", y, 10)))
        yield encode(inference_step(network.graph), network), False
        trained = with_loss(network, ("mse", "binary", "cross-entropy", "mse")[number])
        yield encode(training_step(trained.graph, last_layers(trained.graph, 3)), trained), True


def _attention(core):
    """Yield programs of attention, forward and in training."""
    shapes = ((6, 6, 4, 4, 1), (16, 16, 8, 8, 2), (24, 10, 16, 12, 1), (12, 32, 6, 24, 3))
    for rows, columns, n, m, heads in shapes if core == "m4f" else shapes[:1]:
        net = Builder("attention", (3, rows, 1))
        other = net.gather("o", net.x, np.arange(3 * columns) % (3 * rows), (3, columns, 1))
        k, v = (net.conv(f"c{i}", other, size * heads) for i, size in enumerate((n, m)))
        y = net.attention("t", net.conv("c2", net.x, n * heads), k, v, heads)
        network = net_layers.valued(net.finish(net.dense("fc", net.pool("p", y), 10)))
        yield encode(inference_step(network.graph), network), False
        trained = with_loss(network, "cross-entropy")
        yield encode(training_step(trained.graph, full(trained.graph)), trained), True


def fit(samples):
    """Return {feature: instructions} that fit [(operation, features, count)]."""
    from scipy.optimize import nnls

    names = sorted({name for _, made, _ in samples for name in made})
    matrix = np.array([[made[name] for name in names] for _, made, _ in samples], float)
    counts = np.array([count for _, _, count in samples], float)
    weight = 1 / np.maximum(counts, 300)
    scale = np.maximum((matrix * weight[:, None]).max(axis=0), 1e-12)
    found, _ = nnls(matrix * weight[:, None] / scale, counts * weight, maxiter=20 * len(names))
    return {name: float(f"{c / s:.5g}") for name, c, s in zip(names, found, scale, strict=True)}


def counted(core, programs):
    """Yield the rows of programs, without those that a board has no room for."""
    for program, training in programs:
        try:
            yield from rows(core, program, training)
        except BoardError as error:
            print(f"{core}: left out: {error}")


def main():
    result = {"unit": "instructions", "source": "bench/net_costs.py on emulated boards"}
    result["cores"] = {}
    for core, board in BOARDS.items():
        samples = list(counted(core, layers(core)))
        # The layers around them are like others, and would count twice.
        found = counted(core, _attention(core))
        samples += [row for row in found if row[0].startswith("ATTENTION")]
        result["cores"][core] = {
            "board": board,
            "counted": len(samples),
            "instructions": fit(samples),
        }
    path = repository() / "host" / "acclimate_host" / "data" / FILE
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"wrote {path.relative_to(repository())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
