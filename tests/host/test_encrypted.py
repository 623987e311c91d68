# SPDX-License-Identifier: MIT
"""Encrypted objects: what a publisher makes, what a board takes and refuses, from end to end."""

import dataclasses
import os
import secrets

import capsule_cases as cases
import pytest
import xchacha_vectors_source as source
from test_security import FLEET, RELEASE, ROLLOUT, ROOT, THIEF, Device, capsule

from acclimate.pull.encrypted import unlock
from acclimate.pull.exchange import Pull
from acclimate_host.capsules import region
from acclimate_host.capsules.encryption import seal, unseal
from acclimate_host.capsules.history import History
from acclimate_host.capsules.layout import ENCRYPTED, MAC_BYTES, SEALED_PAGE
from acclimate_host.capsules.manifest import WHOLE, object_name
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.rollout import Rollout
from acclimate_host.capsules.tunnel import pull
from acclimate_host.cli import main
from acclimate_host.connect import open_board, why_not
from acclimate_host.errors import Refused
from acclimate_host.paths import built
from acclimate_host.twin import xchacha as twin
from harness import web

KEY, OTHER = b"the key of objects, 32 bytes ...", b"another key of objects, 32 bytes"
STEP = SEALED_PAGE + MAC_BYTES


def test_vectors_of_the_device_tests_are_up_to_date():
    assert source.TARGET.read_text() == source.text()


@pytest.mark.parametrize("vector", source.vectors(), ids=lambda vector: vector[0])
def test_monocypher_and_python_open_what_openssl_made(vector):
    key, nonce, ad, sent, plain = map(bytes.fromhex, vector[1:])
    core = twin.load()
    if core is None:
        pytest.skip("twin of _xchacha is not built; run: make twin")
    for open_it in (core.unlock, unlock):
        buffer = bytearray(sent)
        assert open_it(buffer, len(plain), key, nonce, ad) and buffer[: len(plain)] == plain


# ---- objects -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [120, 511, 512, 513, 1024, 3000])
def test_an_object_comes_back_and_any_change_is_refused(n):
    data = b"ACAP" + cases.weights(n - 4, n)
    sent = seal(data, KEY)
    assert len(sent) == ENCRYPTED.bytes + n + -(-n // SEALED_PAGE) * MAC_BYTES
    assert unseal(sent, KEY) == data and unseal(data, None) == data
    for at in (*range(ENCRYPTED.bytes), *range(ENCRYPTED.bytes, len(sent), 37), len(sent) - 1):
        wrong = bytearray(sent)
        wrong[at] ^= 1
        if at >= 4:  # else it is no encrypted object
            with pytest.raises(Refused):
                unseal(bytes(wrong), KEY)
    for end in (len(sent) - 1, len(sent) - STEP, ENCRYPTED.bytes, ENCRYPTED.bytes - 1):
        if end > 4:
            with pytest.raises(Refused):
                unseal(sent[:end], KEY)
    with pytest.raises(Refused, match="another key"):
        unseal(sent, OTHER)
    with pytest.raises(Refused, match="give the object key"):
        unseal(sent, None)


def test_no_nonce_comes_twice_even_where_the_random_bytes_do(monkeypatch):
    nonces = {seal(capsule(1), KEY)[52:72] for _ in range(50)}
    assert len(nonces) == 50
    monkeypatch.setattr(secrets, "token_bytes", bytes)
    assert seal(capsule(1), KEY)[52:72] != seal(capsule(2), KEY)[52:72]


# ---- pulls -------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repository", ROLLOUT, object_key=KEY)
    made.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public])
    return made


def grown(version):
    """A capsule of six pages, of which an update changes a few bytes."""
    content = bytearray(cases.weights(2600, 1))
    content[::200] = bytes([version]) * len(content[::200])
    return capsule(version, content=bytes(content))


class Encrypted(Device):
    def boot(self):
        self.flash = self.flash if hasattr(self, "store") else cases.flash(slot_pages=48)
        return super().boot()

    def pull(self, *arguments, **options):
        return super().pull(*arguments, **{"object_key": KEY, **options})


@pytest.fixture
def device(tmp_path, repository):
    found = Encrypted(tmp_path, repository)
    repository.publish(grown(1))
    assert found.pull()
    found.store.confirm()
    return found


def objects(repository):
    """Return {base or WHOLE: path} of the newest objects."""
    manifest = repository.manifest(7)
    folder = repository.folder / "objects"
    return {entry.base: folder / entry.name for entry in manifest.entries}


def update_of(repository):
    return next(path for base, path in objects(repository).items() if base != WHOLE)


def kept(device):
    """What must not change: the model in use. Whole pages of the next may wait in its slot."""
    store = device.store
    assert store.state in ("confirmed", "rolled back", "staged")
    return cases.active(store), store.head.version


def test_no_object_in_a_repository_can_be_read(repository, device):
    repository.publish(grown(2))
    paths = list((repository.folder / "objects").iterdir())
    assert len(paths) >= 3
    plain = (b"program of the model", grown(2)[200:240], b"ACAP", b"AUPD")
    for path in paths:
        data = path.read_bytes()
        assert data[:4] == b"AENC" and object_name(data) == path.name
        assert not any(part in data for part in plain)
    assert repository.capsule(7) == grown(2)
    assert repository.manifest(7).encrypted


def test_an_update_is_encrypted_after_it_was_made_and_is_taken(repository, device):
    repository.publish(grown(2))
    device.asked.clear()
    assert device.pull() and device.store.head.version == 1
    assert device.asked[-1].endswith(update_of(repository).name)
    device.store.confirm()
    assert cases.active(device.store) == grown(2)


def broken(data):
    """Yield (what is done, what an attacker has made of an encrypted object)."""
    for at in (ENCRYPTED.bytes, ENCRYPTED.bytes + 40, len(data) - 1):
        yield f"byte {at}", data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]
    for at in range(4, ENCRYPTED.bytes, 3):
        yield f"header {at}", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    yield "no magic", b"A" * 4 + data[4:]
    head = ENCRYPTED.bytes
    first, second = data[head : head + STEP], data[head + STEP : head + 2 * STEP]
    if len(second) == STEP:
        yield "pages swapped", data[:head] + second + first + data[head + 2 * STEP :]
        yield "a page twice", data[:head] + first + first + data[head + 2 * STEP :]


def test_what_is_changed_is_refused_before_a_byte_of_it_is_used(repository, device):
    repository.publish(grown(2))
    path, before = objects(repository)[WHOLE], kept(device)
    good = path.read_bytes()
    for what, bad in broken(good):
        path.write_bytes(bad)
        reason = device.reason(whole_only=True)
        assert reason == "encryption", what
        device.boot()
        assert kept(device) == before, what
    path.write_bytes(good)
    assert device.pull(whole_only=True)


def test_the_first_page_is_authentic_before_anything_is_erased(repository, device):
    repository.publish(grown(2))
    path = objects(repository)[WHOLE]
    data = bytearray(path.read_bytes())
    data[ENCRYPTED.bytes + 300] ^= 1
    path.write_bytes(data)
    erases, state = device.store.journal.erases, device.store.state
    assert device.reason(whole_only=True) == "encryption"
    assert (device.store.journal.erases, device.store.state) == (erases, state)


def test_a_damaged_update_is_followed_by_the_whole_capsule(repository, device):
    repository.publish(grown(2))
    path = update_of(repository)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert device.pull()
    assert device.asked[-1].endswith(objects(repository)[WHOLE].name)


def test_a_cut_or_longer_object_is_refused(repository, device):
    repository.publish(grown(2))
    path, before = objects(repository)[WHOLE], kept(device)
    good = path.read_bytes()
    for bad, wanted in ((good[:-STEP], "truncated"), (good[:-1], "truncated"), (good + b"x", "")):
        path.write_bytes(bad)
        assert device.reason(whole_only=True) == (wanted or "oversized")
        device.boot()
        assert kept(device) == before


def test_an_old_object_is_refused_though_its_key_is_right(repository, device):
    old = objects(repository)[WHOLE].read_bytes()
    repository.publish(grown(2))
    objects(repository)[WHOLE].write_bytes(old)
    before = kept(device)
    assert device.reason(whole_only=True) == "encryption"
    assert kept(device) == before


def test_another_key_is_named_as_that(repository, device):
    repository.publish(grown(2))
    before = kept(device)
    assert device.reason(whole_only=True, object_key=OTHER) == "encryption"
    with pytest.raises(Exception, match="another key than this device's"):
        device.pull(whole_only=True, object_key=OTHER)
    assert kept(device) == before


def test_no_downgrade_and_no_encrypted_object_for_who_has_no_key(repository, device):
    repository.publish(grown(2))
    before = kept(device)
    with pytest.raises(Exception, match="give object_key"):
        device.pull(object_key=None)
    plain = Repository(repository.folder, ROLLOUT)
    with pytest.raises(Refused, match="encrypted until now"):
        plain.publish(grown(3))
    (repository.folder / "models" / "7" / "all.man").unlink()
    plain.publish(grown(3))
    device.asked.clear()
    # Its sequence begins anew, and is refused for that first: a repository that forgot all.
    assert device.reason() in ("encryption", "version")
    assert kept(device) == before and not any("objects" in path for path in device.asked)


def test_a_board_with_an_object_key_takes_no_plain_objects(tmp_path):
    repository = Repository(tmp_path / "repository", ROLLOUT)
    repository.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public])
    repository.publish(grown(1))
    device = Encrypted(tmp_path, repository)
    assert device.reason() == "encryption" and device.store.active is None
    assert not any("objects" in path for path in device.asked)
    assert device.pull(object_key=None)


def test_a_signed_manifest_cannot_be_told_to_be_of_the_other_kind(repository, device):
    path = repository.manifest_path(7)
    data = bytearray(path.read_bytes())
    for value, reason in ((0, "authenticity"), (2, "format")):
        data[7] = value
        path.write_bytes(data)
        assert device.reason() == reason


def test_encryption_adds_no_right(repository, device):
    """Who has the object key alone cannot make a board take something."""
    forged = cases.capsule(2, key=THIEF)
    repository.publish(grown(2))
    manifest = repository.manifest(7)
    entry = dataclasses.replace(manifest.whole, size=len(forged))
    sent = seal(forged, KEY)
    (repository.folder / "objects" / entry.name).write_bytes(sent)
    assert device.reason(whole_only=True) == "truncated"
    path = repository.manifest_path(7)
    fields = {"total": len(forged), "digest": forged[20:52], "entries": (entry,)}
    path.write_bytes(dataclasses.replace(manifest, **fields).pack(ROLLOUT))
    assert device.reason(whole_only=True) == "authenticity"


def test_a_pull_goes_on_after_a_reset_within_a_page(repository, device):
    """Pages of the flash and of the object do not fall together; none is erased twice."""
    repository.publish(capsule(2, content=cases.weights(9000, 2)))
    good = objects(repository)[WHOLE].read_bytes()
    for cut in (ENCRYPTED.bytes + 3 * STEP + 20, 5600, 6000, len(good) - 3):
        erases = device.store.journal.erases
        half = _Half(device, good, cut)
        assert not half.pull()
        device.boot()
        assert device.store.state == "staged"
        assert half.pull() and device.store.state == "verified"
        again = device.store.journal.erases - erases - 37  # of the second pull, in pages of 256
        assert again <= 37 - (cut - ENCRYPTED.bytes) // STEP * 2, cut
        # Beyond 4 KB a connection of its own asks from a page of the object on.
        assert [(at - ENCRYPTED.bytes) % STEP for at in half.starts if at] == [0] * (cut > 5000)
        device.store.cancel()


class _Half:
    """Serves an object, the first time up to a cut; `starts` are where it was asked for."""

    def __init__(self, device, good, cut):
        self.device, self.good, self.cut = device, good, cut
        self.starts = []

    def pull(self):
        """Return whether the pull ended; where the power went it did not."""
        url = "http://host/models/7/all.man"
        pull = Pull(self.device.store, url, object_key=KEY, whole_only=True)
        while True:
            request = pull.request()
            if request is None:
                return pull.is_ready
            reply, is_cut = self.reply(request[3].decode())
            for at in range(0, len(reply), 100):
                piece = reply[at : at + 100]
                if pull.feed(memoryview(piece), len(piece)):
                    break
            else:
                assert is_cut
                return False

    def reply(self, text):
        path = text.split(" ")[1]
        if "/objects/" not in path:
            body, end, start = (self.device.repository.folder / path[1:]).read_bytes(), None, 0
        else:
            body, end, self.cut = self.good, self.cut, None
            start = int(text.split("bytes=")[1].split("-")[0]) if "bytes=" in text else 0
            self.starts.append(start)
        head = "HTTP/1.1 200 OK"
        if start:
            span = f"bytes {start}-{len(body) - 1}/{len(body)}"
            head = f"HTTP/1.1 206 Partial\r\nContent-Range: {span}"
        head += f"\r\nContent-Length: {len(body) - start}\r\n\r\n"
        return head.encode() + body[start:end], end is not None


# ---- the publisher -----------------------------------------------------------------------------


def test_shares_change_without_the_object_key_and_content_goes_back_with_it(repository):
    repository.publish(grown(1))
    rollout = Rollout(repository, 7, clock=lambda: 1e9)
    rollout.start(grown(2), (10, 100), 0)
    keyless = Repository(repository.folder, ROLLOUT)
    keyless.set_percent(7, 50)
    assert keyless.manifest(7).percent == 50 and keyless.manifest(7).encrypted
    with pytest.raises(Refused, match="not kept, or is damaged"):
        Rollout(keyless, 7).back(RELEASE)
    rollout.back(RELEASE)
    assert repository.manifest(7).version == 3
    history = History(repository.folder, 7, object_key=KEY)
    assert len(history.capsules()) == 3 and History(repository.folder, 7).capsules() == []


def test_a_share_of_an_epoch_before_is_refused_without_the_object_key(repository):
    repository.publish(grown(1))
    repository.publish_keys(ROOT, [RELEASE.public], [ROLLOUT.public], raise_epoch=True)
    with pytest.raises(Refused, match="epoch before"):
        Repository(repository.folder, ROLLOUT).set_percent(7, 50)


def test_the_key_of_objects_is_a_key_of_its_own(tmp_path):
    for keys in ({"key": KEY}, {"fleet_key": KEY}):
        with pytest.raises(Refused, match="a key of its own"):
            Repository(tmp_path, object_key=KEY, **keys)
    with pytest.raises(Refused, match="31 bytes"):
        Repository(tmp_path, FLEET, object_key=KEY[1:]).publish(cases.capsule(1, key=FLEET))


# ---- the commands, on real runtimes ------------------------------------------------------------


@pytest.fixture(params=["desktop", pytest.param("nrf52840", marks=pytest.mark.slow)])
def board(request):
    reason = why_not(request.param)
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    with open_board(request.param) as opened:
        yield opened


def run(*words):
    assert main([str(word) for word in words]) == 0


def published(folder, version, *more):
    weights = folder / "weights"
    weights.write_bytes(cases.tuned(cases.weights(3000, 1), version, 1))
    made = folder / "made.acap"
    words = ("--model", 7, "--version", version, "--kind", "svm", "--weights", weights)
    run("capsule", "build", "-o", made, *words, "--key", folder / "fleet.key")
    words = (folder / "repo", made, "--key", folder / "fleet.key")
    run("publish", *words, "--object-key", folder / "objects.key", *more)
    return weights.read_bytes()


def opened(board):
    board.soft_reset()
    return region.open_store(board, region.region_of(board, size=10 * 4096), model=7)


_CONTENT = """
from hashlib import sha256
_w = bytearray(store.section(2)[1])
store.readinto(2, 0, _w)
print(sha256(_w).digest() == {digest!r})
"""


def test_from_a_key_to_an_encrypted_update_on_a_board(board, tmp_path):
    import hashlib

    for name in ("fleet", "objects"):
        run("capsule", "key", tmp_path / f"{name}.key")
    region.give_key(board, (tmp_path / "fleet.key").read_bytes())
    region.give_object_key(board, (tmp_path / "objects.key").read_bytes())
    region.prepare(board)
    path = region.object_key_path(board)
    assert opened(board)[0] == "empty"
    assert board.exec("from acclimate import _native\nprint(_native.load('xchacha'))") != "None"
    for version in (1, 2):
        content = published(tmp_path, version)
        with web.Server(web.files(tmp_path / "repo")) as server:
            assert pull(board, server.url, object_key=path) == ""
        board.exec("store.confirm()")
        assert opened(board)[:2] == ("confirmed", version)
        digest = hashlib.sha256(content).digest()
        assert board.exec(_CONTENT.format(digest=digest)).strip() == "True"
    with web.Server(web.files(tmp_path / "repo")) as server:
        with pytest.raises(Refused, match="encrypted objects: give object_key"):
            pull(board, server.url)
        board.put_bytes(OTHER, path)
        published(tmp_path, 3)
        with pytest.raises(Refused, match="another key than this device's"):
            pull(board, server.url, object_key=path)
    assert opened(board)[:2] == ("confirmed", 2)


def test_a_board_without_the_extra_names_it(board, tmp_path):
    region.prepare(board)
    opened(board)
    folder = board.lib + "/acclimate"
    assert "_pull_encrypted.mpy" not in board.ls(folder)
    with pytest.raises(Refused, match="acclimate install --with encrypted"):
        pull(board, "http://127.0.0.1:1", object_key=KEY)


def test_the_commands_bring_the_key_and_refuse_what_makes_no_sense(tmp_path, capsys):
    run("capsule", "key", tmp_path / "fleet.key")
    words = ["capsule", "key", str(tmp_path / "fleet.key"), "--objects"]
    assert main(words) != 0
    assert main([*words, "--board", "desktop", "--ed25519"]) != 0
    assert "give --port or --board alone" in capsys.readouterr().err
    (tmp_path / "short").write_bytes(b"x" * 16)
    short = ["capsule", "key", str(tmp_path / "short"), "--objects", "--board", "desktop"]
    assert main(short) != 0
    assert "expected an object key of 32" in capsys.readouterr().err
    if not why_not("desktop"):
        assert main([*words, "--board", "desktop"]) == 0
        assert "object.key, and reads back as sent" in capsys.readouterr().out


_ON_BOARD = """
import _xchacha
_b = bytearray(bytes.fromhex('{sent}'))
print(_xchacha.unlock(_b, {n}, {key!r}, {nonce!r}, {ad!r}))
print(bytes(_b[:{n}]) == bytes.fromhex('{plain}'))
"""


def test_the_native_module_on_the_32_kb_board():
    native = built("native", "armv6m", "_xchacha.mpy")
    reason = why_not("samd21") or (None if native.exists() else "no _xchacha.mpy for armv6m")
    if reason:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with open_board("samd21") as board:
        board.put_bytes(native.read_bytes(), "/_xchacha.mpy")
        board.soft_reset()
        for _, key, nonce, ad, sent, plain in source.vectors():
            if len(plain) > 260:
                continue
            key, nonce, ad = map(bytes.fromhex, (key, nonce, ad))
            parts = {"sent": sent, "plain": plain, "n": len(plain) // 2}
            code = _ON_BOARD.format(key=key, nonce=nonce, ad=ad, **parts)
            assert board.exec(code, 60).split() == ["True", "True"]
            code = _ON_BOARD.format(key=key, nonce=nonce, ad=ad + b"x", **parts)
            assert board.exec(code, 60).split()[0] == "False"
