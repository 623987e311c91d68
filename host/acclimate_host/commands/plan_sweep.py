# SPDX-License-Identifier: MIT
"""``acclimate plan --sweep``: many plans at once, here, in processes or on a Dask cluster."""

import json
import multiprocessing
import os
import signal
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from acclimate_host.commands import progress, table, write_text
from acclimate_host.errors import AcclimateError, Missing
from acclimate_host.poet import sweep


def run_sweep(args, task, pressed):
    """Make every plan of a sweep, show, write and draw the rows.

    :param task: what all plans share; pressed: says whether Ctrl-C was pressed
    """
    ram = args.ram or _usual_ram(task)
    usual = {"ram": ram, "board": task.board, "method": task.method, "deadline": task.deadline}
    values = sweep.parse(args.sweep, usual)
    todo = sweep.tasks(task, values)
    _check(todo)
    try:
        with _executor(args, len(todo)) as executor:
            rows = sweep.run(
                todo,
                executor,
                lambda done, all: progress(f"{done} of {all} plans", done, all),
                pressed,
            )
    except BrokenExecutor:
        raise AcclimateError("a worker process died; give fewer --workers more memory") from None
    progress("")
    args.result = {"plans": rows, "asked": len(todo)}
    table(*_table(rows))
    if len(rows) < len(todo):
        print(f"interrupted: {len(rows)} of {len(todo)} plans")
    if args.out:
        write_text(args.out, json.dumps(rows, indent=1) + "\n")
        print(f"written to {args.out}")
    if args.picture:
        from acclimate_host.plots.schedule import pareto

        against = "time" if len(values["ram"]) == 1 < len(values.get("deadline", ())) else "RAM"
        pareto(Path(args.picture), rows, f"{args.model}: energy against {against}", against)
        print(f"drawn in {args.picture}")
    if args.bars:
        from acclimate_host.plots.schedule import bars

        bars(Path(args.bars), *_groups(rows), f"{args.model}: methods side by side")
        print(f"drawn in {args.bars}")
    return 0


def _groups(rows):
    """({board, RAM and deadline: {method: percent over keeping everything, or None}}, methods)."""
    found = {}
    for row in rows:
        name = "\n".join(filter(None, (row["board"], row["ram"], row["deadline"])))
        over = None
        if "energy" in row and row["full_energy"]:
            over = 100 * (row["energy"] / row["full_energy"] - 1)
        found.setdefault(name, {})[row["method"]] = over
    return found, tuple(dict.fromkeys(row["method"] for row in rows))


def _usual_ram(task):
    """A problem file's own limit, or half of what keeping everything needs."""
    return str(task.posed()[1].ram_bytes) if Path(task.model).suffix == ".json" else "50%"


def _check(todo):
    """Refuse what a task would refuse, before any worker starts."""
    for task in {(task.ram, task.deadline): task for task in todo}.values():
        task.posed()


def _table(rows):
    """(lines, heads); a column of deadlines only where there are several."""
    lines, heads = [_line(row) for row in rows], ("board", "method", "RAM")
    after = ("energy", "time, s", "note")
    if len({row["deadline"] for row in rows}) < 2:
        return lines, heads + after
    late = [row["deadline"] or "-" for row in rows]
    lines = [(*line[:3], due, *line[3:]) for line, due in zip(lines, late, strict=True)]
    return lines, (*heads, "deadline", *after)


def _line(row):
    if "fault" in row:
        return (row["board"], row["method"], f"{row['ram_bytes']:,}", "-", "-", row["fault"])
    over = 100 * (row["energy"] / row["full_energy"] - 1) if row["full_energy"] else 0.0
    words = ", proven" if row["proven"] else ", best of its class" if row["class_proven"] else ""
    note = f"{over:+.2f} % energy{words}"
    return (
        row["board"],
        row["method"],
        f"{row['ram_bytes']:,}",
        f"{row['energy']:.6g} J",
        f"{row['time']:.5g}",
        note,
    )


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
    # Ctrl-C is for the parent alone, which then stops its workers
    with ProcessPoolExecutor(
        workers, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    ) as executor:
        try:
            yield executor
        finally:
            for child in multiprocessing.active_children():
                child.terminate()
            # waited for: its thread would close a pipe that Python's own end still writes to
            executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _dask(address):
    try:
        from distributed import Client
    except ImportError:
        raise Missing("--dask needs distributed: pip install 'acclimate[dask]'") from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AcclimateError(f"--dask {address}: no cluster answers ({first})") from None
    try:
        yield client
    finally:
        client.close()
