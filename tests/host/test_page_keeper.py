# SPDX-License-Identifier: MIT
"""A board's pages on this computer: both ends over one line."""

import io
import socket
import threading

import pytest

from acclimate_host.connect.pages import PageKeeper
from acclimate_host.errors import ConnectError


def test_pages_come_back_over_a_line():
    from acclimate.pager import Host, Pager

    ours, theirs = socket.socketpair()
    keeper = PageKeeper(4096)
    with ours, theirs, ours.makefile("rwb", 0) as host, theirs.makefile("rwb", 0) as board:
        thread = threading.Thread(target=keeper.serve, args=(host,), daemon=True)
        thread.start()
        pager = Pager(Host(board, 4096))
        pages = [memoryview(bytearray((i * k) & 255 for i in range(300))) for k in (3, 5)]
        back = memoryview(bytearray(300))
        for _ in range(3):
            for number, page in enumerate(pages):
                pager.page_out(number, page)
            for number, page in enumerate(pages):
                pager.page_in(number, back)
                assert back == page
        assert keeper.requests > 12 and bytes(keeper.data).count(b"APGE") >= 2
        theirs.shutdown(socket.SHUT_RDWR)
        thread.join(5)
        assert not thread.is_alive()


@pytest.mark.parametrize("data", [b"hello world", b"Px" + bytes(8), b"Pr" + b"\xff" * 8, b"Pw\0"])
def test_what_is_no_request_is_refused(data):
    with pytest.raises(ConnectError):
        PageKeeper(64).serve(io.BytesIO(data))
