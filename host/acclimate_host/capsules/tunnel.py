# SPDX-License-Identifier: MIT
"""Carry a board's pull: its requests come over the serial line, the replies go back on it.

This computer only moves bytes. The board checks them, and goes on after a lost connection, a
lost serial line or a reset as a board with a network does.
"""

import base64
import contextlib
import socket
import ssl
import time

from acclimate.pull.http import split
from acclimate_host.errors import AcclimateError, BoardError, Refused

PIECE_BYTES = 256
_SMALL_HEAP, _SMALL_PIECE = 12288, 64
_TIMEOUT_S = 20
# A server is waited for so long in all, and a second more for so many bytes that came.
_PATIENCE_S, _LEAST_RATE = 60, 64
_STEP_S = 120  # the last piece starts the comparison with the SHA-256
_REFUSALS = ("CapsuleError", "Refused", "HttpError", "OSError", "StoreError", "ImportError")


def check_url(url):
    """Raise Refused unless a text is the address of a repository."""
    try:
        split(url if url.endswith("/") else url + "/")
    except ValueError as error:
        raise Refused(str(error)) from None


def pull(
    board,
    url,
    cohort="all",
    device=0,
    progress=None,
    context=None,
    object_key=None,
    clock=time.monotonic,
):
    """Let an open board with a Store named ``store`` pull; return "" or why it took nothing.

    :param progress: called with the bytes of replies so far.
    :param context: an SSLContext for https; the system's certificates without one.
    :param object_key: path, on the board, of the key that objects are encrypted with.
    :param clock: gives seconds.
    :raises Refused: what came was refused by the board, or the server is too slow.
        BoardGone: its power went.
    """
    check_url(url)
    answer = board.exec(
        "_pull = None\nfrom binascii import a2b_base64 as _from64\n"
        "from acclimate.pull import SerialPull\nimport gc\ngc.collect()\nprint(gc.mem_free())"
    )
    is_small = int(answer) < _SMALL_HEAP  # no room for updates, nor for long lines
    options = "" if object_key is None else f", {object_key!r}"
    call = f"SerialPull(store, {url!r}, None, {cohort!r}, {device}, {is_small}{options})"
    _refusing(board, f"_pull = {call}")
    piece = _SMALL_PIECE if is_small else PIECE_BYTES
    return _Carrier(board, progress, context, piece, clock).run()


class _Carrier:
    def __init__(self, board, progress, context, piece_bytes, clock):
        self._board = board
        self._progress = progress
        self._context = context
        self._piece = piece_bytes
        self._carried = 0
        self._clock = clock
        self._waited_s = 0.0

    def run(self):
        answer = self._call("_pull.ask()")
        while answer[0] == "send":
            _, tls, host, port, data = answer
            try:
                answer = self._exchange(tls == "1", host, int(port), bytes.fromhex(data))
            except (OSError, UnicodeError) as error:  # the latter of a name that is no host's
                why = f"{host}:{port}: {getattr(error, 'strerror', None) or error}"[:60]
                answer = self._call(f"_pull.lost({why!r})")
        return " ".join(answer[1:])

    def _exchange(self, tls, host, port, data):
        """Send one request; return the board's answer once it wants no more of the reply."""
        with contextlib.ExitStack() as opened:
            line = opened.enter_context(socket.create_connection((host, port), _TIMEOUT_S))
            if tls:
                context = self._context or ssl.create_default_context()
                line = opened.enter_context(context.wrap_socket(line, server_hostname=host))
            line.sendall(data)
            while True:
                piece = self._received(line, host, port)
                if not piece:
                    return self._call("_pull.end()")
                text = base64.b64encode(piece).decode()
                answer = self._call(f"_pull.feed(_from64({text!r}))")
                self._carried += len(piece)
                if self._progress:
                    self._progress(self._carried)
                if answer[0] != "more":
                    return answer

    def _received(self, line, host, port):
        """Return the next piece of a reply, unless the server has kept us too long by now."""
        began = self._clock()
        try:
            return line.recv(self._piece)
        finally:
            self._waited_s += self._clock() - began
            if self._waited_s > _PATIENCE_S + self._carried / _LEAST_RATE:
                raise Refused(
                    f"server {host}:{port}: {self._carried} bytes in {self._waited_s:.0f} s of "
                    f"waiting; expected {_LEAST_RATE} a second"
                )

    def _call(self, code):
        answer = _refusing(self._board, code).split()
        if not answer:
            raise AcclimateError(f"{self._board.name}: no answer to {code[:20]}")
        return answer


def _refusing(board, code):
    """Run code on the board; what the board refuses is Refused here."""
    try:
        return board.exec(code, _STEP_S)
    except BoardError as error:
        last = error.traceback.strip().splitlines()[-1]
        name, _, text = last.partition(":")
        if name.rpartition(".")[2] in _REFUSALS:
            raise Refused(f"{board.name}: {text.strip() or name}") from error
        raise
