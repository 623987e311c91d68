# SPDX-License-Identifier: MIT
"""The page over HTTP for browsers of this computer only."""

import errno
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from acclimate_host.errors import AcclimateError
from acclimate_host.page import files
from acclimate_host.page.limits import SILENCE_S, BoundedHeader, BoundedListener

HOST = "127.0.0.1"


class _Handler(BaseHTTPRequestHandler):
    timeout = SILENCE_S

    def parse_request(self):
        self.rfile = BoundedHeader(self.rfile)
        return super().parse_request()

    def do_GET(self):  # noqa: N802 (the library's name)
        found = files.answer(self.path)
        if found is None:
            return self.send_error(404)
        headers, content = found
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """A page that loads is no news."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A browser that leaves in the middle is no news, either."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def server(port):
    """Return the server, not yet running; port 0 takes a free one.

    :raises AcclimateError: the port is taken. Missing: the page was not built.
    """
    files.folder()
    try:
        listener = BoundedListener((HOST, port))
    except OSError as error:
        raise taken(port, error) from None
    made = _Server(listener.getsockname(), _Handler, bind_and_activate=False)
    made.socket.close()
    made.socket = listener
    return made


def taken(port, error):
    """Return the error for a port that cannot be listened at."""
    if error.errno == errno.EADDRINUSE:
        return AcclimateError(f"--http {port} is in use by another program; --http 0 takes any")
    return AcclimateError(f"--http {port}: {error.strerror}")
