# SPDX-License-Identifier: MIT
"""Costs by the shape of an operator: measured on a board, taken by the planner."""

import doctest
from dataclasses import replace

import pytest
from net_cases import trained_net, values_for

import acclimate_host.compile.shapes as shapes_module
from acclimate.net import Net
from acclimate_host.cli import main
from acclimate_host.compile.encode import place
from acclimate_host.compile.scheduled import plain_step
from acclimate_host.compile.shapes import alone, node_instructions, node_shapes
from acclimate_host.connect import why_not
from acclimate_host.connect.count_network import instructions
from acclimate_host.errors import BoardError
from acclimate_host.model.build import Builder
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.losses import with_loss
from acclimate_host.model.seeded import seeded_network
from acclimate_host.poet import costs
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.fit import fit
from acclimate_host.poet.measure import with_values
from acclimate_host.poet.measure_shapes import (
    instruction_seconds,
    measure_shapes,
    shapes_of,
)
from acclimate_host.poet.problem import Budget
from acclimate_host.poet.step_graph import node_times, step_graph
from acclimate_host.sparse.scheme import full
from acclimate_host.twin import net as twin_net

CLOCK_HZ, RAM = 64e6, 3710


def stepped(seed):
    graph = trained_net(seed)
    network = values_for(graph, seed)
    step = plain_step(graph, full(graph))
    return network, step, place(step, network)


def deep(name="deep"):
    """A narrow and a wide pair of layers: FLOP say little of what they cost."""
    net = Builder(name, (2, 12, 12))
    y = net.conv("c0", net.x, 4, kernel=3)
    for i in range(1, 4):
        y = net.conv(f"c{i}", y, 4, kernel=3, groups=4)
        y = net.conv(f"d{i}", y, 4)
    return with_values(net.classify(net.pool("p", y), 3))


def test_the_example_of_the_module_runs():
    assert doctest.testmod(shapes_module).failed == 0


def test_nodes_of_one_shape_are_measured_once():
    found = shapes_of(deep(), "m4f")
    _, step, placement = stepped(1)
    assert len(node_shapes(placement)) == len(step.graph.nodes)
    counts = {shape.text.split()[0]: [] for shape in found}
    for shape in found:
        counts[shape.text.split()[0]].append(shape.count)
    # with a mask the first layer, three pairs and the last one without; again those with masks
    assert sorted(counts["CONV"]) == [1, 1, 1, 3, 3, 3, 3]
    assert counts["LOSS"] == [1] and len({shape.text for shape in found}) == len(found)


def test_a_shape_holds_the_optimizer_and_what_is_trained():
    network, step, _ = stepped(2)
    plain, with_momentum = (node_shapes(place(step, network, o)) for o in ("plain", "momentum16"))
    changed = {a for a, b in zip(plain, with_momentum, strict=True) if a != b}
    assert changed == {text for text in plain if "UPDATE" in text}


@pytest.mark.parametrize("seed", range(1, 7))
def test_each_node_runs_alone_in_less_memory(seed):
    if twin_net.load() is None:
        pytest.skip("the twin is not built")
    twin_net.register()
    network, step, placement = stepped(seed)
    for position in range(len(step.graph.nodes)):
        program = alone(step, network, position)
        assert program.arena_bytes < placement.layout.size_bytes
        runs(program)
        if step.graph.nodes[position].phase == "forward":
            runs(alone(step, network, position, again=True))


def runs(program):
    net = Net(bytearray(program.code), program.weights, seed=1)
    net.set_rate(0.01)
    x = bytes(net.input_bytes)
    net._begin(x, 0, net._end, 1)
    while net._run(x, 1 << 29):
        pass


def test_a_node_costs_its_shape_else_its_instructions_else_its_flop():
    _, _, placement = stepped(1)
    table, texts = costs.load("m4"), node_shapes(placement)
    flop = node_times(placement, table)
    each = {**table.figures, "instructions.m4f": 2e-8}
    by_count = node_times(placement, replace(table, figures=each))
    counts = node_instructions(placement, "m4f")
    assert by_count == pytest.approx([2e-8 * count for count in counts])
    measured = replace(table, figures=each, shapes={texts[0]: 0.5})
    assert node_times(placement, measured)[:2] == [0.5, by_count[1]]
    alone = replace(table, shapes={texts[0]: 0.5})
    assert node_times(placement, alone)[:2] == [0.5, flop[1]]


def test_the_mask_costs_what_the_first_run_takes_more():
    network, step, placement = stepped(1)
    table = replace(costs.load("m4"), shapes={})
    first, again = (node_shapes(placement, later)[0] for later in (False, True))
    assert "mask=1" in first and "mask" not in again
    table.shapes.update({first: 0.5, again: 0.2})
    nodes = {node.id: node for node in step_graph(step, network, table).graph.nodes}
    name, mask = step.graph.nodes[0].outputs
    assert (nodes[name].compute_time, nodes[mask].compute_time) == pytest.approx((0.2, 0.3))
    power = table.figures["compute_power_w"]
    assert nodes[mask].compute_energy == pytest.approx(0.3 * power)
    assert not nodes[mask].recomputable


def test_tables_with_a_wrong_shape_are_refused():
    data = {"shapes": {"CONV n=1": {"value": -1, "source": "a test"}}}
    with pytest.raises(costs.CostError, match="shapes: CONV n=1 is -1"):
        costs.parse(data)


class Tight:
    """A board whose heap holds one shape and no other."""

    name, emulated = "tight", False

    def __init__(self):
        self.asked = 0

    def put_bytes(self, data, path):
        pass

    def exec(self, code, timeout_s=10):
        if "profile.bin" in code and "import os" not in code:
            self.asked += 1
            if self.asked > 1:
                raise BoardError("on the board: MemoryError: memory allocation failed")
        return "[(900, 3), (600, 3)]"


class Clock:
    board, emulated, tick_s = Tight(), False, 1e-6


def test_what_does_not_fit_is_left_to_the_cost_model():
    found = shapes_of(deep(), "m4f")
    measured = measure_shapes(Clock(), found)
    assert measured == {found[0].text: pytest.approx(200e-6)}
    each, count = instruction_seconds("m4f", [], found, measured)
    assert count == 1 and each == pytest.approx(200e-6 / found[0].instructions)


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    """(float network, its table as measured on the emulated board)."""
    reason = why_not("nrf52840")
    if reason:
        pytest.skip(reason)
    onnx = pytest.importorskip("onnx")
    from test_net_onnx import Model

    folder = tmp_path_factory.mktemp("profiled")
    net = Model((2, 12, 12))
    net.conv(4, 2, (3, 3), pads=[1, 1, 1, 1])
    for _ in range(2):
        net.op("Relu", net.last)
        net.conv(4, 1, (3, 3), pads=[1, 1, 1, 1], group=4)
        net.op("Relu", net.last)
        net.conv(4, 4, (1, 1))
    net.op("GlobalAveragePool", net.last)
    onnx.save(net.finish(), folder / "net.onnx")
    out = folder / "board.toml"
    words = ["profile", "--board", "nrf52840", "--store", "raw", "--rounds", "1"]
    words += ["--voltage", "3.3", "--current", "0.005"]
    assert main([*words, "--model", str(folder / "net.onnx"), "--out", str(out)]) == 0
    return folder / "net.onnx", costs.load(str(out))


def planned(path, table, ram):
    """(Fitted of the int8 network of a file, recomputing only; the network)."""
    graph = with_loss(import_onnx(path)).graph
    network = seeded_network(graph)
    budget = Budget(ram, None, 0)
    return fit(network, full(graph), ram, table, budget=budget), network


@pytest.mark.slow
def test_a_plan_takes_as_long_as_the_board_counts(profiled):
    path, table = profiled
    assert len(table.shapes) > 10 and table.core == "m4f"
    made, network = planned(path, table, RAM)
    runs = [name for kind, name in made.answer.plan if kind == "compute"]
    assert len(runs) > len(set(runs))  # something is computed again
    counted = sum(n for _, n in instructions("nrf52840", made.program, training=True)[0])
    seconds = made.answer.verdict.compute_time
    # A timing has one call from Python, whose look-ups take what the names' places make them take.
    assert seconds == pytest.approx(counted / CLOCK_HZ, rel=0.02)
    assert made.answer.energy == pytest.approx(seconds * 0.0165)


@pytest.mark.slow
def test_costs_by_shape_change_the_plan(profiled):
    path, table = profiled
    by_flop = replace(table, shapes={}, figures={**table.figures})
    del by_flop.figures["instructions.m4f"]
    made, _ = planned(path, table, RAM)
    other, _ = planned(path, by_flop, RAM)
    judged = evaluate(made.graph, Budget(RAM, None, 0), other.answer.plan)
    assert judged.valid and judged.energy > made.answer.energy * 1.01
