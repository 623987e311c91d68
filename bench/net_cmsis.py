# SPDX-License-Identifier: MIT
"""Instructions of CMSIS-NN's layers on the emulated Cortex-M4F, for the networks of net_whole.

CMSIS_NN=DIR names a copy of its source (github.com/ARM-software/CMSIS-NN); it is built with the
compiler of our modules. Each layer runs alone with our values and must give our bytes. A layer
too large for the board's RAM runs on a part of its height and width; its count is scaled with
the outputs. Without CMSIS_NN the counts recorded in RECORD stand, with their date and commit.
"""

import datetime
import json
import os
import subprocess
from array import array

import numpy as np

from acclimate_host.compile.blob import LayerShape
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import Options, inference_step
from acclimate_host.model.build import Builder
from acclimate_host.model.network import clamp_limits
from acclimate_host.paths import repository
from bench import common, net_board, net_layers

RECORD = repository() / "bench" / "recorded" / "cmsis_nn.json"
BOARD = "nrf52840"
MOST = 80_000  # bytes of a layer's input and output
_CODE = """
import cmsis_ref
parts, at = [], 0
for n in {lengths}:
    parts.append(flash[at:at + n])
    at += (n + 3) // 4 * 4
x, y = pattern({input_bytes}), bytearray({outputs})
layer, w, bias, multiplier, shift = parts
n = cmsis_ref.run({kind}, layer, x, w, bias, multiplier, shift, y, b'')
work = bytearray(max(n, 16))
t = T()
status = cmsis_ref.run({kind}, layer, x, w, bias, multiplier, shift, y, work)
print([(T() - t) & 0x3fffffff, checksum(y), status])
"""


def counts(graphs):
    """Return {network: instructions of its layers}, and where that comes from."""
    folder = os.environ.get("CMSIS_NN")
    if not folder:
        recorded = json.loads(RECORD.read_text())
        return recorded["layers"], recorded["source"] | {"measured": "recorded"}
    native = common.build_module("cmsis_ref", net_board.ARCH[BOARD])
    known = {}
    layers = {name: round(_network(graph, native, known)) for name, graph in graphs.items()}
    source = {"repository": "github.com/ARM-software/CMSIS-NN", "commit": commit(folder)}
    source["date"] = datetime.date.today().isoformat()
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps({"source": source, "layers": layers}, indent=2) + "\n")
    return layers, source | {"measured": "now"}


def commit(folder):
    """Return the commit of a copy of a repository, or "unknown"."""
    command = ["git", "-C", folder, "rev-parse", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def _network(graph, native, known):
    total = 0
    for node in graph.nodes:
        if node.op in ("conv", "dense"):
            key = _key(graph, node)
            if key not in known:
                known[key] = _layer(graph, node, native)
            total += known[key]
    return total


def _key(graph, node):
    numbers = tuple(node.attrs.get(name) for name in ("kernel", "stride", "pad", "groups", "relu"))
    return (node.op, graph[node.inputs[0]].shape, graph[node.outputs[0]].shape, numbers)


def _alone(graph, node):
    """Return the graph of the layer alone, on as much of its input as the board holds."""
    cin, height, width = graph[node.inputs[0]].shape
    cout, oh, ow = graph[node.outputs[0]].shape
    while cin * height * width + cout * oh * ow > MOST:
        height, width, oh, ow = height // 2, width // 2, oh // 2, ow // 2
    net = Builder("layer", (cin, height, width))
    if node.op == "dense":
        return net.finish(net.dense("layer", net.x, cout))
    attrs = node.attrs
    y = net.conv(
        "layer",
        net.x,
        cout,
        attrs["kernel"],
        attrs["stride"],
        attrs["groups"],
        attrs["relu"],
        attrs["pad"],
        attrs.get("limit"),
    )
    return net.finish(y)


def _layer(graph, node, native):
    """Return the instructions of one layer; our bytes must come out."""
    network = net_layers.valued(_alone(graph, node))
    program = encode(inference_step(network.graph, Options(patch_grid=1)), network)
    _, (wanted, _) = net_board.instructions(BOARD, program, at_once=True)
    layer = LayerShape(network.graph, network.graph.nodes[0])
    h, w, oh, ow, top, left = layer.window
    numbers = [h, w, layer.cin, oh, ow, layer.cout, *layer.kernel, *layer.stride, top, left]
    numbers += [layer.x.zero_point, layer.y.zero_point, *clamp_limits(network.graph, layer.node)]
    parts = net_layers.plain(network)
    parts["layer"] = array("i", numbers).tobytes()
    parts["shift"] = np.frombuffer(parts["shift"], "i1").astype("<i4").tobytes()
    kind = 2 if node.op == "dense" else 1 if layer.depthwise else 0
    names = {
        "lengths": [len(part) for part in parts.values()],
        "input_bytes": layer.x.elements,
        "outputs": layer.y.elements,
        "kind": kind,
    }
    data = b"".join(part + bytes(-len(part) % 4) for part in parts.values())
    (ticks, found, status), per_tick = net_board.run(BOARD, data, [native], _CODE, names)
    if status or found != wanted:
        raise SystemExit(f"{node.attrs['layer']}: CMSIS-NN's status {status}, or other bytes")
    whole = graph[node.outputs[0]].elements
    return ticks * per_tick * whole / layer.y.elements
