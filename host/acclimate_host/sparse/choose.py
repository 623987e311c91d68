# SPDX-License-Identifier: MIT
"""The scheme with the largest summed contribution whose training step fits an arena.

Exact: an integer program under a linear bound of the memory proposes; the compiler lays the
proposal out; one that does not fit is excluded together with all that add something to it. The
first that fits is the best of all, as the bound never excludes one that fits.
"""

import time
from dataclasses import dataclass

from ..errors import AcclimateError
from ..poet.highs import quiet
from ..poet.pulp_solver import cbc_path, require, variable
from .contribution import RATIOS, options, trainable
from .memory_bound import arena_bytes, bound
from .scheme import Scheme

_KIB = 1024.0


@dataclass(frozen=True)
class Choice:
    """A scheme, its summed contribution, its arena, and how it was found.

    `proven`: no scheme of the same options that fits has a larger sum.
    """

    method: str
    scheme: Scheme
    gain: float
    arena_bytes: int
    tried: int
    seconds: float
    proven: bool = False


class Memory:
    """Arena bytes of schemes, each laid out once."""

    def __init__(self, graph, step_options=None, tries=0):
        self.graph, self.options, self.tries = graph, step_options, tries
        self.known = {}

    def __call__(self, scheme):
        if scheme not in self.known:
            self.known[scheme] = arena_bytes(self.graph, scheme, self.options, self.tries)
        return self.known[scheme]

    def fits(self, scheme, budget_bytes, limit):
        """Say whether a scheme fits; one whose Bound `limit` is above is not laid out."""
        if scheme not in self.known and limit.of(scheme) > budget_bytes:
            return False
        return self(scheme) <= budget_bytes


def smallest(graph, memory, budget_bytes):
    """Return the classifier-only scheme, or raise where even that does not fit."""
    scheme = Scheme(0)
    if memory(scheme) > budget_bytes:
        raise AcclimateError(
            f"arena of {budget_bytes} bytes: training the classifier alone needs {memory(scheme)}"
        )
    return scheme


def exact(graph, contributions, budget_bytes, ratios=RATIOS, memory=None, limit=300):
    """Return the best Choice of an arena of `budget_bytes`.

    :param limit: how many proposals may turn out not to fit; then the best known that fits is
        returned, not proven
    :raises AcclimateError: where not even the classifier fits. Missing: PuLP
    """
    began, memory = time.monotonic(), memory or Memory(graph)
    best = smallest(graph, memory, budget_bytes)
    program = _Program(graph, contributions, budget_bytes, ratios, memory)
    for tried in range(1, limit + 1):
        scheme = program.solve()
        if scheme is None:
            break
        if memory(scheme) <= budget_bytes:
            return _choice("exact", scheme, contributions, memory, tried, began, True)
        program.exclude(scheme)
        reduced = _reduced(scheme, contributions, memory, budget_bytes)
        best = max(best, reduced, key=contributions.of)
    return _choice("exact", best, contributions, memory, limit, began, False)


def _choice(method, scheme, contributions, memory, tried, began, proven=False):
    return Choice(
        method,
        scheme,
        contributions.of(scheme),
        memory(scheme),
        tried,
        time.monotonic() - began,
        proven,
    )


def _reduced(scheme, contributions, memory, budget_bytes):
    """Drop channels, the least useful first, until a scheme fits."""
    while memory(scheme) > budget_bytes and scheme.channels:
        channels = sorted(scheme.channels, key=lambda c: contributions.weights[c])[1:]
        scheme = Scheme(scheme.bias_layers, tuple(sorted(channels)))
    return scheme if memory(scheme) <= budget_bytes else Scheme(0)


class _Program:
    """The integer program: how many biases, and which option of each layer."""

    def __init__(self, graph, contributions, budget_bytes, ratios, memory):
        self.pulp, self.count = require(), len(trainable(graph))
        limit = bound(graph, ratios, memory.options)
        model = self.model = self.pulp.LpProblem("scheme", self.pulp.LpMaximize)
        # reach[k]: at least k biases; has[layer, n]: at least n channels.
        self.reach = [variable(model, f"b{k}", kind="Binary") for k in range(1, self.count + 1)]
        self.has, self.order = {}, options(graph, ratios)
        for i, (layer, biases, counts) in enumerate(self.order):
            for count in counts:
                self.has[layer, count] = variable(model, f"w{i}_{count}", kind="Binary")
            for less, more in zip(counts, counts[1:], strict=False):
                model += self.has[layer, more] <= self.has[layer, less]
            model += self.has[layer, counts[0]] <= self.reach[biases - 1]
        for less, more in zip(self.reach, self.reach[1:], strict=False):
            model += more <= less
        model.setObjective(
            self._sum(lambda k: contributions.biases[k], lambda c: contributions.weights[c])
        )
        for t, fixed in enumerate(limit.fixed):
            used = self._sum(
                lambda k, t=t: limit.biases[k][t] / _KIB, lambda c, t=t: limit.weights[c][t] / _KIB
            )
            model += used <= (budget_bytes - fixed) / _KIB

    def _sum(self, of_biases, of_weights):
        """Return the sum as increments from one step of a ladder to the next."""
        parts = [
            (of_biases(k) - of_biases(k - 1)) * self.reach[k - 1] for k in range(1, self.count + 1)
        ]
        for layer, _, counts in self.order:
            before = 0.0
            for count in counts:
                value = of_weights((layer, count))
                parts.append((value - before) * self.has[layer, count])
                before = value
        return self.pulp.lpSum(parts) + of_biases(0)

    def solve(self):
        """Return the best scheme that is not excluded, or None."""
        with quiet():
            status = self.model.solve(_solver(self.pulp))
        if self.pulp.LpStatus[status] != "Optimal":
            return None
        biases = sum(round(v.value()) for v in self.reach)
        channels = []
        for layer, _, counts in self.order:
            taken = [count for count in counts if round(self.has[layer, count].value())]
            if taken:
                channels.append((layer, taken[-1]))
        return Scheme(biases, tuple(channels))

    def exclude(self, scheme):
        """Exclude a scheme, and all that add biases, layers or channels to it.

        But not where a layer then trains whole: it keeps its input itself and needs no copy
        of a part, which can make a step smaller.
        """
        whole = {layer: counts[-1] for layer, _, counts in self.order}
        kept = [1 - self.has[c] for c in scheme.channels]
        escape = [
            self.has[layer, whole[layer]] for layer, n in scheme.channels if n < whole[layer]
        ]
        if scheme.bias_layers:
            kept.append(1 - self.reach[scheme.bias_layers - 1])
        self.model += self.pulp.lpSum(kept) + self.pulp.lpSum(escape) >= 1


def _solver(pulp):
    """HiGHS where it is there; CBC calls some feasible problems infeasible, unless told not to
    simplify them first."""
    if "HiGHS" in pulp.listSolvers(onlyAvailable=True):
        return pulp.HiGHS(msg=False, output_flag=False)
    return pulp.COIN_CMD(path=cbc_path(), msg=False, presolve=False)


def last_layers_that_fit(graph, contributions, budget_bytes, ratios=RATIOS, memory=None):
    """Return the Choice that trains the last k layers whole, with the largest k that fits."""
    began, memory = time.monotonic(), memory or Memory(graph)
    best, tried = smallest(graph, memory, budget_bytes), 1
    names = [node.attrs["layer"] for node in trainable(graph)]
    whole = {layer: counts[-1] for layer, _, counts in options(graph, ratios)}
    for k in range(1, len(names) + 1):
        scheme = Scheme(k, tuple((layer, whole[layer]) for layer in names[-k:]))
        tried += 1
        if memory(scheme) > budget_bytes:
            break
        best = scheme
    return _choice("last layers", best, contributions, memory, tried, began)
