# SPDX-License-Identifier: MIT
"""A plan in the making: what is in RAM, what is stored, and who still waits for what.

Nodes are numbers (positions in the graph). The tape knows no RAM limit; the evaluator judges
the finished plan.
"""


class Stuck(Exception):
    """The method has no plan for this graph and budget; the text says why in one line."""


class Tape:
    """Records steps; waiting[v]: the first computations to come that read v."""

    def __init__(self, graph):
        self.graph = graph
        self.nodes = graph.nodes
        self.deps = [tuple(dict.fromkeys(graph.index[d] for d in n.deps)) for n in graph.nodes]
        self.waiting = [set() for _ in graph.nodes]
        for v, deps in enumerate(self.deps):
            for u in deps:
                self.waiting[u].add(v)
        self.here, self.stored, self.done = set(), set(), set()
        self.pinned = set()
        self.steps = []

    def plan(self):
        """The steps so far, with node ids."""
        return tuple((kind, self.nodes[v].id) for kind, v in self.steps)

    def compute(self, v):
        """Compute v, whose inputs are in RAM."""
        if v in self.done and not self.nodes[v].recomputable:
            raise Stuck(f"{self.nodes[v].id} is needed again but may not be computed again")
        self.steps.append(("compute", v))
        self.here.add(v)
        self.done.add(v)
        for u in self.deps[v]:
            self.waiting[u].discard(v)

    def free(self, v):
        """Drop v from RAM."""
        self.steps.append(("free", v))
        self.here.remove(v)

    def store(self, v):
        """Write v to storage, unless a copy is there."""
        if v not in self.stored:
            self.steps.append(("pageout", v))
            self.stored.add(v)

    def load(self, v):
        """Read v back."""
        self.steps.append(("pagein", v))
        self.here.add(v)

    def missing(self, targets):
        """Nodes to bring back, in order, so that all targets are in RAM."""
        found, look = set(), list(targets)
        while look:
            v = look.pop()
            if v in self.here or v in found:
                continue
            found.add(v)
            if v not in self.stored:
                look.extend(self.deps[v])
        return sorted(found)

    def fetch(self, targets, retain=True):
        """Bring targets into RAM. What was computed only for them goes at once.

        retain: of that, keep what a first computation still waits for.
        """
        targets = set(targets)
        order = self.missing(targets)
        readers = {v: 0 for v in order}
        for v in order:
            for u in self.deps[v] if v not in self.stored else ():
                if u in readers:
                    readers[u] += 1
        for v in order:
            if v in self.stored:
                self.load(v)
                continue
            self.compute(v)
            for u in self.deps[v]:
                if u not in readers:
                    continue
                readers[u] -= 1
                idle = u not in targets and not readers[u]
                if idle and not (retain and self.waiting[u]):
                    self.free(u)

    def first(self, v, retain=True):
        """Compute v for the first time, its inputs fetched before."""
        self.fetch(self.deps[v], retain)
        self.compute(v)

    def sweep(self, done_with=lambda v: False):
        """Free what no first computation waits for, and what done_with(v) names.

        What is pinned stays.
        """
        for v in sorted(self.here - self.pinned):
            if not self.waiting[v] or done_with(v):
                self.free(v)
