# SPDX-License-Identifier: MIT
"""Published planning methods: their known counts and bounds, and no plan beats the oracle."""

import math
import random

import pytest

from acclimate_host.poet import methods
from acclimate_host.poet.evaluate import CLOCKS, evaluate
from acclimate_host.poet.exhaustive import search
from acclimate_host.poet.graphs import network_graph
from acclimate_host.poet.problem import Budget, Graph, Node, PlanError
from bench.papers.poet import METHODS
from bench.papers.poet.chain import cuts
from bench.papers.poet.chen import sqrt_n
from bench.papers.poet.pofo import pofo
from bench.papers.poet.revolve import advances, revolve, schedule
from bench.papers.poet.tape import Stuck
from harness.errors import naming


def chain(length, rng=None, page=1.0, last=0):
    """Forward f0..f(n-1), then gradients that read both ends of their step; unit costs."""

    def costs(scale=1):
        time = rng.randint(1, 9) if rng else scale
        move = page * (rng.randint(1, 5) if rng else 1)
        size = rng.randint(1, 4) if rng else 1
        return dict(
            ram_bytes=size,
            compute_energy=time,
            compute_time=time,
            pagein_energy=move,
            pagein_time=move,
            pageout_energy=move,
            pageout_time=move,
        )

    nodes = [Node(f"f{i}", (f"f{i - 1}",) if i else (), **costs()) for i in range(length)]
    before = f"f{length - 1}"
    for i in range(length - 2, -1, -1):
        name = f"f{i}.grad"
        deps = tuple(dict.fromkeys((f"f{i}", f"f{i + 1}", before)))
        nodes.append(Node(name, deps, recomputable=False, **costs()))
        before = name
    return Graph(tuple(nodes))


def forward_runs(plan):
    return [name for kind, name in plan if kind == "compute" and not name.endswith(".grad")]


@pytest.mark.parametrize("slots", range(1, 7))
def test_revolve_needs_the_binomial_number_of_advances(slots):
    for length in range(1, 40):
        repeats = next(r for r in range(length + 1) if math.comb(slots + r, slots) >= length)
        least = repeats * length - math.comb(slots + repeats, repeats - 1) if repeats else 0
        assert advances(length, slots) == least, (length, slots)
        steps = schedule(length, slots)
        assert sum(s[2] - s[1] for s in steps if s[0] == "advance") == least
        assert [s[1] for s in steps if s[0] == "turn"] == list(range(length))[::-1]


@pytest.mark.parametrize("length", [2, 5, 9, 17])
def test_revolve_keeps_its_slots_and_runs_no_more_than_its_count(length):
    graph = chain(length)
    for slots in range(1, length):
        # beside the checkpoints: both ends of the step, two gradients
        budget = Budget(slots + 4)
        plan = revolve(graph, budget)
        assert evaluate(graph, budget, plan).valid
        assert len(forward_runs(plan)) <= length + advances(length - 1, slots)


@pytest.mark.parametrize("length", [16, 64, 100, 225])
def test_chen_takes_two_square_roots_of_memory_and_one_more_forward_pass(length):
    plan = sqrt_n(chain(length), Budget(length * 9))
    verdict = evaluate(chain(length), Budget(length * 9), plan)
    assert verdict.peak_ram <= 2 * math.ceil(math.sqrt(length)) + 3
    runs = forward_runs(plan)
    assert max(runs.count(name) for name in set(runs)) == 2


def test_chen_greedy_costs_less_the_more_memory_there_is():
    graph = network_graph("vgg16_cifar", "m4")
    energies = [
        methods.run("chen_greedy", graph, Budget(ram)).verdict.energy
        for ram in (1_200_000, 1_600_000, 2_000_000, 2_500_000)
    ]
    assert energies == sorted(energies, reverse=True)
    assert energies[-1] == pytest.approx(sum(node.compute_energy for node in graph.nodes))


def test_chains_are_cut_everywhere_and_short_cuts_are_respected():
    assert cuts(chain(5)) == [0, 1, 2, 3, 4]
    graph = network_graph("resnet18_cifar", "m4")
    names = [graph.nodes[v].id for v in cuts(graph)]
    assert "relu2" not in names and "add1" in names and names[0] == "input"


@pytest.mark.parametrize("length", [3, 4, 6, 9, 14])
def test_pofo_without_storage_is_as_good_as_the_binomial_schedule(length):
    graph = chain(length, page=1000.0)
    for room in range(4, length + 4):
        budget = Budget(room, aux_bytes=0)
        try:
            known = revolve(graph, budget)
        except Stuck:
            continue
        plan = pofo(graph, budget, slots=room)
        assert evaluate(graph, budget, plan).valid
        assert len(forward_runs(plan)) <= len(forward_runs(known)), (length, room)


@pytest.mark.parametrize("page", [0.05, 0.4, 3.0])
def test_pofo_is_optimal_on_small_chains_where_a_hierarchy_is(page):
    equal = solved = 0
    for seed in range(5):
        graph = chain(4, random.Random(seed), page)
        for ram in range(9, 20, 2):
            budget = Budget(ram)
            best = search(graph, budget)
            outcome = methods.run("pofo", graph, budget)
            if outcome.plan is None:
                continue
            solved += 1
            assert outcome.verdict.energy >= best[0] - 1e-9
            equal += outcome.verdict.energy <= best[0] + 1e-9
    assert solved >= 20 and equal > 0.7 * solved, (solved, equal)


def test_dtr_evicts_the_cheapest_bytes_first():
    cost = {"a": (4, 9.0), "b": (4, 1.0), "c": (1, 100.0), "e": (4, 1.0), "d": (1, 1.0)}
    deps = {"e": ("c",), "d": ("a", "b", "c")}
    graph = Graph(
        tuple(
            Node(name, deps.get(name, ()), size, 0, time, time)
            for name, (size, time) in cost.items()
        )
    )
    plan = methods.run("dtr", graph, Budget(12)).plan
    assert plan[3] == ("free", "b") and plan.count(("compute", "a")) == 1
    assert plan.count(("compute", "b")) == 2
    assert "no room for" in methods.run("dtr", graph, Budget(8)).fault


def test_capuchin_swaps_what_hides_and_recomputes_what_does_not():
    fast = methods.run("capuchin", chain(12, page=0.1), Budget(8)).plan
    slow = methods.run("capuchin", chain(12, page=1000.0), Budget(8)).plan
    assert ("pageout", "f2") in fast and len(forward_runs(fast)) == 12
    assert not any(kind == "pageout" for kind, _ in slow) and len(forward_runs(slow)) > 12


@pytest.mark.parametrize("seed", range(24))
def test_no_method_beats_the_oracle_or_breaks_a_limit(seed):
    rng = random.Random(seed)
    graph = chain(rng.randint(2, 4), rng, rng.choice([0.1, 0.5, 2.0]))
    budget = Budget(rng.randint(4, 20))
    best = search(graph, budget)
    for name in METHODS:
        for clock in CLOCKS:
            outcome = methods.run(name, graph, budget, clock)
            assert (outcome.plan is None) == bool(outcome.fault)
            if outcome.plan is None:
                continue
            assert best is not None, (seed, name)
            assert evaluate(graph, budget, outcome.plan, clock).valid
            assert outcome.verdict.energy >= best[0] - 1e-9, (seed, name)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("style", ["chain", "autodiff"])
@pytest.mark.parametrize("net", ["linear", "vgg16_cifar", "resnet18_cifar", "transformer"])
def test_with_enough_memory_every_method_has_a_plan(name, style, net):
    graph = network_graph(net, "m4", style)
    outcome = methods.run(name, graph, Budget(1 << 40))
    assert outcome.fault == "" and outcome.verdict.valid
    least = sum(node.compute_energy for node in graph.nodes)
    if name not in ("chen_sqrt", "revolve"):
        assert outcome.verdict.energy == pytest.approx(least)


def test_an_unknown_method_is_one_line():
    with pytest.raises(PlanError, check=naming("magic")):
        methods.run("magic", chain(2), Budget(9))
    graph = Graph((Node("a", ram_bytes=1),))
    assert "no backward pass" in methods.run("revolve", graph, Budget(9)).fault


def test_a_graph_that_is_too_deep_for_a_method_is_a_fault(monkeypatch):
    def endless(graph, budget, clock):
        return endless(graph, budget, clock)

    monkeypatch.setitem(METHODS, "dtr", endless)
    outcome = methods.run("dtr", chain(3), Budget(9))
    assert outcome.plan is None and outcome.fault == "dtr does not reach so deep: 5 tensors"
