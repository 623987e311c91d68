# SPDX-License-Identifier: MIT
"""``acclimate plan``: the training schedule of least energy for a board's RAM, one or many."""

import json
import signal
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from acclimate_host.commands import check_output, check_picture, progress, table, write_text
from acclimate_host.commands.plan_parameters import paged_plan
from acclimate_host.commands.plan_sweep import run_sweep
from acclimate_host.errors import AcclimateError
from acclimate_host.paths import paper_code
from acclimate_host.poet import highs, methods, networks
from acclimate_host.poet.answer import optimality
from acclimate_host.poet.evaluate import CLOCKS, evaluate
from acclimate_host.poet.graphs import STYLES
from acclimate_host.poet.inputs import Problem, Task, cost_table, whole
from acclimate_host.poet.problem import PlanError, to_json
from acclimate_host.poet.solver_check import try_solver

_WITHOUT_HIGHS = (
    "plans come from the heuristic, without HiGHS; for proofs: pip install 'acclimate[plan]'"
)


def add_arguments(parser):
    parser.add_argument(
        "model",
        help="a .json problem, .onnx or .tflite file, or one of " + ", ".join(networks.names()),
    )
    add = parser.add_argument
    add("--board", default="m4", metavar="B", help="cost table, its .toml file, or a board (m4)")
    add("--ram", help="bytes as 100k, or percent of keeping everything (the file's, or 50%%)")
    add("--deadline", metavar="D", help="as 1.5x of computing everything once, or 2.5s")
    add("--clock", choices=CLOCKS, help="what the deadline counts (serial)")
    add("--storage", metavar="BYTES", help="for pages; 0: recompute only")
    add(
        "--erases",
        type=int,
        metavar="N",
        help="blocks of flash that a step may erase; their size is the cost table's",
    )
    add(
        "--method",
        default="poet",
        help="poet, or a published one: " + ", ".join(methods.NAMES[1:]),
    )
    add(
        "--solver",
        default="highs",
        metavar="S",
        help="of an exact method: highs, cbc, cpsat, "
        "greedy, or with --formulation paper any that PuLP lists (highs)",
    )
    add(
        "--formulation",
        choices=("exact", "paper"),
        default="exact",
        help="paper: Algorithms 1 and 2 of POET, whose plan may break the limits (exact)",
    )
    add(
        "--order",
        choices=("given", "free"),
        default="given",
        help="free: nodes may first be computed in another order than given",
    )
    add("--style", choices=STYLES, default="chain", help="backward pass of the named networks")
    add(
        "--resident",
        action="store_true",
        help="count the named networks' parameters and their gradients as well",
    )
    add(
        "--page-parameters",
        nargs="?",
        const=0.0,
        type=float,
        metavar="STATE",
        help="named networks, reverse mode: parameters, and STATE bytes of optimizer state for "
        "each of their bytes (0), stay in RAM or are read from storage and written back",
    )
    add(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="length of an open dimension of an .onnx file; may be repeated",
    )
    add("--check", action="store_true", help="judge the plan in a .json file instead of planning")
    add("--time-limit", type=float, metavar="S", help="of a solve, in seconds")
    add("--cpu-limit", type=float, metavar="S", help="of a solve, in seconds of all processors")
    add("-o", "--out", metavar="FILE", help="write problem, plan and claim (or the sweep) as JSON")
    add("--picture", metavar="FILE", help="draw the schedule (or the sweep), .svg or .png")
    add(
        "--sweep",
        action="append",
        default=[],
        metavar="KEY=A,B,...",
        help="ram=25%%,50%% or ram=100k..400k:4, deadline=1.1x..2x:4, board=..., method=...; "
        "may be repeated",
    )
    add("--bars", metavar="FILE", help="draw a sweep's methods side by side, .svg or .png")
    add("--workers", type=int, default=0, metavar="N", help="processes of a sweep (all cores)")
    add("--dask", metavar="ADDRESS", help="run a sweep on this Dask cluster")


@dataclass(frozen=True)
class Made:
    """A plan to show and to write: lines about it, and rows of (figure, plan, keeping all)."""

    said: tuple
    rows: tuple = ()
    plan: tuple = ()
    claim: dict = field(default_factory=dict)


def run(args):
    _refuse(args)
    task = _task(args)
    if args.dim and Path(args.model).suffix != ".onnx":
        raise AcclimateError("--dim is for an .onnx file with open dimensions")
    if args.formulation == "exact" and args.solver != "greedy" and not highs.available():
        print(_WITHOUT_HIGHS, file=sys.stderr)
    with _ctrl_c() as pressed:
        if args.sweep:
            return run_sweep(args, task, pressed)
        if args.page_parameters is not None:
            problem, budget, made = _by_parameters(args, task)
        else:
            problem, budget = task.posed()
            if problem.note:
                print(problem.note)
            made = _maker(args)(args, task, problem, budget)
        if pressed():
            print("interrupted: this is the best plan until then")
    for line in made.said:
        print(line)
    if made.rows:
        table(made.rows, ("", "plan", "keeping all"))
    if made.plan:
        args.result = to_json(problem.graph, budget, made.plan, made.claim)
        _write(args, problem.graph, budget, made)
    return 0


def _refuse(args):
    """Raise AcclimateError for what no plan could satisfy, before any is made."""
    check_output(args.out)
    check_picture("picture", args.picture)
    check_picture("bars", args.bars)
    if args.bars and not args.sweep:
        raise AcclimateError("--bars draws a sweep; give --sweep method=A,B")
    for option, limit in (("time", args.time_limit), ("cpu", args.cpu_limit)):
        if limit is not None and not limit > 0:
            raise AcclimateError(f"--{option}-limit {limit}: expected more than 0 seconds")
    if args.sweep and args.check:
        raise AcclimateError("--check judges one plan; leave out --sweep")
    if args.resident and Path(args.model).suffix in (".json", ".onnx", ".tflite"):
        raise AcclimateError("--resident is for the named networks: a file says what stays in RAM")
    if args.page_parameters is not None and (args.sweep or args.check):
        raise AcclimateError("--page-parameters makes one plan; leave out --sweep and --check")
    if args.erases is not None and args.erases < 0:
        raise AcclimateError(f"--erases {args.erases}: expected 0 or more")


def _task(args):
    """Return the Task that the arguments name; a sweep varies what it names."""
    return Task(
        args.model,
        args.board,
        args.ram,
        args.method,
        style=args.style,
        deadline=args.deadline,
        storage=args.storage,
        clock=args.clock or "serial",
        resident=args.resident,
        dims=tuple(map(_dim, args.dim)),
        erases=args.erases,
        options=_options(args),
    )


def _dim(word):
    name, sign, value = word.partition("=")
    if not sign or not value.isdecimal() or not int(value):
        raise AcclimateError(f"--dim {word}: expected NAME=N, N from 1")
    return name, int(value)


def _options(args):
    """Options of the exact methods; what is as it is without being named stays away."""
    named = {"order": args.order, "solver": args.solver, "formulation": args.formulation}
    usual = {"order": "given", "solver": "highs", "formulation": "exact"}
    found = {key: value for key, value in named.items() if value != usual[key]}
    if found and args.method not in methods.SOLVED:
        raise AcclimateError(
            f"--{next(iter(found))} is for {', '.join(methods.SOLVED)}, not {args.method}"
        )
    if args.formulation == "exact" and args.solver in ("cbc", "cpsat"):
        runs, why = try_solver(args.solver)  # also where the plan would not need it in the end
        if not runs:
            begin = "" if why.startswith("solver ") else f"solver {args.solver} cannot run: "
            raise AcclimateError(begin + why)
    if args.time_limit:
        found["time_limit"] = args.time_limit
    if args.cpu_limit:
        found["cpu_limit"] = args.cpu_limit
    return found


@contextmanager
def _ctrl_c():
    """Give what says whether Ctrl-C was pressed: a solve that it stops returns its best plan."""
    seen = []

    def note(signum, frame):
        seen.append(signum)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, before)


def _maker(args):
    """Return the function that makes what was asked for of a problem."""
    if args.check:
        return _checked
    return _by_paper if args.formulation == "paper" else _by_method


def _checked(args, task, problem, budget):
    """Execute the plan of a file with the evaluator and compare its claim."""
    if not problem.plan:
        raise PlanError(f"{args.model}: there is no plan to check")
    verdict = evaluate(problem.graph, budget, problem.plan, task.clock)
    if not verdict.valid:
        raise PlanError(f"the plan breaks the limits: {verdict.fault}")
    for key, value in _claim(verdict).items():
        claimed = problem.claim.get(key, value)
        number = isinstance(claimed, (int, float))
        if not number or abs(claimed - value) > 1e-9 * max(abs(value), 1e-300):
            raise PlanError(f"the claim is wrong: {key} is {claimed!r}; it is {value!r}")
    kept = f"{verdict.peak_ram:,} of {budget.ram_bytes:,} bytes"
    costs = f"{verdict.energy:.6g} J, {verdict.serial_time:.6g} s"
    return Made((f"the plan keeps the limits: {costs}, {kept}",))


def _by_paper(args, task, problem, budget):
    try:
        formulation = paper_code("poet.formulation")
    except AcclimateError as error:
        raise AcclimateError(f"--formulation paper: {error}") from None
    answer = formulation.answer(problem.graph, budget, args.solver, args.time_limit)
    verdict = evaluate(problem.graph, budget, answer.plan, "compute")
    words = "proven optimal" if answer.proven else "not proven"
    said = (
        f"Algorithm 1: {answer.energy:.6g} J ({words}), after {answer.seconds:.1f} s",
        "Algorithm 2, executed step by step: " + (verdict.fault or "keeps the limits"),
    )
    return Made(said, plan=answer.plan, claim=answer.claim())


def _by_parameters(args, task):
    """Return (Problem, budget, Made): the graph has the parameters that are paged as nodes."""
    found, kept, more = paged_plan(task, args.page_parameters, **task.options)
    answer, graph, budget = _of_all_choices(found), found.graph, found.budget
    rows = [row for row in _rows(graph, budget, answer, kept) if row[0] != more[0][0]]
    rows += [*more, ("optimality", answer.optimality, "")]
    costs = cost_table(task.board)
    said = f"{args.model}, reverse mode, on {costs.title} ({costs.kind} costs), "
    words = (f"{said}{len(graph.nodes)} tensors",)
    made = Made(words, tuple(rows), answer.plan, answer.claim())
    return Problem(graph), budget, made


def _of_all_choices(found):
    """Return the answer with the bound of all choices; its class is the one that was made."""
    space = "plans with these parameters in storage"
    proof = {"lower_bound": found.lower_bound, "proven": found.proven, "space": space}
    return replace(found.answer, **proof, class_proven=found.answer.proven)


def _by_method(args, task, problem, budget):
    graph, options = problem.graph, {}
    if task.method in methods.SOLVED:
        options = {**task.options, "progress": _shown(args.time_limit)}
    found = methods.run(task.method, graph, budget, task.clock, **options)
    progress("")
    if found.plan is None:
        raise PlanError(found.fault)
    costs = cost_table(task.board)
    of = f"{costs.title} ({costs.kind} costs)"
    if Path(args.model).suffix == ".json":
        of = "costs of the file"
    rows = _rows(graph, budget, found) + _wear(budget, found.verdict, costs)
    rows.append(("optimality", _bound(found), ""))
    proof = {
        name: getattr(found, name) for name in ("lower_bound", "proven", "class_proven", "space")
    }
    said = (f"{args.model} on {of}, {len(graph.nodes)} tensors",)
    return Made(said, tuple(rows), found.plan, {**_claim(found.verdict), **proof})


def _claim(verdict):
    return {
        "energy": verdict.energy,
        "peak_ram": verdict.peak_ram,
        "time": verdict.serial_time,
    }


def _write(args, graph, budget, made):
    if args.out:
        content = to_json(graph, budget, made.plan, made.claim)
        write_text(args.out, json.dumps(content, indent=1) + "\n")
        print(f"written to {args.out}")
    if args.picture:
        from acclimate_host.plots.schedule import schedule

        title = f"{args.model}, {budget.ram_bytes:,} bytes of RAM, {cost_table(args.board).title}"
        schedule(Path(args.picture), graph, made.plan, budget, title)
        print(f"drawn in {args.picture}")


def _rows(graph, budget, found, kept=None):
    verdict, full = found.verdict, kept or whole(graph)
    kinds = [kind for kind, _ in found.plan]
    again = kinds.count("compute") - len(graph.nodes)
    return [
        ("energy, J", f"{verdict.energy:.6g}", f"{full.energy:.6g}"),
        ("time one after the other, s", f"{verdict.serial_time:.6g}", f"{full.serial_time:.6g}"),
        ("time with pages beside, s", f"{verdict.overlapped_time:.6g}", ""),
        ("peak RAM, bytes", f"{verdict.peak_ram:,} of {budget.ram_bytes:,}", f"{full.peak_ram:,}"),
        ("computed again", str(again), "0"),
        ("pages out / in", f"{kinds.count('pageout')} / {kinds.count('pagein')}", "0 / 0"),
        ("written to storage, bytes", f"{verdict.written_bytes:,}", "0"),
    ]


def _bound(found):
    if found.lower_bound is None:
        return "-"
    return optimality(found.verdict.energy, found)


def _wear(budget, verdict, costs):
    """Rows on a page store that is erased in blocks, none without."""
    block, erased = budget.erase_block_bytes, verdict.erased_blocks
    rows = [("blocks erased in a step", f"{erased} of {block:,} bytes", "0")] if block else []
    cycles = costs.figures.get("store.endurance_cycles")
    if erased and cycles:
        rows.append((f"steps that {erased} blocks stand", f"{int(cycles):,}", ""))
    return rows


def _shown(limit):
    """What shows a Progress; until the solver guesses, at most `limit` seconds are to go."""

    def show(state):
        energy = "-" if state.energy is None else f"{state.energy:.6g} J"
        bound = "-" if state.lower_bound is None else f"{state.lower_bound:.6g} J"
        gap = "-" if state.gap is None else f"{100 * state.gap:.2g} %"
        eta = ""
        if state.eta_s is not None:
            eta = f", about {state.eta_s:.0f} s to go"
        elif limit:
            eta = f", at most {max(0.0, limit - state.seconds):.0f} s to go"
        progress(
            f"{state.seconds:.0f} s, {state.phase}: best {energy}, bound {bound}, gap {gap}" + eta
        )

    return show
