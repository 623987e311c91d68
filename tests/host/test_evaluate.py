# SPDX-License-Identifier: MIT
"""The judge of plans: each fault that it can name has a plan that has it, and a clean one none."""

from dataclasses import FrozenInstanceError, replace

import pytest

from acclimate_host.poet.evaluate import CLOCKS, Verdict, evaluate
from acclimate_host.poet.problem import Budget, Graph, Node

A = Node("a", (), 10, 0, 1.0, 1.0, 0.25, 16.0, 0.5, 32.0)
B = Node("b", ("a",), 20, 7, 2.0, 2.0, 0.125, 64.0, 0.0625, 128.0, recomputable=False)
C = Node("c", ("a", "b"), 5, 3, 4.0, 4.0, 100.0, 256.0, 200.0, 512.0, pageable=False)
GRAPH = Graph((A, B, C), resident_bytes=1000)
PAGED = (
    ("compute", "a"),
    ("pageout", "a"),
    ("compute", "b"),
    ("free", "a"),
    ("pageout", "b"),
    ("pagein", "a"),
    ("compute", "c"),
    ("free", "b"),
    ("free", "a"),
    ("compute", "a"),
)
PLAIN = (("compute", "a"), ("compute", "b"), ("compute", "c"))
ROOMY = Budget(10_000)


def verdict(plan, budget=ROOMY, graph=GRAPH, **options):
    return evaluate(graph, budget, plan, **options)


def test_a_clean_plan_is_summed_up_by_hand():
    found = verdict(PAGED, Budget(10_000, erase_block_bytes=16))
    assert found.valid and found.fault == ""
    assert found.energy == (1 + 2 + 4 + 1) + (0.5 + 0.0625) + 0.25
    assert found.compute_time == 1 + 2 + 4 + 1
    assert found.serial_time == 8 + (32 + 128) + 16
    # the peak is where c runs: resident, a, b, c and the workspace of c
    assert found.peak_ram == 1000 + 10 + 20 + 5 + 3
    assert found.written_bytes == found.peak_aux == 10 + 20
    assert found.erased_blocks == 1 + 2  # blocks of 16 bytes for 10 and for 20


def test_the_workspace_counts_only_while_its_operator_runs():
    graph = Graph((A, replace(B, workspace_bytes=50), replace(C, workspace_bytes=0)))
    assert verdict(PLAIN, graph=graph).peak_ram == 10 + 20 + 50
    # paging in takes no workspace, and computing twice takes it twice, not longer
    plan = (*PLAIN[:2], ("pageout", "b"), ("free", "b"), ("pagein", "b"), PLAIN[2])
    assert verdict(plan, graph=graph).peak_ram == 10 + 20 + 50


def test_a_store_that_is_not_erased_wears_no_block():
    assert verdict(PAGED).erased_blocks == 0
    assert verdict(PAGED, Budget(10_000, erase_block_bytes=10)).erased_blocks == 1 + 2
    assert verdict(PAGED, Budget(10_000, erase_block_bytes=1)).erased_blocks == 30


def test_tensors_of_no_size_cost_only_time_and_energy():
    graph = Graph((Node("a", compute_energy=3.0, compute_time=0.5),))
    found = verdict([("compute", "a")], Budget(0), graph)
    assert found == Verdict(True, "", 3.0, 0, 0.5, 0.5, 0, 0, 0.5, 0, 0)


@pytest.mark.parametrize("budget", [ROOMY, Budget(1038, 184.0, 30, 3, 16)])
def test_limits_that_are_just_met_are_no_fault(budget):
    assert verdict(PAGED, budget).valid


@pytest.mark.parametrize(
    "plan, step, fault",
    [
        ([("compute", "x")], 0, "unknown node"),
        ([("compute", "a"), ("store", "a")], 1, "unknown kind of step"),
        ([("compute", "a"), ("compute", "a")], 1, "already in RAM"),
        ([("compute", "a"), ("pageout", "a"), ("pagein", "a")], 2, "already in RAM"),
        ([("pageout", "a")], 0, "not in RAM"),
        ([("free", "a")], 0, "not in RAM"),
        ([("compute", "a"), ("free", "a"), ("free", "a")], 2, "not in RAM"),
        ([("compute", "a"), ("free", "a"), ("pagein", "a")], 2, "not in storage"),
        ([*PLAIN, ("pageout", "c")], 3, "may not be paged"),
        ([("compute", "a"), ("pageout", "a"), ("pageout", "a")], 2, "already in storage"),
        ([*PLAIN, ("free", "b"), ("compute", "b")], 4, "may not be computed again"),
        ([("compute", "b")], 0, "input a is not in RAM"),
        ([*PLAIN[:2], ("free", "b"), ("compute", "c")], 3, "input b is not in RAM"),
        ([*PLAIN[:2], ("free", "a"), ("compute", "c")], 3, "input a is not in RAM"),
    ],
)
@pytest.mark.parametrize("clock", CLOCKS)
def test_a_step_that_cannot_be_done_is_named_with_its_place(plan, step, fault, clock):
    found = verdict(plan, clock=clock)
    kind, name = plan[step]
    assert not found.valid
    assert found.fault == f"step {step} ({kind} {name}): {fault}"


def test_the_first_fault_ends_the_execution():
    found = verdict([("compute", "a"), ("free", "b"), ("compute", "b"), ("compute", "c")])
    assert found.fault.startswith("step 1 ")
    assert found.energy == 1.0 and found.compute_time == found.serial_time == 1.0
    assert found.peak_ram == found.overlapped_peak_ram == 1010
    assert found.overlapped_time == found.serial_time


def test_what_may_be_computed_again_is_no_fault_the_second_time():
    again = (*PLAIN, ("free", "a"), ("compute", "a"))
    assert verdict(again).valid


def test_a_node_that_no_step_computes_is_named():
    assert verdict(PLAIN[:2]).fault == "never computed: c"
    assert verdict([]).fault == "never computed: a"


@pytest.mark.parametrize(
    "limits, needed, had",
    [
        ({"ram_bytes": 1037}, "needs 1038 bytes of RAM", "have 1037"),
        ({"aux_bytes": 29}, "needs 30 bytes of storage", "have 29"),
        ({"aux_bytes": 0}, "needs 30 bytes of storage", "have 0"),
        ({"erase_budget": 2, "erase_block_bytes": 16}, "erases 3 blocks", "the budget is 2"),
        ({"erase_budget": 0, "erase_block_bytes": 16}, "erases 3 blocks", "the budget is 0"),
        ({"deadline": 183.0}, "takes 184 s", "the deadline is 183 s"),
        ({"deadline": 0.0}, "takes 184 s", "the deadline is 0 s"),
    ],
)
def test_a_limit_that_is_missed_is_named_with_what_was_needed(limits, needed, had):
    found = verdict(PAGED, replace(ROOMY, **limits))
    assert not found.valid and found.fault == f"{needed}; {had}"


def test_no_limit_is_none_and_zero_is_one():
    free = (("compute", "a"), ("compute", "b"), ("compute", "c"))
    assert verdict(free, Budget(1038, aux_bytes=0, erase_budget=0, erase_block_bytes=16)).valid


def test_a_deadline_counts_the_time_of_its_clock():
    times = {"serial": 184.0, "compute": 8.0, "overlapped": verdict(PAGED).overlapped_time}
    assert times["compute"] < times["overlapped"] < times["serial"]
    for clock, time in times.items():
        assert verdict(PAGED, replace(ROOMY, deadline=time), clock=clock).valid
        late = verdict(PAGED, replace(ROOMY, deadline=time * (1 - 1e-6)), clock=clock)
        assert late.fault.startswith(f"takes {time:.6g} s")
    # what rounding may have added is not held against a plan, and no more than that
    assert verdict(PAGED, replace(ROOMY, deadline=184 * (1 - 0.5e-9))).valid
    assert not verdict(PAGED, replace(ROOMY, deadline=184 * (1 - 2e-9))).valid
    assert verdict(PAGED, replace(ROOMY, deadline=8.0)).fault == (
        "takes 184 s; the deadline is 8 s"
    )


def test_the_workspace_of_a_running_operator_counts_with_what_comes_beside_it():
    graph = Graph(
        (
            Node("a", (), 10, 0, pagein_time=1.0, pageout_time=1.0, compute_time=1.0),
            Node("b", (), 1, 100, compute_time=50.0),
        )
    )
    plan = (
        ("compute", "a"),
        ("pageout", "a"),
        ("free", "a"),
        ("compute", "b"),
        ("pagein", "a"),
    )
    found = evaluate(graph, Budget(10_000), plan)
    assert found.peak_ram == 101 and found.overlapped_peak_ram == 111
    tight = Budget(101)
    assert evaluate(graph, tight, plan).valid
    assert evaluate(graph, tight, plan, clock="compute").valid
    refused = evaluate(graph, tight, plan, clock="overlapped")
    assert refused.fault == "needs 111 bytes of RAM; have 101"
    assert evaluate(graph, Budget(111), plan, clock="overlapped").valid


def test_an_unknown_clock_is_refused():
    with pytest.raises(ValueError, match="sundial.*serial, overlapped, compute"):
        verdict(PLAIN, clock="sundial")


def test_a_verdict_cannot_be_changed_and_says_zero_of_what_was_not_looked_at():
    short = Verdict(True, "", 1.0, 2, 3.0, 4.0, 5, 6)
    assert (short.overlapped_time, short.overlapped_peak_ram, short.erased_blocks) == (0.0, 0, 0)
    with pytest.raises(FrozenInstanceError):
        short.valid = False


def test_what_takes_no_time_meets_a_deadline_of_none():
    graph = Graph((Node("a", ram_bytes=1),))
    assert evaluate(graph, Budget(1, deadline=0.0), [("compute", "a")]).valid
