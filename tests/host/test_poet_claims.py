# SPDX-License-Identifier: MIT
"""The paper's claims are graded by what the runs show, and the pictures draw it."""

import pytest

from acclimate_host.poet import methods
from acclimate_host.poet.graphs import network_graph
from acclimate_host.poet.inputs import whole
from acclimate_host.poet.problem import Budget
from bench import poet_paper
from bench.papers.poet import claims


def entry(over, bound=None, **more):
    return {"energy": 1 + over, "over_full": over, "lower_bound": bound, **more}


def runs(**methods):
    return {"net.m4.50": methods}


def test_a_claim_is_beaten_reproduced_or_not_by_its_figure():
    for rival, verdict in ((1.0, claims.BEATEN), (0.49, claims.REPRODUCED), (0.2, claims.NOT)):
        found = claims.fig3(runs(poet=entry(0), dtr=entry(rival)))
        assert found["verdict"] == verdict
        assert found["here"]["saving"] == pytest.approx(1 - 1 / (1 + rival))
    assert claims.fig3({})["verdict"] == claims.NOT


def test_an_exact_rival_that_was_stopped_early_counts_with_its_bound():
    loose = claims.fig4(runs(poet=entry(0), checkmate=entry(2.0, bound=1.1)))
    assert loose["here"]["recompute_only"]["saving"] == pytest.approx(1 - 1 / 1.1)
    assert loose["verdict"] == claims.NOT
    tight = claims.fig4(runs(poet=entry(0), paging_only=entry(2.0, bound=3.0)))
    assert tight["verdict"] == claims.BEATEN


def test_capuchin_counts_only_where_ours_is_below_one_percent():
    found = claims.fig5(runs(poet=entry(0.02), capuchin=entry(1.0)))
    assert found["verdict"] == claims.NOT
    found = claims.fig5(runs(poet=entry(0.009), capuchin=entry(0.74)))
    assert found["verdict"] == claims.REPRODUCED and found["here"]["at"] == "net.m4.50"


def test_pofo_counts_only_with_less_memory():
    pairs = {
        "a": {"pofo": (2.0, 100), "ours": (1.0, 95)},
        "b": {"pofo": (1.0, 100), "ours": (1.0, 90)},
    }
    assert claims.table3(pairs)["verdict"] == claims.NOT
    pairs["c"] = {"pofo": (1.2, 100), "ours": (1.0, 91)}
    assert claims.table3(pairs)["verdict"] == claims.BEATEN


def test_every_claim_that_is_not_shown_has_a_reason():
    for result in ({"runs": {}}, {"runs": runs(poet=entry(0.5), dtr=entry(0.5))}):
        for claim in poet_paper.judged(dict(result))["claims"].values():
            assert claim["verdict"] in (claims.REPRODUCED, claims.BEATEN, claims.NOT)
            assert claim["paper"] and (claim["verdict"] != claims.NOT or claim["reason"])


def test_checkmate_is_bounded_in_energy_where_a_second_costs_the_same():
    graph = network_graph("linear", "m4")
    budget = Budget(whole(graph).peak_ram // 2)
    outcome = methods.run("checkmate", graph, budget)
    assert outcome.proven
    assert outcome.lower_bound == pytest.approx(outcome.verdict.energy, rel=1e-5)


def test_a_case_holds_every_method_with_a_plan_or_a_fault():
    entries = poet_paper.run_case("linear.m4.50", 5)
    assert set(entries) == set(methods.NAMES)
    for name, found in entries.items():
        assert ("energy" in found) != ("fault" in found), name
    least = min(found["energy"] for found in entries.values() if "energy" in found)
    assert entries["poet"]["energy"] == pytest.approx(least, rel=1e-9)


def test_ours_is_never_worse_than_its_parts():
    def entries():
        return {
            name: {"energy": energy, "time": 1.0, "peak_ram": 1, "over_full": energy - 1}
            for name, energy in (("poet", 1.2), ("checkmate", 1.1), ("paging_only", 1.3))
        }

    found = poet_paper._at_least_the_parts(entries())["poet"]
    assert found["energy"] == 1.1 and found["found_by"] == "checkmate"
    without = {**entries(), "poet": {"fault": "no plan found within 1 s"}}
    found = poet_paper._at_least_the_parts(without)["poet"]
    assert found["energy"] == 1.1 and "fault" not in found
