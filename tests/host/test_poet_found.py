# SPDX-License-Identifier: MIT
"""Problems on which the planner was once wrong, and others of their kinds."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from acclimate_host.cli import main
from acclimate_host.poet import complete, greedy, solver_check
from acclimate_host.poet.answer import Infeasible
from acclimate_host.poet.column_values import tidy
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.exhaustive import search
from acclimate_host.poet.graphs import layers_graph
from acclimate_host.poet.held import held
from acclimate_host.poet.layers import Layers
from acclimate_host.poet.positions import Space, positions
from acclimate_host.poet.problem import Budget, Graph, Node, PlanError, from_json
from acclimate_host.poet.smallest import everything_kept, operator_need, smallest_ram
from acclimate_host.poet.solve import solve
from acclimate_host.poet.stages import stage_model
from bench.poet_random import compare_nines, nine, problem, training

GRAPHS = Path(__file__).parent / "graphs"


def problem_of(name):
    return from_json(json.loads((GRAPHS / f"{name}.json").read_text()))[:2]


# A proof speaks of all plans in the given order.


@pytest.mark.parametrize("nodes", [complete.MOST_NODES, 0])
@pytest.mark.parametrize("name, energy", [("skips_53_joule", 53.0), ("skips_27_bytes", 42.0)])
def test_a_plan_that_recomputes_twice_in_a_stage_is_found(name, energy, nodes, monkeypatch):
    monkeypatch.setattr(complete, "MOST_NODES", nodes)
    graph, budget = problem_of(name)
    answer = solve(graph, budget)
    assert answer.energy == energy and answer.lower_bound <= energy
    assert answer.proven or (nodes == 0 and answer.class_proven)
    assert answer.space.startswith("all plans in the given order")
    assert ("that compute a node again" in answer.space) != answer.proven


@pytest.mark.parametrize(
    "first, count", [(5000, 10), pytest.param(5010, 90, marks=pytest.mark.slow)]
)
def test_nine_tensors_with_skips_agree_with_exhaustive_search(first, count):
    tally = compare_nines(range(first, first + count))
    wrong = tally.false_optimum + tally.false_infeasible + tally.wrong_smallest
    assert not wrong and not tally.no_answer and tally.feasible > 0.3 * count, tally.faults


def test_a_tight_overlapped_deadline_is_refused_by_a_search_of_all_plans():
    """The first computations that are left must end in time: without that it gives up."""
    graph, budget, clock = nine(5009)
    assert clock == "overlapped"
    assert complete.cheapest(graph, budget, Space(clock=clock)) is None  # and not TooLarge


@pytest.mark.slow
def test_where_nothing_finds_a_plan_the_complete_search_goes_on_for_longer(monkeypatch):
    monkeypatch.setattr(complete, "MOST_STATES", 10_000)  # less than this problem takes
    monkeypatch.setattr("acclimate_host.poet.search._REFUSE_S", 0.01)
    graph, budget, clock = nine(5009)
    with pytest.raises(complete.TooLarge):
        complete.cheapest(graph, budget, Space(clock=clock), most=10_000)
    with pytest.raises(Infeasible, match="no plan fits 21 bytes"):
        solve(graph, budget, clock=clock)


def test_where_only_a_class_was_searched_the_words_say_so(monkeypatch, capsys):
    """With one recomputation a stage, and no bound from the stages, 60 J is a class's best."""
    monkeypatch.setattr(complete, "MOST_NODES", 0)
    monkeypatch.setattr("acclimate_host.poet.solve._ROUNDS", ())
    monkeypatch.setattr("acclimate_host.poet.search.Search._stages", lambda self: None)
    monkeypatch.setattr("acclimate_host.poet.search.Search.walk", lambda self, watch: None)
    graph, budget = problem_of("skips_53_joule")
    answer = solve(graph, budget)
    assert answer.energy == 60 and answer.class_proven and not answer.proven
    assert answer.lower_bound <= 53 and answer.class_bound == pytest.approx(60)
    claim = answer.claim()
    assert (
        not claim["proven"] and claim["class_proven"] and "at most once a stage" in claim["space"]
    )
    assert main(["plan", str(GRAPHS / "skips_53_joule.json")]) == 0
    said = capsys.readouterr().out
    assert "best of its class; at most 50 % above any plan" in said
    assert "proven optimal" not in said


def test_a_refusal_of_a_class_is_no_refusal_of_all_plans(monkeypatch):
    monkeypatch.setattr(complete, "MOST_NODES", 0)
    monkeypatch.setattr("acclimate_host.poet.solve._ROUNDS", ())
    monkeypatch.setattr("acclimate_host.poet.search.Search._stages", lambda self: None)
    graph, budget = problem_of("skips_27_bytes")
    try:
        answer = solve(graph, budget)
    except Infeasible as refusal:
        assert not refusal.proven and "a stage" in str(refusal)
    else:
        assert answer.verdict.valid


@pytest.mark.parametrize("paging", [True, False])
def test_the_stage_relaxation_is_below_every_plan(paging):
    """Its columns of a best plan keep all its rows, and cost no more than the plan."""
    held = 0
    for seed in range(300, 380):
        graph, budget = training(seed) if seed % 2 else problem(seed)
        budget = budget if paging else replace(budget, aux_bytes=0)
        best, space = search(graph, budget), Space(paging=budget.aux_bytes != 0)
        if best is None:
            continue
        model = stage_model(graph, budget, space, positions(graph, budget, space))
        values = model.values_of(tidy(graph, best[1]))
        if values is None:
            continue
        program, held = model.program, held + 1
        for row, (low, high) in enumerate(zip(program.row_low, program.row_high, strict=True)):
            total = sum(value * values[column] for column, value in program.terms(row))
            assert low - 1e-9 <= total <= high + 1e-9, (seed, row)
        cost = sum(c * v for c, v in zip(program.cost, values, strict=True)) + program.offset
        assert cost <= best[0] * (1 + 1e-9)
    assert held > 20


# The smallest RAM is exact to the byte and never contradicts a refusal.


def two_large(size, more):
    """Two tensors of that size and small ones beside, some of them a byte apart."""
    cost = dict(compute_energy=1, compute_time=1, recomputable=False)
    return Graph(
        (
            Node("w", (), 1, **cost),
            Node("a", (), size + more, **cost),
            Node("b", ("a",), 1, **cost),
            Node("c", ("a",), size + more, **cost),
            Node("d", ("b", "c"), 4, **cost),
            Node("e", ("d", "a"), 4, **cost),
            Node("f", ("w", "e"), 1, **cost),
        )
    )


@pytest.mark.parametrize("nodes", [complete.MOST_NODES, 0])
@pytest.mark.parametrize("size", [4_000_000, 400_000_000])
@pytest.mark.parametrize("more", [3, 4])
def test_the_smallest_ram_is_exact_to_the_byte(size, more, nodes, monkeypatch):
    monkeypatch.setattr(complete, "MOST_NODES", nodes)
    graph = two_large(size, more)
    plan = [("compute", node.id) for node in graph.nodes]
    peak = evaluate(graph, Budget(1 << 40), tidy(graph, plan)).peak_ram
    with pytest.raises(Infeasible) as caught:
        solve(graph, Budget(peak - 1, aux_bytes=0))
    assert caught.value.smallest_ram == peak and caught.value.smallest_ram > peak - 1
    assert solve(graph, Budget(peak, aux_bytes=0)).verdict.peak_ram == peak


def test_the_smallest_ram_has_a_plan_and_a_byte_less_has_none():
    for seed in range(40):
        graph, budget = problem(seed)
        found = smallest_ram(graph, budget, Space(paging=budget.aux_bytes != 0))
        if found.bytes is None:
            continue
        enough = replace(budget, ram_bytes=found.bytes)
        assert found.proven and evaluate(graph, enough, found.plan).valid
        assert search(graph, replace(budget, ram_bytes=found.bytes - 1)) is None


# A plan at once wherever one is easy.


def unet(depth=4, channels=16, side=128):
    """A U-Net's training step in reverse mode: skips over the whole depth."""
    net, skips = Layers((1, 3, side, side)), []
    for level in range(depth):
        for _ in range(2):
            net.conv(channels << level, 3, 1, 1)
            net.relu()
        skips.append(net.last)
        net.pool("maxpool", 2, 2)
    for _ in range(2):
        net.conv(channels << depth, 3, 1, 1)
        net.relu()
    for level in reversed(range(depth)):
        net.conv(channels << level, 1)
        shape = net.shape(skips[level])
        up = net._append("other", (net.last,), shape, 4.0 * shape[1] * shape[2] * shape[3])
        net.add(up, skips[level])
        for _ in range(2):
            net.conv(channels << level, 3, 1, 1)
            net.relu()
    net.flatten()
    net.loss(2)
    return layers_graph(net.all, "m4", "autodiff")


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["highs", "greedy"])
def test_a_network_of_long_skips_has_a_plan_in_its_least_ram(solver):
    graph = unet()
    budget = Budget(operator_need(graph)[0])
    answer = solve(graph, budget, solver=solver, cpu_limit=4)
    assert answer.verdict.valid and len(graph.nodes) > 90
    assert evaluate(graph, budget, greedy.paged(graph, budget)).valid


def test_the_heuristic_says_why_it_has_no_plan():
    cost = dict(compute_energy=1, compute_time=1, recomputable=False, pageable=False)
    nodes = (Node("a", (), 4, **cost), Node("b", (), 4, **cost), Node("c", ("a",), 1, **cost))
    graph = Graph((*nodes, Node("d", ("b", "c"), 1, **cost)))
    with pytest.raises(PlanError) as caught:
        solve(graph, Budget(8), solver="greedy")
    assert "proves nothing" in str(caught.value) and "pip install" not in str(caught.value)


def chain(count):
    """A long training step: each layer is read again by its gradient."""
    cost = dict(compute_energy=1.0, compute_time=1.0, pagein_energy=0.4, pageout_energy=0.5)
    nodes = [Node(f"f{i}", (f"f{i - 1}",) if i else (), 100 + i % 7, **cost) for i in range(count)]
    for i in reversed(range(count)):
        deps = (f"f{i}", f"b{i + 1}") if i < count - 1 else (f"f{i}",)
        nodes.append(Node(f"b{i}", deps, 100 + i % 5, **cost, recomputable=False))
    return Graph(tuple(nodes))


@pytest.mark.parametrize(
    "share", [*(pytest.param(s, marks=pytest.mark.slow) for s in (0.02, 0.3)), 1.0]
)
def test_two_thousand_tensors_have_a_plan_in_two_seconds_of_computing(share):
    graph = chain(1000)
    ram = max(int(share * everything_kept(graph)), operator_need(graph)[0])
    seen = []

    def note(progress):
        if progress.energy is not None:
            seen.append(time.process_time() - began)

    began = time.process_time()
    answer = solve(graph, Budget(ram), cpu_limit=3, progress=note)
    assert answer.verdict.valid and (share == 1.0 or seen[0] < 2)


@pytest.mark.slow
def test_the_limit_holds_while_the_program_is_built():
    graph, began = chain(500), time.process_time()
    answer = solve(graph, Budget(int(0.3 * everything_kept(graph))), cpu_limit=4)
    assert answer.verdict.valid and answer.ended == "cpu_limit"
    assert time.process_time() - began < 1.1 * 4 + 2


# Overlapped clocks have an answer.


def test_overlapped_deadlines_have_a_plan_or_none_exists():
    refused = 0
    for seed in range(120):
        graph, budget = problem(seed)
        if budget.deadline is None:
            continue
        try:
            answer = solve(graph, budget, clock="overlapped")
        except Infeasible:
            refused += 1
            best = search(graph, budget)
            if best is not None:  # in time one after the other, so it breaks the RAM with overlap
                assert not evaluate(graph, budget, tidy(graph, best[1]), "overlapped").valid
        else:
            assert evaluate(graph, budget, answer.plan, "overlapped").valid
    assert refused


# A limit is held from outside, and a solver that answers wrong is not used.


def test_a_call_that_does_not_end_is_ended_and_its_fault_is_raised_here():
    assert held(lambda: 7, 30) == 7
    assert held(lambda: time.sleep(600), 0.2) is None
    with pytest.raises(PlanError, match="of its own"):
        held(lambda: _raise(PlanError("of its own")), 30)


def test_a_call_is_ended_before_it_has_a_group_of_its_own(monkeypatch):
    """As on a busy computer, where its process has hardly begun."""
    monkeypatch.setattr("acclimate_host.poet.held.os.setsid", lambda: None)
    assert held(lambda: time.sleep(600), 0) is None


def _raise(error):
    raise error


@pytest.mark.slow
def test_the_papers_formulation_of_a_large_network_keeps_to_its_limit():
    words = ["bert", "--board", "a72", "--ram", "15%", "--time-limit", "2", "--solver", "cbc"]
    assert main(["plan", *words, "--formulation", "paper"]) != 0


def test_doctors_model_of_a_whole_and_a_real_column_shows_a_wrong_solver(monkeypatch):
    assert solver_check.try_solver("highs")[0]
    monkeypatch.setattr(solver_check, "_highs_mixed", lambda: 15.0)
    runs, why = solver_check.try_solver("highs")
    assert not runs and "answers 15" in why
