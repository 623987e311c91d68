# SPDX-License-Identifier: MIT
"""Path cuts and RAM cuts cut off shares of plans, and never a plan."""

import numpy as np
import pytest

from acclimate_host.poet import greedy, highs
from acclimate_host.poet.column_values import tidy, values_of
from acclimate_host.poet.exhaustive import search
from acclimate_host.poet.graphs import network_graph
from acclimate_host.poet.model import build
from acclimate_host.poet.positions import Space, positions
from acclimate_host.poet.problem import Budget
from acclimate_host.poet.root import Root
from acclimate_host.poet.smallest import operator_need
from acclimate_host.poet.solve import solve
from acclimate_host.poet.stages import stage_model
from bench.poet_random import problem, training


def rooted(graph, budget, rounds=1):
    space = Space(paging=budget.aux_bytes != 0, rounds=rounds)
    model = build(graph, budget, space, positions(graph, budget, space))
    return model, Root(model, highs.Watch())


def plans(graph, budget, best):
    yield best
    yield from greedy.plans(graph, budget, Space(paging=budget.aux_bytes != 0), 4, 0.2)


@pytest.mark.slow
def test_no_cut_leaves_out_a_plan_of_small_graphs():
    checked = 0
    for seed in range(400, 520):
        graph, budget = problem(seed, most=9)
        best = search(graph, budget)
        if best is None:
            continue
        model, root = rooted(graph, budget, rounds=2)
        known = [values_of(model, tidy(graph, steps)) for steps in plans(graph, budget, best[1])]
        checked += checked_cuts(root, known, seed, 0.3)
    assert checked > 1000


def checked_cuts(root, known, seed, whole):
    """Assert that no cut at points drawn by chance leaves out what is known; return how many.

    :param known: values of the columns, or None. :param whole: share of the columns that are 1
    """
    rng, checked = np.random.default_rng(seed), 0
    for scale in (0.02, 0.1, 0.4):
        point = scale * rng.random(len(root.model.program.cost)) ** 2
        point[rng.random(len(point)) < whole] = 1.0
        root.short = not root.short
        for terms, low, high in root.violated(point):
            for values in known:
                if values is not None:
                    total = sum(c * values[k] for k, c in terms)
                    assert low - 1e-9 <= total <= high + 1e-9, (seed, terms)
                    checked += 1
    return checked


def test_no_cut_of_the_stages_leaves_out_a_plan_of_small_graphs():
    checked = 0
    for seed in range(400, 480):
        graph, budget = training(seed) if seed % 2 else problem(seed, most=8)
        best = search(graph, budget)
        if best is None:
            continue
        space = Space(paging=budget.aux_bytes != 0)
        model = stage_model(graph, budget, space, positions(graph, budget, space))
        root = Root(model, highs.Watch())
        known = [model.values_of(tidy(graph, s)) for s in plans(graph, budget, best[1])]
        checked += checked_cuts(root, known, seed, 0.4)
    assert checked > 500


@pytest.fixture(scope="module")
def resnet():
    graph = network_graph("resnet18_cifar", "m4")
    return graph, Budget(operator_need(graph)[0])


@pytest.mark.slow
def test_resnet18_at_its_smallest_ram_is_bounded_closely(resnet):
    answer = solve(*resnet, cpu_limit=12)
    assert answer.energy == pytest.approx(0.6935618548, rel=1e-3)
    assert 0.6934 < answer.lower_bound <= 0.6935618548 * (1 + 1e-8)
