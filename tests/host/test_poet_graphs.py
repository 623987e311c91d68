# SPDX-License-Identifier: MIT
"""Networks of the paper as planning graphs, the cost tables, and time with overlap."""

import doctest

import pytest

from acclimate_host.poet import costs, graphs, networks
from acclimate_host.poet.costs import CostError
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.graphs import STYLES, forward_bytes, network_graph
from acclimate_host.poet.problem import Budget, Graph, Node, PlanError


@pytest.mark.parametrize("module", [costs, graphs])
def test_examples_in_the_docstrings(module):
    assert doctest.testmod(module).failed == 0


def test_sizes_of_the_published_networks():
    count = {"linear": 27, "vgg16_cifar": 81, "resnet18_cifar": 133, "bert": 195}
    for name, nodes in count.items():
        assert len(network_graph(name, "m4").nodes) == nodes
    assert forward_bytes(network_graph("linear", "m4")) == 6776
    bert = network_graph("bert", "m4")
    assert sum(node.compute_energy for node in bert.nodes) == pytest.approx(95.263, abs=1e-3)


def test_parameters_of_published_networks():
    def total(name):
        return sum(layer.parameters for layer in networks.layers(name))

    assert total("vgg16") == 138_357_544
    assert total("linear") == 784 * 10 + 10 + 1320 + 12_100 + 20_200 + 2010 + 110


@pytest.mark.parametrize("name", networks.names())
@pytest.mark.parametrize("style", STYLES)
def test_every_graph_runs_in_order_when_everything_is_kept(name, style):
    graph = network_graph(name, "m0", style)
    plan = [("compute", node.id) for node in graph.nodes]
    ram = sum(node.ram_bytes for node in graph.nodes)
    verdict = evaluate(graph, Budget(ram), plan)
    assert verdict.valid and verdict.peak_ram == ram
    assert verdict.overlapped_time == pytest.approx(verdict.compute_time)


def test_a_reverse_mode_gradient_reads_what_its_consumers_kernels_read():
    graph = network_graph("resnet18_cifar", "m4", "autodiff")
    deps = {node.id: set(node.deps) for node in graph.nodes}
    # the batch norm's input is read by its kernel, the rectifier's output by its own
    assert deps["conv2.grad"] == {"batchnorm2.grad", "conv2"}
    assert deps["batchnorm2.grad"] == {"relu1.grad", "relu1"}
    # a tensor with two consumers has one gradient with both contributions
    assert deps["batchnorm1.grad"] == {"conv2.grad", "conv4.grad", "batchnorm1"}


def test_parameters_count_when_asked_for():
    assert network_graph("linear", "m4", resident=True).resident_bytes == 2 * 4 * 43_590


def test_unknown_names_are_one_clear_line():
    for arguments in (("lenet9", "m4"), ("linear", "m9"), ("linear", "m4", "forward")):
        with pytest.raises((PlanError, CostError)) as caught:
            network_graph(*arguments)
        assert "\n" not in str(caught.value) and "there are" in str(caught.value)


def test_every_shipped_figure_has_a_source_and_costs_follow_from_it():
    assert set(costs.names()) >= {"m0", "m4", "a72", "tx2", "esp32"}
    for name in costs.names():
        profile = costs.load(name)
        assert set(profile.sources) == set(profile.figures)
        assert all(profile.sources.values())
    m0 = costs.load("m0")
    assert m0.compute_energy(2000) == pytest.approx(0.012 * 0.020 * 3.3)
    assert m0.transfer_time("pagein", 4_616_510) == pytest.approx(1.000109)


@pytest.mark.parametrize(
    "change, text",
    [
        ({"flop_per_s": {"value": -1, "source": "s"}}, "flop_per_s is -1"),
        ({"flop_per_s": {"value": 1e6}}, "flop_per_s must be"),
        ({"speed": {"value": 1, "source": "s"}}, "speed is not known"),
        ({"pagein": {"latency_s": {"value": 0, "source": "s"}}}, "pagein.bytes_per_s is missing"),
    ],
)
def test_a_wrong_cost_table_is_named(change, text):
    side = {key: {"value": 1, "source": "s"} for key in ("latency_s", "bytes_per_s", "power_w")}
    good = {
        "element_bytes": {"value": 4, "source": "s"},
        "pagein": side,
        "pageout": side,
        "flop_per_s": {"value": 1, "source": "s"},
        "compute_power_w": {"value": 1, "source": "s"},
    }
    assert costs.parse(good).compute_energy(3) == 3
    with pytest.raises(CostError, match=text):
        costs.parse({**good, **change})


def _node(name, deps=(), ram=1, work=0, compute=1.0, pagein=2.0, pageout=3.0):
    return Node(name, deps, ram, work, 1.0, compute, 1.0, pagein, 1.0, pageout)


def test_transfers_hide_behind_computing_until_room_is_needed():
    graph = Graph((_node("a"), _node("b", ("a",)), _node("c", ("b",)), _node("d", ("c", "a"))))
    out = [("compute", "a"), ("pageout", "a"), ("compute", "b")]
    early = [
        *out,
        ("free", "a"),
        ("compute", "c"),
        ("free", "b"),
        ("pagein", "a"),
        ("compute", "d"),
    ]
    verdict = evaluate(graph, Budget(3, deadline=7), early, "overlapped")
    # a 0-1, out 1-4 beside b 1-2, c waits for the room: 4-5, in 5-7, d 7-8
    assert verdict.overlapped_time == 8 and "takes 8 s" in verdict.fault
    assert verdict.serial_time == 9 and verdict.compute_time == 4
    late = [*out, ("compute", "c"), ("free", "b"), ("compute", "d")]
    assert evaluate(graph, Budget(3), late, "overlapped").overlapped_time == 4


def test_overlap_counts_the_workspace_of_the_running_operator():
    graph = Graph((_node("a"), _node("b", (), work=2, compute=9.0), _node("c", ("a", "b"))))
    plan = [
        ("compute", "a"),
        ("pageout", "a"),
        ("free", "a"),
        ("compute", "b"),
        ("pagein", "a"),
        ("compute", "c"),
    ]
    verdict = evaluate(graph, Budget(3), plan)
    assert verdict.valid and verdict.peak_ram == 3 and verdict.overlapped_peak_ram == 4
    assert "needs 4 bytes of RAM" in evaluate(graph, Budget(3), plan, "overlapped").fault


def test_erased_blocks_are_counted_and_limited():
    graph = Graph((_node("a", ram=9), _node("b", ("a",))))
    plan = [("compute", "a"), ("pageout", "a"), ("compute", "b")]
    assert evaluate(graph, Budget(10, erase_block_bytes=4), plan).erased_blocks == 3
    fault = evaluate(graph, Budget(10, None, None, 2, 4), plan).fault
    assert fault == "erases 3 blocks; the budget is 2"


@pytest.mark.parametrize(
    "name, value",
    [
        ("ram_bytes", -1),
        ("ram_bytes", None),
        ("deadline", float("nan")),
        ("aux_bytes", "1k"),
    ],
)
def test_a_bad_budget_is_one_clear_line(name, value):
    with pytest.raises(PlanError, match=f"budget: {name} is"):
        Budget(**{"ram_bytes": 1, name: value})
