# SPDX-License-Identifier: MIT
"""Many plans at once: every combination of RAM limits, boards and methods, on any executor.

    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        rows = run(tasks(graph of each table, ...), executor)
"""

from concurrent.futures import as_completed
from dataclasses import dataclass

from . import baselines
from .models import amount, cost_table, deadline, planning_graph, whole
from .problem import Budget, PlanError

KEYS = ("ram", "board", "method")


@dataclass(frozen=True)
class Task:
    """One plan to make; texts as the command line takes them."""

    model: str
    board: str
    ram: str
    method: str = "poet"
    style: str = "chain"
    deadline: str | None = None
    storage: str | None = None
    clock: str = "serial"
    time_limit: float | None = None


def parse(words, defaults):
    """{key: values} of words like ram=50%,75% or ram=100k..400k:4 (evenly spaced)."""
    found = {key: [defaults[key]] for key in KEYS if defaults.get(key)}
    for word in words:
        key, sign, text = word.partition("=")
        if not sign or key not in KEYS:
            raise PlanError(f"sweep {word!r}: expected KEY=A,B,...; KEY is {', '.join(KEYS)}")
        values = [value for part in text.split(",") for value in _spread(part, word)]
        if not all(values):
            raise PlanError(f"sweep {word!r}: an empty value")
        found[key] = values
    return found


def _spread(part, word):
    ends, sign, count = part.partition(":")
    low, dots, high = ends.partition("..")
    if not sign and not dots:
        return [part]
    unit = high[-1:] if high and not high[-1].isdigit() else ""
    try:
        low, high = float(low.removesuffix(unit)), float(high.removesuffix(unit))
        count = int(count)
    except ValueError:
        raise PlanError(f"sweep {word!r}: expected LOW..HIGH:COUNT, one unit") from None
    if not 2 <= count <= 1000:
        raise PlanError(f"sweep {word!r}: COUNT is 2 to 1000")
    return [f"{low + (high - low) * i / (count - 1):g}{unit}" for i in range(count)]


def tasks(model, values, **common):
    """Task for every combination of `values` (see parse)."""
    unknown = [name for name in values["method"] if name not in baselines.names()]
    if unknown:
        raise PlanError(f"unknown method {unknown[0]!r}; there are {', '.join(baselines.names())}")
    for board in values["board"]:
        cost_table(board)
    return [Task(model, board, ram, method, **common) for board in values["board"]
            for method in values["method"] for ram in values["ram"]]  # fmt: skip


def solve_task(task):
    """Row (dict) of one task; "fault" says why there is no plan. Runs in a worker."""
    graph = planning_graph(task.model, cost_table(task.board), task.style)
    budget = Budget(
        amount(task.ram, graph), deadline(task.deadline, graph),
        None if task.storage is None else amount(task.storage, graph, "storage"),
    )  # fmt: skip
    options = {}
    if task.method in baselines.SOLVED and task.time_limit:
        options["time_limit"] = task.time_limit
    outcome = baselines.run(task.method, graph, budget, task.clock, **options)
    full = whole(graph)
    row = {"model": task.model, "board": task.board, "method": task.method, "ram": task.ram,
           "ram_bytes": budget.ram_bytes, "full_ram": full.peak_ram,
           "full_energy": full.energy, "seconds": outcome.seconds}  # fmt: skip
    if outcome.plan is None:
        return {**row, "fault": outcome.fault}
    verdict = outcome.verdict
    return {**row, "energy": verdict.energy, "time": verdict.serial_time,
            "peak_ram": verdict.peak_ram, "written_bytes": verdict.written_bytes,
            "lower_bound": outcome.lower_bound, "proven": outcome.proven}  # fmt: skip


def run(todo, executor=None, progress=None):
    """Rows of all tasks in their order; executor None: one after the other, here."""
    if executor is None:
        rows = []
        for task in todo:
            rows.append(solve_task(task))
            _say(progress, len(rows), len(todo))
        return rows
    futures = {executor.submit(solve_task, task): i for i, task in enumerate(todo)}
    rows = [None] * len(todo)
    for done, future in enumerate(as_completed_of(futures), 1):
        rows[futures[future]] = future.result()
        _say(progress, done, len(todo))
    return rows


def as_completed_of(futures):
    """Futures as they end, also those of executors whose futures are of another kind."""
    try:
        yield from as_completed(futures)
    except AttributeError:  # no concurrent.futures.Future
        yield from futures


def _say(progress, done, total):
    if progress:
        progress(done, total)
