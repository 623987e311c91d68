# SPDX-License-Identifier: MIT
"""Random small planning problems, and their answers against the exhaustive oracle."""

import random
from dataclasses import dataclass, replace

from acclimate_host.poet.answer import Infeasible
from acclimate_host.poet.exhaustive import search
from acclimate_host.poet.problem import Budget, Graph, Node
from acclimate_host.poet.smallest import everything_kept, operator_need
from acclimate_host.poet.solve import solve


def problem(seed, most=7):
    """(graph, budget): chain, chain with skips or any graph; from infeasible to loose."""
    rng = random.Random(seed)
    kind = rng.choice(("chain", "skips", "any"))
    nodes = []
    for i in range(rng.randint(3, most)):
        if kind == "chain":
            deps = [i - 1] if i else []
        elif kind == "skips":
            deps = [j for j in range(i) if j == i - 1 or rng.random() < 0.25]
        else:
            deps = [j for j in range(i) if rng.random() < 0.4]
        nodes.append(
            Node(
                f"n{i}",
                tuple(f"n{j}" for j in deps),
                rng.randint(1, 5),
                rng.choice((0, 0, 1, 2)),
                *(rng.randint(1, 9) for _ in range(6)),
                recomputable=rng.random() < 0.85,
                pageable=rng.random() < 0.85,
            )
        )
    graph = Graph(tuple(nodes), rng.randint(0, 2))
    total = sum(node.ram_bytes for node in nodes)
    least = sum(node.compute_time for node in nodes)
    ram = graph.resident_bytes + rng.randint(int(0.45 * total), total)
    deadline = rng.choice((None, None, least + rng.randint(0, 30)))
    return graph, Budget(ram, deadline, rng.choice((None, None, None, 0, 6)))


def training(seed):
    """(graph, budget) of a chain with skips and its backward pass, for which RAM is short."""
    rng = random.Random(seed)
    layers = rng.randint(3, 4)
    sizes = [rng.randint(1, 4) for _ in range(layers)]
    nodes = []
    for i in range(layers):
        deps = [f"f{i - 1}"] if i else []
        if i > 1 and rng.random() < 0.3:
            deps.append(f"f{rng.randint(0, i - 2)}")
        nodes.append(_node(rng, f"f{i}", deps, sizes[i], True))
    for i in reversed(range(layers)):
        deps = [f"f{i}", *([f"f{i - 1}"] if i else []), *([f"b{i + 1}"] if i < layers - 1 else [])]
        nodes.append(_node(rng, f"b{i}", deps, sizes[i], False))
    graph = Graph(tuple(nodes), 0)
    least, most = operator_need(graph)[0], everything_kept(graph)
    return graph, Budget(
        rng.randint(least, max(least, most - 1)), None, rng.choice((None, None, 0, 4))
    )


def _node(rng, name, deps, size, forward):
    costs = [rng.randint(1, 9), rng.randint(1, 9), rng.randint(1, 6), 1, rng.randint(1, 6), 1]
    return Node(name, tuple(deps), size, rng.choice((0, 0, 1)), *costs, recomputable=forward)


@dataclass
class Tally:
    """Counts over many problems; faults are lines that say what differs."""

    problems: int = 0
    infeasible: int = 0
    free_order_better: int = 0
    free_order_fits: int = 0
    faults: tuple = ()


def compare(seeds, free_order=True):
    """Tally of solver against oracle: optimum to 1e-6, infeasible exactly when infeasible."""
    tally = Tally()
    for seed in seeds:
        graph, budget = problem(seed)
        best = search(graph, budget)
        tally.problems += 1
        tally.infeasible += best is None
        fault = differs(graph, budget, best)
        if fault:
            tally.faults += (f"seed {seed}: {fault}",)
        if free_order:
            free = search(graph, budget, free_order=True)
            tally.free_order_fits += best is None and free is not None
            tally.free_order_better += best is not None and free[0] < best[0] - 1e-9
    return tally


def differs(graph, budget, best):
    """What the solver says otherwise than the oracle, or an empty text."""
    try:
        answer = solve(graph, budget)
    except Infeasible as refusal:
        if best is not None:
            return f"called infeasible; the optimum is {best[0]}"
        return _smallest_differs(graph, budget, refusal.smallest_ram)
    if best is None:
        return f"found {answer.energy} where there is no plan"
    if abs(answer.energy - best[0]) > 1e-6 * max(1.0, best[0]) or not answer.proven:
        return f"found {answer.energy} (proven: {answer.proven}); the optimum is {best[0]}"
    return ""


def _smallest_differs(graph, budget, ram):
    if ram is None:
        feasible = search(graph, replace(budget, ram_bytes=1 << 20))
        return "says that no RAM helps; it does" if feasible else ""
    if search(graph, replace(budget, ram_bytes=ram)) is None:
        return f"says that {ram} bytes are enough; they are not"
    if search(graph, replace(budget, ram_bytes=ram - 1)) is not None:
        return f"says that {ram} bytes are the smallest; fewer do"
    return ""
