# SPDX-License-Identifier: MIT
"""Chooses, layer by layer, how a program is made: the fewest instructions within an arena.

    found = choose(network, scheme, ram_bytes=60_000)
    found.program, found.instructions, found.proven

What is chosen: whether a convolution hands its channels to the depthwise layer behind it (and how
many at once), whether it adds a residual, whether a depthwise layer writes over its input, and
in how many patches how many first layers run. Each choice changes the instructions and the
bytes that live at a node by amounts that do not depend on the other choices, so that the best
of all is a small integer program. Its optimum is a bound: where buffers that live at once do
not pack without holes, the program found may be above it, and `gap` says by how much.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from ..model.graph import GraphError
from .choice_problem import Arrays, Infeasible, Problem
from .choice_space import fronts_of
from .cost_model import CostModel
from .encode import encode, place
from .step import Options, before_fusion, finish

_GAIN = 0.995  # of the instructions of the point before, at most
_STEP = 0.985  # from one point of the table to the next
_POINTS = 40


@dataclass(frozen=True)
class Chosen:
    """A program and what the cost model says of it.

    `arena_bytes` and `instructions` as predicted for the step (or the prediction); `bound`:
    fewer instructions has no choice within the arena; `table`: the points (arena, instructions)
    of which none beats another, smallest arena first.
    """

    program: object
    step: object
    instructions: int
    bound: int
    table: tuple = ()

    @property
    def arena_bytes(self):
        return self.program.arena_bytes

    @property
    def gap(self):
        """How far the instructions may be above the fewest possible, as a share."""
        return self.instructions / self.bound - 1 if self.bound else 0.0

    @property
    def proven(self):
        """Whether no choice has fewer instructions within the arena that was asked for."""
        return self.gap < 1e-6


class TooSmall(GraphError):
    """No choice fits; `smallest` is the least arena found."""

    def __init__(self, text, smallest):
        super().__init__(text)
        self.smallest = smallest


def choose(network, scheme=None, ram_bytes=None, optimizer="plain", core="m4f", options=None):
    """Return the Chosen program of a network with the fewest instructions within an arena.

    :param scheme: what trains; None: nothing, the program only predicts
    :param ram_bytes: most bytes of the arena; None: the knee of the table of both
    :param core: whose instructions count, "m4f" or "m0"
    :param options: Options that hold for all choices (`input_in_arena`)
    :raises TooSmall: when no choice fits
    """
    maker = _Maker(network, scheme, optimizer, core, options or Options())
    if ram_bytes is not None:
        return maker.within(ram_bytes)
    table = maker.table()
    return replace(maker.within(knee(table)[0]), table=tuple(table))


def knee(points):
    """Return the point furthest below the line between the ends, both axes as shares.

    >>> knee([(10, 100), (20, 20), (100, 10)])
    (20, 20)
    """
    (x0, y0), (x1, y1) = points[0], points[-1]
    if len(points) < 3 or x0 == x1:
        return points[-1] if y1 < 0.9 * y0 and x1 < 1.25 * x0 else points[0]

    def below(point):
        return (point[0] - x0) / (x1 - x0) + (point[1] - y1) / (y0 - y1)

    return min(points, key=below)


def described(step):
    """Return one line that says what a Step fuses, patches and writes in place."""
    parts = []
    for node in step.graph.nodes:
        if node.op == "patches":
            grid, last = node.attrs["grid"], node.attrs["steps"][-1].attrs["layer"]
            parts.append(f"{grid}x{grid} patches up to {last}")
            parts += [_fused(inner) for inner in node.attrs["steps"] if "planes" in inner.attrs]
        elif "planes" in node.attrs:
            parts.append(_fused(node))
        elif node.op == "conv_add":
            parts.append(f"{node.attrs['layer']} adds")
    return "chosen: " + (", ".join(parts) or "every layer for itself")


def _fused(node):
    first, second = (attrs["layer"] for attrs in node.attrs["steps"])
    return f"{first} with {second} ({node.attrs['planes']} channels)"


class _Maker:
    def __init__(self, network, scheme, optimizer, core, options):
        self.network, self.optimizer, self.options = network, optimizer, options
        self.graph = before_fusion(network.graph, scheme, options)
        self.model = CostModel.load(core)
        self.training = scheme is not None
        self._fronts = fronts_of(
            self.graph, network, optimizer, self.model, options, self.training
        )
        self.whole = Problem([next(self._fronts)])
        self._made = {}

    @cached_property
    def problem(self):
        """The Problem of all fronts; `whole` is that of whole tensors alone."""
        return Problem([*self.whole.fronts, *map(Arrays, self._fronts)])

    def step(self, choice, tries=400):
        return finish(self.graph, replace(self.options, choice=choice), tries)

    def arena(self, choice):
        """Return the arena of a choice's program, all work areas included."""
        key = repr(choice)
        if key not in self._made:
            self._made[key] = place(
                self.step(choice, None), self.network, self.optimizer
            ).layout.size_bytes
        return self._made[key]

    def fitting(self, ram):
        """Return (solution of the first budget whose layout fits, bound)."""
        found = self.whole.solve()
        if found.live <= ram and self.arena(found.choice) <= ram:
            return found, found.cost  # patches only add to it
        budget, bound = ram, None
        while True:
            try:
                found = self.problem.solve(budget)
            except Infeasible:
                least = self.smallest()
                text = f"no choice fits an arena of {ram} bytes; the smallest found has {least}"
                raise TooSmall(text, least) from None
            bound = found.bound if bound is None else bound
            arena = self.arena(found.choice)
            if arena <= ram:
                return found, bound
            budget = min(budget, found.live) - max(4, (arena - ram) // 2)

    def smallest(self):
        """Return the least arena found: fewest live bytes need not have the tightest layout."""
        return min(arena for arena, _ in self._points())

    def within(self, ram):
        found, bound = self.fitting(ram)
        step = self.step(found.choice)
        program = encode(step, self.network, self.optimizer)
        count = self.model.total(program, self.training)
        return Chosen(program, step, count, round(bound + count - found.cost))

    def table(self):
        """Return points (arena, instructions) of which none beats another."""
        best = []
        for point in sorted(self._points()):
            if not best or point[1] < _GAIN * best[-1][1]:
                best.append(point)
        return best

    def _points(self):
        """Return (arena, instructions) of budgets from all that is wanted to the least."""
        found, budget, least = [], None, self.problem.least()
        for _ in range(_POINTS):
            try:
                solution = self.problem.solve(budget)
            except Infeasible:
                break
            found.append((self.arena(solution.choice), round(solution.cost)))
            if solution.live <= least:
                break
            budget = max(least, min(solution.live - 4, int(solution.live * _STEP)))
        return found
