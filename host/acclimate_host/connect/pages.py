# SPDX-License-Identifier: MIT
"""Keeps a board's pages on this computer: the other end of acclimate.pager.Host.

    with serial.Serial("/dev/ttyUSB0", 921600) as line:
        PageKeeper(65536).serve(line)

A request is ``P``, ``r`` or ``w``, position and length (4 bytes each, little-endian), and for
``w`` the data. The answer to ``r`` is the data, to ``w`` one ``k``; a request outside of the
store gets none, and the board's next read times out.
"""

import struct

from ..errors import ConnectError

_HEAD = struct.Struct("<ccII")


class PageKeeper:
    """A store of `size` bytes that a board reads and writes over a stream."""

    def __init__(self, size):
        self.data = bytearray(size)
        self.requests = 0

    def __repr__(self):
        return f"PageKeeper({len(self.data)}): {self.requests} requests"

    def serve(self, stream, until=None):
        """Answer requests until the stream ends, or until() is true between two of them.

        :param stream: with read(n), which waits, and write(data)
        :raises ConnectError: on what is no request
        """
        while until is None or not until():
            head = _read(stream, _HEAD.size)
            if not head:
                return
            mark, kind, at, size = _HEAD.unpack(head)
            if mark != b"P" or kind not in b"rw" or at + size > len(self.data):
                raise ConnectError(f"pages: no request: {head.hex()}; is it the right port?")
            self.requests += 1
            if kind == b"r":
                stream.write(bytes(self.data[at : at + size]))
            else:
                self.data[at : at + size] = _read(stream, size)
                stream.write(b"k")
            if hasattr(stream, "flush"):
                stream.flush()


def _read(stream, size):
    """size bytes, or fewer where the stream ended."""
    found = b""
    while len(found) < size:
        part = stream.read(size - len(found))
        if not part:
            if found:
                raise ConnectError(f"pages: the line ended {size - len(found)} bytes early")
            return b""
        found += part
    return found
