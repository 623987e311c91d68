# SPDX-License-Identifier: MIT
"""The compiler's choice: bytes stay, arenas hold, and no choice of all is faster."""

from itertools import product

import numpy as np
import pytest
from net_cases import sample, stored, values_for

from acclimate.net import Net
from acclimate_host.compile import choice_problem
from acclimate_host.compile.choice_problem import Infeasible, Problem
from acclimate_host.compile.choice_space import fronts_of
from acclimate_host.compile.choose import TooSmall, choose, described, knee
from acclimate_host.compile.cost_model import CORES, CostModel, features, layer_cost
from acclimate_host.compile.emit import number
from acclimate_host.compile.encode import encode, place
from acclimate_host.compile.instructions import read_code, split_program
from acclimate_host.compile.program_format import code, is_rare
from acclimate_host.compile.step import (
    Choice,
    Options,
    before_fusion,
    finish,
    inference_step,
    training_step,
)
from acclimate_host.connect import count_network, why_not
from acclimate_host.model import mlperf_tiny
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError
from acclimate_host.model.losses import with_loss
from acclimate_host.model.seeded import seeded_network
from acclimate_host.sparse.scheme import full, last_layers
from acclimate_host.twin import net as twin_net

needs_twin = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built: make twin")


def blocks(edge=40):
    """Two inverted residual blocks, large enough for patches."""
    net = Builder("blocks", (3, edge, edge))
    y = net.conv("c0", net.x, 8, 3, 2)
    y = net.conv("c1", y, 24)
    y = net.conv("c2", y, 24, 3, 2, groups=24)
    start = net.conv("c3", y, 8, relu=False)
    y = net.conv("c4", start, 32)
    y = net.conv("c5", y, 32, 3, groups=32)
    y = net.add("a", start, net.conv("c6", y, 8, relu=False))
    return net.classify(net.pool("p", y), 5)


def answers(program, graph, steps=2):
    """What a program predicts and how it trains, on the C core."""
    twin_net.register()
    net, random, found = Net(program.code, program.weights, seed=5), np.random.default_rng(2), []
    net.set_rate(20000, -18)
    for i in range(steps):
        x = stored(sample(graph, random))
        found.append((net.predict(x), bytes(net.outputs())))
        if program.weights:
            net.train_step(x, i % 3)
    return found, bytes(net.weights()) if program.weights else b""


@needs_twin
@pytest.mark.parametrize("trained", [0, 2])
def test_every_choice_gives_the_same_bytes_within_its_arena(trained):
    graph = blocks()
    network = values_for(graph, 1)
    scheme = last_layers(graph, trained) if trained else None
    step = training_step(graph, scheme) if trained else inference_step(graph)
    wanted = answers(encode(step, network), graph)
    table = choose(network, scheme).table
    assert len(table) > (0 if trained else 1)  # the backward pass may be what takes most
    seen = set()
    for arena, instructions in table:
        found = choose(network, scheme, arena)
        assert found.arena_bytes <= arena and found.instructions <= instructions + 1
        assert answers(found.program, graph) == wanted
        seen.add(described(found.step))
    assert len(seen) == len(table)


def small():
    """One pair, one addition: 100 choices in all."""
    net = Builder("small", (4, 6, 6))
    start = net.conv("c0", net.x, 12)
    y = net.conv("c1", start, 12, 3, groups=12)
    z = net.conv("c2", y, 16)
    z = net.conv("c3", z, 16, 3, groups=16)
    return net.finish(net.add("a", net.conv("c4", z, 8), net.conv("c5", y, 8)))


def every_choice(graph):
    """All choices of `small` without patches."""
    forms = (None, 0, 4, 8, 12, 16)
    for first, second, add in product(forms, forms, (False, True)):
        planes = {name: p for name, p in (("c1", first), ("c3", second)) if p}
        apart = {name for name, p in (("c1", first), ("c3", second)) if p == 0}
        yield Choice(planes, frozenset("a" if add else ""), frozenset(apart))


def test_no_choice_of_all_is_faster():
    graph = small()
    network = seeded_network(graph)
    model, plain = CostModel.load("m4f"), before_fusion(graph, None, Options())
    made = {}
    for choice in every_choice(graph):
        program = encode(finish(plain, Options(choice=choice)), network)
        made[repr(choice)] = (program.arena_bytes, model.total(program))
    arenas = sorted({arena for arena, _ in made.values()})
    assert len(made) == 72 and len(arenas) > 4
    for limit in arenas:
        best = min(count for arena, count in made.values() if arena <= limit)
        found = choose(network, ram_bytes=limit)
        assert found.arena_bytes <= limit
        assert found.bound <= best + 1
        assert found.instructions <= best + 1 if found.proven else found.gap < 0.02
    with pytest.raises(TooSmall) as error:
        choose(network, ram_bytes=arenas[0] - 4)
    assert error.value.smallest == arenas[0]


def test_without_highs_the_bound_stays_true(monkeypatch):
    graph = blocks()
    network, model = values_for(graph, 1), CostModel.load("m4f")
    plain = before_fusion(graph, None, Options())
    problem = Problem(fronts_of(plain, network, "plain", model, Options(), False))
    least, most = problem.least(), problem.solve().live
    budgets = range(least, most, max(4, (most - least) // 12))
    exact = [problem.solve(budget) for budget in budgets]

    def repaired(self, limit):
        return False, self._repaired(limit)

    monkeypatch.setattr(choice_problem.Arrays, "_highs", repaired)
    for budget, best in zip(budgets, exact, strict=True):
        assert best.live <= budget and best.bound == pytest.approx(best.cost)
        try:
            found = problem.solve(budget)
        except Infeasible:
            continue
        assert found.live <= budget and found.cost >= best.cost - 1e-6
        assert found.bound <= best.cost + 1e-6
    with pytest.raises(Infeasible):
        problem.solve(least - 8)


def test_what_options_add_up_to_is_what_a_program_has():
    graph = blocks()
    network, model = values_for(graph, 1), CostModel.load("m4f")
    scheme = last_layers(graph, 2)
    plain = before_fusion(graph, scheme, Options())
    problem = Problem(fronts_of(plain, network, "plain", model, Options(), True))
    for budget in (None, (problem.least() + problem.solve().live) // 2):
        found = problem.solve(budget)
        step = finish(plain, Options(choice=found.choice))
        placement = place(step, network)
        assert max(placement.live_bytes()) == found.live
        total = model.total(encode(step, network), training=True)
        assert total == pytest.approx(found.cost, rel=1e-6)


def test_the_knee_is_where_the_table_bends():
    assert knee([(1, 100), (2, 20), (90, 10)]) == (2, 20)
    assert knee([(100, 50)]) == (100, 50)
    assert knee([(100, 50), (110, 30)]) == (110, 30)  # little RAM for much
    assert knee([(100, 50), (300, 48)]) == (100, 50)


@pytest.mark.parametrize("name, macs", [("kws", 2.66), ("vww", 7.49), ("resnet8", 12.5)])
def test_the_networks_of_mlperf_tiny_have_their_products(name, macs):
    graph = mlperf_tiny.network_graph(name)
    found = sum(
        graph[n.outputs[0]].elements * graph[n.inputs[1]].elements // graph[n.inputs[1]].shape[0]
        for n in graph.nodes
        if n.op in ("conv", "dense")
    )
    assert found / 1e6 == pytest.approx(macs, rel=0.01)


def test_an_unknown_core_is_refused():
    with pytest.raises(GraphError, match="m4f, m0"):
        CostModel.load("z80")


def test_a_program_reads_back_to_its_end():
    graph = blocks()
    program = encode(training_step(graph, last_layers(graph, 2)), values_for(graph, 1))
    forward, behind, _ = split_program(program)
    read = list(read_code(forward + behind))
    again = b"".join(
        bytes([code(i.op)]) + b"".join(map(number, i.operands.values())) for i in read
    )
    assert again == forward + behind
    assert [i.op for i in read].index("LOSS") == len(list(read_code(forward)))


def test_features_count_what_a_kernel_does():
    net = Builder("one", (8, 4, 4))
    graph = net.finish(net.conv("c", net.x, 6))
    program = encode(inference_step(graph), seeded_network(graph))
    forward, _, constants = split_program(program)
    conv = next(read_code(forward))
    found = features(CORES["m4f"], conv, lambda number: layer_cost(constants, number))
    # 16 pixels, two at a time; 3 pairs of rows; 2 words of 4 channels
    assert found["dot2.word"] == 8 * 3 * 2 and found["quick2.pair"] == 8 * 3
    found = features(CORES["m0"], conv, lambda number: layer_cost(constants, number))
    assert found["dot1.word"] == 16 * 3 * 2 and found["put"] == 16 * 6


def rarer():
    """Products, tables, moved and joined maps, attention: the instructions of `rare`."""
    net = Builder("rarer", (2, 7, 6))
    y = net.lookup("f", net.conv("c0", net.x, 20, relu=False), "silu")
    y = net.multiply("m", y, net.conv("c1", net.pool("p", y), 20, relu=False))
    y = net.resize("r", y, (1, 2))
    y = net.norm("n", net.concat("j", [y, net.conv("c2", y, 12, relu=False)]))
    y = net.conv("c3", y, 6, relu=False)
    return net.finish(net.dense("fc", net.attention("t", y, y, y, 2), 5))


def test_the_rarer_instructions_cost_what_a_board_counts():
    if why_not("nrf52840"):
        pytest.skip(why_not("nrf52840"))
    network = with_loss(values_for(rarer(), 2))
    program = encode(training_step(network.graph, full(network.graph)), network)
    counted, _ = count_network.instructions("nrf52840", program, training=True)
    model, seen = CostModel.load("m4f"), {}
    for (instruction, cost), (_, count) in zip(model.program(program, True), counted, strict=True):
        total = seen.setdefault(instruction.op, [0, 0])
        total[0], total[1] = total[0] + cost, total[1] + count
    rare = set(filter(is_rare, seen))
    assert rare >= {"MULTIPLY", "GATHER", "PRODUCT_GRADIENT", "GATHER_GRADIENT", "NORM"}
    assert rare >= {"ATTENTION", "ATTENTION_GRADIENT"}
    apart = {name: seen[name][0] / seen[name][1] - 1 for name in rare}
    assert max(map(abs, apart.values())) < 0.15, apart
