# SPDX-License-Identifier: MIT
"""The paper's formulation: its published numbers, its faults, and ours beside it."""

from dataclasses import replace

import pytest

from acclimate_host.poet import pulp_solver
from acclimate_host.poet.answer import Infeasible
from acclimate_host.poet.graphs import forward_bytes, network_graph
from acclimate_host.poet.problem import Budget, Graph, Node, PlanError
from acclimate_host.poet.solve import solve
from bench.papers.poet.formulation import answer, solve_paper
from bench.poet_random import problem
from harness.errors import naming


@pytest.fixture(scope="module")
def linear():
    return network_graph("linear", "m4", recompute_gradients=True)


def _budget(graph, share):
    deadline = 1.5 * sum(node.compute_time for node in graph.nodes)
    return Budget(share * forward_bytes(graph), deadline)


@pytest.mark.case("L5", "L8")
@pytest.mark.parametrize(
    "share, energy", [pytest.param(1.0, 0.000457095, marks=pytest.mark.slow), (0.6, 0.000459423)]
)
def test_the_published_code_with_cbc_is_reproduced_and_ours_is_not_worse(linear, share, energy):
    budget = _budget(linear, share)
    published = solve_paper(linear, budget, solver="cbc", as_published=True)
    assert published.status == "optimal" and published.energy == pytest.approx(energy, abs=5e-10)
    ours = solve(linear, budget, clock="compute")
    assert ours.proven and ours.energy < published.energy


@pytest.mark.slow
@pytest.mark.case("L8")
def test_scaled_algorithm_1_agrees_with_ours_and_45_percent_has_no_plan(linear):
    budget = _budget(linear, 0.6)
    paper = answer(linear, budget)
    ours = solve(linear, budget, clock="compute")
    assert paper.proven and ours.energy <= paper.energy * (1 + 1e-6)
    with pytest.raises(Infeasible, match="Algorithm 1 has no plan"):
        answer(linear, _budget(linear, 0.45))


@pytest.mark.parametrize(
    "seed, fault",
    [
        (11, "input n0 is not in RAM"),
        (45, "input n0 is not in RAM"),
        (74, "needs 16 bytes of RAM"),
        (80, "needs 17 bytes of RAM"),
        (93, "input n3 is not in RAM"),
    ],
)
def test_algorithm_2_breaks_plans_that_paging_at_the_ends_of_stages_keeps(seed, fault):
    graph, _ = problem(seed, 8)
    graph = Graph(
        tuple(
            replace(node, pageable=True, recomputable=True, workspace_bytes=0)
            for node in graph.nodes
        )
    )
    budget = Budget(int(0.62 * sum(node.ram_bytes for node in graph.nodes)))
    assert fault in solve_paper(graph, budget, recompute=False).verdict.fault
    repaired = solve_paper(graph, budget, recompute=False, repaired=True)
    assert repaired.verdict.valid
    assert solve(graph, budget, recompute=False).energy <= repaired.energy + 1e-6


@pytest.mark.case("L6")
def test_features_are_switched_off_by_bounds(linear):
    budget = Budget(forward_bytes(linear) + 700)
    keep = solve_paper(linear, budget, paging=False, recompute=False)
    assert keep.status == "optimal"
    assert sum(kind == "compute" for kind, _ in keep.plan) == len(linear.nodes)


@pytest.mark.case("L1")
def test_a_problem_that_cbc_calls_infeasible_is_tried_again():
    pulp = pulp_solver.require()
    hard = pulp.LpProblem("l1", pulp.LpMinimize)
    c = [pulp_solver.variable(hard, f"c{i}", kind="Binary") for i in range(2)]
    x = [pulp_solver.variable(hard, f"x{i}", kind="Binary") for i in range(3)]
    hard += c[0] + c[1]
    for row in (
        x[0] + c[1] == 1,
        x[0] + c[0] >= 1,
        x[1] + c[1] <= 1,
        c[0] + c[1] <= 1,
        x[2] == 1,
        9000 * x[1] + 7200 * x[2] + 10800 * c[1] >= 16200,
    ):
        hard += row
    assert pulp_solver.run(hard, pulp_solver.pick("cbc"), "cbc") == "optimal"
    assert pulp.value(hard.objective) == 0


@pytest.mark.case("L4")
def test_solvers_that_are_unknown_or_cannot_run_are_one_clear_line(tmp_path, monkeypatch):
    pulp = pulp_solver.require()
    graph = Graph((Node("a", (), 1, 0, 1.0, 1.0),))
    with pytest.raises(PlanError, check=naming("SOLVE_IT")):
        solve_paper(graph, Budget(1), solver="SOLVE_IT")
    program = tmp_path / "cbc"
    program.write_text("not a program")
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", str(program))
    monkeypatch.setattr(pulp.COIN_CMD, "available", lambda self: True)
    with pytest.raises(PlanError, check=naming("cbc")) as caught:
        solve_paper(graph, Budget(1), solver="cbc")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 100


@pytest.mark.parametrize("solver", ["cbc", "cpsat"])
def test_other_solvers_agree_with_highs(solver):
    for seed in range(12):
        graph, budget = problem(seed)
        try:
            best = solve(graph, budget)
        except Infeasible:
            continue
        other = solve(graph, budget, solver=solver)
        assert other.proven and other.energy == pytest.approx(best.energy, abs=1e-6), seed
