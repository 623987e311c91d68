# SPDX-License-Identifier: MIT
"""``acclimate contribute``: what training each part of a network is worth, by fine-tunes on the
twin, and the best parts for an arena."""

import argparse
import json
import math
import shlex
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from acclimate_host.commands import check_counts, check_output, progress, table, write_text
from acclimate_host.commands.model_files import add_input_shape, array, imported, labelled, stored
from acclimate_host.errors import AcclimateError, Missing
from acclimate_host.model.losses import with_loss
from acclimate_host.poet import pulp_solver
from acclimate_host.sparse import compare
from acclimate_host.sparse.choose import Memory, smallest
from acclimate_host.sparse.contribution import (
    RATIOS,
    Case,
    from_gradients,
    measure,
    options,
    to_json,
    trainable,
)
from acclimate_host.sparse.finetune import Setting, why_slow
from acclimate_host.sparse.memory import extra_memory
from acclimate_host.sparse.permute import channels_by_size

_BAR = 24  # characters


def add_arguments(parser):
    parser.add_argument("model", help="a .onnx or int8 .tflite file")
    add_input_shape(parser)
    parser.add_argument(
        "--data",
        metavar="FILE",
        required=True,
        help=".npz with x (count, channels, height, width) and labels of what is to be learned; "
        "x_validate, labels_validate (else every third sample) and x_test, labels_test if there",
    )
    parser.add_argument(
        "--samples",
        metavar="FILE",
        help=".npy of inputs like those the network knows, to quantize a float model (x)",
    )
    parser.add_argument("--rate", type=float, default=0.03, help="learning rate (0.03)")
    parser.add_argument("--epochs", type=int, default=2, help="passes of one fine-tune (2)")
    parser.add_argument("--seeds", type=int, default=1, help="fine-tunes of each part (1)")
    parser.add_argument(
        "--ratios",
        type=_ratios,
        default=RATIOS,
        metavar="R,R,...",
        help="shares of a layer's input channels (" + ",".join(map(str, RATIOS)) + ")",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, default=2, metavar="N", help="processes here (2)")
    where.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster")
    parser.add_argument(
        "--keep",
        metavar="FILE",
        help="finished fine-tunes; the same command goes on from them (MODEL.contributions.jsonl)",
    )
    parser.add_argument(
        "--memory",
        type=_bytes,
        action="append",
        default=[],
        metavar="BYTES",
        help="choose what to train in an arena of so many bytes, such as 100k; may be repeated",
    )
    parser.add_argument("-o", "--out", metavar="FILE", help="write the contributions as JSON")


def run(args):
    check_output(args.out)
    check_counts(args, workers=1024, epochs=10000, seeds=1000)
    if not 0 < args.rate < math.inf:
        raise AcclimateError(f"--rate {args.rate}: expected a number above 0")
    if not args.dask:
        _say_if_slow()
    network = imported(args.model, args.input_shape)
    command = ["acclimate", "compile", args.model, "--loss", "cross-entropy"]
    if args.input_shape:
        command += ["--input-shape", args.input_shape]
    if not network.quantized:
        command += ["--samples", args.samples or "SAMPLES.npy"]
    parts = labelled(args.data, network)
    network = with_loss(
        stored(network, lambda: array(args.samples) if args.samples else parts[""][0])
    )
    if not trainable(network.graph):
        raise AcclimateError(
            f"{args.model}: only the classifier gets a gradient, which does not go through "
            "tables; there is nothing to choose"
        )
    tune, validate = _split(parts)
    setting = Setting(args.rate, args.epochs)
    case = Case(channels_by_size(network), tune, validate, setting)
    memory = _memory(case.network.graph, args.memory)
    keep = Path(args.keep or Path(args.model).stem + ".contributions.jsonl")
    with _executor(args) as executor:
        gains = _measured(case, executor, keep, args)
        args.result = json.loads(to_json(gains))
        _print_gains(case.network.graph, gains, args.ratios)
        if args.out:
            write_text(args.out, to_json(gains) + "\n")
        if args.memory:
            _choose(case, network, gains, parts, memory, executor, args, command)


def _say_if_slow():
    progress("compiling the board's kernels for this computer, once")
    reason = why_slow()
    progress("")
    if reason:
        print(
            f"fine-tunes run in pure Python, hundreds of times slower: {reason}", file=sys.stderr
        )


def _memory(graph, budgets):
    """Return what knows the arenas, or say at once why nothing can be chosen for a budget."""
    memory = Memory(graph)
    for budget in budgets:
        pulp_solver.require()
        smallest(graph, memory, budget)
    return memory


def _measured(case, executor, keep, args):
    def show(done, total, left_s):
        progress(bar(done, total, left_s))

    try:
        return measure(case, executor, keep, args.ratios, args.seeds, show, args.workers)
    except KeyboardInterrupt:
        progress("")
        print(f"finished fine-tunes are kept in {keep}; the same command goes on", file=sys.stderr)
        raise
    finally:
        progress("")


def bar(done, total, left_s):
    """Return a progress bar as text, with how long the rest will take once that is known."""
    filled = _BAR * done // total
    text = f"[{'#' * filled}{'-' * (_BAR - filled)}] {done} of {total} fine-tunes"
    if left_s is None:
        return text
    minutes, seconds = divmod(round(left_s), 60)
    return f"{text}, about {minutes}:{seconds:02} left"


def _split(parts):
    """Return (samples to train on, samples to judge by)."""
    if "_validate" in parts:
        return parts[""], parts["_validate"]
    x, labels = parts[""]
    judged = np.arange(len(x)) % 3 == 2
    if len(x) < 3:
        raise AcclimateError(f"--data: expected 3 samples or more, got {len(x)}")
    return (x[~judged], labels[~judged]), (x[judged], labels[judged])


def _print_gains(graph, gains, ratios):
    print(f"classifier alone: {gains.classifier:.1%} right; what more is worth, in points:")
    rows = []
    for layer, biases, counts in options(graph, ratios):
        parts = [f"{count}: {100 * gains.weights[layer, count]:+.1f}" for count in counts]
        rows.append((layer, str(biases), f"{100 * gains.biases[biases]:+.1f}", ", ".join(parts)))
    table(rows, ("layer", "biases from it on", "gain", "and so many of its input channels"))


def _choose(case, network, gains, parts, memory, executor, args, command):
    """Print every method's choice for each arena, and what the exact one is compiled with."""
    graph = case.network.graph
    proxy = from_gradients(case, args.ratios)
    judge, name = (parts["_test"], "test") if "_test" in parts else (case.validate, "validation")
    whole = replace(case.setting, epochs=3 * args.epochs)
    rows, lines = [], []
    for budget in args.memory:
        found = compare.choices(graph, gains, proxy, budget, args.ratios, memory)
        jobs = [
            executor.submit(compare.worth, network, choice.scheme, case.tune, judge, whole)
            for choice in found
        ]
        for choice, job in zip(found, jobs, strict=True):
            rows.append(_row(graph, budget, choice, job.result()))
        scheme = next(choice.scheme for choice in found if choice.method == "exact")
        words = [*command, "--biases", str(scheme.bias_layers)]
        for layer, count in scheme.channels:
            words += ["--channels", f"{layer}:{count}"]
        lines.append(f"{budget:,} bytes: {shlex.join(words)}")
    print(f"\nright on the {name} samples after a whole fine-tune ({whole.epochs} passes):")
    table(rows, ("arena", "chosen by", "arena used", "extra", "gains", "right", "trains"))
    print("\nexact choice, in", *lines, sep="\n  ")


def _row(graph, budget, choice, right):
    layers = " ".join(f"{layer}:{count}" for layer, count in choice.scheme.channels)
    return (
        f"{budget:,}",
        choice.method + ("" if choice.proven or choice.method != "exact" else "?"),
        f"{choice.arena_bytes:,}",
        f"{extra_memory(graph, choice.scheme).total_bytes:,}",
        f"{100 * choice.gain:+.1f}",
        f"{right:.1%}",
        f"{choice.scheme.bias_layers} biases {layers}".strip(),
    )


@contextmanager
def _executor(args):
    if not args.dask:
        with ProcessPoolExecutor(args.workers, initializer=_left_to_the_parent) as executor:
            yield executor
        return
    try:
        from distributed import Client
    except ImportError:
        raise Missing("--dask needs Dask: pip install 'acclimate[dask]'") from None
    try:
        client = Client(args.dask, timeout="5s")
    except (OSError, TimeoutError, ValueError) as error:
        raise AcclimateError(f"--dask {args.dask}: no scheduler there ({error})") from None
    with client:
        args.workers = max(1, sum(client.nthreads().values()))
        yield client.get_executor()


def _left_to_the_parent():
    """In a worker: Ctrl-C ends the analysis, not single fine-tunes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _ratios(text):
    found = tuple(sorted({float(part) for part in text.split(",")}))
    if not 0 < found[0] <= found[-1] <= 1:
        raise argparse.ArgumentTypeError(f"expected shares above 0, at most 1, got {text}")
    return found


def _bytes(text):
    """Return a number of bytes; k behind it is for KiB."""
    found = float(text.lower().removesuffix("k")) * (1024 if text[-1:] in "kK" else 1)
    if not 1 <= found < 1 << 40:
        raise argparse.ArgumentTypeError(f"expected bytes, such as 100k, got {text}")
    return int(found)


_ratios.__name__, _bytes.__name__ = "shares", "size"  # argparse shows them
