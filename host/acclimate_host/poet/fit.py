# SPDX-License-Identifier: MIT
"""A training program that fits a board's RAM: plan, join, lay out, and plan again if need be."""

from dataclasses import dataclass, replace

from ..compile.encode import encode
from ..compile.scheduled import plain_step, with_schedule
from .answer import Infeasible
from .problem import Budget, PlanError
from .solve import solve
from .step_graph import step_graph

_ROUNDS = 6


@dataclass(frozen=True)
class Fitted:
    """program: as acclimate_host.compile.encode makes it, its arena within the budget.

    page_bytes: bytes of each page, by number. plain_bytes: arena of the same step without a
    plan. added_bytes: code that the plan adds.
    """

    program: object
    answer: object
    graph: object
    page_bytes: tuple
    plain_bytes: int
    added_bytes: int

    def store_blocks(self, block_bytes, header_bytes=32):
        """Blocks of a page store that a step writes (see acclimate.pager.core)."""
        return sum(-(-(size + header_bytes) // block_bytes) for size in self.page_bytes)


def fit(network, scheme, ram_bytes, profile="m4", optimizer="plain", budget=None, **options):
    """Return the Fitted training program of a network for an arena of `ram_bytes`.

    :param budget: Budget with the other limits; its RAM is replaced
    :param options: of acclimate_host.poet.solve.solve
    :raises PlanError, Infeasible: no plan, with the smallest RAM that has one
    """
    step = plain_step(network.graph, scheme)
    found = step_graph(step, network, profile, optimizer)
    plain = encode(step, network, optimizer)
    budget = replace(budget or Budget(ram_bytes), ram_bytes=ram_bytes)
    tried, arena = ram_bytes, None
    for _ in range(_ROUNDS):
        try:
            answer = solve(found.graph, budget, **options)
        except Infeasible as error:
            if arena is None:
                raise
            least = error.smallest_ram
            if least is None or least >= tried:
                break
            # less than the smallest is no plan, but the smallest one may still pack
            budget = replace(budget, ram_bytes=least)
            continue
        scheduled = with_schedule(step, found, answer.plan)
        program = encode(scheduled, network, optimizer, ram_bytes)
        if program.arena_bytes <= ram_bytes:
            return _fitted(found.graph, answer, program, plain)
        # Buffers that live at once do not always pack without holes: another plan, with less.
        arena = min(arena or program.arena_bytes, program.arena_bytes)
        tried = min(budget.ram_bytes, answer.verdict.peak_ram)
        budget = replace(budget, ram_bytes=tried - (program.arena_bytes - ram_bytes))
    raise PlanError(
        f"no layout fits {ram_bytes} bytes of RAM though a plan does; "
        f"give {arena - ram_bytes} more"
    )


def _fitted(graph, answer, program, plain):
    pages = [name for kind, name in answer.plan if kind == "pageout"]
    sizes = tuple(graph.nodes[graph.index[name]].ram_bytes for name in pages)
    added = program.code_bytes - plain.code_bytes
    return Fitted(program, answer, graph, sizes, plain.arena_bytes, added)
