# SPDX-License-Identifier: MIT
"""The forward pass of a training graph as a chain of blocks between single tensors."""

from acclimate_host.poet.graphs import GRADIENT
from bench.papers.poet.tape import Stuck


def forward_count(graph):
    """Number of nodes of the forward pass, loss included: those before the first gradient."""
    for position, node in enumerate(graph.nodes):
        if node.id.endswith(GRADIENT):
            return position
    raise Stuck(f"the graph has no backward pass (no node whose id ends in {GRADIENT})")


def cuts(graph):
    """Positions of the forward tensors that alone carry the pass on, the first and last too.

    On a plain chain all of them; a tensor beside which a short cut runs is none.
    """
    count = forward_count(graph)
    furthest = 0
    found = []
    last = [0] * count
    for v in range(count):
        for dep in graph.nodes[v].deps:
            last[graph.index[dep]] = max(last[graph.index[dep]], v)
    for v in range(count):
        # no tensor from before v is read after v
        if furthest <= v:
            found.append(v)
        furthest = max(furthest, last[v])
    return found
