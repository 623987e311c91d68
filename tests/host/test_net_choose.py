# SPDX-License-Identifier: MIT
"""Which scheme: order of channels, contributions through executors, exact choice, search."""

import itertools
import random
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from acclimate_host import paths
from acclimate_host.errors import AcclimateError
from acclimate_host.model.build import Builder
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.model.pretrain import pretrain
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse import compare
from acclimate_host.sparse import contribution as part
from acclimate_host.sparse.choose import Memory, exact, last_layers_that_fit
from acclimate_host.sparse.contribution import Case, Contributions, Job, from_gradients, measure
from acclimate_host.sparse.finetune import Setting
from acclimate_host.sparse.memory_bound import bound
from acclimate_host.sparse.permute import channels_by_size
from acclimate_host.sparse.scheme import Scheme
from acclimate_host.twin import net as twin_net
from bench.papers.under_256kb.evolution import evolve

needs_twin = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
pytestmark = pytest.mark.filterwarnings("ignore:Constructing LpVariable:DeprecationWarning")
RATIOS = (0.5, 1.0)


def graph_of(edge=10):
    build = Builder("net", (2, edge, edge))
    y = build.conv("c0", build.x, 6, 3, 2)
    start = build.conv("c1", y, 4, relu=False)
    y = build.conv("c2", start, 8)
    y = build.conv("c3", y, 8, 3, groups=8)
    y = build.conv("c4", y, 4, relu=False)
    y = build.add("a0", start, y)
    return build.classify(build.pool("p", y), 3)


@pytest.fixture(scope="module")
def case():
    random_ = np.random.default_rng(1)
    labels = random_.integers(0, 3, 120)
    x = random_.normal(0, 0.4, (120, 2, 10, 10))
    x[:, 0, 2:5, 2:8] += labels[:, None, None] - 1.0
    network = pretrain(graph_of(), x[:80], labels[:80], epochs=6, batch=16)
    small = with_loss(quantize(network, x[:80])[0])
    turned = np.rot90(x, axes=(2, 3))
    return Case(
        small, (turned[80:100], labels[80:100]), (turned[100:], labels[100:]), Setting(0.05, 1)
    )


def test_reordered_channels_give_the_same_outputs_and_come_largest_first(case):
    network = channels_by_size(case.network)
    x = case.network.quantize_input(case.tune[0])
    assert Int8Run(network).predict(x).tobytes() == Int8Run(case.network).predict(x).tobytes()
    assert any((network.values[k] != v).any() for k, v in case.network.values.items())
    scale = np.asarray(network.graph["c4.w"].scale)[:, None, None, None]
    size = np.abs(network.values["c4.w"] * scale).sum(axis=(0, 2, 3))
    depthwise = np.abs(
        network.values["c3.w"] * np.asarray(network.graph["c3.w"].scale)[:, None, None, None]
    )
    both = size / size.max() + depthwise.sum(axis=(1, 2, 3)) / depthwise.sum(axis=(1, 2, 3)).max()
    assert (np.diff(both) <= 1e-12).all()


def test_chosen_layers_alone_decide_the_order(case):
    network = channels_by_size(case.network, {"c4"})
    scale = np.asarray(network.graph["c4.w"].scale)[:, None, None, None]
    size = np.abs(network.values["c4.w"] * scale).sum(axis=(0, 2, 3))
    assert (np.diff(size) <= 1e-12).all()


@needs_twin
@pytest.mark.parametrize("pool", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_any_executor_gives_the_same_contributions(case, pool):
    seen = []
    with pool(2) as executor:
        found = measure(case, executor, ratios=(1.0,), progress=lambda *row: seen.append(row))
    assert found == measure(case, _Here(), ratios=(1.0,))
    count = len(part.jobs(case.network.graph, (1.0,)))
    assert [row[:2] for row in seen] == [(i, count) for i in range(count + 1)]
    assert seen[0][2] is None and seen[-1][2] == 0
    assert found.biases[0] == 0 and len(found.biases) == 6 and len(found.weights) == 5


@pytest.mark.slow
@needs_twin
def test_a_dask_cluster_of_two_processes_gives_the_same_contributions(case, tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            local_directory=str(tmp_path),
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster.scheduler_address) as client,
    ):
        assert len(client.scheduler_info()["workers"]) == 2
        found = measure(case, client.get_executor(), ratios=(1.0,))
    assert found == measure(case, _Here(), ratios=(1.0,))


class _Here(Executor):
    """Runs a job where it is submitted, and counts; after `limit` jobs it fails."""

    def __init__(self, limit=None):
        self.count, self.limit = 0, limit

    def submit(self, function, *arguments):
        self.count += 1
        future = Future()
        if self.limit is not None and self.count > self.limit:
            future.set_exception(KeyboardInterrupt())
        else:
            future.set_result(function(*arguments))
        return future


@needs_twin
def test_an_analysis_that_was_stopped_goes_on_where_it_was(case, tmp_path):
    keep = tmp_path / "jobs.jsonl"
    with pytest.raises(KeyboardInterrupt):
        measure(case, _Here(5), keep, (1.0,))
    done = len(keep.read_text().splitlines()) - 1
    assert 1 <= done <= 5
    with keep.open("a") as file:
        file.write('{"job": "3 - 0 1", "accu')  # cut in the middle of a line
    rest = _Here()
    found = measure(case, rest, keep, (1.0,))
    assert rest.count == len(part.jobs(case.network.graph, (1.0,))) - done
    assert found == measure(case, _Here(0), keep, (1.0,))


@needs_twin
def test_results_of_another_case_are_refused(case, tmp_path):
    keep = tmp_path / "jobs.jsonl"
    measure(case, _Here(), keep, (1.0,))
    other = Case(case.network, case.tune, case.validate, Setting(0.02, 1))
    with pytest.raises(AcclimateError, match="another network"):
        measure(other, _Here(), keep, (1.0,))


def test_contributions_survive_json():
    found = Contributions(0.5, (0.0, 0.1), {("c0", 3): 0.25})
    assert part.from_json(part.to_json(found)) == found


def test_gradients_rank_what_moves_the_loss(case):
    found = from_gradients(case, RATIOS, 10)
    assert all(b >= a for a, b in itertools.pairwise(found.biases))
    assert all(value >= 0 for value in found.weights.values())
    for layer in ("c1", "c2", "c4"):
        half, whole = sorted(n for name, n in found.weights if name == layer)
        assert found.weights[layer, whole] >= found.weights[layer, half]


def random_contributions(graph, seed):
    choose = random.Random(seed)
    count = sum(node.op == "conv" for node in graph.nodes)
    biases, weights = [0.0], {}
    for _ in range(count):
        biases.append(biases[-1] + choose.uniform(-0.02, 0.08))
    for layer, _, counts in part.options(graph, RATIOS):
        value = 0.0
        for n in counts:
            value += choose.uniform(-0.03, 0.1)
            weights[layer, n] = value
    return Contributions(0.5, tuple(biases), weights)


def every_scheme(graph):
    count = sum(node.op == "conv" for node in graph.nodes)
    rows = part.options(graph, RATIOS)
    for k in range(count + 1):
        choices = [[None, *counts] if needs <= k else [None] for _, needs, counts in rows]
        for chosen in itertools.product(*choices):
            yield Scheme(k, tuple((row[0], n) for row, n in zip(rows, chosen, strict=True) if n))


@pytest.fixture(scope="module")
def memory():
    memory = Memory(graph_of())
    for scheme in every_scheme(memory.graph):
        memory(scheme)
    return memory


def test_bound_is_never_above_the_arena(memory):
    found = bound(memory.graph, RATIOS)
    ratios = [found.of(scheme) / size for scheme, size in memory.known.items()]
    assert max(ratios) <= 1 and max(ratios) > 0.7


@pytest.mark.parametrize("seed", range(3))
def test_exact_choice_equals_trying_every_scheme(memory, seed):
    graph, gains = memory.graph, random_contributions(memory.graph, seed)
    sizes = sorted(memory.known.values())
    for share in (0.02, 0.3, 0.8, 1.0):
        budget = sizes[int(share * (len(sizes) - 1))]
        fits = [scheme for scheme, size in memory.known.items() if size <= budget]
        wanted = max(gains.of(scheme) for scheme in fits)
        got = exact(graph, gains, budget, RATIOS, memory, limit=3000)
        assert got.proven and got.arena_bytes <= budget
        assert got.gain == pytest.approx(wanted, abs=1e-9)


def test_search_and_last_layers_fit_and_never_beat_the_exact_choice(memory):
    graph, gains = memory.graph, random_contributions(memory.graph, 9)
    budget = int(np.median(list(memory.known.values())))
    best = exact(graph, gains, budget, RATIOS, memory, limit=3000)
    for other in (
        evolve(graph, gains, budget, RATIOS, memory),
        last_layers_that_fit(graph, gains, budget, RATIOS, memory),
    ):
        assert other.arena_bytes <= budget and other.gain <= best.gain + 1e-9
    again = evolve(graph, gains, budget, RATIOS, memory)
    assert again.scheme == evolve(graph, gains, budget, RATIOS, memory).scheme


def test_an_arena_below_the_classifier_is_refused(memory):
    gains = random_contributions(memory.graph, 1)
    for method in (exact, evolve, last_layers_that_fit):
        with pytest.raises(AcclimateError, match="classifier alone needs"):
            method(memory.graph, gains, 100, RATIOS, memory)


def test_job_keys_differ():
    found = part.jobs(graph_of(), RATIOS, seeds=2)
    assert len({job.key for job in found}) == len(found)
    assert Job(3, "c1", 2).scheme == Scheme(3, (("c1", 2),))


def test_without_the_repository_the_paper_s_search_is_left_out(memory, monkeypatch):
    graph, gains = memory.graph, random_contributions(memory.graph, 3)
    budget = 1 << 20
    whole = compare.choices(graph, gains, gains, budget, RATIOS, memory, 2, 4)
    monkeypatch.setattr(paths, "repository", lambda: None)
    alone = compare.choices(graph, gains, gains, budget, RATIOS, memory, 2, 4)
    assert [choice.method for choice in whole] == list(compare.METHODS)
    assert [choice.method for choice in alone] == ["last layers", "exact", "proxy"]
