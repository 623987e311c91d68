# SPDX-License-Identifier: MIT
"""What goes wrong where keys, epochs and rollouts are published, and is refused or mended."""

import dataclasses
import threading
import urllib.error
import urllib.request

import capsule_cases as cases
import pytest
from test_dashboard import serving
from test_security import FLEET, NEXT, RELEASE, ROLLOUT, ROOT, THIEF, Device, capsule

from acclimate.pull import make_report
from acclimate_host.capsules.build import read
from acclimate_host.capsules.history import History
from acclimate_host.capsules.keys import device_key
from acclimate_host.capsules.prune import prune
from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.rollout import Rollout
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
