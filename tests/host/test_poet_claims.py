# SPDX-License-Identifier: MIT
"""The paper's claims are graded by what the runs show, and the pictures draw it."""

import json

import pytest

from acclimate_host.poet import methods
from acclimate_host.poet.graphs import network_graph
from acclimate_host.poet.inputs import whole
from acclimate_host.poet.problem import Budget
from bench import poet_paper
from bench.papers.poet import claims

pytestmark = pytest.mark.slow


def entry(over, bound=None, **more):
    return {"energy": 1 + over, "over_full": over, "lower_bound": bound, **more}


OWN = {
    "fig3": "resnet18_cifar.tx2.50",
    "fig4": "vgg16_cifar.m4.50",
    "fig5": "resnet18_cifar.a72.50",
}


def runs(at="net.m4.50", **methods):
    return {at: methods}


def test_a_claim_is_beaten_reproduced_or_not_by_its_figure():
    for rival, verdict in ((1.0, claims.BEATEN), (0.49, claims.REPRODUCED), (0.2, claims.NOT)):
        found = claims.fig3(runs(OWN["fig3"], poet=entry(0), dtr=entry(rival)))
        assert found["verdict"] == verdict
        assert found["here"]["saving"] == pytest.approx(1 - 1 / (1 + rival))
    assert claims.fig3({})["verdict"] == claims.NOT


def test_an_exact_rival_that_was_stopped_early_counts_with_its_bound():
    loose = claims.fig4(runs(OWN["fig4"], poet=entry(0), checkmate=entry(2.0, bound=1.1)))
    assert loose["here"]["recompute_only"]["saving"] == pytest.approx(1 - 1 / 1.1)
    assert loose["verdict"] == claims.NOT
    tight = claims.fig4(runs(OWN["fig4"], poet=entry(0), paging_only=entry(2.0, bound=3.0)))
    assert tight["verdict"] == claims.BEATEN


def test_capuchin_counts_only_where_ours_is_below_one_percent():
    found = claims.fig5(runs(OWN["fig5"], poet=entry(0.02), capuchin=entry(1.0)))
    assert found["verdict"] == claims.NOT
    found = claims.fig5(runs(OWN["fig5"], poet=entry(0.009), capuchin=entry(0.74)))
    assert found["verdict"] == claims.REPRODUCED and found["here"]["at"] == OWN["fig5"]


def test_pofo_counts_only_with_less_memory_and_on_the_paper_s_case():
    own = "resnet18_cifar.tx2"
    pairs = {"bert.a72": {"pofo": (1.3, 100), "ours": (1.0, 90)}}
    assert claims.table3(pairs)["verdict"] == claims.NOT  # another case than the paper's
    pairs[own] = {"pofo": (2.0, 100), "ours": (1.0, 95)}
    assert claims.table3(pairs)["verdict"] == claims.NOT
    pairs[own] = {"pofo": (1.13, 100), "ours": (1.0, 90)}  # 13 % more throughput, 11.5 % less time
    assert claims.table3(pairs)["verdict"] == claims.NOT
    pairs[own] = {"pofo": (1.2, 100), "ours": (1.0, 91)}
    found = claims.table3(pairs)
    assert found["verdict"] == claims.BEATEN
    assert found["here"][own]["our_bytes"] == 91 and "bert.a72" in found["reason"]
    pairs[own]["ended"] = claims.CLOCK
    assert claims.table3(pairs)["verdict"] == claims.NOT


@pytest.mark.parametrize(
    "claim, rival", [("fig3", "dtr"), ("fig4", "checkmate"), ("fig5", "capuchin")]
)
def test_another_network_or_board_gives_no_verdict_and_is_named(claim, rival):
    judge = getattr(claims, claim)
    methods = {"poet": entry(0, ram_bytes=1000), rival: entry(3.0)}
    own, other = judge(runs(OWN[claim], **methods)), judge(runs("linear.m0.50", **methods))
    assert own["verdict"] != claims.NOT and other["verdict"] == claims.NOT
    assert "linear.m0.50" in json.dumps(other["here"]["elsewhere"])
    assert "1000" in json.dumps(other["here"])  # a percentage comes with its bytes


def test_a_run_that_the_clock_ended_is_marked_and_gives_no_verdict():
    methods = {"poet": entry(0, ended=claims.CLOCK), "dtr": entry(3.0)}
    found = poet_paper.judged({"runs": runs(OWN["fig3"], **methods)})
    assert found["claims"]["fig3"]["verdict"] == claims.NOT
    assert found["ended_by_the_clock"] == [OWN["fig3"]]


def test_every_claim_that_uses_the_tx2_says_that_its_speed_is_an_assumption():
    methods = {"poet": entry(0), "dtr": entry(3.0)}
    found = poet_paper.judged({"runs": runs("bert.tx2.30", **methods)})["claims"]
    assert found["fig3"]["assumption"] == claims.ASSUMED
    found = poet_paper.judged({"runs": runs("bert.m4.30", **methods)})["claims"]
    assert "assumption" not in found["fig3"]


def test_a_case_fits_its_board_or_does_not():
    both = {
        "linear.m0.50": {"poet": {"ram_bytes": 32768}},
        "bert.m4.30": {"poet": {"ram_bytes": 1 << 20}},
    }
    found = claims.boards(both)
    assert (found["cases"], found["fit"], found["which"]) == (2, 1, {"linear.m0.50": 32768})


def test_a_deadline_on_computing_alone_leaves_paging_and_curves_are_drawn_from_it():
    entries = poet_paper.run_deadline("linear.m4.45.100", 5)
    assert "energy" in entries["poet"] and "fault" in entries["checkmate"]
    found = claims.fig4({}, {"vgg16_cifar.m4.45.100": entries})["here"]
    assert found["curves"]["vgg16_cifar.m4.45"]["checkmate"] == {"100": None}
    assert found["recompute_only"]["only_both_fit"] == ["vgg16_cifar.m4.45.100"]


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
