# SPDX-License-Identifier: MIT
"""The default formulation against the judge: a plan meets all rows exactly where it is valid."""

import random
from dataclasses import replace

import numpy as np
import pytest

from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.model import INFINITY, Program, build, exact_rows
from acclimate_host.poet.positions import Space, positions
from acclimate_host.poet.problem import Budget, Graph, Node

GRAPH = Graph(
    (
        Node("a", (), 40, 3, 1.0, 0.5, 2.0, 0.25, 3.0, 0.125),
        Node("b", ("a",), 32, 8, 2.0, 0.75, 1.5, 0.5, 2.5, 1.0),
        Node("c", ("b",), 48, 5, 3.0, 1.0, 1.25, 0.25, 0.5, 0.5, recomputable=False),
        Node("d", ("a", "c"), 16, 0, 4.0, 1.5, 0.5, 0.125, 0.25, 0.25, pageable=False),
        Node("e", ("b", "d"), 8, 16, 5.0, 2.0, 0.75, 0.5, 0.5, 0.25),
        Node("f", ("a", "c", "e"), 24, 0, 1.0, 0.5, 4.0, 0.5, 2.0, 0.5),
        Node("g", ("b", "d", "f"), 8, 4, 2.0, 0.25),
    ),
    resident_bytes=100,
)
ROOMY = Budget(100_000, erase_block_bytes=20)
CLOCKS = ("serial", "compute")


def model_of(budget=ROOMY, graph=GRAPH, space=None, smallest=False):
    space = space or Space(rounds=2)
    # Positions for all plans, whatever the budget lets an optimal one leave out.
    every = positions(graph, replace(ROOMY, aux_bytes=10_000), space)
    return build(graph, budget, space, every, smallest)


# ---- every assignment of a small model ---------------------------------------------------------

A = Node("a", (), 3, 1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
B = Node("b", ("a",), 5, 2, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
C = Node("c", ("a", "b"), 4, 0, 1.0, 1.0)
SMALL = {
    "both read": Graph((A, B, C), 10),
    "chain": Graph((A, B, replace(C, deps=("b",)), Node("d", ("a", "c"), 2)), 10),
    "kept once": Graph((replace(A, recomputable=False), B, C, Node("d", ("b", "c"), 7)), 10),
    "made again": Graph((A, replace(B, recomputable=False), C), 10),
    "larger workspace": Graph((A, replace(B, workspace_bytes=9), C), 10),
}
PAGING = Space(recompute=False)
CASES = [
    (name, space)
    for name, space in (
        ("both read", Space()),
        ("chain", PAGING),
        ("made again", Space(paging=False, rounds=2)),
        ("kept once", PAGING),
        ("kept once", Space(paging=False)),
        ("made again", Space()),
        ("larger workspace", PAGING),
    )
]


class Every:
    """All assignments of the whole columns of a model, one a row, and what each means."""

    def __init__(self, model):
        self.model = model
        whole = [c for c, is_whole in enumerate(model.program.integer) if is_whole]
        assert len(whole) <= 16, len(whole)
        count = 1 << len(whole)
        self.values = np.zeros((count, len(model.program.cost)))
        for bit, column in enumerate(whole):
            self.values[:, column] = np.arange(count) >> bit & 1
        self.size = [node.ram_bytes for node in model.graph.nodes]

    def column(self, number):
        """The values of a column; None: it is not there, and 0."""
        return np.zeros(len(self.values)) if number is None else self.values[:, number]

    def is_a_plan(self):
        """What the head of `model.py` says of x, r, in and out."""
        good = np.ones(len(self.values), bool)
        for p, events in enumerate(self.model.events):
            x = self.model.x[p]
            runs = np.ones(len(good), bool) if x is None else self.column(x) == 1
            for event in events[:-1]:
                held, read = self.column(event.before) == 1, self.column(event.page_in) == 1
                good &= ~runs | held | read  # an input is there,
                good &= ~(held & read)  # read back only where it is not,
                good &= ~read | runs  # for this operator,
                if event.page_in is not None:
                    good &= ~read | (self.column(self.model.out[event.tensor]) == 1)
                good &= (self.column(event.after) == 0) | held | read  # and stays if it was
            made = events[-1]
            held, after = self.column(made.before) == 1, self.column(made.after) == 1
            if x is not None:
                good &= ~(runs & held)  # nothing is made that is there
                good &= ~after | held | runs
                good &= ~runs | after  # or made for nothing
        return good

    def needs(self):
        """Most bytes at once, and bytes that stay after each position."""
        staying, most, stays, open_ = 0.0, 0.0, [], {}
        nodes = self.model.graph.nodes
        for p, events in enumerate(self.model.events):
            x, node = self.model.x[p], nodes[self.model.positions.node[p]]
            runs = 1.0 if x is None else self.column(x)
            read = sum(self.column(e.page_in) * self.size[e.tensor] for e in events)
            most = np.maximum(
                most, staying + read + runs * (node.ram_bytes + node.workspace_bytes)
            )
            for event in events:
                open_[event.tensor] = self.column(event.after) * self.size[event.tensor]
            staying = sum(open_.values())
            stays.append(staying)
        return np.maximum(most, np.max(stays, axis=0)), stays

    def meets(self):
        """Which assignments meet all rows, with the memory that follows from them."""
        for column, staying in zip(self.model.memory, self.needs()[1], strict=True):
            self.values[:, column] = staying / self.model.unit
        program = self.model.program
        rows = np.zeros((len(program.row_low), len(program.cost)))
        for number in range(len(rows)):
            for column, value in program.terms(number):
                rows[number, column] += value

        def within(low, values, high):
            low, high = np.array(low) - 1e-9, np.array(high) + 1e-9
            return np.all((low <= values) & (values <= high), axis=1)

        good = within(program.row_low, self.values @ rows.T, program.row_high)
        return good & within(program.low, self.values, program.high)


@pytest.mark.parametrize(("name", "space"), CASES)
def test_of_all_assignments_those_meet_the_rows_that_mean_a_plan(name, space):
    graph = SMALL[name]
    budget = Budget(1000, aux_bytes=1000)
    at = positions(graph, budget, space)
    every = Every(build(graph, budget, space, at))
    plans, needs = every.is_a_plan(), every.needs()[0]
    assert plans.any() and not plans.all()
    limits = sorted({int(need) for need in needs[plans]})
    for room in [limits[0] - 1, limits[0], *limits[1::3], 900]:
        tight = Budget(room + graph.resident_bytes, aux_bytes=1000)
        limited = Every(build(graph, tight, space, at))
        wanted = plans & (needs <= room)
        assert (limited.meets() == wanted).all(), room
        assert wanted.any() == (room >= limits[0])


@pytest.mark.parametrize(("name", "space"), CASES[:4])
def test_rows_of_a_broken_ram_limit_cut_off_what_breaks_it_and_nothing_else(name, space):
    graph, budget = SMALL[name], Budget(1000, aux_bytes=1000)
    at = positions(graph, budget, space)
    every = Every(build(graph, budget, space, at))
    plans, needs = every.is_a_plan(), every.needs()[0]
    for room in sorted({int(need) for need in needs[plans]})[:3]:
        model = build(graph, Budget(room + graph.resident_bytes, aux_bytes=1000), space, at)
        fits, cut = plans & (needs <= room), set()
        for k in np.flatnonzero(plans):
            rows = exact_rows(model, every.values[k])
            assert bool(rows) == (needs[k] > room), (room, k)
            for terms, high in rows:
                assert sum(every.values[k][c] * v for c, v in terms) > high
                cut.add((tuple(terms), high))
        for terms, high in cut:
            total = sum(every.values[fits][:, c] * v for c, v in terms)
            assert (total <= high).all()


def test_no_row_is_written_that_says_nothing():
    graph, space = SMALL["both read"], Space()
    at = positions(graph, Budget(1000, aux_bytes=1000), space)

    def rows(budget, smallest=False, space=space):
        program = build(graph, budget, space, at, smallest).program
        return [program.terms(number) for number in range(len(program.row_low))]

    roomy = len(rows(Budget(1000)))
    # where all tensors fit together there is no second limit around first computations
    least = sum(node.ram_bytes + node.workspace_bytes for node in graph.nodes) + 10
    assert len(rows(Budget(least))) == roomy
    # nor where the RAM is what is asked for
    assert len(rows(Budget(10), True)) == len(rows(Budget(1000), True))
    # a limit of what is stored is one row each
    assert len(rows(Budget(1000, aux_bytes=100))) == roomy + 1
    assert len(rows(Budget(1000, erase_budget=9))) == roomy  # of no erase blocks
    assert len(rows(Budget(1000, erase_budget=9, erase_block_bytes=4))) == roomy + 1
    # of the paging that runs beside the computing nothing is in its row
    for share, columns in ((0.0, 3), (0.5, 3 + 2 + 4)):
        both = rows(Budget(1000, deadline=9.0), space=Space(clock="overlapped", share=share))
        assert len(both) == roomy + 2 and len(both[-2]) == columns


# ---- plans of a larger one ---------------------------------------------------------------------


def walk(draw):
    """A valid plan without limits: it pages and computes again at random."""
    plan, ram, stored, done = [], set(), set(), set()

    def need(name, keep):
        if name in ram:
            return
        node = GRAPH.nodes[GRAPH.index[name]]
        again = node.recomputable or name not in done
        if name in stored and (not again or draw.random() < 0.5):
            plan.append(("pagein", name))
            ram.add(name)
            return
        for dep in node.deps:
            need(dep, keep | {name})
        plan.append(("compute", name))
        done.add(name)
        ram.add(name)
        for other in sorted(ram):
            tensor = GRAPH.nodes[GRAPH.index[other]]
            if tensor.pageable and other not in stored and draw.random() < 0.3:
                plan.append(("pageout", other))
                stored.add(other)
            safe = other in stored or tensor.recomputable
            if other not in keep and other != name and safe and draw.random() < 0.4:
                plan.append(("free", other))
                ram.discard(other)

    for node in GRAPH.nodes:
        if node.id not in done:
            need(node.id, set(node.deps))
    return tuple(plan)


@pytest.fixture(scope="module")
def plans():
    """Distinct plans in the form that the columns describe, with what each costs."""
    draw, model, found = random.Random(5), model_of(), {}
    for _ in range(600):
        plan = walk(draw)
        if not evaluate(GRAPH, ROOMY, plan).valid:
            continue
        values = model.values_of(plan)
        if values is not None and meets(model, values):
            plan = model.plan_of(values)
            if model.values_of(plan) is not None:
                found[plan] = evaluate(GRAPH, ROOMY, plan)
    assert len(found) > 60 and all(verdict.valid for verdict in found.values())
    return dict(list(found.items())[:40])


def meets(model, values):
    program = model.program
    for number in range(len(program.row_low)):
        total = sum(values[column] * value for column, value in program.terms(number))
        if not program.row_low[number] - 1e-9 <= total <= program.row_high[number] + 1e-9:
            return False
    columns = zip(values, program.low, program.high, strict=True)
    return all(low - 1e-9 <= value <= high + 1e-9 for value, low, high in columns)


def cost(model, values):
    paid = zip(model.program.cost, values, strict=True)
    return model.program.offset + sum(cost * value for cost, value in paid)


def test_the_cost_of_a_plan_is_its_energy(plans):
    model = model_of()
    assert len({verdict.energy for verdict in plans.values()}) > 20
    for plan, verdict in plans.items():
        assert cost(model, model.values_of(plan)) == pytest.approx(verdict.energy, abs=1e-12)


LIMITS = {
    "ram_bytes": lambda verdict: verdict.peak_ram,
    "aux_bytes": lambda verdict: verdict.written_bytes,
    "erase_budget": lambda verdict: verdict.erased_blocks,
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_lets_through_what_just_meets_it_and_nothing_above(plans, name):
    needed = {plan: LIMITS[name](verdict) for plan, verdict in plans.items()}
    assert len(set(needed.values())) > 3
    for least in sorted(set(needed.values()) | {0})[::3]:
        for limit in {least, max(least - 1, 0)}:
            budget = replace(ROOMY, **{name: limit})
            model, judged = model_of(budget), []
            for plan, need in needed.items():
                values = model.values_of(plan)
                passes = values is not None and meets(model, values)
                assert passes == (need <= limit), (limit, need, plan)
                judged.append(passes)


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_deadline_lets_through_what_just_meets_it_and_nothing_above(plans, clock):
    times = {plan: getattr(verdict, clock + "_time") for plan, verdict in plans.items()}
    assert len(set(times.values())) > 3
    for least in sorted(set(times.values()))[::6]:
        for deadline in (least, least * (1 - 1e-6)):
            model = model_of(replace(ROOMY, deadline=deadline), space=Space(rounds=2, clock=clock))
            for plan, time in times.items():
                assert meets(model, model.values_of(plan)) == (time <= deadline), (deadline, plan)


def test_overlapped_paging_alone_and_its_share_meet_the_deadline(plans):
    for share in (0.0, 0.5, 1.0):
        space = Space(rounds=2, clock="overlapped", share=share)
        for deadline in (6.5, 7.5, 8.5, 10.0):
            model = model_of(replace(ROOMY, deadline=deadline), space=space)
            for plan, verdict in plans.items():
                paging = verdict.serial_time - verdict.compute_time
                both = verdict.compute_time + share * paging
                assert meets(model, model.values_of(plan)) == (
                    both <= deadline + 1e-9 and paging <= deadline + 1e-9
                )


def test_long_paging_beside_short_computing_misses_an_overlapped_deadline():
    slow = [replace(node, pageout_time=9.0, pagein_time=9.0) for node in GRAPH.nodes]
    graph = replace(GRAPH, nodes=tuple(slow))
    model = model_of(Budget(100_000, deadline=17.0), graph, Space(rounds=2, clock="overlapped"))
    plan = (
        ("compute", "a"),
        ("compute", "b"),
        ("pageout", "b"),
        ("compute", "c"),
        ("free", "b"),
        ("compute", "d"),
        ("pagein", "b"),
        ("compute", "e"),
        ("compute", "f"),
        ("compute", "g"),
    )
    values = model.values_of(plan)
    assert values is not None and not meets(model, values)
    longer = model_of(Budget(100_000, deadline=18.0), graph, Space(rounds=2, clock="overlapped"))
    assert meets(longer, longer.values_of(plan))


def test_the_smallest_ram_is_the_only_cost_and_no_less_is_enough(plans):
    model = model_of(smallest=True)
    program = model.program
    assert program.cost == [1.0] + [0.0] * (len(program.cost) - 1) and program.offset == 0.0
    assert program.integer[0] is False and program.high[0] == INFINITY
    for plan, verdict in plans.items():
        values = model.values_of(plan)
        values[0] = (verdict.peak_ram - GRAPH.resident_bytes) / model.unit
        assert meets(model, values) and cost(model, values) == values[0]
        values[0] -= 0.5 / model.unit
        assert not meets(model, values), plan


def flips(values, model):
    """The values with one whole column changed, each in turn."""
    for column, whole in enumerate(model.program.integer):
        if whole:
            changed = list(values)
            changed[column] = 1.0 - changed[column]
            yield column, changed


def test_columns_that_describe_no_plan_break_a_row(plans):
    """A page-in needs its copy, a tensor that stays must have been there."""
    model = model_of()
    pageins = {e.page_in: e.tensor for events in model.events for e in events if e.page_in}
    stays = {e.after: e for events in model.events for e in events if e.after is not None}
    draw = random.Random(1)
    for plan in draw.sample(list(plans), 12):
        values = model.values_of(plan)
        for column, changed in flips(values, model):
            if column in pageins and changed[column] == 1.0:
                stored = changed[model.out[pageins[column]]] == 1.0
                assert stored or not meets(model, changed)
            if column in stays and changed[column] == 1.0:
                event = stays[column]
                there = event.before is not None and changed[event.before] == 1.0
                made = any(
                    changed[model.x[p]] == 1.0 if model.x[p] is not None else True
                    for p, events in enumerate(model.events)
                    if events[-1] is event
                )
                paged = event.page_in is not None and changed[event.page_in] == 1.0
                assert there or made or paged or not meets(model, changed)


def test_an_operator_that_does_not_fit_alone_makes_the_program_infeasible():
    need = 0
    for node in GRAPH.nodes:
        inputs = sum(GRAPH.nodes[GRAPH.index[name]].ram_bytes for name in node.deps)
        need = max(need, node.ram_bytes + node.workspace_bytes + inputs)
    for room, fits in ((need, True), (need - 1, False)):
        program = model_of(Budget(GRAPH.resident_bytes + room)).program
        never = [
            number
            for number in range(len(program.row_low))
            if not program.terms(number) and program.row_low[number] > 0
        ]
        assert bool(never) != fits


def test_a_program_is_arrays_of_columns_and_rows():
    program = Program()
    assert program.variable() == 0 and program.variable(2.0, -1.0, 5.0, False) == 1
    assert (program.cost, program.low, program.high) == ([0.0, 2.0], [0.0, -1.0], [1.0, 5.0])
    assert program.integer == [True, False] and program.offset == 0.0
    program.row([(0, 1.0), (1, -2.0)], high=3)
    program.row([(1, 4.0)], 1, chain=7)
    assert program.terms(0) == [(0, 1.0), (1, -2.0)] and program.terms(1) == [(1, 4.0)]
    assert program.row_start == [0, 2, 3] and program.chain == [-1, 7]
    assert (program.row_low, program.row_high) == ([-INFINITY, 1], [3, INFINITY])
    program.keep_rows(1)
    assert (program.row_start, program.column, program.value) == ([0, 2], [0, 1], [1.0, -2.0])
    assert (program.row_low, program.row_high, program.chain) == ([-INFINITY], [3], [-1])


def test_stays_of_a_stage_hold_across_its_end():
    model = model_of()
    assert len(model.staying) == len(GRAPH.nodes) and model.staying[-1] == {}
    assert set(model.staying[0]) == {0} and set(model.staying[1]) == {0, 1}
    assert model.unit == 48 and model_of(graph=Graph((Node("a"),))).unit == 1
