# SPDX-License-Identifier: MIT
"""Algorithm 1 of the POET paper as its published code states it, in PuLP, faults included.

Kept as they are: a page-in is only seen in the next stage and its room is not counted; a node's
own output is not freed within a stage; the deadline counts compute time only; and Algorithm 2,
which turns the matrices into steps, frees a tensor right after its page-out. So the plan may
break the RAM limit or miss an input when it is executed: the verdict says so. With
``repaired`` page-outs stand at the start of their stage and page-ins at its end.

Rows are divided by the largest tensor and costs by the dearest: with bytes as coefficients CBC
calls feasible problems infeasible, and joules of small networks are below its tolerances.
"""

import time
from dataclasses import dataclass

from acclimate_host.poet.answer import Answer, Infeasible
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.graphs import GRADIENT
from acclimate_host.poet.held import GRACE_S, can_hold, held
from acclimate_host.poet.problem import PlanError
from acclimate_host.poet.pulp_solver import pick, require, run, variable


@dataclass(frozen=True)
class PaperAnswer:
    """status: "optimal", "feasible", "infeasible" or "no answer"; energy by the paper (J).

    verdict: the evaluator's on the plan, or None without a plan; deadline by compute time.
    """

    status: str
    energy: float | None
    plan: tuple
    verdict: object
    seconds: float
    matrices: dict


class _Program:
    """The matrices by the paper's names: R, S in RAM, S in storage, M in, M out, Free, U.

    as_published: rows in bytes and in the published order, costs in joules, and the loss read
    twice by the first gradient, so that CBC meets the very problem of the published code.
    """

    def __init__(self, graph, budget, paging, recompute, as_published):
        self.pulp = require()
        self.graph, self.budget = graph, budget
        self.count = count = len(graph.nodes)
        self.edges = _edges(graph, as_published)
        self.after = [sorted({v for u, v in self.edges if u == i}) for i in range(count)]
        largest = max(node.ram_bytes for node in graph.nodes) or 1
        self.unit = 1 if as_published else largest
        dearest = max(node.compute_energy for node in graph.nodes) or 1.0
        self.scale = 1.0 if as_published else 100.0 / dearest
        self.size = [node.ram_bytes / self.unit for node in graph.nodes]
        self.problem = self.pulp.LpProblem("poet", self.pulp.LpMinimize)
        self.R, self.S, self.A, self.I, self.O = (
            self._matrix(name, count) for name in ("R", "SRam", "SSd", "MIn", "MOut")
        )
        self.F = self._matrix("Free_E", len(self.edges))
        self._objective()
        self._shape(paging, recompute)
        self._correctness()
        self._memory()
        if budget.deadline is not None:
            self._deadline()

    def _matrix(self, name, width):
        return [
            [variable(self.problem, f"{name}_{t},{i}", None, None, "Binary") for i in range(width)]
            for t in range(self.count)
        ]

    def _sum(self, matrix, costs):
        return self.pulp.lpSum(
            matrix[t][i] * costs[i] for t in range(self.count) for i in range(self.count)
        )

    def _objective(self):
        nodes = self.graph.nodes
        parts = [(self.R, "compute_energy"), (self.I, "pagein_energy"), (self.O, "pageout_energy")]
        self.problem += self.pulp.lpSum(
            self._sum(m, [getattr(n, cost) * self.scale for n in nodes]) for m, cost in parts
        )

    def _shape(self, paging, recompute):
        """Triangles and the diagonal; what is switched off has an upper bound of 0."""
        count, total = self.count, self.pulp.lpSum
        for matrix, diagonal in ((self.R, 1), (self.S, 0), (self.A, 0), (self.I, 1), (self.O, 1)):
            self.problem += (
                total(matrix[t][i] for t in range(count) for i in range(t + diagonal, count)) == 0
            )
        self.problem += total(self.R[t][t] for t in range(count)) == count
        for t in range(count):
            for i in range(count):
                if not paging:
                    for matrix in (self.A, self.I, self.O):
                        matrix[t][i].upBound = 0
                if not recompute and i < t:
                    self.R[t][i].upBound = 0

    def _correctness(self):
        problem, count = self.problem, self.count
        for u, v in self.edges:
            for t in range(count):
                problem += self.R[t][v] <= self.R[t][u] + self.S[t][u]
        for t in range(count - 1):
            for i in range(count):
                problem += self.S[t + 1][i] <= self.S[t][i] + self.R[t][i] + self.I[t][i]
                problem += self.A[t + 1][i] <= self.A[t][i] + self.O[t][i]
        for t in range(count):
            for i in range(count):
                problem += self.I[t][i] <= self.A[t][i]
                problem += self.O[t][i] <= self.S[t][i]

    def _memory(self):
        pulp, problem, count = self.pulp, self.problem, self.count
        limit = (self.budget.ram_bytes - self.graph.resident_bytes) / self.unit
        U = [
            [variable(problem, f"U_{t},{k}", 0, limit) for k in range(count)] for t in range(count)
        ]
        for t in range(count):
            for e, (i, k) in enumerate(self.edges):
                later = [j for j in self.after[i] if j > k]
                kept = [self.S[t + 1][i]] if t + 1 < count else []
                hazards = 1 - self.R[t][k] + pulp.lpSum(kept + [self.R[t][j] for j in later])
                most = 1 + len(kept) + len(later)
                problem += 1 - self.F[t][e] <= hazards
                problem += most * (1 - self.F[t][e]) >= hazards
        for t in range(count):
            problem += U[t][0] == self.R[t][0] * self.size[0] + pulp.lpSum(
                self.S[t][i] * self.size[i] for i in range(count)
            )
        for t in range(count):
            for k in range(count - 1):
                freed = pulp.lpSum(
                    self.size[i] * self.F[t][e] for e, (i, to) in enumerate(self.edges) if to == k
                )
                problem += U[t][k + 1] == U[t][k] + self.R[t][k + 1] * self.size[k + 1] - freed

    def _deadline(self):
        scale = self.budget.deadline if self.unit > 1 else 1.0
        times = [node.compute_time / scale for node in self.graph.nodes]
        self.problem += self._sum(self.R, times) <= self.budget.deadline / scale


def _edges(graph, as_published):
    """(input, node) pairs, grouped by input in the order in which inputs are first read."""
    by_input = {}
    for v, node in enumerate(graph.nodes):
        deps = list(node.deps)
        if as_published and node.id.endswith(GRADIENT):
            if not any(dep.endswith(GRADIENT) for dep in deps):
                deps.append(deps[-1])  # the loss, as output and as gradient
        for dep in deps:
            by_input.setdefault(graph.index[dep], []).append(v)
    return [(u, v) for u, readers in by_input.items() for v in readers]


def solve_paper(
    graph,
    budget,
    paging=True,
    recompute=True,
    solver="highs",
    time_limit=None,
    repaired=False,
    as_published=False,
):
    """Return the PaperAnswer of Algorithm 1 (and 2); solver: highs, cbc or a PuLP name.

    as_published: unscaled, as the published code gives it to its solver. CBC then calls plans
    optimal that are not: the costs are smaller than its tolerances.
    """
    began = time.monotonic()
    backend = pick(solver, time_limit)
    paging = paging and budget.aux_bytes != 0
    program = _Program(graph, budget, paging, recompute, as_published)
    status = run(program.problem, backend, solver)
    seconds = time.monotonic() - began
    if status in ("infeasible", "no answer"):
        return PaperAnswer(status, None, (), None, seconds, {})
    matrices = {
        name: [[round(cell.value() or 0) for cell in row] for row in rows]
        for name, rows in (
            ("R", program.R),
            ("S", program.S),
            ("Min", program.I),
            ("Mout", program.O),
            ("Free", program.F),
        )
    }
    plan = _steps(graph, program.edges, matrices, repaired)
    verdict = evaluate(graph, budget, plan, "compute")
    energy = program.pulp.value(program.problem.objective) / program.scale
    return PaperAnswer(status, energy, plan, verdict, seconds, matrices)


def answer(graph, budget, solver="highs", time_limit=None):
    """Return the Answer of the paper's Algorithms 1 and 2, as ``solve`` returns ours.

    Executed, its plan may break the limits: its verdict says so. Raises Infeasible or PlanError.
    """

    def run():
        return solve_paper(graph, budget, solver=solver, time_limit=time_limit)

    if time_limit is not None and can_hold():  # the building of the problem, too
        found = held(run, time_limit + GRACE_S)
    else:
        found = run()
    if found is not None and found.status == "infeasible":
        raise Infeasible(f"Algorithm 1 has no plan for {budget.ram_bytes} bytes of RAM")
    if found is None or found.status == "no answer":
        raise PlanError(f"no plan found within {time_limit:g} s; give more time or RAM")
    done = found.status == "optimal"
    bound = found.energy if done else sum(node.compute_energy for node in graph.nodes)
    return Answer(
        found.plan,
        found.energy,
        bound,
        done,
        found.verdict,
        found.seconds,
        solver,
        "the paper's Algorithm 1",
        class_bound=bound,
        class_proven=done,
        ended="proof" if done else "time_limit",
    )


def _steps(graph, edges, m, repaired):
    """Algorithm 2: the matrices as steps."""
    ids = [node.id for node in graph.nodes]
    steps, here, stored = [], set(), set()

    def act(kind, i):
        steps.append((kind, ids[i]))
        {"free": here.discard, "pageout": stored.add}.get(kind, here.add)(i)

    for t in range(len(ids)):
        outs = [i for i, on in enumerate(m["Mout"][t]) if on and i not in stored]
        ins = [i for i, on in enumerate(m["Min"][t]) if on]
        for i in outs if repaired else ():
            act("pageout", i)  # in RAM when the stage begins, as the rows demand
        for k in range(len(ids)):
            if m["R"][t][k]:
                if k in here:
                    act("free", k)
                act("compute", k)
                for i in {i for e, (i, to) in enumerate(edges) if to == k and m["Free"][t][e]}:
                    if i in here:
                        act("free", i)
            if not repaired:
                _page(k, k in outs, k in ins, here, stored, act)
        kept = {i for i, on in enumerate(m["S"][t + 1]) if on} if t + 1 < len(ids) else set()
        for i in sorted(here - kept):
            act("free", i)
        if repaired:
            for i in ins:
                if i not in here:
                    act("pagein", i)
    return tuple(steps)


def _page(i, out, read, here, stored, act):
    if out and i in here:
        act("pageout", i)
        act("free", i)
    if read and i not in here and i in stored:
        act("pagein", i)
