# SPDX-License-Identifier: MIT
"""Executes a plan step by step and says what it costs; shares no code with any solver."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """valid, else the first fault; times in s, energy in J, written_bytes is the wear."""

    valid: bool
    fault: str
    energy: float
    peak_ram: int
    serial_time: float
    compute_time: float
    written_bytes: int
    peak_aux: int


def evaluate(graph, budget, plan, compute_only=False):
    """Verdict on a plan; the deadline counts serial time, or compute time if so asked."""
    nodes = {node.id: node for node in graph.nodes}
    ram, aux, done = set(), set(), set()
    used = peak = graph.resident_bytes
    energy = serial = compute = 0.0
    written = 0
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
    counted = compute if compute_only else serial
    fault = fault or _limits(nodes, budget, done, peak, counted, written)
    # a copy in storage stays, so what was written is also what the storage holds
    return Verdict(not fault, fault, energy, peak, serial, compute, written, written)


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


def _limits(nodes, budget, done, peak, time, written):
    missing = [name for name in nodes if name not in done]
    if missing:
        return f"never computed: {missing[0]}"
    if peak > budget.ram_bytes:
        return f"needs {peak} bytes of RAM; have {budget.ram_bytes}"
    if budget.aux_bytes is not None and written > budget.aux_bytes:
        return f"needs {written} bytes of storage; have {budget.aux_bytes}"
    if budget.deadline is not None and time > budget.deadline * (1 + 1e-9):
        return f"takes {time:.6g} s; the deadline is {budget.deadline:.6g} s"
    return ""
