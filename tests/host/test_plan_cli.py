# SPDX-License-Identifier: MIT
"""``acclimate plan``: one schedule, sweeps on any executor, pictures, and refusals in one line."""

import json
import os

import pytest

from acclimate_host.cli import main
from acclimate_host.poet import sweep
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.graphs import network_graph
from acclimate_host.poet.inputs import Task, amount, cost_table, deadline, planning_graph, whole
from acclimate_host.poet.problem import from_json


def test_a_plan_is_shown_written_and_drawn(tmp_path, capsys):
    out, picture = tmp_path / "plan.json", tmp_path / "plan.svg"
    words = ["plan", "linear", "--ram", "50%", "--deadline", "1.5x", "--out", str(out)]
    assert main([*words, "--picture", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "proven optimal" in shown and "3,708" in shown
    graph, budget, plan, claim = from_json(json.loads(out.read_text()))
    verdict = evaluate(graph, budget, plan)
    assert verdict.valid and verdict.energy == pytest.approx(claim["energy"])
    assert claim["proven"] and claim["lower_bound"] <= claim["energy"]
    assert "<svg" in picture.read_text()
    # a written plan is a problem again
    assert main(["plan", str(out), "--ram", "3708"]) == 0


@pytest.mark.parametrize(
    "words, text",
    [
        (["nothing"], "unknown model"),
        (["no.onnx"], "no file no.onnx"),
        (["no.json"], "no file no.json"),
        (["linear", "--ram", "12z"], "expected bytes"),
        (["linear", "--ram", "-5"], "whole bytes, 0 to"),
        (["linear", "--ram", "1k"], "smallest feasible"),
        (["linear", "--deadline", "0.5x"], "is impossible"),
        (["linear", "--deadline", "soon"], "expected 1.5x"),
        (["linear", "--board", "zz"], "there are a72"),
        (["linear", "--board", "desktop"], "no cost"),
        (["linear", "--method", "magic"], "unknown method"),
        (["linear", "--ram", "40%", "--method", "keep_all"], "needs 7416 bytes"),
        (["linear", "--time-limit", "0"], "more than 0 seconds"),
        (["linear", "--out", "/no/such/x.json"], "no folder"),
        (["linear", "--picture", "x.bmp"], ".svg or .png"),
        (["linear", "--out", "/"], "Is a directory"),
        (["linear", "--sweep", "ram="], "an empty value"),
        (["linear", "--sweep", "speed=3"], "KEY is ram, deadline, board, method"),
        (["linear", "--sweep", "ram=1k..9:3"], "one unit"),
        (["linear", "--sweep", "method=magic"], "unknown method"),
        (["linear", "--sweep", "board=m4,zz"], "no cost table or board 'zz'"),
        (["linear", "--sweep", "ram=50%", "--workers", "-1"], "--workers -1"),
    ],
)
def test_bad_input_is_one_clear_line(words, text, capsys):
    assert main(["plan", *words]) == 2
    error = capsys.readouterr().err
    assert text in error and error.count("\n") == 1 and "Traceback" not in error


def test_a_file_that_is_no_problem_is_refused(tmp_path, capsys):
    path = tmp_path / "bad.json"
    for text in ("{", "{}", '{"nodes": [], "budget": {"ram_bytes": 1}}', "[1]"):
        path.write_text(text)
        assert main(["plan", str(path)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_amounts_and_deadlines():
    graph = network_graph("linear", "m4")
    full = whole(graph)
    assert full.valid and amount("50%", graph) == full.peak_ram // 2
    assert (amount("1k", graph), amount("1.5m", graph), amount("77", graph)) == (1024, 1572864, 77)
    assert deadline("2x", graph) == 2 * full.compute_time and deadline("3s", graph) == 3
    assert deadline(None, graph) is None
    assert cost_table("nrf52840").name == "m4" and cost_table("feather_m0_express").name == "m0"


def test_sweep_words():
    values = sweep.parse(["ram=10k..30k:3,50%", "board=m0,m4"], {"method": "dtr", "ram": "1"})
    assert values == {
        "method": ["dtr"],
        "ram": ["10k", "20k", "30k", "50%"],
        "board": ["m0", "m4"],
    }
    assert len(sweep.tasks(Task("linear", "m4"), values)) == 8


def test_a_sweep_is_shown_and_drawn(tmp_path, capsys):
    out, picture = tmp_path / "rows.json", tmp_path / "pareto.png"
    words = [
        "plan",
        "linear",
        "--sweep",
        "ram=100%,60%,20%",
        "--sweep",
        "method=poet,dtr",
        "--workers",
        "1",
        "--out",
        str(out),
        "--picture",
        str(picture),
    ]
    assert main(words) == 0
    rows = json.loads(out.read_text())
    assert [row["method"] for row in rows] == ["poet"] * 3 + ["dtr"] * 3
    said = capsys.readouterr().out
    assert "smallest feasible RAM" in rows[2]["fault"] and rows[0]["proven"]
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert "+0.00 % energy, proven" in said
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["asked"] == 6
    assert [row.get("energy") for row in found["plans"]] == [row.get("energy") for row in rows]


@pytest.mark.slow
def test_a_sweep_of_deadlines_has_a_column_and_an_axis_of_time(tmp_path, capsys):
    out, curve = tmp_path / "rows.json", tmp_path / "time.svg"
    words = ["plan", "linear", "--ram", "45%", "--clock", "compute", "--workers", "1"]
    words += ["--sweep", "deadline=1x..1.5x:3", "--sweep", "method=poet,checkmate"]
    assert main([*words, "--out", str(out), "--picture", str(curve)]) == 0
    rows = json.loads(out.read_text())
    assert [row["deadline"] for row in rows] == ["1x", "1.25x", "1.5x"] * 2
    assert rows[2]["deadline_s"] == pytest.approx(1.5 * rows[2]["full_time"])
    assert "energy" in rows[0] and "fault" in rows[3]  # paging alone costs no computing
    assert rows[1]["energy"] <= rows[0]["energy"] and rows[1]["ended"] == "proof"
    lines = capsys.readouterr().out.splitlines()
    assert "deadline" in lines[0] and lines[1].split()[3] == "1x"
    assert "deadline, % of computing" in curve.read_text().replace("&#32;", " ")
    assert main(["plan", "linear", "--sweep", "deadline=soon"]) == 2
    assert "expected 1.5x or seconds" in capsys.readouterr().err


@pytest.mark.slow
def test_methods_are_drawn_side_by_side_from_two_processes(tmp_path, capsys):
    bars, curve = tmp_path / "bars.svg", tmp_path / "pareto.svg"
    words = [
        "plan",
        "linear",
        "--sweep",
        "ram=30%,50%",
        "--sweep",
        "board=m0,m4",
        "--sweep",
        "method=poet,paging_only,capuchin",
        "--workers",
        "2",
    ]
    assert main([*words, "--bars", str(bars), "--picture", str(curve)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("paging_only") == 4 and shown.count("drawn in") == 2
    for text in (bars.read_text(), curve.read_text()):
        assert "<svg" in text and "energy above keeping everything" in text.replace("&#32;", " ")
        for title in ("this planner", "Capuchin", "paging only"):
            assert title in text, title
    assert "no plan fits" in bars.read_text()
    assert main(["plan", "linear", "--bars", str(bars)]) == 2
    assert "--bars draws a sweep" in capsys.readouterr().err


def _dies(task):
    os._exit(9)


def test_a_worker_that_dies_is_one_clear_line(monkeypatch, capsys):
    monkeypatch.setattr(sweep, "solve_task", _dies)
    assert main(["plan", "linear", "--sweep", "ram=50%,60%", "--workers", "2"]) == 2
    assert "a worker process died; give fewer" in capsys.readouterr().err


def _tasks():
    values = sweep.parse(["ram=100%,60%", "method=keep_all,dtr"], {"board": "m4"})
    return sweep.tasks(Task("linear", "m4"), values)


def _figures(rows):
    return [(row["method"], row["ram"], row.get("energy"), row.get("fault")) for row in rows]


def test_processes_give_the_same_rows_as_none():
    from concurrent.futures import ProcessPoolExecutor

    seen = []
    with ProcessPoolExecutor(2) as executor:
        rows = sweep.run(_tasks(), executor, lambda done, total: seen.append((done, total)))
    assert _figures(rows) == _figures(sweep.run(_tasks()))
    assert seen[-1] == (4, 4)


@pytest.mark.slow
def test_a_dask_cluster_of_two_workers_gives_the_same_rows(capsys):
    distributed = pytest.importorskip("distributed")
    options = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with distributed.LocalCluster(host="127.0.0.1", **options) as cluster:
        with distributed.Client(cluster) as client:
            assert len(client.scheduler_info()["workers"]) == 2
            rows = sweep.run(_tasks(), client.get_executor())
        words = ["plan", "linear", "--sweep", "ram=100%,60%", "--method", "dtr"]
        assert main([*words, "--dask", cluster.scheduler_address]) == 0
    assert _figures(rows) == _figures(sweep.run(_tasks()))
    assert capsys.readouterr().out.count("dtr") == 2


def test_an_onnx_model_is_planned(tmp_path):
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "small.onnx"
    onnx.save(_onnx_model(onnx), str(path))
    graph = planning_graph(str(path), cost_table("m4"))
    names = [node.id for node in graph.nodes]
    assert any(name.startswith("weight_update") for name in names)
    assert whole(graph).valid
    assert main(["plan", str(path), "--ram", "100%", "--method", "keep_all"]) == 0


def _onnx_model(onnx):
    import numpy as np

    random = np.random.default_rng(0)
    arrays = {
        "w0": (6, 1, 3, 3),
        "b0": (6,),
        "w1": (8, 6, 3, 3),
        "b1": (8,),
        "w2": (3, 8),
        "b2": (3,),
    }
    constants = [
        onnx.numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name)
        for name, shape in arrays.items()
    ]
    node = onnx.helper.make_node
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("Conv", ["b", "w1", "b1"], ["c"], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["d"]),
        node("GlobalAveragePool", ["d"], ["e"]),
        node("Flatten", ["e"], ["f"]),
        node("Gemm", ["f", "w2", "b2"], ["y"], transB=1),
    ]
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes,
        "small",
        [onnx.helper.make_tensor_value_info("x", kind, [1, 1, 8, 8])],
        [onnx.helper.make_tensor_value_info("y", kind, [1, 3])],
        constants,
    )
    opset = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)
