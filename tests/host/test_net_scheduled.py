# SPDX-License-Identifier: MIT
"""Schedules joined to training steps: within RAM, and every byte as without a schedule."""

import numpy as np
import pytest
from net_cases import sample, schemes, stored, trained_net, values_for

from acclimate_host.compile.encode import encode
from acclimate_host.compile.scheduled import plain_step, with_schedule
from acclimate_host.compile.step import training_step
from acclimate_host.model.graph import GraphError
from acclimate_host.model.network import Network
from acclimate_host.paths import built
from acclimate_host.poet.answer import Infeasible
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.fit import fit
from acclimate_host.poet.problem import Budget, PlanError
from acclimate_host.poet.smallest import everything_kept
from acclimate_host.poet.step_graph import step_graph
from acclimate_host.sparse.scheme import full
from harness.errors import naming

needs_twin = pytest.mark.skipif(
    not built("twin", "libacclimate_net.so").exists(), reason="run: make twin"
)


class Shelf:
    """A pager in a dictionary, which counts."""

    def __init__(self):
        self.pages, self.outs, self.ins = {}, 0, 0

    def page_out(self, number, view):
        self.pages[number] = bytes(view)
        self.outs += 1

    def page_in(self, number, view):
        view[:] = self.pages[number]
        self.ins += 1


def trained(program, graph, steps=3, core=None):
    """Outputs, shares and weights after some steps, and the pager; core None: the twin."""
    from acclimate.net import Net
    from acclimate_host.twin import net as twin_net

    twin_net.register()
    shelf, random, seen = Shelf(), np.random.default_rng(1), []
    net = Net(bytearray(program.code), program.weights, seed=7, pager=shelf)
    net._native = core or net._native
    net.set_rate(20000, -18)
    for i in range(steps):
        x = stored(sample(graph, random))
        seen.append((net.predict(x), bytes(net.outputs()), net.train_step(x, i % 2)))
    return seen, bytes(net.weights()), shelf


@needs_twin
@pytest.mark.parametrize(
    "seed, share", [(0, 0.4), pytest.param(1, 0.0, marks=pytest.mark.slow), (2, 0.1)]
)
def test_training_with_a_plan_is_equal_to_the_bit(seed, share):
    graph = trained_net(seed)
    network = values_for(graph, seed)
    scheme = schemes(graph)[1]
    wanted = trained(encode(training_step(graph, scheme), network), graph)
    plain = step_graph(plain_step(graph, scheme), network, "m4").graph
    kept = everything_kept(plain)
    try:
        fit(network, scheme, 1, time_limit=600, gap=0.02)
        raise AssertionError("1 byte is not enough")
    except Infeasible as error:
        least = error.smallest_ram
    ram = int(least + (kept - least) * share) + 60
    found = fit(network, scheme, ram, time_limit=600, gap=0.02)
    assert found.program.arena_bytes <= ram < found.plain_bytes
    assert 0 < found.added_bytes < 400  # of code, for a small net
    assert evaluate(found.graph, Budget(ram), found.answer.plan).valid
    seen, weights, shelf = trained(found.program, graph)
    assert (seen, weights) == wanted[:2]
    pages = len(found.page_bytes)
    # predicting, too, writes what the forward pass itself reads back
    assert 3 * pages <= shelf.outs <= 6 * pages and shelf.ins >= 3 * pages
    again = sum(kind == "compute" for kind, _ in found.answer.plan) > len(plain.nodes)
    assert pages or again


def _float_steps(program, graph):
    from acclimate.net import FloatNet
    from acclimate_host.twin import net as twin_net

    twin_net.register()
    shelf, random = Shelf(), np.random.default_rng(3)
    net = FloatNet(bytearray(program.code), program.weights, seed=7, pager=shelf)
    net.set_rate(0.05)
    channels, height, width = graph["x"].shape
    shares = []
    for i in range(3):
        x = random.normal(size=(height, width, channels)).astype("<f4").tobytes()
        shares.append((net.predict(x), bytes(net.outputs()), net.train_step(x, i % 2)))
    return shares, bytes(net.weights()), shelf


@needs_twin
@pytest.mark.parametrize("options", [{}, {"recompute": False}])
def test_float_training_with_a_plan_is_equal_to_the_bit(options):
    graph, random, values = trained_net(1), np.random.default_rng(1), {}
    for node in graph.nodes:
        if node.op in ("conv", "dense"):
            shape = graph[node.inputs[1]].shape
            spread = 1 / np.sqrt(np.prod(shape[1:]))
            values[node.inputs[1]] = random.normal(0, spread, shape).astype(np.float32)
            values[node.inputs[2]] = random.normal(0, 0.1, shape[0]).astype(np.float32)
    network = Network(graph, values)
    plain = encode(training_step(graph, full(graph)), network)
    ram = int(0.85 * plain.arena_bytes)
    found = fit(network, full(graph), ram, time_limit=600, gap=0.02, **options)
    wanted, got = _float_steps(plain, graph), _float_steps(found.program, graph)
    assert got[:2] == wanted[:2] and np.isfinite(np.frombuffer(got[1], "<f4")).all()
    assert got[2].outs >= 3 * len(found.page_bytes) and (found.page_bytes or not options)


@pytest.mark.slow
@needs_twin
def test_pure_python_follows_the_plan_too():
    from acclimate.net import interpreter as _net_py

    graph = trained_net(1)
    program = fit(values_for(graph, 1), full(graph), 1750, time_limit=600, gap=0.02).program
    wanted = trained(program, graph, 1)
    found = trained(program, graph, 1, core=_net_py)
    assert found[:2] == wanted[:2] and found[2].outs == wanted[2].outs > 0


@needs_twin
def test_predicting_writes_no_page_that_only_training_reads():
    graph = trained_net(1)
    network = values_for(graph, 1)
    program = fit(network, full(graph), 1800, recompute=False, time_limit=600, gap=0.02).program
    shelf = trained(program, graph, 1)[2]
    outs = shelf.outs
    assert outs > 0
    shelf = Shelf()
    from acclimate.net import Net

    net = Net(bytearray(program.code), program.weights, pager=shelf)
    net.predict(stored(sample(graph, np.random.default_rng(2))))
    assert shelf.outs == 0


def test_the_planning_graph_of_a_step_says_what_the_arena_holds():
    graph = trained_net(2)
    network, scheme = values_for(graph, 2), full(graph)
    step = plain_step(graph, scheme)
    found = step_graph(step, network, "m4")
    program = encode(step, network)
    # pieces that live at once, packed: close to the arena of the compiler itself
    assert abs(everything_kept(found.graph) - program.arena_bytes) <= 0.03 * program.arena_bytes
    nodes = {node.id: node for node in found.graph.nodes}
    assert not any(node.recomputable for name, node in nodes.items() if ".g" in name)
    layers = [n for n in graph.nodes if n.op in ("conv", "dense")]
    assert sum(node.recomputable for node in nodes.values()) == len(layers)
    assert len(nodes) > 3 * len(layers)


def test_a_layer_whose_weights_have_changed_does_not_run_again():
    graph = trained_net(1)
    network = values_for(graph, 1)
    step = plain_step(graph, full(graph))
    found = step_graph(step, network, "m4")
    plan = [("compute", node.id) for node in found.graph.nodes]
    first = next(node.id for node in found.graph.nodes if node.recomputable)
    with pytest.raises(GraphError, check=naming("c0")):
        with_schedule(step, found, [*plan, ("free", first), ("compute", first)])


def test_too_little_ram_says_how_much_is_needed():
    graph = trained_net(0)
    with pytest.raises(Infeasible, match="the smallest feasible RAM is"):
        fit(values_for(graph, 0), full(graph), 100, time_limit=600, gap=0.02)


@pytest.mark.slow
def test_a_plan_that_finds_no_layout_says_how_much_more_ram_has_one(monkeypatch):
    graph = trained_net(1)
    network, scheme = values_for(graph, 1), schemes(graph)[1]
    with pytest.raises(Infeasible) as caught:
        fit(network, scheme, 1, time_limit=600, gap=0.02)
    ram = caught.value.smallest_ram + 60
    with monkeypatch.context() as patch:
        patch.setattr("acclimate_host.poet.fit._ROUNDS", 1)
        with pytest.raises(PlanError, match=f"no layout fits {ram} bytes") as caught:
            fit(network, scheme, ram, time_limit=600, gap=0.02)
    more = int(str(caught.value).split()[-2])
    assert 0 < more < 200
    found = fit(network, scheme, ram + more, time_limit=600, gap=0.02)
    assert found.program.arena_bytes <= ram + more
