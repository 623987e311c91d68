# SPDX-License-Identifier: MIT
"""The planner's default formulation against the oracle, its refusals and its modes."""

import doctest
import time
from dataclasses import replace

import pytest

from acclimate_host.poet import highs, model, reorder, smallest, subsets
from acclimate_host.poet import solve as solve_module
from acclimate_host.poet.answer import Infeasible
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.graphs import forward_bytes, network_graph
from acclimate_host.poet.positions import Space
from acclimate_host.poet.problem import Budget, Graph, Node, PlanError
from acclimate_host.poet.smallest import everything_kept, operator_need
from acclimate_host.poet.solve import solve
from bench.poet_random import compare, problem
from harness.clock import HANG_S, Clock
from harness.errors import naming

GRAPHS = 500


@pytest.mark.parametrize("module", [solve_module, subsets])
def test_examples_in_the_docstrings(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.case("L3")
@pytest.mark.parametrize("share", range(5))
def test_optimum_and_infeasibility_agree_with_exhaustive_search(share):
    count = GRAPHS // 5
    tally = compare(range(share * count, (share + 1) * count))
    assert not tally.faults, tally.faults
    assert 0 < tally.infeasible < count


@pytest.fixture(scope="module")
def vgg():
    return network_graph("vgg16_cifar", "m4")


@pytest.fixture(scope="module")
def budget(vgg):
    """Three quarters of the RAM that keeps everything of a forward pass."""
    return Budget(int(0.75 * forward_bytes(vgg)))


@pytest.fixture(scope="module")
def free(vgg, budget):
    return solve(vgg, budget)


@pytest.fixture(scope="module")
def paging_only(vgg, budget):
    return solve(vgg, budget, recompute=False)


@pytest.mark.slow
def test_vgg16_is_proven_and_costs_more_with_less_ram(vgg):
    energies = []
    for share in (1.1, 0.8, 0.65):
        budget = Budget(int(share * forward_bytes(vgg)))
        answer = solve(vgg, budget)
        assert answer.proven and answer.gap <= 1e-6
        verdict = evaluate(vgg, budget, answer.plan)
        assert verdict.valid and verdict.energy == answer.energy
        energies.append(answer.energy)
    assert energies[0] < energies[1] <= energies[2]
    assert energies[0] == pytest.approx(sum(n.compute_energy for n in vgg.nodes))


@pytest.mark.slow
@pytest.mark.case("L6")
def test_without_storage_only_recomputation_is_left(vgg, budget, free):
    answer = solve(vgg, replace(budget, aux_bytes=0))
    assert not any(kind.startswith("page") for kind, _ in answer.plan)
    assert answer.energy >= free.energy * (1 - 1e-6)


@pytest.mark.slow
@pytest.mark.case("L6")
def test_paging_only_computes_each_node_once(vgg, paging_only):
    assert sum(kind == "compute" for kind, _ in paging_only.plan) == len(vgg.nodes)
    assert paging_only.proven and paging_only.verdict.written_bytes > 0


@pytest.mark.slow
def test_a_deadline_between_the_fastest_and_the_free_plan_is_kept(vgg, budget, free, paging_only):
    slow = paging_only
    assert slow.energy > free.energy
    least = sum(node.compute_time for node in vgg.nodes)
    deadline = least + 0.9 * (slow.verdict.serial_time - least)
    answer = solve(vgg, replace(budget, deadline=deadline))
    assert answer.verdict.serial_time <= deadline * (1 + 1e-9)
    assert answer.proven and answer.energy <= slow.energy


def test_the_time_limit_gives_a_plan_with_a_bound(monkeypatch):
    clock = Clock().into(monkeypatch, "acclimate_host.poet.solve", "acclimate_host.poet.highs")
    graph = network_graph("bert", "m4")
    budget = Budget(forward_bytes(graph) // 2)
    phases = []

    def over(state):
        phases.append(state.phase)
        clock.skip(HANG_S)

    answer = solve(graph, budget, time_limit=HANG_S, progress=over)
    assert set(phases) == {"greedy"} and answer.verdict.valid
    assert 0 < answer.lower_bound < answer.energy and not answer.proven


def test_a_program_has_a_limit_of_its_own_in_computing_seconds_too(monkeypatch):
    """A relaxation within it took half as long again as all the seconds that there were."""
    limits, run = [], highs._run

    def noted(solver, watch):
        limits.append(solver.getOptionValue("time_limit")[1])
        run(solver, watch)

    monkeypatch.setattr(highs, "_run", noted)
    program = model.Program([1.0], [0.0], [1.0], [True])
    for watch in (
        highs.Watch(time.monotonic() + 50),
        highs.Watch(cpu_until=time.process_time() + 50),
        highs.Watch(),
    ):
        assert highs.minimise(program, watch, 0.0).status == "optimal"
    assert 0 < limits[0] <= 50 and 0 < limits[1] <= 50 < limits[2]


def test_progress_names_incumbent_bound_and_gap(vgg):
    seen = []
    solve(vgg, Budget(int(0.65 * forward_bytes(vgg))), progress=seen.append)
    assert seen and seen[-1].gap <= 1e-6
    assert all(b.lower_bound >= a.lower_bound - 1e-9 for a, b in zip(seen, seen[1:], strict=False))
    assert all(b.energy <= a.energy for a, b in zip(seen, seen[1:], strict=False))


@pytest.mark.slow
def test_an_infeasible_budget_names_the_smallest_feasible_ram(vgg):
    need, _ = operator_need(vgg)
    with pytest.raises(Infeasible, check=naming(need)) as caught:
        solve(vgg, Budget(need - 1))
    assert caught.value.smallest_ram == need
    assert solve(vgg, Budget(need)).verdict.peak_ram == need


@pytest.mark.slow
def test_where_the_smallest_ram_is_not_proven_there_are_near_bounds():
    graph = network_graph("resnet18_cifar", "m4")
    space = Space(paging=False)
    budget, need, kept = Budget(1, aux_bytes=0), operator_need(graph)[0], everything_kept(graph)
    found = smallest.smallest_ram(graph, budget, space, seconds=6)
    assert need <= found.least <= found.bytes < kept
    verdict = evaluate(graph, replace(budget, ram_bytes=found.bytes), found.plan)
    assert verdict.valid and verdict.peak_ram == found.bytes
    with pytest.raises(Infeasible) as caught:
        smallest.refuse(graph, budget, space, seconds=1)
    assert need <= caught.value.smallest_ram <= kept


def test_everything_kept_is_enough_for_the_plan_that_only_computes(vgg):
    ram = everything_kept(vgg)
    least = sum(node.compute_energy for node in vgg.nodes)
    assert solve(vgg, Budget(ram)).energy == pytest.approx(least)
    shorter = sum(n.ram_bytes for n in vgg.nodes if not n.compute_energy)  # the input is free
    assert solve(vgg, Budget(ram - shorter - 1)).energy > least * (1 + 1e-9)


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"solver": "gurobi"}, "unknown solver 'gurobi'"),
        ({"clock": "wall"}, "unknown clock 'wall'"),
        ({"time_limit": 0}, "time_limit is 0"),
    ],
)
def test_bad_arguments_are_one_clear_line(vgg, arguments, text):
    with pytest.raises(PlanError, match=text) as caught:
        solve(vgg, Budget(1 << 30), **arguments)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 100


def test_an_impossible_deadline_is_one_clear_line(vgg):
    with pytest.raises(Infeasible, check=naming("1 s")):
        solve(vgg, Budget(1 << 30, deadline=1.0))


def test_recomputations_out_of_order_are_put_in_order():
    graph = Graph(
        tuple(
            Node(f"n{i}", tuple(f"n{j}" for j in deps), 1, 0, 1.0, 1.0)
            for i, deps in enumerate([(), (), (0, 1), (0, 1)])
        )
    )
    steps = [
        ("compute", "n0"),
        ("compute", "n1"),
        ("compute", "n2"),
        ("free", "n0"),
        ("free", "n1"),
        ("compute", "n1"),
        ("compute", "n0"),
        ("compute", "n3"),
    ]
    ordered = [step for step in reorder.in_order(graph, steps) if step[0] == "compute"]
    assert [name for _, name in ordered] == ["n0", "n1", "n2", "n0", "n1", "n3"]


def test_sizes_of_a_real_board_in_bytes_do_not_upset_the_solver():
    graph, budget = problem(11)
    big = Graph(
        tuple(
            replace(node, ram_bytes=node.ram_bytes * 104_729 + 7 * i)
            for i, node in enumerate(graph.nodes)
        )
    )
    ram = everything_kept(big) - 1
    answer = solve(big, Budget(ram))
    assert answer.verdict.valid and answer.proven
