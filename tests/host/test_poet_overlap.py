# SPDX-License-Identifier: MIT
"""Transfers beside computing: moved without breaking RAM, and deadlines that count on it."""

import pytest

from acclimate_host.poet.answer import Infeasible
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.graphs import forward_bytes, network_graph
from acclimate_host.poet.problem import Budget, PlanError
from acclimate_host.poet.solve import solve
from acclimate_host.poet.transfer import hide
from bench.poet_random import problem


def _without_deadline(budget, deadline=None):
    return Budget(budget.ram_bytes, deadline, budget.aux_bytes)


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_hiding_keeps_energy_and_ram_and_never_takes_longer(start):
    for seed in range(start, start + 20):
        graph, budget = problem(seed)
        budget = _without_deadline(budget)
        try:
            plan = solve(graph, budget).plan
        except Infeasible:
            continue
        serial = evaluate(graph, budget, plan)
        moved = evaluate(graph, budget, hide(graph, budget, plan), "overlapped")
        if evaluate(graph, budget, plan, "overlapped").valid:
            assert moved.valid, (seed, moved.fault)
            assert moved.overlapped_time <= serial.overlapped_time + 1e-9, seed
        assert moved.energy == pytest.approx(serial.energy)


def test_overlapped_deadlines_are_kept_and_the_bound_holds():
    found = 0
    for seed in range(120):
        graph, budget = problem(seed)
        if budget.deadline is None:
            continue
        try:
            best = solve(graph, _without_deadline(budget))
            answer = solve(graph, budget, clock="overlapped")
        except (Infeasible, PlanError):
            continue
        found += 1
        assert answer.verdict.valid and answer.lower_bound <= answer.energy + 1e-9
        assert answer.verdict.overlapped_time <= budget.deadline * (1 + 1e-9)
        assert answer.verdict.overlapped_peak_ram <= budget.ram_bytes
        assert answer.lower_bound >= best.energy - 1e-6, seed
    assert found > 10


@pytest.mark.slow
def test_vgg16_hides_more_than_half_of_its_paging():
    graph = network_graph("vgg16_cifar", "m4")
    budget = Budget(int(0.75 * forward_bytes(graph)))
    plan = solve(graph, budget, recompute=False).plan
    before = evaluate(graph, budget, plan)
    after = evaluate(graph, budget, hide(graph, budget, plan), "overlapped")
    assert after.valid and after.peak_ram <= budget.ram_bytes
    paging = before.serial_time - before.compute_time
    assert after.overlapped_time - after.compute_time < 0.5 * paging
