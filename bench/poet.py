# SPDX-License-Identifier: MIT
"""Planner: wall time to a proven plan, against exhaustive search and the paper's formulation.

Percent of RAM: of the bytes of all forward tensors, as in the paper's code, raised to what the
largest single operator needs (below that nothing runs). `solve` has the chain-style backward of
the paper's code, `solve_autodiff` true reverse mode. Energies are the cost tables' (model
values). Each case stands alone: the file is written after each, cases are chosen by the start
of their name (`python -m bench.poet solve.vgg16 oracle`), and what was measured before stays.
`cpu_seconds` is what the whole solve computed, beside the wall time; on a machine that is busy
with other things, POET_STRETCH=5 gives each solve that many times its time.
"""

import json
import os
import sys
import time
from dataclasses import dataclass

from acclimate_host.paths import built
from acclimate_host.poet.graphs import forward_bytes, network_graph
from acclimate_host.poet.paper import solve_paper
from acclimate_host.poet.problem import Budget
from acclimate_host.poet.smallest import everything_kept, operator_need
from acclimate_host.poet.solve import solve
from bench import common
from bench.poet_random import compare

NETS = {"vgg16": "vgg16_cifar", "resnet18": "resnet18_cifar", "bert": "bert"}
PROVEN = 1e-6
ORACLE_GRAPHS = 3000
CBC_LIMIT_S = 120.0


@dataclass(frozen=True)
class Case:
    """One solve: the gap that is wanted within seconds."""

    style: str
    net: str
    profile: str
    percent: int
    seconds: float
    gap: float = PROVEN

    @property
    def name(self):
        """Dotted name in the file."""
        group = "solve" if self.style == "chain" else "solve_autodiff"
        return f"{group}.{self.net}.{self.profile}.{self.percent}"


CASES = [
    *(Case("chain", "vgg16", board, percent, 30)
      for board in ("m0", "m4", "a72", "tx2") for percent in (75, 50, 40)),
    *(Case("chain", "resnet18", board, percent, 120)
      for board in ("m0", "a72") for percent in (50, 25, 10)),
    Case("chain", "resnet18", "m4", 50, 120),
    Case("chain", "resnet18", "m4", 10, 120),
    Case("chain", "resnet18", "m4", 20, 300, 2e-3),
    Case("chain", "bert", "m0", 50, 180),
    Case("chain", "bert", "m0", 30, 180),
    Case("chain", "bert", "m4", 50, 600, 1.2e-3),
    Case("chain", "bert", "m4", 30, 600, 1.2e-3),
    Case("autodiff", "vgg16", "m4", 50, 120),
    Case("autodiff", "resnet18", "m4", 50, 120),
    Case("autodiff", "resnet18", "m4", 25, 300, 1e-2),
]  # fmt: skip
REFERENCE = {100: 0.000457095, 60: 0.000459423}


STRETCH = float(os.environ.get("POET_STRETCH", 1))


def run_case(case):
    """Result of one solve."""
    graph = network_graph(NETS[case.net], case.profile, case.style)
    asked = int(forward_bytes(graph) * case.percent / 100)
    ram = max(asked, operator_need(graph)[0])
    cpu, history = time.process_time(), []

    def note(progress):
        if progress.energy is not None and (not history or progress.seconds - history[-1][0] > 1):
            used = round(time.process_time() - cpu, 2)
            history.append([round(progress.seconds, 2), used, progress.energy,
                            progress.lower_bound])  # fmt: skip

    answer = solve(graph, Budget(ram), time_limit=case.seconds * STRETCH, progress=note)
    result = {
        "seconds": round(answer.seconds, 2), "energy": answer.energy,
        "lower_bound": answer.lower_bound, "gap": answer.gap, "valid": answer.verdict.valid,
        "proven": answer.proven, "cpu_seconds": round(time.process_time() - cpu, 2),
        "ram_bytes": ram, "raised_to_smallest_feasible": ram > asked,
        "everything_kept_bytes": everything_kept(graph),
        "everything_kept_energy": sum(node.compute_energy for node in graph.nodes),
        "limit_s": case.seconds * STRETCH, "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    if case.net == "bert" and case.profile == "m4":
        for key, clock in (("gap_at_60s", 0), ("gap_at_60_cpu_s", 1)):
            early = [row for row in history if row[clock] <= 60]
            result[key] = 1 - early[-1][3] / early[-1][2] if early else 1.0
        result["history"] = history[:: max(1, len(history) // 40)]
    return result


def oracle():
    """Solver against exhaustive search on random graphs."""
    began = time.monotonic()
    tally = compare(range(10_000, 10_000 + ORACLE_GRAPHS))
    feasible = tally.problems - tally.infeasible
    return {
        "graphs": tally.problems, "infeasible": tally.infeasible, "differ": len(tally.faults),
        "faults": list(tally.faults), "free_order_better": tally.free_order_better / feasible,
        "free_order_fits": tally.free_order_fits / max(tally.infeasible, 1),
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def reference():
    """The paper's own example by its formulation, as published and scaled, and by ours."""
    result = {}
    graph = network_graph("linear", "m4", recompute_gradients=True)
    deadline = 1.5 * sum(node.compute_time for node in graph.nodes)
    for percent, known in REFERENCE.items():
        budget = Budget(forward_bytes(graph) * percent / 100, deadline)
        published = solve_paper(graph, budget, solver="cbc", as_published=True)
        scaled = solve_paper(graph, budget, solver="highs")
        ours = solve(graph, budget, clock="compute")
        result[str(percent)] = {
            "known": known, "paper_cbc": published.energy, "paper_scaled": scaled.energy,
            "ours": ours.energy, "ours_over_paper": ours.energy / scaled.energy,
            "error": abs(published.energy - known) / known,
        }  # fmt: skip
    return result


def cbc(ours):
    """The paper's formulation with CBC on VGG16, m4, 75 % of RAM, with a limit."""
    graph = network_graph(NETS["vgg16"], "m4", recompute_gradients=True)
    budget = Budget(int(0.75 * forward_bytes(graph)))
    answer = solve_paper(graph, budget, solver="cbc", time_limit=CBC_LIMIT_S)
    valid = answer.verdict is not None and answer.verdict.valid
    return {"net": "vgg16", "profile": "m4", "percent": 75, "status": answer.status,
            "seconds": round(answer.seconds, 1), "limit_s": CBC_LIMIT_S,
            "energy": answer.energy, "valid": valid, "ours_seconds": ours}  # fmt: skip


def load():
    """What the file holds, or an empty result."""
    path = built("bench", "poet.json")
    return json.loads(path.read_text()) if path.exists() else {}


def put(dotted, value):
    """Set result["a"]["b"] for "a.b" in the file as it is now; return the result."""
    result = load()
    *path, last = dotted.split(".")
    place = result
    for key in path:
        place = place.setdefault(key, {})
    place[last] = value
    common.write("poet", result)
    return result


def rows():
    """Rows of the table."""
    found = []
    for case in CASES:
        found.append((case.name + ".seconds", "<=", case.seconds))
        found.append((case.name + ".gap", "<=", case.gap))
        if case.net == "bert" and case.profile == "m4":
            found.append((case.name + ".gap_at_60s", "<=", 3e-3))
            found.append((case.name + ".gap_at_60_cpu_s", "<=", 3e-3))
    found += [("oracle.differ", "=", 0), ("oracle.free_order_better", None, None),
              ("oracle.free_order_fits", None, None), ("ratio_cbc", None, None)]  # fmt: skip
    for percent in REFERENCE:
        found.append((f"reference.{percent}.error", "<=", 1e-5))
        found.append((f"reference.{percent}.ours_over_paper", "<=", 1 + 1e-6))
    return found


def main(wanted=()):
    """Measure the cases whose names start with one of `wanted` (all when empty)."""
    def chosen(name):
        return not wanted or any(name.startswith(start) for start in wanted)

    result = put("accounting", " ".join(__doc__.split()))
    if chosen("oracle"):
        put("oracle", oracle())
    if chosen("reference"):
        put("reference", reference())
    for case in CASES:
        if chosen(case.name):
            found = run_case(case)
            result = put(case.name, found)
            print(case.name, found["seconds"], "s, gap", found["gap"], flush=True)
    ours = common.look_up(result, "solve.vgg16.m4.75.seconds")
    if chosen("cbc") and ours:
        found = cbc(ours)
        put("cbc", found)
        put("ratio_cbc", found["seconds"] / ours)
    result = load()
    missed = common.table("planner", result, rows())
    print(f"  wrote {common.write('poet', result)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
