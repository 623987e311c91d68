# SPDX-License-Identifier: MIT
"""Which layers of an int8 network have inputs in steps that are wide beside their output's.

What is rounded in front of such a layer, by half a step, is many steps behind it.
"""

from dataclasses import replace

import numpy as np

from .int8 import layer_factors
from .network import Network, check_values

MOST = 16  # steps of an output that one step of an input may be before it is told


def worth(network, node):
    """Return how many steps of a node's output one step of an input is at most; 0 where open."""
    graph = network.graph
    x, y = graph[node.inputs[0]], graph[node.outputs[0]]
    if node.op in ("conv", "dense"):
        weight = network.values[node.inputs[1]].astype(float)
        largest = np.abs(weight).reshape(len(weight), -1).max(axis=1)
        return float((largest * layer_factors(x, graph[node.inputs[1]], y)).max())
    if node.op == "lookup":
        table = network.values[node.inputs[1]].astype(int)
        return float(np.abs(np.diff(table)).max())
    if node.op == "add":
        return max(graph[name].scale for name in node.inputs) / y.scale
    return 0.0


def coarse_note(layer, steps):
    """Return what to say of a layer, one step of whose input is so many of its output."""
    return (
        f"{layer}: one step of its input is up to {steps:.0f} steps of its output, which rounding "
        "before it moves by half as many: give it inputs of a narrower range"
    )


def checked(graph, values, notes):
    """Return the Network of an importer, with its notes and those of wide steps.

    :raises GraphError: where a value is missing or does not fit
    """
    network = Network(graph, values, tuple(dict.fromkeys(notes)))
    check_values(network)
    return with_notes(network) if network.quantized else network


def with_notes(network):
    """Return a quantized network that says which layers have wide steps before them."""
    return replace(network, notes=(*network.notes, *coarse_notes(network)))


def coarse_notes(network):
    """Return the notes of a quantized network, in the order of its layers.

    :raises GraphError: for a layer whose factors no integer holds
    """
    nodes = [node for node in network.graph.nodes if node.phase == "forward"]
    found = [(node.attrs["layer"], worth(network, node)) for node in nodes]
    return tuple(coarse_note(layer, steps) for layer, steps in found if steps > MOST)
