# SPDX-License-Identifier: MIT
"""The judge of every plan: each fault that it can name has an input, and right plans none."""

from dataclasses import replace

import pytest

from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.exhaustive import search
from acclimate_host.poet.problem import Budget, Graph, Node
from bench.poet_random import training

COSTS = dict(
    compute_energy=1.0,
    compute_time=2.0,
    pagein_energy=3.0,
    pagein_time=5.0,
    pageout_energy=7.0,
    pageout_time=11.0,
)
GRAPH = Graph(
    (
        Node("a", (), 4, 1, **COSTS),
        Node("b", ("a",), 3, 0, **COSTS, recomputable=False),
        Node("c", ("b",), 2, 2, **COSTS, pageable=False),
        Node("d", ("a", "c"), 1, 0, **COSTS),
    ),
    resident_bytes=10,
)
WIDE = Budget(100)
PLAN = [
    ("compute", "a"),
    ("pageout", "a"),
    ("free", "a"),
    ("compute", "a"),
    ("compute", "b"),
    ("free", "a"),
    ("compute", "c"),
    ("free", "b"),
    ("pagein", "a"),
    ("compute", "d"),
]
ENERGY, SERIAL, COMPUTE = 5 * 1.0 + 3.0 + 7.0, 5 * 2.0 + 5.0 + 11.0, 5 * 2.0
PEAK = 10 + 4 + 3  # a and b; b, c and its workspace are as many


def test_a_right_plan_is_taken_and_counted():
    verdict = evaluate(GRAPH, WIDE, PLAN)
    assert verdict.valid and verdict.fault == ""
    assert (verdict.energy, verdict.serial_time) == (ENERGY, SERIAL)
    assert (verdict.compute_time, verdict.peak_ram) == (COMPUTE, PEAK)
    assert verdict.written_bytes == verdict.peak_aux == 4 and verdict.erased_blocks == 0


def changed(at, *steps, drop=0):
    return [*PLAN[:at], *steps, *PLAN[at + drop :]]


STEPS = [
    ("unknown node", changed(0, ("compute", "z"))),
    ("unknown kind of step", changed(1, ("burn", "a"))),
    ("already in RAM", changed(1, ("compute", "a"))),
    ("already in RAM", changed(2, ("pagein", "a"))),
    ("not in RAM", changed(0, ("pageout", "a"))),
    ("not in RAM", changed(3, ("free", "a"))),
    ("not in storage", changed(8, ("pagein", "b"))),
    ("may not be paged", changed(7, ("pageout", "c"))),
    ("already in storage", changed(2, ("pageout", "a"))),
    ("may not be computed again", changed(5, ("free", "b"), ("compute", "b"))),
    ("input a is not in RAM", changed(3, drop=1)),
    ("input c is not in RAM", changed(9, ("free", "c"))),
]


@pytest.mark.parametrize("fault, plan", STEPS)
def test_a_wrong_step_is_named_with_its_place(fault, plan):
    verdict = evaluate(GRAPH, WIDE, plan)
    assert not verdict.valid and verdict.fault.endswith(": " + fault), verdict.fault
    at = int(verdict.fault.split()[1])
    assert verdict.fault == f"step {at} ({' '.join(plan[at])}): {fault}"
    assert evaluate(GRAPH, WIDE, plan[:at]).fault.startswith("never computed")


@pytest.mark.parametrize("name", "abcd")
def test_a_node_that_is_never_computed_is_named(name):
    at = next(k for k, step in enumerate(PLAN) if step == ("compute", name))
    assert evaluate(GRAPH, WIDE, PLAN[:at]).fault == f"never computed: {name}"


BLOCKS = dict(erase_block_bytes=3)
LIMITS = [
    (replace(WIDE, ram_bytes=PEAK), replace(WIDE, ram_bytes=PEAK - 1), "RAM", "serial"),
    (replace(WIDE, aux_bytes=4), replace(WIDE, aux_bytes=3), "storage", "serial"),
    (
        replace(WIDE, erase_budget=2, **BLOCKS),
        replace(WIDE, erase_budget=1, **BLOCKS),
        "blocks",
        "serial",
    ),
    (replace(WIDE, deadline=SERIAL), replace(WIDE, deadline=SERIAL - 0.1), "deadline", "serial"),
    (
        replace(WIDE, deadline=COMPUTE),
        replace(WIDE, deadline=COMPUTE - 0.1),
        "deadline",
        "compute",
    ),
]


@pytest.mark.parametrize("enough, less, word, clock", LIMITS)
def test_a_limit_that_is_just_met_is_kept_and_less_is_named(enough, less, word, clock):
    assert evaluate(GRAPH, enough, PLAN, clock).valid
    fault = evaluate(GRAPH, less, PLAN, clock).fault
    assert word in fault and not fault.startswith("step")


def test_workspace_counts_while_its_operator_runs_and_only_then():
    graph = Graph((Node("a", (), 1, 5, **COSTS), Node("b", ("a",), 1, 0, **COSTS)))
    plan = [("compute", "a"), ("compute", "b")]
    assert evaluate(graph, Budget(6), plan).peak_ram == 6
    assert "needs 6 bytes of RAM; have 5" in evaluate(graph, Budget(5), plan).fault


def test_with_overlap_the_workspace_of_the_running_operator_counts():
    nodes = (
        Node("a", (), 4, 0, **COSTS),
        Node("b", (), 1, 6, compute_energy=1.0, compute_time=99.0),
        Node("c", ("a", "b"), 1, 0, **COSTS),
    )
    plan = [
        ("compute", "a"),
        ("pageout", "a"),
        ("free", "a"),
        ("compute", "b"),
        ("pagein", "a"),
        ("compute", "c"),
    ]
    graph = Graph(nodes)
    serial = evaluate(graph, Budget(7), plan)
    assert serial.valid and serial.overlapped_peak_ram == 11
    assert "needs 11 bytes of RAM; have 7" in evaluate(graph, Budget(7), plan, "overlapped").fault
    late = Budget(11, deadline=serial.overlapped_time)
    assert evaluate(graph, late, plan, "overlapped").valid
    assert serial.overlapped_time < serial.serial_time
    assert "deadline" in evaluate(graph, late, plan, "serial").fault


def test_an_unknown_clock_is_refused():
    with pytest.raises(ValueError, match="clock is 'wall'"):
        evaluate(GRAPH, WIDE, PLAN, "wall")


def test_best_plans_are_refused_once_what_they_compute_again_may_not_be():
    refused = 0
    for seed in range(1, 80, 2):
        graph, budget = training(seed)
        budget = replace(budget, aux_bytes=0)
        best = search(graph, budget)
        if best is None:
            continue
        assert evaluate(graph, budget, best[1]).valid
        again = [
            name
            for at, (kind, name) in enumerate(best[1])
            if kind == "compute" and ("compute", name) in best[1][:at]
        ]
        for name in again[:1]:
            nodes = [replace(n, recomputable=n.recomputable and n.id != name) for n in graph.nodes]
            fault = evaluate(Graph(tuple(nodes)), budget, best[1]).fault
            assert fault.endswith(f"(compute {name}): may not be computed again")
            refused += 1
    assert refused > 3
