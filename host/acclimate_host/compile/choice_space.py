# SPDX-License-Identifier: MIT
"""What can be chosen for a graph, and what each option changes: instructions, and live bytes.

The timeline is that of the graph before fusion: a place is one of its nodes, named by what the
node makes. The plain form fuses nothing, has whole tensors, and gives every depthwise layer an
output of its own; an option is told by its difference from that.
"""

from dataclasses import dataclass, replace

from ..model.factors import multipliers
from ..model.graph import GraphError
from ..model.int8 import layer_factors
from ..model.network import clamp_limits
from .cost_model import LayerCost
from .emit import code_of_nodes
from .encode import place
from .fuse import is_depthwise
from .patches import convs_of, front_peaks, fronts
from .step import Choice, finish
from .storage import aligned

PLANES = (4, 8, 12, 16, 24, 32, 48, 64)
PLANES_IN_PATCHES = (4, 8, 16, 32)
GRIDS = (2, 3, 4, 6, 8)
MOST_ENDS = 5  # of fronts, each where tensors become smaller than all before


@dataclass(frozen=True)
class Option:
    """One way: a Choice's parts for one layer, instructions and {place: bytes} that it adds."""

    parts: dict
    cost: float
    bytes: dict


@dataclass(frozen=True)
class Front:
    """How the first layers run, with instructions and {place: bytes} of the plain rest.

    `groups` are tuples of Options, one to take of each.
    """

    grid: int
    last: str | None
    cost: float
    bytes: dict
    groups: tuple

    def choice(self, options):
        """Return the Choice of one Option of each group."""
        planes, adds, in_place = {}, set(), set()
        for option in options:
            planes.update(option.parts.get("planes", {}))
            adds.update(option.parts.get("adds", ()))
            in_place.update(option.parts.get("in_place", ()))
        apart = frozenset(option.parts["layer"] for option in options) - in_place
        return Choice(planes, frozenset(adds), apart, self.grid, self.last)


def fronts_of(graph, network, optimizer, model, options, training):
    """Yield the Fronts of a graph from `before_fusion`; the first runs whole tensors."""
    space = _Space(graph, network, optimizer, model, options, training)
    return space.fronts()


class _Space:
    def __init__(self, graph, network, optimizer, model, options, training):
        self.graph, self.network, self.optimizer = graph, network, optimizer
        self.model, self.options, self.training = model, options, training
        forward = [node for node in graph.nodes if node.phase == "forward"]
        convs = [node for node in forward if node.op == "conv"]
        self.depthwise = [n.attrs["layer"] for n in convs if is_depthwise(graph, n)]
        self.adds = [node.attrs["layer"] for node in forward if node.op == "add"]
        self.outputs = {node.attrs["layer"]: graph[node.outputs[0]] for node in convs}
        self.layers, self._costs = None, {}

    def fronts(self):
        plain = self.evaluate(self._choice())
        groups = {layer: self._group(layer, self._choice(), plain) for layer in self._layers()}
        yield Front(1, None, plain[0], plain[1], tuple(groups.values()))
        for grid in GRIDS:
            for last, inside in self._ends():
                choice = self._choice(grid=grid, last=last)
                try:
                    base = self.evaluate(choice)
                except GraphError:
                    continue  # more patches than rows
                if base is None:
                    continue
                own = dict(groups)
                for layer in inside.intersection(groups):
                    own[layer] = self._group(layer, choice, base)
                yield Front(grid, last, base[0], base[1], tuple(own.values()))

    def _layers(self):
        return self.depthwise + self.adds

    def _choice(self, **parts):
        return Choice(**{"apart": frozenset(self.depthwise), **parts})

    def _ends(self):
        """Yield (tensor, depthwise layers that its front decides over) of possible fronts."""
        whole = finish(self.graph, replace(self.options, choice=self._choice()), 0).graph
        largest, least, inside, ends = 0, None, set(), 0
        for last, count in fronts(whole).items():
            node = whole.nodes[count - 1]
            size = whole[last].size_bytes
            largest = max(largest, size)
            inside.add(node.attrs["layer"])
            reader = next((n for n in whole.nodes[count:] if last in n.inputs), None)
            smaller = least is None or size < least
            least = min(size, least or size)
            if count > 1 and smaller and 2 * size <= largest and ends < MOST_ENDS:
                ends += 1
                yield last, inside | {reader.attrs.get("layer") if reader else None}

    def _group(self, layer, choice, base):
        """Return the Options of a layer, the plain one first."""
        found = [Option({"layer": layer}, 0.0, {})]
        if layer in self.adds:
            tries = [{"adds": (layer,)}]
        else:
            tries = [{"in_place": (layer,)}]
            channels = self.outputs[layer].shape[0]
            some = PLANES if choice.grid == 1 else PLANES_IN_PATCHES
            known = [planes for planes in some if planes < channels]
            tries += [{"planes": {layer: planes}} for planes in (*known, -(-channels // 4) * 4)]
        for parts in tries:
            made = replace(
                choice,
                planes=parts.get("planes", {}),
                adds=frozenset(parts.get("adds", ())),
                apart=choice.apart - set(parts.get("in_place", ())),
            )
            result = self.evaluate(made)
            if result is None or result == base:
                continue  # it cannot be had here
            cost, live = result
            bytes_ = {p: live.get(p, 0) - at for p, at in base[1].items() if live.get(p, 0) != at}
            found.append(Option({"layer": layer, **parts}, cost - base[0], bytes_))
        return tuple(_useful(found))

    def evaluate(self, choice):
        """Return (instructions, {place: live bytes}) of a Choice, None where it has no front."""
        step = finish(self.graph, replace(self.options, choice=choice), None)
        if choice.grid > 1 and step.graph.nodes[0].op != "patches":
            return None
        placement = place(step, self.network, self.optimizer)
        if self.layers is None:
            self.layers = layer_costs(placement)
        costs = 0.0
        for code in code_of_nodes(placement):
            if code not in self._costs:
                counted = self.model.code(code, self.layers.__getitem__, self.training)
                self._costs[code] = sum(count for _, count in counted)
            costs += self._costs[code]
        return costs, self._live(placement)

    def _live(self, placement):
        found = {}
        for position, (node, live) in enumerate(
            zip(placement.graph.nodes, placement.live_bytes(), strict=True)
        ):
            if node.op == "patches":
                found.update(self._live_patches(placement, position, node, live))
                continue
            for name in self._places(node):
                found[name] = max(found.get(name, 0), live)
        return found

    def _live_patches(self, placement, position, node, live):
        """Each layer of the front lives in the same work area, at its own time."""
        steps, size = node.attrs["steps"], placement.element_bytes
        rest = live - aligned(placement.work_size(position, "plane"))
        peaks = front_peaks(self.network.graph, steps, node.attrs["grid"], in_full=True)
        for step, peak in zip(steps, peaks, strict=True):
            for name in self._places(step):
                yield name, rest + aligned(size * peak) + 8

    def _places(self, node):
        names = {*node.outputs[:1], *(f"{name} written" for name in node.writes)}
        if node.phase == "forward" and node.op.startswith("conv"):
            names.update(self.outputs[conv["layer"]].name for conv in convs_of(node))
        return names


def _useful(options):
    """Leave out options that another one beats at every place."""
    kept = []
    for option in options:
        others = [other for other in options if other is not option]
        if not any(_beats(other, option) for other in others):
            kept.append(option)
    return kept


def _beats(a, b):
    places = {*a.bytes, *b.bytes}
    if a.cost > b.cost or any(a.bytes.get(p, 0) > b.bytes.get(p, 0) for p in places):
        return False
    return a.cost < b.cost or any(a.bytes.get(p, 0) < b.bytes.get(p, 0) for p in places)


def layer_costs(placement):
    """Return the LayerCosts by number, as `code_of_nodes` numbers layers."""
    graph, forward = placement.graph, placement.network.graph
    return [_layer_cost(graph, forward, layer) for layer in placement.layers.values()]


def _layer_cost(graph, forward, layer):
    split = 0
    for name in (layer.name + ".w", layer.name + ".wt"):
        tensor = graph.tensors.get(name)
        if tensor is not None and tensor.kind == "trained":
            split = tensor.shape[0 if layer.depthwise else 1]
            if layer.node.op == "dense":
                split = layer.cin
    _, shifts = multipliers(layer_factors(layer.x, layer.weight, layer.y))
    low, high = clamp_limits(forward, layer.node)
    return LayerCost(
        layer.cin,
        layer.cout,
        layer.groups,
        split,
        *layer.kernel,
        *layer.stride,
        quick=bool((shifts < 0).all()),
        narrow=low > -128 or high < 127,
    )
