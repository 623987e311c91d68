# SPDX-License-Identifier: MIT
"""How many bytes a step's program takes for each part, and that no two parts lie in one place."""

import numpy as np
import pytest
from net_cases import values_for

from acclimate_host.compile.blob import matrix_bytes
from acclimate_host.compile.patches import front_workspace, patch_front
from acclimate_host.compile.placement import Placement
from acclimate_host.compile.program_format import STATE
from acclimate_host.compile.step import Options, inference_step, training_step
from acclimate_host.compile.storage import aligned
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import Network
from acclimate_host.sparse.scheme import full


def graph_of(classes=3):
    """A layer of each kind: plain, depthwise, grouped, a pool, dense."""
    net = Builder("place", (3, 6, 5))
    y = net.conv("c0", net.x, 6, 3)
    y = net.conv("c1", y, 6, 3, groups=6)
    y = net.conv("c2", y, 8, 3, groups=2)
    y = net.sliding_pool("max_pool", "m0", y, 2, 1)
    return net.finish(net.dense("fc", y, classes))


def float_of(graph):
    random = np.random.default_rng(0)
    values = {
        t.name: random.normal(0, 0.5, t.shape).astype(np.float32)
        for t in graph.tensors.values()
        if t.kind == "frozen"
    }
    return Network(graph, values)


def placed(network, optimizer="PLAIN", decay=0.0):
    network = with_loss(network, decay=decay)
    return Placement(training_step(network.graph, full(network.graph)), network, optimizer)


# ---- what training changes ------------------------------------------------------------------


STATES = {"PLAIN": (0, 0), "MOMENTUM16": (2, 4), "MOMENTUM8": (1, 4), "ACCUMULATE": (2, 4),
          "WIDE": (1, 0)}  # fmt: skip


@pytest.mark.parametrize("optimizer", STATES)
def test_an_optimizer_keeps_so_many_bytes_of_each_number(optimizer):
    of_weight, of_bias = STATES[optimizer]
    place = placed(values_for(graph_of(), 1), optimizer)
    gradients = sum(t.kind == "gradient" for t in place.graph.tensors.values())
    total = aligned(STATE.bytes + 2 * gradients)
    for name, _, _ in place.parts:
        each = of_bias if name.endswith(".b") else of_weight
        total += aligned(each * place.graph[name].elements)
    assert place.kept_bytes == total
    assert len(place.parts) == 8


@pytest.mark.parametrize("optimizer, each", [("PLAIN", 0), ("MOMENTUM16", 4), ("ACCUMULATE", 4)])
def test_float32_keeps_four_bytes_of_each_number(optimizer, each):
    place = placed(float_of(graph_of()), optimizer)
    names = [name for name, _, _ in place.parts]
    gradients = sum(t.kind == "gradient" for t in place.graph.tensors.values())
    numbers = sum(aligned(each * place.graph[name].elements) for name in names)
    assert place.kept_bytes == aligned(STATE.bytes + 2 * gradients) + numbers
    with pytest.raises(GraphError, match="optimizer wide: float32 weights have all"):
        placed(float_of(graph_of()), "WIDE")


def test_parts_and_states_lie_behind_each_other():
    place = placed(values_for(graph_of(), 1), "MOMENTUM16")
    ends = 0
    for name, offset, size in place.parts:
        assert offset == ends and offset % 4 == 0
        assert size >= place.graph[name].elements * (4 if name.endswith(".b") else 1)
        assert place.at(name) == place.layout.offsets["weights"] + offset
        ends = aligned(offset + size)
    assert ends == place.weights_bytes
    assert place.state_at == place.layout.offsets["weights"] + place.weights_bytes
    states = sorted(place.optimizer_state(name) - 1 for name, _, _ in place.parts)
    assert states[0] == place.state_at + aligned(STATE.bytes + 2 * sum(
        t.kind == "gradient" for t in place.graph.tensors.values()
    ))  # fmt: skip
    assert states[-1] < place.state_at + place.kept_bytes and len(set(states)) == len(states)
    assert placed(values_for(graph_of(), 1)).optimizer_state("c0.w") == 0


def test_a_program_that_only_predicts_has_a_state_and_nothing_before_it():
    network = values_for(graph_of(), 1)
    place = Placement(inference_step(network.graph), network, "PLAIN")
    assert place.parts == [] and place.weights_bytes == 0
    assert place.state_at == place.layout.offsets["state"]


def test_the_decay_of_the_loss_is_the_programs():
    assert placed(values_for(graph_of(), 1), decay=0.25).decay == 0.25
    assert placed(values_for(graph_of(), 1)).decay == 0.0


# ---- work areas -----------------------------------------------------------------------------


def works(place, op):
    nodes = enumerate(place.graph.nodes)
    return {n.attrs.get("layer"): place.work_size(i, "work") for i, n in nodes if n.op == op}


def test_work_areas_of_float32_are_one_number_for_each_sum():
    place = placed(float_of(graph_of()))
    graph = place.graph
    assert works(place, "weight_update") == {"c0": 12, "c1": 4, "c2": 12, "fc": 4 * 8 * 5 * 4}
    found = works(place, "input_gradient")
    assert found["c1"] == 4 * 6 * 5  # a channel of a depthwise layer's input
    assert found["c2"] != 4 * 6 * 5
    assert works(place, "softmax_loss") == {None: 12}
    assert works(place, "max_pool_gradient") == {"m0": 4 * 6 * 5}
    assert works(place, "conv") == dict.fromkeys(("c0", "c1", "c2"), 0)
    assert {t.dtype for t in graph.tensors.values() if t.name.endswith((".w", ".b", ".y"))} == {
        "float32"
    }
    assert graph["label"].dtype == "int32"


def test_a_node_of_patches_has_the_work_of_its_most_hungry_layer():
    net = Builder("wide", (3, 68, 70))
    y = net.conv("c0", net.x, 4, 3, 2)
    y = net.conv("c1", y, 4, 3, 1, groups=4)
    graph = net.finish(net.dense("fc", net.pool("p", net.conv("c2", y, 40, 1)), 3))
    network = values_for(graph, 1)
    whole = Placement(
        inference_step(graph, Options(fuse_forward=False, patch_grid=1)), network, "PLAIN"
    )
    step = inference_step(graph, Options(fuse_forward=False))
    place = Placement(step, network, "PLAIN")
    (front,) = [n for n in place.graph.nodes if n.op == "patches"]
    inside = [n.attrs["layer"] for n in front.attrs["steps"]]
    each = works(whole, "conv")
    position = place.graph.nodes.index(front)
    assert place.work_size(position, "work") == max(each[name] for name in inside)
    assert len({each[name] for name in inside}) > 1
    room = front_workspace(graph, front.attrs["steps"], 2, in_full=True)
    assert place.work_size(position, "plane") == aligned(room) + 8
    assert patch_front(graph, 1) is graph


def test_attention_works_on_one_row_and_its_gradient_on_two_and_the_sums_of_all():
    net = Builder("look", (6, 5, 2))
    parts = [net.conv(name, net.x, width, 1, relu=False) for name, width in
             (("q", 4), ("k", 4), ("v", 8))]  # fmt: skip
    graph = net.finish(net.dense("fc", net.attention("t", *parts, heads=2), 3))
    place = placed(values_for(graph, 1))
    assert works(place, "attention") == {"t": 4 * 10}
    widths = {}
    for i, node in enumerate(place.graph.nodes):
        if node.op == "attention_gradient":
            width = place.graph[node.outputs[0]].shape[0]
            widths[width] = place.work_size(i, "work")
    assert widths == {width: 4 * (2 * 10 + 3 * 10 * 2 + width) for width in widths}
    assert set(widths) == {4, 8}


def clamped(classes=3):
    """A ReLU behind an addition and behind a pool, which have no weights of their own."""
    net = Builder("clamped", (3, 6, 5))
    left, right = (net.conv(name, net.x, 4, 1, relu=False) for name in ("c0", "c1"))
    y = net.add("a", left, right)
    assert net.clamp(y)
    return net.finish(net.dense("fc", net.conv("c2", y, 4, 3), classes))


@pytest.mark.parametrize("make", [float_of, lambda graph: values_for(graph, 1)])
def test_a_relu_without_weights_has_a_layer_that_stands_in_for_it(make):
    place = placed(make(clamped()))
    masks = [n for n in place.graph.nodes if n.op == "clamp_mask"]
    assert set(place.clamps) <= set(place.layers) and place.clamps
    wanted = {n.attrs["layer"] for n in masks} | ({"a.clamp"} if place.is_float else set())
    assert set(place.clamps) == wanted
    each = 4 if place.is_float else 1
    for i, node in enumerate(place.graph.nodes):
        if node.op == "clamp_mask":
            elements = place.graph[node.inputs[0]].elements
            assert place.work_size(i, "plane") == each * elements
        elif node.op not in ("conv", "patches", "conv_depthwise"):
            assert place.work_size(i, "plane") == 0


def test_trained_weights_lie_in_rows_of_their_layer():
    place = placed(values_for(graph_of(), 1))
    sizes = {name: size for name, _, size in place.parts}
    for name, layer in place.layers.items():
        shape = place.graph[name + ".w"].shape
        assert sizes[name + ".w"] == matrix_bytes(shape, layer.groups, layer.depthwise, False)
        assert sizes[name + ".b"] == 4 * shape[0]


# ---- no two in one place --------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["PLAIN", "MOMENTUM16", "WIDE"])
def test_what_lives_at_once_lies_apart(optimizer):
    place = placed(values_for(graph_of(), 2), optimizer)
    for i, node in enumerate(place.graph.nodes):
        living = [b for b in place.buffers if b.first <= i <= b.last]
        spans = sorted((place.layout.offsets[b.name], b.size_bytes) for b in living)
        for (a, size), (b, _) in zip(spans, spans[1:], strict=False):
            assert a + size <= b, (i, node.op)
        assert place.live_bytes()[i] == sum(b.size_bytes for b in living)
        areas = [place.work(i, name) for name in ("plane", "work")]
        assert place.work_bytes(i) == sum(aligned(size) for _, size in filter(None, areas))
    top = max(place.layout.offsets[b.name] + b.size_bytes for b in place.buffers)
    assert place.layout.size_bytes >= top


def test_what_training_changes_lives_all_the_time_and_its_parts_have_no_buffer_of_their_own():
    place = placed(values_for(graph_of(), 1))
    last = len(place.graph.nodes) - 1
    names = {b.name: (b.first, b.last) for b in place.buffers}
    assert names["weights"] == (0, last) and "state" not in names
    (weights,) = [b for b in place.buffers if b.name == "weights"]
    assert weights.size_bytes == place.weights_bytes + place.kept_bytes
    assert (place.graph["c0.y"].dtype, place.graph["c0.b"].dtype) == ("int8", "int32")
    assert not {"c0.w", "c0.b", "loss"} & set(names) and len(names) == len(place.buffers)
    areas = {f"{kind} {i}" for i in range(last + 1) for kind in ("plane", "work")}
    kinds = {place.graph[name].kind for name in set(names) - areas - {"weights"}}
    assert kinds == {"activation", "gradient", "mask"}
    assert place.has("c0.y") and place.has("fc.y.g")
    assert place.has("x") is False and place.has("c0.w") is False
    net = Builder("one", (3, 2, 2))
    network = values_for(net.finish(net.dense("fc", net.x, 2)), 1)
    place = Placement(inference_step(network.graph), network, "PLAIN")
    (state,) = [b for b in place.buffers if b.name == "state"]
    assert (state.first, state.last) == (0, 0) and place.has("x") is False


@pytest.mark.parametrize("make", [float_of, lambda graph: values_for(graph, 1)])
def test_a_layer_that_writes_over_its_input_has_a_plane_and_gradients_of_a_clamp_have_no_work(
    make,
):
    place = placed(make(graph_of()))
    each, planes, clamps = 4 if place.is_float else 1, 0, 0
    for i, node in enumerate(place.graph.nodes):
        if node.op == "conv" and node.workspace_bytes:
            assert place.work_size(i, "plane") == each * node.workspace_bytes
            planes += 1
        if node.op in ("clamp_gradient", "dense_gradient", "sum_gradients"):
            assert place.work_bytes(i) == 0
            clamps += 1
    assert planes + clamps > 0
    predicts = Placement(inference_step(graph_of(), Options(fuse_forward=False)), place.network,
                         "PLAIN")  # fmt: skip
    found = [(i, n) for i, n in enumerate(predicts.graph.nodes) if n.workspace_bytes]
    assert found and found[0][1].attrs["layer"] == "c1"
    fused = Placement(inference_step(graph_of(), Options(planes=3)), place.network, "PLAIN")
    (at,) = [i for i, n in enumerate(fused.graph.nodes) if n.op == "conv_depthwise"]
    node = fused.graph.nodes[at]
    assert fused.work_size(at, "plane") == each * node.workspace_bytes * node.attrs["planes"]
    assert node.attrs["planes"] > 1
    for i, node in found:
        assert predicts.work_size(i, "plane") == each * node.workspace_bytes == each * 6 * 5
