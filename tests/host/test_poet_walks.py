# SPDX-License-Identifier: MIT
"""The randomised list schedules: what a walk counts, when one is given up, and the same in C."""

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from acclimate_host.poet import fast_walk, greedy, solve
from acclimate_host.poet import search as searching
from acclimate_host.poet import walk as rules
from acclimate_host.poet.graphs import network_graph
from acclimate_host.poet.problem import Budget
from bench.poet_random import nine, training


def walks(graph, budget, tries):
    """Yield (search, steps) of so many walks, of which each learned from those before."""
    search = greedy.Search(graph, budget)
    for _ in range(tries):
        walk = search.next()
        yield search, walk and walk.plan()
        if walk is not None:
            search.learn(walk.spent)


@pytest.mark.parametrize("source", [training, nine])
def test_a_walk_counts_the_energy_of_its_steps(source):
    counted = 0
    for seed in range(40):
        graph, budget, *_ = source(seed)
        for search, steps in walks(graph, budget, 5):
            if steps is not None:
                profile, energy = list(search.walk.profile), greedy.energy_of(graph, steps)
                assert len(profile) == len(graph.nodes) and profile == sorted(profile)
                assert search.walk.spent == pytest.approx(energy, rel=1e-9, abs=1e-12)
                assert profile[-1] <= search.walk.spent
                counted += 1
    assert counted > 100


def test_a_walk_that_becomes_too_dear_is_given_up_before_its_end():
    graph = network_graph("resnet18_cifar", "m4", "chain")
    given_up = whole = 0
    for search, steps in walks(graph, Budget(490_752), 150):
        ended = search.walk.profile
        if steps is None and len(ended) < len(graph.nodes):
            assert ended[-1] > search.walk.most[len(ended) - 1]
            given_up += 1
        elif steps is not None and search.walk.most is not None:
            assert all(spent <= most for spent, most in zip(ended, search.walk.most, strict=True))
            whole += 1
    assert given_up > 10 and whole > 10


def test_walks_are_not_given_up_for_their_energy_while_no_plan_is_in_time():
    graph = network_graph("resnet18_cifar", "m4", "chain")
    search = greedy.Search(graph, Budget(490_752, deadline=1.0))
    search.next()
    search.learn(2 * greedy.LATE)
    search.next()
    assert search.walk.most is None
    search.learn(1.0)
    search.next()
    assert search.walk.most is not None


def test_walks_get_most_of_a_limit_in_which_no_bound_can_be_had(
    monkeypatch,
):
    seen = []
    monkeypatch.setattr(
        searching.Search, "walk", lambda self, watch: seen.append(watch.left() / self.watch.left())
    )
    graph = network_graph("resnet18_cifar", "m4", "chain")
    for seconds, share in ((6.0, 0.75), (30.0, 133 / 50 / 30)):
        seen.clear()
        budget = Budget(490_752)
        watch = searching.highs.Watch(cpu_until=searching.time.process_time() + seconds)
        options = solve.Options("greedy", 1e-6, None, 0, 1)
        searching.Search(graph, budget, searching.greedy.Space(), watch, options)._greedy()
        assert seen[0] == pytest.approx(share, rel=0.05)


class _Watch:
    """A watch that leaves time for so many looks at it."""

    stop = False

    def __init__(self, looks):
        self.looks = looks

    def left(self):
        self.looks -= 1
        return max(self.looks, 0)


@pytest.mark.parametrize(
    ("deadline", "tries", "saving", "scored"),
    [
        (None, 0, 0.0, 3),  # what tidying saves is not known yet
        (None, 300, 0.0, 1),  # nothing: only what is better is tidied
        (None, 300, 0.002, 2),
        (None, 300, 0.2, 3),
        (1e9, 300, 0.0, 3),  # whether a plan is in time only the evaluator knows
    ],
)
def test_walks_are_tidied_where_that_may_give_the_best(
    monkeypatch, deadline, tries, saving, scored
):
    graph = network_graph("resnet18_cifar", "m4", "chain")
    options = solve.Options("greedy", 1e-6, None, 0, 1)
    one = searching.Search(
        graph,
        Budget(490_752, deadline=deadline),
        searching.greedy.Space(),
        searching.highs.Watch(),
        options,
    )
    one.verdict, one.plan, one.saved = SimpleNamespace(energy=1.0), (), saving
    energies = iter((0.999, 1.001, 1.007, 1.2))
    seen = []
    one.walks = SimpleNamespace(
        tries=tries,
        next=lambda: SimpleNamespace(spent=(spent := next(energies)), plan=lambda: [spent]),
        learn=lambda energy: None,
    )
    monkeypatch.setattr(one, "_score", lambda steps: seen.append(steps) or steps[0])
    monkeypatch.setattr(one, "_closed", lambda: False)
    one.walk(_Watch(5))
    assert len(seen) == scored and one.saved == saving
    energies = iter((0.999,))
    monkeypatch.setattr(one, "_score", lambda steps: 0.5)
    one.walk(_Watch(2))
    assert one.saved == 1 - 0.5 / 0.999


def test_chains_take_turns_and_the_best_goes_on_alone(monkeypatch):
    monkeypatch.setattr(greedy, "_ROUNDS", ((3, 4), (2, 5)))
    monkeypatch.setattr(greedy.Search, "_most", lambda self: None)  # each walk ends
    graph = network_graph("resnet18_cifar", "m4", "chain")
    search = greedy.Search(graph, Budget(490_752))
    turns = []

    def walked(tries, worth):
        for _ in range(tries):
            search.next()
            if search.chain not in turns:
                turns.append(search.chain)
            search.learn(worth[turns.index(search.chain)])

    walked(12, (3.0, 1.0, 2.0))
    assert len(turns) == 3 and [chain.tries for chain in turns] == [4, 4, 4]
    # Nothing of one chain is another's.
    assert len({id(chain.best) for chain in turns}) == 3
    walked(5, (3.0, 1.0, 2.0))
    assert search.chain is turns[1] and turns[1].tries == 5
    walked(5, (3.0, 1.0, 0.5))
    assert search.chain is turns[2] and turns[0].tries == 4
    walked(20, (3.0, 1.0, 0.5))
    assert search.chains == [turns[2]] and turns[2].tries == 20 and turns[1].tries == 5
    assert search.tries == 42


def test_a_chain_without_a_plan_gives_way(monkeypatch):
    monkeypatch.setattr(greedy, "_ROUNDS", ((2, 3),))
    search = greedy.Search(network_graph("resnet18_cifar", "m4", "chain"), Budget(490_752))
    first = search.chain
    for _ in range(3):
        search.next()  # nothing is learned
    search.next()
    second = search.chain
    search.learn(1.0)
    for _ in range(3):
        search.next()
    assert search.chains == [second] and first is not second


@pytest.mark.parametrize("paging", [True, False])
def test_tensors_change_places_only_where_there_is_paging(monkeypatch, paging):
    """Else such a walk would be the best one once more."""
    calls, swapped = [], greedy.Search._swapped
    monkeypatch.setattr(
        greedy.Search, "_swapped", lambda self, best: calls.append(1) or swapped(self, best)
    )
    graph = network_graph("resnet18_cifar", "m4", "chain")
    search = greedy.Search(graph, Budget(2_000_000), greedy.Space(paging=paging))
    for _ in range(40):
        walk = search.next()
        if walk is not None:
            search.learn(walk.spent)
    assert search.chain.best is not None and bool(calls) == paging


def test_a_wide_gap_goes_to_the_tree_without_a_search_near_the_relaxation(monkeypatch):
    """It closes the gap sooner than plans near the relaxation are found, but for joined stages."""
    graph = network_graph("resnet18_cifar", "m4", "chain")
    watch = searching.highs.Watch()
    options = solve.Options("highs", 1e-6, None, 0, 1)
    one = searching.Search(graph, Budget(490_752), searching.greedy.Space(), watch, options)
    one.plan = one.verdict = SimpleNamespace(energy=1.0)
    columns = SimpleNamespace(cost=[0] * 3000)
    model = SimpleNamespace(program=columns, again={(0, 0): 0}, ends=[0] * len(graph.nodes))
    root = SimpleNamespace(model=model)
    for bound, ends, is_tree in ((0.99, 133, True), (0.999, 133, False), (0.99, 100, False)):
        one.bound, model.ends = bound, [0] * ends
        assert one._goes_to_the_tree(root) == is_tree
    one.graph, model.ends = network_graph("resnet8_cifar", "m4", "chain"), [0] * 61
    one.bound = 0.99
    assert not one._goes_to_the_tree(root)


def test_where_the_best_chain_finds_no_more_others_begin(monkeypatch):
    monkeypatch.setattr(greedy, "_ROUNDS", ((2, 3),))
    monkeypatch.setattr(greedy, "_STALLED", 5)
    monkeypatch.setattr(greedy.Search, "_most", lambda self: None)
    search = greedy.Search(network_graph("resnet18_cifar", "m4", "chain"), Budget(490_752))
    seen = []
    for score in (9, 8, 7, 6, 5, 4, 3, 3, 3, 2, 3, 3, 3, 3, 3, 3):
        search.next()
        if search.chain not in seen:
            seen.append(search.chain)
        search.learn(float(score))
    # Two chains, three walks each; the best goes on, with 2 as its best and five walks after it.
    assert len(seen) == 3 and seen[1].least == 2 and seen[1].stalled == 5
    assert len(search.rounds) == 1 and search.chain.best is not None


needs_compiler = pytest.mark.skipif(fast_walk._library() is None, reason="no C compiler here")


def _limits(graph, budget, rng):
    """The budget, now and then with limits of time, of the storage, and of erased blocks."""
    every = sum(node.ram_bytes for node in graph.nodes)
    return replace(
        budget,
        ram_bytes=budget.ram_bytes + rng.choice((0, 0.5)),
        deadline=rng.choice((None, 1e9)),
        aux_bytes=rng.choice((None, 0, rng.randrange(1 + every))),
        erase_budget=rng.choice((None, rng.randrange(8))),
        erase_block_bytes=rng.choice((1, 7, 64)),
    )


def _both(facts, draw, guide, most):
    """What a walk in C and one in Python came to, and how the two ended."""
    found = []
    for kind in (fast_walk.FastWalk, rules.Walk):
        walk = kind(facts, draw, guide, 3.0, most)
        ended = walk.run()
        found.append((ended, walk.spent, list(walk.profile), walk.stored(), walk.plan()))
    return found


@needs_compiler
@pytest.mark.parametrize("source", [training, nine])
def test_a_walk_in_c_is_that_of_python_to_the_bit(source):
    rng, ends = random.Random(5), []
    for seed in range(60):
        graph, budget, *_ = source(seed)
        budget = _limits(graph, budget, rng)
        search = greedy.Search(graph, budget, seed=seed)
        rows = [{i: rng.random() for i in range(t) if rng.random() < 0.3} for t in range(9)]
        guide = rules.Guide(rows) if len(graph.nodes) == 9 else None
        for _ in range(12):
            walk = search.next()
            in_c, in_python = _both(search.facts, search.draw, guide, search.walk.most)
            assert in_c == in_python
            ends.append(in_c[0])
            if walk is not None:
                search.learn(walk.spent)
    assert 100 < sum(ends) < len(ends)


@needs_compiler
def test_a_long_network_walks_the_same_in_c():
    """More than 64 tensors, so that their sets have several words."""
    graph, seen = network_graph("resnet18_cifar", "m4", "chain"), set()
    for search, _ in walks(graph, Budget(490_752), 60):
        in_c, in_python = _both(search.facts, search.draw, None, search.walk.most)
        assert in_c == in_python
        seen.add(in_c[0])
    assert seen == {True, False}


@pytest.mark.parametrize("has_compiler", [True, False])
def test_a_walk_that_becomes_too_long_is_given_up(monkeypatch, has_compiler):
    if has_compiler and fast_walk._library() is None:
        pytest.skip("no C compiler here")
    if not has_compiler:
        monkeypatch.setattr(fast_walk, "_library", lambda: None)
    graph = network_graph("resnet18_cifar", "m4", "chain")
    draw = rules.Draw((1.0, 1.0, 1.0), np.zeros(len(graph.nodes)))
    for most, arrives in ((rules._LONG, True), (1, False)):
        monkeypatch.setattr(rules, "_LONG", most)
        walk = rules.Facts(graph, Budget(490_752), greedy.Space()).walk(draw)
        assert walk.run() == arrives


def test_without_a_compiler_the_same_plans_are_found(monkeypatch):
    found = []
    graph = network_graph("resnet18_cifar", "m4", "chain")
    for library in (fast_walk._library, lambda: None):
        monkeypatch.setattr(fast_walk, "_library", library)
        found.append([steps for _, steps in walks(graph, Budget(490_752), 40)])
    assert found[0] == found[1] and any(found[0])
