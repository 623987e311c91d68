# SPDX-License-Identifier: MIT
"""Executes a plan step by step and says what it costs; shares no code with any solver."""

from dataclasses import dataclass

from .overlap import overlapped

CLOCKS = ("serial", "overlapped", "compute")


@dataclass(frozen=True)
class Verdict:
    """valid, else the first fault; times in s, energy in J, sizes in bytes.

    written_bytes and erased_blocks are the wear; overlapped_peak_ram is the peak when transfers
    run beside the processor (the workspace of the running operator counts with them).
    """

    valid: bool
    fault: str
    energy: float
    peak_ram: int
    serial_time: float
    compute_time: float
    written_bytes: int
    peak_aux: int
    overlapped_time: float = 0.0
    overlapped_peak_ram: int = 0
    erased_blocks: int = 0


def evaluate(graph, budget, plan, clock="serial"):
    """Verdict on a plan; the deadline counts the time of that clock.

    serial: computing and paging one after the other. overlapped: one processor and one DMA
    channel, and RAM is then checked with both running. compute: the paper's, paging is free.
    """
    if clock not in CLOCKS:
        raise ValueError(f"clock is {clock!r}; expected one of {', '.join(CLOCKS)}")
    nodes = {node.id: node for node in graph.nodes}
    ram, aux, done = set(), set(), set()
    used = peak = graph.resident_bytes
    energy = serial = compute = 0.0
    written = erased = 0
    fault = ""
    for position, (kind, name) in enumerate(plan):
        node = nodes.get(name)
        fault = "unknown node" if node is None else _fault(kind, node, ram, aux, done)
        if fault:
            fault = f"step {position} ({kind} {name}): {fault}"
            break
        if kind == "free":
            ram.discard(name)
            used -= node.ram_bytes
        elif kind == "pageout":
            aux.add(name)
            written += node.ram_bytes
            if budget.erase_block_bytes:
                erased += -(-node.ram_bytes // budget.erase_block_bytes)
        else:
            ram.add(name)
            used += node.ram_bytes
        extra = 0
        if kind == "compute":
            done.add(name)
            extra = node.workspace_bytes
            compute += node.compute_time
        if kind != "free":
            energy += getattr(node, kind + "_energy")
            serial += getattr(node, kind + "_time")
        peak = max(peak, used + extra)
    both, both_peak = (serial, peak) if fault else overlapped(graph, plan)
    counted = {"serial": serial, "overlapped": both, "compute": compute}[clock]
    most = max(peak, both_peak) if clock == "overlapped" else peak
    fault = fault or _limits(nodes, budget, done, most, counted, written, erased)
    # a copy in storage stays, so what was written is also what the storage holds
    return Verdict(
        not fault, fault, energy, peak, serial, compute, written, written, both, both_peak, erased
    )


def _fault(kind, node, ram, aux, done):
    if kind not in ("compute", "pagein", "pageout", "free"):
        return "unknown kind of step"
    here = node.id in ram
    if kind in ("compute", "pagein") and here:
        return "already in RAM"
    if kind in ("pageout", "free") and not here:
        return "not in RAM"
    if kind == "pagein" and node.id not in aux:
        return "not in storage"
    if kind == "pageout" and not node.pageable:
        return "may not be paged"
    if kind == "pageout" and node.id in aux:
        return "already in storage"
    if kind == "compute":
        if node.id in done and not node.recomputable:
            return "may not be computed again"
        for dep in node.deps:
            if dep not in ram:
                return f"input {dep} is not in RAM"
    return ""


def _limits(nodes, budget, done, peak, time, written, erased):
    missing = [name for name in nodes if name not in done]
    if missing:
        return f"never computed: {missing[0]}"
    if peak > budget.ram_bytes:
        return f"needs {peak} bytes of RAM; have {budget.ram_bytes}"
    if budget.aux_bytes is not None and written > budget.aux_bytes:
        return f"needs {written} bytes of storage; have {budget.aux_bytes}"
    if budget.erase_budget is not None and erased > budget.erase_budget:
        return f"erases {erased} blocks; the budget is {budget.erase_budget}"
    if budget.deadline is not None and time > budget.deadline * (1 + 1e-9):
        return f"takes {time:.6g} s; the deadline is {budget.deadline:.6g} s"
    return ""
