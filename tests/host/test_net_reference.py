# SPDX-License-Identifier: MIT
"""The reference of the networks judges: it sees each misuse of the arena, and nothing in order."""

from dataclasses import replace
from types import SimpleNamespace

import net_reference as ref
import numpy as np
import pytest

from acclimate_host.compile.step import KEPT_FLOAT, Options, training_step
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import Node
from acclimate_host.sparse.scheme import full


def forward():
    build = Builder("net", (2, 6, 6))
    y = build.conv("c0", build.x, 4, 3)
    y = build.conv("c1", y, 3, relu=False)
    return build.classify(build.pool("p", y), 2)


def run(step):
    graph = step.graph
    values = ref.split(graph, ref.parameters(forward(), 1))
    values[graph.nodes[0].inputs[0]] = np.random.default_rng(2).normal(0, 1, (2, 6, 6))
    values["label"] = np.array(1)
    return ref.Run(graph, values, step).values


@pytest.fixture(params=[Options(), Options(in_place=False), KEPT_FLOAT], ids=str)
def step(request):
    return training_step(forward(), full(forward()), request.param)


def test_a_layout_in_order_is_not_complained_of(step):
    assert np.isfinite(run(step)["loss"])


def moved(step, name, to):
    layout = replace(step.layout, offsets={**step.layout.offsets, name: to})
    return replace(step, layout=layout)


def test_any_tensor_that_is_put_over_another_is_found(step):
    """Each tensor on the place of each that lives at its side: some node must complain."""
    offsets, found = step.layout.offsets, 0
    for node in step.graph.nodes:
        made = [name for name in node.outputs if name in offsets]
        read = [name for name in node.reads if name in offsets]
        for name in made:
            for other in read:
                if step.taken.get(name) == other or offsets[name] == offsets[other]:
                    continue
                with pytest.raises(AssertionError):
                    run(moved(step, name, offsets[other]))
                found += 1
    assert found >= 5


def bare(nodes, sizes, offsets, taken=(), kind="activation", size_bytes=16):
    """A step of hand-made nodes for the watch over the arena alone."""
    tensors = {
        name: SimpleNamespace(kind=kind if name != "in" else "input", size_bytes=size)
        for name, size in sizes.items()
    }

    class Graph(SimpleNamespace):
        def __getitem__(self, name):
            return self.tensors[name]

    layout = SimpleNamespace(size_bytes=size_bytes, offsets=offsets)
    return SimpleNamespace(
        graph=Graph(tensors=tensors, nodes=nodes), layout=layout, taken=dict(taken)
    )


def watch(step):
    arena = ref.Arena(step)
    for i, node in enumerate(step.graph.nodes):
        arena.before(i, node)
        if node.workspace_bytes and node.attrs.get("spoils"):
            arena.owner[step.layout.offsets[f"workspace {i}"]] = 99
        arena.after(i, node)


SIZES = {"in": 4, "a": 4, "b": 4}
PLACES = {"in": 0, "a": 4, "b": 8}
TWO = (Node("x", ("in",), ("a",)), Node("x", ("a",), ("b",)))


def complains(step, words):
    with pytest.raises(AssertionError, match=words):
        watch(step)


def test_each_fault_of_an_arena_has_its_complaint():
    watch(bare(TWO, SIZES, PLACES))
    complains(bare(TWO, SIZES, {**PLACES, "a": 2}), "node 0 writes over its in")
    complains(bare(TWO, SIZES, {**PLACES, "b": 7}), "node 1 writes over its a")
    third = (*TWO, Node("x", ("in", "b"), ()))
    watch(bare(third, SIZES, PLACES))
    complains(bare(third, SIZES, {**PLACES, "b": 0}), "node 2 .* finds in overwritten")
    both = (Node("x", ("in",), ("a", "b")),)
    watch(bare(both, SIZES, PLACES))
    complains(bare(both, SIZES, {**PLACES, "b": 6}), "outputs of node 0 .* overlap")
    complains(bare(TWO, SIZES, {**PLACES, "b": 13}), "b")  # beyond the end of the arena
    watch(bare(TWO, SIZES, {**PLACES, "b": 12}))


def test_an_output_may_take_the_place_that_its_input_gives_up():
    places = {"in": 0, "a": 4}
    watch(bare(TWO, SIZES, places, {"b": "a"}))
    late = (*TWO, Node("x", ("a",), ()))
    complains(bare(late, SIZES, places, {"b": "a"}), "node 2 .* finds a overwritten")


def test_a_workspace_is_its_node_s_own_while_it_runs():
    def one(**more):
        return (Node("x", ("in",), ("a",), workspace_bytes=4, **more),)

    offsets = {**PLACES, "workspace 0": 12}
    watch(bare(one(), SIZES, offsets))
    complains(bare(one(), SIZES, {**offsets, "workspace 0": 2}), "finds in overwritten")
    for at in (5, 2 + 4):
        with pytest.raises(AssertionError):
            watch(bare(one(), SIZES, {**offsets, "workspace 0": at}))
    with pytest.raises(AssertionError):
        watch(bare(one(attrs={"spoils": True}), SIZES, offsets))


def test_trained_tensors_are_in_the_arena_from_the_start():
    nodes = (Node("x", ("a",), ()),)
    complains(bare(nodes, SIZES, PLACES), "finds a overwritten")
    watch(bare(nodes, SIZES, PLACES, kind="trained"))


def naive_conv(x, weight, bias, stride, pad, groups):
    """The definition, one product at a time."""
    cout, per_in, kernel, _ = weight.shape
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad)))
    rows = (x.shape[1] - kernel) // stride + 1
    columns = (x.shape[2] - kernel) // stride + 1
    y = np.zeros((cout, rows, columns))
    for o, r, c in np.ndindex(y.shape):
        first = o // (cout // groups) * per_in
        for i, k, m in np.ndindex(weight.shape[1:]):
            y[o, r, c] += weight[o, i, k, m] * x[first + i, r * stride + k, c * stride + m]
        y[o, r, c] += bias[o]
    return y


@pytest.mark.parametrize("stride, pad, groups", [(1, 1, 1), (2, 0, 2), (2, 1, 4), (1, 0, 4)])
def test_convolutions_and_their_gradients_are_those_of_the_definition(stride, pad, groups):
    draw = np.random.default_rng(3)
    x, weight = draw.normal(size=(4, 7, 7)), draw.normal(size=(4, 4 // groups, 3, 3))
    bias = draw.normal(size=4)
    attrs = {"kernel": 3, "stride": stride, "pad": pad, "groups": groups}
    y = ref.conv(x, weight, bias, attrs)
    np.testing.assert_allclose(y, naive_conv(x, weight, bias, stride, pad, groups), atol=1e-12)
    g = draw.normal(size=y.shape)
    gx = ref.input_gradient(g, weight, attrs, x.shape)
    gw = ref.weight_gradient(x, g, attrs, weight.shape)
    for array, gradient in ((x, gx), (weight, gw)):
        for index in draw.integers(0, array.size, 12):
            where, old = np.unravel_index(index, array.shape), array.flat[index]
            array[where] = old + 1
            more = (naive_conv(x, weight, bias, stride, pad, groups) * g).sum()
            array[where] = old
            less = (naive_conv(x, weight, bias, stride, pad, groups) * g).sum()
            assert gradient[where] == pytest.approx(more - less, abs=1e-9)  # it is linear


def test_clamps_saturate_on_both_sides_and_their_masks_are_open_between():
    sums = np.array([[[-5.0, -4.0, -1.0, 0.0, 1.0, 4.0, 6.0, 7.0]]])
    y, mask = ref.clamp(sums, True)
    assert y.ravel().tolist() == [0, 0, 0, 0, 1, 4, 6, 6]
    assert mask.ravel().tolist() == [False] * 4 + [True, True, False, False]
    y, mask = ref.clamp(sums, False)
    assert y.ravel().tolist() == [-4, -4, -1, 0, 1, 4, 4, 4]
    assert mask.ravel().tolist() == [False, False, True, True, True, False, False, False]
