# SPDX-License-Identifier: MIT
"""Fine-tuning on a new task: the twin, float32, and the stores that are known to fail."""

import numpy as np
import pytest

from acclimate_host.compile.step import training_step
from acclimate_host.model import float_run, int8
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError
from acclimate_host.model.network import Network
from acclimate_host.model.pretrain import pretrain
from acclimate_host.model.quantize import quantize
from acclimate_host.model.small import inverted_residual
from acclimate_host.sparse.finetune import Setting, Tuner
from acclimate_host.sparse.scheme import Scheme, full
from acclimate_host.sparse.simulate import Simulation
from acclimate_host.twin import net as twin_net
from bench import transfer_tasks as tasks
from harness.errors import naming

needs_twin = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
SPARSE, CLASSIFIER = Scheme(9, (("c4", 8), ("c7", 16), ("c10", 24))), Scheme(0)


@pytest.fixture(scope="module")
def case():
    """(task, float network, int8 network): digits known upright, to be learned turned."""
    task = tasks.rotated("digits", *tasks.digits(), seed=3, base=700)
    network = pretrain(task.graph, *task.base, epochs=6, seed=3)
    return task, network, quantize(network, task.base[0][:200])[0]


def simulated(case, quantized, scheme, rate=0.03, epochs=4, **options):
    task, network, small = case
    net = small if quantized else network
    run = Simulation(net, scheme, **options)
    stored = net.quantize_input if quantized else np.asarray
    run.tune(stored(task.tune[0][:200]), task.tune[1][:200], Setting(rate, epochs))
    return run.accuracy(stored(task.test[0]), task.test[1])


@pytest.fixture(scope="module")
def classifier_only(case):
    return simulated(case, True, CLASSIFIER, 0.1)


@pytest.mark.slow
def test_pretrained_network_knows_its_task_in_int8_too(case):
    task, network, small = case
    upright = -np.rot90(task.test[0], 3, axes=(2, 3))
    known = float_run.accuracy(network, upright, task.test[1])
    assert known > 0.9
    assert int8.accuracy(small, small.quantize_input(upright), task.test[1]) > known - 0.02


@pytest.mark.slow
@pytest.mark.case("J11")
@needs_twin
def test_int8_on_the_twin_learns_what_float_learns(case, classifier_only):
    task, _, small = case
    tuner = Tuner(small, SPARSE)
    losses = tuner.tune(tuner.stored(task.tune[0][:200]), task.tune[1][:200], Setting(0.03, 4))
    got = tuner.accuracy(tuner.stored(task.test[0]), task.test[1])
    assert losses[-1] < losses[0] / 3
    assert got > simulated(case, False, SPARSE) - 0.04
    assert got > classifier_only + 0.12


@needs_twin
@pytest.mark.slow
def test_twin_predicts_what_numpy_computes(case):
    task, _, small = case
    tuner = Tuner(small, SPARSE)
    inputs = tuner.stored(task.test[0][:40])
    wanted = int8.Int8Run(small).predict(small.quantize_input(task.test[0][:40]))
    for x, row in zip(inputs, wanted, strict=True):
        tuner.net.predict(x)
        assert bytes(tuner.net.outputs()) == row.tobytes()


@needs_twin
def test_training_is_the_same_with_the_same_seed_and_starts_afresh(case):
    task, _, small = case
    tuner = Tuner(small, SPARSE)
    inputs = tuner.stored(task.tune[0][:20])
    found = []
    for seed in (1, 2, 1):
        tuner.tune(inputs, task.tune[1][:20], Setting(0.03, 1, seed))
        found.append(tuner.weights())
    assert found[0] == found[2] != found[1]


@pytest.mark.slow
def test_a_store_that_truncates_destroys_the_network(case, classifier_only):
    assert simulated(case, True, SPARSE, store="truncate") < classifier_only - 0.2


@pytest.mark.case("J11")
@pytest.mark.slow
def test_without_scaling_only_the_classifier_learns(case, classifier_only):
    got = simulated(case, True, SPARSE, 0.1, scaling=False)
    assert abs(got - classifier_only) < 0.06
    assert simulated(case, True, SPARSE) > got + 0.1


@pytest.mark.case("J2")
def test_shuffled_labels_teach_nothing(case):
    task, network, _ = case
    run = Simulation(network, SPARSE)
    labels = np.random.default_rng(1).permutation(task.tune[1][:100])
    run.tune(task.tune[0][:100], labels, Setting(0.03, 1))
    assert run.accuracy(task.test[0], task.test[1]) < 0.35


def test_simulated_gradients_equal_central_differences():
    build = Builder("net", (2, 9, 7))
    start = build.conv("c0", build.x, 4, 3, 2)
    y = build.conv("c1", start, 6, (3, 1), groups=2, limit=np.inf)
    y = build.conv("c2", y, 6, 3, groups=6)
    y = build.conv("c3", y, 4, relu=False)
    graph = build.classify(build.pool("p", build.add("a", start, y)), 3)
    network = pretrain(graph, *_noise(40), epochs=1)
    scheme = Scheme(4, (("c0", 2), ("c1", 4), ("c2", 3), ("c3", 6)))
    found = _check_slopes(Simulation(network, scheme))
    assert found["c2.w"].shape == (3, 1, 3, 3) and found["c0.w"].shape == (4, 2, 3, 3)


def test_simulated_gradients_through_pools_equal_central_differences():
    build, random = Builder("net", (2, 9, 7)), np.random.default_rng(2)
    y = build.conv("c0", build.x, 4, 3, relu=False)
    y = build.sliding_pool("max_pool", "m", y, 3, (2, 1), (1, 0, 2, 1))
    y = build.sliding_pool("average_pool", "v", y, (2, 3), 1, (1, 2, 0, 1))
    y = build.conv("c1", build.pad("n", y, (0, 2, 1, 0)), 4, 3, relu=False)
    y = build.sliding_pool("max_pool", "g", y, build.tensors[y].shape[1:], 1)
    graph = build.classify(y, 3)
    values = {
        name: random.normal(0, 0.5, tensor.shape).astype(np.float32)
        for name, tensor in graph.tensors.items()
        if tensor.kind == "frozen"
    }
    _check_slopes(Simulation(Network(graph, values), full(graph)))


def test_sums_whose_inputs_are_both_read_again_have_gradients():
    build, random = Builder("net", (2, 5, 4)), np.random.default_rng(2)
    left = build.conv("c0", build.x, 3, 3, relu=False)
    right = build.conv("c1", left, 3, 3, relu=False)
    both = build.add("a0", left, right)
    build.clamp(both, 6.0)
    y = build.add("a1", build.add("a2", left, right), build.add("a3", both, both))
    graph = build.classify(build.pool("p", y), 3)
    values = {
        name: random.normal(0, 0.3, tensor.shape).astype(np.float32)
        for name, tensor in graph.tensors.items()
        if tensor.kind == "frozen"
    }
    _check_slopes(Simulation(Network(graph, values), full(graph)))
    step = training_step(graph, full(graph))
    made = [node.outputs[0] for node in step.graph.nodes if node.op == "sum_gradients"]
    assert len(made) == len(set(made)) == 4


def _check_slopes(run):
    x, label = _noise(1)[0][0], 1
    _, found = run.gradients(x, label)
    random, epsilon = np.random.default_rng(1), 1e-6
    for name, gradient in found.items():
        for _ in range(4):
            at = tuple(random.integers(edge) for edge in gradient.shape)
            losses = []
            for sign in (1, -1):
                run.values[name][at] += sign * epsilon
                losses.append(run.gradients(x, label)[0])
                run.values[name][at] -= sign * epsilon
            slope = (losses[0] - losses[1]) / (2 * epsilon)
            assert gradient[at] == pytest.approx(slope, abs=1e-6), name
    return found


def _noise(count):
    random = np.random.default_rng(5)
    return random.normal(0, 1, (count, 2, 9, 7)), random.integers(0, 3, count)


def test_pretraining_says_when_it_diverges_or_cannot():
    task = tasks.rotated("digits", *tasks.digits(), seed=1, base=64)
    with pytest.raises(GraphError, match="lower rate"), np.errstate(all="ignore"):
        pretrain(task.graph, task.base[0] * np.nan, task.base[1], epochs=1)
    build = Builder("net", (1, 8, 8))
    y = build.sliding_pool("max_pool", "m", build.x, 2, 2)
    graph = build.classify(y, 3)
    with pytest.raises(GraphError, check=naming("max_pool")):
        pretrain(graph, np.zeros((4, 1, 8, 8)), np.zeros(4, int), batch=2)


def test_parts_of_a_task_share_no_sample():
    images, labels = tasks.digits()
    task = tasks.rotated("digits", images, labels, seed=1)
    parts = [tasks.turned(task.base[0]), task.tune[0], task.validate[0], task.test[0]]
    assert sum(len(part) for part in parts) == len(images)
    assert len(parts[3]) == 447
    seen = [image.tobytes() for part in parts for image in np.ascontiguousarray(part)]
    repeats = len(images) - len({image.tobytes() for image in images})
    assert len(seen) - len(set(seen)) == repeats


def test_signal_network_has_the_same_blocks():
    graph = inverted_residual("watch", (6, 128, 1), 7, 2)
    assert graph["c0.w"].shape == (8, 6, 5, 1) and graph["pool.y"].shape == (24, 1, 1)
