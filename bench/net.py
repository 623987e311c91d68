# SPDX-License-Identifier: MIT
"""Networks: instructions for a multiply-accumulate on emulated boards, against plain C.

Every number is counted by QEMU, of the module that ships and of `bench/native/net_ref` (plain C,
-O2) in the same run, for one layer with everything that belongs to it: bias, requantization,
clamp, reading the program. No cycles, no milliseconds. Outputs must be equal byte for byte.
`overhead` is what a run of the whole program costs with kernels that do nothing, as a share.
"""

import sys

from acclimate_host.compile.encode import encode
from acclimate_host.compile.program_format import code
from acclimate_host.compile.step import Options, inference_step
from acclimate_host.model.zoo import backbone
from acclimate_host.paths import repository
from bench import (
    common,
    net_backward,
    net_board,
    net_figure10,
    net_frontend,
    net_layers,
    net_whole,
)
from bench.net_layers import Shape

BOARDS = {"m4f": "nrf52840", "m0": "samd21"}
LAYERS = {
    "m4f": {
        "pointwise": Shape("pointwise", 8, 96, 96),
        "dense": Shape("dense", 1, 2048, 256),
        "conv3x3": Shape("conv3x3", 8, 32, 32),
        "depthwise": Shape("depthwise", 16, 48, 48),
        "pointwise_4x4x336": Shape("pointwise", 4, 336, 112),
        "pointwise_16x16x16": Shape("pointwise", 16, 16, 96),
        "dense_1024": Shape("dense", 1, 1024, 256),
        "dense_112": Shape("dense", 1, 112, 10),
        "conv3x3_rgb": Shape("conv3x3", 16, 3, 16),
        "depthwise_4x4x336": Shape("depthwise", 4, 336, 336),
    },
    "m0": {
        "pointwise": Shape("pointwise", 4, 48, 48),
        "dense": Shape("dense", 1, 64, 32),
        "conv3x3": Shape("conv3x3", 6, 8, 8),
        "depthwise": Shape("depthwise", 8, 16, 16),
        "pointwise32": Shape("pointwise", 8, 32, 32),
    },
}
BACKWARD = Shape("pointwise", 8, 96, 96)
TARGETS = [
    ("per_mac.m4f.pointwise", "<=", 1.2),
    ("per_mac.m4f.dense", "<=", 1.2),
    ("per_mac.m4f.conv3x3", "<=", 2),
    ("per_mac.m4f.depthwise", "<=", 4),
    ("per_mac.m4f.pointwise_backward", "<=", 2.5),
    ("per_mac.m0.pointwise", "<=", 9),
    ("ratio_ref.m4f.pointwise", ">=", 4),
    ("ratio_ref.m4f.dense", ">=", 4),
    ("ratio_ref.m4f.conv3x3", ">=", 4),
    ("ratio_ref.m4f.depthwise", ">=", 4),
    ("ratio_ref.m4f.pointwise_backward", ">=", 4),
    ("ratio_ref.m0.pointwise", None, None),
    ("overhead.mbv2", "<=", 0.03),
    ("per_mac.m4f.mbv2", None, None),
    ("per_mac.m4f.mbv2_planes16", None, None),
    ("m0.conv3x3", "<=", 10.5),
    ("m0.pointwise32", "<=", 9.5),
    ("size.armv7emsp", "<=", 10240),
    ("size.armv7emsp_train", "<=", 14336),
    ("size.armv7emsp_rare", "<=", 12288),
    ("size.armv6m", "<=", 9216),
    ("size.armv6m_dense", "<=", 10240),
    ("size.xtensawin", None, None),
    *net_backward.TARGETS,
    *net_whole.TARGETS,
    *net_figure10.TARGETS,
    *net_frontend.TARGETS,
]


def layer(result, key, name, shape, reference):
    """Count one layer, ours and plain."""
    program, parts = net_layers.forward(shape)
    steps, found = net_board.instructions(BOARDS[key], program, at_once=True)
    sizes = (program.field("input_bytes"), program.field("outputs"))
    plain, wanted = net_board.plain(BOARDS[key], shape.kind, parts, sizes, reference)
    if found[0] != wanted:
        raise SystemExit(f"{key} {name}: the outputs differ from those of plain C")
    count = steps[0][1]
    result["per_mac"][key][name] = count / shape.macs
    result["ratio_ref"][key][name] = plain / count
    result["runs"][f"{key}.{name}"] = {
        "shape": str(shape),
        "macs": shape.macs,
        "instructions": count,
        "plain": plain,
    }


def gradient(result, reference):
    """Count the gradient of a pointwise layer's input, ours and plain."""
    program = net_layers.backward(BACKWARD)
    steps, _ = net_board.instructions("nrf52840", program, training=True)
    count = max(n for op, n in steps if op == code("INPUT_GRADIENT"))
    _, parts = net_layers.forward(BACKWARD)
    layer = bytearray(parts["layer"])
    layer[-4] = 12  # the fold
    sizes = (BACKWARD.edge**2 * BACKWARD.cin, BACKWARD.edge**2 * BACKWARD.cout)
    parts = {"layer": bytes(layer), "w": parts["w"]}
    plain, _ = net_board.plain("nrf52840", "gradient", parts, sizes, reference, ratio=20000)
    result["per_mac"]["m4f"]["pointwise_backward"] = count / BACKWARD.macs
    result["ratio_ref"]["m4f"]["pointwise_backward"] = plain / count
    result["runs"]["m4f.pointwise_backward"] = {
        "shape": str(BACKWARD),
        "macs": BACKWARD.macs,
        "instructions": count,
        "plain": plain,
    }


def overhead(result):
    """Count a prediction of MobileNetV2-w0.35 at 128x128, whole and without kernels."""
    graph = backbone("mbv2-w0.35")
    network = net_layers.valued(graph)
    program = encode(inference_step(graph), network)
    wide = encode(inference_step(graph, Options(planes=16)), network)
    empty = common.build_module("net_empty", "armv7emsp")
    # Instruction by instruction: the board's clock wraps after 42 million.
    whole, hollow, faster = (
        sum(n for _, n in net_board.instructions("nrf52840", image, native=native)[0])
        for image, native in ((program, None), (program, empty), (wide, None))
    )
    macs = sum(
        graph[node.outputs[0]].elements
        * graph[node.inputs[1]].elements
        // graph[node.inputs[1]].shape[0]
        for node in graph.nodes
        if node.op in ("conv", "dense")
    )
    result["overhead"]["mbv2"] = hollow / whole
    result["per_mac"]["m4f"]["mbv2"] = whole / macs
    result["per_mac"]["m4f"]["mbv2_planes16"] = faster / macs
    result["runs"]["m4f.mbv2"] = {
        "macs": macs,
        "instructions": whole,
        "interpreter": hollow,
        "arena_bytes": program.arena_bytes,
        "code_bytes": program.code_bytes,
        "planes16": {"instructions": faster, "arena_bytes": wide.arena_bytes},
    }


def main():
    result = {
        "per_mac": {"m4f": {}, "m0": {}},
        "ratio_ref": {"m4f": {}, "m0": {}},
        "overhead": {},
        "size": {},
        "runs": {},
    }
    for arch in ("armv6m", "armv7emsp", "xtensawin", "x64"):
        path = net_board.module(arch)
        for file in path.parent.glob("_net*.mpy"):
            result["size"][arch + file.stem[4:]] = file.stat().st_size
    for key, board in BOARDS.items():
        reference = common.build_module("net_ref", net_board.ARCH[board])
        for name, shape in LAYERS[key].items():
            layer(result, key, name, shape, reference)
        if key == "m4f":
            gradient(result, reference)
    overhead(result)
    result["m0"] = {name: result["per_mac"]["m0"][name] for name in ("conv3x3", "pointwise32")}
    net_backward.measure(result)
    net_whole.measure(result)
    net_figure10.measure(result)
    net_frontend.measure(result)
    path = common.write("net", result)
    missed = common.table("Networks (instructions on emulated boards, bytes)", result, TARGETS)
    print(f"written to {path.relative_to(repository())}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
