# SPDX-License-Identifier: MIT
"""What the browsers of this computer may hold of a page's server: places, and bytes of a header.

A thread serves each connection, so that one that never asks would keep its thread for ever.
`capsules/web_limits.py` bounds the server that whole fleets ask.
"""

import socket
from contextlib import suppress
from http.client import LineTooLong

MOST_CONNECTIONS = 32
SILENCE_S = 20  # of a client that has begun to ask
HEADER_BYTES = 16384
_WAITING = 64  # in the system's queue


class BoundedListener(socket.socket):
    """A listening socket; the oldest of too many connections ends when another one comes."""

    most = MOST_CONNECTIONS

    def __init__(self, address):
        super().__init__(socket.AF_INET, socket.SOCK_STREAM)
        self._open = []
        try:
            # As Python's servers do: not on Windows, where two programs would share the port.
            if hasattr(socket, "SO_REUSEPORT"):
                self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.bind(address)
            self.listen(_WAITING)
        except BaseException:
            self.close()
            raise

    def accept(self):
        accepted, address = super().accept()
        self._open = [one for one in self._open if one.fileno() >= 0]
        if len(self._open) >= self.most:
            _end(self._open.pop(0))
        self._open.append(accepted)
        return accepted, address

    def close(self):
        """End what was not kept, too: a server that ends waits for its threads."""
        super().close()
        for accepted in self._open:
            _end(accepted)

    def keep(self, accepted):
        """Let a connection that proved whose it is last as long as it wants."""
        self._open = [one for one in self._open if one is not accepted]


def _end(accepted):
    with suppress(OSError):  # its client has left
        accepted.shutdown(socket.SHUT_RDWR)


class BoundedHeader:
    """The lines of a request's header, which end in an error where they are too much."""

    def __init__(self, file):
        self._file, self._left = file, HEADER_BYTES

    def readline(self, most):
        line = self._file.readline(most)
        self._left -= len(line)
        if self._left < 0:
            raise LineTooLong("header")
        return line

    def close(self):
        self._file.close()
