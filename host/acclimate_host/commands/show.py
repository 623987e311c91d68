# SPDX-License-Identifier: MIT
"""``acclimate show``: a network's training step as text and drawing, its memory, its arena."""

from pathlib import Path

from acclimate_host.commands import table
from acclimate_host.commands.model_files import channels_of, imported
from acclimate_host.compile.arena import live_bytes
from acclimate_host.compile.step import Options, inference_step, training_step
from acclimate_host.errors import AcclimateError
from acclimate_host.model import text, zoo
from acclimate_host.model.network import with_loss
from acclimate_host.plots.graph import graph_picture
from acclimate_host.sparse.memory import extra_memory
from acclimate_host.sparse.scheme import Scheme, full, last_layers, published

MOST_CLASSES = 65535
MOST_PATCHES = 100  # along an edge; a larger input than these boards hold


def add_arguments(parser):
    parser.add_argument("net", help="a .onnx or .tflite file, or one of " + ", ".join(zoo.names()))
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
    parser.add_argument("--nodes", action="store_true", help="print every node")
    parser.add_argument("--out", metavar="FILE", help="draw the graph, as .svg")
    parser.add_argument("--arena", metavar="FILE", help="draw the arena, as .svg or .png")


def run(args):
    if not 1 <= args.classes <= MOST_CLASSES or not 1 <= args.patches <= MOST_PATCHES:
        raise AcclimateError(
            f"--classes {args.classes}, --patches {args.patches}: expected 1 or more, at most "
            f"{MOST_CLASSES} classes and {MOST_PATCHES} patches"
        )
    graph = _graph(args)
    scheme = _scheme(args, graph)
    options = Options(patch_grid=args.patches)
    if scheme is None:
        step = inference_step(graph, options)
    else:
        step = training_step(graph, scheme, options)
    print(text.dump(step.graph, None if args.nodes else 0))
    table(_memory(graph, scheme, step), ("memory", "bytes"))
    if args.out:
        graph_picture(Path(args.out), step.graph, f"{Path(args.net).name}: one step")
        print(f"drawn in {args.out}")
    if args.arena:
        from acclimate_host.plots.arena import arena_map

        arena_map(Path(args.arena), step, f"{args.net}: one arena over one step")
        print(f"drawn in {args.arena}")


def _graph(args):
    """Return the forward graph of a file or a known net; with a loss where something trains."""
    if Path(args.net).suffix not in (".onnx", ".tflite"):
        return zoo.backbone(args.net, args.classes)
    network = imported(args.net)
    trains = args.full or args.last is not None or args.biases is not None
    return with_loss(network).graph if trains else network.graph


def _scheme(args, graph):
    """Return the scheme that the arguments name, or None to predict only."""
    if args.channels and args.biases is None:
        raise AcclimateError("--channels goes with --biases N: the biases from the layer on")
    if args.full:
        return full(graph)
    if args.biases is not None:
        return Scheme(args.biases, tuple(channels_of(text) for text in args.channels))
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
    rows = []
    if scheme is not None:
        rows.append(
            ("extra, as published tables count it", f"{extra_memory(graph, scheme).total_bytes:,}")
        )
    live = live_bytes(step.buffers, len(step.graph.nodes))
    at = live.index(max(live))
    node = step.graph.nodes[at]
    rows.append(("arena (the input stays with the caller)", f"{step.layout.size_bytes:,}"))
    rows.append((f"most that lives at once: node {at}, {node.op}", f"{max(live):,}"))
    return rows
