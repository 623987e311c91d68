# SPDX-License-Identifier: MIT
"""CP-SAT (OR-tools, an optional extra) behind the array program of the default formulation.

CP-SAT knows integers only. Rows of 0 and 1 pass as they are; the others are scaled to 2^40 and
rounded so that no plan is let in that breaks them, which may refuse a plan within 1e-9 of a
limit. Costs are scaled to 2^40 for the whole; the bound is lowered by what rounding can lose.
"""

import math

import numpy as np

from .highs import Outcome
from .problem import PlanError

_SCALE = 1 << 40


def _module():
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise PlanError("solver cpsat needs ortools; pip install 'acclimate[cpsat]'") from None
    return cp_model


def minimise(program, watch, gap, start, low, high, on_progress=None):
    """Solve until best - bound <= gap; return the Outcome."""
    cp_model = _module()
    model = cp_model.CpModel()
    running = {i for i, whole in enumerate(program.integer) if not whole}
    columns = {
        i: model.new_int_var(round(low[i]), round(high[i]), "")
        for i in range(len(program.cost))
        if i not in running
    }
    for r in range(len(program.row_low)):
        span = range(program.row_start[r], program.row_start[r + 1])
        terms = [(program.column[k], program.value[k]) for k in span]
        if not any(column in running for column, _ in terms):
            _row(model, columns, terms, program.row_low[r], program.row_high[r])
    _memory(model, columns, program, running)
    scale = _SCALE / max(sum(abs(c) for c in program.cost), 1e-300)
    priced = [(i, round(c * scale)) for i, c in enumerate(program.cost) if c]
    model.minimize(sum(columns[i] * c for i, c in priced))
    if start is not None:
        for i, column in columns.items():
            model.add_hint(column, round(start[i]))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = min(watch.left(), 1e7)
    solver.parameters.absolute_gap_limit = gap * scale
    status = solver.solve(model, _listener(cp_model, program, scale, watch, on_progress))
    if status == cp_model.INFEASIBLE:
        return Outcome("infeasible", None, math.inf, math.inf)
    bound = (solver.best_objective_bound - len(priced)) / scale + program.offset
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Outcome("stopped", None, math.inf, bound)
    values = np.zeros(len(program.cost))
    for i, column in columns.items():
        values[i] = solver.value(column)
    cost = float(np.dot(program.cost, values)) + program.offset
    return Outcome("optimal" if status == cp_model.OPTIMAL else "stopped", values, cost, bound)


def _row(model, columns, terms, low, high):
    scale = 1
    if any(value != round(value) for _, value in terms):
        scale = _SCALE / max(abs(value) for _, value in terms)
    row = sum(columns[c] * math.ceil(v * scale) for c, v in terms)
    if low == high:
        model.add(row == round(low * scale))
        return
    if low > -math.inf:
        down = sum(columns[c] * math.floor(v * scale) for c, v in terms)
        model.add(down >= math.ceil(low * scale))
    if high < math.inf:
        model.add(row <= math.floor(high * scale))


def _memory(model, columns, program, running):
    """Replace each column of the running memory by the sum that it stands for."""
    known, previous = {}, {}
    for r in range(len(program.row_low)):
        span = range(program.row_start[r], program.row_start[r + 1])
        terms = {program.column[k]: program.value[k] for k in span}
        held = [column for column in terms if column in running]
        if not held:
            continue
        if program.row_low[r] == program.row_high[r]:  # m[p] = m[p - 1] + changes
            fresh = max(held)
            total = dict(previous)
            for column, value in terms.items():
                if column not in running:
                    total[column] = total.get(column, 0.0) - value
            previous = {c: v for c, v in total.items() if v}
            known[fresh] = previous
            continue
        row = {column: value for column, value in terms.items() if column not in running}
        for column in held:
            for other, value in known[column].items():
                row[other] = row.get(other, 0.0) + value
        _row(model, columns, list(row.items()), program.row_low[r], program.row_high[r])


def _listener(cp_model, program, scale, watch, on_progress):
    class Listener(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self):
            best = self.objective_value / scale + program.offset
            bound = self.best_objective_bound / scale + program.offset
            if on_progress is not None:
                on_progress(best, bound)
            if watch.stop:
                self.stop_search()

    return Listener()
