# SPDX-License-Identifier: MIT
"""What goes wrong where keys, epochs and rollouts are published, and is refused or mended."""

import dataclasses
import threading
import time
import urllib.error
import urllib.request

import capsule_cases as cases
import pytest
from test_dashboard import serving
from test_security import FLEET, NEXT, RELEASE, ROLLOUT, ROOT, THIEF, Device, capsule

from acclimate.pull import make_report
from acclimate_host.capsules import signing
from acclimate_host.capsules.build import read
from acclimate_host.capsules.history import History
from acclimate_host.capsules.keys import device_key
from acclimate_host.capsules.prune import prune
from acclimate_host.capsules.reports import Reports, parse
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.rollout import Limits, Rollout, harm_of
from acclimate_host.cli import main
from acclimate_host.errors import Refused
from harness.clock import HANG_S

LAST = (1 << 30) - 1


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repository", ROLLOUT)
    made.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public])
    return made


def raise_epoch(repository):
    repository.publish_keys(ROOT, [NEXT.public], [ROLLOUT.public], raise_epoch=True)


# ---- keys and epochs ---------------------------------------------------------------------------


def test_the_server_hands_out_lists_of_keys(repository):
    (path,) = (repository.folder / "keys").iterdir()
    with serving(repository.folder, "--no-reports") as url:
        with urllib.request.urlopen(f"{url}/keys/{path.name}") as reply:
            assert reply.read() == path.read_bytes()
            assert reply.headers["cache-control"] == "no-cache"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/keys/{'0' * 32}.keys")


def test_a_manifest_is_signed_with_a_listed_key_or_not_at_all(repository):
    repository.publish(capsule(1))
    before = repository.manifest_path(7).read_bytes()
    for key in (RELEASE, THIEF, None):
        other = Repository(repository.folder, key)
        for call in (
            lambda: other.publish(capsule(2)),  # noqa: B023
            lambda: other.publish(capsule(2), "beta"),  # noqa: B023
            lambda: other.set_percent(7, 50),  # noqa: B023
        ):
            with pytest.raises(Refused, match="rollout key"):
                call()
    assert repository.manifest_path(7).read_bytes() == before


def test_a_thief_s_last_version_and_sequence_do_not_end_a_repository(tmp_path, repository):
    repository.publish(capsule(LAST))
    stolen = repository.manifest(7)
    path = repository.manifest_path(7)
    path.write_bytes(dataclasses.replace(stolen, sequence=LAST).pack(ROLLOUT))
    device = Device(tmp_path, repository)
    assert device.pull()
    device.store.confirm()
    with pytest.raises(Refused, match="sequence"):
        repository.set_percent(7, 50)
    raise_epoch(repository)
    made = repository.publish(capsule(1, NEXT, 1))
    assert (made.version, made.sequence, made.epoch) == (1, 1, 1)
    assert device.pull()
    device.store.confirm()
    assert device.boot().head.version == 1


def test_back_stays_in_the_epoch(repository):
    for version in (1, 2):
        repository.publish(capsule(version))
    raise_epoch(repository)
    repository.publish(capsule(1, NEXT, 1))
    rollout = Rollout(repository, 7)
    rollout.start(capsule(2, NEXT, 1))
    rollout.back(NEXT)
    now = read(repository.capsule(7))
    assert (now.version, now.epoch) == (3, 1)
    assert now.sections == read(capsule(1, NEXT, 1)).sections
    released = [(r["epoch"], r["version"]) for r in History(repository.folder, 7).releases()]
    assert released == [(0, 1), (0, 2), (1, 1), (1, 2), (1, 3)]


def test_back_gives_the_content_before_and_not_a_namesake_of_an_epoch_before(repository):
    repository.publish(capsule(2, content=b"of before"))
    raise_epoch(repository)
    good = capsule(1, NEXT, 1, content=b"good")
    repository.publish(good)
    rollout = Rollout(repository, 7)
    rollout.start(capsule(2, NEXT, 1))
    rollout.back(NEXT)
    assert read(repository.capsule(7)).sections == read(good).sections


def test_a_device_s_tag_follows_its_manifest(tmp_path):
    repository = Repository(tmp_path / "repository", FLEET)
    repository.publish(cases.capsule(1, key=FLEET))
    repository.write_tags(FLEET, (17,), 7, "all")
    device = Device(tmp_path, repository, key=device_key(FLEET, 17))
    assert device.pull()
    device.store.confirm()
    repository.publish(cases.capsule(2, key=FLEET), percent=10)
    repository.set_percent(7, 100)
    assert device.pull()


def test_a_private_key_takes_no_reports(tmp_path, repository, capsys):
    (tmp_path / "rollout").write_bytes(ROLLOUT.pem())
    words = ["serve", str(repository.folder), "--key", str(tmp_path / "rollout")]
    assert main(words) == 2
    assert "HMAC" in capsys.readouterr().err


# ---- two at once -------------------------------------------------------------------------------


def test_prune_waits_for_whoever_publishes(repository):
    repository.publish(capsule(1))
    fresh = repository.folder / "objects" / ("0" * 32)
    with repository.alone():
        fresh.write_bytes(b"of a release whose manifest is not written yet")
        thread = threading.Thread(target=prune, args=(repository.folder,))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive() and fresh.exists()
    thread.join(HANG_S)
    assert not fresh.exists()


def test_a_pause_is_not_undone_by_a_step_that_was_under_way(repository):
    repository.publish(capsule(1))
    reports = Reports(repository.folder / "reports", FLEET)
    rollout = Rollout(repository, 7, "all", reports, clock=lambda: 10.0)
    rollout.start(capsule(2), (10, 100), wait_s=0)
    threads = []

    def slow():
        other = Rollout(repository, 7, "all", reports, clock=lambda: 10.0)
        threads.append(threading.Thread(target=other.pause))
        threads[0].start()
        threads[0].join(0.2)
        return []

    reports.all = slow
    rollout.step()
    threads[0].join(HANG_S)
    assert rollout.state()["state"] == "paused" and repository.manifest(7).percent == 0


# ---- reports -----------------------------------------------------------------------------------


def test_refusals_of_before_do_not_halt_a_release(tmp_path):
    now = [1000]
    repository = Repository(tmp_path / "repository", cases.KEY)
    reports = Reports(tmp_path / "reports", cases.KEY, lambda: now[0])
    repository.publish(cases.capsule(1))
    store = cases.store(cases.flash())
    store.swap_capsule(cases.capsule(1))
    for device in range(1, 6):  # a release that is long gone was too large for them
        reports.take(make_report(store, device, 1, 3, "oversized"))
    now[0] += 10
    rollout = Rollout(repository, 7, "all", reports, lambda: now[0])
    rollout.start(cases.capsule(2), (50, 100), wait_s=1000)
    assert rollout.step()["state"] == "running"
    now[0] += 10
    for device in range(1, 6):
        reports.take(make_report(store, device, 2, 3, "oversized"))
    assert rollout.step()["state"] == "halted"


def test_one_opened_device_cannot_fill_the_reports(tmp_path, repository):
    repository.publish(capsule(1))
    reports = Reports(tmp_path / "reports", FLEET, models=repository.folder / "models")
    store = cases.store(cases.flash(), key=device_key(FLEET, 17))
    reports.take(make_report(store, 17, 1))
    store.wanted.model = 8
    with pytest.raises(Refused, match="model 8"):
        reports.take(make_report(store, 17, 2))


# ---- what outlives a raised epoch, and what goes stale ------------------------------------------


def test_a_cohort_of_an_epoch_before_is_offered_to_nobody_until_it_is_published(repository):
    repository.publish(capsule(5))
    repository.publish(capsule(5), "beta")
    repository.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public], raise_epoch=True)
    repository.publish(capsule(1, epoch=1))
    beta = repository.manifest(7, "beta")
    assert (beta.epoch, beta.percent) == (1, 0) and repository.manifest(7).percent == 100
    with pytest.raises(Refused, match="epoch before 1: publish it anew"):
        repository.set_percent(7, 50, "beta")
    repository.set_percent(7, 0, "beta")
    repository.publish(capsule(1, epoch=1), "beta")
    assert repository.manifest(7, "beta").percent == 100


def report_of(version, **more):
    whole = dict(
        epoch=0, is_older=False, version=version, floor=version, state="confirmed", reason="",
        outcome="taken", seen=9, resets=0, score=None,
    )  # fmt: skip
    return {**whole, **more}


@pytest.mark.parametrize(
    "harm, report",
    (
        ("", report_of(9)),  # of an epoch before: it says nothing of version 2
        ("", report_of(1, floor=9, state="rolled back")),  # rolled back what was before
        ("rolled_back", report_of(9, floor=2, epoch=1, is_older=True, state="rolled back")),
        ("rolled_back", report_of(1, floor=2, epoch=1, state="rolled back")),
        ("refused", report_of(9, epoch=1, is_older=True, outcome="refused", reason="oversized")),
        ("", report_of(1, outcome="refused", reason="epoch")),
        ("", report_of(1, epoch=1, outcome="refused", reason="expired")),
        ("resets", report_of(2, epoch=1, resets=5)),
        ("", report_of(2, resets=5)),
        ("", report_of(3, epoch=1, resets=5)),
    ),
)
def test_harm_is_counted_in_the_epoch_of_the_release(harm, report):
    assert harm_of(report, 2, Limits(), 0, epoch=1) == harm


def test_a_report_tells_the_epoch(tmp_path, repository):
    store = cases.store(cases.flash())
    store.swap_capsule(cases.capsule(1))
    said = parse(bytes(make_report(store, 17, 5)), cases.KEY)
    assert (said["epoch"], said["is_older"]) == (0, False)
    store.journal.keys = 3 << 16
    said = parse(bytes(make_report(store, 17, 5)), cases.KEY)
    assert (said["epoch"], said["is_older"]) == (3, True)


def test_old_tags_go_where_the_fleet_s_key_is_not(tmp_path, repository):
    repository.publish(capsule(1))
    assert repository.write_tags(FLEET, (17, 18), 7, "all") == 2
    tag = repository.folder / "models" / "7" / "all" / "17.tag"
    before = tag.read_bytes()
    with_key = Repository(repository.folder, ROLLOUT, FLEET)
    with_key.set_percent(7, 50)
    assert tag.read_bytes() != before
    manifest = repository.manifest(7)
    assert tag.read_bytes() == signing.tag(manifest.signed(), device_key(FLEET, 17))
    repository.set_percent(7, 60)
    assert not list(tag.parent.glob("*.tag"))


def test_the_commands_set_when_a_manifest_expires_and_renew_tags(tmp_path, repository, capsys):
    files = {"release.acap": capsule(1), "fleet.key": FLEET}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    key = tmp_path / "rollout.key"
    key.write_bytes(ROLLOUT.pem())
    folder, today = str(repository.folder), int(time.time() // 86400)
    more = ["--key", str(key), "--fleet-key", str(tmp_path / "fleet.key")]
    release = str(tmp_path / "release.acap")
    assert not main(["publish", folder, release, "--expires-days", "30", *more])
    assert repository.manifest(7).expires in (today + 30, today + 31)
    repository.write_tags(FLEET, (17,), 7, "all")
    repository.set_percent(7, 100)
    assert repository.manifest(7).expires in (today + 30, today + 31)
    repository.write_tags(FLEET, (17,), 7, "all")
    assert not main(["fleet", folder, "--model", "7", "--expires-days", "5", *more])
    manifest = repository.manifest(7)
    assert manifest.expires in (today + 5, today + 6)
    tag = (repository.folder / "models" / "7" / "all" / "17.tag").read_bytes()
    assert tag == signing.tag(manifest.signed(), device_key(FLEET, 17))
    assert main(["fleet", folder, "--model", "7", "--expires-days", "-1", *more])
    assert main(["fleet", folder, "--expires-days", "1", *more])
    assert main(["fleet", folder, "--model", "7", "--percent", "1", "--key", str(key),
                 "--fleet-key", str(key)])  # fmt: skip
    assert "HMAC" in capsys.readouterr().err


def test_a_rollout_begins_and_goes_back_with_an_expiry(tmp_path, repository):
    """It had none: only `fleet --expires-days` behind it did, too late for who pulled before."""
    keys = {"rollout.key": ROLLOUT, "release.key": RELEASE}
    for name, key in keys.items():
        (tmp_path / name).write_bytes(key.pem())
    folder, today = str(repository.folder), int(time.time() // 86400)
    key = ["--key", str(tmp_path / "rollout.key")]
    repository.publish(capsule(1))
    release = tmp_path / "release.acap"
    release.write_bytes(capsule(2))
    start = ["rollout", folder, "start", str(release), "--expires-days"]
    assert main([*start, "-1", *key]) and repository.manifest(7).version == 1
    assert main([*start, "30", *key]) == 0
    rest = ["--model", "7", *key]
    for verb in ("pause", "resume"):  # changes of the share keep it
        assert repository.manifest(7).expires in (today + 30, today + 31)
        assert main(["rollout", folder, verb, *rest]) == 0
    back = ["rollout", folder, "back", *rest, "--release-key", str(tmp_path / "release.key")]
    assert main([*back, "--expires-days", "5"]) == 0
    assert repository.manifest(7).version == 3
    assert repository.manifest(7).expires in (today + 5, today + 6)
