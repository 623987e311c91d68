# SPDX-License-Identifier: MIT
"""The planner's options: another order, Ctrl-C, progress, files of problem and plan."""

import json
import signal
import subprocess
import sys

import pytest

from acclimate_host.poet import orders
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.poet.exhaustive import search
from acclimate_host.poet.graphs import forward_bytes, network_graph
from acclimate_host.poet.problem import Budget, Graph, Node, PlanError, from_json, to_json
from acclimate_host.poet.solve import solve
from bench.poet_random import problem
from harness.clock import HANG_S, let_work
from harness.errors import naming

FIELDS = {
    "id",
    "deps",
    "ram_bytes",
    "workspace_bytes",
    "compute_energy",
    "compute_time",
    "pagein_energy",
    "pagein_time",
    "pageout_energy",
    "pageout_time",
}


def fits_in_another_order_only():
    """Two big tensors, each reduced to a small one: one after the other they fit."""
    cost = dict(compute_energy=1.0, compute_time=1.0, pageable=False, recomputable=False)
    return Graph(
        (
            Node("a", (), 4, **cost),
            Node("b", (), 4, **cost),
            Node("c", ("a",), 1, **cost),
            Node("d", ("b",), 1, **cost),
            Node("e", ("c", "d"), 1, **cost),
        )
    ), Budget(7)


@pytest.mark.parametrize("most", [8, 0])
def test_a_free_order_fits_where_the_given_one_does_not(most, monkeypatch):
    monkeypatch.setattr(orders, "MOST_NODES", most)
    graph, budget = fits_in_another_order_only()
    with pytest.raises(PlanError, check=naming(7)):
        solve(graph, budget)
    answer = solve(graph, budget, order="free", time_limit=3)
    assert answer.verdict.valid and answer.energy == 5
    assert answer.order.index("c") < answer.order.index("b") or (
        answer.order.index("d") < answer.order.index("a")
    )


def test_a_free_order_is_never_worse_and_agrees_with_the_oracle():
    for seed in range(40):
        graph, budget = problem(seed)
        best = search(graph, budget, free_order=True)
        if best is None:
            continue
        answer = solve(graph, budget, order="free")
        assert answer.energy == pytest.approx(best[0], abs=1e-6) and answer.proven
        assert evaluate(graph, budget, answer.plan).valid


_INTERRUPTED = """
from acclimate_host.poet.graphs import network_graph, forward_bytes
from acclimate_host.poet.problem import Budget
from acclimate_host.poet.solve import solve
graph = network_graph("bert", "m4")
answer = solve(graph, Budget(forward_bytes(graph) // 2),
               progress=lambda p: print(p.phase, flush=True))
print("valid", answer.verdict.valid, answer.lower_bound < answer.energy)
"""


def test_ctrl_c_gives_the_best_plan_so_far():
    child = subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "greedy\n"
        let_work(child.pid, 1)
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate(timeout=HANG_S)
    finally:
        child.kill()
    assert out.splitlines()[-1] == "valid True True", errors
    assert child.returncode == 0


def test_the_file_has_the_fields_of_the_format_and_no_others():
    graph = network_graph("linear", "m4", recompute_gradients=True)
    budget = Budget(forward_bytes(graph))
    answer = solve(graph, budget)
    data = json.loads(json.dumps(to_json(graph, budget, answer.plan, answer.claim())))
    assert set(data) == {"nodes", "resident_bytes", "budget", "plan", "claim"}
    assert set(data["budget"]) == {"ram_bytes", "deadline", "aux_bytes"}
    claimed = {"energy", "peak_ram", "time", "lower_bound", "proven", "class_proven", "space"}
    assert set(data["claim"]) == claimed
    unpaged = {"pageable"}  # the last gradient keeps no bytes
    assert all(FIELDS <= set(node) <= FIELDS | unpaged for node in data["nodes"])
    again, limits, plan, claim = from_json(data)
    verdict = evaluate(again, limits, plan)
    assert verdict.valid and verdict.energy == claim["energy"]
    assert verdict.peak_ram == claim["peak_ram"] and verdict.serial_time == claim["time"]


@pytest.mark.parametrize(
    "change, text",
    [
        ({"nodes": None}, "not a planning problem"),
        ({"budget": {}}, "not a planning problem"),
        ({"plan": [["compute"]]}, "not a planning problem"),
        ({"nodes": []}, "the graph is empty"),
        ({"nodes": [{"id": "a", "speed": 1}]}, "node 0: unknown key 'speed'"),
        ({"nodes": [{"id": 7}]}, "node 0: id is 7, no text"),
        ({"nodes": [{}]}, "id is missing"),
        ({"nodes": [{"id": "a", "deps": "b"}]}, "node 0: deps is 'b', no list of ids"),
        ({"budget": {"deadline": 3}}, "budget: ram_bytes is missing"),
        ({"claim": 3}, "claim is 3"),
        ({"budget": {"ram_bytes": "2k"}}, "budget: ram_bytes is '2k'"),
    ],
)
def test_a_bad_file_is_one_clear_line(change, text):
    good = to_json(Graph((Node("a", (), 1),)), Budget(1), (("compute", "a"),))
    assert from_json(good)
    with pytest.raises(PlanError, match=text) as caught:
        from_json({**good, **change})
    assert "\n" not in str(caught.value)
