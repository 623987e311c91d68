# SPDX-License-Identifier: MIT
"""Which part of a network to train: ways to choose a scheme under the same arena, in one table.

The digits are known upright and are to be learned turned and inverted (bench.transfer_tasks).
Contributions are measured by short fine-tunes on the twin, on a validation split; what each
choice is worth is measured by a whole fine-tune, on the test split.

- last layers: the last k layers whole, the largest k that fits
- evolution, exact: over measured contributions
- proxy: exact, over squared gradients of 60 samples instead of measured contributions
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor

from acclimate_host.model.losses import with_loss
from acclimate_host.model.pretrain import pretrain
from acclimate_host.model.quantize import quantize
from acclimate_host.paths import built
from acclimate_host.sparse.choose import Memory
from acclimate_host.sparse.compare import choices, worth
from acclimate_host.sparse.contribution import Case, from_gradients, measure
from acclimate_host.sparse.finetune import Setting
from acclimate_host.sparse.memory import extra_memory
from acclimate_host.sparse.permute import channels_by_size
from bench import transfer_tasks as tasks
from bench.common import write

RATIOS = (0.25, 0.5, 1.0)
BUDGETS_KIB = (6, 9, 12)
SHORT, LONG = Setting(0.03, 2), Setting(0.03, 6)


def case_of():
    """Return (task, Case with channels in the order of their size)."""
    task = tasks.rotated("digits", *tasks.digits(), seed=0)
    network = pretrain(task.graph, *task.base, epochs=10)
    small = channels_by_size(with_loss(quantize(network, task.base[0][:300])[0]))
    tune = tuple(part[:200] for part in task.tune)
    return task, Case(small, tune, task.validate, SHORT)


def main():
    parser = argparse.ArgumentParser(description="ways to choose a training scheme")
    parser.add_argument("--workers", type=int, default=2, help="processes (2)")
    parser.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster")
    args = parser.parse_args()
    task, case = case_of()
    keep = built("bench", "choose_jobs.jsonl")
    keep.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with _executor(args) as executor:
        gains = measure(case, executor, keep, RATIOS, progress=_progress, workers=args.workers)
    measured_s = time.monotonic() - began
    began = time.monotonic()
    proxy = from_gradients(case, RATIOS)
    result = {
        "classifier_validation": gains.classifier,
        "biases": gains.biases,
        "weights": [[*key, value] for key, value in gains.weights.items()],
        "measured_seconds": measured_s,
        "proxy_seconds": time.monotonic() - began,
        "choices": [],
    }
    graph = case.network.graph
    memory = Memory(graph)
    heads = f"{'budget':>7} {'method':12} {'arena':>7} {'extra':>7} {'gain':>7} {'test':>6}"
    print(f"{heads} {'tried':>6} {'s':>6}  scheme")
    for kib in BUDGETS_KIB:
        for choice in choices(graph, gains, proxy, kib * 1024, RATIOS, memory):
            row = {
                "budget_bytes": kib * 1024,
                "method": choice.method,
                "proven": choice.proven,
                "arena_bytes": choice.arena_bytes,
                "gain": choice.gain,
                "tried": choice.tried,
                "extra_bytes": extra_memory(graph, choice.scheme).total_bytes,
                "test": worth(case.network, choice.scheme, task.tune, task.test, LONG),
                "seconds": choice.seconds,
                "bias_layers": choice.scheme.bias_layers,
                "channels": choice.scheme.channels,
            }
            result["choices"].append(row)
            text = " ".join(f"{layer}:{count}" for layer, count in choice.scheme.channels)
            print(
                f"{kib:3} KiB {row['method']:12} {row['arena_bytes']:7,} "
                f"{row['extra_bytes']:7,} {row['gain']:7.3f} {row['test']:6.3f} "
                f"{row['tried']:6} {row['seconds']:6.1f}  b{row['bias_layers']} {text}",
                flush=True,
            )
    print(f"written to {write('choose', result)}")


def _executor(args):
    if args.dask:
        from distributed import Client

        return Client(args.dask).get_executor()
    return ProcessPoolExecutor(args.workers)


def _progress(done, total, left_s):
    left = "" if left_s is None else f", {left_s:.0f} s left"
    print(f"\r{done} of {total} fine-tunes{left}   ", end="" if done < total else "\n", flush=True)


if __name__ == "__main__":
    main()
