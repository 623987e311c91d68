# SPDX-License-Identifier: MIT
"""The page beside a board: static files and one WebSocket, for this computer's browser alone.

The socket's address carries a token, and its origin must be this page: another page in the same
browser has neither. Requests: {"do": verb, ...}; answers and what the board says: the state.
"""

import hmac
import json
import secrets
import threading
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Response
from websockets.sync.server import serve

from acclimate_host.errors import AcclimateError, BoardError, ConnectError
from acclimate_host.page import files
from acclimate_host.page.limits import SILENCE_S, BoundedListener
from acclimate_host.page.serve import HOST, taken

_REST_S = 0.02  # between two looks at the board, for what the page asks
_LOOK_AGAIN_S = 1
_WISH_BYTES = 4096
_MOST_WISHES = 32  # that wait while the board is at work


class Bridge:
    """Serve one session to one page at a time; the newest page takes over.

    The board is asked in one thread only, whoever is connected; `step` is one look at it.
    """

    def __init__(self, session, port=0):
        files.folder()
        self.session = session
        self.token = secrets.token_urlsafe(18)
        self._wishes = []
        self._lock = threading.Lock()
        self._page = None
        self._state = {}
        self._word = ""
        self._is_gone = False
        try:
            self._listener = BoundedListener((HOST, port))
        except OSError as error:
            raise taken(port, error) from None
        self.server = serve(
            self._talk,
            sock=self._listener,
            process_request=self._answer,
            open_timeout=SILENCE_S,
            max_size=_WISH_BYTES,
        )
        self.port = self._listener.getsockname()[1]
        self.origin = f"http://{HOST}:{self.port}"
        self.address = f"{self.origin}/?token={self.token}#teach"
        self._stop = threading.Event()

    def start(self):
        """Listen, in a thread."""
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self._stop.set()
        self.server.shutdown()

    def _answer(self, connection, request):
        """Refuse what is not of this page; give files; let the socket through."""
        if request.headers.get_all("Host") != [f"{HOST}:{self.port}"]:
            return connection.respond(HTTPStatus.FORBIDDEN, "another host\n")
        url = urlsplit(request.path)
        if url.path != "/board":
            return _file(connection, request.path)
        token = parse_qs(url.query).get("token", [""])[0]
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return connection.respond(HTTPStatus.FORBIDDEN, "the token is wrong\n")
        if request.headers.get_all("Origin") != [self.origin]:
            return connection.respond(HTTPStatus.FORBIDDEN, "another origin\n")
        return None

    def _talk(self, connection):
        """Take the wishes of one page; runs in a thread of its own."""
        self._listener.keep(connection.socket)
        with suppress(ConnectionClosed):
            connection.send(json.dumps(self._hello()))  # first: the page knows nothing before it
            with self._lock:
                before, self._page = self._page, connection
            if before is not None:
                before.close(4000, "opened elsewhere")
            self._listen(connection)
        with self._lock:
            if self._page is connection:
                self._page = None

    def _listen(self, connection):
        for message in connection:
            try:
                wish = json.loads(message)
                if not isinstance(wish, dict):
                    raise ValueError("expected an object")
            except ValueError:
                self._send({"word": "that was no request"})
                continue
            with self._lock:
                is_room = len(self._wishes) < _MOST_WISHES
                if is_room:
                    self._wishes.append(wish)
            if not is_room:
                self._send({"word": "the board is still at work: that was one request too many"})

    def _hello(self):
        """What a page needs to begin, or to go on."""
        s = self.session.settings
        return {
            "hello": self.session.board.name,
            "labels": list(s.labels),
            "sensor": self.session.sensor,
            "channels": self.session.channels,
            "samples": s.samples,
            "windows": len(self.session.windows),
            "performing": self.session.performing,
            **self._state,
            "word": self._word,
        }

    def _send(self, content):
        with self._lock:
            page = self._page
        if page is not None:
            with suppress(ConnectionClosed):  # the page was closed; the board goes on
                page.send(json.dumps(content))

    def run(self):
        """Look at the board until `stop`, or Ctrl-C."""
        while not self._stop.wait(_LOOK_AGAIN_S if self._is_gone else _REST_S):
            self.step()

    def step(self):
        """Do one wish of the page, or let the board take a moment of its stream."""
        with self._lock:
            wish = self._wishes.pop(0) if self._wishes else None
        try:
            if self._is_gone:
                self._state = self.session.resume()
                self._is_gone = False
                self._word = (
                    f"The board is back: it knows all {len(self.session.windows)} windows."
                )
                return self._send({**self._hello(), "gone": False})
            found = self._do(wish) if wish else self.session.poll()
        except (ConnectError, BoardError) as error:
            self._is_gone = True
            kept = len(self.session.windows)
            self._word = f"{error}. The {kept} windows are kept here; plug the board in again."
            return self._send({"word": self._word, "gone": True})
        except AcclimateError as error:
            return self._send({"word": str(error), "gone": self._is_gone})
        if "told" in found:
            kept = ("new", "window", "verdict", "note", "word")
            self._state = {key: value for key, value in found.items() if key not in kept}
            found["windows"] = len(self.session.windows)
        self._send(found)

    def _do(self, wish):
        """Carry out a request of the page."""
        verb, gesture = wish.get("do"), wish.get("gesture")
        if verb == "tell":
            return self.session.tell(gesture)
        if verb == "perform":
            return self.session.perform(gesture, wish.get("unseen") is True)
        if verb == "train":
            return self.session.train()
        if verb == "save":
            return self.session.save()
        raise AcclimateError(f"no request {verb!r}: expected tell, perform, train or save")


def _file(connection, path):
    """Return the response with a file of the page."""
    found = files.answer(path)
    if found is None:
        return connection.respond(HTTPStatus.NOT_FOUND, "no such file\n")
    headers, content = found
    made = Headers(**headers, **{"Content-Length": str(len(content)), "Connection": "close"})
    return Response(HTTPStatus.OK.value, HTTPStatus.OK.phrase, made, content)
