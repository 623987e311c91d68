# SPDX-License-Identifier: MIT
"""Path cuts: what a tensor that is needed later can come from.

Tensor v is read by the first computation of stage s. At the end of an earlier stage b, either v
is in RAM, or it is read back from storage in stages b+1..s, or it is computed again there; then
each of its inputs is in RAM at b, or read back in those stages, or computed again, and so on. So
along any path v = v0, v1, ..., vk of inputs

    sum over j of (r[vj] across the end of b + back[vj]) + sum of x[vk] in stages b+1..s >= 1

holds for every plan, where back[vj] is out[vj] or the sum of in[vj] in stages b+1..s. The former
makes short rows, which are looked for first; the latter can be less, and closes what they leave:
the relaxation gathers a tensor in many small shares, each with its own small share of the inputs,
read back once and held. The most violated path is a shortest path.
"""

import heapq
from bisect import bisect_right

VIOLATION = 1e-3


class _Events:
    """Columns of one kind of a tensor in the order of their stages, and sums of their values."""

    def __init__(self):
        self.stages, self.columns, self.sums = [], [], [0.0]

    def append(self, stage, column):
        """One more column, of a stage that is not before the last one's."""
        self.stages.append(stage)
        self.columns.append(column)

    def load(self, values):
        """Take the values of a solution."""
        self.sums = [0.0]
        for column in self.columns:
            self.sums.append(self.sums[-1] + values[column])

    def span(self, after, until):
        """(first, end) of the columns of the stages after+1..until."""
        return bisect_right(self.stages, after), bisect_right(self.stages, until)

    def total(self, span):
        """Sum of their values."""
        return self.sums[span[1]] - self.sums[span[0]]


class Separator:
    """Finds violated path cuts of one model."""

    def __init__(self, model):
        graph, at = model.graph, model.positions
        self.model = model
        self.reads = [sorted({graph.index[d] for d in node.deps}) for node in graph.nodes]
        self.made = getattr(model, "stage_of", range(len(graph.nodes)))
        self.uses = [[] for _ in graph.nodes]  # stages
        for c, reads in enumerate(self.reads):
            for i in reads:
                self.uses[i].append(self.made[c])
        self.again = [_Events() for _ in graph.nodes]
        self.back = [_Events() for _ in graph.nodes]
        for p, x in enumerate(model.x):
            if x is not None:
                self.again[at.node[p]].append(at.stage[p], x)
            for event in model.events[p]:
                if event.page_in is not None:
                    self.back[event.tensor].append(at.stage[p], event.page_in)
        self.known, self.short = set(), False

    def find(self, values, most, short=False):
        """Violated cuts as lists of columns whose sum is at least 1, worst first.

        short: only those with out in the place of the sums of in.
        """
        self.values, self.short = values, short
        for events in (*self.again, *self.back):
            events.load(values)
        found = []
        for b, staying in enumerate(self.model.staying[:-1]):
            for v in staying:
                s = next((c for c in self.uses[v] if c > b), None)
                if s is not None:
                    weight, columns = self._path(v, b, s, staying)
                    if weight < 1 - VIOLATION:
                        found.append((weight, columns))
        found.sort(key=lambda cut: cut[0])
        fresh = []
        for _, columns in found:
            key = tuple(columns)
            if key not in self.known and len(fresh) < most:
                self.known.add(key)
                fresh.append(columns)
        return fresh

    def _held(self, v, b, s, staying):
        """(weight, span): in RAM at b or back from storage; the span is None where out counts."""
        weight = self.values[staying[v]] if v in staying else 0.0
        if v not in self.model.out:
            return weight, None
        written = self.values[self.model.out[v]]
        if self.short:
            return weight + written, None
        span = self.back[v].span(b, s)
        read = self.back[v].total(span)
        return (weight + written, None) if written <= read + 1e-9 else (weight + read, span)

    def _columns(self, path, staying):
        for v, span in path:
            if v in staying:
                yield staying[v]
            if span is not None:
                yield from self.back[v].columns[slice(*span)]
            elif v in self.model.out:
                yield self.model.out[v]

    def _path(self, v, b, s, staying):
        """(weight, columns) of the lightest path from v, given up from weight 1 on."""
        best, end = 1.0, None
        weight, span = self._held(v, b, s, staying)
        queue, seen = [(weight, v, ((v, span),))], set()
        while queue:
            weight, u, path = heapq.heappop(queue)
            if weight >= best:
                break
            if u in seen:
                continue
            seen.add(u)
            first, last = again = self.again[u].span(b, s)
            total = weight + self.again[u].total(again)
            if total < best:
                best, end = total, (path, self.again[u].columns[first:last])
            if first == last:
                continue
            for w in self.reads[u]:
                if self.made[w] <= b and w not in seen:
                    more, span = self._held(w, b, s, staying)
                    if weight + more < best:
                        heapq.heappush(queue, (weight + more, w, (*path, (w, span))))
        if end is None:
            return best, []
        return best, [*self._columns(end[0], staying), *end[1]]
