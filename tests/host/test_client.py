# SPDX-License-Identifier: MIT
"""Pulls over real sockets: the whole way, and servers that behave badly."""

import asyncio

import capsule_cases as cases
import pytest

from acclimate.pull import Client, HttpError
from acclimate.store import CapsuleError, StoreError
from acclimate_host.capsules.manifest import unpack
from acclimate_host.capsules.repository import Repository
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
