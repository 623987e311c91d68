# SPDX-License-Identifier: MIT
"""``acclimate show``: a network's training step as text, its memory, and a map of its arena."""

from pathlib import Path

from acclimate_host.commands import table
from acclimate_host.compile.arena import live_bytes
from acclimate_host.compile.step import Options, inference_step, training_step
from acclimate_host.errors import AcclimateError
from acclimate_host.model import text, zoo
from acclimate_host.sparse.memory import extra_memory
from acclimate_host.sparse.scheme import Scheme, full, last_layers, published


def add_arguments(parser):
    parser.add_argument("net", help="one of " + ", ".join(zoo.names()))
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--published", type=float, metavar="KIB", help="train by the scheme of this extra memory"
    )
    which.add_argument("--last", type=int, metavar="N", help="train the last N convolutions")
    which.add_argument("--biases", type=int, metavar="N", help="train the last N biases")
    which.add_argument("--full", action="store_true", help="train everything")
    parser.add_argument("--classes", type=int, default=10, help="of the classifier (10)")
    parser.add_argument("--patches", type=int, default=2, help="per edge above 32x32 (2)")
    parser.add_argument("--nodes", action="store_true", help="print every node")
    parser.add_argument("--arena", metavar="FILE", help="draw the arena, as .svg or .png")


def run(args):
    if args.classes < 1 or args.patches < 1:
        raise AcclimateError("--classes and --patches must be 1 or more")
    graph = zoo.backbone(args.net, args.classes)
    scheme = _scheme(args, graph)
    options = Options(patch_grid=args.patches)
    if scheme is None:
        step = inference_step(graph, options)
    else:
        step = training_step(graph, scheme, options)
    print(text.dump(step.graph, None if args.nodes else 0))
    table(_memory(graph, scheme, step), ("memory", "bytes"))
    if args.arena:
        from acclimate_host.plots_arena import arena_map

        arena_map(Path(args.arena), step, f"{args.net}: one arena over one step")
        print(f"drawn in {args.arena}")


def _scheme(args, graph):
    """Return the scheme that the arguments name, or None to predict only."""
    if args.full:
        return full(graph)
    if args.biases is not None:
        return Scheme(args.biases)
    if args.last is not None:
        if not 0 <= args.last <= len(zoo.convolutions(graph)):
            raise AcclimateError(f"--last {args.last}: {args.net} has "
                                 f"{len(zoo.convolutions(graph))} convolutions")  # fmt: skip
        return last_layers(graph, args.last)
    if args.published is None:
        return None
    known = [row for row in published({n: zoo.backbone(n) for n in zoo.names()})
             if row.net == args.net]  # fmt: skip
    for row in known:
        if row.extra_kib == args.published:
            return row.scheme
    choice = ", ".join(str(row.extra_kib) for row in known)
    raise AcclimateError(f"no scheme of {args.published} KiB for {args.net}; there are {choice}")


def _memory(graph, scheme, step):
    rows = []
    if scheme is not None:
        rows.append(("extra, as published tables count it",
                     f"{extra_memory(graph, scheme).total_bytes:,}"))  # fmt: skip
    live = live_bytes(step.buffers, len(step.graph.nodes))
    at = live.index(max(live))
    node = step.graph.nodes[at]
    rows.append(("arena (the input stays with the caller)", f"{step.layout.size_bytes:,}"))
    rows.append((f"most that lives at once: node {at}, {node.op}", f"{max(live):,}"))
    return rows
