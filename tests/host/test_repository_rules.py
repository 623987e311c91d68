# SPDX-License-Identifier: MIT
"""What a repository takes, what it refuses, and that a refusal changes none of its files."""

import dataclasses

import capsule_cases as cases
import pytest
from test_security import NEXT, RELEASE, ROLLOUT, ROOT, THIEF, capsule

from acclimate.pull.manifest import Manifest as DeviceManifest
from acclimate.store import CapsuleError
from acclimate_host.capsules import delta, key_list, manifest, signing
from acclimate_host.capsules.build import read
from acclimate_host.capsules.fleet_state import fleet_state
from acclimate_host.capsules.history import History
from acclimate_host.capsules.keys import device_key
from acclimate_host.capsules.layout import ENTRIES_MAX, NUMBER_MAX
from acclimate_host.capsules.manifest import WHOLE, is_signed, object_name
from acclimate_host.capsules.prune import prune
from acclimate_host.capsules.repository import Repository, nothing_left
from acclimate_host.errors import Refused

KEY, OTHER, OBJECT_KEY = cases.KEY, b"another key, of 32 bytes as well", bytes(range(32))


def files(folder):
    """{path: content} of all but locks and what was released when."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".lock")
    }


@pytest.fixture
def shop(tmp_path):
    """A repository with version 1, signed with an HMAC key."""
    made = Repository(tmp_path / "shop", KEY)
    made.publish(cases.capsule(1))
    return made


def other(shop, key=KEY, **options):
    return Repository(shop.folder, key, **options)


def bases_of(made):
    return [entry.base for entry in made.entries[1:]]


def refused(folder, call, word):
    before = files(folder)
    with pytest.raises(Refused, match=word):
        call()
    assert files(folder) == before


# ---- the folder --------------------------------------------------------------------------------


def test_a_folder_that_was_made_for_something_refused_goes_again(tmp_path):
    folder = tmp_path / "new"
    with pytest.raises(Refused), nothing_left(folder):
        Repository(folder, KEY).set_percent(7, 1)
    assert not (folder / "models").exists() and not (folder / "objects").exists()
    kept = tmp_path / "kept"
    kept.mkdir()
    with pytest.raises(Refused), nothing_left(kept):
        Repository(kept, KEY).set_percent(7, 1)
    assert (kept / "models").is_dir()  # it was somebody's before
    with nothing_left(tmp_path / "good"):
        Repository(tmp_path / "good", KEY).publish(cases.capsule(1))
    assert (tmp_path / "good" / "models" / "7" / "all.man").is_file()


@pytest.mark.parametrize("cohort", ["", "All", "-a", "a b", "a/b", "../a", "a" * 33])
def test_names_of_cohorts_that_no_file_should_have_are_refused(shop, cohort):
    refused(shop.folder, lambda: shop.publish(cases.capsule(2), cohort), "cohort")


def test_the_longest_name_of_a_cohort_is_taken(shop):
    name = "0_-" + "z" * 29
    assert shop.publish(cases.capsule(1), name).cohort == manifest.cohort_mark(name)
    assert [row[:2] for row in shop.models()] == [(7, name), (7, "all")]


def test_of_two_publishers_one_waits(shop):
    with shop.alone("rollout"), shop.alone():  # of different things neither waits
        assert (shop.folder / ".lock").exists() and (shop.folder / ".lockrollout").exists()


# ---- what is published -------------------------------------------------------------------------


def test_what_is_published_is_there_under_the_name_of_its_content(shop):
    whole = cases.capsule(2)
    made = shop.publish(whole, percent=40, expires=65535)
    assert made == shop.manifest(7) and shop.capsule(7) == whole
    assert (made.model, made.version, made.total) == (7, 2, len(whole))
    assert (made.digest, made.percent, made.expires) == (whole[20:52], 40, 65535)
    assert (made.sequence, made.epoch, made.encrypted) == (2, 0, False)
    assert made.entries[0] == manifest.Entry(WHOLE, len(whole), object_name(whole))
    for entry in made.entries:
        data = (shop.folder / "objects" / entry.name).read_bytes()
        assert object_name(data) == entry.name and len(data) == entry.size
    assert is_signed(shop.manifest_path(7).read_bytes(), KEY)
    releases = History(shop.folder, 7, "all").releases()
    assert [(r["version"], r["object"]) for r in releases][-1] == (2, object_name(whole))
    assert shop.manifest(8) is None and shop.capsule(8) is None


def test_numbers_beyond_their_range_are_refused(shop):
    two = cases.capsule(2)
    for percent in (-1, 101):
        refused(shop.folder, lambda p=percent: shop.publish(two, percent=p), "percent")
        refused(shop.folder, lambda p=percent: shop.set_percent(7, p), "percent")
    for day in (-1, 65536):
        refused(shop.folder, lambda d=day: shop.publish(two, expires=d), "expires")
        refused(shop.folder, lambda d=day: shop.set_expires(7, d), "expires")
    for value in (0, 100):
        shop.set_percent(7, value)
        assert shop.manifest(7).percent == value
    for value in (65535, 0):
        shop.set_expires(7, value)
        assert shop.manifest(7).expires == value


@pytest.mark.parametrize("value", [50.5, 50.0, float("nan"), True, "5", None])
def test_numbers_that_are_no_whole_ones_are_refused(shop, value):
    two = cases.capsule(2)
    for call, name in (
        (lambda: shop.publish(two, percent=value), "percent"),
        (lambda: shop.publish(two, expires=value), "expires"),
        (lambda: shop.set_percent(7, value), "percent"),
        (lambda: shop.set_expires(7, value), "expires"),
    ):
        refused(shop.folder, call, f"{name} .*: expected a whole number")


def test_a_version_is_published_once_and_only_upwards(shop):
    shop.publish(cases.capsule(5))
    for version in (5, 4):
        refused(shop.folder, lambda v=version: shop.publish(cases.capsule(v)), "version")
    assert shop.publish(cases.capsule(6)).version == 6
    assert shop.publish(cases.capsule(4), "beta").version == 4  # each cohort has its own


def test_a_damaged_capsule_or_one_of_another_key_is_refused(shop):
    damaged = bytearray(cases.capsule(2))
    damaged[-1] ^= 1
    refused(shop.folder, lambda: shop.publish(bytes(damaged)), "integrity")
    refused(shop.folder, lambda: shop.publish(cases.capsule(2, key=OTHER)), "authenticity")
    refused(shop.folder, lambda: shop.publish(cases.capsule(2, epoch=1)), "epoch 1")


def test_what_a_board_saved_for_itself_is_published_to_nobody(shop):
    for flags in (1, 128):
        data = cases.capsule(2, flags=flags)
        assert read(data).intact
        refused(shop.folder, lambda data=data: shop.publish(data), "a board saved it for itself")


def test_a_base_is_whole_and_of_the_key(shop):
    damaged = bytearray(cases.capsule(9))
    damaged[-1] ^= 1
    for base, word in ((bytes(damaged), "base: integrity"), (cases.capsule(9, key=OTHER), "base")):
        refused(shop.folder, lambda b=base: shop.publish(cases.capsule(2), bases=[b]), word)


def test_updates_are_offered_where_they_are_smaller_and_from_each_base_once(shop, monkeypatch):
    one, content = cases.capsule(1), cases.weights(301, 1)
    two = cases.capsule(2, cases.tuned(content, 2))
    made = shop.publish(two, bases=[one, one])
    assert bases_of(made) == [one[20:36]]
    three = cases.capsule(3, cases.tuned(content, 3))
    size = len(three)
    for change, wanted in ((-1, [two[20:36]]), (0, []), (1, [])):
        monkeypatch.setattr(delta, "smallest", lambda base, new, n=size + change: bytes(n))
        assert bases_of(other(shop).publish(three, f"beta{change + 1}", bases=[two])) == wanted


def test_a_manifest_names_at_most_so_many_files(shop, monkeypatch):
    monkeypatch.setattr(delta, "smallest", lambda base, new: base[20:40])
    many = [cases.capsule(v) for v in range(20, 20 + ENTRIES_MAX)]
    made = shop.publish(cases.capsule(2), bases=many)
    assert len(made.entries) == ENTRIES_MAX
    # the present one comes first, as most devices have it
    assert made.entries[1].base == cases.capsule(1)[20:36]
    assert made.entries[-1].base == many[ENTRIES_MAX - 3][20:36]


def test_an_object_that_is_there_is_not_written_again_unless_it_is_damaged(shop):
    (entry,) = shop.manifest(7).entries
    path = shop.folder / "objects" / entry.name
    before = path.stat().st_mtime_ns
    shop.publish(cases.capsule(1), "beta")
    assert path.stat().st_mtime_ns == before
    path.write_bytes(b"damaged")
    with pytest.raises(Refused, match="damaged"):
        shop.capsule(7)
    shop.publish(cases.capsule(1), "gamma")
    assert shop.capsule(7) == cases.capsule(1)
    path.unlink()
    with pytest.raises(Refused, match="publish a whole capsule anew"):
        shop.capsule(7)
    made = shop.publish(cases.capsule(2))  # what is not there is no base
    assert [entry.base for entry in made.entries] == [WHOLE]


def test_what_somebody_else_put_there_is_none_of_it(shop):
    before = list(shop.models())
    for name in ("backup", ".7", "7 (copy)", "\xb2", "-7", "77777777777"):
        folder = shop.folder / "models" / name
        folder.mkdir()
        (folder / "all.man").write_bytes(shop.manifest_path(7).read_bytes())
    (shop.folder / "objects" / "folder").mkdir()
    assert list(shop.models()) == before
    assert shop.publish(cases.capsule(2)).version == 2
    count, _ = prune(shop.folder, 0)  # what a copy of a manifest names is kept
    assert count == 0 and (shop.folder / "objects" / "folder").is_dir()
    for name in ("notes.jsonl", "\xb2-all.jsonl"):
        path = shop.folder / "history" / name
        path.write_text("{}")
        refused(shop.folder, lambda: prune(shop.folder), f"{name}: expected MODEL-COHORT")
        path.unlink()


def test_a_manifest_of_no_cohort_s_name_is_somebody_else_s(shop):
    before = list(shop.models())
    for name in ("all (copy).man", "all.1.man", ".all.man"):
        (shop.folder / "models" / "7" / name).write_bytes(shop.manifest_path(7).read_bytes())
    assert list(shop.models()) == before
    assert shop.publish(cases.capsule(2)).version == 2
    assert fleet_state(shop)["models"][0]["version"] == 2


def test_a_damaged_manifest_of_another_model_is_in_nobody_s_way(shop):
    (shop.folder / "models" / "8").mkdir()
    (shop.folder / "models" / "8" / "all.man").write_bytes(b"AMAN")
    assert shop.publish(cases.capsule(2)).version == 2
    assert [row[:2] for row in shop.models(7)] == [(7, "all")]
    refused(shop.folder, lambda: list(shop.models()), "8/all.man")


def test_what_is_newest_is_told_by_epoch_and_version(shop):
    shop.publish(cases.capsule(2))
    newest = [(e, v) for e in (0, 1) for v in (1, 2, 3) if shop.is_newest(7, "all", (e, v))]
    assert newest == [(0, 2)]
    assert not shop.is_newest(7, "beta", (0, 2)) and not shop.is_newest(8, "all", (0, 2))
    refused(shop.folder, lambda: shop.set_percent(7, 5, release=(0, 1)), "version 1 is not the")
    shop.set_percent(7, 5, release=(0, 2))
    assert shop.manifest(7).percent == 5


def test_a_manifest_without_a_whole_capsule_is_none(shop):
    made = shop.manifest(7)
    entry = dataclasses.replace(made.entries[0], base=bytes(range(16)))
    shop.manifest_path(7).write_bytes(dataclasses.replace(made, entries=(entry,)).pack(KEY))
    for call in (lambda: shop.manifest(7), lambda: shop.publish(cases.capsule(2))):
        refused(shop.folder, call, "all.man: manifest without a whole capsule: remove it and pub")
    shop.manifest_path(7).unlink()
    assert shop.publish(cases.capsule(2)).version == 2


@pytest.mark.parametrize(
    "at, value",
    [(6, 101), (11, 64), (15, 64), (23, 64), (27, 64), (24, 0), (84, 1), (87, 64), (123, 64)],
)
def test_a_manifest_that_devices_refuse_is_damaged_though_it_is_signed(shop, at, value):
    made = shop.manifest(7)
    entries = (made.entries[0], manifest.Entry(bytes(range(16)), 30, "ab" * 16))
    body = bytearray(dataclasses.replace(made, entries=entries).signed())
    assert manifest.unpack(bytes(body) + signing.sign(bytes(body), KEY)).entries == entries
    body[at] = value
    shop.manifest_path(7).write_bytes(bytes(body) + signing.sign(bytes(body), KEY))
    if at not in (11, 123):  # of another model, or for devices that have another base
        found = DeviceManifest()
        found.add(shop.manifest_path(7).read_bytes(), len(body) + 64)
        with pytest.raises(CapsuleError, match="format"):
            found.check(cases.store(cases.flash()), b"all")
            found.choose()
    refused(shop.folder, lambda: shop.manifest(7), "all.man: manifest")


# ---- sequences ---------------------------------------------------------------------------------


def test_all_cohorts_of_a_model_have_the_next_sequence_and_are_signed_anew(shop):
    shop.publish(cases.capsule(3), "beta", percent=20, expires=9)
    before = dict((name, found) for _, name, found in shop.models())
    shop.set_percent(7, 50)
    for _, name, found in shop.models():
        changed = {"sequence": 3, "percent": 50} if name == "all" else {"sequence": 3}
        assert found == dataclasses.replace(before[name], **changed)
        assert is_signed(shop.manifest_path(7, name).read_bytes(), KEY)
    shop.set_expires(7, 77, "beta")
    assert [(f.sequence, f.expires) for _, _, f in shop.models()] == [(4, 0), (4, 77)]


def test_after_a_manifest_that_was_removed_the_sequence_goes_on(shop):
    shop.set_percent(7, 50)
    shop.manifest_path(7).unlink()
    assert shop.publish(cases.capsule(2)).sequence == 3
    path = shop.folder / "history" / "7.sequence"
    assert path.read_text() == "0 3\n"
    path.unlink()  # of a repository of before
    assert shop.publish(cases.capsule(3)).sequence == 4
    path.write_text("1 900\n")  # of another epoch
    assert shop.publish(cases.capsule(4)).sequence == 5
    for damaged in ("", "0", "0 4", "0 -4\n", "0 4\n\n", "0 4.5\n"):
        path.write_text(damaged)
        refused(shop.folder, lambda: shop.set_percent(7, 5), "7.sequence: damaged")


def test_a_sequence_that_is_used_up_is_said(shop):
    path = shop.manifest_path(7)
    last = dataclasses.replace(shop.manifest(7), sequence=NUMBER_MAX - 1)
    path.write_bytes(last.pack(KEY))
    shop.set_percent(7, 50)
    assert shop.manifest(7).sequence == NUMBER_MAX
    refused(shop.folder, lambda: shop.set_percent(7, 60), "sequence")


# ---- signatures --------------------------------------------------------------------------------


def test_what_was_signed_stays_signed_and_with_the_same_key(shop):
    for call in (
        lambda one: one.publish(cases.capsule(2, key=None)),
        lambda one: one.set_percent(7, 50),
        lambda one: one.set_expires(7, 50),
    ):
        refused(shop.folder, lambda c=call: c(other(shop, None)), "signed until now: give the key")
    refused(shop.folder, lambda: other(shop, OTHER).set_percent(7, 50), "not signed with this key")
    refused(shop.folder, lambda: other(shop).set_percent(8, 50), "nothing is published")
    refused(shop.folder, lambda: other(shop).set_expires(7, 5, "beta"), "nothing is published")


def test_another_cohort_is_no_way_to_sign_what_is_there_with_another_key(shop):
    """All manifests of a model are signed anew, and devices would refuse those of 'all'."""
    for key, word in ((None, "cohort all: signed until now"), (OTHER, "cohort all: of another")):
        one, made = other(shop, key), cases.capsule(2, key=key)
        refused(shop.folder, lambda one=one, made=made: one.publish(made, "beta"), word)
    one.publish(made, "beta", new_key=True)
    assert is_signed(shop.manifest_path(7).read_bytes(), OTHER)
    refused(shop.folder, lambda: other(shop).publish(cases.capsule(3)), "publish --new-key")


def test_what_was_never_signed_goes_on_so(tmp_path):
    plain = Repository(tmp_path / "plain")
    plain.publish(cases.capsule(1, key=None))
    plain.set_percent(7, 50)
    assert not any(plain.manifest_path(7).read_bytes()[-64:])
    refused(plain.folder, lambda: other(plain).set_percent(7, 60), "not signed with this key")
    assert plain.publish(cases.capsule(2, key=None)).version == 2
    refused(plain.folder, lambda: other(plain).publish(cases.capsule(3)), "publish --new-key")
    other(plain).publish(cases.capsule(3), "signed")
    assert is_signed(plain.manifest_path(7, "signed").read_bytes(), KEY)
    # The manifest is signed along with the other's, its capsule is not.
    refused(plain.folder, lambda: other(plain).publish(cases.capsule(3)), "publish --new-key")


@pytest.mark.parametrize("before", [None, OTHER])
def test_devices_that_were_given_a_new_key_are_published_to_when_it_is_said(tmp_path, before):
    content = cases.weights(3000, 1)
    shop = Repository(tmp_path / "shop", before)
    shop.publish(cases.capsule(1, content, key=before))
    content = cases.tuned(content, 2)
    new, old = cases.capsule(2, content), cases.capsule(1, content, key=before)
    refused(shop.folder, lambda: other(shop).publish(new), "publish --new-key")
    refused(shop.folder, lambda: other(shop).publish(new, bases=[old], new_key=True), "base: auth")
    # An update would be from a model that no device with the new key has in use.
    assert bases_of(other(shop).publish(new, new_key=True)) == []
    assert is_signed(shop.manifest_path(7).read_bytes(), KEY)
    third = other(shop).publish(cases.capsule(3, cases.tuned(content, 3)))
    assert bases_of(third) == [new[20:36]]
    assert other(shop).of_this_key([old, None, new]) == [new]
    assert other(shop, RELEASE).of_this_key([old, None, new]) == [old, new]
    other(shop).set_percent(7, 50)
    fourth = cases.capsule(4, cases.tuned(content, 4))
    again = other(shop).publish(fourth, new_key=True)  # said once more it changes nothing
    assert len(bases_of(again)) == 1


@pytest.mark.parametrize("before", [None, KEY, RELEASE])
def test_another_private_key_is_a_new_key_unless_a_list_says_what_counts(tmp_path, before):
    """Boards hold one public key: what another one signed they would all refuse."""
    shop = Repository(tmp_path / "shop", before)
    shop.publish(cases.capsule(1, key=before))
    made = cases.capsule(2, key=NEXT)
    refused(shop.folder, lambda: other(shop, NEXT).publish(made), "publish --new-key")
    if before:
        refused(shop.folder, lambda: other(shop, NEXT).publish(made, "beta"), "of another key")
    assert other(shop, NEXT).publish(made, new_key=True).version == 2
    assert other(shop, NEXT).publish(cases.capsule(3, key=NEXT)).version == 3
    shop.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public])
    assert other(shop, ROLLOUT).publish(cases.capsule(4, key=RELEASE)).version == 4


def test_the_key_of_objects_is_none_that_signs(tmp_path):
    for options in (
        {"key": OBJECT_KEY},
        {"key": ROLLOUT, "fleet_key": OBJECT_KEY},
    ):
        with pytest.raises(Refused, match="a key of its own"):
            Repository(tmp_path / "r", object_key=OBJECT_KEY, **options)
    Repository(tmp_path / "r", KEY, OTHER, OBJECT_KEY)


def test_what_was_encrypted_stays_encrypted(tmp_path):
    hidden = Repository(tmp_path / "hidden", KEY, object_key=OBJECT_KEY)
    whole = cases.capsule(1)
    made = hidden.publish(whole)
    data = (hidden.folder / "objects" / made.whole.name).read_bytes()
    assert made.encrypted and made.whole.size == len(whole) < len(data)
    assert whole[120:200] not in data and hidden.capsule(7) == whole
    plain = other(hidden)
    refused(hidden.folder, lambda: plain.publish(cases.capsule(2)), "give the object key")
    plain.set_percent(7, 30)  # shares need no key to read
    assert hidden.publish(cases.capsule(2)).encrypted
    assert plain.publish(cases.capsule(1), "beta").encrypted is False
    shown = other(hidden, object_key=OBJECT_KEY)
    assert shown.publish(cases.capsule(2), "beta").encrypted  # and may become so at any time


# ---- tags of single devices --------------------------------------------------------------------


def tag_of(shop, device, key=KEY):
    return signing.tag(shop.manifest(7).signed(), device_key(key, device))


def test_tags_are_of_the_manifest_and_follow_it(shop):
    assert shop.write_tags(KEY, [17, 300], 7, "all") == 2
    folder = shop.manifest_path(7).with_suffix("")
    (folder / "note.tag").write_bytes(b"of somebody")
    for change in (lambda: None, lambda: shop.set_percent(7, 50)):
        change()
        for device in (17, 300):
            assert (folder / f"{device}.tag").read_bytes() == tag_of(shop, device)
    assert (folder / "note.tag").read_bytes() == b"of somebody"
    refused(shop.folder, lambda: shop.write_tags(KEY, [1], 8, "all"), "nothing is published")
    refused(shop.folder, lambda: shop.write_tags(KEY, [1], 7, "beta"), "nothing is published")


# ---- lists of keys -----------------------------------------------------------------------------


@pytest.fixture
def listed(tmp_path):
    made = Repository(tmp_path / "listed", ROLLOUT)
    made.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public])
    return made


def lists(repository):
    return {p.name: p.read_bytes() for p in sorted((repository.folder / "keys").iterdir())}


def test_each_list_has_the_next_number_and_the_epoch_rises_when_asked(listed):
    assert Repository(listed.folder).epoch() == 0
    for number, raise_epoch, epoch in ((2, False, 0), (3, True, 1), (4, False, 1)):
        made = listed.publish_keys(ROOT, [NEXT.public], [ROLLOUT.public], raise_epoch)
        assert (made.sequence, made.epoch, made.root) == (number, epoch, ROOT.public)
        assert made.of("release") == (NEXT.public,) and made.of("rollout") == (ROLLOUT.public,)
        assert listed.keys() == made and listed.epoch() == epoch
    assert list(lists(listed)) == [key_list.list_name(ROOT.public)]


def test_a_damaged_list_is_named(listed):
    path = listed.folder / "keys" / key_list.list_name(ROOT.public)
    path.write_bytes(path.read_bytes()[:-1])
    refused(listed.folder, listed.keys, f"{path.name}: key list of")


def test_only_the_root_of_the_newest_list_signs_the_next_one(listed):
    for call in (
        lambda: listed.publish_keys(THIEF, [NEXT.public], [ROLLOUT.public]),
        lambda: listed.publish_keys(THIEF, [NEXT.public], [ROLLOUT.public], new_root=ROOT),
    ):
        refused(listed.folder, call, "root")


def test_a_new_root_has_a_list_of_its_own_beside_the_one_that_leads_to_it(listed):
    made = listed.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public], new_root=NEXT)
    assert made.root == NEXT.public
    found = lists(listed)
    old, new = (found[key_list.list_name(key.public)] for key in (ROOT, NEXT))
    assert len(found) == 2 and old == made.pack(ROOT, NEXT) and new == made.pack(NEXT)
    assert key_list.unpack(old, ROOT.public) == made == key_list.unpack(new, NEXT.public)
    refused(listed.folder, lambda: listed.publish_keys(ROOT, [], [ROLLOUT.public]), "root")
    assert listed.publish_keys(NEXT, [RELEASE.public], [ROLLOUT.public]).sequence == 3


def test_a_listed_release_key_signs_capsules_and_a_listed_rollout_key_manifests(listed):
    refused(listed.folder, lambda: listed.publish(capsule(1, THIEF)), "a listed release key")
    refused(listed.folder, lambda: listed.publish(capsule(1, ROLLOUT)), "a listed release key")
    for key in (None, THIEF, RELEASE):
        refused(listed.folder, lambda k=key: other(listed, k).publish(capsule(1)), "rollout key")
    listed.publish(capsule(1))
    for key in (None, THIEF, RELEASE):
        refused(listed.folder, lambda k=key: other(listed, k).set_percent(7, 1), "rollout key")
    # a second rollout key goes on with what the first one signed
    listed.publish_keys(ROOT, [RELEASE.public], [NEXT.public])
    other(listed, NEXT).set_percent(7, 10)
    assert listed.manifest(7).percent == 10


def test_devices_with_hmac_keys_know_no_lists(listed):
    mixed = other(listed, KEY)
    refused(listed.folder, lambda: mixed.publish(capsule(1)), "the repository's key|release key")
    mixed.publish(cases.capsule(1))
    mixed.set_percent(7, 5)
    assert mixed.manifest(7).percent == 5


def test_a_model_of_an_epoch_before_is_offered_to_nobody(listed):
    listed.publish(capsule(1))
    listed.publish(capsule(4), "beta")
    listed.publish_keys(ROOT, [NEXT.public], [ROLLOUT.public], raise_epoch=True)
    refused(listed.folder, lambda: listed.publish(capsule(5, NEXT)), "epoch 0: expected 1")
    refused(listed.folder, lambda: listed.set_percent(7, 50), "an epoch before 1")
    listed.set_percent(7, 0)
    made = listed.publish(capsule(1, NEXT, 1), "beta")
    assert (made.version, made.epoch, made.percent, made.sequence) == (1, 1, 100, 2)
    assert [(n, f.percent, f.epoch) for _, n, f in listed.models()] == [
        ("all", 0, 1),
        ("beta", 100, 1),
    ]


def test_what_the_capsule_itself_says_of_its_epoch_comes_first(listed):
    """Also where nobody noted what was released."""
    listed.publish(capsule(1))
    for path in listed.folder.rglob("*"):
        if path.is_file() and path.suffix not in (".man", ".keys") and len(path.name) != 32:
            path.unlink()
    listed.publish_keys(ROOT, [NEXT.public], [ROLLOUT.public], raise_epoch=True)
    refused(listed.folder, lambda: listed.set_percent(7, 50), "an epoch before 1")
