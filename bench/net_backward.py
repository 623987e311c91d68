# SPDX-License-Identifier: MIT
"""The backward pass of networks: instructions for a multiply-accumulate, emulated Cortex-M4F.

Each layer stands behind another one in a small network whose weights are trained whole; what is
counted is the instruction of the program with all that belongs to it. A dense update is counted
for one weight: its step is rounded at random. `step` is one training step of a published
backbone under its 49 KB scheme, forward and backward pass, as the compiler makes it by default.
"""

from acclimate_host.compile.encode import encode
from acclimate_host.compile.program_format import OPS, code
from acclimate_host.compile.step import Options, inference_step, training_step
from acclimate_host.model.build import Builder
from acclimate_host.model.zoo import backbone, names
from acclimate_host.sparse.scheme import Scheme, published
from bench import net_board, net_layers
from bench.net_layers import Shape

SHAPES = {
    "pointwise": (Shape("pointwise", 8, 96, 96), Shape("pointwise", 4, 336, 112)),
    "depthwise": (Shape("depthwise", 8, 96, 96), Shape("depthwise", 16, 48, 48)),
    "conv3x3": (Shape("conv3x3", 8, 32, 32), Shape("conv3x3", 16, 16, 16)),
    "dense": (Shape("dense", 1, 256, 64), Shape("dense", 1, 1024, 10)),
}
STEPS = {"mbv2": "mbv2-w0.35", "mcunet": "mcunet-5fps"}
EXTRA_KIB = 49
PLAIN = Options(fuse_forward=False, patch_grid=1)
FORWARD = [code(name) for name in ("CONV", "DEPTHWISE_IN_PLACE")]
TARGETS = [
    ("backward.pointwise_input", "<=", 2.04),
    ("backward.pointwise_weight", "<=", 2.2),
    ("backward.depthwise_input", "<=", 6),
    ("backward.depthwise_weight", "<=", 8),
    ("backward.conv3x3_input", "<=", 2.5),
    ("backward.conv3x3_weight", "<=", 3.5),
    ("backward.dense_input", "<=", 2),
    ("backward.dense_weight", "<=", 30),
    ("backward.masked_forward_ratio", "<=", 1.15),
    ("step.mbv2.instructions", "<=", 66e6),
    ("step.mbv2.arena", "<=", 99532),
    ("step.mcunet.instructions", "<=", 78e6),
    ("step.mcunet.arena", None, None),
]


def behind_another(shape):
    """Return the network of a layer of this shape behind a pointwise one."""
    edge = shape.edge if shape.kind != "dense" else 1
    net = Builder("layer", (4, edge, edge))
    y = shape.add(net, net.conv("first", net.x, shape.cin), "layer")
    graph = net.train(y) if shape.kind == "dense" else net.classify(net.pool("pool", y), 4)
    return net_layers.valued(graph)


def most(steps, names):
    """Return the instructions of the costliest step of these opcodes."""
    return max(count for op, count in steps if op in names)


def counts(shape):
    """Return {what: instructions per multiply-accumulate} of a layer, forward with its mask."""
    network = behind_another(shape)
    scheme = Scheme(1) if shape.kind == "dense" else Scheme(2, (("layer", shape.cin),))
    program = encode(training_step(network.graph, scheme, PLAIN), network)
    steps, _ = net_board.instructions("nrf52840", program, training=True)
    forward, _ = net_board.instructions(
        "nrf52840", encode(inference_step(network.graph, PLAIN), network)
    )
    return {
        "input": most(steps, [code("INPUT_GRADIENT")]) / shape.macs,
        "weight": most(steps, [code("WEIGHT_UPDATE")]) / shape.macs,
        "masked": most(steps, FORWARD) / most(forward, FORWARD),
    }


def step(name):
    """Return the instructions of a training step, by operation, and the arena's bytes."""
    graph = backbone(name)
    rows = published({net: backbone(net) for net in names()})
    row = next(r for r in rows if r.net == name and abs(r.extra_kib - EXTRA_KIB) < 1)
    program = encode(training_step(graph, row.scheme), net_layers.valued(graph))
    steps, _ = net_board.instructions("nrf52840", program, training=True)
    by = {}
    for op, count in steps:
        found = next(known.name for known in OPS if known.code == op)
        by[found] = by.get(found, 0) + count
    return {"instructions": sum(by.values()), "arena": program.arena_bytes, "by": by}


def measure(result):
    """Put the keys `backward` and `step` into the result; all shapes go to `runs`."""
    result["backward"], result["step"], ratios = {}, {}, []
    for kind, shapes in SHAPES.items():
        for shape in reversed(shapes):
            found = counts(shape)
            result["runs"][f"backward.{kind} {shape}"] = found
        for what in ("input", "weight"):
            result["backward"][f"{kind}_{what}"] = found[what]
        if kind != "dense":
            ratios.append(found["masked"])
    result["backward"]["masked_forward_ratio"] = max(ratios)
    for key, name in STEPS.items():
        result["step"][key] = step(name)
