# SPDX-License-Identifier: MIT
"""Slow and hostile clients of ``acclimate serve``, over real sockets: others are still served.

Nothing here measures time: what shall end by itself is waited for, and what shall not is given an
hour.
"""

import asyncio
import contextlib
import socket
import sys
import threading
import time
import urllib.request
from types import SimpleNamespace

import pytest

from acclimate_host.capsules.web import Shared, application, bounded_server
from acclimate_host.capsules.web_limits import HEADER_BYTES, BoundedConnection, _protocol
from acclimate_host.errors import Missing

HOUR = 3600
LARGE = 4_000_000
GET = b"GET /objects/large HTTP/1.1\r\nHost: x\r\n\r\n"


class Served:
    """The web server of a folder, in a thread."""

    def __init__(self, folder, **limits):
        listener = socket.create_server(("127.0.0.1", 0))
        self.at = listener.getsockname()
        limits = {"request_s": HOUR, "stall_s": HOUR, "most": 100, **limits}
        kind = type("Connection", (BoundedConnection,), limits)
        self.server = bounded_server(application(folder), kind)
        run = self.server.run
        self.thread = threading.Thread(target=run, kwargs={"sockets": [listener]}, daemon=True)
        self.thread.start()

    def connect(self, sent=b""):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(60)
        client.connect(self.at)
        client.sendall(sent)
        return client

    def size(self):
        """Return the bytes that somebody else gets, who asks as one should."""
        url = f"http://{self.at[0]}:{self.at[1]}/models/7/all.man"
        with urllib.request.urlopen(url, timeout=60) as reply:
            return len(reply.read())

    def until(self, condition):
        """Wait until something is true of the connections; return them."""
        for _ in range(6000):
            found = list(self.server.server_state.connections)
            if condition(found):
                return found
            time.sleep(0.01)
        raise AssertionError(f"never: {found}")

    def say(self, words):
        """Call a function without arguments in the server's thread; return its result."""

        async def call():
            return words()

        loop = self.until(bool)[0].loop
        return asyncio.run_coroutine_threadsafe(call(), loop).result(60)

    def close(self):
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(60)


@pytest.fixture
def serving(tmp_path):
    for name, size in (("models/7/all.man", 200), ("objects/large", LARGE)):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes(size))
    with contextlib.ExitStack() as stack:

        def start(**limits):
            served = Served(tmp_path, **limits)
            stack.callback(served.close)
            return served

        yield start


def is_ended(client):
    """Read until the server ends the connection."""
    with contextlib.suppress(ConnectionResetError):
        while client.recv(65536):
            pass
    return True


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /models/7/all.man HT",
        b"POST /objects/large HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n",
        b"GET /models/7/all.man HTTP/1.1\r\nHost: x\r\n\r\nGET ",
    ],
)
def test_a_request_that_does_not_end_ends_its_connection(serving, sent):
    served = serving(request_s=0.2)
    client = served.connect(sent)
    with contextlib.suppress(ConnectionError):
        while True:  # a byte now and then, for ever
            client.sendall(b"x")
            time.sleep(0.01)
    assert is_ended(client) and served.size() == 200


def test_silent_connections_make_room_for_one_that_asks(serving):
    served = serving(most=20)
    silent = [served.connect(b"GET "[: k % 5]) for k in range(60)]
    assert served.size() == 200
    assert len(served.server.server_state.connections) <= 21
    assert is_ended(silent[0])


def test_a_header_without_end_is_refused(serving):
    served = serving()
    client = served.connect(b"GET / HTTP/1.1\r\nHost: x\r\n")
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < 40_000_000:
            sent += client.send(b"X-A: " + b"a" * 1000 + b"\r\n")
    assert HEADER_BYTES < sent < 40_000_000  # what buffers hold, but no more
    assert is_ended(client) and served.size() == 200


@pytest.mark.parametrize("more, status", [(0, b"200"), (1, b"400")])
def test_an_unfinished_header_has_16384_bytes(serving, more, status):
    served = serving()
    head = b"GET /models/7/all.man HTTP/1.1\r\nHost: x\r\nX-A: "
    client = served.connect(head + b"a" * (HEADER_BYTES + more - len(head)))
    if status == b"200":
        held = served.until(lambda found: found and len(_unread(found[0])) == HEADER_BYTES)[0]
        assert not held.transport.is_closing()
        client.sendall(b"\r\n\r\n")
    assert client.recv(12) == b"HTTP/1.1 " + status


def _unread(connection):
    return connection.conn.trailing_data[0]


def test_a_client_that_takes_again_has_as_long_as_its_request_or_reply_may_last(serving):
    """Only a client is waited for: what the server still has to say has no end."""
    served = serving(request_s=1000, stall_s=2000)

    def waits(held):
        return held._timer and round(held._timer.when() - held._since)

    asking = served.connect(GET)
    held = served.until(lambda found: found and waits(found[0]) == 2000)[0]
    assert served.say(lambda: held.resume_writing() or waits(held)) is None
    asking.close()

    idle = served.connect(b"GET /models/7/all.man HTTP/1.1\r\nHost: x\r\n\r\n")
    assert idle.recv(12) == b"HTTP/1.1 200"
    (whole,) = served.until(lambda found: len(found) == 1 and waits(found[0]) == 1000)
    assert served.say(lambda: whole.pause_writing() or waits(whole)) == 2000
    assert served.say(lambda: whole.resume_writing() or waits(whole)) == 1000


@pytest.mark.parametrize("there", [None, SimpleNamespace(), SimpleNamespace(H11Protocol=object)])
def test_another_uvicorn_is_named_with_what_to_install(monkeypatch, there):
    monkeypatch.setitem(sys.modules, "uvicorn.protocols.http.h11_impl", there)
    with pytest.raises(Missing, match="uvicorn<"):
        _protocol()


def test_who_takes_nothing_of_a_reply_is_given_up(serving):
    served = serving(stall_s=0.2)
    client = served.connect(GET)
    got = len(client.recv(1))
    served.until(lambda connections: not connections)
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(65536):
            got += len(part)
    assert got < LARGE and served.size() == 200


def test_the_server_ends_though_a_client_takes_nothing(serving):
    served = serving()
    client = served.connect(GET)
    assert client.recv(1)
    served.server.should_exit = True
    served.thread.join(60)
    assert not served.thread.is_alive()


def test_who_takes_some_of_a_reply_gets_all_of_it(serving):
    served = serving()
    client = served.connect(GET)
    held = served.until(lambda found: found and found[0]._timer)[0]
    ended = []

    def end_where_some_was_taken():
        if held._timer and 0 < held.transport.get_write_buffer_size() < held._left:
            ended.append(held._end())

    got = 0
    while got < LARGE and (part := client.recv(65536)):
        got += len(part)
        held.loop.call_soon_threadsafe(end_where_some_was_taken)
    assert got >= LARGE and ended


def test_many_ranges_are_no_work(serving):
    """Older releases of starlette compare each range with all others."""
    served = serving()
    ranges = ",".join(f"{2 * n}-{2 * n}" for n in range(1000))
    ask = f"GET /objects/large HTTP/1.1\r\nHost: x\r\nRange: bytes={ranges}\r\n\r\n"
    reply = served.connect(ask.encode()).recv(12)
    assert reply == b"HTTP/1.1 200"  # the whole, as the standard allows: not a thousand parts


def test_a_web_socket_is_none(serving):
    served = serving(request_s=0.2)
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    client = served.connect(b"GET /models/7/all.man HTTP/1.1\r\nHost: x\r\n" + upgrade + b"\r\n")
    assert client.recv(12) == b"HTTP/1.1 200" and is_ended(client)


def test_the_fleet_is_counted_once_for_all_who_look():
    counts = []

    async def look():
        shared = Shared(lambda: counts.append(1) or len(counts), keep_s=HOUR)
        return await asyncio.gather(*(shared.get() for _ in range(50)))

    assert asyncio.run(look()) == [1] * 50
