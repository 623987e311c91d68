# SPDX-License-Identifier: MIT
"""Pulls over the serial line: what goes to the board and to the server, and how each can end."""

import gc
import io
import socket
import ssl
import threading
from contextlib import redirect_stdout
from types import SimpleNamespace

import pytest

from acclimate import pull as package
from acclimate_host.capsules import tunnel
from acclimate_host.errors import AcclimateError, BoardError, Refused
from harness.clock import HANG_S

REQUEST = b"GET /models/7/all.man HTTP/1.1\r\nHost: x\r\n\r\n"
URL = "http://host/shop"


class Served:
    """A server of one connection after the other: sends `reply`, keeps what it was sent.

    `after`: whether it closes the connection behind the reply, or waits for the client.
    """

    def __init__(self, reply=b"", closes=True):
        self.reply, self.closes, self.got = reply, closes, []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                line, _ = self.listening.accept()
            except OSError:
                return
            with line:
                line.settimeout(HANG_S)
                self.got.append(line.recv(4096))
                line.sendall(self.reply)
                if not self.closes:
                    self.got.append(line.recv(1))  # b"" once the client has gone

    def close(self):
        if self.listening.fileno() >= 0:
            self.listening.shutdown(socket.SHUT_RDWR)
            self.listening.close()
            self.thread.join(HANG_S)


@pytest.fixture
def served():
    made = []

    def start(*args, **options):
        made.append(Served(*args, **options))
        return made[-1]

    yield start
    for server in made:
        server.close()


class Board:
    """Runs what it is sent in this Python, where a pull is told what to say."""

    name = "fake"

    def __init__(self, monkeypatch, says=(), free=1 << 20):
        self.given, self.pieces, self.calls, self.timeouts = None, [], [], []
        self.says, self.names = list(says), {"store": object()}
        monkeypatch.setattr(package, "SerialPull", self._made, raising=False)
        monkeypatch.setattr(gc, "mem_free", lambda: free, raising=False)

    def exec(self, code, timeout=None):
        self.timeouts.append(timeout)
        out = io.StringIO()
        with redirect_stdout(out):
            exec(code, self.names)
        return out.getvalue()

    def _made(self, *args):
        self.given = args
        return self

    def _say(self, *call):
        self.calls.append(call)
        said = self.says.pop(0)
        if isinstance(said, Exception):
            raise said
        print(said)

    def ask(self):
        self._say("ask")

    def feed(self, piece):
        self.pieces.append(piece)
        self._say("feed", len(piece))

    def end(self):
        self._say("end")

    def lost(self, text):
        self._say("lost", text)


def send(port, tls=0, host="127.0.0.1"):
    return f"send {tls} {host} {port} {REQUEST.hex()}"


# ---- what the board is asked -------------------------------------------------------------------


@pytest.mark.parametrize("free, small", [(12287, True), (12288, False), (12289, False)])
def test_a_board_is_told_what_to_pull_and_whether_it_has_room(monkeypatch, free, small):
    board = Board(monkeypatch, ["ready"], free)
    assert tunnel.pull(board, URL, "beta", 17) == ""
    store, url, model, cohort, device, whole_only = board.given
    assert store is board.names["store"] and (url, model) == (URL, None)
    assert (cohort, device, whole_only) == ("beta", 17, small)
    board = Board(monkeypatch, ["ready"], free)
    tunnel.pull(board, URL, object_key="/object 'key'")
    assert board.given[3:] == ("all", 0, small, "/object 'key'")


@pytest.mark.parametrize("url", ["ftp://x", "nonsense", "http://", "http://h:99999", "http://a b"])
def test_an_address_that_is_none_is_refused_before_the_board_is_asked(monkeypatch, url):
    board = Board(monkeypatch)
    for call in (lambda: tunnel.check_url(url), lambda: tunnel.pull(board, url)):
        with pytest.raises(Refused):
            call()
    assert not board.timeouts
    for good in ("http://h", "http://h/", "https://h:8443/shop", "http://h/shop/"):
        tunnel.check_url(good)


@pytest.mark.parametrize(
    "said, wanted",
    [("ready", ""), ("none current", "current"), ("none not in share", "not in share")],
)
def test_how_a_pull_ended_is_what_the_board_says(monkeypatch, said, wanted):
    assert tunnel.pull(Board(monkeypatch, [said]), URL) == wanted


# ---- what is carried ---------------------------------------------------------------------------


@pytest.mark.parametrize("free, most", [(1 << 20, 256), (5000, 64)])
def test_a_request_goes_out_and_the_reply_comes_back_in_pieces(monkeypatch, served, free, most):
    reply = bytes(range(256)) * 3 + b"end"
    server = served(reply)
    says = [send(server.port)] + ["more"] * 50
    board = Board(monkeypatch, says, free)
    monkeypatch.setattr(board, "end", lambda: print("none current"))
    told = []
    assert tunnel.pull(board, URL, progress=told.append) == "current"
    assert server.got == [REQUEST] and b"".join(board.pieces) == reply
    sizes = [len(piece) for piece in board.pieces]
    assert max(sizes) <= most and len(sizes) >= len(reply) // most
    assert told == [sum(sizes[: k + 1]) for k in range(len(sizes))]


def test_a_reply_that_the_board_has_had_enough_of_is_left(monkeypatch, served):
    first, second = served(b"a" * 10, closes=False), served(b"b" * 20, closes=False)
    board = Board(monkeypatch, [send(first.port), send(second.port), "ready"])
    told = []
    assert tunnel.pull(board, URL, progress=told.append) == ""
    assert [call[0] for call in board.calls] == ["ask", "feed", "feed"]
    assert told == [10, 30]
    for server in (first, second):
        server.close()
        assert server.got == [REQUEST, b""]  # the connection was closed


def test_where_nobody_answers_the_board_is_told_why(monkeypatch, served):
    server = served()
    server.close()
    for host, port, why in (
        ("127.0.0.1", server.port, "127.0.0.1:%d: Connection refused" % server.port),
        ("a" * 64 + ".example", 80, "a" * 60),
    ):
        board = Board(monkeypatch, [send(port, 0, host), "none gone"])
        assert tunnel.pull(board, URL) == "gone"
        kind, text = board.calls[-1]
        assert kind == "lost" and text.startswith(why) and len(text) <= 60


def test_a_broken_connection_is_tried_again_as_the_board_says(monkeypatch, served):
    server = served(b"reply")
    real, tries = socket.create_connection, []

    def connect(address, timeout):
        tries.append(timeout)
        if len(tries) < 3:
            raise OSError("no way there, and a text that is longer than a board has room for")
        return real(address, timeout)

    monkeypatch.setattr(tunnel.socket, "create_connection", connect)
    board = Board(monkeypatch, [send(server.port)] * 3 + ["ready"])
    assert tunnel.pull(board, URL) == ""
    assert [call[0] for call in board.calls] == ["ask", "lost", "lost", "feed"]
    assert len(board.calls[1][1]) == 60 and all(0 < timeout < 600 for timeout in tries)


def test_https_is_spoken_with_the_name_of_the_host(monkeypatch, served):
    server, wrapped, made, closed = served(b"reply"), [], [], []

    class Wrapped:
        """As ssl has it: a socket of its own, which takes what the other one had."""

        def __init__(self, line):
            self.line = line
            self.sendall, self.recv = line.sendall, line.recv

        def __enter__(self):
            return self

        def __exit__(self, *_):
            closed.append(self)

    class Context:
        def wrap_socket(self, line, server_hostname):
            wrapped.append((self, server_hostname))
            return Wrapped(line)

    given = Context()
    monkeypatch.setattr(ssl, "create_default_context", lambda: made.append(Context()) or made[-1])
    for context, tls in ((None, 0), (given, 0), (given, 1), (None, 1)):
        board = Board(monkeypatch, [send(server.port, tls), "ready"])
        assert tunnel.pull(board, URL, context=context) == ""
    assert wrapped == [(given, "127.0.0.1"), (made[0], "127.0.0.1")] and len(made) == 1
    assert len(closed) == 2  # at once, not when somebody collects it


# ---- patience ----------------------------------------------------------------------------------


class Line:
    """A connection whose pieces each take some seconds."""

    def __init__(self, clock, waits):
        self.clock, self.waits = clock, list(waits)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def sendall(self, data):
        pass

    def recv(self, most):
        seconds, size = self.waits.pop(0)
        self.clock.now += seconds
        if size is None:
            raise TimeoutError("timed out")
        return bytes(size)


@pytest.mark.parametrize(
    "waits, carried, is_patient",
    [
        ([(60, 64)], 64, True),
        ([(60.5, 64)], 0, False),
        ([(30, 256), (34, 256)], 512, True),  # 256 bytes are 4 s more
        ([(30, 256), (34.5, 256)], 256, False),
        ([(30, 128)] + [(2, 128)] * 40, 41 * 128, True),
        ([(30, 64)] + [(2, 64)] * 40, 31 * 64, False),
        ([(20, None), (20, None), (20, 64)], 64, True),
        ([(20, None), (20, None), (21, 64)], 0, False),  # whatever becomes of a connection
    ],
)
def test_a_server_has_a_minute_and_a_second_more_for_64_bytes(
    monkeypatch, waits, carried, is_patient
):
    clock = SimpleNamespace(now=5.0)
    board = Board(monkeypatch)
    line = Line(clock, waits)
    monkeypatch.setattr(tunnel.socket, "create_connection", lambda *_: line)
    monkeypatch.setattr(board, "ask", lambda: print(send(1)))
    monkeypatch.setattr(board, "lost", lambda text: print(send(1)))
    told = [0]
    monkeypatch.setattr(board, "feed", lambda piece: print("more" if line.waits else "ready"))
    options = {"progress": told.append, "clock": lambda: clock.now}
    if is_patient:
        assert tunnel.pull(board, URL, **options) == ""
    else:
        with pytest.raises(Refused, match=r"server 127.0.0.1:1: \d+ bytes in .* s of"):
            tunnel.pull(board, URL, **options)
    assert told[-1] == carried


# ---- errors of the board -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "last, said",
    [
        ("CapsuleError: authenticity: not signed", "fake: authenticity: not signed"),
        ("acclimate.pull.http.HttpError: status 404", "fake: status 404"),
        ("Refused", "fake: Refused"),
        ("OSError: 5", "fake: 5"),
        ("acclimate.store.core.StoreError: x: y", "fake: x: y"),
        ("ImportError: no module named 'a'", "fake: no module named 'a'"),
    ],
)
@pytest.mark.parametrize("step", ["made", "ask", "feed"])
def test_what_a_board_refuses_is_refused_in_its_words(monkeypatch, served, last, said, step):
    error = BoardError(f"Traceback (most recent call last):\n  File 1\n{last}\n")
    board = Board(monkeypatch, [send(served(b"reply").port), error])
    if step != "feed":
        board.says = [error]
    if step == "made":
        monkeypatch.setattr(package, "SerialPull", lambda *_: board._say(step))
    with pytest.raises(Refused) as caught:
        tunnel.pull(board, URL)
    assert str(caught.value) == said and caught.value.__cause__ is error


@pytest.mark.parametrize("last", ["ValueError: x", "MyOSError: x", "x: OSError", "MemoryError"])
def test_other_errors_of_a_board_stay_its_own(monkeypatch, last):
    error = BoardError(f"Traceback:\n{last}\n")
    with pytest.raises(BoardError) as caught:
        tunnel.pull(Board(monkeypatch, [error]), URL)
    assert caught.value is error


def test_a_board_that_says_nothing_is_named(monkeypatch):
    with pytest.raises(AcclimateError, match="fake: no answer to _pull.ask"):
        tunnel.pull(Board(monkeypatch, [""]), URL)


def test_a_step_has_minutes_as_the_last_one_needs_them(monkeypatch):
    board = Board(monkeypatch, ["ready"])
    tunnel.pull(board, URL)
    assert board.timeouts[0] is None and min(board.timeouts[1:]) >= 60
