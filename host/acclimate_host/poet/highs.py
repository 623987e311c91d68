# SPDX-License-Identifier: MIT
"""HiGHS behind the array program: LP with reduced costs, MIP with start, progress and Ctrl-C."""

import contextlib
import math
import os
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np

from acclimate_host.output import flush_libraries

from .model import Program
from .problem import PlanError

try:
    import highspy
except ImportError:
    highspy = None  # type: ignore[assignment]  # the heuristic plans without it

INFINITY = math.inf
BASIC = highspy.HighsBasisStatus.kBasic if highspy else None
_LARGEST_COST = 100.0  # costs are scaled to this: the tolerances of the solver are absolute


@dataclass
class Outcome:
    """status: "optimal", "infeasible" or "stopped"; values of the columns or None; bound."""

    status: str
    values: object
    objective: float
    bound: float
    reduced: object = None
    dual: object = None
    nodes: int = 0


class Watch:
    """What a running solve looks at: deadlines and a wish to stop.

    until: of time.monotonic; cpu_until: of time.process_time, which all threads of the process
    share. within: a watch whose deadlines and wish hold for this one too.
    """

    def __init__(self, until=math.inf, within=None, cpu_until=math.inf):
        self.until, self.cpu_until = until, cpu_until
        if within is not None:
            self.until = min(until, within.until)
            self.cpu_until = min(cpu_until, within.cpu_until)
        self.within, self.wished = within, False

    @property
    def stop(self):
        """Whether to stop."""
        return self.wished or (self.within is not None and self.within.stop)

    @stop.setter
    def stop(self, wished):
        self.wished = wished

    def left(self):
        """Seconds that are left, never negative."""
        return max(0.0, min(self.until - time.monotonic(), self.cpu_until - time.process_time()))

    def wall_left(self):
        """Seconds by the clock on the wall: for a solver that asks for left() besides."""
        return max(0.0, self.until - time.monotonic()) if self.left() else 0.0

    def part(self, seconds):
        """A watch within this one that ends after so many seconds, in the same measure."""
        if self.cpu_until < math.inf:
            return Watch(math.inf, self, time.process_time() + seconds)
        return Watch(time.monotonic() + seconds, self)


def available():
    """Whether highspy is installed."""
    return highspy is not None


@contextlib.contextmanager
def quiet():
    """Keep the banner, which HiGHS writes past Python, off the standard output."""
    sys.stdout.flush()
    flush_libraries()
    with contextlib.ExitStack() as stack:
        try:
            saved = os.dup(1)
            stack.callback(os.close, saved)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            stack.callback(os.close, nowhere)
            os.dup2(nowhere, 1)
            stack.callback(os.dup2, saved, 1)
            stack.callback(flush_libraries)  # first of the callbacks: the banner waits there
        except OSError:  # no standard output to keep clean
            pass
        yield


def _load(program, relaxed, low=None, high=None):
    if highspy is None:
        raise PlanError("solver highs needs highspy; pip install 'acclimate[plan]'")
    scale = _LARGEST_COST / max([abs(c) for c in program.cost if c] or [1.0])
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(program.cost), len(program.row_low)
    lp.col_cost_ = np.array(program.cost) * scale
    lp.col_lower_ = np.array(program.low if low is None else low, dtype=float)
    lp.col_upper_ = np.array(program.high if high is None else high, dtype=float)
    lp.row_lower_ = np.array(program.row_low, dtype=float)
    lp.row_upper_ = np.array(program.row_high, dtype=float)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.array(program.row_start, dtype=np.int32)
    lp.a_matrix_.index_ = np.array(program.column, dtype=np.int32)
    lp.a_matrix_.value_ = np.array(program.value, dtype=float)
    if not relaxed:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[bool(i)] for i in program.integer]
    with quiet():
        solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.passModel(lp)
    return solver, scale


class Relaxation:
    """The LP relaxation of a program; rows and tighter bounds can be added between solves.

    rows: whether it begins with the program's rows or with none.
    """

    def __init__(self, program, watch, rows=True):
        self.program, self.watch = program, watch
        given = (
            program if rows else Program(program.cost, program.low, program.high, program.integer)
        )
        self.solver, self.scale = _load(given, True)
        _heed(self.solver, watch)
        self.whole = np.array(program.integer, dtype=bool)
        self.low = np.array(program.low, dtype=float)
        self.high = np.array(program.high, dtype=float)

    def solve(self):
        """Outcome; reduced holds the reduced costs in the units of the costs."""
        outcome = solve_lp(self.solver, self.watch)
        if outcome.status == "optimal":
            outcome.bound = outcome.bound / self.scale + self.program.offset
            outcome.objective = outcome.bound
            outcome.reduced /= self.scale
        return outcome

    def add(self, rows):
        """Add rows (terms, low, high), terms being (column, coefficient)."""
        start = np.cumsum([0, *(len(terms) for terms, _, _ in rows)])[:-1].astype(np.int32)
        index = np.array([column for terms, _, _ in rows for column, _ in terms], dtype=np.int32)
        value = np.array([value for terms, _, _ in rows for _, value in terms], dtype=float)
        self.solver.addRows(
            len(rows),
            np.array([low for _, low, _ in rows], dtype=float),
            np.array([high for _, _, high in rows], dtype=float),
            len(index),
            start,
            index,
            value,
        )

    def tighten(self, outcome, room):
        """Fix the columns that a plan less than room above the relaxation cannot change.

        Returns how many columns are fixed in all.
        """
        at_low = self.whole & (outcome.reduced > room) & (outcome.values < self.low + 0.5)
        at_high = self.whole & (outcome.reduced < -room) & (outcome.values > self.high - 0.5)
        fresh = np.flatnonzero((at_low | at_high) & (self.low < self.high))
        self.high[at_low] = self.low[at_low]
        self.low[at_high] = self.high[at_high]
        if len(fresh):
            self.solver.changeColsBounds(
                len(fresh), fresh.astype(np.int32), self.low[fresh], self.high[fresh]
            )
        return int(np.count_nonzero(self.low[self.whole] == self.high[self.whole]))


def solve_lp(solver, watch):
    """Outcome of a linear program in the units of its solver, with its duals."""
    solver.setOptionValue("time_limit", solver.getRunTime() + min(watch.wall_left(), 1e7))
    _run(solver, watch)
    status = solver.getModelStatus()
    value = solver.getInfo().objective_function_value
    if status == highspy.HighsModelStatus.kInfeasible:
        return Outcome("infeasible", None, math.inf, math.inf)
    if status == highspy.HighsModelStatus.kObjectiveBound:
        return Outcome("cut off", None, math.inf, value)
    if status != highspy.HighsModelStatus.kOptimal:
        return Outcome("stopped", None, math.inf, -math.inf)
    solution = solver.getSolution()
    return Outcome(
        "optimal",
        np.array(solution.col_value),
        value,
        value,
        np.array(solution.col_dual),
        np.array(solution.row_dual),
    )


def minimise(program, watch, gap, start=None, low=None, high=None, on_progress=None, effort=None):
    """Solve the MIP until best - bound <= gap, in the units of the costs."""
    solver, scale = _load(program, False, low, high)
    # Of computing seconds as well: within a program's relaxation nobody asks for them, and its
    # one thread computes no longer than the clock runs.
    solver.setOptionValue("time_limit", min(watch.left(), 1e7))
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("mip_abs_gap", gap * scale)
    if effort is not None:
        solver.setOptionValue("mip_heuristic_effort", effort)
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = [float(v) for v in start]
        solver.setSolution(solution)
    target = _Target(program, scale, watch, on_progress)
    _heed(solver, watch)
    solver.cbMipInterrupt.subscribe(target.look)
    solver.cbMipLogging.subscribe(target.look)
    solver.cbMipImprovingSolution.subscribe(target.keep)
    _run(solver, watch)
    outcome = _outcome(solver, program, scale, target)
    claimed = solver.getInfo().objective_function_value / scale + program.offset
    if start is not None and outcome.values is not None and not watch.stop:
        if outcome.objective - claimed > gap + 1e-9 * abs(claimed):
            # HiGHS 1.16 can improve a start in its reduced space and hand back the start itself
            return minimise(program, watch, gap, None, low, high, on_progress, effort)
    return outcome


class _Target:
    """Keeps the best solution, reports progress, and passes on the wish to stop."""

    def __init__(self, program, scale, watch, on_progress):
        self.offset, self.scale = program.offset, scale
        self.watch, self.on_progress = watch, on_progress
        self.said = time.monotonic()
        self.values = None

    def keep(self, event):
        """Called with every better solution; after an interrupt the solver may not return it."""
        self.values = np.array(event.data_out.mip_solution, dtype=float)

    def look(self, event):
        """Called by the solver now and then."""
        if self.watch.stop or not self.watch.left():
            event.interrupt()
        now = time.monotonic()
        if self.on_progress is None or now - self.said < 0.5:
            return
        best, bound = event.data_out.mip_primal_bound, event.data_out.mip_dual_bound
        if math.isfinite(best) and math.isfinite(bound):
            self.said = now
            self.on_progress(best / self.scale + self.offset, bound / self.scale + self.offset)


def _outcome(solver, program, scale, target):
    status, info = solver.getModelStatus(), solver.getInfo()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Outcome("infeasible", None, math.inf, math.inf)
    done = status == highspy.HighsModelStatus.kOptimal
    found = [] if target.values is None else [target.values]
    if info.primal_solution_status == 2:
        found.append(np.array(solver.getSolution().col_value))
    objective, values = math.inf, None
    for candidate in found:
        cost = float(np.dot(program.cost, candidate)) + program.offset
        if cost < objective:
            objective, values = cost, candidate
    bound = info.mip_dual_bound
    bound = bound / scale + program.offset if math.isfinite(bound) else -math.inf
    return Outcome(
        "optimal" if done and found else "stopped",
        values,
        objective,
        bound,
        nodes=info.mip_node_count,
    )


def _heed(solver, watch):
    """Let the solver look at the watch while it is in a linear program."""
    solver.cbSimplexInterrupt.subscribe(
        lambda event: event.interrupt() if watch.stop or not watch.left() else None
    )


def _run(solver, watch):
    """Run in a thread, so that Ctrl-C reaches this one and stops the solver, not the program."""
    if threading.current_thread() is not threading.main_thread():
        solver.run()
        return
    ended = threading.Event()

    def work():
        try:
            solver.run()
        finally:
            ended.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    # not join: interrupted in it, Python 3.11 takes a running thread for one that has ended
    while not ended.is_set():
        try:
            ended.wait(0.2)
        except KeyboardInterrupt:
            watch.stop = True
