# SPDX-License-Identifier: MIT
"""Forgetting: what a network still knows after it has adapted, without and with a replay store.

A net of about 10 000 weights knows upright digits. Then 300 turned and inverted ones come, batch
1, in 20 passes. With the store each of them is followed by one of 100 old samples, which an
acclimate.reservoir.Reservoir drew by chance while the device worked. The board's program on its
twin, int8; five seeds; the rate of each run is chosen on new samples put aside for that. Old and
new are test samples that nobody trained on.

Passes and rates, for both alike, were chosen on seeds 21 and 22, which are none of these five: in
6 passes what must please old samples as well has not yet learned the new ones.

    python -m bench.forget [--seeds N]
"""

import argparse
import statistics

import numpy as np

from acclimate.reservoir import Reservoir
from acclimate_host.model.pretrain import pretrain
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.finetune import Tuner
from bench import transfer_tasks as tasks
from bench.common import table, write
from bench.transfer import CALIBRATION, SPARSE, standard_error

RATES, LAST, PASSES, OLD_ROWS, OLD_TEST = (0.06, 0.1), 0.1, 20, 100, 200
ROWS = [
    ("forget.before_old", None, None),
    ("forget.before_new", None, None),
    ("forget.without_old", None, None),
    ("forget.without_new", None, None),
    ("forget.with_old", None, None),
    ("forget.with_new", None, None),
    ("forget.old", ">=", 0.85),
    ("forget.old_standard_error", None, None),
    ("forget.new", ">=", 0.0),
    ("forget.new_standard_error", None, None),
    ("forget.store_bytes", None, None),
]


def store_of(inputs, labels, seed):
    """Return a Reservoir to which all old samples were offered, as the device met them."""
    store = Reservoir(OLD_ROWS, len(inputs[0]), seed=seed + 1)
    for x, label in zip(inputs, labels, strict=True):
        store.offer(x, int(label), 0)
    return store


def adapted(tuner, inputs, labels, seed, store, rate):
    """Train from the network's own weights; the rate falls linearly from step to step."""
    net, steps = tuner.net, PASSES * len(inputs) * (1 if store is None else 2)
    net.reset(tuner.program.weights, seed + 1)
    net.set_rate(lambda step: rate * (1 - (1 - LAST) * step / steps))
    random = np.random.default_rng(seed)
    for _ in range(PASSES):
        order = random.permutation(len(inputs))
        for _ in net.train([(inputs[i], int(labels[i])) for i in order], replay=store):
            pass


def measure(seed):
    """Return {key: number} of one seed."""
    task = tasks.rotated("forget", *tasks.digits(), seed)
    old, known = [part[:-OLD_TEST] for part in task.base], [part[-OLD_TEST:] for part in task.base]
    small, _ = quantize(pretrain(task.graph, *old, epochs=12, seed=seed), old[0][:CALIBRATION])
    tuner = Tuner(small, SPARSE)
    stored = {name: tuner.stored(x) for name, x in (("old", known[0]), ("new", task.test[0]))}
    labels = {"old": known[1], "new": task.test[1]}
    new, found = tuner.stored(task.tune[0]), {}
    validate = tuner.stored(task.validate[0])
    replay = store_of(tuner.stored(old[0]), old[1], seed)
    for name, store in (("before", None), ("without", None), ("with", replay)):
        best = -1.0
        for rate in RATES if name != "before" else (None,):
            if rate:
                adapted(tuner, new, task.tune[1], seed, store, rate)
            right = tuner.accuracy(validate, task.validate[1])
            if right > best:
                best, found[f"{name}_rate"] = right, rate
                for part in ("old", "new"):
                    found[f"{name}_{part}"] = tuner.accuracy(stored[part], labels[part])
    found["store_bytes"] = Reservoir.bytes_needed(OLD_ROWS, replay.width)
    print("  ", seed, found, flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description="what a network forgets while it adapts")
    parser.add_argument("--seeds", type=int, default=5)
    seeds = [measure(seed) for seed in range(parser.parse_args().seeds)]
    keys = [key for key in seeds[0] if not key.endswith("rate")]
    result = {key: round(statistics.mean(s[key] for s in seeds), 4) for key in keys}
    # Share of what it knew that is left; and new samples right with the store less without.
    result["old"] = round(result["with_old"] / result["before_old"], 4)
    result["new"] = round(result["with_new"] - result["without_new"], 4)
    shares = [s["with_old"] / s["before_old"] for s in seeds]
    result["old_standard_error"] = standard_error(shares)
    more = [s["with_new"] - s["without_new"] for s in seeds]
    result["new_standard_error"] = standard_error(more)
    result["seeds"] = seeds
    write("forget", {"forget": result})
    return 1 if table("Forgetting", {"forget": result}, ROWS) else 0


if __name__ == "__main__":
    raise SystemExit(main())
