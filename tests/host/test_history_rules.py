# SPDX-License-Identifier: MIT
"""What a repository remembers of its releases, and what pruning leaves of its objects."""

import dataclasses
import json

import capsule_cases as cases
import pytest
from test_repository_rules import KEY, OBJECT_KEY, OTHER, files

from acclimate_host.capsules.encryption import seal
from acclimate_host.capsules.history import KEPT, History, read_object, release_of
from acclimate_host.capsules.manifest import object_name
from acclimate_host.capsules.prune import prune
from acclimate_host.capsules.repository import Repository
from acclimate_host.errors import Refused


@pytest.fixture
def shop(tmp_path):
    return Repository(tmp_path / "shop", KEY)


def of(shop, cohort="all", model=7, **options):
    return History(shop.folder, model, cohort, **options)


def versions(releases):
    return [release["version"] for release in releases]


# ---- releases ----------------------------------------------------------------------------------


def test_a_release_is_one_line_of_json_with_its_time(shop):
    made, whole = shop.publish(cases.capsule(1), percent=40), cases.capsule(1)
    history = of(shop, "beta", clock=lambda: 1234.9)
    assert repr(history) == f"History({str(shop.folder / 'history' / '7-beta.jsonl')!r})"
    assert history.releases() == []
    history.add(made)
    history.add(dataclasses.replace(made, version=2, epoch=3))
    text = (shop.folder / "history" / "7-beta.jsonl").read_text()
    assert text.count("\n") == 2 and text.endswith("\n")
    first, second = map(json.loads, text.splitlines())
    assert first == {
        "version": 1, "epoch": 0, "object": object_name(whole), "digest": whole[20:52].hex(),
        "bytes": len(whole), "percent": 40, "at": 1234,
    }  # fmt: skip
    assert second == {**first, "version": 2, "epoch": 3}
    assert history.releases() == [first, second]
    assert release_of(made) == {name: first[name] for name in first if name != "at"}


def test_the_release_before_is_the_last_other_one(shop):
    made = [shop.publish(cases.capsule(version)) for version in (1, 2, 3)]
    history = of(shop)
    for manifest, wanted in zip(made, (3, 3, 2), strict=True):
        assert history.before(manifest)["version"] == wanted
    assert versions(history.releases()) == [1, 2, 3]
    unknown = dataclasses.replace(made[2], version=9)
    assert history.before(unknown)["version"] == 3  # and it is noted
    assert versions(history.releases()) == [1, 2, 3, 9]
    other_epoch = dataclasses.replace(made[2], epoch=1)
    assert history.before(other_epoch)["version"] == 9
    assert of(shop, "new").before(made[0]) == {}
    assert versions(of(shop, "new").releases()) == [1]


def test_releases_of_before_there_were_epochs_are_of_epoch_0(shop):
    made = [shop.publish(cases.capsule(version)) for version in (1, 2)]
    path = of(shop).path
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["epoch"], line["digest"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert of(shop).before(made[1])["version"] == 1
    assert versions(of(shop).releases()) == [1, 2]
    assert of(shop, "beta").foreign() == set()


def test_foreign_are_releases_of_other_cohorts_of_the_same_model(shop):
    made = {name: shop.publish(cases.capsule(1), name) for name in ("all", "beta")}
    for version, name in ((2, "beta"), (3, "beta"), (1, "beta-two")):
        shop.publish(cases.capsule(version), name)
    for name in ("77-all", "8-all", "70-beta"):  # of other models
        (shop.folder / "history" / f"{name}.jsonl").write_text(of(shop, "beta").path.read_text())
    (shop.folder / "history" / "7-broken.jsonl").write_text("no json\n")
    one = {made["all"].digest.hex()}
    three = {release["digest"] for release in of(shop, "beta").releases()}
    assert len(three) == 3 and one < three
    assert of(shop).foreign() == of(shop, "beta-two").foreign() == three - one
    assert of(shop, "beta").foreign() == set()  # what the others have was once its own
    assert of(shop, "new").foreign() == three


def test_capsules_are_the_latest_ones_newest_first(shop):
    whole = [cases.capsule(version) for version in range(1, 7)]
    for capsule in whole:
        shop.publish(capsule)
    assert KEPT == 3 and of(shop).capsules() == whole[:-4:-1]
    assert of(shop).capsules(2) == whole[:-3:-1] and of(shop).capsules(99) == whole[::-1]
    objects = shop.folder / "objects"
    (objects / object_name(whole[5])).write_bytes(b"damaged")
    (objects / object_name(whole[4])).unlink()
    assert of(shop).capsules() == [whole[3]]  # of the latest three


def test_an_object_is_read_where_it_is_whole_and_of_the_key(shop, tmp_path):
    hidden = Repository(tmp_path / "hidden", KEY, object_key=OBJECT_KEY)
    whole = cases.capsule(1)
    name = hidden.publish(whole).whole.name
    assert of(hidden, object_key=OBJECT_KEY).capsules() == [whole]
    assert of(hidden, object_key=OTHER).capsules() == of(hidden).capsules() == []
    assert read_object(hidden.folder, name, OBJECT_KEY) == whole
    for key in (None, OTHER):
        assert read_object(hidden.folder, name, key) is None
    path = hidden.folder / "objects" / name
    data = path.read_bytes()
    path.write_bytes(seal(whole, OBJECT_KEY))  # as good, but under another's name
    assert path.read_bytes() != data and read_object(hidden.folder, name, OBJECT_KEY) is None
    assert read_object(hidden.folder, "0" * 32) is None


# ---- pruned ------------------------------------------------------------------------------------


def objects(shop):
    return {p.name: p.stat().st_size for p in (shop.folder / "objects").iterdir() if p.is_file()}


def test_pruning_leaves_what_a_manifest_names_and_the_latest_capsules(shop):
    content = cases.weights(400, 1)
    whole = [cases.capsule(v, cases.tuned(content, v)) for v in range(1, 8)]
    for capsule in whole:
        made = shop.publish(capsule)
    assert len(made.entries) > 1  # updates, which only this manifest needs
    alone = cases.capsule(1, cases.weights(400, 77))
    shop.publish(alone, "beta")
    named = {entry.name for entry in made.entries} | {object_name(alone)}
    for kept in (9, 5, None, 2, 1, 0):
        before = objects(shop)
        count, size = prune(shop.folder) if kept is None else prune(shop.folder, kept)
        number = (3 if kept is None else kept) + 1
        left = objects(shop)
        assert set(left) == named | {object_name(capsule) for capsule in whole[-number:]}
        gone = [before[name] for name in before if name not in left]
        assert (count, size) == (len(gone), sum(gone)) and count > 0
    assert prune(shop.folder, 0) == (0, 0)
    assert of(shop).capsules(1) == [whole[-1]] and shop.capsule(7, "beta") == alone


def test_what_is_no_file_of_an_object_stays(shop):
    shop.publish(cases.capsule(1))
    inside = shop.folder / "objects" / "folder"
    inside.mkdir()
    (shop.folder / "objects" / "note").write_bytes(b"twelve bytes")
    assert prune(shop.folder) == (1, 12) and inside.is_dir()


@pytest.mark.parametrize("name", ["x-all", "-all", "12345678901-all", "7x-all", " 7-all"])
def test_nothing_is_removed_where_a_history_has_another_name(shop, name):
    shop.publish(cases.capsule(1))
    (shop.folder / "objects" / "note").write_bytes(b"x")
    (shop.folder / "history" / f"{name}.jsonl").write_text("")
    before = files(shop.folder)
    with pytest.raises(Refused, match="expected MODEL-COHORT.jsonl: move it elsewhere"):
        prune(shop.folder)
    assert files(shop.folder) == before


@pytest.mark.parametrize("damaged", ["models/7/all.man", "history/7-all.jsonl"])
def test_nothing_is_removed_where_something_cannot_be_read(shop, damaged):
    shop.publish(cases.capsule(1))
    (shop.folder / "objects" / "note").write_bytes(b"x")
    (shop.folder / damaged).write_bytes(b"\xff damaged")
    before = files(shop.folder)
    with pytest.raises(Refused):
        prune(shop.folder)
    assert files(shop.folder) == before


def test_pruning_waits_for_who_publishes(shop, monkeypatch):
    shop.publish(cases.capsule(1))
    held = []
    alone = Repository.alone

    def noted(self, *args):
        held.append(self.folder)
        return alone(self, *args)

    monkeypatch.setattr(Repository, "alone", noted)
    prune(shop.folder)
    assert held == [shop.folder]
