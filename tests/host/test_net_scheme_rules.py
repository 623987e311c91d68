# SPDX-License-Identifier: MIT
"""Schemes that ask for what a network does not have, and schemes from ratios."""

import numpy as np
import pytest

from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError
from acclimate_host.sparse.scheme import Scheme, can_split, from_ratios, full, last_layers
from harness.errors import naming


def graph_of():
    net = Builder("odd", (4, 6, 6))
    y = net.conv("c0", net.x, 4, 3)
    y = net.conv("d0", y, 4, 3, groups=4)
    y = net.conv("g0", y, 6, 1, groups=2)
    y = net.conv("m0", y, 12, 3, groups=6)
    return net.finish(net.dense("fc", net.pool("p", y), 3))


@pytest.mark.parametrize("count", [-1, 5, 1.5, 2.0, "2", None, float("nan")])
def test_biases_of_other_than_some_layers_are_refused(count):
    with pytest.raises(GraphError, check=naming("bias_layers", repr(count), 0, 4)):
        Scheme(count).trained_biases(graph_of())


def test_the_last_biases_are_trained():
    for count, names in ((0, []), (1, ["m0"]), (4, ["c0", "d0", "g0", "m0"])):
        assert Scheme(count).trained_biases(graph_of()) == names
    assert Scheme(np.int64(2)).trained_biases(graph_of()) == ["g0", "m0"]


@pytest.mark.parametrize("count", [0, -1, 5, 1.5, "all", None])
def test_channels_of_other_than_some_inputs_are_refused(count):
    with pytest.raises(GraphError, check=naming("c0", repr(count), 1, 4)):
        Scheme(0, (("c0", count),)).trained_channels(graph_of())


def test_channels_of_what_is_no_convolution_are_refused_by_its_name():
    for layer in ("nope", "p", "fc", "", None):
        with pytest.raises(GraphError, match=f"no convolution {layer!r} in odd"):
            Scheme(0, ((layer, 1),)).trained_channels(graph_of())


def test_a_layer_that_is_named_twice_is_refused():
    with pytest.raises(GraphError, check=naming("c0", "twice", 1, 2)):
        Scheme(0, (("c0", 1), ("d0", 1), ("c0", 2))).trained_channels(graph_of())


def test_groups_are_trained_whole_unless_each_is_a_channel():
    found = {node.attrs["layer"]: can_split(graph_of(), node) for node in graph_of().nodes[:4]}
    assert found == {"c0": True, "d0": True, "g0": False, "m0": False}
    for layer, most, groups in (("g0", 4, 2), ("m0", 6, 6)):
        with pytest.raises(GraphError, check=naming(layer, groups)):
            Scheme(0, ((layer, most - 1),)).trained_channels(graph_of())
        assert Scheme(0, ((layer, most),)).trained_channels(graph_of()) == {layer: most}
    found = Scheme(0, (("c0", np.int64(3)), ("d0", 1))).trained_channels(graph_of())
    assert found == {"c0": 3, "d0": 1} and type(found["c0"]) is int


def test_ratios_are_cut_to_whole_channels_and_none_leaves_a_layer_out():
    graph = graph_of()
    assert from_ratios(graph, 2, [0, 1, 2], [0.5, 0.2, 1]) == Scheme(2, (("c0", 2), ("g0", 4)))
    assert from_ratios(graph, 0, [0], [0.99]).channels == (("c0", 3),)
    assert last_layers(graph, 2) == Scheme(2, (("g0", 4), ("m0", 6)))
    assert full(graph) == Scheme(4, (("c0", 4), ("d0", 4), ("g0", 4), ("m0", 6)))
    with pytest.raises(ValueError):
        from_ratios(graph, 0, [0, 1], [1])


@pytest.mark.parametrize("kind", ["lstm", "svdf"])
def test_not_all_of_a_network_is_trained_where_a_layer_never_is(kind):
    """Only its classifier was, without a word."""
    net = Builder("memory", (3, 1, 1))
    y = net.lstm("r", net.x, 4) if kind == "lstm" else net.svdf("r", net.x, 4)
    with pytest.raises(GraphError, check=naming("r", kind, "not trained", "--last")):
        full(net.finish(net.dense("fc", y, 2)))
