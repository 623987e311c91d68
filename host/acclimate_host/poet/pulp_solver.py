# SPDX-License-Identifier: MIT
"""Solvers that PuLP runs: chosen by name, tried before use, and "infeasible" not believed once."""

import shutil

import numpy as np

from ..errors import Missing
from .held import GRACE_S, can_hold, held
from .highs import Outcome, quiet
from .problem import PlanError

_NAMES = {"highs": "HiGHS", "cbc": "COIN_CMD"}


def require():
    """Return the pulp module; raises Missing when it is not installed."""
    try:
        import pulp
    except ImportError:
        raise Missing("this needs PuLP: pip install 'acclimate[plan]'") from None
    return pulp


def variable(problem, name, low=None, high=None, kind="Continuous"):
    """A new column of a PuLP problem; made by the problem where PuLP offers that (from 3.3)."""
    make = getattr(problem, "add_variable", None) or require().LpVariable
    return make(name, low, high, kind)


def cbc_path():
    """The CBC that PuLP brings along, or else the one on the path."""
    bundled = getattr(require(), "PULP_CBC_CMD", None)
    return getattr(bundled, "pulp_cbc_path", None) or shutil.which("cbc")


def pick(name, time_limit=None, **options):
    """Return a PuLP solver by our name (highs, cbc) or by PuLP's own."""
    pulp = require()
    known = _NAMES.get(name, name)
    if known == "COIN_CMD":
        options.setdefault("path", cbc_path())
    if known not in pulp.listSolvers():
        raise PlanError(f"unknown solver {name!r}; there are highs, cbc and what PuLP lists")
    try:
        backend = pulp.getSolver(known, msg=False, timeLimit=time_limit, **options)
        usable = backend.available()
    except (pulp.PulpSolverError, OSError) as error:
        raise PlanError(_cannot_run(name, error)) from None
    if not usable:
        raise PlanError(_cannot_run(name, "not installed, or no right to run it"))
    return backend


def _cannot_run(name, reason):
    return f"solver {name} cannot run here ({str(reason).splitlines()[0][:50]}); use highs"


def run(problem, backend, name):
    """Solve; return "optimal", "feasible", "infeasible" or "no answer".

    CBC's "infeasible" is checked by a second run without its preprocessing.
    """
    status = _once(problem, backend, name)
    if status == "infeasible" and name == "cbc":
        again = pick(name, backend.timeLimit, options=["preprocess off", "presolve off"])
        status = _once(problem, again, name)
    return status


def _once(problem, backend, name):
    pulp = require()
    try:
        with quiet():
            if backend.timeLimit and can_hold():
                if not _held(problem, backend):
                    return "no answer"
            else:
                problem.solve(backend)
    except (pulp.PulpSolverError, OSError) as error:
        raise PlanError(_cannot_run(name, error)) from None
    if problem.sol_status == pulp.LpSolutionOptimal:
        return "optimal"
    if problem.sol_status == pulp.LpSolutionIntegerFeasible:
        return "feasible"
    return "infeasible" if problem.status == pulp.LpStatusInfeasible else "no answer"


def _held(problem, backend):
    """Solve within the limit; whether it ended. The problem then has its status and values."""

    def solved():
        problem.solve(backend)
        values = {column.name: column.varValue for column in problem.variables()}
        return problem.status, problem.sol_status, values

    found = held(solved, backend.timeLimit + GRACE_S)
    if found is None:
        return False
    problem.status, problem.sol_status, values = found
    for column in problem.variables():
        column.varValue = values.get(column.name)
    return True


def minimise(program, name, seconds, gap, low, high):
    """Solve an array program (see model.Program) with a PuLP solver; return its Outcome.

    PuLP passes no bound on, so an unfinished run proves nothing. gap: absolute.
    """
    pulp = require()
    options = {"gapAbs": gap} if name == "cbc" else {}
    backend = pick(name, None if seconds > 1e8 else max(1.0, seconds), **options)
    scale = 100.0 / max([abs(c) for c in program.cost if c] or [1.0])
    kinds = ("Continuous", "Integer")
    infinite = float("inf")
    problem = pulp.LpProblem("poet", pulp.LpMinimize)
    columns = [
        variable(
            problem,
            f"c{i:07d}",
            low[i],
            None if high[i] == infinite else high[i],
            kinds[bool(program.integer[i])],
        )
        for i in range(len(program.cost))
    ]
    problem += pulp.LpAffineExpression(
        [(columns[i], cost * scale) for i, cost in enumerate(program.cost) if cost]
    )
    for r, start in enumerate(program.row_start[:-1]):
        span = range(start, program.row_start[r + 1])
        row = pulp.LpAffineExpression(
            [(columns[program.column[k]], program.value[k]) for k in span]
        )
        least, most = program.row_low[r], program.row_high[r]
        if least == most:
            problem += row == least
            continue
        if least > -infinite:
            problem += row >= least
        if most < infinite:
            problem += row <= most
    status = run(problem, backend, name)
    if status in ("infeasible", "no answer"):
        return Outcome(
            "infeasible" if status == "infeasible" else "stopped",
            None,
            infinite,
            infinite if status == "infeasible" else -infinite,
        )
    values = np.array([column.value() or 0.0 for column in columns])
    cost = float(np.dot(program.cost, values)) + program.offset
    return Outcome(
        "optimal" if status == "optimal" else "stopped",
        values,
        cost,
        cost - gap if status == "optimal" else -infinite,
    )
