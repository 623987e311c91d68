# SPDX-License-Identifier: MIT
"""Hostile clients of the pages of this computer: `acclimate playground` and `teach --web`."""

import contextlib
import json
import socket
import threading
import urllib.request
from types import SimpleNamespace

import pytest

from acclimate_host.errors import AcclimateError
from acclimate_host.page import files, limits, serve

LIMIT = 4
GET = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """A page of one file; few connections at a time."""
    (tmp_path / "index.html").write_text("a page")
    monkeypatch.setattr(files, "folder", lambda: tmp_path)
    monkeypatch.setattr(limits.BoundedListener, "most", LIMIT)


@pytest.fixture(params=["playground", "teach"])
def port(request, pages):
    """The port of one of the two servers, which runs."""
    if request.param == "playground":
        with serve.server(0) as http:
            threading.Thread(target=http.serve_forever, daemon=True).start()
            yield http.server_address[1]
            http.shutdown()
    else:
        with bridged() as bridge:
            yield bridge.port


@contextlib.contextmanager
def bridged():
    pytest.importorskip("websockets")
    from acclimate_host.teach.bridge import Bridge

    board = SimpleNamespace(name="none")
    settings = SimpleNamespace(labels=("a", "b"), samples=8)
    bridge = Bridge(
        SimpleNamespace(
            board=board, settings=settings, sensor="", channels=1, windows=[], performing=None
        )
    )
    bridge.start()
    try:
        yield bridge
    finally:
        bridge.stop()


def connect(port, sent=b""):
    client = socket.create_connection(("127.0.0.1", port), 60)
    client.sendall(sent)
    return client


def all_of(client):
    """Return what comes until the server ends the connection."""
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(65536):
            got += part
    return got


def page(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as reply:
        return reply.read()


def test_silent_connections_make_room_for_one_that_asks(port):
    silent = [connect(port, b"GET "[: k % 5]) for k in range(5 * LIMIT)]
    assert page(port) == b"a page"
    assert all(not all_of(client) for client in silent[: 4 * LIMIT])


def test_a_header_without_end_is_refused(port):
    client = connect(port, GET % port)
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < 1_000_000:
            sent += client.send(b"X-A: " + b"a" * 1000 + b"\r\n")
        client.sendall(b"\r\n")
        client.shutdown(socket.SHUT_WR)
    assert b"a page" not in all_of(client)
    assert page(port) == b"a page"


def test_a_header_has_room_for_what_browsers_send(port):
    assert b"a page" in all_of(connect(port, GET % port + b"X-A: " + b"a" * 8000 + b"\r\n\r\n"))


@pytest.mark.parametrize("length, is_taken", [(-2, True), (-1, False)])
def test_the_header_of_the_playground_has_16384_bytes(pages, length, is_taken):
    text = GET % 1
    rest = limits.HEADER_BYTES - (len(text) - text.index(b"\n") - 1)  # all but the first line
    line = b"X-A: " + b"a" * (rest - len(b"X-A: \r\n") + length) + b"\r\n"
    with serve.server(0) as http:
        client = connect(http.server_address[1], text + line + b"\r\n")
        http.handle_request()
        status = b" 200 " if is_taken else b" 431 "
        assert status in all_of(client).partition(b"\n")[0]


def test_a_silent_client_of_the_playground_is_not_waited_for_for_ever(pages, monkeypatch):
    monkeypatch.setattr(serve._Handler, "timeout", 0.05)
    with serve.server(0) as http:
        client = connect(http.server_address[1], b"GET ")
        http.handle_request()
        assert not all_of(client)


def test_a_port_that_is_taken_is_named(pages):
    with serve.server(0) as http, pytest.raises(AcclimateError, match="in use"):
        serve.server(http.server_address[1])


def test_a_page_stays_connected_whoever_comes(pages):
    with bridged() as bridge:
        from websockets.sync.client import connect as open_socket

        with open_socket(
            f"ws://127.0.0.1:{bridge.port}/board?token={bridge.token}", origin=bridge.origin
        ) as owner:
            assert json.loads(owner.recv(60))["labels"] == ["a", "b"]
            silent = [connect(bridge.port) for _ in range(3 * LIMIT)]
            assert page(bridge.port) == b"a page"
            owner.send("{")
            assert "no request" in owner.recv(60)
    assert all(not all_of(client) for client in silent)


def test_a_server_ends_though_clients_are_silent(pages, monkeypatch):
    monkeypatch.setattr("acclimate_host.teach.bridge.SILENCE_S", 3600)
    with bridged() as bridge:
        silent = connect(bridge.port)
        assert page(bridge.port) == b"a page"  # so the silent one has been accepted
    assert not all_of(silent)


def test_wishes_do_not_pile_up_while_the_board_is_at_work(pages):
    with bridged() as bridge:
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.client import connect as open_socket

        from acclimate_host.teach.bridge import _MOST_WISHES

        with open_socket(
            f"ws://127.0.0.1:{bridge.port}/board?token={bridge.token}", origin=bridge.origin
        ) as owner:
            owner.recv(60)
            for _ in range(_MOST_WISHES + 1):
                owner.send('{"do": "train"}')
            assert "too many" in owner.recv(60) and len(bridge._wishes) == _MOST_WISHES
            owner.send('{"do": "' + 5000 * "x" + '"}')
            with pytest.raises(ConnectionClosed):
                owner.recv(60)
