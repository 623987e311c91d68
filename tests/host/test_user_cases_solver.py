# SPDX-License-Identifier: MIT
"""Solvers that are missing, broken or old, as people met them elsewhere."""

import ast
import os
import subprocess
import sys

import pytest

from acclimate_host import cli
from acclimate_host.paths import built, repository
from acclimate_host.poet import highs, pulp_solver, solver_check
from acclimate_host.poet.answer import Infeasible
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.graphs import forward_bytes, network_graph
from acclimate_host.poet.problem import Budget, PlanError
from acclimate_host.poet.solve import solve
from harness.clock import HANG_S


@pytest.mark.case("L4")
def test_doctor_lets_each_solver_do_a_model_of_two_variables(capsys):
    for name in ("highs", "cbc", "cpsat"):
        assert solver_check.try_solver(name) == (True, "runs and answers right")
    cli.main(["doctor"])
    assert "ok      solver highs: runs and answers right" in capsys.readouterr().out


@pytest.mark.case("L4")
@pytest.mark.parametrize("content", ["not a program", "#!/bin/sh\nexit 1\n", None])
def test_a_solver_binary_that_cannot_run_is_named_with_what_is_used(
    content, tmp_path, monkeypatch, capsys
):
    """The wrong processor, no right to execute, or it is not there at all."""
    program = tmp_path / "cbc"
    if content is not None:
        program.write_text(content)
        program.chmod(0o755)
    monkeypatch.setattr(pulp_solver, "cbc_path", lambda: str(program))
    fine, text = solver_check.try_solver("cbc")
    assert not fine and "\n" not in text
    cli.main(["doctor"])
    [line] = [line for line in capsys.readouterr().out.splitlines() if "solver cbc" in line]
    assert line.startswith("note") and line.endswith("; highs is enough")


@pytest.mark.case("L4")
def test_a_wrong_answer_is_no_answer(monkeypatch):
    monkeypatch.setattr(solver_check, "_highs", lambda: 3)
    assert solver_check.try_solver("highs") == (False, "runs, but answers 3 where 2 is right")


@pytest.mark.slow
@pytest.mark.case("L4")
def test_without_highs_the_heuristic_plans_and_says_so(monkeypatch, capsys):
    graph = network_graph("linear", "m4")
    budget = Budget(0.5 * forward_bytes(graph))
    best = solve(graph, budget)
    monkeypatch.setattr(highs, "highspy", None)
    found = solve(graph, budget)
    assert found.solver == "greedy" and not found.proven and best.proven
    assert evaluate(graph, budget, found.plan).valid
    assert best.energy <= found.energy + 1e-12 and found.lower_bound <= best.energy
    with pytest.raises(Infeasible, match="RAM"):
        solve(graph, Budget(10))
    with pytest.raises(PlanError, match="no plan, which proves nothing; pip install"):
        solve(graph, Budget(budget.ram_bytes, 1.0001 * sum(n.compute_time for n in graph.nodes)))

    def missing():
        raise ImportError(name="highspy")

    monkeypatch.setattr(solver_check, "_highs", missing)
    cli.main(["doctor"])
    line = "solver highs: not installed (highspy); plans come from the heuristic, without proof"
    assert line in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.case("L5")
def test_the_reference_is_the_same_with_numpy_1(tmp_path):
    """numpy 2 is what the other tests run with."""
    folder = built("numpy1")
    if not (folder / "numpy").is_dir():
        pytest.skip("numpy 1 is not there; run: make out/stamps/numpy1")
    import numpy

    assert int(numpy.__version__.partition(".")[0]) >= 2
    code = (
        "import sys\nsys.path[:0] = [sys.argv[1], 'device', 'host', '.']\nimport numpy\n"
        "from acclimate_host.poet.graphs import forward_bytes, network_graph\n"
        "from bench.papers.poet.formulation import solve_paper\n"
        "from acclimate_host.poet.problem import Budget\n"
        "from acclimate_host.poet.solve import solve\n"
        "g = network_graph('linear', 'm4', recompute_gradients=True)\n"
        "b = Budget(forward_bytes(g), 1.5 * sum(n.compute_time for n in g.nodes))\n"
        "a = solve_paper(g, b, solver='cbc', as_published=True)\n"
        "o = solve(g, b, clock='compute')\n"
        "print(numpy.__version__[0], '%.9f' % a.energy, o.proven and o.energy < a.energy)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        cwd=repository(),
        capture_output=True,
        text=True,
        timeout=HANG_S,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.stdout.split() == ["1", "0.000457095", "True"], done.stderr[-2000:]


OPTIONAL = {
    "highspy",
    "pulp",
    "ortools",
    "gurobipy",
    "cplex",
    "mosek",
    "xpress",
    "distributed",
    "matplotlib",
    "onnx",
    "tflite",
    "sklearn",
    "paho",
    "esptool",
    "starlette",
    "uvicorn",
}


@pytest.mark.case("L7")
def test_what_is_optional_is_never_imported_at_the_head_of_the_planner():
    """But for guarded imports; and nothing commercial anywhere."""
    folder = repository() / "host" / "acclimate_host"
    for path in folder.rglob("*.py"):
        text = path.read_text()
        for name in ("gurobipy", "cplex", "mosek", "xpress"):
            assert f"import {name}" not in text and f"from {name}" not in text, path
        if "poet" in path.parts or path.parent == folder:
            for node in ast.parse(text).body:
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module]
                assert not OPTIONAL & {name.partition(".")[0] for name in names}, path
