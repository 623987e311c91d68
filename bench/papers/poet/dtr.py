# SPDX-License-Identifier: MIT
"""Kirisame et al. (ICLR 2021), dynamic tensor rematerialisation with the heuristic h_DTR.

Nothing is planned ahead. When an operator does not fit, the tensor with the least
(cost + cost of its evicted neighbourhood) / (bytes x staleness) goes; it is computed again when
it is needed. Costs and staleness are times. A tensor that the program no longer refers to goes
at once.
"""

from bench.papers.poet.tape import Stuck, Tape

_THRASHING = 60


def dtr(graph, budget, clock="serial"):
    """Plan that the method arrives at under this RAM limit; Stuck when it cannot go on."""
    run = _Run(graph, budget)
    for v in range(len(graph.nodes)):
        run.perform(v)
    return run.tape.plan()


class _Run:
    def __init__(self, graph, budget):
        self.tape = Tape(graph)
        self.nodes = graph.nodes
        self.room = budget.ram_bytes - graph.resident_bytes
        self.locks = [0] * len(graph.nodes)
        self.touched = [0.0] * len(graph.nodes)
        self.now = 0.0
        self.children = [[] for _ in graph.nodes]
        for v, deps in enumerate(self.tape.deps):
            for u in deps:
                self.children[u].append(v)

    def perform(self, v):
        """Compute v, its inputs recomputed where they were evicted."""
        if len(self.tape.steps) > _THRASHING * len(self.nodes):
            raise Stuck("it recomputes without end (thrashing)")
        tape, deps = self.tape, self.tape.deps[v]
        for u in deps:
            self.locks[u] += 1
        for u in deps:
            if u not in tape.here:
                self.perform(u)
        self._make_room(self.nodes[v].ram_bytes + self.nodes[v].workspace_bytes, v)
        tape.compute(v)
        self.room -= self.nodes[v].ram_bytes
        self.now += self.nodes[v].compute_time
        for u in (v, *deps):
            self.touched[u] = self.now
        for u in deps:
            self.locks[u] -= 1
        for u in (v, *deps):
            if u in tape.here and not tape.waiting[u] and not self.locks[u]:
                self._free(u)

    def _free(self, u):
        self.tape.free(u)
        self.room += self.nodes[u].ram_bytes

    def _make_room(self, need, v):
        while self.room < need:
            may = [
                u
                for u in self.tape.here
                if not self.locks[u] and self.nodes[u].recomputable and self.nodes[u].ram_bytes
            ]
            if not may:
                raise Stuck(f"no room for {self.nodes[v].id}: {need} bytes, {self.room} free")
            self._free(min(may, key=lambda u: (self._score(u), u)))

    def _score(self, u):
        cost = self.nodes[u].compute_time
        cost += sum(self.nodes[w].compute_time for w in self._neighbourhood(u))
        stale = max(self.now - self.touched[u], 1e-12)
        return cost / (self.nodes[u].ram_bytes * stale)

    def _neighbourhood(self, u):
        """Evicted tensors that u needs to come back, and those that need u to come back."""
        found = set()
        for links in (self.tape.deps, self.children):
            look = list(links[u])
            while look:
                w = look.pop()
                if w in found or w in self.tape.here or w not in self.tape.done:
                    continue
                if not self.nodes[w].recomputable:
                    continue
                found.add(w)
                look.extend(links[w])
        return found
