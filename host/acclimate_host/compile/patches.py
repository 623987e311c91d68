# SPDX-License-Identifier: MIT
"""Runs the first, largest layers patch by patch, so that their tensors never exist whole.

A patch of the output needs, layer by layer, a region that grows by the kernels (the halo);
what two patches share is computed in both. Results are bit for bit those of whole tensors.
"""

from ..model.graph import GraphError, Node, geometry

LARGE_EDGE = 32


def patch_front(graph, grid, last=None):
    """Return the graph with its layers above 32x32 as one node of grid x grid patches.

    The front is left as it is where a mask or a kept input asks for whole tensors.

    :param grid: patches along each edge; 1 or less leaves the graph as it is
    :param last: name of the tensor that the front ends with; None: where tensors become small
    """
    count = 0
    if grid > 1:
        count = _front(graph) if last is None else fronts(graph).get(last, 0)
    if not count:
        return graph
    front = graph.nodes[:count]
    x, y = front[0].inputs[0], front[-1].outputs[0]
    inputs = (x, *(name for node in front for name in node.inputs[1:]))
    steps = tuple(front)
    node = Node(
        "patches",
        inputs,
        (y,),
        attrs={"grid": grid, "steps": steps},
        workspace_bytes=front_workspace(graph, steps, grid),
    )
    # Shapes inside the patches stay readable through the steps' own attributes.
    return graph.with_nodes((node, *graph.nodes[count:]))


def fronts(graph):
    """Return {tensor that a front may end with: nodes up to it}: the chain at the beginning."""
    readers, found = graph.readers(), {}
    for i, node in enumerate(graph.nodes):
        chained = i == 0 or node.inputs[0] == graph.nodes[i - 1].outputs[0]
        plain = node.op in ("conv", "conv_depthwise") and len(node.outputs) == 1
        if not (chained and plain):
            break
        found[node.outputs[0]] = i + 1
        if len(readers[node.outputs[0]]) != 1:
            break
    return found


def _front(graph):
    """Return how many nodes belong to the front: up to the last large tensor."""
    count, large = 0, False
    for i in range(len(fronts(graph))):
        node = graph.nodes[i]
        if not all(isinstance(conv["pad"], int) for conv in convs_of(node)):
            break  # `choose` weighs such fronts; by default they stay whole
        is_large = max(graph[node.inputs[0]].shape[1:]) > LARGE_EDGE
        # A pointwise layer behind the front has no halo and hands on a smaller tensor.
        if not is_large and not (node.op == "conv" and node.attrs["kernel"] == 1):
            break
        count, large = i + 1, large or is_large
    return count if large else 0


def convs_of(node):
    """Return the attrs of the one or two convolutions that a forward node runs."""
    return node.attrs["steps"] if node.op == "conv_depthwise" else (node.attrs,)


def source_region(region, conv, edge, axis=0):
    """Return the rows (axis 1: columns) of a conv's input that `region` of its output needs."""
    shape = geometry(conv)
    start = region[0] * shape.stride[axis] - shape.pad[axis]
    stop = (region[1] - 1) * shape.stride[axis] - shape.pad[axis] + shape.kernel[axis]
    return max(start, 0), min(stop, edge)


def edges(height, convs, axis=0):
    """Return the edge lengths in front of, between and behind the convolutions."""
    found = [height]
    for shape in map(geometry, convs):
        padded = found[-1] + shape.pad[axis] + shape.pad[axis + 2]
        found.append((padded - shape.kernel[axis]) // shape.stride[axis] + 1)
    return found


def patch_regions(edge, convs, part, grid, axis=0):
    """Return the region of each tensor along one axis for patch number `part` of `grid`."""
    lengths = edges(edge, convs, axis)
    length = lengths[-1]
    regions = [(part * length // grid, (part + 1) * length // grid)]
    for conv, before in zip(reversed(convs), reversed(lengths[:-1]), strict=True):
        regions.append(source_region(regions[-1], conv, before, axis))
    return regions[::-1]


def front_workspace(graph, steps, grid, in_full=False):
    """Return the most elements that any patch needs at once beside the front's ends.

    :param in_full: count all channels that exist at once between two fused layers, not one
    """
    return max(front_peaks(graph, steps, grid, in_full))


def front_peaks(graph, steps, grid, in_full=False):
    """Return, for each step, the most elements that a patch needs at once.

    :param in_full: count all channels that exist at once between two fused layers, not one
    """
    shape = graph[steps[0].inputs[0]].shape
    convs = [conv for node in steps for conv in convs_of(node)]
    rows = [patch_regions(shape[1], convs, part, grid) for part in range(grid)]
    columns = [patch_regions(shape[2], convs, part, grid, 1) for part in range(grid)]
    if any(a >= b for axis in (rows, columns) for part in axis for a, b in part):
        raise GraphError(f"{grid}x{grid} patches are too many for this input; use fewer")
    peaks = [_peaks(graph, steps, r, c, in_full) for r in rows for c in columns]
    return [max(step) for step in zip(*peaks, strict=True)]


def _peaks(graph, steps, rows, columns, in_full):
    def area(position):
        (top, bottom), (left, right) = rows[position], columns[position]
        return (bottom - top) * (right - left)

    peaks, position, before = [], 0, 0
    for node in steps:
        parts = len(convs_of(node))
        planes = node.attrs["planes"] if in_full and parts == 2 else 1
        temporary = planes * area(position + 1) if parts == 2 else 0
        position += parts
        is_last = node is steps[-1]
        after = 0 if is_last else graph[node.outputs[0]].shape[0] * area(position)
        peaks.append(before + temporary + after)
        before = after
    return peaks
