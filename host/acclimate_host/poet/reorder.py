# SPDX-License-Identifier: MIT
"""Rewrites a plan so that each stage recomputes in the order of the nodes, each node once."""


def in_order(graph, steps):
    """Plan with the same stages in order; it may need more RAM than before, so judge it."""
    written = {name for kind, name in steps if kind == "pageout"}
    done, here, stored, result = set(), set(), set(), []
    for computed, kept in _stages(steps):
        first = computed[-1]
        again = sorted(set(computed[:-1]), key=graph.index.get)
        jobs = [name for name in again if name not in here] + [first]
        for at, name in enumerate(jobs):
            later = kept.union(*(graph.nodes[graph.index[j]].deps for j in jobs[at + 1 :]))
            for dep in graph.nodes[graph.index[name]].deps:
                if dep not in here:
                    if dep not in stored:
                        return None
                    result.append(("pagein", dep))
                    here.add(dep)
            result.append(("compute", name))
            here.add(name)
            if name not in done and name in written:
                result.append(("pageout", name))
                stored.add(name)
            done.add(name)
            for old in sorted(here - later):
                result.append(("free", old))
                here.discard(old)
    return result


def _stages(steps):
    """(computed names, the first computation last; names that stay after it) per stage."""
    done, here, computed, stages = set(), set(), [], []
    for kind, name in steps:
        if kind in ("compute", "pagein") and computed and computed[-1] not in done:
            done.add(computed[-1])
            stages.append((computed, set(here)))
            computed = []
        if kind == "compute":
            computed.append(name)
        if kind != "pageout":
            (here.discard if kind == "free" else here.add)(name)
    stages.append((computed, here))
    return stages
