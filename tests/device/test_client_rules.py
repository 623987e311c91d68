# SPDX-License-Identifier: MIT
"""The client alone, on a line that is no network: waits, limits, buffers, and how TLS answers."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

import sys

from capsule_vectors import BASE, TARGET
from pull_cases import URL, manifest, new, reply
from refusal import raised
from store_cases import model

from acclimate.pull import Client, HttpError, Refused, client, sockets
from acclimate.store import StoreError

HERE = URL.rsplit("/models", 1)[0]


class Line:
    """A connected socket: `replies` are what comes, as bytes, None, or an error to raise."""

    def __init__(self, world, replies):
        self.world, self.replies, self.sent = world, list(replies), b""
        self.is_open = True
        self.drained = self.waited = False

    def write(self, data):
        self.world.into("write")
        self.sent += data
        return len(data)

    def readinto(self, buffer):
        self.world.now += self.world.step_s
        if not self.replies:
            return 0
        piece = self.replies.pop(0)
        if isinstance(piece, BaseException):
            raise piece
        if piece is None:
            return None
        n = min(len(buffer), len(piece))
        buffer[:n] = piece[:n]
        if piece[n:]:
            self.replies.insert(0, piece[n:])
        return n

    def setblocking(self, value):
        self.world.blocking.append(value)

    def close(self):
        self.is_open = False


class World:
    """Stands for sockets and for time while a test runs.

    :param scripts: what each connection gives: a list for a Line, or an error to raise.
    """

    def __init__(self, *scripts, step_s=0):
        self.scripts, self.step_s = list(scripts), step_s
        self.now, self.lines, self.waits, self.blocking = 0, [], [], []
        self.writes = []  # errors that the next writes raise
        # Functions, as a board imports no methods.
        self.ticks_ms = lambda: int(1000 * self.now)
        self.sleep = lambda seconds: self.wait(seconds)

    def into(self, _):
        if self.writes:
            error = self.writes.pop(0)
            if error:
                raise error

    def connect(self, host, port, timeout_s):
        assert (host, timeout_s) == ("host", 20)
        script = self.scripts.pop(0)
        if isinstance(script, BaseException):
            raise script
        line = Line(self, script)
        self.lines.append(line)
        return line

    def wait(self, seconds):
        self.waits.append(seconds)
        self.now += seconds

    def __enter__(self):
        self.kept = sockets.connect, sockets.seconds, sys.modules.get("time")
        sockets.connect, sockets.seconds = self.connect, lambda: self.now
        sys.modules["time"] = self
        return self

    def __exit__(self, *_):
        sockets.connect, sockets.seconds, time = self.kept
        if time is None:
            del sys.modules["time"]
        else:
            sys.modules["time"] = time
        assert not any(line.is_open for line in self.lines)


def whole():
    """What a good server gives: the manifest, then the capsule."""
    return [reply(manifest(), "200 OK", 'ETag: "e"')], [reply(TARGET)]


def told(line, name):
    start = (name + ": ").encode()
    found = [text for text in line.sent.split(b"\r\n") if text.startswith(start)]
    return found[0][len(start) :] if found else None


# ---- what is asked for -------------------------------------------------------------------------


def test_a_model_comes_and_the_next_pull_says_what_is_known():
    store = new()
    with World(*whole(), [b"HTTP/1.1 304 No\r\n\r\n"]) as world:
        one = Client(store, HERE + "/")
        assert one.pull() is True and store.state == "verified" and one.etag == '"e"'
        store.confirm()
        assert model(store) == TARGET
        assert one.pull() is False and one.reason == "unchanged" and world.waits == []
    assert world.lines[0].sent.startswith(b"GET /models/7/all.man HTTP/1.1\r\n")
    assert [told(line, "If-None-Match") for line in world.lines] == [None, None, b'"e"']


def test_what_is_asked_for_anyway_or_was_given_up_is_asked_for_without_a_tag():
    store = new()
    with World(*whole(), *whole(), *whole()) as world:
        one = Client(store, HERE)
        assert one.pull()
        store.cancel()
        assert one.pull()  # it waits no more: it is found again
        store.confirm()
        assert one.pull(any_version=True)
    assert [told(line, "If-None-Match") for line in world.lines] == [None] * 6


def test_what_was_known_before_is_asked_for_unless_it_was_given_up():
    with World([b"HTTP/1.1 304 No\r\n\r\n"]) as world:
        one = Client(new(base=None), HERE)
        assert repr(one).endswith(": no pull yet")
        one.etag = '"kept"'
        assert one.pull() is False and repr(one).endswith(": unchanged")
        assert told(world.lines[0], "If-None-Match") == b'"kept"'
    nobody = [reply(manifest(percent=0), "200 OK", 'ETag: "e"')]
    with World(nobody, [b"HTTP/1.1 304 No\r\n\r\n"]) as world:
        one = Client(new(), HERE)
        assert one.pull() is False and one.reason == "not in this rollout"
        assert one.pull() is False and one.reason == "unchanged"
        assert told(world.lines[1], "If-None-Match") == b'"e"'


def test_a_line_that_has_nothing_is_at_its_end():
    with World([b"HTTP/1.1 200", None]):
        assert "connection lost" in raised(HttpError, Client(new(), HERE, attempts=1).pull)


def test_nothing_changed_is_no_answer_to_who_knows_nothing():
    with World([b"HTTP/1.1 304 No\r\n\r\n"]) as world:
        assert "304" in raised(Refused, Client(new(), HERE).pull)
        assert world.waits == []


def test_model_cohort_and_numbers():
    store = new()
    assert Client(store, HERE).url == HERE + "/models/7/all.man"
    assert Client(store, HERE, 9, "beta").url == HERE + "/models/9/beta.man"
    assert len(Client(store, HERE, buffer_bytes=64)._buffer) == 64
    assert len(Client(store, HERE)._buffer) == 512
    assert "64 or more, got 63" in raised(ValueError, Client, store, HERE, buffer_bytes=63)
    assert "device" in raised(ValueError, Client, store, HERE, device=-1)
    assert "url" in raised(ValueError, Client, store, "host")


def test_a_model_on_trial_is_left_alone():
    store = new()
    with World(*whole()) as world:
        one = Client(store, HERE)
        one.pull()
        store.trial()
        assert "on trial" in raised(StoreError, one.pull)
        assert len(world.lines) == 2


# ---- waits and limits --------------------------------------------------------------------------


def test_pauses_double_and_differ_from_device_to_device():
    for device, parts in ((0, (222, 189, 155, 122)), (17, (19, 242, 208, 175))):
        with World(*[OSError(104)] * 5) as world:
            raised(OSError, Client(new(), HERE, device=device).pull)
            due = [(1 << i) * (256 + part) / 256 for i, part in enumerate(parts)]
            assert world.waits == due, world.waits


def test_no_pause_is_longer_than_64_times_the_first_and_a_half_more():
    with World(*[OSError(104)] * 9) as world:
        raised(OSError, Client(new(), HERE, attempts=9, wait_s=2).pull)
    assert [int(wait / 2) >> i for i, wait in enumerate(world.waits[:7])] == [1] * 7
    assert 128 <= world.waits[7] < 256


def test_a_server_may_ask_for_a_longer_pause_once():
    busy = reply(b"", "503 Busy", "Retry-After: 500")
    with World([busy], OSError(104), *whole()) as world:
        assert Client(new(), HERE).pull()
    assert world.waits == [500 + 222 / 256, 2 + 2 * 189 / 256]


def test_the_first_pause_is_a_part_that_the_number_of_the_device_gives():
    for device, due in (
        (0, []),
        (17, [52.0]),
        (1023, [1024 * ((1023 * 40503 >> 3) & 1023) / 1024]),
    ):
        with World(*whole()) as world:
            Client(new(), HERE, device=device, spread_s=1024).pull()
            assert world.waits == due


def test_a_whole_pull_has_a_limit_and_may_take_all_of_it():
    for limit_s, is_good in ((3, True), (2, False)):
        pieces = [[reply(manifest())[:50], reply(manifest())[50:]], [reply(TARGET)]]
        with World(*pieces, step_s=1) as world:
            one = Client(new(), HERE, limit_s=limit_s, buffer_bytes=512)
            if is_good:
                assert one.pull() and world.now <= limit_s
            else:
                assert "no end within 2 s" in raised(Refused, one.pull)
    with World(*[OSError(104)] * 5) as world:
        told = raised(Refused, Client(new(), HERE, limit_s=10, wait_s=3).pull)
        assert "10 s" in told and world.now <= 10


def test_few_bytes_are_enough_at_first_and_later_only_so_many():
    for step_s, size, is_good in (
        (20, 1, True),
        (21, 1, False),
        (21, 335, False),
        (21, 336, True),
    ):
        slow = [b"HTTP/1.1 200 OK\r\nX: " + b"y" * (size - 20), OSError(1)]
        slow[0] = slow[0][:size]
        with World(slow, slow, step_s=step_s):
            text = raised(OSError, Client(new(), HERE, attempts=1).pull)
            assert ("%d bytes in %d s" % (size, step_s) in text) is not is_good, text


# ---- heap --------------------------------------------------------------------------------------


def test_where_the_heap_has_no_room_the_buffer_is_halved():
    with World(MemoryError(), MemoryError(), *whole()) as world:
        one = Client(new(), HERE)
        assert one.pull() and len(one._buffer) == 128 and world.waits == []


def test_below_the_smallest_buffer_a_pull_gives_up_and_may_be_tried_again():
    store = new()
    with World(*[MemoryError()] * 4, *whole()):
        one = Client(store, HERE)
        assert "too few" in raised(MemoryError, one.pull)
        assert one.pull() and len(one._buffer) == 64
    with World(MemoryError()):
        assert "too few" in raised(MemoryError, Client(new(), HERE, buffer_bytes=127).pull)


def test_bytes_that_came_are_not_asked_for_again_without_heap():
    store = new()
    with World(*whole()):
        one = Client(store, HERE)

        def full(view, n):
            raise MemoryError()

        store.write = full
        assert "no heap" in raised(Refused, one.pull)
    assert model(store) == BASE


# ---- TLS ---------------------------------------------------------------------------------------


class Context:
    """Takes a Line as it is; a stream of TLS that never waits answers None, or an error."""

    def wrap_socket(self, sock, server_hostname, do_handshake_on_connect):
        assert server_hostname == "host" and do_handshake_on_connect is False
        return sock


def secure(store, **options):
    return Client(store, "https" + HERE[4:], context=Context(), **options)


def test_a_stream_that_has_nothing_yet_is_asked_again():
    found, capsule = whole()
    early = [OSError(2), None, OSError(11), None, OSError(3)]
    with World(early + found, [None] + capsule) as world:
        world.writes = [OSError(2), OSError(11)]
        assert secure(new()).pull()
        assert world.blocking == [False, False] and world.waits == [0.01] * 8


def test_a_stream_that_has_nothing_for_long_or_fails_is_given_up():
    with World([None] * 9999) as world:
        assert "nothing in 20 s" in raised(HttpError, secure(new(), attempts=1).pull)
        assert 20 < world.now < 20.1
    with World([None] * 9999) as world:
        assert "no end within 7 s" in raised(Refused, secure(new(), limit_s=7).pull)
    with World([OSError(104)]) as world:
        assert "104" in raised(OSError, secure(new(), attempts=1).pull) and world.waits == []
    with World([ValueError("certificate")]) as world:
        assert "https: certificate" in raised(Refused, secure(new()).pull)


def test_the_context_of_the_firmware_is_made_once():
    made = []

    def make():
        made.append(1)
        return Context()

    kept, sockets.default_context = sockets.default_context, make
    try:
        with World(*whole()):
            assert Client(new(), "https" + HERE[4:]).pull() and made == [1]
    finally:
        sockets.default_context = kept


# ---- beside other tasks ------------------------------------------------------------------------


class Stream:
    """What asyncio.open_connection gives, over a Line."""

    def __init__(self, line):
        self.line, self.s = line, line

    async def read(self, size):
        buffer = bytearray(size)
        n = self.line.readinto(memoryview(buffer))
        return bytes(buffer[:n])

    def write(self, data):
        self.line.write(data)

    async def drain(self):
        self.line.drained = True

    def close(self):
        self.line.is_open = False

    async def wait_closed(self):
        self.line.waited = True


def beside(world, one, **options):
    """Run apull with connections, pauses and deadlines of a world; return what it gave."""
    import asyncio

    async def connect(host, port, **extra):
        world.extra = extra
        return (Stream(world.connect(host, port, 20)),) * 2

    async def soon(task, limit_s):
        assert limit_s == 20
        return await task

    async def sleep(seconds):
        world.wait(seconds)

    kept = asyncio.open_connection, asyncio.wait_for, asyncio.sleep
    asyncio.open_connection, asyncio.wait_for, asyncio.sleep = connect, soon, sleep
    task = one.apull(**options)
    try:
        task.send(None)
    except StopIteration as done:
        return done.value
    finally:
        asyncio.open_connection, asyncio.wait_for, asyncio.sleep = kept
    raise AssertionError("it waits for something else")


def has_asyncio():
    try:
        import asyncio  # noqa: F401
    except ImportError:
        return False
    return True


def test_a_task_pulls_as_the_plain_call_does():
    if not has_asyncio():
        return
    store = new()
    lost = MemoryError(), OSError(104)
    with World(*lost, *whole(), [b"HTTP/1.1 304 No\r\n\r\n"]) as world:
        one = Client(store, HERE, device=17, spread_s=1024)
        assert beside(world, one) is True and world.waits == [52.0, 1 + 19 / 256]
        assert len(one._buffer) == 256 and world.extra == {}
        assert world.lines[0].sent.startswith(b"GET /models/7/all.man HTTP/1.1\r\n")
        assert all(line.drained and line.waited for line in world.lines)
        store.confirm()
        assert beside(world, one) is False and one.reason == "unchanged"
    with World(*whole()) as world:
        assert beside(world, one, any_version=True) is True
        assert told(world.lines[0], "If-None-Match") is None


def test_a_task_ends_as_the_plain_call_does():
    if not has_asyncio():
        return
    for script, kind, text in (
        ([reply(manifest())[:40]], HttpError, "connection lost"),
        ([ValueError("certificate")], Refused, "https: certificate"),
        ([reply(b"", "404 No")], Refused, "404"),
    ):
        with World(script) as world:
            one = secure(new(), attempts=1)
            assert text in raised(kind, beside, world, one)
            assert world.extra["server_hostname"] == "host" and world.extra["ssl"]
    with World([b"H", OSError(1)], step_s=21) as world:
        one = Client(new(), HERE, attempts=1)
        assert "1 bytes in 21 s" in raised(HttpError, beside, world, one)


def test_the_room_offers_the_client():
    assert client.Client is Client
