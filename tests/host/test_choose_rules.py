# SPDX-License-Identifier: MIT
"""Which scheme is chosen when proposals do not fit: dropped parts, limits and what is reported."""

import random

import pytest
from test_net_choose import every_scheme

from acclimate_host.errors import AcclimateError
from acclimate_host.model.build import Builder
from acclimate_host.sparse import contribution as part
from acclimate_host.sparse.choose import Memory, exact, last_layers_that_fit, smallest
from acclimate_host.sparse.contribution import Contributions
from acclimate_host.sparse.memory_bound import bound
from acclimate_host.sparse.scheme import Scheme

pytestmark = pytest.mark.filterwarnings("ignore:Constructing LpVariable:DeprecationWarning")
RATIOS = (0.5, 1.0)


@pytest.fixture(scope="module")
def graph():
    build = Builder("net", (2, 8, 8))
    y = build.conv("c0", build.x, 4, 3, 2)
    y = build.conv("c1", y, 6)
    y = build.conv("c2", y, 4)
    return build.classify(build.pool("p", y), 3)


@pytest.fixture(scope="module")
def memory(graph):
    memory = Memory(graph)
    for scheme in every_scheme(graph):
        memory(scheme)
    return memory


def gains_of(graph, seed, least=0.01):
    """Contributions that grow with what is trained, all different."""
    draw = random.Random(seed)
    biases, weights = [0.0], {}
    for _ in part.trainable(graph):
        biases.append(biases[-1] + draw.uniform(least, 0.08))
    for layer, _, counts in part.options(graph, RATIOS):
        value = 0.0
        for n in counts:
            value += draw.uniform(least, 0.1)
            weights[layer, n] = value
    return Contributions(0.5, tuple(biases), weights)


def proposal(graph, gains, budget):
    """The best scheme under the bound alone: what the program must propose first."""
    limit = bound(graph, RATIOS)
    under = [scheme for scheme in every_scheme(graph) if limit.of(scheme) <= budget]
    return max(under, key=gains.of)


def budgets(memory):
    return sorted(set(memory.known.values()))


@pytest.mark.parametrize("seed", range(2))
def test_the_choice_is_that_of_trying_every_scheme(graph, memory, seed):
    gains = gains_of(graph, seed)
    for budget in budgets(memory)[::5]:
        got = exact(graph, gains, budget, RATIOS, memory)
        fits = [scheme for scheme, size in memory.known.items() if size <= budget]
        assert got.scheme == max(fits, key=gains.of)
        assert got.proven and got.method == "exact" and got.seconds >= 0
        assert got.gain == gains.of(got.scheme)
        assert got.arena_bytes == memory(got.scheme) <= budget


def reduced(scheme, gains, memory, budget):
    """Without the parts that bring least, one after the other, until it fits."""
    channels = list(scheme.channels)
    while memory(Scheme(scheme.bias_layers, tuple(channels))) > budget and channels:
        channels.remove(min(channels, key=lambda c: gains.weights[c]))
    found = Scheme(scheme.bias_layers, tuple(channels))
    return found if memory(found) <= budget else Scheme(0)


def test_out_of_tries_the_least_useful_parts_are_dropped(graph, memory):
    seen = 0
    for seed in range(6):
        gains = gains_of(graph, seed)
        for budget in budgets(memory)[1::3]:
            first = proposal(graph, gains, budget)
            got = exact(graph, gains, budget, RATIOS, memory, limit=1)
            if memory(first) <= budget:
                assert got.proven and got.tried == 1 and got.scheme == first
                continue
            seen += 1
            wanted = max(Scheme(0), reduced(first, gains, memory, budget), key=gains.of)
            assert got.scheme == wanted and not got.proven and got.tried == 1
            assert got.arena_bytes <= budget
    assert seen > 3


def test_more_tries_never_give_less(graph, memory):
    gains = gains_of(graph, 3)
    for budget in budgets(memory)[2::7]:
        found = [exact(graph, gains, budget, RATIOS, memory, limit=n) for n in (1, 2, 4, 300)]
        assert [one.gain for one in found] == sorted(one.gain for one in found)
        assert all(one.tried <= n for one, n in zip(found, (1, 2, 4, 300), strict=True))
        proven = exact(graph, gains, budget, RATIOS, memory, limit=found[-1].tried)
        assert proven.proven and proven.tried == found[-1].tried


def test_the_last_layers_that_fit_are_as_many_as_fit(graph, memory):
    gains = gains_of(graph, 1)
    names = [node.attrs["layer"] for node in part.trainable(graph)]
    whole = {layer: counts[-1] for layer, _, counts in part.options(graph, RATIOS)}
    sizes = []
    for k in range(1, len(names) + 1):
        scheme = Scheme(k, tuple((layer, whole[layer]) for layer in names[-k:]))
        sizes.append((memory(scheme), scheme))
    for size, scheme in sizes:
        got = last_layers_that_fit(graph, gains, size, RATIOS, memory)
        assert got.scheme == scheme and got.arena_bytes == size and not got.proven
        assert got.method == "last layers" and got.gain == gains.of(scheme)
        assert got.tried == min(scheme.bias_layers + 2, len(names) + 1)
    least = last_layers_that_fit(graph, gains, sizes[0][0] - 1, RATIOS, memory)
    assert least.scheme == Scheme(0) and least.tried == 2


def test_a_memory_lays_each_scheme_out_once_and_only_where_the_bound_lets_it(graph):
    memory, limit = Memory(graph), bound(graph, RATIOS)
    scheme = Scheme(1, (("c2", 3),))
    low = limit.of(scheme)
    assert not memory.fits(scheme, low - 1, limit) and memory.known == {}
    size = memory(scheme)
    assert memory.known == {scheme: size} and size >= low
    assert memory.fits(scheme, size, limit) and not memory.fits(scheme, size - 1, limit)
    other = Memory(graph)
    assert other.fits(scheme, size, limit) and other.known == {scheme: size}
    # what is known already is judged by what it takes, whatever the bound says
    memory.known[scheme] = low - 1
    assert memory.fits(scheme, low - 1, limit)


def test_the_classifier_alone_must_fit(graph, memory):
    need = memory(Scheme(0))
    assert smallest(graph, memory, need) == Scheme(0)
    with pytest.raises(AcclimateError, match=f"{need - 1} .*needs {need}"):
        smallest(graph, memory, need - 1)
