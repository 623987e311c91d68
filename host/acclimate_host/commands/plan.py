# SPDX-License-Identifier: MIT
"""``acclimate plan``: the training schedule of least energy for a board's RAM, one or many."""

import json
import os
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from acclimate_host.commands import progress, table, write_text
from acclimate_host.errors import AcclimateError
from acclimate_host.poet import baselines, networks, sweep
from acclimate_host.poet.evaluate import CLOCKS
from acclimate_host.poet.graphs import STYLES
from acclimate_host.poet.models import amount, cost_table, deadline, planning_graph, whole
from acclimate_host.poet.problem import Budget, PlanError, to_json


def add_arguments(parser):
    parser.add_argument("model", help="a .json problem, .onnx or .tflite file, or one of "
                        + ", ".join(networks.names()))  # fmt: skip
    add = parser.add_argument
    add("--board", default="m4", metavar="B", help="cost table, its .toml file, or a board (m4)")
    add("--ram", default="50%", help="bytes as 100k, or percent of keeping everything (50%%)")
    add("--deadline", metavar="D", help="as 1.5x of computing everything once, or 2.5s")
    add("--clock", choices=CLOCKS, default="serial", help="what the deadline counts (serial)")
    add("--storage", metavar="BYTES", help="for pages; 0: recompute only")
    add("--method", default="poet", help="poet, or a published one: "
        + ", ".join(baselines.names()[1:]))  # fmt: skip
    add("--style", choices=STYLES, default="chain", help="backward pass of the named networks")
    add("--time-limit", type=float, metavar="S", help="of an exact solve, in seconds")
    add("--out", metavar="FILE", help="write problem, plan and claim (or the sweep) as JSON")
    add("--picture", metavar="FILE", help="draw the schedule (or the sweep), .svg or .png")
    add("--sweep", action="append", default=[], metavar="KEY=A,B,...",
        help="ram=25%%,50%% or ram=100k..400k:4, board=..., method=...; may be repeated")
    add("--workers", type=int, default=0, metavar="N", help="processes of a sweep (all cores)")
    add("--dask", metavar="ADDRESS", help="run a sweep on this Dask cluster")


def run(args):
    for name in (args.out, args.picture):
        if name and (Path(name).is_dir() or not Path(name).absolute().parent.is_dir()):
            raise AcclimateError(f"no folder for {name}, or it is one itself")
    if args.picture and Path(args.picture).suffix not in (".svg", ".png"):
        raise AcclimateError(f"--picture {args.picture}: expected a name in .svg or .png")
    if args.time_limit is not None and not args.time_limit > 0:
        raise AcclimateError(f"--time-limit {args.time_limit}: expected more than 0 seconds")
    return _sweep(args) if args.sweep else _one(args)


def _one(args):
    costs = cost_table(args.board)
    graph = planning_graph(args.model, costs, args.style)
    storage = None if args.storage is None else amount(args.storage, graph, "storage")
    budget = Budget(amount(args.ram, graph), deadline(args.deadline, graph), storage)
    options = {}
    if args.method in baselines.SOLVED:
        options = {"time_limit": args.time_limit, "progress": _show}
    outcome = baselines.run(args.method, graph, budget, args.clock, **options)
    progress("")
    if outcome.plan is None:
        raise PlanError(outcome.fault)
    print(f"{args.model} on {costs.title} ({costs.kind} costs), {len(graph.nodes)} tensors")
    table(_rows(graph, budget, outcome), ("", "plan", "keeping all"))
    if args.out:
        data = to_json(graph, budget, outcome.plan, _claim(outcome))
        write_text(args.out, json.dumps(data, indent=1) + "\n")
        print(f"written to {args.out}")
    if args.picture:
        from acclimate_host.plots_plan import schedule

        title = f"{args.model}, {budget.ram_bytes:,} bytes of RAM, {costs.title}"
        schedule(Path(args.picture), graph, outcome.plan, budget, title)
        print(f"drawn in {args.picture}")
    return 0


def _claim(outcome):
    verdict = outcome.verdict
    return {"energy": verdict.energy, "peak_ram": verdict.peak_ram, "time": verdict.serial_time,
            "lower_bound": outcome.lower_bound, "proven": outcome.proven}  # fmt: skip


def _rows(graph, budget, outcome):
    verdict, full = outcome.verdict, whole(graph)
    kinds = [kind for kind, _ in outcome.plan]
    again = kinds.count("compute") - len(graph.nodes)
    if outcome.lower_bound is None:
        bound = "-"
    else:
        gap = max(0.0, 1 - outcome.lower_bound / verdict.energy) if verdict.energy else 0.0
        bound = "proven optimal" if outcome.proven else f"at most {100 * gap:.2g} % above optimum"
    return [
        ("energy, J", f"{verdict.energy:.6g}", f"{full.energy:.6g}"),
        ("time one after the other, s", f"{verdict.serial_time:.6g}", f"{full.serial_time:.6g}"),
        ("time with pages beside, s", f"{verdict.overlapped_time:.6g}", ""),
        ("peak RAM, bytes", f"{verdict.peak_ram:,} of {budget.ram_bytes:,}", f"{full.peak_ram:,}"),
        ("computed again", str(again), "0"),
        ("pages out / in", f"{kinds.count('pageout')} / {kinds.count('pagein')}", "0 / 0"),
        ("written to storage, bytes", f"{verdict.written_bytes:,}", "0"),
        ("optimality", bound, ""),
    ]  # fmt: skip


def _show(state):
    energy = "-" if state.energy is None else f"{state.energy:.6g} J"
    bound = "-" if state.lower_bound is None else f"{state.lower_bound:.6g} J"
    gap = "-" if state.gap is None else f"{100 * state.gap:.2g} %"
    eta = "" if state.eta_s is None else f", about {state.eta_s:.0f} s to go"
    progress(f"{state.seconds:.0f} s, {state.phase}: best {energy}, bound {bound}, gap {gap}{eta}")


# ---- sweeps --------------------------------------------------------------------------------


def _sweep(args):
    defaults = {"ram": args.ram, "board": args.board, "method": args.method}
    values = sweep.parse(args.sweep, defaults)
    todo = sweep.tasks(args.model, values, style=args.style, deadline=args.deadline,
                       storage=args.storage, clock=args.clock, time_limit=args.time_limit)
    _check(todo[0])
    with _executor(args, len(todo)) as executor:
        rows = sweep.run(todo, executor, lambda done, all: progress(f"{done} of {all} plans"))
    progress("")
    table([_line(row) for row in rows], ("board", "method", "RAM", "energy", "time, s", "note"))
    if args.out:
        write_text(args.out, json.dumps(rows, indent=1) + "\n")
        print(f"written to {args.out}")
    if args.picture:
        from acclimate_host.plots_plan import pareto

        pareto(Path(args.picture), rows, f"{args.model}: energy against RAM")
        print(f"drawn in {args.picture}")
    return 0


def _check(task):
    """Refuse what every task would refuse, before any worker starts."""
    graph = planning_graph(task.model, cost_table(task.board), task.style)
    amount(task.ram, graph)
    deadline(task.deadline, graph)


def _line(row):
    if "fault" in row:
        return (row["board"], row["method"], f"{row['ram_bytes']:,}", "-", "-", row["fault"])
    over = 100 * (row["energy"] / row["full_energy"] - 1) if row["full_energy"] else 0.0
    note = f"{over:+.2f} % energy" + (", proven" if row["proven"] else "")
    return (row["board"], row["method"], f"{row['ram_bytes']:,}", f"{row['energy']:.6g} J",
            f"{row['time']:.5g}", note)  # fmt: skip


@contextmanager
def _executor(args, count):
    if args.dask:
        with _dask(args.dask) as client:
            yield client.get_executor()
        return
    if args.workers < 0:
        raise AcclimateError(f"--workers {args.workers}: expected 1 or more")
    workers = min(count, args.workers or os.cpu_count() or 1)
    if workers == 1:
        yield None
        return
    with ProcessPoolExecutor(workers) as executor:
        yield executor


@contextmanager
def _dask(address):
    try:
        from distributed import Client
    except ImportError:
        raise AcclimateError("--dask needs distributed; pip install acclimate[dask]") from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AcclimateError(f"--dask {address}: no cluster answers ({first})") from None
    try:
        yield client
    finally:
        client.close()
