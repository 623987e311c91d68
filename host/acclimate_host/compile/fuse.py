# SPDX-License-Identifier: MIT
"""Merges nodes so that tensors between them never exist; the results stay bit for bit.

`fuse_updates`: gradients of parameters are used up where they are formed, in place.
`fuse_forward`: a convolution hands each channel straight to the depthwise layer that follows,
and adds the other branch of a residual block as it writes.
"""

from dataclasses import replace
from functools import partial

from ..model.graph import Node

PLANES = 4


def fuse_updates(graph):
    """Return the step with each update merged into the gradient it applies, as early as sound.

    An update comes after the last node that reads its parameter: the gradient through a
    layer needs the weights of the forward pass.
    """
    producer, readers = graph.producer(), graph.readers()
    merged, gone = [], set()
    for node in graph.nodes:
        if node.op == "apply" and len(readers[node.inputs[0]]) == 1:
            made = producer[node.inputs[0]]
            source = graph.nodes[made]
            op = source.op.replace("_gradient", "_update")
            merged.append(Node(op, source.inputs, (), "update", node.writes, source.attrs))
            gone.add(made)
    kept = [
        node
        for i, node in enumerate(graph.nodes)
        if i not in gone and not (node.op == "apply" and producer[node.inputs[0]] in gone)
    ]
    return graph.with_nodes(_early(graph, kept, merged))


def _early(graph, nodes, updates):
    """Return `nodes` with each of `updates` as soon as all that it waits for is done."""
    position = {name: i for i, node in enumerate(nodes) for name in node.outputs}
    last_read = {name: i for i, node in enumerate(nodes) for name in node.reads}
    after = {}
    for node in updates:
        waits = [position[name] for name in node.inputs if name in position]
        waits += [last_read[name] for name in node.writes if name in last_read]
        after.setdefault(max(waits), []).append(node)
    ordered = []
    for i, node in enumerate(nodes):
        ordered.append(node)
        ordered += after.get(i, ())
    return ordered


def fuse_forward(graph, planes=PLANES, adds=None):
    """Return the graph with conv + depthwise and conv + add merged where nobody else reads.

    :param planes: channels, a multiple of 4, that a convolution hands on at once, or a function
        that says so for a depthwise layer by its name (0: not merged)
    :param adds: whether an addition by its name is merged; None: all are
    """
    planes_of = planes if callable(planes) else lambda layer: planes
    for join in (partial(_conv_depthwise, planes_of), partial(_conv_add, adds)):
        nodes, gone = list(graph.nodes), set()
        readers, producer = graph.readers(), graph.producer()
        for i, node in enumerate(graph.nodes):
            found = join(graph, node, producer, readers, gone)
            if found is not None:
                first, nodes[i] = found
                gone.add(first)
        graph = graph.with_nodes(node for i, node in enumerate(nodes) if i not in gone)
    return graph


def _sole(graph, name, producer, readers):
    """Return the position of the plain conv that makes `name` for one reader only, or None."""
    made = producer.get(name)
    if made is None or len(readers[name]) != 1 or name in graph.outputs:
        return None
    return made if graph.nodes[made].op == "conv" else None


def is_depthwise(graph, node):
    """Say whether each output channel of a conv comes from the input channel of its number."""
    channels = graph[node.inputs[0]].shape[0]
    return node.attrs["groups"] == channels == graph[node.outputs[0]].shape[0] > 1


def _conv_depthwise(planes_of, graph, node, producer, readers, gone):
    if node.op != "conv" or not is_depthwise(graph, node):
        return None
    made = _sole(graph, node.inputs[0], producer, readers)
    if made is None or made in gone or is_depthwise(graph, graph.nodes[made]):
        return None
    planes = planes_of(node.attrs["layer"])
    if not planes:
        return None
    first = graph.nodes[made]
    between = graph[node.inputs[0]]
    attrs = {
        "layer": node.attrs["layer"],
        "steps": (first.attrs, node.attrs),
        "inputs_first": len(first.inputs),
        "planes": planes,
        "masks": (len(first.outputs) > 1, len(node.outputs) > 1),
    }
    return made, Node(
        "conv_depthwise",
        first.inputs + node.inputs[1:],
        (node.outputs[0], *first.outputs[1:], *node.outputs[1:]),
        attrs=attrs,
        workspace_bytes=between.shape[1] * between.shape[2],
    )


def _conv_add(adds, graph, node, producer, readers, gone):
    if node.op != "add" or node.inputs[0] == node.inputs[1]:
        return None
    if adds is not None and not adds(node.attrs["layer"]):
        return None
    for name, other in (node.inputs, node.inputs[::-1]):
        made = _sole(graph, name, producer, readers)
        # What a convolution adds lies in the arena; the input may stay in the caller's buffer.
        if made is None or made in gone or graph[other].kind == "input":
            continue
        conv = graph.nodes[made]
        outputs = (node.outputs[0], *conv.outputs[1:])
        inputs = (*conv.inputs, other)
        return made, replace(conv, op="conv_add", inputs=inputs, outputs=outputs)
    return None
