# SPDX-License-Identifier: MIT
"""Path cuts: what a tensor that is needed later can come from.

Tensor v is read by the first computation of stage s. At the end of an earlier stage b, either v
is in RAM, or it is in storage (so it was written), or it is computed again in between; then each
of its inputs is in RAM or in storage at b or computed again in between, and so on. So along any
path v = v0, v1, ..., vk of inputs

    sum over j of (r[vj] across the end of b + out[vj]) + sum of x[vk] in stages b+1..s >= 1

holds for every plan, while the relaxation gathers a tensor in many small shares, each with its
own small share of the inputs. The most violated path is a shortest path.
"""

import heapq

VIOLATION = 1e-3


class Separator:
    """Finds violated path cuts of one model."""

    def __init__(self, model):
        graph, at = model.graph, model.positions
        self.model = model
        self.reads = [sorted({graph.index[d] for d in node.deps}) for node in graph.nodes]
        self.uses = [[] for _ in graph.nodes]
        for c, reads in enumerate(self.reads):
            for i in reads:
                self.uses[i].append(c)
        self.again = [[] for _ in graph.nodes]  # (stage, column) of each recomputation
        for p, x in enumerate(model.x):
            if x is not None:
                self.again[at.node[p]].append((at.stage[p], x))
        self.known = set()

    def find(self, values, most):
        """Violated cuts as lists of columns whose sum is at least 1, worst first."""
        self.values = values
        found = []
        for b, staying in enumerate(self.model.staying[:-1]):
            for v in staying:
                s = next((c for c in self.uses[v] if c > b), None)
                if s is None:
                    continue
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

    def _held(self, v, staying):
        columns = [staying[v]] if v in staying else []
        if v in self.model.out:
            columns.append(self.model.out[v])
        return sum(self.values[c] for c in columns), columns

    def _path(self, v, b, s, staying):
        """(weight, columns) of the lightest path from v, given up from weight 1 on."""
        best, best_columns = 1.0, ()
        weight, columns = self._held(v, staying)
        queue, seen = [(weight, v, tuple(columns))], set()
        while queue:
            weight, u, columns = heapq.heappop(queue)
            if weight >= best:
                break
            if u in seen:
                continue
            seen.add(u)
            again = [x for stage, x in self.again[u] if b < stage <= s]
            total = weight + sum(self.values[x] for x in again)
            if total < best:
                best, best_columns = total, (*columns, *again)
            if not again:
                continue
            for w in self.reads[u]:
                if w <= b and w not in seen:
                    more, held = self._held(w, staying)
                    if weight + more < best:
                        heapq.heappush(queue, (weight + more, w, (*columns, *held)))
        return best, list(best_columns)
