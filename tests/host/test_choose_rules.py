# SPDX-License-Identifier: MIT
"""Which scheme is chosen when proposals do not fit: dropped parts, limits and what is reported."""

import itertools
import random
from types import SimpleNamespace

import pulp
import pytest
from test_net_choose import every_scheme

from acclimate_host.errors import AcclimateError
from acclimate_host.model.build import Builder
from acclimate_host.sparse import choose
from acclimate_host.sparse import contribution as part
from acclimate_host.sparse.choose import Memory, exact, last_layers_that_fit, smallest
from acclimate_host.sparse.contribution import Contributions
from acclimate_host.sparse.memory_bound import bound
from acclimate_host.sparse.scheme import Scheme

pytestmark = [
    pytest.mark.filterwarnings("ignore:Constructing LpVariable:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Using LpProblem.constraints:DeprecationWarning"),
]
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


def gains_of(graph, seed, least=0.01, ratios=RATIOS):
    """Contributions that grow with what is trained, all different."""
    draw = random.Random(seed)
    biases, weights = [0.0], {}
    for _ in part.trainable(graph):
        biases.append(biases[-1] + draw.uniform(least, 0.08))
    for layer, _, counts in part.options(graph, ratios):
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
    for seed in range(3):
        gains = gains_of(graph, seed)
        for budget in budgets(memory)[1::4]:
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


def test_where_the_solver_finds_nothing_the_classifier_alone_is_chosen(graph, memory, monkeypatch):
    """Wrongly, as that always fits: solvers have called feasible programs infeasible."""
    monkeypatch.setattr(choose._Program, "solve", lambda self: None)
    got = exact(graph, gains_of(graph, 1), budgets(memory)[-1], RATIOS, memory)
    assert got.scheme == Scheme(0) and not got.proven


def test_how_long_a_choice_took_is_said(graph, memory, monkeypatch):
    clock = iter((100.0, 102.5))
    monkeypatch.setattr(choose, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    gains, budget = gains_of(graph, 1), budgets(memory)[-1]
    assert last_layers_that_fit(graph, gains, budget, RATIOS, memory).seconds == 2.5


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
    assert memory.fits(scheme, low - 1, limit) is False and memory.known == {}
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


def test_what_is_laid_out_already_is_not_laid_out_again(graph, memory, monkeypatch):
    gains, budget = gains_of(graph, 2), budgets(memory)[4]
    fresh = [one(graph, gains, budget, RATIOS) for one in (exact, last_layers_that_fit)]

    def never(*_):
        raise AssertionError("it is known")

    monkeypatch.setattr(choose, "arena_bytes", never)
    for one, found in zip((exact, last_layers_that_fit), fresh, strict=True):
        again = one(graph, gains, budget, RATIOS, memory)
        assert (again.scheme, again.gain, again.arena_bytes) == (
            found.scheme,
            found.gain,
            found.arena_bytes,
        )


# ---- the integer program -----------------------------------------------------------------------

THREE = (0.25, 0.5, 1.0)


def all_schemes(graph, ratios):
    rows = part.options(graph, ratios)
    for k in range(len(part.trainable(graph)) + 1):
        choices = [[None, *counts] if needs <= k else [None] for _, needs, counts in rows]
        for chosen in itertools.product(*choices):
            yield Scheme(k, tuple((row[0], n) for row, n in zip(rows, chosen, strict=True) if n))


def program_of(graph, budget, seed=1, biases_from=0.0):
    gains = gains_of(graph, seed, ratios=THREE)
    gains = Contributions(0.5, tuple(b + biases_from for b in gains.biases), gains.weights)
    return choose._Program(graph, gains, budget, THREE, Memory(graph)), gains


def rows_of(program):
    rows = program.model.constraints  # from PuLP 4 on a method
    return rows() if callable(rows) else list(rows.values())


def value_of(program, scheme):
    """Give the columns the values of a scheme; (do they meet all rows?, the objective)."""
    taken = dict(scheme.channels)
    for k, column in enumerate(program.reach):
        column.varValue = int(k < scheme.bias_layers)
    for (layer, count), column in program.has.items():
        column.varValue = int(taken.get(layer, 0) >= count)
    meets = all(row.valid(1e-6) for row in rows_of(program))
    return meets, pulp.value(program.model.objective)


def test_the_rows_let_through_what_the_bound_does_and_the_objective_is_the_gain(graph):
    limit, schemes = bound(graph, THREE), list(all_schemes(graph, THREE))
    needs = {scheme: limit.of(scheme) for scheme in schemes}
    every = sorted(set(needs.values()))
    for budget in (every[0], every[len(every) // 3], every[-1] - 1, every[-1]):
        program, gains = program_of(graph, budget, biases_from=0.3)
        assert len(program.reach) == len(part.trainable(graph))
        columns = [*program.reach, *program.has.values()]
        assert {(c.lowBound, c.upBound, c.cat) for c in columns} == {(0, 1, "Integer")}
        assert len({column.name for column in columns}) == len(columns)
        for scheme in schemes:
            meets, gain = value_of(program, scheme)
            assert meets == (needs[scheme] <= budget), scheme
            assert gain == pytest.approx(gains.of(scheme), abs=1e-12)


def test_columns_that_are_no_scheme_break_a_row(graph):
    program, _ = program_of(graph, 1 << 30)
    columns = [*program.reach, *program.has.values()]
    schemes = set()
    for scheme in all_schemes(graph, THREE):
        assert value_of(program, scheme)[0]
        schemes.add(tuple(column.varValue for column in columns))
    rows, draw = rows_of(program), random.Random(3)
    for _ in range(300):
        values = tuple(draw.randint(0, 1) for _ in columns)
        for column, value in zip(columns, values, strict=True):
            column.varValue = value
        assert all(row.valid(1e-6) for row in rows) == (values in schemes)


def adds_to(more, scheme, whole):
    """Whether a scheme trains all that another one does, and none of its parts whole instead."""
    taken = dict(more.channels)
    if more.bias_layers < scheme.bias_layers:
        return False
    return all(
        taken.get(layer, 0) >= n and (taken[layer] < whole[layer] or n == whole[layer])
        for layer, n in scheme.channels
    )


def test_an_excluded_scheme_takes_along_what_adds_to_it(graph):
    schemes = list(all_schemes(graph, THREE))
    whole = {layer: counts[-1] for layer, _, counts in part.options(graph, THREE)}
    draw = random.Random(1)
    for scheme in [Scheme(0), Scheme(2), Scheme(3, (("c0", 1),)), *draw.sample(schemes, 5)]:
        program, _ = program_of(graph, 1 << 30)
        program.exclude(scheme)
        for other in schemes:
            assert value_of(program, other)[0] != adds_to(other, scheme, whole), (scheme, other)
    program, _ = program_of(graph, 1 << 30)
    program.exclude(Scheme(0))
    assert program.solve() is None


def test_the_program_gives_back_the_best_scheme(graph):
    schemes = list(all_schemes(graph, THREE))
    for seed in range(3):
        program, gains = program_of(graph, 1 << 30, seed)
        best = max(schemes, key=gains.of)
        assert program.solve() == best
        program.exclude(best)
        whole = {layer: counts[-1] for layer, _, counts in part.options(graph, THREE)}
        rest = [scheme for scheme in schemes if not adds_to(scheme, best, whole)]
        assert program.solve() == max(rest, key=gains.of)


def test_where_highs_is_missing_cbc_is_told_not_to_simplify():
    asked = []

    def solver(**options):
        asked.append(options)
        return "a solver"

    def pulp_with(*names):
        return SimpleNamespace(
            listSolvers=lambda onlyAvailable: list(names), HiGHS=solver, COIN_CMD=solver
        )

    assert choose._solver(pulp_with("COIN_CMD")) == "a solver"
    assert asked.pop()["presolve"] is False
    assert choose._solver(pulp_with("HiGHS", "COIN_CMD")) == "a solver"
    assert "presolve" not in asked[0] and asked.pop()["output_flag"] is False
