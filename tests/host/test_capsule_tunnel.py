# SPDX-License-Identifier: MIT
"""Pulls of boards without network over the serial line: whole, broken off, cut off."""

import contextlib
import itertools
import os
import socket
import threading

import capsule_cases as cases
import pytest

from acclimate_host.capsules import region
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.tunnel import pull
from acclimate_host.cli import main
from acclimate_host.connect import why_not
from acclimate_host.errors import BoardGone, Missing, Refused
from harness import web

REGION = 10 * 4096


def open_here(name, **options):
    reason = why_not(name)
    if reason is None:
        try:
            return region.open_for_store(name, **options)
        except Missing as error:
            reason = str(error)
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@pytest.fixture(params=["desktop", "nrf52840", "samd21", "esp32"])
def board(request):
    with open_here(request.param) as opened:
        region.give_key(opened, cases.KEY)
        yield opened


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository", cases.KEY)


def set_up(board):
    size = 12 * 1024 if board.name == "samd21" else REGION
    return region.open_store(board, region.region_of(board, size=size), model=cases.MODEL)


def model(board):
    """What the board has in use, read by its own code."""
    board.exec("from binascii import hexlify\n_page = bytearray(4)")
    text = board.exec(
        "_at, _n = store.slots.start(store.active), store.head.total\n"
        "for _i in range(0, _n, 4):\n store.flash.readinto(_at + _i, _page)\n"
        " print(hexlify(_page).decode(), end='')\nprint('', _n)",
    )
    data, size = text.split()
    return bytes.fromhex(data)[: int(size)]


def start_again(board):
    """What a board does between two pulls that are a day apart: an empty heap."""
    board.soft_reset()
    region.prepare(board)
    set_up(board)


@pytest.mark.case("B4")
def test_a_board_pulls_a_capsule_and_then_an_update(board, repository):
    content = cases.weights(1500, 1)
    first = cases.capsule(1, content)
    repository.publish(first)
    assert set_up(board)[:2] == ("empty", 0)
    with web.Server(web.files(repository.folder)) as server:
        assert pull(board, server.url) == ""
        board.exec("store.confirm()")
        assert model(board) == first
        assert pull(board, server.url) == "current"
        start_again(board)
        second = cases.capsule(2, cases.tuned(content, 2))
        manifest = repository.publish(second)
        assert pull(board, server.url) == ""
        # Frozen parts leave even the smallest board the room for an update.
        update = manifest.entries[1]
        assert server.requests[-1].path.endswith(update.name)
        board.exec("store.trial()\nstore.confirm()")
        assert model(board) == second
        assert region.status(board)[:2] == ("confirmed", 2)


def test_what_a_board_refuses_is_one_line_and_its_model_stays(board, repository, tmp_path):
    first = cases.capsule(1)
    repository.publish(first)
    set_up(board)
    with web.Server(web.files(repository.folder)) as server:
        assert pull(board, server.url) == ""
        board.exec("store.confirm()")
    other = Repository(tmp_path / "other", bytes(32))
    other.publish(cases.capsule(2, key=bytes(32)))
    with web.Server(web.files(other.folder)) as server:
        with pytest.raises(Refused, match="authenticity: it was not signed"):
            pull(board, server.url)
    with pytest.raises(Refused, match="[Rr]efused"):
        pull(board, server.url)  # nobody listens there any more
    assert model(board) == first


# A cut while the slot is erased, and in its third page.
@pytest.mark.slow
@pytest.mark.parametrize("cut_at,goes_on_at", [(30, 0), (3000, 8192)])
def test_power_cut_in_the_middle_of_a_pull_keeps_the_old_model_and_goes_on(
    repository, tmp_path, cut_at, goes_on_at
):
    first, second = cases.capsule(1), cases.capsule(2, cases.weights(14000, 2))
    repository.publish(first)
    with open_here("nrf52840", flash=tmp_path / "flash.bin") as board:
        region.give_key(board, cases.KEY)
        set_up(board)
        with web.Server(web.files(repository.folder)) as server:
            pull(board, server.url)
            board.exec("store.confirm()")
            repository.publish(second)
            board.exec(f"import qboard\nqboard.cut({cut_at}, True)")
            with pytest.raises(BoardGone):
                pull(board, server.url)
            board.reset()
            region.prepare(board)
            assert set_up(board)[1] == 1 and model(board) == first
            before = len(server.requests)
            assert pull(board, server.url) == ""
            starts = [request.start for request in server.requests[before:]]
            assert max(starts) == goes_on_at
            board.exec("store.confirm()")
            assert model(board) == second


def test_the_command_pulls_and_confirms(repository, tmp_path, capsys):
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    repository.publish(cases.capsule(1))
    (tmp_path / "key").write_bytes(cases.KEY)
    with web.Server(web.files(repository.folder)) as server:
        command = ["pull", server.url, "--board", "desktop", "--model", "7"]
        assert main([*command, "--key", str(tmp_path / "key")]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == "desktop: version 1, confirmed"


class SlowServer:
    """Answers each request with a head, and then with a byte now and then, for ever."""

    def __enter__(self):
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __exit__(self, *_):
        self._listening.close()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                line, _ = self._listening.accept()
                with line, contextlib.suppress(OSError):
                    line.recv(4096)
                    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n")
                    while True:
                        line.sendall(b"x")


def test_a_server_that_sends_a_byte_now_and_then_is_left_and_named():
    ticks = itertools.count(0, 50)  # each look at the clock is that much later
    with open_here("desktop") as board, SlowServer() as url:
        region.give_key(board, cases.KEY)
        set_up(board)
        with pytest.raises(Refused, match="bytes in .* s of waiting; expected 64 a second"):
            pull(board, url, clock=lambda: next(ticks))


@pytest.mark.parametrize(
    "words, said",
    [
        (["nonsense", "--model", "7"], "expected http:// or https://"),
        (["ftp://x", "--model", "7"], "expected http:// or https://"),
        (["http://", "--model", "7"], "expected host and port"),
        (["http://h:99999", "--model", "7"], "got 'h:99999'"),
        (["http://h/a b", "--model", "7"], "expected printable ASCII"),
        (["http://h", "--model", "-1"], "--model: expected 0 to"),
        (["http://h", "--model", "99999999999"], "--model: expected 0 to"),
        (["http://h", "--model", "7", "--device", "-3"], "--device: expected 0 to"),
        (["http://h", "--model", "7", "--cohort", "../x"], "cohort '../x'"),
    ],
)
def test_wrong_words_of_pull_are_refused_before_a_board_is_opened(words, said, capsys):
    assert main(["pull", *words, "--port", "/dev/nothing"]) == 6
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
