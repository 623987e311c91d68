# SPDX-License-Identifier: MIT
"""The tree over counts, and the linear program that only has the rows that matter."""

import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from acclimate_host.poet import complete, greedy, highs, tree
from acclimate_host.poet import search as searching
from acclimate_host.poet.column_values import tidy, values_of
from acclimate_host.poet.exhaustive import search
from acclimate_host.poet.graphs import forward_bytes, network_graph
from acclimate_host.poet.model import build
from acclimate_host.poet.positions import Space, positions
from acclimate_host.poet.problem import Budget
from acclimate_host.poet.relaxation import Lazy, table_of
from acclimate_host.poet.root import Root
from acclimate_host.poet.solve import solve
from bench.poet_random import differs, training


def model_of(graph, budget):
    space = Space(paging=budget.aux_bytes != 0)
    return build(graph, budget, space, positions(graph, budget, space))


def _one_walk(search, watch):
    walk = search.walks.next() if search.plan is None else None
    if walk is not None:
        search.offer(walk.plan())


@pytest.fixture
def forced(monkeypatch):
    """Every gap goes to the tree, and no cuts or good plans come before it."""
    nodes = []
    run = tree.Tree.run

    def counted(self, *arguments):
        bound = run(self, *arguments)
        nodes.append(self.nodes)
        return bound

    monkeypatch.setattr(complete, "MOST_NODES", 0)
    monkeypatch.setattr(searching, "_COUNTED", 0)
    monkeypatch.setattr(searching, "_WIDE", 1e-9)
    monkeypatch.setattr(searching.Search, "_near", lambda *_: True)
    monkeypatch.setattr(searching.Search, "walk", _one_walk)
    monkeypatch.setattr(Root, "cut", lambda *_: True)
    monkeypatch.setattr(tree.Tree, "run", counted)
    return nodes


@pytest.fixture
def bare(forced, monkeypatch):
    """The tree alone: no cuts, and no MIP solver for what is left of a node."""
    monkeypatch.setattr(Root, "violated", lambda *_: [])
    monkeypatch.setattr(tree._Worker, "_solved", lambda *_: False)
    return forced


def test_the_tree_agrees_with_exhaustive_search(forced, monkeypatch):
    # a good plan of the class would close most gaps before the tree
    monkeypatch.setattr(searching.Search, "_near_class", lambda *_: None)
    faults = {}
    for seed in range(120):
        graph, budget = training(seed)
        fault = differs(graph, budget, search(graph, budget))
        if fault:
            faults[seed] = fault
    assert not faults and len(forced) > 40


def test_without_cuts_the_tree_proves_less_and_nothing_wrong(bare):
    for seed in range(60):
        graph, budget = training(seed)
        best = search(graph, budget)
        if best is not None:
            answer = solve(graph, budget)
            assert answer.energy == pytest.approx(best[0], rel=1e-6), seed
            assert answer.class_proven and answer.lower_bound <= best[0] * (1 + 1e-9)
    assert sum(bare) > 2 * len(bare)


def test_one_thread_finds_the_same_optimum_as_several(forced):
    for seed in range(60):
        graph, budget = training(seed)
        if search(graph, budget) is not None:
            answers = [solve(graph, budget, threads=threads) for threads in (1, 3)]
            assert all(answer.proven for answer in answers)
            assert answers[0].energy == pytest.approx(answers[1].energy, rel=1e-6)


@pytest.fixture(scope="module")
def vgg():
    graph = network_graph("vgg16_cifar", "m4")
    return graph, Budget(forward_bytes(graph) // 2)


def test_few_rows_give_the_bound_of_all_rows(vgg):
    model = model_of(*vgg)
    whole = highs.Relaxation(model.program, highs.Watch()).solve()
    table, _ = table_of(model.program)
    lazy = Lazy(model.program, table, [], highs.Watch())
    outcome = lazy.solve()
    while lazy.complete(outcome.values):
        outcome = lazy.solve()
    assert outcome.bound == pytest.approx(whole.bound, rel=1e-7)
    assert len(lazy.lines) < len(table) / 2


def test_rows_with_the_memory_written_out_hold_for_plans(vgg):
    graph, budget = vgg
    model = model_of(graph, budget)
    table, numbers = table_of(model.program)
    assert np.count_nonzero(numbers < 0) == len(model.memory)  # only what defines the memory
    held = 0
    for steps in greedy.plans(graph, budget, Space(), 30, 2.0, 0):
        values = values_of(model, tidy(graph, steps))
        if values is not None:
            total = table.activity(np.array(values))
            assert np.all(total >= table.low - 1e-9) and np.all(total <= table.high + 1e-9)
            held += 1
    assert held


def test_a_limit_on_a_count_holds_and_goes_again(vgg):
    model = model_of(*vgg)
    table, _ = table_of(model.program)
    groups = tree.groups_of(model)
    lazy = Lazy(model.program, table, groups, highs.Watch())
    group = max(range(len(groups)), key=lambda k: len(groups[k][1]))
    free = lazy.solve()
    lazy.place(lazy.low, lazy.high, {group: (2.0, np.inf)})
    limited = lazy.solve()
    assert limited.values[groups[group][1]].sum() >= 2 - 1e-6 and limited.bound >= free.bound
    lazy.place(lazy.low, lazy.high, {})
    assert lazy.solve().bound == pytest.approx(free.bound, rel=1e-9)


def test_a_fault_in_a_thread_reaches_the_caller(forced, monkeypatch):
    def split(self, node):
        raise RuntimeError("worker")

    monkeypatch.setattr(tree._Worker, "split", split)
    with pytest.raises(RuntimeError, match="worker"):
        for seed in range(120):
            graph, budget = training(seed)
            if search(graph, budget) is not None:
                solve(graph, budget)


def test_one_thread_at_a_time_looks_for_plans(forced, monkeypatch):
    monkeypatch.setattr(searching.Search, "_near_class", lambda *_: None)
    monkeypatch.setattr(tree, "_HINTS", 1e9)
    inside, together, looked = [], [], []

    def look(self, values, watch):
        inside.append(1)
        together.append(len(inside))
        looked.append(threading.get_ident())
        time.sleep(0.01)
        inside.pop()

    monkeypatch.setattr(searching.Search, "look", look)
    for seed in range(8):
        graph, budget = training(seed)
        if search(graph, budget) is not None:
            solve(graph, budget, threads=6)
    assert looked and max(together) == 1
    with pytest.raises(ZeroDivisionError):  # what goes wrong in a look is no look that goes on
        monkeypatch.setattr(searching.Search, "look", lambda *_: 1 // 0)
        for seed in range(8):
            solve(*training(seed), threads=6)


def test_an_offer_waits_while_another_is_kept():
    graph, budget = training(1)
    budget = replace(budget, ram_bytes=1 << 40, deadline=None)
    options = SimpleNamespace(gap=0.0, solver="greedy", seed=0)
    found = searching.Search(graph, budget, Space(), None, options)
    steps = [("compute", node.id) for node in graph.nodes]
    offering = threading.Thread(target=found.offer, args=(steps,))
    with found.lock:
        offering.start()
        offering.join(1.0)
        assert offering.is_alive() and found.plan is None
    offering.join()
    assert found.plan is not None
