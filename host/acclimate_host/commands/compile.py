# SPDX-License-Identifier: MIT
"""``acclimate compile``: a model file to the two files with which a board predicts and learns."""

from pathlib import Path

from acclimate_host.commands import table, write_together
from acclimate_host.commands.model_files import (
    add_input_shape,
    array,
    channels_of,
    imported,
    stored,
)
from acclimate_host.compile.choose import TooSmall, choose, described
from acclimate_host.compile.cost_model import CORES
from acclimate_host.compile.program_format import OPTIMIZERS
from acclimate_host.compile.step import Options
from acclimate_host.errors import AcclimateError
from acclimate_host.model.losses import LOSSES, SOFTMAX_NOTE, with_loss
from acclimate_host.model.zoo import convolutions
from acclimate_host.poet.inputs import amount, cost_table
from acclimate_host.sparse.permute import channels_by_size
from acclimate_host.sparse.scheme import Scheme


def add_arguments(parser):
    parser.add_argument("model", help="a .onnx or int8 .tflite file")
    add_input_shape(parser)
    parser.add_argument(
        "--samples",
        metavar="FILE",
        help=".npy of real inputs (count, channels, height, width), to quantize a float model",
    )
    parser.add_argument("--percentile", type=float, default=100.0, help="of each range (100)")
    parser.add_argument("--headroom", type=float, default=0.0, help="for weights to grow (0)")
    parser.add_argument("--predict-only", action="store_true", help="no training")
    parser.add_argument(
        "--loss",
        choices=LOSSES,
        help="what training lowers; taken from the file where its output is a softmax",
    )
    parser.add_argument(
        "--target",
        choices=["input"],
        help="an autoencoder: it learns to give back its input (mse or huber)",
    )
    parser.add_argument(
        "--delta", type=float, default=1.0, help="from which error on huber is linear (1)"
    )
    parser.add_argument(
        "--weight-decay", type=float, default=0.0, metavar="D", help="such as 0.0005 (0)"
    )
    parser.add_argument(
        "--biases",
        type=int,
        default=0,
        metavar="N",
        help="train the last N biases besides the classifier (0)",
    )
    parser.add_argument(
        "--channels",
        action="append",
        default=[],
        metavar="LAYER:COUNT",
        help="train so many input channels of a layer, the largest first; may be repeated",
    )
    parser.add_argument(
        "--optimizer",
        default="plain",
        choices=[name.lower() for name in OPTIMIZERS],
        help="what a step keeps beside weights; all but plain take RAM (%(default)s)",
    )
    parser.add_argument("-o", "--out", default=".", metavar="DIR", help="folder of the files (.)")
    add = parser.add_argument_group("instructions and RAM").add_argument
    add(
        "--ram",
        metavar="BYTES",
        help="most bytes of the arena, as 100k: the fastest program within; a training step that "
        "no choice fits computes again or pages, for the least energy (the knee of the table)",
    )
    add(
        "--input-in-arena",
        action="store_true",
        help="the input lies in the arena (net.input), where later layers write over it",
    )
    add("--core", default="m4f", choices=CORES, help="whose instructions count (m4f)")
    add = parser.add_argument_group("a step that needs more RAM than any choice").add_argument
    add("--board", default="m4", metavar="B", help="cost table or board, as for plan (m4)")
    add("--storage", metavar="BYTES", help="for pages; 0: compute again only")
    add("--time-limit", type=float, default=60.0, metavar="S", help="of the planner (60)")


def run(args):
    if not args.time_limit > 0:
        raise AcclimateError(f"--time-limit {args.time_limit}: expected more than 0 seconds")
    if args.predict_only and (args.biases or args.channels):
        raise AcclimateError("--predict-only trains nothing: leave out --biases and --channels")
    if Path(args.out).exists() and not Path(args.out).is_dir():
        raise AcclimateError(f"--out {args.out}: a file is there; expected a folder")
    ram = None if args.ram is None else amount(args.ram)
    if args.storage is not None:
        amount(args.storage, what="storage")
    cost_table(args.board)
    network, scheme = _stored(imported(args.model, args.input_shape), args), None
    if not args.predict_only:
        scheme = Scheme(args.biases, channels_of(args.channels))
        if scheme.channels:
            network = channels_by_size(network, {layer for layer, _ in scheme.channels})
        network = with_loss(
            network, _loss(args, network), args.target, args.delta, args.weight_decay
        )
    options = Options(input_in_arena=args.input_in_arena)
    try:
        found = choose(network, scheme, ram, args.optimizer, args.core, options)
        program, rows = found.program, _chosen(found, args)
    except TooSmall as error:
        if scheme is None:
            raise
        program, rows = _scheduled(args, network, scheme, ram, error.smallest)
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    write_together({folder / "net_program": program.code, folder / "net_weights": program.weights})
    layers = ", ".join(node.attrs["layer"] for node in convolutions(network.graph))
    print(f"convolutions, first to last: {layers}")
    sizes = _sizes(network, program, folder) + rows
    args.result = {"folder": str(folder), "layers": layers.split(", "), "sizes": dict(sizes)}
    table(sizes, ("what", "bytes"))


def _loss(args, network):
    """Return the loss that was asked for, or that the file has: never a guess."""
    if args.loss is None and SOFTMAX_NOTE not in network.notes:
        raise AcclimateError(
            f"{args.model}: no softmax in the file says what its outputs are: --loss "
            "cross-entropy for classes, binary for labels, mse or huber for numbers; or "
            "--predict-only"
        )
    return args.loss or "cross-entropy"


def _chosen(found, args):
    """Print the table and what was chosen; return the rows that say what it costs."""
    if len(found.table) > 1:
        rows = [(f"{arena:,}", f"{count:,}") for arena, count in found.table]
        table(rows, ("arena, bytes", f"instructions, {args.core}"))
        print("the knee is taken; --ram BYTES takes another")
    print(described(found.step))
    what = "a prediction" if args.predict_only else "a training step"
    proof = "proven fewest" if found.proven else f"at most {found.gap:.1%} above the fewest"
    return [(f"instructions of {what} ({proof})", f"{found.instructions:,}")]


def _scheduled(args, network, scheme, ram, smallest):
    """(program whose arena fits --ram, rows that say what its schedule does)."""
    from acclimate_host.poet.fit import fit
    from acclimate_host.poet.problem import Budget

    storage = None if args.storage is None else amount(args.storage, what="storage")
    found = fit(
        network,
        scheme,
        ram,
        cost_table(args.board),
        args.optimizer,
        Budget(ram, aux_bytes=storage),
        time_limit=args.time_limit,
        gap=1e-3,
    )
    pages = found.page_bytes
    again = sum(kind == "compute" for kind, _ in found.answer.plan) - len(found.graph.nodes)
    rows = [
        ("arena without the schedule", f"{smallest:,}"),
        ("code of the schedule", f"{found.added_bytes:,}"),
    ]
    if pages:
        rows += [
            (f"{len(pages)} pages that a step writes to a page store", f"{sum(pages):,}"),
            ("store of 4,096-byte blocks, at least", f"{4096 * found.store_blocks(4096):,}"),
        ]
    print(f"to fit {ram:,} bytes a step computes {again} layers again, pages {len(pages)} tensors")
    return found.program, rows


def _sizes(network, program, folder):
    return [
        (f"{folder / 'net_program'}, only read", f"{len(program.code):,}"),
        (f"{folder / 'net_weights'}, what training changes", f"{len(program.weights):,}"),
        ("arena", f"{program.arena_bytes:,}"),
        (
            "one input, int8, height x width x channels",
            f"{network.graph[network.input].elements:,}",
        ),
    ]


def _stored(network, args):
    if args.samples is None and not network.quantized:
        raise AcclimateError(
            f"{args.model}: its numbers are float: give --samples FILE.npy, some real inputs, "
            "from which the ranges of int8 are chosen"
        )
    return stored(network, lambda: array(args.samples), args.percentile, args.headroom)
