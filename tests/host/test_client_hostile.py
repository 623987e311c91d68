# SPDX-License-Identifier: MIT
"""Pulls from servers of a bad world, plain and beside other tasks: each ends, says why, and the
model stays."""

import asyncio
import itertools

import capsule_cases as cases
import pytest

from acclimate.pull import Client, HttpError
from acclimate.store import CapsuleError
from acclimate_host.capsules.repository import Repository
from harness import web


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repository", cases.KEY)
    made.publish(cases.capsule(2))
    return made


@pytest.fixture
def kept():
    store = cases.store(cases.flash())
    store.swap_capsule(cases.capsule(1))
    return store


def pull(one, beside):
    return asyncio.run(one.apull()) if beside else one.pull()


def to(place):
    return lambda request: web.reply(b"", "302 Found", "Location: " + place)


OK = b"HTTP/1.1 200 OK\r\n"
SERVERS = {
    "headers without an end": (
        lambda r: itertools.chain([OK], itertools.repeat(b"X: y\r\n" * 99)),
        HttpError,
        "headers of more than 8192",
    ),
    "a header of 1 MB": (lambda r: OK + b"X: " + b"y" * 2**20, HttpError, "headers of more"),
    "a status line of 1 MB": (lambda r: b"HTTP/1.1 200 " + b"y" * 2**20, HttpError, "a line of"),
    "a body without an end": (
        lambda r: itertools.chain([OK + b"\r\n"], itertools.repeat(b"AMAN" * 99)),
        CapsuleError,
        "oversized",
    ),
    "chunks without an end": (
        lambda r: itertools.chain(
            [OK + b"Transfer-Encoding: chunked\r\n\r\n"], itertools.repeat(b"4\r\nAMAN\r\n" * 9)
        ),
        CapsuleError,
        "oversized",
    ),
    "trailers without an end": (
        lambda r: itertools.chain(
            [OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"], itertools.repeat(b"X: y\r\n" * 9)
        ),
        HttpError,
        "headers of more than",
    ),
    "closes in the headers": (lambda r: OK + b"Content-Le", HttpError, "connection lost"),
    "closes in a chunk": (
        lambda r: OK + b"Transfer-Encoding: chunked\r\n\r\n40\r\nAM",
        HttpError,
        "connection lost",
    ),
    "chunks of words": (
        lambda r: OK + b"Transfer-Encoding: chunked\r\n\r\nmany\r\nAMAN",
        HttpError,
        "chunk size",
    ),
    "packed": (
        lambda r: web.reply(b"x", "200 OK", "Content-Encoding: gzip"),
        HttpError,
        "content-encoding 'gzip'",
    ),
    "an empty manifest": (lambda r: web.reply(b""), CapsuleError, "AMAN"),
    "no content": (lambda r: b"HTTP/1.1 204 No\r\n\r\n", HttpError, "204"),
    "a part that nobody asked for": (
        lambda r: web.reply(b"AMAN", "206 Part", "Content-Range: bytes 0-3/9"),
        CapsuleError,
        "AMAN",
    ),
    "unchanged, says it": (lambda r: b"HTTP/1.1 304 No\r\n\r\n", HttpError, "304"),
    "a status of 999": (lambda r: b"HTTP/1.1 999 ?\r\n\r\n", HttpError, "999"),
    "a status of letters": (lambda r: b"HTTP/1.1 abc OK\r\n\r\n", HttpError, "status 'abc'"),
    "HTTP/2": (lambda r: b"HTTP/2 200\r\n\r\n", HttpError, "not an HTTP/1.1"),
    "zeros": (lambda r: bytes(5000), HttpError, "a line of more"),
    "a name of 99 letters": (to("http://" + "x" * 99 + "/"), OSError, "xxx|label|name|host"),
    "a name of dots": (to("http://.../"), OSError, r"\.\.\.|label|name|host"),
    "a port of 0": (to("http://h:0/"), HttpError, "redirect: url"),
    "an address in brackets": (to("http://[::1]/"), HttpError, "redirect: url"),
    "a file": (to("file:///etc/passwd"), HttpError, "redirect: url"),
    "itself": (lambda r: to(r.path)(r), HttpError, "no place to go"),
    "nowhere": (lambda r: web.reply(b"", "307 Moved"), HttpError, "no place to go"),
}


@pytest.mark.parametrize("beside", [False, True], ids=["plain", "task"])
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_that_behaves_badly(name, beside, repository, kept):
    answer, kind, words = SERVERS[name]
    steps = kept.flash.steps
    with web.Server(answer) as server:
        one = Client(kept, server.url, wait_s=0, timeout_s=60, attempts=2)
        with pytest.raises(kind, match=words):
            pull(one, beside)
        assert 1 <= len(server.requests) <= 10
    assert kept.flash.steps == steps  # nothing was erased or written for it
    assert cases.active(cases.store(kept.flash)) == cases.capsule(1)
    with web.Server(web.files(repository.folder)) as server:  # and a good one is taken as ever
        assert pull(Client(kept, server.url, wait_s=0, timeout_s=60), beside)


@pytest.mark.parametrize("beside", [False, True], ids=["plain", "task"])
@pytest.mark.parametrize("tag", ["", '"' + "e" * 900 + '"', "words", "\xe9\x00", "a\rX-Evil: y"])
def test_servers_of_http_1_0_and_odd_tags(tag, beside, repository, kept):
    files = web.files(repository.folder)

    def answer(request):
        whole = files(request)
        head = b"HTTP/1.0 200 OK\r\nETag: " + tag.encode("latin-1") + b"\r\n\r\n"
        return head + whole.partition(b"\r\n\r\n")[2]

    with web.Server(answer) as server:
        one = Client(kept, server.url, wait_s=0, timeout_s=60)
        assert pull(one, beside)
        kept.confirm()
        assert not pull(one, beside) and one.reason == "current"
        assert not any("\r" in line for line in server.requests[-1].text.split("\r\n"))
    assert cases.active(kept) == cases.capsule(2)
