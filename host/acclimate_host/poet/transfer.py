# SPDX-License-Identifier: MIT
"""Hides paging behind computing: moves transfers and frees, never what is computed.

One DMA channel carries one transfer at a time in the order of the plan, so that transfers do
not contend for the bus; a page-in moves ahead only where its bytes fit at every step between, and
a free moves back only as long as nothing needs its room. Several amounts of lead are tried and
judged by the evaluator with both units running; the best valid order is kept.
"""

from .evaluate import evaluate

_LEADS = (0.0, 1.0, 2.0, 4.0, float("inf"))


def hide(graph, budget, plan):
    """The plan with transfers moved; energy and RAM limit stay, the overlapped time is least."""
    limit = budget.ram_bytes
    best, best_time = tuple(plan), None
    for lead in _LEADS:
        ahead = _ahead(graph, limit, list(plan), lead)
        for steps in (ahead, _late_frees(graph, limit, ahead)):
            verdict = evaluate(graph, budget, steps, "overlapped")
            late = verdict.fault.startswith("takes ")
            if not (verdict.valid or late):
                continue
            if best_time is None or verdict.overlapped_time < best_time:
                best, best_time = tuple(steps), verdict.overlapped_time
    return best


def _used(graph, steps):
    """Bytes in RAM while each step runs, the workspace of a computation included."""
    nodes = {node.id: node for node in graph.nodes}
    used, at = graph.resident_bytes, []
    for kind, name in steps:
        node = nodes[name]
        if kind in ("compute", "pagein"):
            used += node.ram_bytes
        at.append(used + (node.workspace_bytes if kind == "compute" else 0))
        if kind == "free":
            used -= node.ram_bytes
    return at


def _ahead(graph, limit, steps, lead):
    """Move each page-in ahead by `lead` times its own duration of computing, if it fits."""
    nodes = {node.id: node for node in graph.nodes}
    done = []
    for step in steps:
        kind, name = step
        if kind != "pagein" or not lead:
            done.append(step)
            continue
        used = _used(graph, done)
        size, wanted = nodes[name].ram_bytes, lead * nodes[name].pagein_time
        place, hidden = len(done), 0.0
        while place and hidden < wanted:
            before, other = done[place - 1]
            if other == name or before == "pagein":
                break  # its own free or page-out; page-ins stay in order
            if used[place - 1] + size > limit:
                break
            place -= 1
            hidden += nodes[other].compute_time if before == "compute" else 0.0
        done.insert(place, step)
    return done


def _late_frees(graph, limit, steps):
    """Move each free back to right before the step that needs its room."""
    nodes = {node.id: node for node in graph.nodes}
    used, waiting, done = graph.resident_bytes, [], []
    for kind, name in steps:
        if kind == "free":
            waiting.append(name)
            continue
        if kind in ("compute", "pagein"):
            node = nodes[name]
            need = node.ram_bytes + (node.workspace_bytes if kind == "compute" else 0)
            while waiting and (used + need > limit or name in waiting):
                old = waiting.pop(waiting.index(name) if name in waiting else 0)
                done.append(("free", old))
                used -= nodes[old].ram_bytes
            used += node.ram_bytes
        done.append((kind, name))
    return done + [("free", name) for name in waiting]
