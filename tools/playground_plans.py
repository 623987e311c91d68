# SPDX-License-Identifier: MIT
"""Solve the schedules that the page shows: each network at each share of RAM, as JSON.

usage: python tools/playground_plans.py RESULT
"""

import json
import sys
from pathlib import Path

from acclimate_host.plots.schedule import trace
from acclimate_host.poet import methods
from acclimate_host.poet.inputs import Task, whole

NETWORKS = {
    "linear": "six dense layers",
    "resnet8_cifar": "ResNet-8, images of 32 x 32",
}
SHARES = (100, 90, 80, 70, 60, 55, 50, 45, 40, 35, 30, 25, 20, 15)
SOLVE_S = 10


def plans():
    """Return what the page shows of schedules: per network, per RAM share, memory over steps."""
    found = {}
    for name, title in NETWORKS.items():
        plans = []
        for share in SHARES:
            problem, budget = Task(name, "m4", f"{share}%").posed()
            graph = problem.graph
            answer = methods.run("poet", graph, budget, "serial", time_limit=SOLVE_S)
            if answer.plan is None:
                plans.append({"share": share, "ram": budget.ram_bytes, "fault": answer.fault})
                continue
            plans.append(_shown(graph, budget, answer, share))
        full = whole(graph)
        found[name] = {
            "title": title,
            "tensors": [node.ram_bytes for node in graph.nodes],
            "full": {"ram": full.peak_ram, "energy": full.energy, "time": full.serial_time},
            "plans": plans,
        }
    return found


def _shown(graph, budget, answer, share):
    marks, spans, used = trace(graph, answer.plan)
    verdict = answer.verdict
    kinds = [kind for kind, _ in answer.plan]
    return {
        "share": share,
        "ram": budget.ram_bytes,
        "peak": verdict.peak_ram,
        "energy": verdict.energy,
        "time": verdict.serial_time,
        "again": kinds.count("compute") - len(graph.nodes),
        "out": kinds.count("pageout"),
        "in": kinds.count("pagein"),
        "proven": bool(answer.proven),
        "marks": [[kind, tensor] for kind, tensor, _ in marks],
        "spans": spans,
        "used": used,
    }


def main(result):
    Path(result).parent.mkdir(parents=True, exist_ok=True)
    Path(result).write_text(json.dumps(plans(), separators=(",", ":")))
    print(f"built {result}")


if __name__ == "__main__":
    main(*sys.argv[1:])
