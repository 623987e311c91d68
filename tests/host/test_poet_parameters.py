# SPDX-License-Identifier: MIT
"""Parameters and optimizer state in storage: what plans cost, against all choices by hand."""

import doctest
import json
import random
from itertools import combinations

import pytest

import acclimate_host.poet.parameters as module
from acclimate_host.cli import main
from acclimate_host.poet import costs, networks
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.exhaustive import search
from acclimate_host.poet.graphs import layers_graph
from acclimate_host.poet.inputs import whole
from acclimate_host.poet.parameters import (
    Parameter,
    layer_parameters,
    paged_budget,
    plan_parameters,
    with_parameters,
)
from acclimate_host.poet.problem import Budget, Graph, Node, PlanError


def case(seed):
    """(graph, parameters, budget): three layers with gradients and updates, RAM is short."""
    rng = random.Random(seed)
    nodes, layers = [], rng.randint(2, 3)
    for i in range(layers):
        deps = (f"f{i - 1}",) if i else ()
        nodes.append(Node(f"f{i}", deps, rng.randint(1, 4), 0, *_costs(rng)))
    for i in reversed(range(layers)):
        deps = [f"f{i}", *([f"g{i + 1}"] if i < layers - 1 else [])]
        nodes.append(Node(f"g{i}", tuple(deps), rng.randint(1, 4), 0, *_costs(rng), False))
    parameters = []
    for i in rng.sample(range(layers), 2):
        changed = rng.random() < 0.7
        costs_ = [float(rng.randint(1, 6)) for _ in range(4)]
        name, update = f"w{i}", f"g{i}" if changed else None
        parameters.append(Parameter(name, rng.randint(1, 5), (f"f{i}", f"g{i}"), update, *costs_))
    graph = Graph(tuple(nodes), rng.randint(0, 1))
    most = whole(graph).peak_ram + sum(p.ram_bytes for p in parameters)
    late = rng.choice((None, None, sum(n.compute_time for n in nodes) + rng.randint(5, 40)))
    return graph, parameters, Budget(rng.randint(most // 2, most), late)


def _costs(rng):
    return [float(rng.randint(1, 9)) for _ in range(6)]


def choices(parameters):
    names = [p.id for p in parameters]
    return [c for n in range(len(names) + 1) for c in combinations(names, n)]


def test_the_example_of_the_module_runs():
    assert doctest.testmod(module).failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("tries", (3, 12))
@pytest.mark.parametrize("seed", range(20))
def test_plan_and_bound_against_all_choices(seed, tries):
    graph, parameters, budget = case(seed)
    found = [
        search(with_parameters(graph, parameters, chosen), budget)
        for chosen in choices(parameters)
    ]
    best = min((energy for energy, _ in filter(None, found)), default=None)
    if best is None:
        with pytest.raises(PlanError):
            plan_parameters(graph, parameters, budget, tries=tries)
        return
    made = plan_parameters(graph, parameters, budget, tries=tries)
    assert made.lower_bound <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= made.answer.energy
    if made.proven or tries == 12:  # then all choices were solved
        assert made.answer.energy == pytest.approx(best)
    assert replayed(graph, parameters, made) == pytest.approx(made.answer.energy)


def replayed(graph, parameters, made):
    """Energy of a plan, executed by what parameters are: in storage, read, changed, written."""
    paged = {p.id: p for p in parameters if p.id not in made.resident}
    resident = sum(p.ram_bytes for p in parameters if p.id in made.resident)
    nodes = {node.id: node for node in graph.nodes}
    held, stored, ran, changed, energy = set(), set(), set(), set(), 0.0
    for kind, name in made.answer.plan:
        if name in paged:
            assert kind in ("compute", "free")
            energy += paged[name].read_energy if kind == "compute" else 0.0
        elif kind != "free":
            energy += getattr(nodes[name], kind + "_energy")
        if kind == "compute" and name in nodes:
            assert set(nodes[name].deps) <= held
            for p in parameters:
                if name in p.readers or name == p.update:
                    assert p.id in held or p.id in made.resident
                if name in p.readers and name != p.update:
                    assert p.id not in changed
            for p in parameters:
                if name == p.update:
                    assert name not in ran
                    changed.add(p.id)
                    energy += p.write_energy if p.id in paged else 0.0
            ran.add(name)
        if kind == "pageout":
            stored.add(name)
        if kind == "pagein":
            assert name in stored
        held = held - {name} if kind == "free" else held | {name}
        sizes = [(nodes.get(n) or paged[n]).ram_bytes for n in held]
        assert graph.resident_bytes + resident + sum(sizes) <= made.budget.ram_bytes
    assert ran == set(nodes)
    return energy


def test_a_layer_does_not_run_again_with_changed_parameters():
    nodes = (
        Node("a", (), 1, 0, 1.0),
        Node("b", ("a",), 1, 0, 1.0),
        Node("u", ("b",), 0, 0, 1.0),
        Node("c", ("b",), 1, 0, 1.0),
    )
    weight = Parameter("w", 1, ("a",), "u", 1.0, 1.0)
    made = with_parameters(Graph(nodes), [weight])
    again = {node.id: node.recomputable for node in made.nodes}
    assert again == {"w": True, "a": True, "b": False, "u": False, "c": True}
    unchanged = Parameter("w", 1, ("a",), None, 1.0, 1.0)
    assert all(node.recomputable for node in with_parameters(Graph(nodes), [unchanged]).nodes)


def test_a_parameter_of_no_node_is_refused():
    with pytest.raises(PlanError, match="parameter w: unknown node z"):
        with_parameters(Graph((Node("a"),)), [Parameter("w", 1, ("z",), None, 1.0, 1.0)])


def test_paged_parameters_take_storage_and_erases():
    one = Parameter("w", 5000, ("a",), "a", 1.0, 1.0)
    read = Parameter("v", 3000, ("a",), None, 1.0, 1.0)
    left = paged_budget(Budget(1, None, 9000, 3, 4096), [one, read])
    assert (left.aux_bytes, left.erase_budget) == (1000, 1)
    for budget in (Budget(1, None, 7999), Budget(1, None, None, 1, 4096)):
        with pytest.raises(PlanError, match="paged parameters take 8000 bytes"):
            paged_budget(budget, [one, read])


@pytest.mark.slow
def test_a_network_whose_parameters_fill_the_ram_is_planned():
    table, layers = costs.load("m4"), networks.layers("linear", as_published=False)
    graph = layers_graph(layers, table, "autodiff", updates=True)
    plain = layer_parameters(layers, table)
    parameters = layer_parameters(layers, table, state=1)
    bytes_ = sum(p.ram_bytes for p in parameters)
    assert bytes_ == 2 * sum(p.ram_bytes for p in plain)
    assert bytes_ == 8 * sum(layer.parameters for layer in layers)
    budget = Budget(bytes_ * 8 // 10)
    made = plan_parameters(graph, parameters, budget, tries=4, cpu_limit=3)
    verdict = evaluate(made.graph, made.budget, made.answer.plan)
    assert verdict.valid and verdict.peak_ram <= budget.ram_bytes
    assert made.resident and len(made.resident) < len(parameters)
    assert 0 < made.lower_bound <= verdict.energy


@pytest.mark.slow
def test_the_command_plans_with_parameters_in_storage(tmp_path, capsys):
    out = str(tmp_path / "plan.json")
    words = ["plan", "linear", "--page-parameters", "1", "--cpu-limit", "2"]
    assert main([*words, "--ram", "80%", "--out", out]) == 0
    shown = {line.partition("  ")[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "of 348,720" in shown["parameters in storage, bytes"]
    assert "355,176" in shown["peak RAM, bytes"]  # of keeping all
    assert main(["plan", out, "--check"]) == 0
    claim = json.loads((tmp_path / "plan.json").read_text())["claim"]
    assert 0 < claim["lower_bound"] <= claim["energy"]
    assert claim["space"] == "plans with these parameters in storage"


@pytest.mark.parametrize(
    "words, text",
    [
        (["nope"], "--page-parameters is for linear, "),
        (["linear", "--method", "dtr"], "the method poet, not dtr"),
        (["linear", "--ram", "10"], "no plan fits 10 bytes of RAM; the smallest feasible RAM is"),
        (["linear", "--sweep", "ram=10%,20%"], "leave out --sweep"),
    ],
)
def test_what_it_cannot_do_is_one_line(words, text, capsys):
    assert main(["plan", *words, "--page-parameters"]) == 2
    error = capsys.readouterr().err
    assert text in error and error.count("\n") == 1


def test_state_out_of_range_is_refused(capsys):
    assert main(["plan", "linear", "--page-parameters", "17"]) == 2
    assert "--page-parameters 17: expected 0 to 16" in capsys.readouterr().err
