# SPDX-License-Identifier: MIT
"""The nodes of a step by their shape: what a node's cost depends on, and a program of it alone.

A shape is a text: the node's instructions with the operands that are sizes, by the names of
program_format, and the sizes of their layers. Nodes of one shape cost the same on a board.

>>> from ..model.build import Builder
>>> from ..model.seeded import seeded_network
>>> from ..sparse.scheme import full
>>> from .encode import place
>>> from .scheduled import plain_step
>>> net = Builder("two", (2, 4, 4))
>>> network = seeded_network(net.classify(net.pool("p", net.conv("c", net.x, 3)), 2), 0)
>>> node_shapes(place(plain_step(network.graph, full(network.graph)), network))[1]
'AVERAGE_POOL h=4 w=4 oh=1 ow=1 kh=4 kw=4 sh=1 sw=1 channels=3'
"""

from dataclasses import replace

from .arena import lay_out
from .choice_space import layer_costs
from .cost_model import CostModel
from .emit import code_of_nodes
from .encode import encode
from .instructions import read_code
from .scheduled import run_again
from .step import Step
from .storage import buffers

# Operands that are sizes; all others are places, values or numbers of a slot.
_SIZES = (
    *("h", "w", "oh", "ow", "top", "left", "kh", "kw", "sh", "sw", "channels"),
    *("n", "rows", "pixels", "planes", "mask"),
)
_LAYER = ("cin", "cout", "groups", "split", "kh", "kw", "stride_h", "stride_w")


def node_shapes(placement, again=False):
    """Return the shape of each node of a Placement, in order.

    :param again: as forward nodes run a second time, without masks
    """
    layers = layer_costs(placement)
    found = []
    for code in code_of_nodes(placement, _nodes(placement, again)):
        parts = [_shape(instruction, layers) for instruction in read_code(code)]
        mark = "" if placement.optimizer == "PLAIN" else " " + placement.optimizer.lower()
        parts = [part + mark if "UPDATE" in part else part for part in parts]
        found.append("; ".join(["float32", *parts] if placement.is_float else parts))
    return found


def node_instructions(placement, core, again=False):
    """Return the instructions that the cost model of a core says of each node in training."""
    model, layers = CostModel.load(core), layer_costs(placement)
    codes = code_of_nodes(placement, _nodes(placement, again))
    return [sum(n for _, n in model.code(code, layers.__getitem__, True)) for code in codes]


def _nodes(placement, again):
    nodes = placement.graph.nodes
    return [run_again(n) if n.phase == "forward" else n for n in nodes] if again else nodes


def _shape(instruction, layers):
    words = [instruction.op]
    for name, value in instruction.operands.items():
        if name.rstrip("2") == "layer":
            layer = layers[value]
            words += [f"{key}={getattr(layer, key)}" for key in _LAYER]
        elif name.rstrip("2") in _SIZES and value:
            words.append(f"{name}={value}")
    return " ".join(words)


def alone(step, network, position, optimizer="plain", again=False):
    """Return the Program that runs one node of a Step and nothing else.

    The arena holds what this node reads, writes and works in. `again`: as it runs a second time.
    """
    node = step.graph.nodes[position]
    node = run_again(node) if again else node
    used = {*node.inputs, *node.outputs, *node.writes}
    layers = {attrs["layer"] for attrs in (node.attrs, *_steps(node)) if "layer" in attrs}
    tensors = {
        name: tensor
        for name, tensor in step.graph.tensors.items()
        if name in used or name.rpartition(".")[0] in layers
    }
    graph = replace(step.graph, tensors=tensors, nodes=(node,), outputs=())
    taken = {y: x for y, x in step.taken.items() if y in node.outputs and x in used}
    found = tuple(buffers(graph, taken, step.input_in_arena))
    small = Step(graph, taken, found, lay_out(found), step.input_in_arena)
    return encode(small, _around(network, node, layers, tensors), optimizer)


def _steps(node):
    return node.attrs.get("steps", ())


def _around(network, node, layers, tensors):
    """Return the network with this node's layers alone; its output is a tensor of the node."""
    forward = network.graph
    names = (*node.inputs, *node.outputs)
    held = [name for name in names if tensors[name].kind in ("activation", "gradient")]
    whole = dict(forward.tensors)
    whole.update({n: replace(tensors[n], scale=1.0) for n in held if tensors[n].scale is None})
    nodes = tuple(
        n
        for n in forward.nodes
        if n.attrs.get("layer") in layers or set(n.outputs).intersection(node.outputs)
    )
    read = {*names, *(name for n in nodes for name in n.inputs)}
    if network.input not in read:  # the caller's buffer, of which the node needs nothing
        whole[network.input] = replace(whole[network.input], shape=(1, 1, 1))
    return replace(network, graph=replace(forward, tensors=whole, nodes=nodes, outputs=(held[0],)))
