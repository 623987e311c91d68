# SPDX-License-Identifier: MIT
"""Planning graphs of networks: forward, loss and backward pass, with a board's costs.

Two styles of backward pass:

- ``chain``: the paper's code. One gradient node per layer; the one of layer i reads the outputs
  of layers i and i + 1 and the gradient before it, has the size of layer i + 1 and costs twice
  layer i. Short cuts have no gradient of their own.
- ``autodiff``: true reverse mode. One gradient per tensor, of the tensor's size; it reads the
  gradients of its consumers and what their backward kernels need (``layers.READS``). The input's
  node only makes the first layer's weight gradient and keeps nothing.

Gradients are not computed a second time unless asked for: nothing reads them late. Parameters
and their gradients lie outside the budget, as in the paper's code, unless asked for.

>>> graph = network_graph("linear", "m4")
>>> len(graph.nodes), forward_bytes(graph)
(27, 6776)
"""

from . import costs as cost_tables
from . import networks
from .layers import READS
from .problem import Graph, Node, PlanError

STYLES = ("chain", "autodiff")
GRADIENT = ".grad"
UPDATE = ".update"


def network_graph(name, profile, style="chain", recompute_gradients=False, resident=False):
    """Graph of a network by name with a cost table (name or CostProfile).

    resident: count parameters and their gradients as bytes that always stay.
    """
    if style not in STYLES:
        raise PlanError(f"unknown style {style!r}; there are {', '.join(STYLES)}")
    layers = networks.layers(name, as_published=style == "chain")
    return layers_graph(layers, profile, style, recompute_gradients, resident)


def layers_graph(
    layers, profile, style="chain", recompute_gradients=False, resident=False, updates=False
):
    """Graph of layers in forward order, the loss last.

    updates: with a node of 0 bytes for each layer with parameters, which steps them.
    """
    if isinstance(profile, str):
        profile = cost_tables.load(profile)
    nodes = [
        _node(profile, layer.id, layer.inputs, layer.elements, layer.flop, True, layer.kind)
        for layer in layers
    ]
    readers = {}
    for layer in layers if updates else ():
        if layer.parameters and layer.inputs:
            readers.setdefault(layer.inputs[0] + GRADIENT, []).append(layer)
    backward = _chain(layers) if style == "chain" else _autodiff(layers)
    for name, deps, elements, flop in backward:
        nodes.append(_node(profile, name, deps, elements, flop, recompute_gradients, "backward"))
        for layer in readers.get(name, ()):
            nodes.append(
                _node(
                    profile,
                    layer.id + UPDATE,
                    (name,),
                    0,
                    2.0 * layer.parameters,
                    False,
                    "backward",
                )
            )
    parameters = sum(layer.parameters for layer in layers)
    return Graph(tuple(nodes), 2 * parameters * profile.element_bytes if resident else 0)


def forward_bytes(graph):
    """Bytes of all tensors of the forward pass: 100 % of RAM in the paper's budgets."""
    return sum(n.ram_bytes for n in graph.nodes if not n.id.endswith((GRADIENT, UPDATE)))


def _node(profile, name, deps, elements, flop, recomputable, operator=""):
    size = int(elements) * profile.element_bytes
    page = {}
    for direction in ("pagein", "pageout"):
        page[direction + "_energy"] = profile.transfer_energy(direction, size) if size else 0.0
        page[direction + "_time"] = profile.transfer_time(direction, size) if size else 0.0
    return Node(
        name,
        tuple(deps),
        size,
        0,
        profile.compute_energy(flop, operator),
        profile.compute_time(flop, operator),
        recomputable=recomputable,
        pageable=size > 0,
        **page,
    )


def _chain(layers):
    before = layers[-1].id
    for layer, following in zip(layers[-2::-1], layers[:0:-1], strict=True):
        name = layer.id + GRADIENT
        deps = dict.fromkeys((layer.id, following.id, before))
        yield name, deps, following.elements, 2 * layer.flop
        before = name


def _autodiff(layers):
    consumers = {layer.id: [] for layer in layers}
    for layer in layers:
        for name in dict.fromkeys(layer.inputs):
            consumers[name].append(layer)
    for layer in layers[-2::-1]:
        deps, flop = {}, 0.0
        for consumer in consumers[layer.id]:
            if consumer.kind != "loss":
                deps[consumer.id + GRADIENT] = None
            reads = READS[consumer.kind]
            if "in" in reads.split():
                deps.update(dict.fromkeys(consumer.inputs))
            if "out" in reads.split():
                deps[consumer.id] = None
            flop += consumer.backward_flop / len(consumer.inputs)
        first = layer.kind == "input"
        yield layer.id + GRADIENT, deps, 0 if first else layer.elements, flop / (2 if first else 1)
