# SPDX-License-Identifier: MIT
"""The attacks of docs/security.md, each against a device with its own file of trust."""

import struct

import capsule_cases as cases
import pytest

from acclimate import _trust as device_trust
from acclimate.pull.exchange import Pull
from acclimate.pull.http import HttpError
from acclimate.store import CapsuleError, Store, Wanted
from acclimate_host.capsules import key_list
from acclimate_host.capsules.build import build, read, signed_again
from acclimate_host.capsules.keys import device_key
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.signing import SigningKey, sign
from acclimate_host.errors import Refused

ROOT, RELEASE, ROLLOUT, THIEF, NEXT = (SigningKey(bytes([i]) * 32) for i in range(1, 6))
FLEET = bytes(range(32))
URL = "http://host/models/7/all.man"


class Device:
    """A board with its flash, its file of trust, and a repository to pull from."""

    def __init__(self, folder, repository, secret=b"s" * 32, key=None, lists=()):
        self.path = str(folder / "capsule.key")
        self.repository = repository
        is_public = key is None
        report = device_key(FLEET, 17)
        made = key_list.trust(key or ROOT.public, secret, report, is_public)
        (folder / "capsule.key").write_bytes(made)
        for place, data in enumerate(lists):
            (folder / f"capsule.key.{place}").write_bytes(data)
        self.flash = cases.flash()
        self.asked = []
        self.boot()

    def boot(self, **options):
        wanted = Wanted(model=7, kind=1, key=self.path)
        self.store = Store(self.flash, wanted, chunk_bytes=64, day_pages=0, **options)
        return self.store

    def pull(self, url=URL, **options):
        """Pull from the repository's files; return whether a model is verified."""
        pull = Pull(self.store, url, device=17, **options)
        while True:
            request = pull.request()
            if request is None:
                return pull.is_ready
            path = request[3].split(b" ")[1].decode()
            self.asked.append(path)
            file = self.repository.folder / path[1:]
            body = file.read_bytes() if file.exists() else b""
            status = "200 OK" if file.exists() else "404 Not Found"
            reply = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
            for at in range(0, len(reply), 512):
                if pull.feed(memoryview(reply[at : at + 512]), len(reply[at : at + 512])):
                    break
            else:
                pull.end()

    def reason(self, *arguments, **options):
        with pytest.raises(CapsuleError) as caught:
            self.pull(*arguments, **options)
        return caught.value.reason


def capsule(version, key=RELEASE, epoch=0, **options):
    return cases.capsule(version, key=key, epoch=epoch, **options)


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repository", ROLLOUT)
    made.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public])
    return made


@pytest.fixture
def device(tmp_path, repository):
    found = Device(tmp_path, repository)
    repository.publish(capsule(1))
    assert found.pull()
    found.store.confirm()
    return found


def taken(device, data):
    device.store.stage(data, len(data))
    device.store.cancel()


def refused(device, data):
    with pytest.raises(CapsuleError) as caught:
        device.store.stage(data, len(data))
    return caught.value.reason


# ---- who may sign ------------------------------------------------------------------------------


def test_a_listed_release_key_is_taken_and_no_other(device):
    taken(device, capsule(2))
    for key in (THIEF, ROLLOUT, ROOT, None, ROOT.public, RELEASE.public, b"s" * 32):
        assert refused(device, capsule(2, key)) == "authenticity"


def test_the_model_comes_back_after_a_reset_and_the_first_pull_fetched_the_list(device):
    assert device.asked[:3] == [
        "/models/7/all.man",
        f"/keys/{ROOT.public[:16].hex()}.keys",
        "/models/7/all.man",
    ]
    assert device.boot().head.version == 1 and device.store.note == ""
    assert device.store.journal.keys == 1


def test_each_bit_of_header_and_signature_counts(device):
    good = capsule(2)
    for at in range(0, 116, 5):
        bad = bytearray(good)
        bad[at] ^= 4
        refused(device, bad)


def test_a_board_without_a_key_takes_nothing_unless_told(tmp_path):
    for options, is_taken in (({}, False), ({"unsigned": True}, True)):
        store = Store(cases.flash(), Wanted(model=7, **options), chunk_bytes=64)
        for data in (capsule(1), capsule(1, None), capsule(1, FLEET)):
            if is_taken:
                store.stage(data, len(data))
            else:
                with pytest.raises(CapsuleError, match="no key here"):
                    store.stage(data, len(data))


def test_an_hmac_board_takes_no_ed25519_and_no_other_key(tmp_path, repository):
    device = Device(tmp_path, repository, key=FLEET)
    taken(device, capsule(1, FLEET))
    for key in (RELEASE, device_key(FLEET, 17), None):
        assert refused(device, capsule(1, key)) == "authenticity"


def test_a_signature_of_another_object_is_none_of_this_one(device):
    good = capsule(2)
    manifest = device.repository.manifest(7).signed()
    for text in (b"AMAN" + good[4:52], manifest):
        made = good[:52] + RELEASE.sign(text) + good[116:]
        assert refused(device, made) == "authenticity"


# ---- what a board saves ------------------------------------------------------------------------


def trained(device):
    weights = bytearray(device.store.view(2))
    weights[0] ^= 1
    assert device.store.save(weights)
    return cases.active(device.store)


def test_a_trained_model_is_the_board_s_own(device, tmp_path, repository):
    data = trained(device)
    assert device.boot().head.is_local and cases.active(device.store) == data
    assert refused(device, data) == "authenticity"
    (tmp_path / "b").mkdir()
    other = Device(tmp_path / "b", repository, secret=b"t" * 32)
    assert refused(other, data) == "authenticity"
    other.flash.data[:] = device.flash.data
    assert other.boot().head.version == 1 and not other.store.head.is_local  # not its secret
    cleared = bytearray(data)
    cleared[7] = 0
    assert refused(device, cleared) == "authenticity"


def test_a_trained_model_falls_with_the_key_of_its_origin(device):
    trained(device)
    trained(device)  # of a trained one: the origin is handed on
    device.repository.publish_keys(ROOT, [NEXT.public], [ROLLOUT.public])
    renew(device)
    assert device.boot().active is None
    assert "no key" in device.store.note or "origin" in device.store.note


def renew(device):
    """Bring the newest list to a device."""
    ring = device.store.wanted.key
    path = device.repository.folder / "keys" / ring.name()
    return ring.take(device.store, path.read_bytes())


# ---- order, epochs, lists ----------------------------------------------------------------------


def test_a_stolen_release_key_is_not_the_end(device):
    last = (1 << 30) - 1
    stolen = capsule(last)
    device.store.swap_capsule(stolen)
    assert device.store.journal.floor == last
    device.repository.publish_keys(ROOT, [NEXT.public], [ROLLOUT.public], raise_epoch=True)
    renew(device)
    assert device.boot().active is None  # its key is revoked, and it is the model in use
    with pytest.raises(Refused, match="epoch"):
        device.repository.publish(capsule(2, NEXT))
    device.repository.publish(capsule(2, NEXT, 1), "fresh")
    # The cohort that was not published since is offered to nobody, and its capsule is refused.
    assert not device.pull("http://host/models/7/all.man")
    assert refused(device, stolen) in ("authenticity", "epoch")
    assert device.pull("http://host/models/7/fresh.man")
    device.store.confirm()
    assert device.boot().head.version == 2 and device.store.journal.floor == 2
    assert refused(device, capsule(3, NEXT)) == "epoch"
    assert refused(device, capsule(3, NEXT, 2)) == "epoch"


def test_an_old_list_is_refused_also_when_the_files_are_gone(device):
    name = device.repository.folder / "keys" / device.store.wanted.key.name()
    old = name.read_bytes()
    device.repository.publish_keys(ROOT, [NEXT.public], [ROLLOUT.public])
    assert renew(device) and not renew(device)
    with pytest.raises(CapsuleError, match="older"):
        device.store.wanted.key.take(device.store, old)
    for place in (0, 1):
        (name.parent.parent.parent / f"capsule.key.{place}").unlink(missing_ok=True)
    (name.parent.parent.parent / "capsule.key.0").write_bytes(old)
    device.boot()
    assert refused(device, capsule(2)) == "authenticity"
    with pytest.raises(CapsuleError, match="older"):
        device.store.wanted.key.take(device.store, old)
    assert renew(device)
    taken(device, capsule(2, NEXT))


def test_a_new_root_is_signed_by_the_old_one_and_the_new_one(device):
    store, ring = device.store, device.store.wanted.key
    forged = key_list.KeyList(0, 2, THIEF.public, ((1, THIEF.public), (2, THIEF.public)))
    for data in (forged.pack(THIEF), forged.pack(THIEF, THIEF)):
        with pytest.raises(CapsuleError, match="root"):
            ring.take(store, data)
    one = bytearray(forged.pack(ROOT, THIEF))
    one[-1] ^= 1
    with pytest.raises(CapsuleError, match="root"):
        ring.take(store, bytes(one))
    device.repository.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public], new_root=NEXT)
    device.repository.publish_keys(NEXT, [RELEASE.public, THIEF.public], [ROLLOUT.public])
    device.repository.publish(capsule(2, THIEF))  # signed with a key of the second list only
    device.asked.clear()
    assert device.pull()  # a pull walks from the old root to the new one
    names = [f"/keys/{root.public[:16].hex()}.keys" for root in (ROOT, NEXT)]
    assert [path for path in device.asked if "keys" in path] == names
    device.store.confirm()
    device.boot()
    assert device.store.head.version == 2 and device.store.wanted.key.root == NEXT.public


def test_each_reserved_byte_and_each_byte_behind_a_list_is_refused(device):
    good = key_list.KeyList(0, 2, ROOT.public, ((1, RELEASE.public),)).pack(ROOT)
    ring = device.store.wanted.key
    for at in (4, 10, 11, 44, 45, 46, 47):
        bad = bytearray(good)
        bad[at] = 9
        bad[80:144] = ROOT.sign(bytes(bad[:80]))
        with pytest.raises(CapsuleError):
            ring.take(device.store, bytes(bad))
    for data in (good + b"\0", good[:-1], b""):
        with pytest.raises(CapsuleError):
            ring.take(device.store, data)
    assert ring.take(device.store, good)


@pytest.mark.parametrize("keys, signatures", [(0, 1), (9, 1), (1, 0), (1, 3)])
def test_a_list_has_one_to_eight_keys_and_one_or_two_signatures(device, keys, signatures):
    head = struct.pack("<4sBBHHBB", b"AKYL", 1, keys, 0, 2, signatures, 0) + ROOT.public
    data = head + (b"\1\0\0\0" + RELEASE.public) * keys
    with pytest.raises(CapsuleError):
        device.store.wanted.key.take(device.store, data + ROOT.sign(data) * signatures)


def test_keys_of_small_order_are_in_no_list():
    for public in (b"\1" + bytes(31), bytes(32)):
        with pytest.raises(Refused, match="no key"):
            key_list.KeyList(0, 1, ROOT.public, ((1, public),)).pack(ROOT)


def test_a_cut_while_a_list_is_stored_leaves_the_one_before(device, tmp_path):
    device.repository.publish_keys(ROOT, [NEXT.public], [ROLLOUT.public])
    path = device.repository.folder / "keys" / device.store.wanted.key.name()
    data, place = path.read_bytes(), device.store.wanted.key._place
    for size in (0, 20, len(data) - 1):
        (tmp_path / f"capsule.key.{place}").write_bytes(data[:size])
        assert device.boot().head.version == 1 and device.store.wanted.key.sequence == 1
    (tmp_path / f"capsule.key.{place}").write_bytes(data)  # cut before the journal was told
    device.boot()
    assert device.store.journal.keys == 2 and device.store.active is None


def test_no_list_is_taken_while_a_model_is_on_trial(device):
    device.repository.publish(capsule(2))
    device.pull()
    device.store.trial()
    device.repository.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public], raise_epoch=True)
    with pytest.raises(CapsuleError, match="trial"):
        renew(device)


def test_what_waits_is_checked_again_after_a_list(device):
    device.repository.publish(capsule(2))
    assert device.pull()
    device.repository.publish_keys(ROOT, [NEXT.public], [ROLLOUT.public])
    renew(device)
    with pytest.raises(Exception, match="damaged|authenticity"):
        device.store.trial()


def test_a_damaged_list_of_keys_is_mended_from_its_copy(device, tmp_path):
    device.repository.publish_keys(ROOT, [RELEASE.public, NEXT.public], [ROLLOUT.public])
    assert renew(device)
    files = [tmp_path / f"capsule.key.{place}" for place in (0, 1)]
    good = files[0].read_bytes()
    assert files[1].read_bytes() == good
    for path in files:
        for data in (b"", good[:50], good[:-1] + bytes([good[-1] ^ 1]), b"\0" + good[1:]):
            path.write_bytes(data)
            assert device.boot().head.version == 1 and device.store.note == ""
            assert path.read_bytes() == good
    files[1].unlink()
    files[1].mkdir()  # what cannot be written stops no boot
    assert device.boot().head.version == 1 and device.store.trouble == ""


def test_a_model_is_back_in_use_once_the_list_is(device, tmp_path):
    for place in (0, 1):  # two faults
        (tmp_path / f"capsule.key.{place}").write_bytes(b"")
    assert device.boot().active is None and device.store.state == "confirmed"
    assert renew(device) and device.store.head.version == 1 and device.store.active is not None
    assert not device.pull() and device.boot().head.version == 1


# ---- manifests ---------------------------------------------------------------------------------


def test_only_a_rollout_key_signs_manifests(device):
    device.repository.publish(capsule(2))
    forged = device.repository.manifest(7).pack(RELEASE)
    device.repository.manifest_path(7).write_bytes(forged)
    assert device.reason() == "authenticity"


def test_after_an_update_that_fails_the_whole_capsule_is_fetched(device):
    base, new = cases.weights(700, 1), bytearray(cases.weights(700, 1))
    new[5] ^= 1
    device.repository.publish(capsule(2, content=base))
    assert device.pull()
    device.store.confirm()
    device.repository.publish(capsule(3, content=bytes(new)))
    update = next(e for e in device.repository.manifest(7).entries if any(e.base))
    path = device.repository.folder / "objects" / update.name
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    device.asked.clear()
    assert device.pull() and not any("/keys/" in path for path in device.asked)
    device.store.confirm()
    assert device.store.head.version == 3


def test_an_old_manifest_and_one_of_another_cohort_are_refused(device):
    repository = device.repository
    path = repository.manifest_path(7)
    repository.publish(capsule(2), percent=100)
    old = path.read_bytes()
    repository.set_percent(7, 0)
    assert not device.pull()
    path.write_bytes(old)
    assert device.reason() == "version"
    repository.publish(capsule(3), "beta")
    path.write_bytes(repository.manifest_path(7, "beta").read_bytes())
    assert device.reason() == "cohort"


def test_one_sequence_for_all_cohorts(device):
    repository = device.repository
    repository.publish(capsule(2), "beta")
    both = [repository.manifest(7, name).sequence for name in ("all", "beta")]
    assert both[0] == both[1]
    repository.set_percent(7, 50, "beta")
    assert repository.manifest(7).sequence == both[0] + 1
    device.pull("http://host/models/7/beta.man")
    device.store.cancel()
    device.pull()  # a device that changes its cohort finds no older sequence there


def test_a_manifest_expires_by_a_clock(device):
    repository = device.repository
    repository.publish(capsule(2))
    import dataclasses

    until = dataclasses.replace(repository.manifest(7), expires=20000)
    repository.manifest_path(7).write_bytes(until.pack(ROLLOUT))
    device.boot(day=lambda: 20001)
    assert device.reason() == "expired"
    device.boot(day=lambda: 20000)
    assert device.pull()


# ---- one release for all -----------------------------------------------------------------------


def test_hmac_boards_share_the_objects_and_have_a_tag_each(tmp_path, repository):
    (tmp_path / "a").mkdir()
    device = Device(tmp_path / "a", repository, key=device_key(FLEET, 17))
    for version in (1, 2):
        repository.publish(capsule(version))
        assert repository.write_tags(FLEET, (17, 18), 7, "all") == 2
        objects = sorted((repository.folder / "objects").iterdir())
        assert device.pull()
        device.store.confirm()
        assert device.boot().head.version == version
        assert read(cases.active(device.store)).digest == read(capsule(version)).digest
    assert len(objects) <= 4
    tag = repository.folder / "models" / "7" / "all" / "17.tag"
    assert len(tag.read_bytes()) == 32
    tag.write_bytes((tag.parent / "18.tag").read_bytes())
    repository.publish(capsule(3))
    assert device.reason() == "authenticity"


def test_https_does_not_become_http(device):
    def answer(allow_http):
        pull = Pull(device.store, URL.replace("http:", "https:"), allow_http=allow_http)
        pull.request()
        reply = b"HTTP/1.1 302 F\r\nLocation: http://evil/x\r\nContent-Length: 0\r\n\r\n"
        pull.feed(memoryview(reply), len(reply))
        return pull.request()

    with pytest.raises(HttpError, match="https to http"):
        answer(False)
    assert answer(True)[1] == "evil"


def test_the_file_of_trust_is_read_strictly(tmp_path):
    path = tmp_path / "capsule.key"
    good = key_list.trust(ROOT.public, bytes(32), bytes(32), True)
    assert device_trust.trusted(str(tmp_path / "none")) == (None, None)
    path.write_bytes(FLEET)
    assert device_trust.trusted(str(path)) == (FLEET, FLEET)
    path.write_bytes(good)
    assert device_trust.trusted(str(path))[1] == bytes(32)
    bads = [good[:-1], good + b"x", good[:20], b"AKEX" + good[4:]]
    for at in range(4, len(good)):
        bads.append(good[:at] + bytes((good[at] ^ 4,)) + good[at + 1 :])
    for algorithm in (0, 3, 200):  # none that there is, with a sum that fits
        check = struct.unpack_from("<H", good, 6)[0] - good[5] + algorithm & 0xFFFF
        bads.append(good[:5] + bytes((algorithm,)) + struct.pack("<H", check) + good[8:])
    for bad in bads:
        path.write_bytes(bad)
        with pytest.raises(CapsuleError, match="capsule.key: damaged.*by cable") as caught:
            device_trust.trusted(str(path))
        assert caught.value.reason == "key"


def test_a_board_that_goes_from_ed25519_to_hmac_begins_at_epoch_0(device, repository):
    repository.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public], raise_epoch=True)
    repository.publish(capsule(2, epoch=1))
    assert device.pull()
    device.store.confirm()
    store = cases.store(device.store.flash, key=FLEET)
    assert store.active is None  # what Ed25519 signed does not count any more
    for version in (3, 4):
        store.swap_capsule(capsule(version, key=FLEET))
        store = cases.store(device.store.flash, key=FLEET)
        assert store.head.version == version and store.state == "confirmed"


def test_a_capsule_signed_again_differs_in_its_signature_alone():
    first, second = capsule(2), signed_again(capsule(2), FLEET)
    assert (
        second == capsule(2, FLEET) and first[:52] == second[:52] and first[116:] == second[116:]
    )
    assert second[52:116] == sign(first[:52], FLEET) and not any(second[52:84])
    assert struct.unpack_from("<H", build({"WEIGHTS": b"x"}, "SVM", 7, 1, epoch=5), 16)[0] == 5


def test_a_release_is_as_many_bytes_for_a_million_devices_as_for_one():
    from bench.release_bytes import release_bytes

    found = release_bytes()
    assert len(set(found["bytes_per_release"].values())) == 1
    assert found["tag_bytes_per_device"] == 32
