# SPDX-License-Identifier: MIT
"""`show --errors` names the layer that int8 hurts most."""

import json
import math

import numpy as np
import pytest

from acclimate_host.cli import main
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError
from acclimate_host.model.layer_errors import layer_errors
from acclimate_host.model.network import Network
from acclimate_host.model.quantize import quantize

onnx = pytest.importorskip("onnx")


def network_of(blamed):
    """A float network of four layers, of which one has a channel a thousand times the others."""
    net = Builder("blame", (3, 8, 8))
    y = net.x
    for i in range(3):
        y = net.conv(f"c{i}", y, 6, 3, limit=math.inf)
    graph = net.finish(net.dense("fc", net.pool("p", y), 4))
    random, values = np.random.default_rng(2), {}
    for name, tensor in graph.tensors.items():
        if tensor.kind == "frozen":
            values[name] = random.normal(0, 0.3, tensor.shape).astype(np.float32)
    values[blamed + ".w"][0] *= 1000
    return Network(graph, values), random.normal(0, 1, (30, 3, 8, 8))


@pytest.mark.parametrize("blamed", ["c0", "c1", "c2", "fc"])
def test_the_layer_with_a_channel_that_takes_the_range_is_blamed(blamed):
    network, samples = network_of(blamed)
    # What the loud channel does to the signal, the mean over it hides: look at the others.
    rows = {row.layer: row for row in layer_errors(network, samples)}
    widest = {
        name: max(high - low for low, high in row.ranges)
        / np.median([high - low for low, high in row.ranges])
        for name, row in rows.items()
        if row.op in ("conv", "dense")
    }
    assert max(widest, key=widest.get) == blamed


def test_noise_is_that_of_a_uniform_step_and_falls_as_ranges_narrow():
    """One layer, known by hand: noise of its output's step and of its input's."""
    net = Builder("one", (4, 1, 1))
    graph = net.finish(net.dense("fc", net.x, 4))
    values = {
        "fc.w": np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1),
        "fc.b": np.zeros(4, np.float32),
    }
    samples = np.random.default_rng(1).uniform(-1, 1, (4000, 4, 1, 1))
    (row,) = layer_errors(Network(graph, values), samples)
    step = 2 / 255
    # Two roundings, of the input and of the output, of nearly the same step.
    assert row.own_db == pytest.approx(10 * math.log10((1 / 3) / (step**2 / 12)), abs=3.1)
    assert row.own_db == pytest.approx(row.total_db, abs=0.01)
    samples[0] = 50
    (loud,) = layer_errors(Network(graph, values), samples)
    assert loud.own_db < row.own_db - 10
    assert loud.bounds[1] >= 49.9 and loud.ranges[0][1] == pytest.approx(50)


def test_layers_are_sorted_by_what_they_add_themselves():
    network, samples = network_of("c1")
    rows = layer_errors(network, samples)
    assert [row.own_db for row in rows] == sorted(row.own_db for row in rows)
    assert {row.layer for row in rows} == {"c0", "c1", "c2", "p", "fc"}
    with pytest.raises(GraphError, match="int8"):
        layer_errors(quantize(network, samples)[0], samples)


def test_the_command_prints_the_worst_layer_first_and_draws(tmp_path, monkeypatch, capsys):
    from test_net_onnx import Model

    monkeypatch.chdir(tmp_path)
    net = Model((8, 1, 1))
    net.op("Flatten", net.last)
    net.dense(6, 8)
    onnx.save(net.finish(), "net.onnx")
    np.save("x.npy", np.random.default_rng(1).normal(0, 1, (20, 8, 1, 1)))
    assert main(["show", "net.onnx", "--errors", "x.npy", "--ranges", "r.svg"]) == 0
    said = capsys.readouterr().out
    assert "own dB" in said and "most noise of its own: fc0" in said
    assert (tmp_path / "r.svg").read_text().count("<path") > 6
    assert main(["show", "net.onnx", "--errors", "x.npy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["layers"][0]["layer"] == "fc0"
    assert main(["show", "net.onnx", "--ranges", "r.svg"]) != 0
    assert main(["show", "resnet8", "--errors", "x.npy"]) != 0
