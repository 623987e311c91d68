# SPDX-License-Identifier: MIT
"""Parameters and optimizer state in storage: read for their uses, written back once changed.

A parameter lives from step to step. Resident, it takes its bytes of RAM all the time. Paged, it
is a node without inputs: to compute it is to read it, as often as a plan likes, and the node that
changes it pays for writing it back. So any solver and the evaluator take such graphs as they are.

Which parameters stay resident is searched over the bytes that they take together. For any choice
of `b` bytes the rest of the graph has `b` bytes less, and what is paged is read and written once
at least: both together are a bound for all choices between two amounts.

>>> from .problem import Budget, Graph, Node
>>> made = (("y", (), 4), ("z", ("y",), 12), ("g", ("z",), 4), ("u", ("g",), 0))
>>> graph = Graph(tuple(Node(name, deps, size, 0, 1.0) for name, deps, size in made))
>>> weight = Parameter("w", 8, ("y",), "u", 0.5, 0.1, 0.5, 0.1)
>>> [plan_parameters(graph, [weight], Budget(ram)).answer.energy for ram in (24, 16)]
[4.0, 5.5]
"""

import heapq
import math
from dataclasses import dataclass, replace
from itertools import combinations

from .answer import Infeasible
from .graphs import GRADIENT, UPDATE
from .problem import Graph, Node, PlanError
from .smallest import operator_need
from .solve import GAP, solve

STATE = ".state"
PARAMETERS = ".parameters"
_TRIES = 12


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

    answer: object
    graph: Graph
    budget: object
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
    """Best-first search over how many bytes of parameters stay in RAM."""

    def __init__(self, graph, parameters, budget, gap, options):
        # no choice lets a node run again that reads a changed parameter
        names = tuple(p.id for p in parameters)
        bare = with_parameters(graph, parameters, names)
        self.bare = replace(bare, resident_bytes=graph.resident_bytes)
        self.graph, self.parameters, self.budget = graph, parameters, budget
        self.gap, self.options = gap, options
        self.best, self.tried, self.failed = None, set(), None
        # those that cost most a byte stay first
        self.ranked = sorted(
            parameters, key=lambda p: -p.least_energy / p.ram_bytes if p.ram_bytes else -math.inf
        )

    def run(self, tries):
        """Return the Paged: of all choices where they are few, else of the best-first search."""
        if 1 << len(self.parameters) <= tries:
            return self._found(min(map(self._try, self._choices())))
        return self._searched(tries)

    def _choices(self):
        names = [p.id for p in self.parameters]
        return [c for n in range(len(names) + 1) for c in combinations(names, n)]

    def _searched(self, tries):
        most = min(self.budget.ram_bytes, sum(p.ram_bytes for p in self.parameters))
        need = operator_need(with_parameters(self.graph, self.parameters))[0]
        for room in (0, most, max(0, self.budget.ram_bytes - need)):
            self._try(self._residents(room))
        heap = [(self._bound(0, most), 0, most)]
        while len(self.tried) < tries and not self._is_closed(heap[0][0]):
            _, low, high = heap[0]
            if low == high:
                break
            heapq.heappop(heap)
            middle = (low + high) // 2
            self._try(self._residents(middle))
            for part in ((low, middle), (middle + 1, high)):
                heapq.heappush(heap, (self._bound(*part), *part))
        return self._found(heap[0][0])

    def _found(self, bound):
        if self.best is None:
            raise self.failed
        answer, graph, budget, resident = self.best
        bound = min(bound, answer.energy)
        proven = answer.energy - bound <= self.gap * abs(answer.energy)
        return Paged(answer, graph, budget, resident, bound, proven)

    def _is_closed(self, bound):
        return self.best is not None and bound >= self.best[0].energy * (1 - self.gap)

    def _residents(self, room):
        """Return ids of parameters that fit `room` bytes, those first that cost most a byte."""
        kept = []
        for parameter in self.ranked:
            if parameter.ram_bytes <= room:
                room -= parameter.ram_bytes
                kept.append(parameter.id)
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
            self.failed = error
            return math.inf if getattr(error, "proven", True) else -math.inf
        if self.best is None or answer.energy < self.best[0].energy:
            self.best = answer, graph, budget, resident
        return answer.lower_bound

    def _bound(self, low, high):
        """Return joules that no choice of `low` to `high` resident bytes can beat."""
        left = high
        least = sum(p.least_energy for p in self.parameters)
        for parameter in self.ranked:
            share = min(1.0, left / parameter.ram_bytes) if parameter.ram_bytes else 1.0
            least -= share * parameter.least_energy
            left -= share * parameter.ram_bytes
        room = self.budget.ram_bytes - low
        try:
            rest = solve(
                self.bare, replace(self.budget, ram_bytes=room), gap=self.gap, **self.options
            )
        except Infeasible as error:
            if error.proven:
                return math.inf
            return least + sum(node.compute_energy for node in self.bare.nodes)
        except PlanError:
            return least + sum(node.compute_energy for node in self.bare.nodes)
        return least + rest.lower_bound
