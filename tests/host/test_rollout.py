# SPDX-License-Identifier: MIT
"""A release in stages: what halts it, how it goes on or back, and what of it is kept."""

import json
import threading
import time

import capsule_cases as cases
import pytest

from acclimate.pull import make_report
from acclimate.pull import reports as report
from acclimate.pull.manifest import in_rollout
from acclimate_host.capsules.build import read
from acclimate_host.capsules.history import History
from acclimate_host.capsules.lock import locked
from acclimate_host.capsules.manifest import WHOLE
from acclimate_host.capsules.prune import prune
from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.rollout import Limits, Rollout
from acclimate_host.cli import main
from acclimate_host.errors import Refused

DEVICES = range(1, 31)


class Clock:
    now = 1_000_000

    def __call__(self):
        return self.now


class Fleet:
    """Thirty devices with stores of their own, and the server's side of them."""

    def __init__(self, folder):
        self.clock = Clock()
        self.repository = Repository(folder, cases.KEY)
        self.reports = Reports(folder / "reports", cases.KEY, self.clock)
        self.rollout = Rollout(self.repository, 7, "all", self.reports, self.clock)
        self.repository.publish(cases.capsule(1))
        self.stores = {}
        for device in DEVICES:
            self.stores[device] = cases.store(cases.flash())
            self.stores[device].swap_capsule(cases.capsule(1))

    def pull(self, what="confirm", harmed=()):
        """Let all devices take what they are offered, and report; `harmed` ones roll back."""
        manifest = self.repository.manifest(7)
        for device, store in self.stores.items():
            self.clock.now += 1
            offered = in_rollout(device, manifest.version, manifest.percent)
            outcome = report.CURRENT
            if offered and manifest.version > store.journal.floor:
                store.swap_capsule(self.repository.capsule(7))
                outcome = report.TAKEN
                if device in harmed:
                    store.rollback()
            self.reports.take(make_report(store, device, self.clock.now, outcome))


@pytest.fixture
def fleet(tmp_path):
    return Fleet(tmp_path / "repository")


def offered(fleet):
    return fleet.repository.manifest(7).percent


def test_stages_follow_when_their_time_has_passed(fleet):
    fleet.rollout.start(cases.capsule(2), (10, 50, 100), wait_s=1000)
    fleet.pull()
    assert fleet.rollout.step()["state"] == "running" and offered(fleet) == 10
    for share in (50, 100):
        fleet.clock.now += 1000
        state = fleet.rollout.step()
        assert state["state"] == "running" and offered(fleet) == share
        fleet.pull()
    fleet.clock.now += 1000
    state = fleet.rollout.step()
    assert state["state"] == "done" and offered(fleet) == 100
    assert state["sums"]["confirmed"] == state["sums"]["took"] == len(DEVICES)


def test_a_rollout_halts_itself_when_devices_roll_back(fleet):
    fleet.rollout.start(cases.capsule(2), (50, 100), wait_s=10, limits=Limits(least=2))
    fleet.pull(harmed=DEVICES)
    state = fleet.rollout.step()
    assert state["state"] == "halted" and offered(fleet) == 0
    assert state["sums"]["rolled_back"] == state["sums"]["took"] > 2
    assert "rolled back" in state["history"][-1]["what"]
    # Nobody else takes it, however long one waits.
    fleet.clock.now += 10_000
    assert fleet.rollout.step()["state"] == "halted" and offered(fleet) == 0


def test_few_harmed_devices_do_not_halt_it(fleet):
    fleet.rollout.start(cases.capsule(2), (100,), wait_s=10_000, limits=Limits(20, 3))
    fleet.pull(harmed=(1, 2))
    assert fleet.rollout.step()["state"] == "running"  # fewer than three
    fleet.pull()
    fleet.reports.forget(7, 3)
    assert fleet.rollout.step()["sums"]["rolled_back"] == 2


def test_a_share_of_harmed_devices_below_the_limit_does_not_halt_it(fleet):
    fleet.rollout.start(cases.capsule(2), (100,), wait_s=10_000, limits=Limits(20, 1))
    fleet.pull(harmed=(1, 2, 3, 4, 5, 6))  # 20 % of those that took it, not more
    assert fleet.rollout.step()["state"] == "running"


def test_refusals_halt_it(fleet):
    fleet.rollout.start(cases.capsule(2), (100,), wait_s=10_000)
    for device in (1, 2, 3):
        store, fleet.clock.now = fleet.stores[device], fleet.clock.now + 1
        data = make_report(store, device, fleet.clock.now, report.REFUSED, "oversized")
        fleet.reports.take(data)
    state = fleet.rollout.step()
    assert state["state"] == "halted" and state["sums"]["refused"] == 3


@pytest.mark.parametrize(
    "limits,kind", [(Limits(resets=1), "resets"), (Limits(score=100), "low_score")]
)
def test_resets_and_low_scores_halt_it(fleet, limits, kind):
    fleet.rollout.start(cases.capsule(2), (100,), wait_s=10_000, limits=limits)
    for device in (1, 2, 3):
        store, fleet.clock.now = fleet.stores[device], fleet.clock.now + 1
        data = fleet.repository.capsule(7)
        store.stage(data, 128)
        store.write(data, len(data))
        store.finish()
        store.waiting().keep_verdict(1, 96)
        store.trial()
        resets = 2 if kind == "resets" else 0
        fleet.reports.take(make_report(store, device, fleet.clock.now, resets=resets))
    state = fleet.rollout.step()
    assert state["state"] == "halted" and state["sums"][kind] == 3


def test_pause_and_resume(fleet):
    fleet.rollout.start(cases.capsule(2), (50, 100), wait_s=10)
    fleet.rollout.pause()
    assert offered(fleet) == 0
    fleet.clock.now += 100
    assert fleet.rollout.step()["state"] == "paused"
    with pytest.raises(Refused, match="paused: expected running"):
        fleet.rollout.pause()
    fleet.rollout.resume()
    assert offered(fleet) == 50


def test_a_halted_rollout_that_is_resumed_halts_again_only_for_more_harm(fleet):
    fleet.rollout.start(cases.capsule(2), (50, 100), wait_s=10_000, limits=Limits(least=2))
    fleet.pull(harmed=DEVICES)
    fleet.rollout.step()
    fleet.rollout.resume()
    assert fleet.rollout.step()["state"] == "running"
    fleet.clock.now += 10_000
    fleet.rollout.step()
    fleet.pull(harmed=DEVICES)
    assert fleet.rollout.step()["state"] == "halted"


def test_back_offers_the_content_of_the_version_before_to_all(fleet):
    fleet.rollout.start(cases.capsule(2), (100,), wait_s=10)
    fleet.pull()
    fleet.rollout.back()
    assert offered(fleet) == 100
    fleet.pull()
    first = read(cases.capsule(1))
    for store in fleet.stores.values():
        assert store.head.version == 3
        assert read(cases.active(store)).sections == first.sections


def test_back_from_the_first_version_is_refused(tmp_path):
    rollout = Rollout(Repository(tmp_path, cases.KEY), 7)
    rollout.start(cases.capsule(1))
    with pytest.raises(Refused, match="nothing to go back to"):
        rollout.back()


def test_a_second_rollout_waits_for_the_first(fleet):
    fleet.rollout.start(cases.capsule(2))
    with pytest.raises(Refused, match="version 2 is running"):
        fleet.rollout.start(cases.capsule(3))


def test_what_is_published_beside_a_rollout_is_none_of_its_own(fleet):
    fleet.rollout.start(cases.capsule(2), (10, 100), 3600)
    fleet.repository.publish(cases.capsule(3), percent=40)
    with pytest.raises(Refused, match="version 2 is not the newest any more"):
        fleet.rollout.step()  # before it would change anything
    fleet.clock.now += 3600
    for verb in (fleet.rollout.step, fleet.rollout.pause):
        with pytest.raises(Refused, match="version 2 is not the newest any more"):
            verb()
        assert offered(fleet) == 40 and fleet.rollout.state()["state"] == "running"
    state = fleet.rollout.start(cases.capsule(4), (20, 100), 3600)
    assert (state["version"], state["before"]) == (4, 3) and offered(fleet) == 20
    fleet.rollout.pause()
    fleet.repository.publish(cases.capsule(5))
    with pytest.raises(Refused, match="version 4 is not the newest any more"):
        fleet.rollout.resume()
    assert offered(fleet) == 100
    assert fleet.rollout.back()["version"] == 6  # the content before it, above all there is


def test_a_clock_that_was_ahead_delays_a_stage_and_hides_no_harm(fleet):
    fleet.clock.now += 10**9
    fleet.rollout.start(cases.capsule(2), (50, 100), 3600)
    fleet.clock.now -= 10**9
    state = fleet.rollout.step()
    assert state["history"][-1]["what"] == "the clock went back: the stage begins anew"
    assert state["state"] == "running" and offered(fleet) == 50
    fleet.clock.now += 3599
    assert fleet.rollout.step()["stage"] == 0
    fleet.clock.now += 1
    assert fleet.rollout.step()["stage"] == 1


def test_refusals_halt_a_rollout_though_the_clock_was_ahead_at_its_start(fleet):
    fleet.clock.now += 10**9
    fleet.rollout.start(cases.capsule(2), (50, 100), 3600)
    fleet.clock.now -= 10**9
    fleet.rollout.step()
    for device, store in fleet.stores.items():
        told = make_report(store, device, 10**6, report.REFUSED, "integrity")
        fleet.reports.take(told)
    state = fleet.rollout.step()
    assert state["state"] == "halted" and state["sums"]["refused"] == len(DEVICES)


def test_devices_of_another_cohort_harm_no_rollout(fleet):
    """Both cohorts have a version 2, each another; what devices report names only the number."""
    fleet.repository.publish(cases.capsule(2, b"of the others"), "beta")
    fleet.rollout.start(cases.capsule(2), (100,), wait_s=10_000)
    others = list(DEVICES)[:10]
    for device, store in fleet.stores.items():
        is_other = device in others
        store.swap_capsule(fleet.repository.capsule(7, "beta" if is_other else "all"))
        fleet.clock.now += 1
        resets = 9 * is_other
        made = make_report(store, device, fleet.clock.now, report.TAKEN, resets=resets)
        fleet.reports.take(made)
    found = fleet.rollout.step()
    assert found["state"] == "running"
    sums = found["sums"]
    assert (sums["devices"], sums["took"], sums["resets"]) == (20, 20, 0)
    # What both were given, as the model of before, tells nothing: its device counts.
    fleet.repository.publish(cases.capsule(3), "beta")
    fleet.repository.publish(cases.capsule(3), "all")
    store.swap_capsule(cases.capsule(3))
    fleet.reports.take(make_report(store, device, fleet.clock.now + 1))
    assert fleet.rollout.sums()["devices"] == 20
    # A history that is damaged is as none.
    (fleet.repository.folder / "history" / "7-beta.jsonl").write_text("{")
    assert fleet.rollout.sums()["devices"] == 30


@pytest.mark.parametrize("lost", ["state", "state and history"])
def test_a_start_that_was_cut_after_the_release_was_out_is_made_again(fleet, lost):
    noted = fleet.repository.folder / "history" / "7-all.jsonl"
    was = noted.read_bytes()
    begun = fleet.rollout.start(cases.capsule(2), (10, 100), wait_s=10)
    fleet.rollout.path.unlink()
    if "history" in lost:
        noted.write_bytes(was)
    with pytest.raises(Refused, match="expected above 2"):  # another release of that number
        fleet.rollout.start(cases.capsule(2, b"other weights"), (10, 100), wait_s=10)
    with pytest.raises(Refused, match="expected above 2"):  # or for another share
        fleet.rollout.start(cases.capsule(2), (20, 100), wait_s=10)
    assert fleet.rollout.start(cases.capsule(2), (10, 100), wait_s=10) == begun
    assert [r["version"] for r in History(fleet.repository.folder, 7).releases()] == [1, 2]
    fleet.rollout.back()
    assert read(fleet.repository.capsule(7)).sections == read(cases.capsule(1)).sections


def test_a_start_is_not_made_again_once_its_state_is_kept(fleet):
    fleet.rollout.start(cases.capsule(2), (100,), wait_s=0)
    fleet.rollout.step()
    with pytest.raises(Refused, match="expected above 2"):
        fleet.rollout.start(cases.capsule(2), (100,), wait_s=0)


@pytest.mark.parametrize("stages", [(), (10,), (50, 10, 100), (0, 100), (10, 10, 100), (50, 101)])
def test_stages_that_do_not_rise_to_100_are_refused(fleet, stages):
    with pytest.raises(Refused, match="stages"):
        fleet.rollout.start(cases.capsule(2), stages)
    assert fleet.repository.manifest(7).version == 1


@pytest.mark.parametrize(
    "options",
    [
        {"wait_s": float("nan")},
        {"wait_s": -1},
        {"wait_s": 1e30},
        {"stages": (True, 100)},
        {"stages": (1.5, 100)},
    ],
)
def test_what_no_state_can_keep_is_refused_before_anything_is_published(fleet, options):
    name, before = next(iter(options)), fleet.repository.manifest(7)
    with pytest.raises(Refused, match=name):
        fleet.rollout.start(cases.capsule(2), **options)
    assert fleet.repository.manifest(7) == before and fleet.rollout.state() is None


@pytest.mark.parametrize(
    "limits",
    [
        {"harmed_percent": float("nan")},
        {"harmed_percent": -1},
        {"least": -1},
        {"resets": -3},
        {"score": 1.5},
        {"score": True},
    ],
)
def test_limits_that_no_state_can_keep_are_refused(limits):
    with pytest.raises(Refused, match=next(iter(limits))):
        Limits(**limits)


def test_updates_are_made_from_the_latest_releases(fleet):
    for version in (2, 3, 4, 5):
        weights = cases.tuned(cases.weights(700, 1), version)
        fleet.repository.publish(cases.capsule(version, weights))
    history = History(fleet.repository.folder, 7)
    assert [r["version"] for r in history.releases()] == [1, 2, 3, 4, 5]
    made = fleet.repository.publish(cases.capsule(6, weights), bases=history.capsules(3))
    bases = {e.base for e in made.entries if e.base != WHOLE}
    assert bases == {read(data).digest[:16] for data in history.capsules(4)[1:]}


def test_prune_keeps_what_devices_and_the_way_back_need(fleet):
    for version in range(2, 7):
        fleet.repository.publish(cases.capsule(version))
    folder = fleet.repository.folder
    count, size = prune(folder, kept=1)
    assert count > 0 and size > 0
    history = History(folder, 7)
    assert [read(data).version for data in history.capsules(9)] == [6, 5]
    for entry in fleet.repository.manifest(7).entries:
        assert (folder / "objects" / entry.name).exists()
    assert prune(folder, kept=1) == (0, 0)


def test_prune_keeps_the_content_that_a_rollout_may_go_back_to(fleet):
    fleet.repository.publish(cases.capsule(2, cases.weights(700, 5)))
    fleet.rollout.start(cases.capsule(3, cases.weights(700, 6)), (10, 100), 3600)
    assert prune(fleet.repository.folder, kept=0)[0] > 0
    fleet.rollout.back()
    went = fleet.repository.capsule(7)
    assert read(went).sections == read(cases.capsule(2, cases.weights(700, 5))).sections
    fleet.rollout.path.write_text("{")
    with pytest.raises(Refused, match="7-all.json: damaged"):
        prune(fleet.repository.folder, kept=0)


@pytest.mark.parametrize("kept", [-1, 1.5, True, None])
def test_prune_takes_a_whole_number_of_releases(fleet, kept):
    with pytest.raises(Refused, match="kept"):
        prune(fleet.repository.folder, kept)


def test_prune_removes_nothing_where_a_history_is_damaged(fleet):
    for version in range(2, 7):
        fleet.repository.publish(cases.capsule(version))
    folder = fleet.repository.folder
    before = sorted((folder / "objects").iterdir())
    next(folder.glob("history/*.jsonl")).write_text("{broken\n")
    with pytest.raises(Refused, match="damaged"):
        prune(folder)
    assert sorted((folder / "objects").iterdir()) == before


def test_the_command_says_what_it_did_and_ends_with_3_when_halted(fleet, tmp_path, capsys):
    key, capsule = tmp_path / "key", tmp_path / "two.acap"
    key.write_bytes(cases.KEY)
    capsule.write_bytes(cases.capsule(2))
    folder = str(fleet.repository.folder)
    start = ["rollout", folder, "start", str(capsule), "--key", str(key), "--stages", "50,100"]
    assert main(start) == 0
    assert "version 2, running at 50 %" in capsys.readouterr().out
    fleet.pull(harmed=DEVICES)
    rest = ["--model", "7", "--key", str(key)]
    assert main(["rollout", folder, "step", *rest]) == 3
    assert "halted" in capsys.readouterr().out
    assert main(["rollout", folder, "status", *rest, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["sums"]["rolled_back"] > 2
    assert main(["rollout", folder, "back", *rest]) == 0
    assert main(["rollout", folder, "history", *rest]) == 0
    assert "content of version 1 as version 3" in capsys.readouterr().out
    assert main(["rollout", folder, "prune", "--deltas", "0"]) == 0


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_verb_that_is_refused_changes_nothing_and_leaves_no_file(fleet, tmp_path, capsys):
    folder = fleet.repository.folder
    (tmp_path / "key").write_bytes(cases.KEY)
    (tmp_path / "old").write_bytes(cases.capsule(1))
    (tmp_path / "new").write_bytes(cases.capsule(2))
    before, key = everything(folder), ["--key", str(tmp_path / "key")]
    for words, said in (
        (["start", str(tmp_path / "old"), *key], "version 1"),
        (["start", str(tmp_path / "new"), *key, "--cohort", "../x"], "cohort"),
        (["start", str(tmp_path / "new")], "key"),
        (["step", "--model", "7", *key], "no rollout"),
        (["pause", "--model", "7", *key], "no rollout"),
        (["back", "--model", "9", *key], "no rollout"),
        (["step", "--model", "7", "--cohort", "../../x", *key], "cohort"),
        (["status", "--model", "7", "--cohort", "/x", *key], "cohort"),
    ):
        assert main(["rollout", str(folder), *words]) != 0, words
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and said in error, (words, error)
        assert everything(folder) == before, words
    assert main(["rollout", str(folder), "start", str(tmp_path / "new"), *key]) == 0
    assert not list(folder.glob(".lock*"))


@pytest.mark.parametrize("verb", [["rollout", "start"], ["publish"]])
def test_no_repository_is_made_for_a_capsule_that_is_refused(tmp_path, capsys, verb):
    (tmp_path / "capsule").write_bytes(cases.capsule(1)[:-1])
    words = [verb[0], str(tmp_path / "new"), *verb[1:], str(tmp_path / "capsule")]
    assert main(words) != 0
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_who_waits_for_a_lock_that_is_removed_takes_the_next_one(tmp_path):
    path, inside, most = tmp_path / ".lock", [], []

    def work():
        for _ in range(50):
            with locked(path):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 200 and max(most) == 1
    assert not path.exists()


_STATE = {
    "limits": [None, [], "x", {}, {"least": 1}],
    "stage": [None, 9, -1, "0", [], 0.5],
    "stages": [None, [], {}, "100", ["100"]],
    "history": [None, [], "x", [1], [{"at": "now", "what": "x"}]],
    "wait_s": [None, "1", [], -1],
    "before_object": [None, 7, {}, "../../../etc/passwd"],
    "version": [None, "2", [], True],
    "state": [None, "gone", [], {}],
    "since": [None, "x", 1e400],
}


@pytest.mark.parametrize("field", _STATE)
def test_a_damaged_state_is_one_line_that_names_file_and_field(fleet, capsys, field):
    fleet.rollout.start(cases.capsule(2))
    good = json.loads(fleet.rollout.path.read_text())
    for value in [*_STATE[field], "missing"]:
        state = {**good, field: value}
        if value == "missing":
            del state[field]
        fleet.rollout.path.write_text(json.dumps(state))
        before = fleet.rollout.path.read_bytes()
        for verb in ("status", "step", "back", "history"):
            words = ["rollout", str(fleet.repository.folder), verb, "--model", "7"]
            assert main(words) == 6, (verb, value)
            error = capsys.readouterr().err
            assert "7-all.json: damaged" in error and field in error, (verb, value, error)
            assert error.count("\n") == 1
        assert fleet.rollout.path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, "7", '"x"', "{}"])
@pytest.mark.parametrize("place", ["rollouts/7-all.json", "history/7-all.jsonl"])
def test_what_is_no_state_and_no_release_is_named(fleet, capsys, place, text):
    fleet.rollout.start(cases.capsule(2))
    folder = fleet.repository.folder
    (folder / place).write_text(text)
    verb = "status" if place.startswith("rollouts") else "back"
    code = main(["rollout", str(folder), verb, "--model", "7"])
    error = capsys.readouterr().err
    if text or place.startswith("rollouts"):  # an empty history is one without releases
        assert code == 6 and place in error
    assert error.count("\n") <= 1


@pytest.mark.parametrize("name", ["version", "object", "epoch", "bytes", "percent", "at"])
@pytest.mark.parametrize("value", [None, "x", -1, [], True, float("nan")])
def test_a_release_with_a_wrong_type_is_named(fleet, capsys, name, value):
    path = fleet.repository.folder / "history" / "7-all.jsonl"
    first = json.loads(path.read_text().splitlines()[0])
    path.write_text(json.dumps({**first, name: value}) + "\n")
    assert main(["rollout", str(fleet.repository.folder), "history", "--model", "7"]) == 6
    error = capsys.readouterr().err
    assert f"7-all.jsonl: damaged: {name} is" in error and error.count("\n") == 1


@pytest.mark.parametrize("name", ["bytes", "percent", "at"])
def test_a_release_that_lacks_what_is_shown_is_named(fleet, capsys, name):
    path = fleet.repository.folder / "history" / "7-all.jsonl"
    first = json.loads(path.read_text().splitlines()[0])
    del first[name]
    path.write_text(json.dumps(first) + "\n")
    assert main(["rollout", str(fleet.repository.folder), "history", "--model", "7"]) == 6
    assert f"7-all.jsonl: damaged: {name} is missing" in capsys.readouterr().err
