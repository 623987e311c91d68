# SPDX-License-Identifier: MIT
"""Many plans at once: every combination of RAM, deadline, board and method, on any executor.

with concurrent.futures.ProcessPoolExecutor(2) as executor:
    rows = run(tasks(graph of each table, ...), executor)
"""

from concurrent.futures import as_completed
from dataclasses import replace
from math import prod

from . import methods
from .inputs import cost_table, whole
from .problem import PlanError

KEYS = ("ram", "deadline", "board", "method")
MOST_PLANS = 10000


def parse(words, defaults):
    """{key: values} of words like ram=50%,75% or ram=100k..400k:4 (evenly spaced)."""
    found = {key: [defaults[key]] for key in KEYS if defaults.get(key)}
    named = set()
    for word in words:
        key, sign, text = word.partition("=")
        if not sign or key not in KEYS:
            raise PlanError(f"sweep {word!r}: expected KEY=A,B,...; KEY is {', '.join(KEYS)}")
        if key in named:
            raise PlanError(f"sweep {word!r}: {key} is given twice; give all its values in one")
        named.add(key)
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


def tasks(task, values):
    """Return `task` with every combination of `values` (see parse).

    :raises PlanError: they are more than MOST_PLANS, or one names no method or board.
    """
    count = prod(map(len, values.values()))
    if count > MOST_PLANS:
        raise PlanError(f"sweep of {count} plans: expected {MOST_PLANS} or fewer")
    for name in values["method"]:
        methods.find(name)
    for board in values["board"]:
        cost_table(board)
    return [
        replace(task, board=board, method=method, ram=ram, deadline=due)
        for board in values["board"]
        for method in values["method"]
        for due in values.get("deadline", [task.deadline])
        for ram in values["ram"]
    ]


def solve_task(task):
    """Row (dict) of one task; "fault" says why there is no plan. Runs in a worker."""
    problem, budget = task.posed()
    graph = problem.graph
    options = task.options if task.method in methods.SOLVED else {}
    outcome = methods.run(task.method, graph, budget, task.clock, **options)
    full = whole(graph)
    row = {
        "model": task.model,
        "board": task.board,
        "method": task.method,
        "ram": task.ram,
        "ram_bytes": budget.ram_bytes,
        "deadline": task.deadline,
        "deadline_s": budget.deadline,
        "full_ram": full.peak_ram,
        "full_energy": full.energy,
        "full_time": full.compute_time,
        "seconds": outcome.seconds,
    }
    if outcome.plan is None:
        return {**row, "fault": outcome.fault}
    verdict = outcome.verdict
    return {
        **row,
        "energy": verdict.energy,
        "time": verdict.serial_time,
        "peak_ram": verdict.peak_ram,
        "written_bytes": verdict.written_bytes,
        "erased_blocks": verdict.erased_blocks,
        "lower_bound": outcome.lower_bound,
        "proven": outcome.proven,
        "class_proven": outcome.class_proven,
        "space": outcome.space,
        "ended": outcome.ended,
    }


def run(todo, executor=None, progress=None, stopped=lambda: False):
    """Rows of all tasks in their order; executor None: one after the other, here.

    stopped: asked after each task, whether to leave out the rest. On Ctrl-C, or when it says so,
    the rows that are done are returned.
    """
    rows = [None] * len(todo)
    try:
        for done, (i, row) in enumerate(_rows(todo, executor), 1):
            rows[i] = row
            _say(progress, done, len(todo))
            if stopped():
                break
    except KeyboardInterrupt:
        if not any(rows):
            raise
    return [row for row in rows if row]


def _rows(todo, executor):
    """(place, row) of each task as it ends; what has not begun is cancelled when left early."""
    if executor is None:
        for i, task in enumerate(todo):
            yield i, solve_task(task)
        return
    futures = {executor.submit(solve_task, task): i for i, task in enumerate(todo)}
    try:
        for future in as_completed_of(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


def as_completed_of(futures):
    """Futures as they end, also those of executors whose futures are of another kind."""
    try:
        yield from as_completed(futures)
    except AttributeError:  # no concurrent.futures.Future
        yield from futures


def _say(progress, done, total):
    if progress:
        progress(done, total)
