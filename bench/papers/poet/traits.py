# SPDX-License-Identifier: MIT
"""What each planning method takes into account, found by changing one thing and looking whether
its plan changes (the paper's Table 1)."""

import random
from dataclasses import replace

from acclimate_host.poet import methods
from acclimate_host.poet.problem import Budget, Graph, Node

SEEDS = range(6)
TRAITS = ("general", "compute", "memory", "power")


def chain(seed, length=7, skip=False):
    """A chain with gradients, random costs; skip: its first tensor is read at the end too."""
    rng = random.Random(seed)

    def costs():
        time, move = rng.uniform(1, 4), rng.uniform(1, 4)
        return dict(
            ram_bytes=rng.randint(2, 5),
            compute_energy=time,
            compute_time=time,
            pagein_energy=move,
            pagein_time=move,
            pageout_energy=move,
            pageout_time=move,
        )

    nodes = []
    for i in range(length):
        deps = [f"f{i - 1}"] if i else []
        if skip and i == length - 1:
            deps.append("f0")
        nodes.append(Node(f"f{i}", tuple(deps), **costs()))
    before = f"f{length - 1}"
    for i in range(length - 2, -1, -1):
        deps = tuple(dict.fromkeys((f"f{i}", f"f{i + 1}", before)))
        nodes.append(Node(f"f{i}.grad", deps, recomputable=False, **costs()))
        before = f"f{i}.grad"
    return Graph(tuple(nodes))


def _changed(graph, seed, prefixes, fields):
    """The graph with those figures of its forward nodes drawn anew."""
    rng, nodes = random.Random(1000 + seed), []
    for node in graph.nodes:
        new = {f: getattr(node, f) * rng.choice([0.05, 1, 20]) for f in fields}
        nodes.append(node if node.id.endswith(".grad") else replace(node, **new))
    return replace(graph, nodes=tuple(nodes))


def _plan(name, graph, ram):
    return methods.run(name, graph, Budget(ram)).plan


def _budgets(graph):
    full = methods.run("keep_all", graph, Budget(1 << 30)).verdict.peak_ram
    return [int(full * share) for share in (1.0, 0.85, 0.7, 0.6)]


def traits(name):
    """{trait: bool} of one method."""
    found = dict.fromkeys(TRAITS, False)
    for seed in SEEDS:
        graph, skip = chain(seed), chain(seed, skip=True)
        # a short cut over the whole pass: still a plan in less memory than keeping everything
        found["general"] |= any(_plan(name, skip, ram) for ram in _budgets(skip)[1:])
        plans = [_plan(name, graph, ram) for ram in _budgets(graph)]
        have = [plan for plan in plans if plan]
        found["memory"] |= len(set(have)) > 1
        for ram in _budgets(graph)[1:]:
            plan = _plan(name, graph, ram)
            if plan is None:
                continue
            slow = _changed(graph, seed, "f", ("compute_time", "compute_energy"))
            found["compute"] |= _plan(name, slow, ram) not in (plan, None)
            hungry = _changed(
                graph, seed, "f", ("compute_energy", "pagein_energy", "pageout_energy")
            )
            found["power"] |= _plan(name, hungry, ram) not in (plan, None)
    return found


def table(names=None):
    """{method: traits} of the methods of Table 1 and Capuchin."""
    names = names or [name for name in methods.NAMES if name != "paging_only"]
    return {name: traits(name) for name in names}
