# SPDX-License-Identifier: MIT
"""What a rollout counts as harm, when it halts, and what its state says, by hand-made reports."""

import json

import capsule_cases as cases
import pytest

from acclimate.pull.manifest import in_rollout
from acclimate_host.capsules.build import read
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.rollout import HARMS, STAGES, Limits, Rollout, harm_of, used_by
from acclimate_host.errors import Refused

LIMITS = Limits(score=40)


def report(version=5, **fields):
    """A device that uses a version, content with it."""
    usual = {"device": 1, "model": 7, "state": "confirmed", "outcome": "current", "reason": ""}
    return {**usual, "version": version, "floor": version, "digest": "", **fields}


REFUSED = {"outcome": "refused", "reason": "oversized"}
BACK = {"state": "rolled back", "floor": 5}


def test_usual_stages_and_limits():
    assert STAGES == (1, 10, 50, 100)
    assert HARMS == ("refused", "rolled_back", "resets", "low_score")
    assert Limits() == Limits(5.0, 3, 1, None)


def test_a_rollout_halts_above_its_share_and_from_its_least_number_on():
    limits = Limits(harmed_percent=10, least=3)
    assert not limits.exceeded(2, 2) and limits.exceeded(3, 3)
    assert not limits.exceeded(3, 30) and limits.exceeded(3, 29) and limits.exceeded(4, 39)
    assert not Limits(0, 0).exceeded(0, 5) and Limits(0, 0).exceeded(1, 5)


@pytest.mark.parametrize("score", ["40", 4.5, [1]])
def test_a_score_is_a_whole_number(score):
    with pytest.raises(Refused, match="score"):
        Limits(score=score)


@pytest.mark.parametrize(
    "said, harm",
    [
        (report(), ""),
        (report(4), ""),
        (report(6), ""),
        # it went back from what it tried
        (report(4, **BACK), "rolled_back"),
        (report(4, state="rolled back", floor=4), ""),
        (report(4, state="confirmed", floor=5), ""),
        (report(4, state="rolled back", floor=6), "rolled_back"),
        (report(4, **REFUSED), "refused"),
        (report(4, **{**REFUSED, **BACK}), "rolled_back"),
        (report(6, **REFUSED), ""),
        (report(5, **REFUSED), ""),
        *((report(4, **{**REFUSED, "reason": why}), "") for why in ("epoch", "expired", "cohort")),
        # it uses it
        (report(resets=1), ""),
        (report(resets=2), "resets"),
        (report(4, resets=2), ""),
        (report(6, resets=2), ""),
        (report(score=39), "low_score"),
        (report(score=40), ""),
        (report(score=None), ""),
        (report(resets=2, score=0), "resets"),
        (report(4, score=0), ""),
    ],
)
def test_what_a_release_did_to_a_device(said, harm):
    assert harm_of(said, 5, LIMITS) == harm
    # versions of another epoch say nothing of it
    assert harm_of({**said, "epoch": 1}, 5, LIMITS) == ""
    assert harm_of({**said, "epoch": 2}, 5, LIMITS, 0, 2) == harm


def test_without_a_limit_no_score_is_harm():
    assert harm_of(report(score=-40000), 5, Limits()) == ""


def test_a_refusal_before_the_release_is_of_another_one():
    for seen, harm in ((99, ""), (100, "refused"), (101, "refused")):
        assert harm_of(report(4, **REFUSED, seen=seen), 5, LIMITS, since=100) == harm
    assert harm_of(report(4, **REFUSED), 5, LIMITS, since=100) == "refused"


def test_a_device_of_an_epoch_before_is_behind_every_version():
    assert used_by(report(9)) == (0, 9) and used_by(report(9, epoch=3)) == (3, 9)
    assert used_by(report(9, epoch=3, is_older=True)) == (2, 9)
    assert used_by(report(9, epoch=3, is_older=False)) == (3, 9)
    older = report(9, epoch=1, is_older=True, **REFUSED)
    assert harm_of(older, 5, LIMITS, 0, 1) == "refused"
    assert harm_of(report(4, epoch=0, **BACK), 5, LIMITS, 0, 1) == ""  # not of this epoch


# ---- sums --------------------------------------------------------------------------------------


class Told:
    def __init__(self, reports):
        self.reports = reports

    def all(self):
        return self.reports


class Clock:
    now = 1000

    def __call__(self):
        return self.now


@pytest.fixture
def shop(tmp_path):
    made = Repository(tmp_path / "shop", cases.KEY)
    made.publish(cases.capsule(4))
    return made


def rollout_of(shop, *reports):
    return Rollout(shop, 7, "all", Told(list(reports)), Clock())


def without(found, name):
    return {key: value for key, value in found.items() if key != name}


def test_devices_are_counted_once_for_each_thing_they_are(shop):
    rollout = rollout_of(
        shop,
        report(5, device=1),
        report(5, device=2, state="trial"),
        report(5, device=3, resets=9),
        report(4, device=4, **BACK),
        report(4, device=5, **REFUSED),
        report(4, device=6),
        report(6, device=7),
        report(5, device=8, score=0),
        report(5, device=9, model=8),
    )
    state = rollout.start(cases.capsule(5), (50, 100), limits=LIMITS)
    counts = {"refused": 1, "rolled_back": 1, "resets": 1, "low_score": 1}
    offered = sum(in_rollout(device, 5, 50) for device in range(1, 9))
    wanted = {"devices": 8, "offered": offered, "took": 6, "confirmed": 3, **counts}
    assert rollout.sums() == rollout.sums(state) == wanted
    # of another state than the one that is kept
    assert rollout.sums({**state, "stage": 1})["offered"] == 8
    assert rollout.sums({**state, "version": 6})["confirmed"] == 1
    # a state of before epochs
    del state["epoch"], state["started"]
    assert rollout.sums(state) == wanted


def test_a_start_says_what_it_is_and_keeps_what_was_before(shop):
    other = rollout_of(shop)
    before = shop.manifest(7)
    with pytest.raises(Refused, match="capsule of model 7: expected 8"):
        Rollout(shop, 8, "all", Told([]), Clock()).start(cases.capsule(5))
    assert shop.manifest(7) == before and list(shop.folder.glob("models/*")) != []
    state = other.start(cases.capsule(5))
    assert state == other.state()
    assert [state[key] for key in ("model", "cohort", "version", "epoch")] == [7, "all", 5, 0]
    assert (state["before"], state["before_object"]) == (4, before.whole.name)
    assert (state["stages"], state["stage"], state["wait_s"]) == ([1, 10, 50, 100], 0, 86400)
    assert (state["state"], state["started"], state["since"]) == ("running", 1000, 1000)
    assert state["limits"] == {"harmed_percent": 5.0, "least": 3, "resets": 1, "score": None}
    assert state["history"] == [{"at": 1000, "what": "version 5 for 1 %"}]
    made = shop.manifest(7)
    assert (made.version, made.percent, made.expires) == (5, 1, 0)


def test_a_stage_ends_when_its_time_has_passed_and_the_last_one_ends_the_rollout(shop):
    rollout = rollout_of(shop)
    rollout.start(cases.capsule(5), (20, 100), wait_s=60, expires=9)
    for now, percent in ((1059, 20), (1060, 100), (1119, 100)):
        rollout._clock.now = now
        assert rollout.step()["state"] == "running" and shop.manifest(7).percent == percent
    rollout._clock.now = 1120
    found = rollout.step()
    assert found["state"] == "done" and shop.manifest(7).expires == 9
    assert found["sums"]["devices"] == 0
    assert [event["what"] for event in found["history"]] == ["version 5 for 20 %", "100 %", "done"]
    assert rollout.step()["state"] == "done"


def test_harm_halts_and_what_was_forgiven_does_not_halt_again(shop):
    harmed = [report(4, device=device, **BACK) for device in range(1, 4)]
    rollout = rollout_of(shop, *harmed)
    rollout.start(cases.capsule(5), (20, 100), wait_s=60)
    found = rollout.step()
    assert found["state"] == "halted" and shop.manifest(7).percent == 0
    assert found["history"][-1]["what"] == "halted: 3 of 3 devices harmed (3 rolled back)"
    with pytest.raises(Refused, match="halted: expected running"):
        rollout.pause()
    assert rollout.resume()["forgiven"] == 3 and shop.manifest(7).percent == 20
    assert rollout.step()["state"] == "running"
    with pytest.raises(Refused, match="running: expected paused or halted"):
        rollout.resume()
    paused = rollout.pause()
    assert paused["state"] == "paused" and shop.manifest(7).percent == 0
    with pytest.raises(Refused, match="paused: wait"):
        rollout.start(cases.capsule(6))
    assert rollout.step()["state"] == "paused"
    assert rollout.resume()["history"][-1]["what"] == "resumed at 20 %"
    rollout._reports.reports += [report(4, device=9 + i, **REFUSED) for i in range(3)]
    found = rollout.step()
    assert found["history"][-1]["what"].endswith("(3 refused, 3 rolled back)")


@pytest.mark.parametrize("is_old", [False, True])
def test_the_way_back_is_a_release_of_its_own_for_all(shop, is_old):
    shop.publish(cases.capsule(9), "beta")  # another cohort's versions do not count
    rollout = rollout_of(shop)
    rollout.start(cases.capsule(5), expires=7)
    if is_old:  # a history of before there were epochs
        (path,) = shop.folder.glob("history/7-all.*")
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(without(line, "epoch")) + "\n" for line in lines))
    state = rollout.back()
    assert (state["state"], state["version"], state["epoch"]) == ("back", 6, 0)
    assert (state["stages"], state["stage"]) == ([100], 0)
    assert state["history"][-1]["what"] == "back: content of version 4 as version 6"
    made, told = shop.manifest(7), read(shop.capsule(7))
    assert (made.version, made.percent, made.expires) == (6, 100, 0)
    old = read(cases.capsule(4))
    for name in ("sections", "kind", "model", "arch", "abi", "temperature", "board", "device"):
        assert getattr(told, name) == getattr(old, name), name


def test_without_a_start_nothing_goes_on(shop):
    rollout = rollout_of(shop)
    assert rollout.state() is None
    for verb in (rollout.step, rollout.pause, rollout.resume, rollout.back, rollout.sums):
        with pytest.raises(Refused, match="no rollout was started"):
            verb()
