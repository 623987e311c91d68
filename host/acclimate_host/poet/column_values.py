# SPDX-License-Identifier: MIT
"""Between a plan (list of steps) and the values of the formulation's columns."""


def plan_of(model, values):
    """Plan that the columns describe: executable in this order, freed as early as it can be."""
    nodes = model.graph.nodes
    ids = [node.id for node in nodes]

    def on(column):
        return column is not None and values[column] > 0.5

    steps, here, stored = [], set(), set()
    for p, v in enumerate(model.positions.node):
        run = model.x[p] is None or (on(model.x[p]) and v not in here)
        if run:
            for event in model.events[p]:
                i = event.tensor
                if i != v and i not in here:
                    steps.append(("pagein", ids[i]))
                    here.add(i)
            steps.append(("compute", ids[v]))
            here.add(v)
            if model.x[p] is None and on(model.out.get(v)):
                steps.append(("pageout", ids[v]))
                stored.add(v)
        for event in model.events[p]:
            if event.tensor in here and not on(event.after):
                steps.append(("free", ids[event.tensor]))
                here.discard(event.tensor)
    return tidy(model.graph, steps)


def tidy(graph, steps):
    """The same plan without what nothing uses, each tensor freed right after its last use."""
    changed = True
    while changed:
        before = len(steps)
        steps = _free_early(graph, _without_idle(graph, steps))
        changed = len(steps) < before
    return tuple(steps)


def _without_idle(graph, steps):
    """Drop recomputations and page-ins that are freed unused, and page-outs never read back."""
    keep = [True] * len(steps)
    born, used, first = {}, set(), set()
    out, read_back = {}, set()
    for at, (kind, name) in enumerate(steps):
        if kind in ("compute", "pagein"):
            for dep in graph.nodes[graph.index[name]].deps if kind == "compute" else ():
                used.add(dep)
            born[name] = at
            used.discard(name)
            if kind == "compute" and name not in first:
                first.add(name)
                used.add(name)  # must stay, used or not
            if kind == "pagein":
                read_back.add(name)
        elif kind == "pageout":
            out[name] = at
            used.add(name)
        elif name in born:
            if name not in used:
                keep[born[name]] = keep[at] = False
            born.pop(name)
    for name, at in born.items():
        if name not in used:
            keep[at] = False
    for name, at in out.items():
        if name not in read_back:
            keep[at] = False
    return [step for at, step in enumerate(steps) if keep[at]]


def _free_early(graph, steps):
    """Move every free to right after the last step that touches the tensor before it."""
    last, free_after, rest = {}, {}, []
    for kind, name in steps:
        if kind == "free":
            if name in last:
                free_after.setdefault(last.pop(name), []).append(name)
            continue
        rest.append((kind, name))
        at = len(rest) - 1
        if kind == "compute":
            for dep in graph.nodes[graph.index[name]].deps:
                last[dep] = at
        last[name] = at
    for name, at in last.items():
        free_after.setdefault(at, []).append(name)
    done = []
    for at, step in enumerate(rest):
        done.append(step)
        done += [("free", name) for name in free_after.get(at, ())]
    return done


def values_of(model, plan):
    """Column values that describe a plan, or None where the positions cannot express it."""
    graph, at = model.graph, model.positions
    spans = _spans(graph, plan)
    where = _match(graph, at, plan)
    if where is None:
        return None
    values = [0.0] * len(model.program.cost)
    return values if _fill(model, plan, spans, where, values) else None


def _match(graph, at, plan):
    """Position of each compute step, in order, or None."""
    seen, where, p = set(), {}, 0
    for step, (kind, name) in enumerate(plan):
        if kind != "compute":
            continue
        v = graph.index[name]
        first = v not in seen
        seen.add(v)
        while p < len(at.node) and not (at.node[p] == v and at.first[p] == first):
            if at.first[p]:
                return None  # would jump over a first computation
            p += 1
        if p == len(at.node):
            return None
        where[p] = step
        p += 1
    return where


def _spans(graph, plan):
    """Per tensor the (start, end, paged in) steps between which it is in RAM."""
    spans, open_ = [[] for _ in graph.nodes], {}
    for step, (kind, name) in enumerate(plan):
        i = graph.index[name]
        if kind in ("compute", "pagein"):
            open_[i] = (step, kind == "pagein")
        elif kind == "free" and i in open_:
            start, paged = open_.pop(i)
            spans[i].append((start, step, paged))
    for i, (start, paged) in open_.items():
        spans[i].append((start, len(plan), paged))
    return spans


def _fill(model, plan, spans, where, values):
    at = model.positions
    for kind, name in plan:
        if kind == "pageout":
            column = model.out.get(model.graph.index[name])
            if column is None:
                return False
            values[column] = 1.0
    events = {}
    for p in range(len(at.node)):
        for event in model.events[p]:
            events.setdefault(event.tensor, []).append((p, event))
    for p in where:
        if model.x[p] is not None:
            values[model.x[p]] = 1.0
    for i, list_ in events.items():
        if not _fill_tensor(spans[i], where, i, list_, at, values):
            return False
    _fill_memory(model, values)
    return True


def _fill_tensor(spans, where, i, events, at, values):
    """Set r and in of one tensor: hold it only between events that make or read it."""
    acting = [k for k, (p, _) in enumerate(events) if p in where]
    for start, end, paged in spans:
        inside = [k for k in acting if start <= where[events[k][0]] < end]
        if not inside:
            continue
        first, last = inside[0], inside[-1]
        if paged:
            column = events[first][1].page_in
            if column is None:
                return False
            values[column] = 1.0
        for k in range(first, last):
            values[events[k][1].after] = 1.0
    return True


def _fill_memory(model, values):
    """The running memory follows from r."""
    size = [node.ram_bytes for node in model.graph.nodes]
    used = 0
    for p, column in enumerate(model.memory):
        for event in model.events[p]:
            if event.before is not None:
                used -= size[event.tensor] * round(values[event.before])
            if event.after is not None:
                used += size[event.tensor] * round(values[event.after])
        values[column] = used / model.unit
