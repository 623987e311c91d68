# SPDX-License-Identifier: MIT
"""Graphs, their differentiation and the passes, against float64 runs in numpy."""

from dataclasses import replace

import net_reference as ref
import numpy as np
import pytest

from acclimate_host.compile.prune import drop_dead
from acclimate_host.compile.step import KEPT_FLOAT, Options, inference_step, training_step
from acclimate_host.model import text
from acclimate_host.model.autodiff import differentiate
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError, check
from acclimate_host.sparse.scheme import Scheme, full
from harness.errors import naming

WHOLE = Options(fuse_updates=False, fuse_forward=False, in_place=False, patch_grid=1)


def small_net(edge=12, name="small"):
    """Every kind of layer: strides, 3x3 and 5x5, groups, a residual, a branch read twice."""
    net = Builder(name, (2, edge, edge))
    y = net.conv("c0", net.x, 4, kernel=3, stride=2)
    y = net.conv("c1", y, 4, kernel=3, groups=4)
    start = net.conv("c2", y, 6, relu=False)
    y = net.conv("c3", start, 8)
    y = net.conv("c4", y, 8, kernel=5, groups=8)
    y = net.conv("c5", y, 6, relu=False)
    y = net.add("a0", start, y)
    y = net.conv("c6", y, 8, kernel=3, groups=2, stride=2)
    y = net.conv("c7", y, 8, kernel=3, groups=8, stride=2)
    return net.classify(net.pool("p", y), classes=3)


def inputs(graph, seed):
    random = np.random.default_rng(seed)
    return {"x": random.normal(0, 1, graph["x"].shape), "label": np.array(seed % 3)}


def run(step_or_graph, parameters, given, watch=True):
    graph = getattr(step_or_graph, "graph", step_or_graph)
    values = {**ref.split(graph, parameters), **given}
    step = step_or_graph if watch and hasattr(step_or_graph, "layout") else None
    ref.Run(graph, values, step)
    return values


@pytest.mark.case("J2")
@pytest.mark.parametrize("seed", range(3))
def test_gradients_equal_central_differences(seed, monkeypatch):
    monkeypatch.setattr(ref.Run, "bounded", False)  # what the gradient is, not how far a step goes
    forward = small_net()
    parameters, given = ref.parameters(forward, seed), inputs(forward, seed)
    gradients = run(differentiate(forward, "float32"), parameters, given)
    random, epsilon = np.random.default_rng(seed), 1e-6
    for name, value in parameters.items():
        gradient = gradients[name.replace(".", ".g")]
        for index in random.choice(value.size, min(4, value.size), replace=False):
            where = np.unravel_index(index, value.shape)
            losses = []
            for sign in (1, -1):
                moved = {key: array.copy() for key, array in parameters.items()}
                moved[name][where] += sign * epsilon
                losses.append(float(run(forward, moved, given)["loss"]))
            slope = (losses[0] - losses[1]) / (2 * epsilon)
            assert gradient[where] == pytest.approx(slope, abs=2e-7), (name, where)


@pytest.mark.case("J2")
def test_loss_and_gradient_depend_on_the_label():
    forward = small_net()
    parameters, given = ref.parameters(forward, 1), inputs(forward, 1)
    step = training_step(forward, full(forward))
    one = run(step, parameters, given)
    other = run(step, parameters, {**given, "label": np.array(2)})
    assert one["loss"] != other["loss"]
    assert np.abs(one["c0.w"] - other["c0.w"]).max() > 0


SCHEMES = {
    "all": full(small_net()),
    "classifier": Scheme(0),
    "biases": Scheme(4),
    "parts": Scheme(6, (("c3", 2), ("c4", 3), ("c5", 8), ("c7", 1))),
    "first": Scheme(8, (("c0", 1), ("c1", 2))),
}


@pytest.mark.parametrize("options", [Options(), Options(in_place=False), KEPT_FLOAT], ids=str)
@pytest.mark.parametrize("name", SCHEMES)
def test_a_pruned_step_updates_as_the_full_one_does(name, options):
    forward = small_net()
    parameters, given = ref.parameters(forward, 7), inputs(forward, 7)
    everything = run(differentiate(forward), parameters, given)
    step = training_step(forward, SCHEMES[name], options)
    values = run(step, parameters, given)
    changed = 0
    for key, tensor in step.graph.tensors.items():
        if tensor.kind == "trained":
            whole = everything[key[:-1] if key.endswith(".wt") else key]
            expected = whole[tuple(slice(0, edge) for edge in tensor.shape)]
            np.testing.assert_allclose(values[key], expected, rtol=1e-12, atol=1e-14)
            changed += 1
    scheme = SCHEMES[name]
    assert changed == scheme.bias_layers + len(scheme.channels) + 2
    np.testing.assert_allclose(values["loss"], everything["loss"], rtol=1e-12)


def test_frozen_parameters_stay():
    forward = small_net()
    parameters = ref.parameters(forward, 2)
    values = run(training_step(forward, SCHEMES["biases"]), parameters, inputs(forward, 2))
    for name in ("c0.w", "c0.b", "c3.b", "c7.w"):
        np.testing.assert_array_equal(values[name], parameters[name])


def test_no_gradient_flows_below_the_first_trained_layer():
    step = training_step(small_net(), SCHEMES["biases"], WHOLE)
    made = {name for node in step.graph.nodes for name in node.outputs}
    assert "c4.gy" in made and "c3.gy" not in made and "c4.gx" not in made
    assert "c3.mask" not in made and "c4.mask" in made


@pytest.mark.parametrize("grid", [2, 3, 4])
@pytest.mark.parametrize("edge", [40, 51, 80])
def test_patches_predict_as_whole_tensors_do(grid, edge):
    net = Builder("patched", (2, edge, edge))
    y = net.conv("c0", net.x, 4, kernel=3, stride=2)
    y = net.conv("c1", y, 4, kernel=5, groups=4)
    y = net.conv("c2", y, 3, relu=False)
    y = net.conv("c3", y, 8)
    y = net.conv("c4", y, 8, kernel=7, groups=8, stride=2)
    y = net.conv("c5", y, 5, relu=False)
    y = net.conv("c6", y, 4, kernel=3)
    forward = net.classify(net.pool("p", y), classes=3)
    parameters, given = ref.parameters(forward, 3), inputs(forward, 3)
    step = inference_step(forward, Options(patch_grid=grid))
    assert step.graph.nodes[0].op == "patches"
    whole = run(inference_step(forward, WHOLE), parameters, given)
    np.testing.assert_allclose(
        run(step, parameters, given)["fc.y"], whole["fc.y"], rtol=1e-12, atol=1e-14
    )


def test_reading_a_weight_after_its_update_is_refused():
    graph = differentiate(small_net())
    made = graph.producer()
    late, gradient = graph.nodes[made["fc.gx"]], graph.nodes[made["fc.gw"]]
    update = next(node for node in graph.nodes if node.writes == ("fc.w",))
    nodes = [node for node in graph.nodes if node not in (gradient, update)]
    position = nodes.index(late)
    check(graph.with_nodes([*nodes[: position + 1], gradient, update, *nodes[position + 1 :]]))
    with pytest.raises(GraphError, match="after its update"):
        check(graph.with_nodes([*nodes[:position], gradient, update, *nodes[position:]]))


def test_reading_before_making_and_making_twice_are_refused():
    forward = small_net()
    with pytest.raises(GraphError, match="before it is made"):
        check(forward.with_nodes(forward.nodes[::-1]))
    with pytest.raises(GraphError, match="made twice"):
        check(forward.with_nodes([*forward.nodes, forward.nodes[0]]))
    with pytest.raises(GraphError, match="made by no node"):
        check(replace(forward, outputs=("c0.w",)))


def test_shapes_that_do_not_fit_are_refused():
    net = Builder("bad", (3, 8, 8))
    with pytest.raises(GraphError, check=naming(2)):
        net.conv("c", net.x, 4, groups=2)
    with pytest.raises(GraphError, match="larger than the padded"):
        net.conv("d", net.x, 4, kernel=9, pad=0)
    y = net.conv("e", net.x, 4)
    with pytest.raises(GraphError, match="differ in shape"):
        net.add("a", net.x, y)
    with pytest.raises(GraphError, check=naming(1, 8)):
        training_step(small_net(), Scheme(3, (("c4", 9),)))
    with pytest.raises(GraphError, match="whole or not at all"):
        training_step(small_net(), Scheme(3, (("c6", 4),)))


def test_a_graph_reads_as_text():
    shown = text.dump(training_step(small_net(), SCHEMES["biases"], WHOLE).graph)
    assert "c5.b! = bias_update" not in shown and "c5.b! = apply(c5.gb)" in shown
    fused = text.dump(training_step(small_net(), SCHEMES["biases"]).graph, lines=40)
    assert "-- backward" in fused and "c5.b! = bias_update(c5.gy)" in fused


def test_dead_nodes_go_and_needed_ones_stay():
    forward = small_net()
    alive = drop_dead(forward)
    assert [node.op for node in alive.nodes] == [node.op for node in forward.nodes]
    assert not [name for name, tensor in alive.tensors.items() if tensor.kind == "mask"]
