# SPDX-License-Identifier: MIT
"""What one client, or many, may hold of the web server: time, bytes of a header, connections.

uvicorn bounds none of these: a client that connects and says nothing stays for ever, and some
hundred of them take all file descriptors, so that nobody else is answered.
"""

import importlib
import socket

import uvicorn

from acclimate_host.errors import Missing

_MODULE = "uvicorn.protocols.http.h11_impl"
_METHODS = (
    *("connection_made", "connection_lost", "handle_events", "on_response_complete"),
    *("pause_writing", "resume_writing"),
)


def _protocol():
    """Return uvicorn's class of a connection, which is none of its public names.

    :raises Missing: this uvicorn has it no more, or other methods than those that are bounded.
    """
    try:
        found = importlib.import_module(_MODULE).H11Protocol
        is_known = all(callable(getattr(found, name)) for name in _METHODS)
    except (ImportError, AttributeError) as error:
        if getattr(error, "name", None) == "h11":
            raise
        is_known = False
    if not is_known:
        raise Missing(
            f"uvicorn {uvicorn.__version__} has other connections than those that acclimate "
            "bounds: pip install 'uvicorn<0.55'"
        )
    return found


HEADER_BYTES = 16384
ACCEPTED_AT_ONCE = 64  # more wait in the system's queue
LEAVE_S = 2  # for replies under way when the server is told to end
_SEND_BYTES = 65536  # of a reply in the system's buffer: else megabytes for who reads nothing


def most_connections():
    """Return how many connections this process has file descriptors for.

    Each may have a file open beside its socket.
    """
    try:
        import resource
    except ImportError:  # Windows: sockets are no file descriptors there
        return 1000
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return 1000
    return min(1000, max(8, (descriptors - 2 * ACCEPTED_AT_ONCE) // 2))


class BoundedConnection(_protocol()):  # type: ignore[misc]
    """A connection that ends when its client is too slow, or when others need its place."""

    request_s = 20  # from the connection, or the reply before, to the end of a request
    stall_s = 120  # of a reply of which the client takes nothing; a pull comes back for the rest
    most = most_connections()

    _timer = None
    _left = 0  # bytes of the reply that were not taken when the timer began
    _since = 0.0

    def connection_made(self, transport):
        super().connection_made(transport)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        self._wait(self.request_s)
        if len(self.connections) > self.most:
            self._make_room()

    def connection_lost(self, exc):
        self._wait(None)
        super().connection_lost(exc)

    def handle_events(self):
        super().handle_events()
        cycle = self.cycle
        if cycle is not None and not cycle.more_body and not cycle.response_complete:
            self._wait(None)  # the request is whole: the reply takes what it takes

    def on_response_complete(self):
        self._wait(self.request_s)
        super().on_response_complete()

    def pause_writing(self):
        super().pause_writing()
        self._wait(self.stall_s)

    def resume_writing(self):
        super().resume_writing()
        is_whole = self.cycle is None or self.cycle.response_complete
        self._wait(self.request_s if is_whole else None)

    def _make_room(self):
        """End the connection that has kept the server waiting longest."""
        waiting = [other for other in self.connections if other._timer is not None]
        oldest = min(waiting, key=lambda other: other._since, default=self)
        oldest.transport.abort()
        self.connections.discard(oldest)  # at once, as the next one may come before it is lost

    def _wait(self, seconds):
        """Begin to wait for the client, or stop to (None)."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if seconds is not None:
            self._since = self.loop.time()
            self._left = self.transport.get_write_buffer_size()
            self._timer = self.loop.call_later(seconds, self._end)

    def _end(self):
        """End the connection, unless its client took some of the reply meanwhile."""
        if 0 < self.transport.get_write_buffer_size() < self._left:
            self._wait(self.stall_s)
        else:
            self.transport.abort()
