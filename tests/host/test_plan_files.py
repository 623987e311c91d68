# SPDX-License-Identifier: MIT
"""``acclimate plan`` with files: a problem's own budget, plans judged, any ONNX model."""

import json
from pathlib import Path

import pytest
from test_poet_modes import fits_in_another_order_only

from acclimate_host.cli import main
from acclimate_host.poet import methods
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.inputs import cost_table, planning_problem, whole
from acclimate_host.poet.problem import Budget, Graph, Node, from_json, to_json

COST = dict(
    compute_energy=1.0,
    compute_time=1.0,
    pagein_energy=2.0,
    pagein_time=2.0,
    pageout_energy=2.0,
    pageout_time=2.0,
)


def written(path, graph, budget, plan=(), claim=None):
    path.write_text(json.dumps(to_json(graph, budget, plan, claim)))
    return str(path)


def test_a_files_own_limits_hold_unless_others_are_given(tmp_path, capsys):
    chain = Graph(
        (
            Node("a", (), 4, **COST),
            Node("b", ("a",), 4, **COST),
            Node("c", ("b",), 4, 4, **COST),
            Node("d", ("a", "c"), 4, **COST),
        )
    )
    out = tmp_path / "plan.json"
    path = written(tmp_path / "p.json", chain, Budget(12, 6.0, 0))
    assert main(["plan", path, "--out", str(out)]) == 0
    assert "computed again               1" in capsys.readouterr().out
    graph, budget, plan, claim = from_json(json.loads(out.read_text()))
    assert (graph, budget) == (chain, Budget(12, 6.0, 0)) and claim["energy"] == 5
    assert main(["plan", path, "--ram", "16", "--out", str(out)]) == 0
    assert from_json(json.loads(out.read_text()))[3]["energy"] == 4
    capsys.readouterr()
    assert main(["plan", path, "--sweep", "method=poet,dtr", "--out", str(out)]) == 0
    rows = json.loads(out.read_text())
    assert [(row["ram_bytes"], row["energy"]) for row in rows] == [(12, 5), (12, 5)]
    assert main(["plan", path, "--deadline", "4s"]) == 2  # no time to compute one again
    assert "the smallest feasible RAM is 16 bytes" in capsys.readouterr().err


def test_a_free_order_is_an_option(tmp_path, capsys):
    path, out = written(tmp_path / "p.json", *fits_in_another_order_only()), tmp_path / "plan.json"
    assert main(["plan", path]) == 2
    assert "no plan fits 7 bytes" in capsys.readouterr().err
    assert main(["plan", path, "--order", "free", "--out", str(out)]) == 0
    assert "proven optimal" in capsys.readouterr().out
    assert main(["plan", str(out), "--check"]) == 0
    assert "keeps the limits: 5 J, 5 s, 6 of 7 bytes" in capsys.readouterr().out


@pytest.mark.parametrize("solver", ["highs", "cbc", "HiGHS", "PULP_CBC_CMD"])
def test_any_solver_of_pulp_takes_the_papers_formulation(solver, capsys):
    pytest.importorskip("pulp")
    words = ["linear", "--ram", "60%", "--formulation", "paper", "--solver", solver]
    assert main(["plan", *words]) == 0
    shown = capsys.readouterr().out
    assert "Algorithm 1: 0.00045575 J (proven optimal)" in shown
    assert "Algorithm 2, executed step by step: " in shown


@pytest.mark.case("L3")
def test_a_plan_that_is_wrong_or_claims_too_much_is_refused(tmp_path, capsys):
    out = tmp_path / "plan.json"
    assert main(["plan", "linear", "--out", str(out)]) == 0
    assert main(["plan", str(out), "--check"]) == 0
    good = json.loads(out.read_text())
    capsys.readouterr()
    for change, text in (
        ({"plan": good["plan"][1:]}, "the plan breaks the limits: step"),
        ({"budget": {**good["budget"], "ram_bytes": 3000}}, "needs 3320 bytes of RAM; have 3000"),
        ({"claim": {**good["claim"], "energy": 1e-4}}, "the claim is wrong: energy is 0.0001"),
        ({"claim": {**good["claim"], "time": "soon"}}, "the claim is wrong: time is 'soon'"),
    ):
        out.write_text(json.dumps({**good, **change}))
        assert main(["plan", str(out), "--check"]) == 2
        error = capsys.readouterr().err
        assert text in error and error.count("\n") == 1


def test_wear_is_told_and_limited_where_the_store_has_blocks(tmp_path, capsys):
    table = tmp_path / "board.toml"
    text = (Path(__file__).parents[2] / "boards" / "costs" / "m0.toml").read_text()
    table.write_text(
        text + '\n[store]\nerase_block_bytes = { value = 64, source = "test" }\n'
        'endurance_cycles = { value = 5000, source = "test" }\n'
    )
    words = ["plan", "linear", "--board", str(table), "--ram", "50%"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "blocks erased in a step" in shown and " of 64 bytes" in shown
    erased = int(shown.split("blocks erased in a step")[1].split()[0])
    assert erased > 0 and f"steps that {erased} blocks stand" in shown and "5,000" in shown
    assert main([*words, "--erases", str(erased - 1)]) == 0
    fewer = int(capsys.readouterr().out.split("blocks erased in a step")[1].split()[0])
    assert fewer < erased


@pytest.mark.parametrize(
    "alias, table",
    [
        ("mkr1000", "m0"),
        ("nrf52840", "m4"),
        ("rpi4", "a72"),
        ("jetson_tx2", "tx2"),
        ("esp32", "esp32"),
    ],
)
def test_the_papers_boards_have_their_tables(alias, table):
    assert cost_table(alias).name == table


# ---- ONNX ----------------------------------------------------------------------------------


def shipped(name):
    onnx = pytest.importorskip("onnx")
    path = Path(onnx.__file__).parent / "backend/test/data/light" / f"light_{name}.onnx"
    return path if path.exists() else pytest.skip(f"this onnx brings no {name}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, parameters",
    [
        ("resnet50", 25.6e6),
        ("bvlc_alexnet", 61e6),
        ("shufflenet", 1.4e6),
    ],
)
def test_networks_that_no_board_of_ours_runs_are_planned(name, parameters):
    problem = planning_problem(str(shipped(name)), cost_table("a72"))
    graph = problem.graph
    assert "planned by its operators only: " in problem.note and "\n" not in problem.note
    assert graph.resident_bytes == pytest.approx(2 * 4 * parameters, rel=0.03)
    names = [node.id for node in graph.nodes]
    assert any(n.endswith(".grad") for n in names) and any(n.endswith(".update") for n in names)
    full = whole(graph)
    activations = full.peak_ram - graph.resident_bytes
    budget = Budget(graph.resident_bytes + int(0.7 * activations))
    outcome = methods.run("dtr", graph, budget)
    assert outcome.verdict.valid and evaluate(graph, budget, outcome.plan).valid


def test_a_network_of_joined_branches_is_planned_as_it_is_compiled():
    problem = planning_problem(str(shipped("squeezenet")), cost_table("a72"))
    graph = problem.graph
    assert not problem.note and len(graph.nodes) > 60
    activations = whole(graph).peak_ram - graph.resident_bytes
    budget = Budget(graph.resident_bytes + int(0.7 * activations))
    outcome = methods.run("dtr", graph, budget)
    assert outcome.verdict.valid and evaluate(graph, budget, outcome.plan).valid


def attention(onnx, length="seq"):
    """One head of self-attention over an open number of rows, and a dense layer."""
    import numpy as np

    make = onnx.helper
    weights = {"wq": (8, 8), "wk": (8, 8), "wv": (8, 8), "wo": (8, 3)}
    constants = [
        onnx.numpy_helper.from_array(np.zeros(shape, np.float32), name)
        for name, shape in weights.items()
    ]
    nodes = [make.make_node("MatMul", ["x", f"w{k}"], [k]) for k in "qkv"]
    nodes += [
        make.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        make.make_node("MatMul", ["q", "kt"], ["scores"]),
        make.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        make.make_node("MatMul", ["shares", "v"], ["mixed"]),
        make.make_node("LayerNormalization", ["mixed", "g"], ["normal"]),
        make.make_node("MatMul", ["normal", "wo"], ["y"]),
    ]
    constants.append(onnx.numpy_helper.from_array(np.ones(8, np.float32), "g"))
    kind = onnx.TensorProto.FLOAT
    graph = make.make_graph(
        nodes,
        "attention",
        [make.make_tensor_value_info("x", kind, ["batch", length, 8])],
        [make.make_tensor_value_info("y", kind, ["batch", length, 3])],
        constants,
    )
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)


def test_open_dimensions_are_given_by_name(tmp_path, capsys):
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "attention.onnx"
    onnx.save(attention(onnx), str(path))
    assert main(["plan", str(path)]) == 2
    error = capsys.readouterr().err
    assert "input x: dimension 1 is open; give --dim seq=N" in error and error.count("\n") == 1
    out = tmp_path / "plan.json"
    assert main(["plan", str(path), "--dim", "seq=20", "--ram", "80%", "--out", str(out)]) == 0
    assert "planned by its operators only" in capsys.readouterr().out
    nodes = {node.id: node for node in from_json(json.loads(out.read_text()))[0].nodes}
    assert nodes["scores"].ram_bytes == 4 * 20 * 20 and nodes["q"].ram_bytes == 4 * 20 * 8
    table = cost_table("m4")
    products = 2 * 20 * 20 * 8 + 20 * 20
    assert nodes["scores"].compute_energy == pytest.approx(table.compute_energy(products))
    assert set(nodes["scores.grad"].deps) == {"shares.grad", "shares"}
    assert nodes["y.update"].ram_bytes == 0 and nodes["y.update"].compute_time > 0


def test_damaged_onnx_files_are_one_clear_line(tmp_path, capsys):
    path = tmp_path / "bad.onnx"
    for data in (
        b"",
        b"hello",
        bytes(range(256)),
        attention(pytest.importorskip("onnx"), 4).SerializeToString()[:-30],
    ):
        path.write_bytes(data)
        assert main(["plan", str(path)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and "bad.onnx" in error, error
