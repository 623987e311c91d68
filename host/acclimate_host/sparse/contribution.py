# SPDX-License-Identifier: MIT
"""What each part of a network contributes when it is trained: many independent fine-tunes.

As in the paper: the gain of training the last k biases over the classifier alone, and the gain
of training a share of one layer's input channels besides the biases from that layer on. Each
fine-tune is a job of its own; any `concurrent.futures` executor runs them. Results are kept line
by line in a file, so that an analysis that was stopped goes on where it was.
"""

import hashlib
import json
import statistics
import time
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import AcclimateError
from ..model.autodiff import differentiate
from ..model.zoo import convolutions
from .finetune import Setting, Tuner
from .scheme import Scheme, can_split
from .simulate import Simulation

RATIOS = (0.125, 0.25, 0.5, 1.0)
_AHEAD = 2  # jobs handed to the executor beyond what it can run, for each worker


@dataclass(frozen=True)
class Case:
    """What is adapted: a quantized network with loss, samples to train on and to judge by."""

    network: object
    tune: tuple
    validate: tuple
    setting: Setting

    def fingerprint(self):
        """A short text that differs where any value, sample or setting does."""
        found = hashlib.sha256()
        for name in sorted(self.network.values):
            tensor = self.network.graph[name]
            found.update(f"{name}{tensor.scale}".encode())
            found.update(np.ascontiguousarray(self.network.values[name]).tobytes())
        for part in (*self.tune, *self.validate):
            found.update(np.ascontiguousarray(part).tobytes())
        found.update(repr(self.setting).encode())
        return found.hexdigest()[:16]


@dataclass(frozen=True)
class Job:
    """One fine-tune: the last `bias_layers` biases, and `count` input channels of a layer."""

    bias_layers: int
    layer: str = ""
    count: int = 0
    seed: int = 1

    @property
    def scheme(self):
        return Scheme(self.bias_layers, ((self.layer, self.count),) if self.count else ())

    @property
    def key(self):
        return f"{self.bias_layers} {self.layer or '-'} {self.count} {self.seed}"


@dataclass(frozen=True)
class Contributions:
    """Gains in accuracy: `biases[k]` of the last k, `weights[layer, count]` of input channels."""

    classifier: float
    biases: tuple
    weights: dict

    def of(self, scheme):
        """Return the summed gain of a scheme.

        :raises KeyError: for a count of channels that was not measured
        """
        return self.biases[scheme.bias_layers] + sum(self.weights[c] for c in scheme.channels)


def trainable(graph):
    """Return the last convolutions of a graph with loss that a gradient reaches.

    None goes through what has no gradient, and the steps of an unrolled recurrent layer share
    their weights, so a network may have fewer of them than layers.
    """
    reached = {
        node.attrs["layer"] for node in differentiate(graph).nodes if node.op == "bias_gradient"
    }
    found = convolutions(graph)
    blocked = [
        i
        for i, node in enumerate(found)
        if node.attrs["layer"] not in reached or "like" in node.attrs
    ]
    return found[blocked[-1] + 1 :] if blocked else found


def options(graph, ratios=RATIOS):
    """Return [(layer, biases from it on, (counts))] for what is trainable, first to last."""
    nodes, found = trainable(graph), []
    for i, node in enumerate(nodes):
        depth = graph[node.inputs[0]].shape[0]
        counts = {max(1, int(depth * ratio)) for ratio in ratios}
        if not can_split(graph, node):
            counts = {depth}
        found.append((node.attrs["layer"], len(nodes) - i, tuple(sorted(counts))))
    return found


def jobs(graph, ratios=RATIOS, seeds=1):
    """Return every Job of an analysis."""
    found = [Job(k) for k in range(len(trainable(graph)) + 1)]
    for layer, biases, counts in options(graph, ratios):
        found += [Job(biases, layer, count) for count in counts]
    return [replace(job, seed=seed + 1) for seed in range(seeds) for job in found]


def run(case, job):
    """Return the validation accuracy after one fine-tune; a job of an executor."""
    tuner = Tuner(case.network, job.scheme, case.setting.optimizer)
    setting = replace(case.setting, seed=job.seed)
    tuner.tune(tuner.stored(case.tune[0]), case.tune[1], setting)
    return tuner.accuracy(tuner.stored(case.validate[0]), case.validate[1])


def measure(case, executor, keep=None, ratios=RATIOS, seeds=1, progress=None, workers=2):
    """Run all jobs; return the Contributions.

    :param executor: any concurrent.futures executor; Dask's Client.get_executor() gives one
    :param keep: file of finished jobs; those of the same case are not run again
    :param progress: called with (done, total, seconds left or None)
    :param workers: how many jobs run at once, for how many are handed out ahead
    :raises AcclimateError: where `keep` belongs to another case, or a job fails
    """
    wanted = jobs(case.network.graph, ratios, seeds)
    found = _Kept(keep, case.fingerprint())
    left = [job for job in wanted if job.key not in found.results]
    total, began, pending = len(wanted), time.monotonic(), {}
    todo = iter(left)
    try:
        for done in range(total - len(left), total + 1):
            if progress:
                progress(done, total, _left(began, done - total + len(left), total - done))
            while len(pending) < workers + _AHEAD and (job := next(todo, None)) is not None:
                pending[executor.submit(run, case, job)] = job
            if not pending:
                break
            ready = next(iter(wait(pending, return_when=FIRST_COMPLETED).done))
            job = pending.pop(ready)
            try:
                found.add(job.key, ready.result())
            except AcclimateError as error:
                raise AcclimateError(f"job {job.key}: {error}") from None
    finally:
        for future in pending:
            future.cancel()
    return summarize(case.network.graph, found.results, ratios, seeds)


def _left(began, done, left):
    """Return the seconds that the rest will take, or None before the first job is done."""
    return (time.monotonic() - began) / done * left if done else None


class _Kept:
    """Results by job, and the file that keeps them: a line of the case, then one per job."""

    def __init__(self, path, fingerprint):
        self.path, self.results = Path(path) if path else None, {}
        if self.path is None:
            return
        if self.path.exists() and self.path.stat().st_size:
            text = self.path.read_text(encoding="utf-8", errors="replace")
            lines = text.splitlines()
            if _line(lines[0]).get("case") != fingerprint:
                raise AcclimateError(
                    f"{self.path}: results of another network, samples or setting; "
                    "name another file or remove it"
                )
            for line in lines[1:]:
                row = _line(line)  # the last may be cut where the run was stopped
                job, accuracy = row.get("job"), row.get("accuracy")
                if isinstance(job, str) and isinstance(accuracy, int | float):
                    self.results[job] = accuracy
            if not text.endswith("\n"):
                self._append("\n")
        else:
            self._append(json.dumps({"case": fingerprint}) + "\n")

    def add(self, key, accuracy):
        self.results[key] = accuracy
        if self.path:
            self._append(json.dumps({"job": key, "accuracy": accuracy}) + "\n")

    def _append(self, text):
        with self.path.open("a") as file:
            file.write(text)


def _line(text):
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def summarize(graph, results, ratios=RATIOS, seeds=1):
    """Return the Contributions of {job key: accuracy}, means over seeds."""

    def mean(job):
        return statistics.mean(results[replace(job, seed=seed + 1).key] for seed in range(seeds))

    count = len(trainable(graph))
    by_bias = [mean(Job(k)) for k in range(count + 1)]
    weights = {
        (layer, n): mean(Job(biases, layer, n)) - by_bias[biases]
        for layer, biases, counts in options(graph, ratios)
        for n in counts
    }
    return Contributions(by_bias[0], tuple(b - by_bias[0] for b in by_bias), weights)


def from_gradients(case, ratios=RATIOS, samples=60):
    """Return the one-pass proxy: mean squared gradients instead of gains in accuracy.

    A step of plain descent lowers the loss by the rate times the squared gradient. `classifier`
    is 0. One pass over a few samples, no training.
    """
    graph = case.network.graph
    nodes = trainable(graph)
    whole = tuple((n.attrs["layer"], graph[n.inputs[0]].shape[0]) for n in nodes)
    tool = Simulation(case.network, Scheme(len(nodes), whole))
    x, labels = case.tune[0][:samples], case.tune[1][:samples]
    stored = case.network.quantize_input(x) if case.network.quantized else np.asarray(x)
    total = {}
    for sample, label in zip(stored, labels, strict=True):
        _, found = tool.gradients(sample, int(label))
        for name, gradient in found.items():
            axis = 0 if gradient.ndim == 1 or gradient.shape[1] == 1 else 1
            rest = tuple(i for i in range(gradient.ndim) if i != axis)
            total[name] = total.get(name, 0) + (gradient**2).sum(axis=rest) / len(stored)
    biases = [0.0]
    for node in reversed(nodes):
        biases.append(biases[-1] + float(total[node.attrs["layer"] + ".b"].sum()))
    weights = {
        (layer, n): float(total[layer + ".w"][:n].sum())
        for layer, _, counts in options(graph, ratios)
        for n in counts
    }
    return Contributions(0.0, tuple(biases), weights)


def to_json(contributions):
    """Return Contributions as JSON text."""
    data = asdict(contributions)
    data["weights"] = [[*key, value] for key, value in contributions.weights.items()]
    return json.dumps(data)


def from_json(text):
    data = json.loads(text)
    weights = {(layer, count): value for layer, count, value in data["weights"]}
    return Contributions(data["classifier"], tuple(data["biases"]), weights)
