# SPDX-License-Identifier: MIT
"""Pulls over real sockets: the whole way, and servers that behave badly."""

import asyncio
import dataclasses
import time

import capsule_cases as cases
import pytest

from acclimate.pull import Client, HttpError, sockets
from acclimate.store import CapsuleError, StoreError
from acclimate_host.capsules import delta
from acclimate_host.capsules.build import read
from acclimate_host.capsules.manifest import WHOLE, Entry, object_name, unpack
from acclimate_host.capsules.repository import Repository
from acclimate_host.errors import Refused
from acclimate_host.testing.nor import PowerCut
from harness import web
from harness.errors import because


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository", cases.KEY)


@pytest.fixture
def kept():
    """A device with model 1."""
    store = cases.store(cases.flash())
    store.swap_capsule(cases.capsule(1))
    return store


def client(store, server, **options):
    return Client(store, server.url, wait_s=0, timeout_s=60, **options)


def objects_only(repository, bad):
    """Serve well, but answer bad(request, body) for objects."""
    good = web.files(repository.folder)

    def answer(request):
        if request.path.startswith("/objects/"):
            return bad(request, (repository.folder / request.path[1:]).read_bytes())
        return good(request)

    return answer


def test_a_newer_model_is_pulled_tried_and_confirmed(repository, kept):
    new = cases.capsule(2)
    repository.publish(new)
    with web.Server(web.files(repository.folder)) as server:
        one = client(kept, server)
        assert one.pull() and kept.state == "verified"
        kept.trial()
        kept.confirm()
        assert cases.active(kept) == new
        assert not one.pull() and one.reason == "unchanged"
        one.etag = ""
        assert not one.pull() and one.reason == "current"


def test_asyncio_pulls_the_same(repository, kept):
    new = cases.capsule(2)
    repository.publish(new)
    ticks = []

    async def main(one):
        async def ticker():
            while True:
                ticks.append(1)
                await asyncio.sleep(0)

        task = asyncio.create_task(ticker())
        found = await one.apull()
        task.cancel()
        return found

    with web.Server(web.files(repository.folder)) as server:
        assert asyncio.run(main(client(kept, server)))
    kept.trial()
    assert cases.active(kept) == new and len(ticks) > 3


@pytest.mark.case("E18")
def test_what_was_given_up_or_is_asked_for_anyway_is_pulled_again(repository, kept):
    repository.publish(cases.capsule(2))
    with web.Server(web.files(repository.folder)) as server:
        one = client(kept, server)
        assert one.pull() and one.pull() and one.reason == "here already"
        kept.cancel()
        assert one.pull()
        kept.rollback()  # refused: it is not taken by itself
        assert not one.pull() and one.reason == "unchanged"
        assert one.pull(any_version=True)


def test_the_smaller_update_is_sent_to_a_device_with_the_base(repository, kept):
    first = cases.capsule(1)
    content = cases.tuned(cases.weights(301, 1), 5)
    new = cases.capsule(2, content)
    repository.publish(first)
    manifest = repository.publish(new)
    assert len(manifest.entries) == 2 and manifest.entries[1].size < len(new)
    with web.Server(web.files(repository.folder)) as server:
        assert client(kept, server).pull()
        assert server.requests[-1].path == "/objects/" + manifest.entries[1].name
    kept.trial()
    assert cases.active(kept) == new
    with web.Server(web.files(repository.folder)) as server:
        fresh = cases.store(cases.flash())
        assert client(fresh, server).pull()
        assert server.requests[-1].path == "/objects/" + manifest.entries[0].name


@pytest.mark.case("C1")
def test_chunks_and_redirects_lead_to_the_same(repository, kept):
    new = cases.capsule(2)
    repository.publish(new)
    good = web.files(repository.folder)

    def answer(request):
        if request.path.startswith("/models/"):
            return web.reply(b"moved", "302 Found", "Location: /cdn" + request.path)
        if request.path.startswith("/cdn/models/"):
            request.path = request.path[4:]
            return good(request)
        return web.chunked((repository.folder / request.path[1:]).read_bytes(), 37)

    with web.Server(answer) as server:
        assert client(kept, server).pull()
    kept.trial()
    assert cases.active(kept) == new


def test_a_ring_of_redirects_ends(repository, kept):
    with web.Server(lambda r: web.reply(b"", "302 Found", "Location: " + r.path)) as server:
        with pytest.raises(HttpError, match="redirect"):
            client(kept, server).pull()


@pytest.mark.case("C3")
@pytest.mark.parametrize("updates", [False, True])
def test_a_connection_may_break_after_every_byte(repository, kept, updates):
    if updates:
        repository.publish(cases.capsule(1))
        new = cases.capsule(2, cases.tuned(cases.weights(301, 1), 5))
    else:
        new = cases.capsule(2)
    repository.publish(new)

    def one_byte(request, body):
        whole = web.part(body, request.start)
        head = whole.index(b"\r\n\r\n") + 4
        return whole[: head + 1]

    with web.Server(objects_only(repository, one_byte)) as server:
        assert client(kept, server).pull()
        assert len(server.requests) > 250
    kept.trial()
    assert cases.active(kept) == new


@pytest.mark.case("C3")
def test_a_server_without_ranges_works_too(repository, kept):
    new = cases.capsule(2)
    repository.publish(new)
    sizes = iter([100, 200, 300, 10000])

    def cut(request, body):
        whole = web.reply(body)
        return whole[: whole.index(b"\r\n\r\n") + 4 + next(sizes)]

    with web.Server(objects_only(repository, cut)) as server:
        assert client(kept, server).pull()
    kept.trial()
    assert cases.active(kept) == new


@pytest.mark.case("C3")
def test_a_reset_in_the_middle_goes_on_from_the_last_whole_page(repository):
    content = cases.weights(9000, 2)
    new = cases.capsule(2, content)
    repository.publish(new)
    medium = cases.flash(slot_pages=40)
    starts = []

    def note(request, body):
        starts.append(request.start)
        return web.part(body, request.start)

    with web.Server(objects_only(repository, note)) as server:
        medium.cut_after(1700, "half")
        with pytest.raises(PowerCut):
            client(cases.store(medium), server).pull()
        medium.power_on()
        store = cases.store(medium)
        assert store.state == "staged"
        assert client(store, server).pull()
    assert starts[0] == 0 and starts[-1] > 4096 and starts[-1] % 256 == 0
    store.trial()
    assert cases.active(store) == new


def test_silence_and_lost_servers_end_with_an_error(repository, kept):
    with web.Server(lambda request: b"") as server:
        with pytest.raises(HttpError, match="connection lost"):
            client(kept, server, attempts=3).pull()
        assert len(server.requests) == 3
        url = server.url
    with pytest.raises(OSError):
        Client(kept, url, wait_s=0, attempts=2).pull()
    assert cases.active(kept) == cases.capsule(1)


BAD = {
    "no HTTP": (lambda r, b: b"SSH-2.0-thing\r\n", HttpError, "not an HTTP"),
    "shorter": (lambda r, b: web.reply(b[:-1]), CapsuleError, "truncated"),
    "longer": (lambda r, b: web.reply(b + b"x"), CapsuleError, "oversized"),
    "longer, in chunks": (lambda r, b: web.chunked(b + b"x"), CapsuleError, "oversized"),
    "shorter, in chunks": (lambda r, b: web.chunked(b[:-1]), CapsuleError, "truncated"),
    "another file": (lambda r, b: web.reply(cases.capsule(3)), CapsuleError, "integrity"),
    "flipped bit": (
        lambda r, b: web.reply(b[:-1] + bytes([b[-1] ^ 1])),
        CapsuleError,
        "integrity",
    ),
    "redirect to nowhere": (
        lambda r, b: web.reply(b"", "302 Found", "Location: ftp://h/x"),
        HttpError,
        "redirect: u",
    ),
    "missing": (lambda r, b: web.reply(b"", "404 Not Found"), HttpError, "404"),
    "error": (lambda r, b: web.reply(b"", "503 Busy"), HttpError, "503"),
    "packed": (lambda r, b: web.reply(b, "200 OK", "Content-Encoding: gzip"), HttpError, "gzip"),
    "two lengths": (
        lambda r, b: web.reply(b, "200 OK", "Content-Length: 5"),
        HttpError,
        "two lengths",
    ),
    "chunked and sized": (
        lambda r, b: web.reply(b, "200 OK", "Transfer-Encoding: chunked"),
        HttpError,
        "chunked",
    ),
    "bad chunk": (
        lambda r, b: web.chunked(b).replace(b"64;note", b"-4;note"),
        HttpError,
        "chunk size",
    ),
    "negative length": (lambda r, b: web.reply(b, length=-4), HttpError, "content-length"),
    "huge length": (lambda r, b: web.reply(b, length=1 << 40), HttpError, "content-length"),
    "endless headers": (
        lambda r, b: web.reply(b, "200 OK", *["X: " + "y" * 90] * 200),
        HttpError,
        "headers",
    ),
    "wrong part": (
        lambda r, b: web.reply(b, "206 Partial", "Content-Range: bytes 5-9/10"),
        HttpError,
        "part",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_answers_are_named_and_the_model_stays(repository, kept, name):
    bad, kind, words = BAD[name]
    repository.publish(cases.capsule(2))
    with web.Server(objects_only(repository, bad)) as server:
        with pytest.raises(kind, match=words):
            client(kept, server, attempts=2).pull()
    again = cases.store(kept.flash)
    assert cases.active(again) == cases.capsule(1)


def changed(repository, change):
    """Serve a manifest with some bytes changed, and signed again where key is given."""
    path = repository.manifest_path(cases.MODEL)
    path.write_bytes(change(bytearray(path.read_bytes())))


def flip(at):
    def change(data):
        data[at] ^= 1
        return data

    return change


@pytest.mark.parametrize("at", [5, 6, 8, 12, 16, 20, 60, 100, -1])
def test_a_changed_manifest_is_refused_before_anything_is_fetched(repository, kept, at):
    repository.publish(cases.capsule(2))
    changed(repository, flip(at))
    steps = kept.flash.steps
    with web.Server(web.files(repository.folder)) as server:
        with pytest.raises(CapsuleError):
            client(kept, server).pull()
        assert len(server.requests) == 1
    assert kept.flash.steps == steps


KEY2 = b"another key of 24 bytes."


def test_manifest_of_another_key_model_or_size_is_refused(repository, tmp_path, kept):
    for capsule, key, reason in (
        (cases.capsule(2, key=KEY2), KEY2, "authenticity"),
        (cases.capsule(2, cases.weights(3000, 1)), cases.KEY, "oversized"),
    ):
        other = Repository(tmp_path / reason, key)
        other.publish(capsule)
        with web.Server(web.files(other.folder)) as server:
            with pytest.raises(CapsuleError, check=because(reason)):
                client(kept, server).pull()
            assert len(server.requests) == 1


def test_only_the_devices_of_a_rollout_take_it(repository):
    repository.publish(cases.capsule(2), percent=30)
    taken = []
    with web.Server(web.files(repository.folder)) as server:
        for device in range(60):
            store = cases.store(cases.flash())
            one = client(store, server, device=device)
            taken.append(one.pull())
            assert taken[-1] or one.reason == "not in this rollout"
        assert 8 <= sum(taken) <= 30
        repository.set_percent(cases.MODEL, 100)
        assert client(cases.store(cases.flash()), server, device=taken.index(False)).pull()


def test_a_model_on_trial_is_not_overwritten(repository, kept):
    repository.publish(cases.capsule(2))
    with web.Server(web.files(repository.folder)) as server:
        assert client(kept, server).pull()
        assert client(kept, server).pull()  # it waits there already
        kept.trial()
        with pytest.raises(StoreError, match="on trial"):
            client(kept, server).pull()


@pytest.mark.parametrize("url", ["ftp://host", "http://", "http://host:99999", "http://a b/"])
def test_addresses_that_cannot_be_meant_are_refused(kept, url):
    with pytest.raises(ValueError, match="url"):
        Client(kept, url)


@pytest.mark.parametrize(
    "name, value", [("device", -1), ("device", 1 << 30), ("buffer_bytes", 0), ("buffer_bytes", 63)]
)
def test_numbers_that_no_pull_can_use_are_refused_at_once(kept, name, value):
    with pytest.raises(ValueError, match=f"{name}: expected .*got {value}"):
        Client(kept, "http://host", **{name: value})


@pytest.mark.parametrize("percent", [-1, 101, 256])
def test_a_share_is_0_to_100_percent(repository, percent):
    with pytest.raises(Refused, match=f"percent {percent}: 0 to 100"):
        repository.publish(cases.capsule(2), percent=percent)
    assert repository.manifest(7) is None
    repository.publish(cases.capsule(2), percent=0)
    with pytest.raises(Refused, match=f"percent {percent}: 0 to 100"):
        repository.set_percent(7, percent)


def test_repository_refuses_old_versions_and_wrong_keys_and_names(repository):
    repository.publish(cases.capsule(2))
    for capsule, words in (
        (cases.capsule(2), "version 2"),
        (cases.capsule(3, key=None), "authenticity"),
        (cases.capsule(3)[:-1] + b"x", "integrity"),
    ):
        with pytest.raises(Exception, match=words):
            repository.publish(capsule)
    with pytest.raises(Exception, match="cohort"):
        repository.publish(cases.capsule(3), cohort="../up")
    assert unpack(repository.manifest_path(cases.MODEL).read_bytes()).version == 2


# ---- servers without an end ----------------------------------------------------------------


def test_interim_replies_have_an_end(repository, kept):
    with web.Server(lambda request: b"HTTP/1.1 100 Continue\r\n\r\n" * 20000) as server:
        with pytest.raises(HttpError, match="interim"):
            client(kept, server, attempts=2).pull()
        assert len(server.requests) == 2


def test_a_few_interim_replies_are_passed_over(repository, kept):
    repository.publish(cases.capsule(2))
    good = web.files(repository.folder)
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 3
    with web.Server(lambda request: early + good(request)) as server:
        assert client(kept, server).pull()


def test_the_body_of_a_refusal_is_not_waited_for(repository, kept):
    with web.Server(lambda request: web.reply(b"x" * 4_000_000, "404 Not Found")) as server:
        with pytest.raises(HttpError, match="404"):
            client(kept, server).pull()
        assert len(server.requests) == 1


class Clock:
    """Seconds that pass by so many at each look."""

    def __init__(self, step_s):
        self.now, self.step_s = 0, step_s

    def __call__(self):
        self.now += self.step_s
        return self.now


@pytest.mark.parametrize("is_async", [False, True])
def test_one_byte_now_and_then_does_not_keep_a_device(repository, kept, monkeypatch, is_async):
    repository.publish(cases.capsule(2))
    monkeypatch.setattr(sockets, "seconds", Clock(30))
    with web.Server(web.files(repository.folder)) as server:
        one = client(kept, server, attempts=3, buffer_bytes=64)
        with pytest.raises(HttpError, match="bytes in"):
            asyncio.run(one.apull()) if is_async else one.pull()
        assert len(server.requests) == 3


def test_a_whole_pull_has_a_deadline(repository, kept, monkeypatch):
    repository.publish(cases.capsule(2))
    monkeypatch.setattr(sockets, "seconds", Clock(1))
    with web.Server(web.files(repository.folder)) as server:
        with pytest.raises(HttpError, match="no end within 5 s"):
            client(kept, server, limit_s=5, buffer_bytes=64).pull()
    assert cases.active(kept) == cases.capsule(1)


def test_devices_that_start_together_do_not_ask_together(repository, kept, monkeypatch):
    waited = []
    monkeypatch.setattr(time, "sleep", waited.append)
    repository.publish(cases.capsule(2))
    with web.Server(lambda r: web.reply(b"", "304 Not Modified")) as server:
        for device in range(1, 101):
            one = Client(kept, server.url, device=device, spread_s=3600)
            one.etag = '"known"'
            one.pull()
        firsts = waited[:]
        waited.clear()
        one = Client(kept, server.url, device=5)
        with pytest.raises(HttpError, match="304"):  # nobody asked whether it is unchanged
            one.pull()
    assert all(0 <= wait < 3600 for wait in firsts)
    assert len({int(wait / 360) for wait in firsts}) == 10 and len(set(firsts)) > 80
    assert not waited


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Busy"])
def test_retry_after_is_waited_for(repository, kept, monkeypatch, status):
    repository.publish(cases.capsule(2))
    good, waited = web.files(repository.folder), []
    monkeypatch.setattr(time, "sleep", waited.append)

    def answer(request):
        if len(server.requests) == 1:
            return web.reply(b"", status, "Retry-After: 77")
        return good(request)

    with web.Server(answer) as server:
        assert client(kept, server).pull()
    assert waited == [77]


def test_a_server_that_asks_for_more_time_than_there_is_ends_the_pull(kept):
    with web.Server(lambda r: web.reply(b"", "429 Busy", "Retry-After: 99999")) as server:
        with pytest.raises(HttpError, match="no end within"):
            client(kept, server).pull()
        assert len(server.requests) == 1


def test_devices_that_lost_a_server_do_not_come_back_together(kept, monkeypatch):
    waited = []
    monkeypatch.setattr(time, "sleep", waited.append)
    with web.Server(lambda request: b"") as server:
        for device in range(40):
            with pytest.raises(HttpError):
                Client(kept, server.url, device=device, wait_s=8, attempts=2).pull()
    assert len(set(waited)) > 30 and 8 <= min(waited) < 10 and 14 < max(waited) <= 16


# ---- updates that fail, and referees -------------------------------------------------------


def test_after_an_update_that_fails_the_whole_capsule_is_fetched(repository, kept):
    repository.publish(cases.capsule(1))
    new = cases.capsule(2, cases.tuned(cases.weights(301, 1), 5))
    update = repository.publish(new).entries[1]
    path = repository.folder / "objects" / update.name
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    with web.Server(web.files(repository.folder)) as server:
        assert client(kept, server).pull()
        assert [r.path.split("/")[1] for r in server.requests] == ["models", "objects"] * 2
    kept.trial()
    assert cases.active(kept) == new


def test_an_update_to_another_signed_capsule_than_the_manifest_names_is_not_used(repository, kept):
    base, named = cases.capsule(1), cases.capsule(2)
    other = cases.capsule(3, cases.tuned(cases.weights(301, 1), 5))
    repository.publish(base)
    made = delta.update(base, other)
    name = object_name(made)
    (repository.folder / "objects" / name).write_bytes(made)
    manifest = repository.publish(named)
    whole = next(entry for entry in manifest.entries if entry.base == WHOLE)
    forged = Entry(read(base).digest[:16], len(made), name)
    assert len(made) < whole.size  # so that the device chooses it
    manifest = dataclasses.replace(manifest, entries=(whole, forged))
    repository.manifest_path(7).write_bytes(manifest.pack(cases.KEY))
    with web.Server(web.files(repository.folder)) as server:
        assert client(kept, server).pull()
    kept.trial()
    assert cases.active(kept) == named


@pytest.mark.parametrize("change", [-1, 1, 1000])
def test_a_part_of_a_file_of_another_length_is_refused(repository, kept, change):
    new = cases.capsule(2, cases.weights(700, 2))
    repository.publish(new)

    def bad(request, body):
        if not request.start:
            return web.reply(body)[:-300]  # the connection breaks
        rest = body[request.start :]
        where = f"bytes {request.start}-{len(body) - 1}/{len(body) + change}"
        return web.reply(rest, "206 Partial Content", "Content-Range: " + where)

    with web.Server(objects_only(repository, bad)) as server:
        with pytest.raises(HttpError, match="part from"):
            client(kept, server, attempts=3).pull()
    assert cases.active(cases.store(kept.flash)) == cases.capsule(1)


@pytest.mark.parametrize("at", [0, 15, 16, 31])
def test_each_byte_of_a_manifests_tag_counts(repository, kept, at):
    repository.publish(cases.capsule(2))
    path = repository.manifest_path(7)
    data = bytearray(path.read_bytes())
    data[at - 32] ^= 1
    path.write_bytes(data)
    with web.Server(web.files(repository.folder)) as server:
        with pytest.raises(CapsuleError, check=because("authenticity")):
            client(kept, server).pull()
