# SPDX-License-Identifier: MIT
"""The POET paper's claims from running code: every method, one evaluator, many RAM limits.

Energies and times are those of the published cost tables (boards/costs), not measured; the
backward pass is the paper's chain style; a step's time is computation and paging one after the
other. RAM is given in percent of what keeping everything takes. Exact methods stop at a gap of
0.1 % or after `--seconds`; each entry keeps its proven bound. A plan that one means alone gave and
that beats what both gave in that time counts as ours too (`found_by`).

    python -m bench.poet_paper                      # all cases, continuing what is there
    python -m bench.poet_paper --cases bert. --seconds 60 --anew
"""

import argparse
import json
import sys

from acclimate_host.paths import built
from acclimate_host.poet import methods
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.graphs import network_graph
from acclimate_host.poet.problem import Budget
from bench import common, poet_program
from bench.papers.poet import claims, traits

CASES = (
    *(f"resnet18_cifar.{table}.{p}" for table in ("m4", "a72") for p in (15, 30, 50, 20)),
    "resnet18_cifar.m0.15",
    "vgg16_cifar.m4.50",
    "vgg16_cifar.m4.75",
    "vgg16_cifar.a72.50",
    "bert.m4.30",
    "bert.m4.10",
    "bert.tx2.30",
    "bert.tx2.10",
    "linear.m4.50",
    "linear.m4.60",
    "linear.m4.75",
    "linear.a72.50",
)
AGAINST_POFO = (
    ("resnet18_cifar", "a72"),
    ("vgg16_cifar", "a72"),
    ("bert", "a72"),
    ("resnet18_cifar", "tx2"),
)
GAP = 1e-3
TARGETS = [
    ("claims.fig3.here.saving", ">=", 0.35),
    ("claims.fig4.here.paging_only.saving", None, None),
    ("claims.fig4.here.recompute_only.saving", None, None),
    ("claims.fig5.verdict", None, None),
    ("claims.table1.verdict", None, None),
    ("claims.table3.verdict", None, None),
    ("claims.memory_2x.verdict", None, None),
    ("program.added_bytes", "<=", 1024),
    ("program.overhead", "<=", 0.01),
    ("program.overhead_with_load", "<=", 0.01),
    ("program.load_instructions", None, None),
    ("program.encode_seconds", None, None),
]


def full(graph):
    """The verdict on keeping everything, without a limit."""
    return methods.run("keep_all", graph, Budget(1 << 62)).verdict


def run_case(case, seconds):
    """{method: entry} of one case."""
    net, table, percent = case.rsplit(".", 2)
    graph = network_graph(net, table)
    whole = full(graph)
    budget = Budget(whole.peak_ram * int(percent) // 100)
    entries = {}
    for name in methods.NAMES:
        options = dict(time_limit=seconds, gap=GAP) if name in methods.SOLVED else {}
        outcome = methods.run(name, graph, budget, **options)
        entry = {"seconds": round(outcome.seconds, 2)}
        if outcome.plan is None:
            entry["fault"] = outcome.fault
        else:
            verdict = outcome.verdict
            entry.update(
                energy=verdict.energy,
                time=verdict.serial_time,
                peak_ram=verdict.peak_ram,
                over_full=verdict.energy / whole.energy - 1,
                proven=outcome.proven,
                lower_bound=outcome.lower_bound,
            )
        entries[name] = entry
    return _at_least_the_parts(entries)


def _at_least_the_parts(entries):
    """A plan with both means may use one alone: take over what such a solve found, if better."""
    ours = entries["poet"]
    for name in ("checkmate", "paging_only"):
        part = entries[name]
        if part.get("energy", float("inf")) < ours.get("energy", float("inf")):
            for key in ("energy", "time", "peak_ram", "over_full"):
                ours[key] = part[key]
            ours["found_by"] = name
            ours.pop("fault", None)
            ours.setdefault("proven", False)
            ours.setdefault("lower_bound", None)
    return entries


def against_pofo(net, table, seconds):
    """POFO at 60 % of RAM, and our plan of least time with 8.3 % less than its peak."""
    graph = network_graph(net, table)
    theirs = methods.run("pofo", graph, Budget(full(graph).peak_ram * 60 // 100))
    if theirs.plan is None:
        return None
    ram = int(theirs.verdict.peak_ram * (1 - 0.083))
    ours = methods.run("poet", methods.by_time(graph), Budget(ram), time_limit=seconds, gap=GAP)
    if ours.plan is None:
        return None
    mine = evaluate(graph, Budget(ram), ours.plan)
    return {
        "pofo": (theirs.verdict.serial_time, theirs.verdict.peak_ram),
        "ours": (mine.serial_time, mine.peak_ram),
    }


def judged(result):
    """Add the claims to a result."""
    runs = {key: entry for key, entry in result["runs"].items()}
    found = {
        "fig3": claims.fig3(runs),
        "fig4": claims.fig4(runs),
        "fig5": claims.fig5(runs),
        "memory_2x": claims.halved(runs),
    }
    if result.get("pofo"):
        found["table3"] = claims.table3(result["pofo"])
    if result.get("traits"):
        found["table1"] = claims.table1(result["traits"])
    for claim in found.values():
        if claim["verdict"] == claims.NOT:
            claim.setdefault("reason", "not reached in the cases that ran")
    result["claims"] = {**found, **claims.OFFLINE}
    return result


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default="", help="only cases that begin so; comma between")
    parser.add_argument("--seconds", type=float, default=12.0, help="limit of each exact solve")
    parser.add_argument("--anew", action="store_true", help="solve again what is there")
    args = parser.parse_args(argv)
    path = built("bench", "poet_paper.json")
    result = json.loads(path.read_text()) if path.exists() else {}
    result.setdefault("runs", {})
    result.setdefault("pofo", {})
    result["accounting"] = " ".join(__doc__.split("\n\n")[1].split())
    wanted = tuple(args.cases.split(","))
    if "traits" not in result or args.anew:
        result["traits"] = traits.table()
        common.write("poet_paper", judged(result))
    for case in CASES:
        if case.startswith(wanted) and (args.anew or case not in result["runs"]):
            result["runs"][case] = run_case(case, args.seconds)
            common.write("poet_paper", judged(result))
            print(f"  {case}: done", flush=True)
    for net, table in AGAINST_POFO:
        key = f"{net}.{table}"
        if key.startswith(wanted) and (args.anew or key not in result["pofo"]):
            pair = against_pofo(net, table, args.seconds)
            if pair:
                result["pofo"][key] = pair
            common.write("poet_paper", judged(result))
    if "program" not in result or args.anew:
        result["program"] = poet_program.measure()
        common.write("poet_paper", judged(result))
    missed = common.table("the paper's claims", result, TARGETS)
    for name, claim in result["claims"].items():
        why = f" ({claim['reason']})" if claim["verdict"] == claims.NOT else ""
        print(f"  {name}: {claim['verdict']}: {claim['paper']}{why}")
    print(f"  wrote {path}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
