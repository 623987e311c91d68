# SPDX-License-Identifier: MIT
"""The pictures of docs/schedules.md, from out/bench/poet_paper.json and one solve.

python -m bench.poet_pictures docs/images
"""

import json
import sys
from pathlib import Path

from acclimate_host.errors import AcclimateError
from acclimate_host.paths import built
from acclimate_host.plots.schedule import bars, pareto, schedule
from acclimate_host.poet.graphs import network_graph
from acclimate_host.poet.problem import Budget
from bench.poet_paper import full

NET, TABLE, PERCENT, SECONDS = "resnet18_cifar", "m4", 20, 30


def rows(runs, net):
    """Rows for a picture of energy against RAM, of one network's runs."""
    found = []
    for key, entries in runs.items():
        name, table, percent = key.rsplit(".", 2)
        if name != net:
            continue
        for method, entry in entries.items():
            row = {"board": table, "method": method, "ram_bytes": int(percent), "full_ram": 100}
            if "energy" in entry:
                row.update(energy=1 + entry["over_full"], full_energy=1)
            found.append(row)
    return found


def groups(runs, methods, nets):
    """{case: {method: percent over keeping everything, or None}}, in order of table and RAM."""
    found = {}
    for key in sorted(runs, key=lambda key: (key.rpartition(".")[0], int(key.rpartition(".")[2]))):
        net, table, percent = key.rsplit(".", 2)
        if net in nets and int(percent) < 75:
            name = f"{net.removesuffix('_cifar')}\n{table}\n{percent} %"
            found[name] = {
                m: 100 * runs[key][m]["over_full"] if "over_full" in runs[key][m] else None
                for m in methods
            }
    return found


def main(folder):
    path = built("bench", "poet_paper.json")
    if not path.exists():
        raise AcclimateError(f"no {path}; run: make bench NAME=poet_paper")
    runs, folder = json.loads(path.read_text())["runs"], Path(folder)
    mine = [row for row in rows(runs, NET) if row["board"] in ("m4", "a72")]
    pareto(folder / "schedules_pareto.png", mine, "ResNet-18")
    methods = ("poet", "checkmate", "paging_only")
    bars(
        folder / "schedules_ablation.png",
        groups(runs, methods, (NET,)),
        methods,
        "Both means, or one alone",
    )
    methods, nets = ("poet", "capuchin"), (NET, "vgg16_cifar", "bert", "linear")
    bars(
        folder / "schedules_capuchin.png", groups(runs, methods, nets), methods, "Against Capuchin"
    )
    graph = network_graph(NET, TABLE)
    budget = Budget(full(graph).peak_ram * PERCENT // 100)
    plan = methods.run("poet", graph, budget, time_limit=SECONDS, gap=1e-3).plan
    schedule(
        folder / "schedules_plan.png",
        graph,
        plan,
        budget,
        f"ResNet-18 in {PERCENT} % of the RAM, nRF52840 with an SD card",
    )
    for picture in sorted(folder.glob("schedules_*")):
        print(f"{picture} ({picture.stat().st_size} bytes)")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
