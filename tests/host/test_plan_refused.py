# SPDX-License-Identifier: MIT
"""``acclimate plan`` as a program of its own on bad input: exit code 2, one clear line."""

import json
import stat
import subprocess
import sys

import pytest

from acclimate_host.cli import main
from harness.clock import HANG_S


def node(name, *deps, **figures):
    return {
        "id": name,
        "deps": list(deps),
        "ram_bytes": 4,
        "workspace_bytes": 0,
        "compute_energy": 1.0,
        "compute_time": 1.0,
        "pagein_energy": 1.0,
        "pagein_time": 1.0,
        "pageout_energy": 1.0,
        "pageout_time": 1.0,
        **figures,
    }


def refused(words, capsys):
    assert main(["plan", *map(str, words)]) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1 and "Traceback" not in shown.err and not shown.out
    return shown.err


CYCLE = [node("a", "c"), node("b", "a"), node("c", "b")]
PAIR = [node("a"), node("b", "a", ram_bytes=900)]


@pytest.mark.parametrize(
    "nodes, budget, text",
    [
        (CYCLE, {}, "node a: needs c, which is not before it (a cycle?)"),
        ([node("a", "a")], {}, "node a: needs a"),
        ([node("a", "z")], {}, "node a: unknown dependency z"),
        ([node("a"), node("a")], {}, "two nodes share an id"),
        ([node("a", compute_energy=-1)], {}, "node a: compute_energy is -1; it must be a number"),
        ([node("a", pageout_time=float("nan"))], {}, "node a: pageout_time is nan"),
        ([node("a", ram_bytes=-4)], {}, "node a: ram_bytes is -4"),
        (
            PAIR,
            {"ram_bytes": 100},
            "no plan fits 100 bytes of RAM; the smallest feasible RAM is 904",
        ),
        (
            PAIR,
            {"deadline": 0.5},
            "deadline 0.5 s is impossible; computing every node once takes 2 s",
        ),
        ([], {}, "the graph is empty"),
        ([node("a")], {"ram_bytes": "much"}, "budget: ram_bytes is 'much'"),
        ([node("a")], {"speed": 3}, "not a planning problem"),
        ([{"id": "a"}], {}, "node 0: ram_bytes is missing"),
        ([node("a", ram_bytes=1.5)], {}, "ram_bytes is 1.5; it must be a whole number from 0"),
        ([node("a", compute_time=1e308)], {}, "compute_time is 1e+308; it must be a number"),
    ],
)
def test_a_bad_problem_is_one_clear_line(nodes, budget, text, tmp_path, capsys):
    path = tmp_path / "problem.json"
    path.write_text(json.dumps({"nodes": nodes, "budget": {"ram_bytes": 1000, **budget}}))
    assert text in refused([path], capsys)


@pytest.mark.parametrize(
    "text, told",
    [
        ("[" * 100_000, "problem.json: no problem: nested too deeply"),
        ("{", "problem.json: not JSON: "),
        ("", "problem.json: not JSON: "),
    ],
)
def test_a_file_that_is_no_json_is_one_clear_line(text, told, tmp_path, capsys):
    path = tmp_path / "problem.json"
    path.write_text(text)
    assert told in refused([path], capsys)


@pytest.mark.parametrize(
    "words, text",
    [
        (["--solver", "magic"], "unknown solver 'magic'; there are highs, cbc, cpsat, greedy"),
        (["--solver", "magic", "--formulation", "paper"], "unknown solver 'magic'"),
        (["--solver", "GUROBI", "--formulation", "paper"], "solver GUROBI cannot run here"),
        (["--order", "free", "--method", "dtr"], "--order is for poet, checkmate, paging_only"),
        (
            ["--ram", "30%", "--formulation", "paper", "--deadline", "1.5x", "--storage", "0"],
            "Algorithm 1 has no plan for",
        ),
        (["--board", "none.toml"], "no file none.toml"),
        (["--erases", "-1"], "--erases -1: expected 0 or more"),
        (["--erases", "3"], "the cost table names no store.erase_block_bytes"),
        (["--ram", "5000.5"], "RAM '5000.5': expected whole bytes"),
        (["--ram", "nan"], "RAM 'nan': expected whole bytes"),
        (["--deadline", "1e300"], "less than 1e+12 s"),
        (["--dim", "seq"], "--dim seq: expected NAME=N"),
        (["--dim", "seq=0"], "N from 1"),
        (["--check"], "there is no plan to check"),
        (["--dim", "seq=3"], "--dim is for an .onnx file"),
        (["--check", "--sweep", "ram=50%"], "leave out --sweep"),
        (["--sweep", "ram=50%", "--sweep", "ram=60%"], "ram is given twice"),
    ],
)
def test_a_bad_option_is_one_clear_line(words, text, capsys):
    assert text in refused(["linear", *words], capsys)


def test_what_a_file_says_itself_is_no_option(tmp_path, capsys):
    path = tmp_path / "p.json"
    path.write_text('{"nodes": [{"id": "a", "ram_bytes": 0}], "budget": {"ram_bytes": 1}}')
    assert "--resident is for the named networks" in refused([str(path), "--resident"], capsys)


@pytest.mark.case("L4")
@pytest.mark.parametrize("text", ["not a program", ""])
def test_a_solver_binary_that_cannot_run_is_one_clear_line(text, tmp_path, capsys, monkeypatch):
    pulp = pytest.importorskip("pulp")
    program = tmp_path / "cbc"
    program.write_text(text)
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", str(program))
    for executable in (False, True):
        if executable:
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
        for form in ("exact", "paper"):
            words = ["linear", "--solver", "cbc", "--formulation", form]
            assert "solver cbc cannot run here" in refused(words, capsys)


def test_the_program_itself_ends_with_code_2_and_one_line(tmp_path):
    path = tmp_path / "cycle.json"
    path.write_text(json.dumps({"nodes": CYCLE, "budget": {"ram_bytes": 9}}))
    words = [sys.executable, "-m", "acclimate_host.cli", "plan", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 2 and done.stdout == ""
    assert (
        done.stderr
        == "acclimate plan: cycle.json: node a: needs c, which is not before it (a cycle?)\n"
    )
