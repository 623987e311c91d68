# SPDX-License-Identifier: MIT
"""``acclimate show``: a network's training step as text and drawing, its memory, its arena."""

from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

from acclimate_host.commands import check_output, check_picture, table
from acclimate_host.commands.model_files import array, channels_of, imported
from acclimate_host.compile.arena import live_bytes
from acclimate_host.compile.choose import choose, described
from acclimate_host.compile.cost_model import CORES, CostModel
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import Options, inference_step, training_step
from acclimate_host.errors import AcclimateError
from acclimate_host.model import mlperf_tiny, text, zoo
from acclimate_host.model.coarse import MOST as MOST_STEPS
from acclimate_host.model.coarse import coarse_note
from acclimate_host.model.layer_errors import layer_errors
from acclimate_host.model.losses import with_loss
from acclimate_host.model.seeded import seeded_network
from acclimate_host.plots.graph import graph_picture
from acclimate_host.poet.inputs import amount
from acclimate_host.sparse.memory import extra_memory
from acclimate_host.sparse.scheme import Scheme, full, last_layers, published

BOARDS = {"m4f": "nrf52840", "m0": "samd21"}  # emulated ones of a core
MOST_CLASSES = 65535
MOST_PATCHES = 100  # along an edge; a larger input than these boards hold


def add_arguments(parser):
    parser.add_argument(
        "net",
        help="a .onnx or .tflite file, or one of "
        + ", ".join((*zoo.names(), *mlperf_tiny.names())),
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--published", type=float, metavar="KIB", help="train by the scheme of this extra memory"
    )
    which.add_argument("--last", type=int, metavar="N", help="train the last N convolutions")
    which.add_argument("--biases", type=int, metavar="N", help="train the last N biases")
    which.add_argument("--full", action="store_true", help="train everything")
    parser.add_argument(
        "--channels",
        action="append",
        default=[],
        metavar="LAYER:COUNT",
        help="besides --biases: train so many input channels of a layer; may be repeated",
    )
    parser.add_argument("--classes", type=int, default=10, help="of the classifier (10)")
    parser.add_argument("--patches", type=int, default=2, help="per edge above 32x32 (2)")
    parser.add_argument(
        "--ram", metavar="BYTES", help="show the fastest program within an arena of so many bytes"
    )
    parser.add_argument(
        "--core", choices=CORES, help="predict the instructions of this core, by operation"
    )
    parser.add_argument(
        "--count", action="store_true", help="and count them on the emulated board of the core"
    )
    parser.add_argument(
        "--errors",
        metavar="FILE",
        help="int8 against float on these samples (.npy), layer by layer, the worst first",
    )
    parser.add_argument(
        "--ranges", metavar="FILE", help="with --errors: draw the channels' ranges, .svg or .png"
    )
    parser.add_argument("--nodes", action="store_true", help="print every node")
    parser.add_argument("-o", "--out", metavar="FILE", help="draw the graph, as .svg")
    parser.add_argument("--arena", metavar="FILE", help="draw the arena, as .svg or .png")


def run(args):
    if not 1 <= args.classes <= MOST_CLASSES or not 1 <= args.patches <= MOST_PATCHES:
        raise AcclimateError(
            f"--classes {args.classes}, --patches {args.patches}: expected 1 or more, at most "
            f"{MOST_CLASSES} classes and {MOST_PATCHES} patches"
        )
    if args.ranges and not args.errors:
        raise AcclimateError("--ranges: expected --errors FILE with it")
    check_picture("ranges", args.ranges)
    check_output(args.out)
    check_picture("arena", args.arena)
    if args.errors:
        _errors(args)
        return
    network = _network(args)
    graph = network.graph
    scheme = _scheme(args, graph)
    step = _step(args, network, scheme)
    print(text.dump(step.graph, None if args.nodes else 0))
    args.result = memory = _memory(graph, scheme, step)
    most = f"most that lives at once: node {memory['most_node']}, {memory['most_op']}"
    rows = [
        (what, f"{memory[key]:,}")
        for key, what in (
            ("extra_bytes", "extra, as published tables count it"),
            ("arena_bytes", "arena (the input stays with the caller)"),
            ("most_bytes", most),
        )
        if key in memory
    ]
    table(rows, ("memory", "bytes"))
    if args.core or args.count:
        counts = _instructions(args, network, step, scheme is not None)
        args.result["instructions"] = counts
        rows = [(op, *(f"{count:,}" for count in row.values())) for op, row in counts.items()]
        heads = ("predicted, " + (args.core or "m4f"), "counted")
        table(rows, ("operation", *heads[: len(rows[0]) - 1]))
    if args.out:
        graph_picture(Path(args.out), step.graph, f"{Path(args.net).name}: one step")
        print(f"drawn in {args.out}")
    if args.arena:
        from acclimate_host.plots.arena import arena_map

        arena_map(Path(args.arena), step, f"{args.net}: one arena over one step")
        print(f"drawn in {args.arena}")


def _errors(args):
    """Print how much noise int8 adds in each layer."""
    if Path(args.net).suffix not in (".onnx", ".tflite"):
        raise AcclimateError(f"--errors: expected a float .onnx or .tflite file, got {args.net}")
    rows = layer_errors(imported(args.net), array(args.errors))
    cells = [
        (r.layer, r.op, f"{r.own_db:.1f}", f"{r.total_db:.1f}", f"{r.low:.2%}", f"{r.high:.2%}")
        for r in rows
    ]
    table(cells, ("layer", "operator", "own dB", "so far dB", "at -128", "at 127"))
    args.result = {"layers": [asdict(row) for row in rows]}
    print(f"most noise of its own: {rows[0].layer}")
    for row in rows:
        if row.worth > MOST_STEPS:
            print(f"note: {coarse_note(row.layer, row.worth)}")
    if args.ranges:
        from acclimate_host.plots.ranges import channel_ranges

        channel_ranges(Path(args.ranges), rows, f"{Path(args.net).name}: ranges of the channels")
        print(f"drawn in {args.ranges}")


def _network(args):
    """Return the network of a file, or a known net with values of its own.

    It has a loss where something trains.
    """
    if Path(args.net).suffix in (".onnx", ".tflite"):
        network = imported(args.net)
        if not network.quantized:
            network = replace(seeded_network(network.graph), notes=network.notes)
    elif args.net in mlperf_tiny.names():
        network = seeded_network(mlperf_tiny.network_graph(args.net))
    else:
        network = seeded_network(zoo.backbone(args.net, args.classes))
    trains = args.full or args.last is not None or args.biases is not None
    return with_loss(network) if trains else network


def _step(args, network, scheme):
    """Return the Step that is shown: the choice within --ram, or whole patches as asked for."""
    if args.ram is not None:
        found = choose(network, scheme, amount(args.ram), core=args.core or "m4f")
        print(described(found.step))
        return found.step
    options = Options(patch_grid=args.patches)
    if scheme is None:
        return inference_step(network.graph, options)
    return training_step(network.graph, scheme, options)


def _instructions(args, network, step, trains):
    """Return {operation: {"predicted": instructions, "counted": a board's}}, most first."""
    core = args.core or "m4f"
    program = encode(step, network)
    predicted, counted = Counter(), Counter()
    names = {}
    for instruction, count in CostModel.load(core).program(program, trains):
        names[instruction.at] = instruction.op
        predicted[instruction.op] += count
    if args.count:
        from acclimate_host.connect.count_network import instructions

        for at, count in instructions(BOARDS[core], program, trains)[0]:
            # What PITCH prepares is counted with it.
            at = at if names[at] != "PITCH" else min(n for n in names if n > at)
            counted[names[at]] += count
    found = {op: _counts(args, count, counted[op]) for op, count in predicted.most_common()}
    found.pop("PITCH", None)
    return found | {"all": _counts(args, sum(predicted.values()), sum(counted.values()))}


def _counts(args, predicted, counted):
    return {"predicted": round(predicted)} | ({"counted": counted} if args.count else {})


def _scheme(args, graph):
    """Return the scheme that the arguments name, or None to predict only."""
    if args.channels and args.biases is None:
        raise AcclimateError("--channels goes with --biases N: the biases from the layer on")
    if args.full:
        return full(graph)
    if args.biases is not None:
        return Scheme(args.biases, channels_of(args.channels))
    if args.last is not None:
        if not 0 <= args.last <= len(zoo.convolutions(graph)):
            raise AcclimateError(
                f"--last {args.last}: {args.net} has {len(zoo.convolutions(graph))} convolutions"
            )
        return last_layers(graph, args.last)
    if args.published is None:
        return None
    if args.net not in zoo.names():
        raise AcclimateError("--published is for " + ", ".join(zoo.names()))
    known = [
        row for row in published({n: zoo.backbone(n) for n in zoo.names()}) if row.net == args.net
    ]
    for row in known:
        if row.extra_kib == args.published:
            return row.scheme
    choice = ", ".join(str(row.extra_kib) for row in known)
    raise AcclimateError(f"no scheme of {args.published} KiB for {args.net}; there are {choice}")


def _memory(graph, scheme, step):
    """Return bytes by what they are, and at which node most live at once."""
    live = live_bytes(step.buffers, len(step.graph.nodes))
    at = live.index(max(live))
    extra = {} if scheme is None else {"extra_bytes": extra_memory(graph, scheme).total_bytes}
    return {
        "nodes": len(step.graph.nodes),
        **extra,
        "arena_bytes": step.layout.size_bytes,
        "most_bytes": max(live),
        "most_node": at,
        "most_op": step.graph.nodes[at].op,
    }
