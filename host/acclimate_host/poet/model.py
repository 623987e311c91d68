# SPDX-License-Identifier: MIT
"""The default formulation as a mixed-integer program in arrays, independent of any solver.

Variables (all 0 or 1 but the running memory):

- x[p]: position p computes (first computations are constants);
- r[i, k]: tensor i stays in RAM from its k-th event to the next one; its events are the
  positions that compute it or read it, so freeing it there loses nothing;
- in[i, p]: tensor i is read back from storage just before position p, which reads it;
- out[i]: tensor i is written to storage, right after its first computation;
- m[p]: bytes that stay after position p, in units of the largest tensor.

A position that computes needs each input (r before it, or in); RAM holds while it runs what
stays from before, what is read back, the output and the workspace. Around first computations
the same limit stands once more over binaries only, rounded down to a sum of sizes that can be
reached: it gives the solver's cuts something to work on.
"""

from dataclasses import dataclass, field

from .column_values import plan_of, values_of
from .positions import pageable
from .subsets import reachable

INFINITY = float("inf")


@dataclass
class Program:
    """Columns (cost, low, high, integer) and rows (low, high, columns, coefficients).

    chain: number of the tensor whose stay in RAM a row hands on from event to event, else -1.
    """

    cost: list = field(default_factory=list)
    low: list = field(default_factory=list)
    high: list = field(default_factory=list)
    integer: list = field(default_factory=list)
    row_low: list = field(default_factory=list)
    row_high: list = field(default_factory=list)
    row_start: list = field(default_factory=lambda: [0])
    chain: list = field(default_factory=list)
    column: list = field(default_factory=list)
    value: list = field(default_factory=list)
    offset: float = 0.0

    def variable(self, cost=0.0, low=0.0, high=1.0, integer=True):
        """Append a column and return its number."""
        self.cost.append(cost)
        self.low.append(low)
        self.high.append(high)
        self.integer.append(integer)
        return len(self.cost) - 1

    def row(self, terms, low=-INFINITY, high=INFINITY, chain=-1):
        """Append low <= sum of (column, coefficient) <= high."""
        for column, value in terms:
            self.column.append(column)
            self.value.append(value)
        self.row_start.append(len(self.column))
        self.row_low.append(low)
        self.row_high.append(high)
        self.chain.append(chain)

    def keep_rows(self, count):
        """Drop all rows but the first ones."""
        end = self.row_start[count]
        del self.column[end:], self.value[end:], self.row_start[count + 1 :]
        del self.row_low[count:], self.row_high[count:], self.chain[count:]

    def terms(self, number):
        """(column, coefficient) pairs of a row."""
        span = slice(self.row_start[number], self.row_start[number + 1])
        return list(zip(self.column[span], self.value[span], strict=True))


@dataclass
class Event:
    """A tensor at a position: columns of r before and after, and of in (None: there is none)."""

    tensor: int
    before: int | None
    after: int | None
    page_in: int | None


@dataclass
class Model:
    """Program, and what its columns mean: x, events and memory per position, out per tensor.

    staying: for each stage, tensor -> column of r that holds across its end.
    """

    graph: object
    budget: object
    positions: object
    program: Program
    x: list
    events: list
    out: dict
    memory: list
    unit: int
    staying: list

    def plan_of(self, values):
        """The plan that the values of the columns describe."""
        return plan_of(self, values)

    def values_of(self, plan):
        """Column values of a plan, or None where the positions cannot express it."""
        return values_of(self, plan)


class _Builder:
    def __init__(self, graph, budget, space, positions, smallest=False):
        self.graph, self.budget, self.space, self.at = graph, budget, space, positions
        self.program = Program()
        self.reads = [sorted({graph.index[d] for d in node.deps}) for node in graph.nodes]
        self.unit = max(max(n.ram_bytes, n.workspace_bytes, 1) for n in graph.nodes)
        self.room = budget.ram_bytes - graph.resident_bytes
        self.left = [0] * len(graph.nodes)
        for v in positions.node:
            self.left[v] += 1
            for i in self.reads[v]:
                self.left[i] += 1
        self.gap = {}
        self.size = [node.ram_bytes / self.unit for node in graph.nodes]
        self.x, self.events, self.time, self.stored = [], [], [], []
        self.out, self.kept, self.staying = {}, [], []
        self.memory = None
        # Looking for the smallest RAM: a column in the place of the limit, and the only cost.
        self.wanted = self.program.variable(1.0, 0.0, INFINITY, False) if smallest else None

    def build(self):
        """Return the Model."""
        for i, node in enumerate(self.graph.nodes):
            if pageable(self.graph, self.budget, self.space, i) and self.left[i] > 1:
                self.out[i] = self.program.variable(node.pageout_energy)
        for p in range(len(self.at.node)):
            self._position(p)
        self._limits()
        if self.wanted is not None:
            self.program.cost[1:] = [0.0] * (len(self.program.cost) - 1)
            self.program.offset = 0.0
        return Model(
            self.graph,
            self.budget,
            self.at,
            self.program,
            self.x,
            self.events,
            self.out,
            self.kept,
            self.unit,
            self.staying,
        )

    def _position(self, p):
        v, first = self.at.node[p], self.at.first[p]
        node, program = self.graph.nodes[v], self.program
        if first:
            x = None
            program.offset += node.compute_energy
        else:
            x = program.variable(node.compute_energy)
            self.time.append((x, node.compute_time))
        self.x.append(x)
        before = list(self.gap.items())
        events = [self._read(i, p, x) for i in self.reads[v]]
        events.append(self._make(v, x))
        self.events.append(events)
        self._memory(p, x, before, events)
        if first:
            self.staying.append(dict(self.gap))

    def _read(self, i, p, x):
        node, program = self.graph.nodes[i], self.program
        before = self.gap[i]
        page_in = None
        if i in self.out:
            page_in = program.variable(node.pagein_energy)
            self.time.append((page_in, node.pagein_time))
            self.stored.append((page_in, i))
            program.row([(page_in, 1), (self.out[i], -1)], high=0)
        here = [(before, 1)] + ([(page_in, 1)] if page_in is not None else [])
        if x is None:
            program.row(here, 1, 1)
        else:
            program.row([*here, (x, -1)], low=0)
            if page_in is not None:
                program.row(here, high=1)
                program.row([(page_in, 1), (x, -1)], high=0)
        after = self._stay(i)
        if after is not None and x is not None:
            program.row([(after, 1), *((c, -k) for c, k in here)], high=0, chain=i)
        return Event(i, before, after, page_in)

    def _make(self, v, x):
        program = self.program
        before = self.gap.get(v)
        after = self._stay(v)
        if x is not None:
            program.row([(before, 1), (x, 1)], high=1)
            if after is not None:
                program.row([(after, 1), (before, -1), (x, -1)], high=0, chain=v)
                program.row([(after, 1), (x, -1)], low=0)
        return Event(v, before, after, None)

    def _stay(self, i):
        """Column of r after this event of tensor i, or None after its last."""
        self.left[i] -= 1
        if self.left[i] == 0:
            self.gap.pop(i, None)
            return None
        self.gap[i] = self.program.variable()
        return self.gap[i]

    def _memory(self, p, x, before, events):
        program, size = self.program, self.size
        v = self.at.node[p]
        need = size[v] + self.graph.nodes[v].workspace_bytes / self.unit
        brought = [(e.page_in, size[e.tensor]) for e in events if e.page_in is not None]
        if x is None and self.wanted is None:
            self._at_first(v, before, events)
        terms = [(self.memory, 1)] if self.memory is not None else []
        terms += brought + ([(x, need)] if x is not None else [])
        constant = need if x is None else 0.0
        limit = max(self.room / self.unit, 0.0)
        if self.wanted is not None:
            program.row([*terms, (self.wanted, -1)], high=-constant)
            limit = INFINITY
        elif terms:
            program.row(terms, high=limit - constant)
        memory = program.variable(0.0, 0.0, limit, integer=False)
        self.kept.append(memory)
        change = [(memory, 1)] + ([(self.memory, -1)] if self.memory is not None else [])
        for event in events:
            if event.after is not None:
                change.append((event.after, -size[event.tensor]))
            if event.before is not None:
                change.append((event.before, size[event.tensor]))
        program.row(change, 0, 0)
        self.memory = memory

    def _at_first(self, v, before, events):
        """The limit around a first computation in whole bytes: inputs and output are there."""
        nodes = self.graph.nodes
        needed = {e.tensor for e in events}
        rest = [(c, nodes[i].ram_bytes) for i, c in before if i not in needed]
        rest = [(c, b) for c, b in rest if b]
        free = self.room - nodes[v].workspace_bytes - sum(nodes[i].ram_bytes for i in needed)
        if free < 0:
            self.program.row([], low=1)  # never: the operator alone does not fit
        elif rest and sum(b for _, b in rest) > free:
            most = reachable([b for _, b in rest], free)
            scale = min(b for _, b in rest)
            self.program.row([(c, b / scale) for c, b in rest], high=most / scale)

    def _limits(self):
        budget, nodes = self.budget, self.graph.nodes
        written = [(column, nodes[i].ram_bytes) for i, column in self.out.items()]
        if budget.aux_bytes is not None and written:
            self.program.row(
                [(c, b / self.unit) for c, b in written], high=budget.aux_bytes / self.unit
            )
        if budget.erase_budget is not None and budget.erase_block_bytes and written:
            self.program.row(
                [(c, -(-b // budget.erase_block_bytes)) for c, b in written],
                high=budget.erase_budget,
            )
        if budget.deadline is not None:
            self._deadline()

    def _deadline(self):
        nodes = self.graph.nodes
        steady = sum(node.compute_time for node in nodes)
        paging = [(c, nodes[i].pageout_time) for i, c in self.out.items()]
        paging += [(c, nodes[i].pagein_time) for c, i in self.stored]
        stored = {c for c, _ in self.stored}
        compute = [(c, t) for c, t in self.time if c not in stored]
        scale = max(self.budget.deadline, 1e-30)
        left = (self.budget.deadline - steady) / scale * (1 + 1e-12)
        if self.space.clock == "serial":
            self.program.row([(c, t / scale) for c, t in compute + paging], high=left)
            return
        share = self.space.share
        counted = compute + ([(c, t * share) for c, t in paging] if share else [])
        self.program.row([(c, t / scale) for c, t in counted], high=left)
        if self.space.clock == "overlapped":
            self.program.row([(c, t / scale) for c, t in paging], high=1)


def build(graph, budget, space, positions, smallest=False):
    """Model of the default formulation over the given positions.

    smallest: minimise the RAM instead of the energy; column 0 is it, in units of model.unit
    and without the resident bytes.
    """
    return _Builder(graph, budget, space, positions, smallest).build()


def exact_rows(model, values):
    """Rows (terms, high) that whole values break where they break the RAM limit by some bytes.

    A solver's tolerance is larger than a byte of a large RAM: it then gets a cover of the
    position, tensors that do not fit together, which no tolerance hides.
    """
    nodes, at = model.graph.nodes, model.positions
    room, staying, rows = model.budget.ram_bytes - model.graph.resident_bytes, {}, []
    for p, v in enumerate(at.node):
        x, events = model.x[p], model.events[p]
        if x is None or values[x] > 0.5:
            need = nodes[v].ram_bytes + nodes[v].workspace_bytes
            held = [(c, nodes[i].ram_bytes) for i, c in staying.items() if values[c] > 0.5]
            held += [
                (event.page_in, nodes[event.tensor].ram_bytes)
                for event in events
                if event.page_in is not None and values[event.page_in] > 0.5
            ]
            if need + sum(size for _, size in held) > room:
                columns = [c for c, size in held if size] + ([] if x is None else [x])
                rows.append(([(c, 1.0) for c in columns], len(columns) - 1.0))
        for event in events:
            if event.after is None:
                staying.pop(event.tensor, None)
            else:
                staying[event.tensor] = event.after
    return rows
