# SPDX-License-Identifier: MIT
"""Does a solver really run here? A model of two variables, with a known optimum, tells."""

from ..errors import AcclimateError
from . import highs, pulp_solver

# most x + y with x + 2 y <= 4 and 3 x + y <= 6, whole numbers: 2 (2.8 without "whole")
_ROWS = ((1, 2, 4), (3, 1, 6))
_BEST = 2
# least 2 x + 3 z with x + z >= 4.5, z whole, x >= 0: 9; HiGHS 1.14.0 answers 15
_MIXED = 9


def try_solver(name):
    """Return (does it run and answer right?, text) for highs, cbc or cpsat."""
    try:
        answer = {"highs": _highs, "cbc": _cbc, "cpsat": _cpsat}[name]()
    except ImportError as error:
        return False, f"not installed ({error.name or error})"
    except (AcclimateError, OSError, RuntimeError) as error:
        return False, str(error).splitlines()[0]
    if answer is None or abs(answer - _BEST) > 1e-6:
        return False, f"runs, but answers {answer} where {_BEST} is right"
    return True, "runs and answers right"


def _highs():
    import highspy

    with highs.quiet():
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        for _ in range(2):
            solver.addVar(0, highspy.kHighsInf)
        for i in range(2):
            solver.changeColCost(i, -1.0)
            solver.changeColIntegrality(i, highspy.HighsVarType.kInteger)
        for a, b, most in _ROWS:
            solver.addRow(-highspy.kHighsInf, most, 2, [0, 1], [float(a), float(b)])
        solver.run()
    mixed = _highs_mixed()
    return mixed if abs(mixed - _MIXED) > 1e-6 else -solver.getObjectiveValue()


def _highs_mixed():
    """What HiGHS answers to the model with one whole and one real column."""
    import highspy

    with highs.quiet():
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        for cost in (2.0, 3.0):
            solver.addCol(cost, 0.0, highspy.kHighsInf, 0, [], [])
        solver.changeColIntegrality(1, highspy.HighsVarType.kInteger)
        solver.addRow(4.5, highspy.kHighsInf, 2, [0, 1], [1.0, 1.0])
        solver.run()
    return solver.getObjectiveValue()


def _cbc():
    pulp = pulp_solver.require()
    problem = pulp.LpProblem("two", pulp.LpMaximize)
    x, y = (pulp_solver.variable(problem, name, 0, None, "Integer") for name in "xy")
    problem += x + y
    for a, b, most in _ROWS:
        problem += a * x + b * y <= most
    status = pulp_solver.run(problem, pulp_solver.pick("cbc", 10), "cbc")
    return pulp.value(problem.objective) if status == "optimal" else None


def _cpsat():
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x, y = (model.NewIntVar(0, 100, name) for name in "xy")
    for a, b, most in _ROWS:
        model.Add(a * x + b * y <= most)
    model.Maximize(x + y)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = 10
    done = solver.Solve(model) == cp_model.OPTIMAL
    return solver.ObjectiveValue() if done else None
