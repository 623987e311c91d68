# SPDX-License-Identifier: MIT
"""Randomised greedy plans: a first plan within seconds, and a start for the exact search.

Walks the nodes in order. When room is needed, the tensor goes that is cheap to bring back for
its bytes and its distance to the next first computation that reads it:
min(recomputing its missing ancestors, what is left of the round trip)^a / (bytes^b x distance^c),
with exponents drawn anew for each try. It is written to storage where that is the cheaper way.
"""

import random
import time

from .positions import Space, pageable


class _Walk:
    def __init__(self, graph, budget, space, draw):
        self.nodes, self.budget, self.space = graph.nodes, budget, space
        self.reads = draw.reads
        self.uses = draw.uses
        self.may_page = draw.may_page
        self.a, self.b, self.c, self.noise, self.rng = draw.exponents
        self.here, self.stored, self.done = set(), set(), set()
        self.used = graph.resident_bytes
        self.steps = []
        self.stage = 0

    def run(self):
        """Steps, or None when no room could be made."""
        for t in range(len(self.nodes)):
            self.stage = t
            if not self.compute(t, frozenset(), 0):
                return None
        return [(kind, self.nodes[i].id) for kind, i in self.steps]

    def compute(self, v, guard, depth):
        """Compute v; the tensors in guard must stay."""
        if depth > 60:
            return False
        guard = guard | frozenset(self.reads[v])
        for i in self.reads[v]:
            if i not in self.here and not self.fetch(i, guard, depth):
                return False
        node = self.nodes[v]
        if not all(i in self.here for i in self.reads[v]):
            return False
        if not self.make_room(node.ram_bytes + node.workspace_bytes, guard):
            return False
        self.steps.append(("compute", v))
        self.here.add(v)
        self.done.add(v)
        self.used += node.ram_bytes
        self.drop_dead(guard | {v} if depth else frozenset({v}))
        return True

    def fetch(self, i, guard, depth):
        """Bring tensor i back into RAM."""
        node = self.nodes[i]
        again = self.recompute_cost(i) if self.may_recompute(i) else float("inf")
        if i in self.stored and node.pagein_energy <= again:
            if not self.make_room(node.ram_bytes, guard):
                return False
            self.steps.append(("pagein", i))
            self.here.add(i)
            self.used += node.ram_bytes
            return True
        if not self.may_recompute(i):
            return False
        return self.compute(i, guard, depth + 1)

    def may_recompute(self, i):
        """Whether node i may be computed a second time."""
        return self.space.recompute and self.nodes[i].recomputable

    def recompute_cost(self, i):
        """Energy to make tensor i from what is in RAM or storage."""
        if i in self.here:
            return 0.0
        missing, todo = {i}, [i]
        while todo:
            v = todo.pop()
            if self.may_recompute(v):
                new = [j for j in self.reads[v] if j not in self.here and j not in missing]
                missing.update(new)
                todo += new
        cost = {}
        for v in sorted(missing):  # what a node reads comes before it
            cost[v] = float("inf")
            if self.may_recompute(v):
                cost[v] = self.nodes[v].compute_energy
                cost[v] += sum(self.back_cost(j, cost) for j in self.reads[v])
        return cost[i]

    def back_cost(self, i, cost):
        """Energy to have tensor i in RAM again; cost: of making what is not there."""
        if i in self.here:
            return 0.0
        return min(cost[i], self.nodes[i].pagein_energy) if i in self.stored else cost[i]

    def next_use(self, i):
        """Stage of the next first computation that reads tensor i, or None."""
        for use in self.uses[i]:
            if use >= self.stage and use not in self.done:
                return use
        return None

    def make_room(self, size, guard):
        """Evict until size bytes fit."""
        while self.used + size > self.budget.ram_bytes:
            victim = self.victim(guard)
            if victim is None:
                return False
            i, page = victim
            if page:
                self.steps.append(("pageout", i))
                self.stored.add(i)
            self.steps.append(("free", i))
            self.here.discard(i)
            self.used -= self.nodes[i].ram_bytes
        return True

    def victim(self, guard):
        """(tensor, whether it is written first) with the lowest score."""
        best = None
        for i in self.here:
            size = self.nodes[i].ram_bytes
            if i in guard or not size:
                continue
            use = self.next_use(i)
            cost, page = (0.0, False) if use is None else self.eviction(i)
            if cost == float("inf"):
                continue
            score = 0.0
            if use is not None:
                distance = use - self.stage + 1
                score = (cost + 1e-30) ** self.a / (size**self.b * distance**self.c)
                score *= 1 + self.noise * self.rng.random()
            if best is None or score < best[0]:
                best = (score, i, page)
        return best and best[1:]

    def eviction(self, i):
        """(energy to bring tensor i back, whether it must be written for that)."""
        node = self.nodes[i]
        self.here.discard(i)
        again = self.recompute_cost(i)
        self.here.add(i)
        if i in self.stored:
            return min(again, node.pagein_energy), False
        paged = float("inf")
        if self.may_page[i] and self.store_takes(i):
            paged = node.pagein_energy + node.pageout_energy
        return (paged, True) if paged < again else (again, False)

    def store_takes(self, i):
        """Whether tensor i fits into storage and its erase budget beside what is there."""
        budget, sizes = self.budget, [self.nodes[j].ram_bytes for j in (*self.stored, i)]
        if budget.aux_bytes is not None and sum(sizes) > budget.aux_bytes:
            return False
        if budget.erase_budget is None or not budget.erase_block_bytes:
            return True
        return sum(-(-n // budget.erase_block_bytes) for n in sizes) <= budget.erase_budget

    def drop_dead(self, guard):
        """Free what no later first computation can need, itself or as an ancestor."""
        for i in [i for i in self.here if i not in guard and not self.wanted(i)]:
            self.steps.append(("free", i))
            self.here.discard(i)
            self.used -= self.nodes[i].ram_bytes

    def wanted(self, i):
        """Whether tensor i is read later, or by something that may have to be made again."""
        seen, todo = {i}, [i]
        while todo:
            v = todo.pop()
            if self.next_use(v) is not None:
                return True
            new = [
                j
                for j in self.uses[v]
                if j not in seen
                and j in self.done
                and j not in self.here
                and self.may_recompute(j)
            ]
            seen.update(new)
            todo += new
        return False


class _Draw:
    def __init__(self, graph, budget, space, seed):
        self.reads = [sorted({graph.index[d] for d in node.deps}) for node in graph.nodes]
        self.uses = [[] for _ in graph.nodes]
        for c, reads in enumerate(self.reads):
            for i in reads:
                self.uses[i].append(c)
        self.may_page = [pageable(graph, budget, space, i) for i in range(len(graph.nodes))]
        self.rng = random.Random(seed)
        self.exponents = (1.0, 1.0, 1.0, 0.0, self.rng)

    def again(self):
        """Draw other exponents."""
        draw = self.rng.uniform
        self.exponents = (
            draw(0.2, 1.6),
            draw(0.2, 1.8),
            draw(0.0, 2.5),
            self.rng.choice((0.0, 0.1, 0.5)),
            self.rng,
        )


def plans(graph, budget, space=None, tries=300, seconds=5.0, seed=0):
    """Yield greedy plans (lists of steps); they still have to be judged and tidied."""
    space = space or Space()
    draw = _Draw(graph, budget, space, seed)
    until = time.monotonic() + seconds
    for _ in range(tries):
        steps = _Walk(graph, budget, space, draw).run()
        if steps is not None:
            yield steps
        if time.monotonic() > until:
            return
        draw.again()
