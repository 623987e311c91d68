# SPDX-License-Identifier: MIT
"""Parameters and optimizer state in storage: read for their uses, written back once changed.

A parameter lives from step to step. Resident, it takes its bytes of RAM all the time. Paged, it
is a node without inputs: to compute it is to read it, as often as a plan likes, and the node that
changes it pays for writing it back. So any solver and the evaluator take such graphs as they are.

Which parameters stay resident is searched over the most bytes that one update reads from storage:
they are in RAM beside all residents. That limits the residents' bytes from above, and what each
update has beyond it must stay. What is paged is read and written once at least, and the rest of
the graph has so much less RAM: both together are a bound for all choices.

>>> from .problem import Budget, Graph, Node
>>> made = (("y", (), 4), ("z", ("y",), 12), ("g", ("z",), 4), ("u", ("g",), 0))
>>> graph = Graph(tuple(Node(name, deps, size, 0, 1.0) for name, deps, size in made))
>>> weight = Parameter("w", 8, ("y",), "u", 0.5, 0.1, 0.5, 0.1)
>>> [plan_parameters(graph, [weight], Budget(ram)).answer.energy for ram in (24, 16)]
[4.0, 5.5]
"""

import math
from dataclasses import dataclass, replace
from itertools import combinations

from .answer import Answer
from .graphs import GRADIENT, UPDATE
from .problem import Budget, Graph, Node, PlanError
from .smallest import operator_need
from .solve import GAP, solve

STATE = ".state"
PARAMETERS = ".parameters"
_TRIES = 8
_CLASSES = 64


@dataclass(frozen=True)
class Parameter:
    """Bytes that live from step to step; costs of one read and one write in J and s.

    readers: ids of the nodes that read it. update: id of the node that changes it, or None for
    what is only read; it reads it as well.
    """

    id: str
    ram_bytes: int
    readers: tuple
    update: str | None
    read_energy: float
    read_time: float
    write_energy: float = 0.0
    write_time: float = 0.0

    @property
    def least_energy(self):
        """Joules of paging it: one read, and one write if it changes."""
        return self.read_energy + (self.write_energy if self.update else 0.0)


@dataclass(frozen=True)
class Paged:
    """answer: of `graph` within `budget`, where the parameters named in `resident` stay in RAM.

    lower_bound: no plan with any choice of residents costs less, in J. proven: that is reached.
    """

    answer: Answer
    graph: Graph
    budget: Budget
    resident: tuple
    lower_bound: float
    proven: bool


def layer_parameters(layers, profile, state=0):
    """Return the Parameters of layers as `layers_graph(..., "autodiff", updates=True)` has them.

    :param state: bytes of the optimizer's state for each byte of a parameter; momentum: 1
    """
    found = []
    for layer in layers:
        if not layer.parameters or not layer.inputs:
            continue
        source, update = layer.inputs[0], layer.id + UPDATE
        readers = (layer.id,) if source == "input" else (layer.id, source + GRADIENT)
        size = layer.parameters * profile.element_bytes
        parts = [(PARAMETERS, size, readers)]
        if state:
            parts.append((STATE, math.ceil(state * size), ()))
        for mark, part, reads in parts:
            costs = [
                cost(direction, part)
                for direction in ("pagein", "pageout")
                for cost in (profile.transfer_energy, profile.transfer_time)
            ]
            found.append(Parameter(layer.id + mark, part, reads, update, *costs))
    return found


def with_parameters(graph, parameters, resident=()):
    """Return the graph in which parameters are resident, or nodes that are read from storage.

    A node whose result would be needed after the parameters it reads have changed does not run
    again.

    :param resident: ids of those that stay in RAM
    :raises PlanError: for a reader or an update that is not in the graph
    """
    kept = sum(p.ram_bytes for p in parameters if p.id in resident)
    paged = [p for p in parameters if p.id not in resident]
    nodes, before = {node.id: node for node in graph.nodes}, {}
    for parameter in parameters:
        names = [*parameter.readers, *([parameter.update] if parameter.update else [])]
        for name in names:
            if name not in nodes:
                raise PlanError(f"parameter {parameter.id}: unknown node {name}")
        for name in _changed(graph, parameter):
            nodes[name] = replace(nodes[name], recomputable=False)
        if parameter.update:
            nodes[parameter.update] = replace(nodes[parameter.update], recomputable=False)
        if not names or parameter not in paged:
            continue
        before.setdefault(min(names, key=graph.index.get), []).append(_node(parameter))
        for name in dict.fromkeys(names):
            nodes[name] = replace(nodes[name], deps=(*nodes[name].deps, parameter.id))
        if parameter.update:
            nodes[parameter.update] = _writing(nodes[parameter.update], parameter)
    ordered = [made for node in graph.nodes for made in (*before.get(node.id, ()), nodes[node.id])]
    return Graph(tuple(ordered), graph.resident_bytes + kept)


def _node(parameter):
    costs = (parameter.read_energy, parameter.read_time)
    return Node(parameter.id, (), parameter.ram_bytes, 0, *costs, pageable=False)


def _writing(node, parameter):
    return replace(
        node,
        compute_energy=node.compute_energy + parameter.write_energy,
        compute_time=node.compute_time + parameter.write_time,
    )


def _changed(graph, parameter):
    """Yield nodes that would read a parameter after its change if they were needed then."""
    if parameter.update is None:
        return
    last = graph.index[parameter.update]
    late = {dep for node in graph.nodes[last + 1 :] for dep in node.deps}
    again = [node for node in graph.nodes[: last + 1] if node.recomputable]
    reads = set(parameter.readers)
    for node in again:  # in order: what follows from a reader is known before its own readers
        if reads.intersection(node.deps):
            reads.add(node.id)
    yield from (node.id for node in again if node.id in reads and node.id in late)


def paged_budget(budget, parameters):
    """Return the budget without the storage and the erases that paged parameters take.

    :raises PlanError: where that is more than there is
    """
    sizes, block = [p.ram_bytes for p in parameters], budget.erase_block_bytes
    written = [p.ram_bytes for p in parameters if p.update]
    aux = None if budget.aux_bytes is None else budget.aux_bytes - sum(sizes)
    erases = budget.erase_budget
    if erases is not None and block:
        erases -= sum(-(-size // block) for size in written)
    if (aux or 0) < 0 or (erases or 0) < 0:
        raise PlanError(f"paged parameters take {sum(sizes)} bytes of storage; there is less")
    return replace(budget, aux_bytes=aux, erase_budget=erases)


def plan_parameters(graph, parameters, budget, tries=_TRIES, gap=GAP, **options):
    """Return the Paged plan of least energy that was found, with its bound.

    :param tries: how many choices of residents are solved
    :param options: of acclimate_host.poet.solve.solve
    :raises Infeasible: no choice that was tried has a plan
    """
    return _Choice(graph, tuple(parameters), budget, gap, options).run(tries)


class _Choice:
    """Search over how many bytes of paged parameters are in RAM at once, at their update."""

    def __init__(self, graph, parameters, budget, gap, options):
        # no choice lets a node run again that reads a changed parameter
        names = tuple(p.id for p in parameters)
        bare = with_parameters(graph, parameters, names)
        self.bare = replace(bare, resident_bytes=graph.resident_bytes)
        self.graph, self.parameters, self.budget = graph, parameters, budget
        self.gap, self.options = gap, options
        self.best, self.tried, self.failed, self._bare = None, set(), None, {}
        # those that cost most a byte stay first
        self.ranked = sorted(
            parameters, key=lambda p: -p.least_energy / p.ram_bytes if p.ram_bytes else -math.inf
        )
        updates = dict.fromkeys(p.update for p in parameters if p.update)
        self.groups = [[p for p in parameters if p.update == update] for update in updates]

    def run(self, tries):
        """Return the Paged: of all choices where they are few, else of the best-first search."""
        if 1 << len(self.parameters) <= tries:
            return self._found(min(map(self._try, self._choices())))
        return self._searched(tries)

    def _choices(self):
        names = [p.id for p in self.parameters]
        return [c for n in range(len(names) + 1) for c in combinations(names, n)]

    def _searched(self, tries):
        classes = [(self._bound(*part), *part) for part in self._classes()]
        for bound, _, high in sorted(classes):
            if len(self.tried) >= tries or bound == math.inf or self._is_closed(bound):
                break
            self._try(self._residents(high))
        if self.best is None:
            self._try(())
        return self._found(min(classes)[0])

    def _classes(self):
        """Return ranges of the most bytes that one update reads from storage, of all choices."""
        values = {0}
        for group in self.groups:
            sums = {0}
            for parameter in group:
                sums |= {size + parameter.ram_bytes for size in sums}
            values |= sums
        ordered = sorted(values)
        step = -(-len(ordered) // _CLASSES)
        parts = [ordered[at : at + step] for at in range(0, len(ordered), step)]
        return [(part[0], part[-1]) for part in parts]

    def _found(self, bound):
        if self.best is None:
            raise self.failed
        answer, graph, budget, resident = self.best
        bound = min(bound, answer.energy)
        proven = answer.energy - bound <= self.gap * abs(answer.energy)
        return Paged(answer, graph, budget, resident, bound, proven)

    def _is_closed(self, bound):
        return self.best is not None and bound >= self.best[0].energy * (1 - self.gap)

    def _residents(self, most):
        """Return ids so that no update reads more than `most` bytes from storage.

        Beyond these, parameters that cost most a byte stay as far as there is room.
        """
        kept = {}
        for group in self.groups:
            over = sum(p.ram_bytes for p in group) - most
            for parameter in sorted(group, key=lambda p: p.ram_bytes, reverse=True):
                if over <= 0:
                    break
                smaller = [p for p in group if p.id not in kept and p.ram_bytes >= over]
                parameter = min(smaller, key=lambda p: p.ram_bytes, default=parameter)
                kept[parameter.id] = parameter.ram_bytes
                over -= parameter.ram_bytes
        room = self.budget.ram_bytes - operator_need(self.bare)[0] - most - sum(kept.values())
        for parameter in self.ranked:
            if parameter.id not in kept and parameter.ram_bytes <= room:
                room -= parameter.ram_bytes
                kept[parameter.id] = parameter.ram_bytes
        return tuple(sorted(kept))

    def _try(self, resident):
        """Solve one choice; return what its plans cost at least, infinity where none fits."""
        if resident in self.tried:
            return None
        self.tried.add(resident)
        paged = [p for p in self.parameters if p.id not in resident]
        try:
            graph = with_parameters(self.graph, self.parameters, resident)
            budget = paged_budget(self.budget, paged)
            answer = solve(graph, budget, gap=self.gap, **self.options)
        except PlanError as error:
            if not resident or self.failed is None:  # without residents the least RAM is needed
                self.failed = error
            return math.inf if getattr(error, "proven", True) else -math.inf
        if self.best is None or answer.energy < self.best[0].energy:
            self.best = answer, graph, budget, resident
        return answer.lower_bound

    def _bound(self, low, high):
        """Return joules that no choice can beat whose updates read at most so many bytes.

        Of the choices where one reads `low` to `high` bytes and none reads more.
        """
        kept = sum(max(0, sum(p.ram_bytes for p in group) - high) for group in self.groups)
        left = self.budget.ram_bytes - self.graph.resident_bytes - low
        if kept > left:
            return math.inf
        least = sum(p.least_energy for p in self.parameters)
        for parameter in self.ranked:
            share = min(1.0, left / parameter.ram_bytes) if parameter.ram_bytes else 1.0
            least -= share * parameter.least_energy
            left -= share * parameter.ram_bytes
        room = self.budget.ram_bytes - kept
        if room not in self._bare:
            self._bare[room] = self._bare_bound(room)
        return least + self._bare[room]

    def _bare_bound(self, room):
        """Return joules that the graph without its parameters costs at least in this RAM."""
        budget = replace(self.budget, ram_bytes=room)
        try:
            return solve(self.bare, budget, gap=self.gap, **self.options).lower_bound
        except PlanError as error:
            if getattr(error, "proven", False):
                return math.inf
            return sum(node.compute_energy for node in self.bare.nodes)
