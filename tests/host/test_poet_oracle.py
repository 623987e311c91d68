# SPDX-License-Identifier: MIT
"""Problem files, the evaluator and the exhaustive oracle of the planner."""

import json
import random

import pytest

from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.exhaustive import search
from acclimate_host.poet.problem import (
    Budget,
    Graph,
    Node,
    PlanError,
    check_budget,
    from_json,
    to_json,
)
from harness.errors import naming


def _skip():
    """A chain a, b, c and then d, which reads a and c; one byte each."""
    cost = dict(
        ram_bytes=1,
        compute_energy=1.0,
        compute_time=1.0,
        pagein_energy=0.25,
        pagein_time=5.0,
        pageout_energy=0.25,
        pageout_time=5.0,
    )
    return Graph(
        (
            Node("a", **cost),
            Node("b", ("a",), **cost),
            Node("c", ("b",), **cost),
            Node("d", ("a", "c"), **cost),
        )
    )


def test_problem_survives_json():
    graph, budget = _skip(), Budget(3, 9.0, 4)
    data = json.loads(json.dumps(to_json(graph, budget, (("compute", "a"),), {"energy": 1.0})))
    assert from_json(data) == (graph, budget, (("compute", "a"),), {"energy": 1.0})


@pytest.mark.parametrize(
    "nodes",
    [
        (),
        (Node("a"), Node("a")),
        (Node("a", ("b",)), Node("b", ("a",))),
        (Node("a", ("z",)),),
        (Node("a", compute_energy=-1.0),),
        (Node("a", pagein_time=float("nan")),),
    ],
)
def test_a_bad_graph_is_one_clear_line(nodes):
    with pytest.raises(PlanError) as caught:
        Graph(nodes)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 100


def test_a_node_larger_than_the_budget_is_named():
    with pytest.raises(PlanError, check=naming("b", 2, 1)):
        check_budget(_skip(), Budget(1))


def test_oracle_keeps_then_pages_then_recomputes_as_limits_tighten():
    graph = _skip()
    assert search(graph, Budget(4))[0] == 4.0
    tight = Graph((*graph.nodes[:3], Node("d", ("a", "c"), 0, 1, 1.0, 1.0)))
    assert search(tight, Budget(3))[0] == 4.0
    assert search(tight, Budget(2)) is None
    chain = Graph((*graph.nodes[:2], Node("c", ("b",), 1, 1, 1.0, 1.0), graph.nodes[3]))
    assert search(chain, Budget(3))[0] == pytest.approx(4.5)
    assert search(chain, Budget(3, deadline=5.0))[0] == 5.0
    assert search(chain, Budget(3, aux_bytes=0))[0] == 5.0
    assert search(chain, Budget(3, deadline=4.0)) is None


@pytest.mark.case("L3")
def test_evaluator_refuses_a_missing_input_and_too_much_ram():
    plan = [("compute", "a"), ("free", "a"), ("compute", "b")]
    assert "input a is not in RAM" in evaluate(_skip(), Budget(9), plan).fault
    everything = [("compute", name) for name in "abcd"]
    assert evaluate(_skip(), Budget(4), everything).valid
    assert "needs 4 bytes" in evaluate(_skip(), Budget(3), everything).fault


def _random(rng, most=5):
    """A chain with skips, or (half the time) an arbitrary graph with several orders."""
    nodes = []
    chain = rng.random() < 0.5
    for i in range(rng.randint(2, most)):
        deps = tuple(f"n{j}" for j in range(i) if chain and j == i - 1 or rng.random() < 0.3)
        nodes.append(
            Node(
                f"n{i}",
                deps,
                rng.randint(1, 4),
                rng.randint(0, 2),
                *(rng.randint(1, 9) for _ in range(6)),
            )
        )
    return Graph(tuple(nodes), rng.randint(0, 2))


@pytest.mark.case("L3")
@pytest.mark.parametrize("seed", range(30))
def test_every_plan_of_the_oracle_passes_the_evaluator(seed):
    rng = random.Random(seed)
    graph = _random(rng)
    budget = Budget(rng.randint(4, 14), rng.choice([None, 20, 60]))
    given, free = search(graph, budget), search(graph, budget, free_order=True)
    if given is None:
        return
    verdict = evaluate(graph, budget, given[1])
    assert verdict.valid, (seed, verdict.fault)
    assert verdict.energy == pytest.approx(given[0])
    assert free[0] <= given[0] + 1e-9
