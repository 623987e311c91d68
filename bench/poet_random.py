# SPDX-License-Identifier: MIT
"""Random small planning problems, and their answers against the exhaustive oracle."""

import random
from dataclasses import dataclass, replace

from acclimate_host.poet.planned import tidy

from acclimate_host.poet import greedy
from acclimate_host.poet.answer import Infeasible
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.exhaustive import search
from acclimate_host.poet.positions import Space
from acclimate_host.poet.problem import Budget, Graph, Node, PlanError
from acclimate_host.poet.smallest import everything_kept, operator_need
from acclimate_host.poet.solve import solve
from acclimate_host.poet.transfer import hide


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


def nine(seed):
    """(graph, budget, clock) of nine tensors in reverse mode with skips; RAM is short.

    Five layers and the gradients of four of them. Some costs are nothing or enormous, and some
    problems have a deadline, one after the other or overlapped.
    """
    rng = random.Random(seed)
    sizes = [rng.randint(1, 7) for _ in range(5)]
    nodes = []
    for i in range(5):
        deps = [f"f{i - 1}"] if i else []
        deps += [f"f{j}" for j in range(i - 1) if rng.random() < 0.35]
        nodes.append(_node(rng, f"f{i}", deps, sizes[i], True))
    for i in reversed(range(4)):
        deps = [f"f{i}", f"f{i + 1}", *([f"b{i + 1}"] if i < 3 else [])]
        deps += [f"f{j}" for j in range(i) if rng.random() < 0.2]
        nodes.append(_node(rng, f"b{i}", deps, sizes[i], rng.random() < 0.2))
    kind = rng.choice(("plain", "plain", "nothing", "enormous"))
    names = [name for name in Node.__dataclass_fields__ if name.endswith(("_energy", "_time"))]
    for at, node in enumerate(nodes if kind != "plain" else ()):
        factor = {"nothing": 0.0, "enormous": 1e9}[kind]
        chosen = [name for name in names if rng.random() < 0.3]
        nodes[at] = replace(node, **{name: getattr(node, name) * factor for name in chosen})
    graph = Graph(tuple(nodes), 0)
    least, most = operator_need(graph)[0], everything_kept(graph)
    time = sum(node.compute_time for node in nodes)
    clock = rng.choice(("serial", "serial", "overlapped"))
    late = rng.choice((None, None, time * rng.uniform(1.0, 1.6)))
    ram = rng.randint(max(1, least - 1), max(least, most - 1))
    return graph, Budget(ram, late, rng.choice((None, None, 0, 8))), clock


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


@dataclass
class Nines:
    """Counts over many problems of nine tensors, and a line for each that is wrong."""

    graphs: int = 0
    feasible: int = 0
    false_optimum: int = 0
    false_infeasible: int = 0
    wrong_smallest: int = 0
    no_answer: int = 0
    faults: tuple = ()

    def note(self, seed, kind, text):
        """Count a wrong answer."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.faults += (f"seed {seed}: {text}",)


def compare_nines(seeds):
    """Nines of the solver's answers against exhaustive search, deadlines of both clocks too.

    The oracle knows no overlap. There its plan for the serial clock and some walks, judged by the
    evaluator, must not refute an answer: none may fit where "no plan fits" was said, and none may
    cost less than what is called optimal.
    """
    tally = Nines()
    for seed in seeds:
        graph, budget, clock = nine(seed)
        tally.graphs += 1
        best = _best(graph, budget, clock)
        try:
            answer = solve(graph, budget, clock=clock)
        except Infeasible as refusal:
            if best is not None:
                tally.note(seed, "false_infeasible", f"{refusal}; the optimum is {best}")
            elif clock == "serial" and refusal.proven:
                fault = _smallest_differs(graph, budget, refusal.smallest_ram)
                if fault and "deadline" not in str(refusal):
                    tally.note(seed, "wrong_smallest", fault)
            continue
        except PlanError as error:
            tally.note(seed, "no_answer", str(error))
            continue
        tally.feasible += 1
        wrong = _is_wrong(answer, evaluate(graph, budget, answer.plan, clock), best, clock)
        if wrong:
            tally.note(seed, "false_optimum", wrong)
    return tally


def _is_wrong(answer, verdict, best, clock):
    """What is wrong with an answer, or an empty text; best: energy of a plan, or None."""
    if not verdict.valid or (best is None and clock == "serial"):
        return f"found {answer.energy} where there is no plan: {verdict.fault}"
    if best is None:
        return ""
    if answer.lower_bound > best * (1 + 1e-9) + 1e-12:
        return f"bound {answer.lower_bound}; the optimum is at most {best}"
    if answer.proven and answer.energy > best * (1 + 1e-6) + 1e-9:
        return f"{answer.energy} proven; the optimum is at most {best}"
    return ""


def _best(graph, budget, clock):
    """Energy of the best plan of the oracle, with overlap of some plans that keep the limits."""
    found = search(graph, budget)
    if clock == "serial":
        return None if found is None else found[0]
    plans = [] if found is None else [found[1]]
    plans += greedy.plans(graph, budget, Space(clock=clock), tries=40, seconds=5.0)
    plans = [tidy(graph, steps) for steps in plans]
    plans += [hide(graph, budget, plan) for plan in plans]
    verdicts = [evaluate(graph, budget, plan, clock) for plan in plans]
    return min((verdict.energy for verdict in verdicts if verdict.valid), default=None)


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
