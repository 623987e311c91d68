# SPDX-License-Identifier: MIT
"""Transfer: how well a small network learns a new task on the board, in int8 and in float32.

A net of about 10 000 weights is trained on the host, quantized with samples of what it knows, and
fine-tuned with batch 1 on 300 samples (a user's own for the watch). Every row has its learning
rate chosen on a validation split, for each seed alone; what is printed is the test split.

- int8: the board's program on its twin; sparse scheme, quantization-aware scaling
- float: the same scheme and order of samples in float32 (float64 numpy)
- *_biases: the same biases and the classifier, no weights of convolutions
- *_classifier: only the classifier is trained
- truncate, no_scaling: int8 stores that are known to fail (numpy, `rotated` only)

`int8_minus_float` is a mean over seeds, `standard_error` belongs to it: the deviation of the
differences seed by seed, over the root of their number. `all_tasks` is the mean of the tasks.

    python -m bench.transfer [--workers N] [--seeds N] [--tasks NAME ...] [--quick] [--resume]
"""

import argparse
import json
import statistics
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

from acclimate_host.demo import watch
from acclimate_host.demo.network_task import user_task
from acclimate_host.model.pretrain import pretrain
from acclimate_host.model.quantize import quantize
from acclimate_host.paths import built
from acclimate_host.sparse.finetune import Setting, Tuner
from acclimate_host.sparse.scheme import Scheme
from acclimate_host.sparse.simulate import Simulation
from bench import transfer_tasks as tasks
from bench.common import table, write

SEEDS = 5
NAMES = ("rotated", "classes", "mnist_rotated", "mnist_classes", "watch", "pen")
KEPT = built("bench", "transfer_jobs.jsonl")
# Three first-pointwise layers, in part or whole, and the biases from the first of them on.
SPARSE = Scheme(9, (("c4", 8), ("c7", 16), ("c10", 24)))
BIASES, CLASSIFIER = Scheme(9), Scheme(0)
RATES = {"sparse": (0.01, 0.03, 0.06, 0.1), "classifier": (0.03, 0.1, 0.2), "broken": (0.01, 0.03)}
RATES["biases"] = RATES["sparse"]
CALIBRATION = 300
BOUNDS = {
    "rotated.int8_minus_float": -0.015,
    "classes.int8_minus_float": -0.015,
    "rotated.int8_minus_classifier": 0.20,
}
FIELDS = (
    "before",
    "int8_classifier",
    "int8_biases",
    "int8",
    "float",
    "int8_minus_float",
    "standard_error",
    "int8_minus_classifier",
)
ROWS = [
    *(
        (field, ">=", BOUNDS[field]) if field in BOUNDS else (field, None, None)
        for field in (f"{name}.{field}" for name in NAMES for field in FIELDS)
    ),
    ("rotated.truncate", None, None),
    ("rotated.no_scaling", None, None),
    ("all_tasks.int8_minus_float", None, None),
    ("all_tasks.standard_error", None, None),
]


def task_of(name, seed):
    """Return the Task of a name, split with a seed; for the watch the seed is the user."""
    if name == "watch":
        recordings = watch.load(built("data", "watch.npz"))
        subjects = sorted({recording.subject for recording in recordings})
        return user_task(recordings, subjects[seed % len(subjects)])
    if name == "pen":
        return tasks.tablet_turned(name, *tasks.pen(), seed)
    images, labels = tasks.mnist() if name.startswith("mnist") else tasks.digits()
    stride = 2 if name.startswith("mnist") else 1
    if name.endswith("rotated"):
        return tasks.rotated(name, images, labels, seed, stem_stride=stride)
    return tasks.classes(name, images, labels, seed, stride)


def best(tune, rates, seed):
    """Return (test accuracy, rate) of the rate that does best on the validation split."""
    found = [tune(Setting(rate, seed=seed + 1)) + (rate,) for rate in rates]
    _, test, rate = max(found, key=lambda row: row[0])
    return test, rate


def on_twin(network, scheme, task):
    """Return a function from a Setting to (validation, test) accuracy on the twin."""
    tuner = Tuner(network, scheme)
    inputs = {part: tuner.stored(getattr(task, part)[0]) for part in ("tune", "validate", "test")}

    def tune(setting):
        tuner.tune(inputs["tune"], task.tune[1], setting)
        return (
            tuner.accuracy(inputs["validate"], task.validate[1]),
            tuner.accuracy(inputs["test"], task.test[1]),
        )

    return tune


def in_numpy(network, scheme, task, **options):
    """As `on_twin`, with numpy."""

    def stored(x):
        return network.quantize_input(x) if network.quantized else x

    def tune(setting):
        run = Simulation(network, scheme, seed=setting.seed, **options)
        run.tune(stored(task.tune[0]), task.tune[1], setting)
        return (
            run.accuracy(stored(task.validate[0]), task.validate[1]),
            run.accuracy(stored(task.test[0]), task.test[1]),
        )

    return tune


def measure(name, seed, epochs=12):
    """Return {row: test accuracy} of one task and seed, and the rates chosen."""
    start = time.perf_counter()
    task = task_of(name, seed)
    network = pretrain(task.graph, *task.base, epochs=epochs if name != "watch" else 8, seed=seed)
    small, report = quantize(network, task.base[0][:CALIBRATION])
    rows = {
        "int8": (on_twin(small, SPARSE, task), "sparse"),
        "float": (in_numpy(network, SPARSE, task), "sparse"),
        "int8_biases": (on_twin(small, BIASES, task), "biases"),
        "float_biases": (in_numpy(network, BIASES, task), "biases"),
        "int8_classifier": (on_twin(small, CLASSIFIER, task), "classifier"),
        "float_classifier": (in_numpy(network, CLASSIFIER, task), "classifier"),
    }
    if name == "rotated":
        rows["truncate"] = (in_numpy(small, SPARSE, task, store="truncate"), "broken")
        rows["no_scaling"] = (in_numpy(small, SPARSE, task, scaling=False), "broken")
    found, rates = {}, {}
    for row, (tune, kind) in rows.items():
        found[row], rates[row] = best(tune, RATES[kind], seed)
    tuner = Tuner(small, CLASSIFIER)
    found["before"] = tuner.accuracy(tuner.stored(task.test[0]), task.test[1])
    print(
        f"  {name} {seed}: "
        + ", ".join(f"{k} {v:.3f}" for k, v in found.items())
        + f"  ({time.perf_counter() - start:.0f} s)",
        flush=True,
    )
    return {"accuracy": found, "rates": rates, "quantized_agreement": report.agreement}


def finished(resume):
    """Return (jobs, results) that an earlier run has written; without `resume` none are left."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    if not resume:
        KEPT.unlink(missing_ok=True)
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    rows = [json.loads(line) for line in lines]
    return [row[0] for row in rows], [row[1] for row in rows]


def summary(results):
    """Return the means over seeds, their differences, and the spread of each row."""
    rows = [row for row in results[0]["accuracy"] if all(row in r["accuracy"] for r in results)]
    means = {row: statistics.mean(r["accuracy"][row] for r in results) for row in rows}
    out = {row: round(value, 4) for row, value in means.items()}
    for other in ("float", "classifier"):
        right = means["float" if other == "float" else "int8_classifier"]
        out[f"int8_minus_{other}"] = round(means["int8"] - right, 4)
    out["deviation"] = {
        row: round(statistics.pstdev(r["accuracy"][row] for r in results), 4) for row in rows
    }
    out["standard_error"] = standard_error(
        [r["accuracy"]["int8"] - r["accuracy"]["float"] for r in results]
    )
    out["seeds"] = results
    return out


def standard_error(values):
    """Return the standard error of the mean of values, or None of a single one."""
    if len(values) < 2:
        return None
    return round(statistics.stdev(values) / len(values) ** 0.5, 4)


def over_tasks(tasks_found):
    """Return the mean of the tasks' differences and its standard error over the tasks."""
    found = [task["int8_minus_float"] for task in tasks_found]
    return {
        "int8_minus_float": round(statistics.mean(found), 4),
        "standard_error": standard_error(found),
    }


def main():
    parser = argparse.ArgumentParser(description="transfer accuracy of a small network")
    parser.add_argument("--workers", type=int, default=2, help="processes (2)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"of each task ({SEEDS})")
    parser.add_argument("--tasks", nargs="+", choices=NAMES, default=NAMES, help="some of them")
    parser.add_argument("--quick", action="store_true", help="one seed of the digits only")
    parser.add_argument("--resume", action="store_true", help="keep what an earlier run finished")
    args = parser.parse_args()
    names, seeds = (NAMES[:2], 1) if args.quick else (args.tasks, args.seeds)
    jobs = [(name, seed) for name in names for seed in range(seeds)]
    done = finished(args.resume)
    with ProcessPoolExecutor(args.workers) as pool:
        left = {pool.submit(measure, *job): job for job in jobs if list(job) not in done[0]}
        for future in as_completed(left):
            with KEPT.open("a") as file:
                file.write(json.dumps([list(left[future]), future.result()]) + "\n")
    found = dict(zip(map(tuple, (done := finished(True))[0]), done[1], strict=True))
    by_name = {name: [found[name, seed] for seed in range(seeds)] for name in names}
    result = {name: summary(results) for name, results in by_name.items()}
    result["all_tasks"] = over_tasks(result.values())
    result["note"] = __doc__.split("\n\n")[1].replace("\n", " ")
    path = write("transfer", result)
    rows = [row for row in ROWS if row[0].split(".")[0] in (*names, "all_tasks")]
    missed = table("Transfer to a new task on the board", result, rows)
    print(f"written to {path}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
