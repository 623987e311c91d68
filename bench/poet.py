# SPDX-License-Identifier: MIT
"""Planner: wall time to a proven plan, against exhaustive search and the paper's formulation.

Percent of RAM: of the bytes of all forward tensors, as in the paper's code, raised to what the
largest single operator needs (below that nothing runs). `solve` has the chain-style backward of
the paper's code, `solve_autodiff` true reverse mode. Energies are the cost tables' (model
values). `oracle9`: 2,000 networks of nine tensors against exhaustive search, in slices of 400
(`python -m bench.poet oracle9_slices.20400` is one); its counts are the sums of the slices.
`first`: wall time to the first valid plan, `excess6`: over the best known energy after 6 s of
computing, `gap`: to the bound for all plans after so many seconds of computing on two threads,
`proof_s`: seconds of computing to the proof. Graphs that are files are read from the folder that
POET_GRAPHS names; without it their cases are left out. `ended` says what ended a solve.
Each case stands alone: the file is written after each, with the commit and a hash of
the planner's sources and cost tables. Without names only cases run that are missing or were
measured on other sources; cases that are named by their start (`python -m bench.poet solve.vgg16
oracle`) run anyway. `cpu_seconds` is what the whole solve computed, beside the wall time; on a
machine that is busy with other things, POET_STRETCH=5 gives each solve that many times its time.
gap_60s and gap_600s are the gaps after that much wall time, gap_60_cpu_s after 60 s of computing.

`cbc`: the paper's formulation with CBC under a limit, beside our time on the same case. Where it
has no proven answer by then, `solved` is false and `ratio_at_least` is the limit through our time.
"""

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from acclimate_host.paths import built, repository
from acclimate_host.poet.graphs import forward_bytes, network_graph
from acclimate_host.poet.problem import Budget, from_json
from acclimate_host.poet.smallest import everything_kept, operator_need
from acclimate_host.poet.solve import solve
from bench import common
from bench.papers.poet.formulation import solve_paper
from bench.poet_random import compare, compare_nines

NETS = {"vgg16": "vgg16_cifar", "resnet18": "resnet18_cifar", "bert": "bert"}
PROVEN = 1e-6
ORACLE_GRAPHS = 3000
CBC_LIMIT_S = 120.0
CBC_CASES = (("vgg16", "m4", 75), ("vgg16", "m0", 50), ("resnet18", "m4", 50))


@dataclass(frozen=True)
class Case:
    """One solve: the gap that is wanted within seconds."""

    style: str
    net: str
    profile: str
    percent: int
    seconds: float
    gap: float = PROVEN
    stop: float = PROVEN  # gap at which the solver may end

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
    Case("chain", "resnet18", "m4", 20, 300, 2e-3, 2e-3),
    Case("chain", "bert", "m0", 50, 180),
    Case("chain", "bert", "m0", 30, 180),
    Case("chain", "bert", "m4", 50, 600, 1.2e-3),
    Case("chain", "bert", "m4", 30, 600, 1.2e-3),
    *(Case("autodiff", net, board, 50, 120)
      for net in ("vgg16", "resnet18") for board in ("m4", "m0", "a72")),
    *(Case("autodiff", "resnet18", board, 25, 300, 1e-2) for board in ("m4", "m0", "a72")),
]  # fmt: skip
REFERENCE = {100: 0.000457095, 60: 0.000459423}


GAPS_AFTER = (("gap_60s", 0, 60), ("gap_60_cpu_s", 1, 60), ("gap_600s", 0, 600))
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
            history.append(
                [round(progress.seconds, 2), used, progress.energy, progress.lower_bound]
            )

    limit = 0.97 * case.seconds * STRETCH  # the solver looks at the clock now and then only
    answer = solve(graph, Budget(ram), time_limit=limit, gap=case.stop, progress=note)
    result = {
        "seconds": round(answer.seconds, 2),
        "energy": answer.energy,
        "lower_bound": answer.lower_bound,
        "gap": answer.gap,
        "valid": answer.verdict.valid,
        "proven": answer.gap <= PROVEN,
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "ram_bytes": ram,
        "raised_to_smallest_feasible": ram > asked,
        "everything_kept_bytes": everything_kept(graph),
        "everything_kept_energy": sum(node.compute_energy for node in graph.nodes),
        "limit_s": limit,
        "load": round(os.getloadavg()[0], 1),
    }
    if case.seconds > 180:
        history.append(
            [result["seconds"], result["cpu_seconds"], answer.energy, answer.lower_bound]
        )
        for key, clock, most in GAPS_AFTER:
            early = [row for row in history if row[clock] <= most]
            result[key] = 1 - early[-1][3] / early[-1][2] if early else 1.0
        result["history"] = history[:: max(1, len(history) // 40)]
    return result


def oracle():
    """Solver against exhaustive search on random graphs."""
    began = time.monotonic()
    tally = compare(range(10_000, 10_000 + ORACLE_GRAPHS))
    feasible = tally.problems - tally.infeasible
    return {
        "graphs": tally.problems,
        "infeasible": tally.infeasible,
        "differ": len(tally.faults),
        "faults": list(tally.faults),
        "free_order_better": tally.free_order_better / feasible,
        "free_order_fits": tally.free_order_fits / max(tally.infeasible, 1),
        "seconds": round(time.monotonic() - began, 1),
    }


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
            "known": known,
            "paper_cbc": published.energy,
            "paper_scaled": scaled.energy,
            "ours": ours.energy,
            "ours_over_paper": ours.energy / scaled.energy,
            "error": abs(published.energy - known) / known,
        }
    return result


def cbc(net, profile, percent, ours):
    """The paper's formulation with CBC on one case, with a limit."""
    graph = network_graph(NETS[net], profile, recompute_gradients=True)
    ram = max(int(percent / 100 * forward_bytes(graph)), operator_need(graph)[0])
    began = time.monotonic()
    answer = solve_paper(graph, Budget(ram), solver="cbc", time_limit=CBC_LIMIT_S)
    seconds = time.monotonic() - began
    solved = answer.status == "optimal"
    valid = answer.verdict is not None and answer.verdict.valid
    result = {
        "status": answer.status,
        "solved": solved,
        "seconds": round(seconds, 1),
        "limit_s": CBC_LIMIT_S,
        "energy": answer.energy,
        "valid": valid,
        "ours_seconds": ours,
    }
    shown = seconds if solved else min(seconds, CBC_LIMIT_S)
    result["ratio" if solved else "ratio_at_least"] = shown / ours
    return result


def run_cbc(chosen):
    """Run the cases against CBC; ratio_cbc is the largest ratio, shown or at least that."""
    for net, profile, percent in CBC_CASES:
        result = load()
        name = f"cbc.{net}.{profile}.{percent}"
        ours = common.look_up(result, f"solve.{net}.{profile}.{percent}.seconds")
        if chosen(name) and ours:
            found = stamped(cbc(net, profile, percent, ours))
            result = put(name, found)
            print(name, found["status"], "after", found["seconds"], "s; ours", ours, flush=True)
    cases = [
        common.look_up(load(), ".".join(("cbc", net, profile, str(percent))))
        for net, profile, percent in CBC_CASES
    ]
    ratios = [
        (case.get("ratio") or case["ratio_at_least"], case["solved"])
        for case in cases
        if case and "solved" in case
    ]
    if ratios:
        put("ratio_cbc", max(ratios)[0])
        put("ratio_cbc_is_a_lower_bound", not max(ratios)[1])


_NINES = [range(start, start + 400) for start in range(20_000, 22_000, 400)]
_WRONG = ("false_optimum", "false_infeasible", "wrong_smallest", "no_answer")
# name -> (network, style) or file, and RAM in bytes or as a share of keeping everything
_KNOWN = {
    "resnet18_m4_20": (("resnet18_cifar", "chain"), 490_752, 0.586774004),
    "bert_m4_15": (("bert", "chain"), 57_566_822, 106.537904),
    "resnet18_reverse_m4_25": (("resnet18_cifar", "autodiff"), 388_096, 0.615397312),
    "bert_m4_30": (("bert", "chain"), 115_133_644, 99.4069772),
    "bert_m4_50": (("bert", "chain"), 191_889_408, 97.1551065),
    "resnet8_m4_25": (("resnet8_cifar", "chain"), 269_376, None),
    "mobilenetv2_50": ("mobilenetv2", 0.5, None),
    "transformer24_30": ("transformer24", 0.3, None),
    "resnet101_30": ("resnet101", 0.3, None),
    "resnet152_50": ("resnet152", 0.5, None),
}
FIRST = (
    ("resnet18", "resnet18_m4_20"),
    ("mobilenetv2", "mobilenetv2_50"),
    ("resnet152", "resnet152_50"),
)
EXCESS6 = ("resnet18_m4_20", "bert_m4_15", "resnet18_reverse_m4_25")
GAPS = (
    ("resnet18_m4_20", 60),
    ("resnet18_m4_20", 300),
    ("resnet18_reverse_m4_25", 45),
    ("resnet18_reverse_m4_25", 300),
    ("bert_m4_30", 600),
    ("bert_m4_50", 600),
    ("mobilenetv2_50", 120),
    ("transformer24_30", 300),
    ("resnet101_30", 300),
    ("resnet152_50", 300),
)


def posed(name):
    """(graph, budget) of a known case, or None where its file is not there."""
    source, ram, _ = _KNOWN[name]
    if isinstance(source, str):
        path = Path(os.environ.get("POET_GRAPHS", "")) / f"{source}.json"
        if not path.is_file():
            return None
        graph = from_json(json.loads(path.read_text()))[0]
    else:
        graph = network_graph(source[0], "m4", source[1])
    ram = int(ram * everything_kept(graph)) if ram < 1 else ram
    return graph, Budget(max(ram, operator_need(graph)[0]))


def first(name):
    """Seconds until there is a valid plan."""
    graph, budget = posed(name)
    seen, began = [], time.monotonic()

    def note(progress):
        if progress.energy is not None and not seen:
            seen.append(time.monotonic() - began)

    answer = solve(graph, budget, cpu_limit=1.0, progress=note)
    return {"seconds": round(seen[0], 3), "valid": answer.verdict.valid}


def limited(name, seconds, **options):
    """What a solve came to in so many seconds of computing."""
    graph, budget = posed(name)
    answer = solve(graph, budget, cpu_limit=seconds, threads=2, **options)
    return {
        "energy": answer.energy,
        "lower_bound": answer.lower_bound,
        "gap": answer.gap,
        "proven": answer.proven,
        "ended": answer.ended,
        "ram_bytes": budget.ram_bytes,
        "tensors": len(graph.nodes),
        "cpu_seconds": round(answer.cpu_seconds, 2),
        "seconds": round(answer.seconds, 1),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
    }


def run_known(chosen):
    """First plans, excess after 6 s, gaps and the proof; details stand beside the figures."""
    for key, name in FIRST:
        if chosen(f"first.{key}") and posed(name):
            put(f"first.{key}", stamped(first(name)))
    for name in EXCESS6:
        if chosen(f"excess6_details.{name}"):
            found = limited(name, 6)
            put(f"excess6_details.{name}", stamped(found))
            put(f"excess6.{name}", found["energy"] / _KNOWN[name][2] - 1)
    for name, seconds in GAPS:
        if chosen(f"gap_details.{name}.{seconds}") and posed(name):
            found = limited(name, seconds)
            put(f"gap_details.{name}.{seconds}", stamped(found))
            put(f"gap.{name}.{seconds}", found["gap"])
            print(name, seconds, found, flush=True)
    if chosen("proof_details.resnet8_m4_25"):
        found = limited("resnet8_m4_25", 120)
        put("proof_details.resnet8_m4_25", stamped(found))
        put("proof_s.resnet8_m4_25", found["cpu_seconds"] if found["proven"] else None)


def run_oracle9(chosen):
    """Nine tensors in reverse mode with skips, against exhaustive search, slice by slice."""
    for seeds in _NINES:
        name = f"oracle9_slices.{seeds.start}"
        if chosen(name):
            cpu = time.process_time()
            tally = compare_nines(seeds)
            found = {**vars(tally), "faults": list(tally.faults)}
            found["cpu_seconds"] = round(time.process_time() - cpu, 1)
            put(name, stamped(found))
            print(name, found, flush=True)
    slices = load().get("oracle9_slices", {}).values()
    if slices:
        counts = ("graphs", "feasible", *_WRONG)
        put("oracle9", {key: sum(part[key] for part in slices) for key in counts})


def inputs():
    """Hash of what a measurement depends on: the planner's sources, cost tables, this file."""
    root = repository()
    files = [
        *(root / "host" / "acclimate_host" / "poet").glob("*.[pc]*"),
        root / "bench/poet.py",
        root / "bench/poet_random.py",
        *(root / "boards").rglob("costs/*.toml"),
    ]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def stamped(found):
    """The result with the commit and the hash of its inputs."""
    asked = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=repository(), capture_output=True, text=True
    )
    return dict(found, commit=asked.stdout.strip(), inputs=inputs())


def is_wanted(wanted, name, result):
    """Whether a case runs: named, or nothing is named and it is missing or of other inputs."""
    if wanted:
        return any(name.startswith(start) for start in wanted)
    held = common.look_up(result, name)
    return not held or held.get("inputs") != inputs()


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
            found.append((case.name + ".gap_60s", "<=", 3e-3))
            found.append((case.name + ".gap_60_cpu_s", "<=", 3e-3))
            found.append((case.name + ".gap_600s", "<=", 1.2e-3))
    found += [
        ("oracle.differ", "=", 0),
        ("oracle.free_order_better", None, None),
        ("oracle.free_order_fits", None, None),
        ("ratio_cbc", None, None),
    ]
    found += [(f"oracle9.{key}", "=", 0) for key in _WRONG]
    found += [(f"first.{key}.seconds", "<=", 2.0) for key, _ in FIRST]
    most = dict(zip(EXCESS6, (3e-3, 1e-3, 2e-3), strict=True))
    found += [(f"excess6.{name}", "<=", most[name]) for name in EXCESS6]
    found += [(f"gap.{name}.{seconds}", None, None) for name, seconds in GAPS]
    found.append(("proof_s.resnet8_m4_25", "<=", 4.0))
    for percent in REFERENCE:
        found.append((f"reference.{percent}.error", "<=", 1e-5))
        found.append((f"reference.{percent}.ours_over_paper", "<=", 1 + 1e-6))
    return found


def main(wanted=()):
    """Measure the cases whose names start with one of `wanted`; without, what is missing."""

    def chosen(name):
        return is_wanted(wanted, name, load())

    put("accounting", " ".join(__doc__.split()))
    if chosen("oracle"):
        put("oracle", stamped(oracle()))
    run_oracle9(chosen)
    run_known(chosen)
    if chosen("reference"):
        put("reference", stamped(reference()))
    for case in CASES:
        if chosen(case.name):
            found = run_case(case)
            put(case.name, stamped(found))
            print(case.name, found["seconds"], "s, gap", found["gap"], flush=True)
    run_cbc(chosen)
    result = load()
    missed = common.table("planner", result, rows())
    print(f"  wrote {common.write('poet', result)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
