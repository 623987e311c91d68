# SPDX-License-Identifier: MIT
"""When a connection of the web server is waited for, how long, and which one makes room."""

import socket
import sys
from types import SimpleNamespace

import pytest

from acclimate_host.capsules import web_limits
from acclimate_host.capsules.web_limits import (
    ACCEPTED_AT_ONCE,
    BoundedConnection,
    most_connections,
)

resource = pytest.importorskip("resource")
Base = BoundedConnection.__mro__[1]


class Timer:
    def __init__(self, seconds, call):
        self.seconds, self.call, self.is_off = seconds, call, False

    def cancel(self):
        self.is_off = True


class Loop:
    now = 100.0

    def __init__(self):
        self.timers = []

    def time(self):
        return self.now

    def call_later(self, seconds, call):
        self.timers.append(Timer(seconds, call))
        return self.timers[-1]


class Transport:
    def __init__(self, sock=None):
        self.sock, self.size, self.aborted = sock, 0, 0

    def get_extra_info(self, name):
        return self.sock if name == "socket" else None

    def get_write_buffer_size(self):
        return self.size

    def abort(self):
        self.aborted += 1


@pytest.fixture
def start(monkeypatch):
    """A function that makes connections of one server; `told` are calls of uvicorn's own ones."""
    told, loop, connections = [], Loop(), set()
    for name in ("connection_lost", "handle_events", "on_response_complete", "pause_writing"):
        monkeypatch.setattr(Base, name, lambda self, *args, n=name: told.append((n, *args)))
    monkeypatch.setattr(Base, "resume_writing", lambda self: told.append(("resume_writing",)))

    def made(self, transport):
        told.append(("connection_made",))
        self.transport = transport
        connections.add(self)

    monkeypatch.setattr(Base, "connection_made", made)
    kind = type("Connection", (BoundedConnection,), {"request_s": 11, "stall_s": 33, "most": 3})

    def one(sock=None, cycle=None):
        connection = kind.__new__(kind)
        connection.loop, connection.connections, connection.cycle = loop, connections, cycle
        connection.connection_made(Transport(sock))
        return connection

    one.told, one.loop, one.connections = told, loop, connections
    return one


def waits(connection):
    """How long a connection is waited for; None: not at all."""
    live = [timer for timer in connection.loop.timers if not timer.is_off]
    timer = connection._timer
    assert (timer in live) if timer else True
    mine = [t for t in live if t.call.__self__ is connection]
    assert mine == ([timer] if timer else [])  # no other one is left behind
    return timer and timer.seconds


def cycle(more_body=False, response_complete=False):
    return SimpleNamespace(more_body=more_body, response_complete=response_complete)


# ---- descriptors -------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [20, 128, 143, 144, 146, 147, 256, 1024, 2127, 2128, 1 << 20])
def test_each_connection_has_a_socket_and_a_file_beside_those_that_wait(monkeypatch, limit):
    monkeypatch.setattr(resource, "getrlimit", lambda what: (limit, 1 << 20))
    found = most_connections()
    assert 8 <= found <= 1000
    if found > 8:
        assert 2 * found + 2 * ACCEPTED_AT_ONCE <= limit
    if found < 1000:
        assert 2 * (found + 1) + 2 * ACCEPTED_AT_ONCE > limit


def test_without_a_limit_a_thousand_are_enough(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda what: (resource.RLIM_INFINITY,) * 2)
    assert most_connections() == 1000
    monkeypatch.setitem(sys.modules, "resource", None)
    assert most_connections() == 1000


def test_a_computer_without_h11_is_told_so_and_not_of_uvicorn(monkeypatch):
    def lacks(name):
        raise ImportError("no h11", name="h11")

    monkeypatch.setattr(web_limits.importlib, "import_module", lacks)
    with pytest.raises(ImportError, match="no h11"):
        web_limits._protocol()


# ---- one connection ----------------------------------------------------------------------------


def test_a_new_connection_has_the_time_of_a_request_and_a_small_buffer(start):
    sets = []
    sock = SimpleNamespace(setsockopt=lambda *args: sets.append(args))
    connection = start(sock)
    assert start.told == [("connection_made",)] and waits(connection) == 11
    ((level, option, size),) = sets
    assert (level, option) == (socket.SOL_SOCKET, socket.SO_SNDBUF) and 4096 <= size <= 1 << 18
    assert waits(start()) == 11  # a transport may have no socket


def test_a_whole_request_stops_the_clock_and_the_end_of_its_reply_starts_it(start):
    connection = start()
    for unfinished in (None, cycle(more_body=True), cycle(response_complete=True)):
        connection.cycle = unfinished
        connection.handle_events()
        assert waits(connection) == 11
    connection.cycle = cycle()
    connection.handle_events()
    assert waits(connection) is None
    connection.on_response_complete()
    assert waits(connection) == 11
    called = [name for (name,) in start.told[1:]]
    assert called == ["handle_events"] * 4 + ["on_response_complete"]


def test_a_client_that_takes_nothing_is_waited_for_longer(start):
    connection = start(cycle=cycle())
    connection.handle_events()
    connection.pause_writing()
    assert waits(connection) == 33
    connection.resume_writing()
    assert waits(connection) is None  # the reply goes on
    for whole in (None, cycle(response_complete=True)):
        connection.cycle = whole
        connection.pause_writing()
        connection.resume_writing()
        assert waits(connection) == 11
    assert [name for (name,) in start.told[2:4]] == ["pause_writing", "resume_writing"]


def test_a_lost_connection_is_not_waited_for(start):
    connection, error = start(), OSError("gone")
    connection.connection_lost(error)
    assert waits(connection) is None and start.told[-1] == ("connection_lost", error)


@pytest.mark.parametrize(
    "before, after, is_ended",
    [(0, 0, True), (500, 500, True), (500, 600, True), (500, 0, True), (500, 499, False),
     (500, 1, False)],
)  # fmt: skip
def test_at_the_end_of_its_time_a_client_has_taken_some_of_the_reply_or_goes(
    start, before, after, is_ended
):
    connection = start()
    connection.transport.size = before
    connection.pause_writing()
    connection.transport.size = after
    connection._timer.call()
    assert connection.transport.aborted == is_ended
    if not is_ended:
        assert waits(connection) == 33
        connection._timer.call()  # and nothing since
        assert connection.transport.aborted == 1


# ---- too many ----------------------------------------------------------------------------------


def aborted(connections):
    return [connection.transport.aborted for connection in connections]


def test_the_one_that_has_kept_the_server_waiting_longest_makes_room(start):
    made = []
    for seconds in range(3):
        start.loop.now = 100.0 + seconds
        made.append(start())
    assert aborted(made) == [0, 0, 0]
    start.loop.now = 110.0
    made[0].cycle = cycle()
    made[0].handle_events()  # it is served
    made[1].on_response_complete()  # it was, a moment ago
    made.append(start())
    assert aborted(made) == [0, 0, 1, 0] and start.connections == {made[0], made[1], made[3]}
    start.loop.now = 111.0
    made.append(start())
    assert (
        sum(aborted(made)) == 2 and len(start.connections) == 3 and not made[4].transport.aborted
    )


def test_where_all_are_served_the_new_one_goes(start):
    made = [start(cycle=cycle()) for _ in range(3)]
    for connection in made:
        connection.handle_events()
    made.append(start())
    assert aborted(made) == [0, 0, 0, 1] and start.connections == set(made[:3])
