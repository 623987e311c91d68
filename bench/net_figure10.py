# SPDX-License-Identifier: MIT
"""Figure 10 of On-Device Training Under 256KB Memory: a step after each of its techniques.

Keys `figure10.NAME.STAGE`: instructions and arena of a training step of a published scheme with
49 KB of extra memory.

    full       all weights, plain C kernels      projected
    pruned     the scheme's weights alone        projected
    kernels    the same with the kernels here    predicted by the compiler's cost model
    fused      fused and reordered as well       counted

The projection is the paper's own: its baseline does not fit a board either, so each kind of layer
counts with the average speed of its plain kernel (`bench/native/net_ref`, counted by the same
bench), and a gradient as much as the forward kernel of its layer. No framework's overhead is in
it: interpreting a graph would come on top. The unfused step is too large for the board, so the
cost model speaks for it (key `cost_error` of the same bench).
"""

from acclimate_host.compile.choose import choose
from acclimate_host.compile.cost_model import CostModel
from acclimate_host.compile.encode import encode
from acclimate_host.compile.scheduled import plain_step
from acclimate_host.model import zoo
from acclimate_host.sparse.scheme import full, published
from bench import net_layers
from bench.net_whole import counted

NETS = {"mbv2-w0.35": "mbv2", "mcunet-5fps": "mcunet", "proxyless-w0.3": "proxyless"}
EXTRA_KIB = 49
TARGETS = [
    *[
        (f"figure10.{name}.{ratio}", None, None)
        for name in NETS.values()
        for ratio in ("speed", "memory")
    ]
]


def measure(result):
    """Add `figure10` to the result of the bench of networks, which has its plain kernels."""
    graphs = {name: zoo.backbone(name) for name in zoo.names()}
    rows = [row for row in published(graphs) if int(row.extra_kib) == EXTRA_KIB]
    plain = _plain_per_mac(result["runs"])
    result["figure10"] = {
        NETS[row.net]: _stages(graphs[row.net], row.scheme, plain) for row in rows
    }


def _plain_per_mac(runs):
    """{kind of layer: instructions of plain C for a multiply-accumulate}, on the M4F."""
    kinds = ("pointwise", "conv3x3", "depthwise", "dense")
    return {kind: runs[f"m4f.{kind}"]["plain"] / runs[f"m4f.{kind}"]["macs"] for kind in kinds}


def _stages(graph, scheme, plain):
    network = net_layers.valued(graph)
    all_of_it, pruned = plain_step(graph, full(graph)), plain_step(graph, scheme)
    unfused = encode(pruned, network)
    found = choose(network, scheme)
    stages = {
        "full": _row(_projected(graph, all_of_it, plain), encode(all_of_it, network)),
        "pruned": _row(_projected(graph, pruned, plain), unfused),
        "kernels": _row(CostModel.load("m4f").total(unfused), unfused),
        "fused": _row(counted(found.program, True), found.program),
    }
    first, last = stages["full"], stages["fused"]
    stages["speed"] = round(first["instructions"] / last["instructions"], 2)
    stages["memory"] = round(first["arena"] / last["arena"], 2)
    return stages


def _row(instructions, program):
    return {"instructions": round(instructions), "arena": program.arena_bytes}


def _projected(graph, step, plain):
    """Instructions of a step whose layers run at the average speed of plain kernels."""
    layers = {node.inputs[1].rpartition(".")[0]: node for node in graph.nodes if _weighs(node)}
    total = sum(_cost(graph, node, plain) for node in layers.values())
    for node in step.graph.nodes:
        if node.op == "input_gradient":
            total += _cost(graph, layers[node.attrs["layer"]], plain)
        if node.op == "weight_update":
            layer = layers[node.attrs["layer"]]
            part = step.graph[node.inputs[0]].shape[0] / graph[layer.inputs[0]].shape[0]
            total += part * _cost(graph, layer, plain)
    return total


def _weighs(node):
    return node.op in ("conv", "dense")


def _cost(graph, node, plain):
    weight = graph[node.inputs[1]]
    macs = graph[node.outputs[0]].elements * weight.elements // weight.shape[0]
    return macs * plain[_kind(node)]


def _kind(node):
    if node.op == "dense":
        return "dense"
    if node.attrs["groups"] > 1:
        return "depthwise"
    return "pointwise" if node.attrs["kernel"] in (1, (1, 1)) else "conv3x3"
