# SPDX-License-Identifier: MIT
"""The stage relaxation: a program whose optimum is a bound for every plan in the given order.

Stage t ends with the first computation of node t. Nothing is said about the order inside a stage
or about how often a node runs there, so the bound holds for all plans, not for a class of them:

- x[v, t]: node v is computed again in stage t (at least once);
- in[i, t]: tensor i is read back in stage t (at least once);
- out[i]: tensor i is written to storage;
- r[i, t]: tensor i is in RAM when stage t has ended;
- twice[i, t]: tensor i is brought into RAM twice in stage t, in one way (for the RAM cuts).

What every plan obeys: an input was there at the end of the stage before, is read back, or is
computed again; so is what stays after the stage; the RAM limit holds while node t is computed
for the first time, in whole bytes. While node v is computed again in stage t, the tensors that
are there before and after, and neither read back nor computed in between, are there as well.

Large graphs get fewer stages, each of which ends with one of several first computations: what
was first made within a stage is free there, so the bound still holds, and is lower.
"""

from dataclasses import dataclass, field

from .model import Event, Program
from .positions import Positions, pageable
from .stage_plans import realised, stage_values
from .subsets import reachable

MOST_COLUMNS = 40_000  # about; of a program that still gives a bound in minutes


@dataclass
class StageModel:
    """Program, and what its columns mean; positions, x and events as a Model has them.

    stage_of: the stage in which each node is first computed; ends: the node that ends each stage.
    staying[t]: tensor -> column of r at the end of stage t. again, back, twice: (node, stage) ->
    column.
    """

    graph: object
    budget: object
    program: Program
    ends: list
    stage_of: list
    positions: object = None
    x: list = field(default_factory=list)
    events: list = field(default_factory=list)
    out: dict = field(default_factory=dict)
    staying: list = field(default_factory=list)
    again: dict = field(default_factory=dict)
    back: dict = field(default_factory=dict)
    twice: dict = field(default_factory=dict)

    def plans(self, values):
        """Plans that the values may describe, tidied; none where stages were joined."""
        return realised(self, values) if len(self.ends) == len(self.graph.nodes) else ()

    def values_of(self, plan):
        """Column values of a plan, or None."""
        if len(self.ends) < len(self.graph.nodes):
            return None
        return stage_values(self, plan)


class _Builder:
    def __init__(self, graph, budget, space, positions, ends):
        self.space, self.reads = space, [{graph.index[d] for d in n.deps} for n in graph.nodes]
        self.room = budget.ram_bytes - graph.resident_bytes
        starts = [0, *(end + 1 for end in ends)]
        sizes = [end - start + 1 for start, end in zip(starts, ends, strict=False)]
        stage_of = [t for t, size in enumerate(sizes) for _ in range(size)]
        self.model = StageModel(graph, budget, Program(), ends, stage_of)
        self.recomputed = [{} for _ in ends]
        self.last = list(stage_of)
        for v, at, first in zip(positions.node, positions.stage, positions.first, strict=True):
            t = stage_of[at]
            if not first and stage_of[v] < t:
                self.recomputed[t][v] = None
            for i in self.reads[v]:
                self.last[i] = max(self.last[i], t)

    def build(self, watch):
        """The StageModel, or None when the watch ends first."""
        model, order = self.model, []
        nodes, program = model.graph.nodes, model.program
        program.offset = sum(node.compute_energy for node in nodes)
        for i, node in enumerate(nodes):
            if pageable(model.graph, model.budget, self.space, i):
                if self.last[i] > model.stage_of[i]:
                    model.out[i] = program.variable(node.pageout_energy)
        for t, end in enumerate(model.ends):
            if watch is not None and not watch.left():
                return None
            events = self._stage(t, end)
            for v in self.recomputed[t]:
                model.x.append(model.again[v, t])
                model.events.append([])
                order.append((v, t, False))
            model.x.append(None)
            model.events.append(events)
            order.append((end, t, True))
        self._limits()
        model.positions = Positions(*map(tuple, zip(*order, strict=True)))
        return model

    def _stage(self, t, end):
        model, program = self.model, self.model.program
        nodes, first = model.graph.nodes, model.ends[t - 1] + 1 if t else 0
        made = range(first, end + 1)
        before = model.staying[-1] if t else {}
        again = {v: program.variable(nodes[v].compute_energy) for v in self.recomputed[t]}
        model.again.update({(v, t): column for v, column in again.items()})
        needed = {i for v in made for i in self.reads[v] if i < first}
        readers = {i: [] for i in needed}
        for v in again:
            for i in self.reads[v]:
                if i < first:
                    readers.setdefault(i, []).append(v)
        sources, events = self._sources(t, before, again, needed, readers)
        for i in sorted(needed):
            program.row(sources(i), low=1)
        for v in again:
            for i in sorted(self.reads[v]):
                if i < first:
                    program.row([*sources(i), (again[v], -1)], low=0)
        after = {}
        for i in range(end + 1):
            if self.last[i] > t and (i >= first or sources(i)):
                after[i] = program.variable()
                if i < first:
                    program.row([(after[i], 1), *((c, -k) for c, k in sources(i))], high=0)
        model.staying.append(after)
        for i in sorted({*again, *readers}):
            ways = [nodes[i].compute_energy] if i in again else []
            ways += [nodes[i].pagein_energy] if (i, t) in model.back else []
            if ways and (i in after or i in needed):
                model.twice[i, t] = program.variable(min(ways))
        self._memory(end, after)
        return events

    def _sources(self, t, before, again, needed, readers):
        """(terms of where tensor i can come from in stage t, events with the page-ins)."""
        model, program, events = self.model, self.model.program, []
        for i in sorted(readers):
            if i in model.out:
                column = program.variable(model.graph.nodes[i].pagein_energy)
                model.back[i, t] = column
                program.row([(column, 1), (model.out[i], -1)], high=0)
                events.append(Event(i, None, None, column))
                if i not in needed:
                    program.row([(column, 1), *((again[v], -1) for v in readers[i])], high=0)

        def sources(i):
            columns = (before.get(i), again.get(i), model.back.get((i, t)))
            return [(column, 1) for column in columns if column is not None]

        return sources, events

    def _memory(self, v, after):
        nodes, program = self.model.graph.nodes, self.model.program
        needed = {*self.reads[v], v}
        rest = [(c, nodes[i].ram_bytes) for i, c in after.items() if i not in needed]
        rest = [(c, b) for c, b in rest if b]
        free = self.room - nodes[v].workspace_bytes - sum(nodes[i].ram_bytes for i in needed)
        if free < 0:
            program.row([], low=1)
        elif rest and sum(b for _, b in rest) > free:
            most = reachable([b for _, b in rest], free)
            scale = min(b for _, b in rest)
            program.row([(c, b / scale) for c, b in rest], high=most / scale)

    def _limits(self):
        budget, nodes = self.model.budget, self.model.graph.nodes
        program = self.model.program
        written = [(c, nodes[i].ram_bytes) for i, c in self.model.out.items()]
        if budget.aux_bytes is not None and written:
            unit = max(max(b for _, b in written), 1)
            program.row([(c, b / unit) for c, b in written], high=budget.aux_bytes / unit)
        if budget.erase_budget is not None and budget.erase_block_bytes and written:
            block = budget.erase_block_bytes
            program.row([(c, -(-b // block)) for c, b in written], high=budget.erase_budget)
        if budget.deadline is not None:
            self._deadline()

    def _deadline(self):
        model, nodes = self.model, self.model.graph.nodes
        limit = model.budget.deadline
        scale = max(limit, 1e-30)
        left = (limit - sum(node.compute_time for node in nodes)) / scale + 1e-9
        compute = [(c, nodes[v].compute_time / scale) for (v, _), c in model.again.items()]
        paging = [(c, nodes[i].pageout_time / scale) for i, c in model.out.items()]
        paging += [(c, nodes[i].pagein_time / scale) for (i, _), c in model.back.items()]
        if self.space.clock == "serial":
            model.program.row(compute + paging, high=left)
            return
        model.program.row(compute, high=left)
        if self.space.clock == "overlapped":
            model.program.row(paging, high=1 + 1e-9)


def stage_model(graph, budget, space, positions, watch=None, most=MOST_COLUMNS):
    """StageModel over the nodes that the positions compute again; None when the watch ends."""
    ends = _ends(graph, len(positions.node), most)
    return _Builder(graph, budget, space, positions, ends).build(watch)


def _ends(graph, positions, most):
    """Nodes that end the stages: all, or of some that follow each other the fullest."""
    count = len(graph.nodes)
    joined = max(1, round(3.5 * positions / most + 0.2))
    if joined == 1:
        return list(range(count))
    last = list(range(count))
    for c, node in enumerate(graph.nodes):
        for dep in node.deps:
            last[graph.index[dep]] = c
    change = [0] * (count + 1)
    for i, node in enumerate(graph.nodes):
        change[i] += node.ram_bytes
        change[last[i] + 1] -= node.ram_bytes
    held, full = 0, []
    for i, node in enumerate(graph.nodes):
        held += change[i]
        full.append(held + node.workspace_bytes)
    starts = range(0, count - 1, joined)
    ends = {max(range(s, min(s + joined, count - 1)), key=full.__getitem__) for s in starts}
    return sorted({*ends, count - 1})
