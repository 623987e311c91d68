# SPDX-License-Identifier: MIT
"""Whole networks as the compiler chooses them: instructions, arena, and CMSIS-NN's layers.

Keys `whole.NAME`: `instructions` counted on the emulated board, `arena` in bytes, `predicted` by
the cost model, `bound` (no choice has fewer within the arena, says the model), `cmsis_ratio`:
CMSIS-NN's convolutions and dense layers alone over our whole network. `step.NAME` are training
steps, `cost_error` the largest error of the model, as a share, over all of these networks and
over plain and fused forms of the same.
"""

from acclimate_host.compile.choose import choose
from acclimate_host.compile.cost_model import CostModel
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import Options, inference_step
from acclimate_host.model import mlperf_tiny, zoo
from acclimate_host.sparse.scheme import published
from bench import net_board, net_cmsis, net_layers

BOARD = "nrf52840"
WHOLE = {
    "kws": ("kws", 16_900),
    "vww_small": ("vww", 38_200),
    "vww_fast": ("vww", 55_500),
    "resnet8": ("resnet8", 50_000),
    "autoencoder": ("autoencoder", None),
    "mbv2_predict": ("mbv2-w0.35", 62_400),
}
STEPS = {"mbv2": ("mbv2-w0.35", 99_532), "mcunet": ("mcunet-5fps", 104_000)}
OTHER_FORMS = (Options(), Options(fuse_forward=False), Options(planes=16))
TARGETS = [
    ("whole.kws.instructions", "<=", 4_950_000),
    ("whole.kws.arena", "<=", 16_900),
    ("whole.vww_small.instructions", "<=", 20_100_000),
    ("whole.vww_small.arena", "<=", 38_200),
    ("whole.vww_fast.instructions", "<=", 17_000_000),
    ("whole.vww_fast.arena", "<=", 55_500),
    ("whole.resnet8.instructions", "<=", 21_000_000),
    ("whole.mbv2_predict.instructions", "<=", 50_000_000),
    ("whole.mbv2_predict.arena", "<=", 62_400),
    *[(f"whole.{name}.cmsis_ratio", None, None) for name in WHOLE],
    ("step.mbv2.instructions", "<=", 66_000_000),
    ("step.mbv2.arena", "<=", 99_532),
    ("step.mcunet.instructions", "<=", 78_000_000),
    ("cost_error.forward", "<=", 0.05),
    ("cost_error.training", "<=", 0.05),
]


def graph_of(name):
    """Return the forward graph of a network by name."""
    if name in mlperf_tiny.names():
        return mlperf_tiny.network_graph(name)
    return zoo.backbone(name)


def counted(program, training=False):
    """Return the instructions of a program on the board."""
    steps, _ = net_board.instructions(BOARD, program, training=training)
    return sum(count for _, count in steps)


def measure(result):
    """Add `whole`, `step` and `cost_error` to the result of the bench of networks."""
    graphs = {name: graph_of(name) for name in dict.fromkeys(n for n, _ in WHOLE.values())}
    layers, source = net_cmsis.counts(graphs)
    result["whole"], result["cmsis_nn"] = {}, source
    errors = []
    for key, (name, ram) in WHOLE.items():
        found = choose(net_layers.valued(graphs[name]), ram_bytes=ram)
        row = result["whole"][key] = _row(found, counted(found.program))
        row["cmsis_ratio"] = round(layers[name] / row["instructions"], 3)
        errors.append(abs(row["predicted"] / row["instructions"] - 1))
    for graph in graphs.values():
        errors += [_error(net_layers.valued(graph), options) for options in OTHER_FORMS]
    result["step"] = {}
    training = [_step(result["step"], key, *what) for key, what in STEPS.items()]
    result["cost_error"] = {"forward": max(errors), "training": max(training)}


def _row(found, count):
    return {
        "instructions": count,
        "arena": found.arena_bytes,
        "predicted": found.instructions,
        "bound": found.bound,
    }


def _error(network, options):
    program = encode(inference_step(network.graph, options), network)
    return abs(CostModel.load("m4f").total(program) / counted(program) - 1)


def _step(rows, key, name, ram):
    """Add the training step of the 49 KB scheme; return the model's error."""
    graph = zoo.backbone(name)
    nets = {known: zoo.backbone(known) for known in zoo.names()}
    row = next(r for r in published(nets) if r.net == name and int(r.extra_kib) == 49)
    found = choose(net_layers.valued(graph), row.scheme, ram)
    count = counted(found.program, True)
    rows[key] = _row(found, count)
    return abs(found.instructions / count - 1)
