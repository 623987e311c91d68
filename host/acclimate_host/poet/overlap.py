# SPDX-License-Identifier: MIT
"""Time and RAM of a plan when one processor and one DMA channel work side by side.

Steps start in the order of the plan, none before the one in front of it has started. A step
waits for its processor or channel, for the tensors that it reads, and for every free step in
front of it; a free step waits for the steps that still use its tensor. So whatever is in RAM
when a step starts is at most what the plan, executed one step after the other, has there, plus
the workspace of the operator that is still running. Steps that take no time follow each other in
the order of the plan within their instant.
"""


def overlapped(graph, plan):
    """(seconds, peak bytes) of a plan that is valid one step after the other."""
    nodes = {node.id: node for node in graph.nodes}
    clock = {"compute": 0.0, "page": 0.0}
    issued = barrier = 0.0
    ready, busy, born = {}, {}, {}
    events = []
    for place, (kind, name) in enumerate(plan):
        node = nodes[name]
        if kind == "free":
            barrier = max(barrier, issued, busy[name])
            _hold(events, born.pop(name), (barrier, place), node.ram_bytes)
            continue
        unit = "compute" if kind == "compute" else "page"
        reads = {"compute": node.deps, "pageout": (name,), "pagein": ()}[kind]
        start = max([issued, barrier, clock[unit], *(ready[dep] for dep in reads)])
        if kind == "pagein":
            start = max(start, ready["stored", name])
        end = start + getattr(node, kind + "_time")
        issued, clock[unit] = start, end
        for dep in reads:
            busy[dep] = max(busy[dep], end)
        if kind == "pageout":
            ready["stored", name] = end
            continue
        ready[name] = busy[name] = end
        born[name] = start, place
        if kind == "compute":
            ended = (end, -1 if end > start else place)
            _hold(events, born[name], ended, node.workspace_bytes)
    last = max(*clock.values(), barrier)
    for name, since in born.items():
        _hold(events, since, (last, len(plan)), nodes[name].ram_bytes)
    return last, graph.resident_bytes + _peak(events)


def _hold(events, start, end, size):
    """Bytes held from one moment to another, each (time, place in the plan within it)."""
    if size:
        events.append((start, 1, size))
        events.append((end, 2, -size))


def _peak(events):
    used = most = 0
    for *_, change in sorted(events):
        used += change
        most = max(most, used)
    return most
