# SPDX-License-Identifier: MIT
"""The randomised list schedules: what a walk counts, and when one is given up."""

from types import SimpleNamespace

import pytest

from acclimate_host.poet import greedy, solve
from acclimate_host.poet import search as searching
from acclimate_host.poet.graphs import network_graph
from acclimate_host.poet.problem import Budget
from bench.poet_random import nine, training


def walks(graph, budget, tries):
    """Yield (search, steps) of so many walks, of which each learned from those before."""
    search = greedy.Search(graph, budget)
    for _ in range(tries):
        steps = search.next()
        yield search, steps
        if steps is not None:
            search.learn(greedy.energy_of(graph, steps))


@pytest.mark.parametrize("source", [training, nine])
def test_a_walk_counts_the_energy_of_its_steps(source):
    counted = 0
    for seed in range(40):
        graph, budget, *_ = source(seed)
        for search, steps in walks(graph, budget, 5):
            if steps is not None:
                profile, energy = search.walk.profile, greedy.energy_of(graph, steps)
                assert len(profile) == len(graph.nodes) and profile == sorted(profile)
                assert profile[-1] == pytest.approx(energy, rel=1e-9, abs=1e-12)
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
        steps = search.next()
        if steps is not None:
            search.learn(greedy.energy_of(graph, steps))
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
