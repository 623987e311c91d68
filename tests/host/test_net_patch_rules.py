# SPDX-License-Identifier: MIT
"""Patches of the first layers against pixels that are followed one by one."""

import pytest

from acclimate_host.compile.fuse import fuse_forward
from acclimate_host.compile.patches import (
    LARGE_EDGE,
    convs_of,
    edges,
    front_peaks,
    front_workspace,
    fronts,
    patch_front,
    patch_regions,
    source_region,
)
from acclimate_host.compile.prune import inference
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError, geometry


def finished(net, y):
    """As the compiler sees it: without the masks that only training needs."""
    return inference(net.finish(y))


def needed(rows, conv, edge, axis):
    """Return the rows of a layer's input that some rows of its output read, one by one."""
    shape = geometry(conv)
    found = set()
    for row in rows:
        for tap in range(shape.kernel[axis]):
            at = row * shape.stride[axis] - shape.pad[axis] + tap
            found |= {at} if 0 <= at < edge else set()
    return found


def followed(lengths, convs, part, grid, axis):
    """Return (first, end) of each tensor that a patch needs, from the input on."""
    length = lengths[-1]
    rows = set(range(part * length // grid, (part + 1) * length // grid))
    spans = [(min(rows), max(rows) + 1)]
    for conv, edge in zip(reversed(convs), reversed(lengths[:-1]), strict=True):
        rows = needed(range(*spans[-1]), conv, edge, axis)
        spans.append((min(rows), max(rows) + 1))
    return spans[::-1]


def deep(pads=(1, 1, 1), edges=(70, 66)):
    net = Builder("deep", (3, *edges))
    y = net.conv("c0", net.x, 4, 3, 2, pad=pads[0])
    y = net.conv("d0", y, 4, (3, 5) if pads[1] != 1 else 3, 1, 4, pad=pads[1])
    y = net.conv("c1", y, 5, 1, 1, pad=0)
    y = net.conv("c2", y, 6, 3, 2, pad=pads[2])
    return finished(net, net.dense("fc", net.pool("p", y), 3))


@pytest.mark.parametrize("grid", [2, 3, 5])
@pytest.mark.parametrize("pads", [(1, 1, 1), ((0, 2, 1, 0), (1, 2, 1, 2), (2, 0, 0, 1))])
def test_a_patch_needs_what_its_pixels_read(pads, grid):
    graph = deep(pads)
    convs = [node.attrs for node in graph.nodes if node.op == "conv"]
    for axis in (0, 1):
        shapes = [graph[n.outputs[0]].shape for n in graph.nodes if n.op == "conv"]
        lengths = edges(graph["x"].shape[1 + axis], convs, axis)
        assert lengths[1:] == [shape[1 + axis] for shape in shapes]
        for part in range(grid):
            wanted = followed(lengths, convs, part, grid, axis)
            assert patch_regions(lengths[0], convs, part, grid, axis) == wanted
    assert source_region((0, 4), convs[3], 9, 0)[0] == 0
    assert source_region((0, 4), convs[3], 7, 0)[1] <= 7


@pytest.mark.parametrize("in_full", [False, True])
@pytest.mark.parametrize("planes", [0, 2])
def test_a_step_needs_what_its_patch_has_before_in_between_and_behind(planes, in_full):
    graph = deep()
    graph = fuse_forward(graph, lambda layer: planes) if planes else graph
    steps = [node for node in graph.nodes if node.op in ("conv", "conv_depthwise")]
    convs = [conv for node in steps for conv in convs_of(node)]
    spans = {}
    for axis in (0, 1):
        lengths = edges(graph["x"].shape[1 + axis], convs, axis)
        spans[axis] = [followed(lengths, convs, part, 2, axis) for part in range(2)]
    wanted = [0] * len(steps)
    for rows in spans[0]:
        for columns in spans[1]:
            areas = [(b - a) * (d - c) for (a, b), (c, d) in zip(rows, columns, strict=True)]
            at, before = 0, 0
            for i, node in enumerate(steps):
                parts = len(convs_of(node))
                between = 0
                if parts == 2:
                    between = areas[at + 1] * (node.attrs["planes"] if in_full else 1)
                at += parts
                channels = graph[node.outputs[0]].shape[0]
                after = 0 if i == len(steps) - 1 else channels * areas[at]
                wanted[i] = max(wanted[i], before + between + after)
                before = after
    assert front_peaks(graph, steps, 2, in_full) == wanted
    assert front_workspace(graph, steps, 2, in_full) == max(wanted)
    assert (len(steps) == 3) == bool(planes)
    assert front_workspace(graph, steps, 2) == front_workspace(graph, steps, 2, False)


def test_rows_are_meant_where_no_axis_is_named():
    convs = [node.attrs for node in deep((1, (1, 2, 1, 0), 1)).nodes if node.op == "conv"]
    assert edges(70, convs) == edges(70, convs, 0) != edges(70, convs, 1)
    assert patch_regions(70, convs, 1, 2) == patch_regions(70, convs, 1, 2, 0)
    assert patch_regions(70, convs, 1, 2) != patch_regions(70, convs, 1, 2, 1)
    assert source_region((3, 9), convs[1], 35) == (2, 10)


def test_a_front_is_the_chain_of_layers_that_one_reader_each_has():
    assert fronts(deep()) == {"c0.y": 1, "d0.y": 2, "c1.y": 3, "c2.y": 4}
    net = Builder("fork", (3, 70, 66))
    y = net.conv("c0", net.x, 4, 3, 2)
    z = net.conv("c1", y, 4, 3)
    graph = finished(net, net.dense("fc", net.add("a", y, z), 3))
    assert fronts(graph) == {"c0.y": 1}
    net = Builder("none", (3, 70, 66))
    graph = finished(net, net.dense("fc", net.pool("p", net.x), 3))
    assert fronts(graph) == {} and patch_front(graph, 2) is graph


def last_of(graph, grid=2):
    found = [n for n in patch_front(graph, grid).nodes if n.op == "patches"]
    return found[0].attrs["steps"][-1].attrs["layer"] if found else None


def test_by_default_the_front_ends_with_the_last_large_layer_and_pointwise_ones_behind_it():
    assert last_of(deep()) == "c2"  # it reads 35 x 33
    assert last_of(deep(edges=(2 * LARGE_EDGE, 2 * LARGE_EDGE))) == "c0"  # 32 is not large
    assert last_of(deep(edges=(2 * LARGE_EDGE, 2 * LARGE_EDGE + 1))) == "c2"
    assert last_of(deep(edges=(LARGE_EDGE, LARGE_EDGE))) is None
    assert last_of(deep(pads=((0, 0, 1, 1), 1, 1))) is None  # such fronts are chosen, not taken
    assert last_of(deep(pads=(1, (1, 2, 1, 2), 1))) == "c0"
    fused = fuse_forward(deep(pads=(1, (1, 2, 1, 2), 1)), lambda layer: 1)
    assert last_of(fused) is None
    assert patch_front(deep(), 1) == deep()
    net = Builder("behind", (3, 40, 40))
    y = net.conv("c1", net.conv("c0", net.x, 4, 3, 2), 5, 1)
    assert last_of(finished(net, net.dense("fc", net.pool("p", y), 3))) == "c1"


def test_a_front_that_is_named_ends_there_and_the_rest_follows():
    graph = deep()
    made = patch_front(graph, 2, "d0.y")
    assert [n.op for n in made.nodes] == ["patches", "conv", "conv", "pool", "dense"]
    node = made.nodes[0]
    assert node.inputs[0] == "x" and node.outputs == ("d0.y",) and node.attrs["grid"] == 2
    assert node.workspace_bytes == front_workspace(graph, graph.nodes[:2], 2)
    assert patch_front(graph, 2, "fc.y") is graph


def test_more_patches_than_pixels_are_refused():
    with pytest.raises(GraphError, match="40x40 patches are too many"):
        patch_front(deep(), 40)
