# SPDX-License-Identifier: MIT
"""Problems at the edges: costs of nothing, alike or enormous, limits just met, damaged files."""

import copy
import json
import random
from dataclasses import replace

import pytest
from test_poet_baselines import chain

from acclimate_host.poet import greedy, methods
from acclimate_host.poet.answer import Infeasible
from acclimate_host.poet.column_values import tidy
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.exhaustive import search
from acclimate_host.poet.problem import Budget, Graph, Node, PlanError, from_json, to_json
from acclimate_host.poet.solve import solve
from bench.papers.poet import METHODS
from bench.poet_random import differs, problem
from harness.errors import naming

COSTS = (
    "compute_energy",
    "compute_time",
    "pagein_energy",
    "pagein_time",
    "pageout_energy",
    "pageout_time",
)


def changed(graph, change):
    rng = random.Random(1)
    return Graph(tuple(change(node, rng) for node in graph.nodes), graph.resident_bytes)


def same(value):
    return lambda node, rng: replace(node, **dict.fromkeys(COSTS, value))


def scaled(factor):
    def change(node, rng):
        return replace(node, **{name: getattr(node, name) * factor for name in COSTS})

    return change


def mixed(node, rng):
    return replace(node, **{name: 10.0 ** rng.randint(-6, 6) for name in COSTS})


def gaps(node, rng):
    """Some costs and some tensors are nothing."""
    free = {name: 0.0 for name in COSTS if rng.random() < 0.4}
    return replace(node, ram_bytes=node.ram_bytes * (rng.random() < 0.7), **free)


@pytest.mark.parametrize(
    "change",
    [
        same(0.0),
        same(1.0),
        scaled(1e12),
        scaled(1e-9),
        mixed,
        gaps,
    ],
    ids=["zero", "equal", "huge", "tiny", "mixed", "gaps"],
)
def test_strange_costs_agree_with_exhaustive_search(change):
    for seed in range(900, 925):
        graph, budget = problem(seed, most=6)
        graph, budget = changed(graph, change), replace(budget, deadline=None)
        assert not differs(graph, budget, search(graph, budget)), seed


def test_nodes_that_nothing_reads_agree_with_exhaustive_search():
    rng = random.Random(5)
    for seed in range(20):
        graph, budget = problem(seed, most=6)
        nodes = tuple(
            replace(node, deps=tuple(d for d in node.deps if rng.random() < 0.5))
            for node in graph.nodes
        )
        graph = Graph(nodes, graph.resident_bytes)
        assert not differs(graph, budget, search(graph, budget)), seed


def exact_cases(count):
    """Problems with an optimal plan that pages, and its verdict."""
    seed = 2000
    while count:
        graph, budget = problem(seed, most=6)
        budget = replace(budget, deadline=None, aux_bytes=None)
        best, seed = search(graph, budget), seed + 1
        verdict = best and evaluate(graph, budget, best[1])
        if best and verdict.written_bytes:
            count -= 1
            yield graph, budget, verdict


@pytest.mark.slow
def test_limits_that_the_best_plan_just_meets_are_no_hindrance_and_less_is():
    tighter = 0
    for graph, budget, verdict in exact_cases(15):
        for name, value, step in (
            ("deadline", verdict.serial_time, 0.5),
            ("aux_bytes", verdict.written_bytes, 1),
        ):
            exact = replace(budget, **{name: value})
            assert solve(graph, exact).energy == pytest.approx(verdict.energy, rel=1e-9)
            less = replace(budget, **{name: value - step})
            best = search(graph, less)
            assert not differs(graph, less, best)
            tighter += best is None or best[0] > verdict.energy
    assert tighter > 5


@pytest.mark.slow
def test_an_erase_budget_agrees_with_exhaustive_search():
    for graph, budget, verdict in exact_cases(12):
        for blocks in range(3):
            limited = replace(budget, erase_block_bytes=2, erase_budget=blocks)
            assert not differs(graph, limited, search(graph, limited))
        everything = -(-verdict.written_bytes // 2) + len(graph.nodes)
        enough = replace(budget, erase_block_bytes=2, erase_budget=everything)
        assert solve(graph, enough).energy == pytest.approx(verdict.energy, rel=1e-9)


def test_a_damaged_file_is_one_clear_line_or_a_problem():
    graph, budget, _ = next(exact_cases(1))
    whole = json.loads(json.dumps(to_json(graph, budget, search(graph, budget)[1])))
    rng, refused = random.Random(7), 0
    junk = (
        None,
        -1,
        "x",
        [],
        {},
        float("nan"),
        1e308,
        True,
        [["compute"]],
        [[1, 2, 3]],
        1.5,
        10**30,
        [["compute", ["n0"]]],
    )
    for _ in range(600):
        data = copy.deepcopy(whole)
        places = [(data, key) for key in data] + [(data["budget"], key) for key in data["budget"]]
        places += [(node, key) for node in data["nodes"] for key in node]
        for place, key in rng.sample(places, rng.choice((1, 1, 2))):
            if rng.random() < 0.3:
                place.pop(key, None)
            else:
                place[key] = rng.choice(junk)
        try:
            found, limits, plan, _ = from_json(data)
            evaluate(found, limits, plan)
            for method in METHODS:
                methods.run(method, found, limits)
        except PlanError as error:
            refused += 1
            assert "\n" not in str(error) and len(str(error)) < 200, error
    assert refused > 300


def test_one_node_and_a_budget_of_nothing():
    graph = Graph((Node("a", (), 4, 0, 1.0, 1.0),))
    assert solve(graph, Budget(4)).plan == (("compute", "a"), ("free", "a"))
    with pytest.raises(Infeasible, check=naming(4)):
        solve(graph, Budget(0))
    assert solve(Graph((Node("a"),)), Budget(0)).energy == 0


def test_a_greedy_plan_of_a_very_deep_graph():
    graph, budget = chain(500), Budget(60)
    steps = next(greedy.plans(graph, budget, tries=1, seconds=1.0))
    assert evaluate(graph, budget, tidy(graph, steps)).valid


def test_what_always_stays_is_whole_bytes():
    with pytest.raises(PlanError, check=naming(1.5)):
        Graph((Node("a"),), resident_bytes=1.5)
