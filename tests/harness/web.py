# SPDX-License-Identifier: MIT
"""A web server over real sockets that answers as a test wants, well or badly."""

import re
import socket
import threading


class Request:
    """What came: ``path``, the start of a wanted range, and the ETag that the device has."""

    def __init__(self, text):
        self.text = text
        self.path = text.split(" ")[1]
        part = re.search(r"^Range: bytes=(\d+)-\r$", text, re.MULTILINE)
        self.start = int(part.group(1)) if part else 0
        known = re.search(r"^If-None-Match: (.*)\r$", text, re.MULTILINE)
        self.etag = known.group(1) if known else ""


def reply(body, status="200 OK", *headers, length=None):
    """Bytes of a reply with a length."""
    size = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {size}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def chunked(body, size=100, *headers):
    """The same in chunks."""
    lines = ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *headers, "", ""]
    data = "\r\n".join(lines).encode()
    for at in range(0, len(body), size):
        piece = body[at : at + size]
        data += b"%X;note=1\r\n" % len(piece) + piece + b"\r\n"
    return data + b"0\r\nTrailer: of no use\r\n\r\n"


def part(body, start):
    """What a good server answers to a range."""
    if not start:
        return reply(body)
    where = f"Content-Range: bytes {start}-{len(body) - 1}/{len(body)}"
    return reply(body[start:], "206 Partial Content", where)


class Server:
    """``answer(request)`` returns the bytes to send before the connection is closed; or yields
    them in pieces, which may have no end."""

    def __init__(self, answer):
        self.answer = answer
        self.requests = []
        self._listen = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listen.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listen.shutdown(socket.SHUT_RDWR)
        self._listen.close()
        self._thread.join(5)

    def _serve(self):
        while True:
            try:
                connection, _ = self._listen.accept()
            except OSError:
                return
            with connection:
                try:
                    self._one(connection)
                except OSError:
                    pass

    def _one(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(4096)
            if not more:
                return
            data += more
        request = Request(data.decode("latin-1"))
        self.requests.append(request)
        answer = self.answer(request)
        for piece in (answer,) if isinstance(answer, bytes) else answer:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):  # until the device has seen all
            pass


def files(folder):
    """An answer that serves the files of a folder as a static server does."""

    def answer(request):
        path = folder / request.path.lstrip("/")
        if not path.is_file():
            return reply(b"not here", "404 Not Found")
        body = path.read_bytes()
        etag = f'"{hash(body) & 0xFFFFFFFF:x}"'
        if request.etag == etag:
            return f"HTTP/1.1 304 Not Modified\r\nETag: {etag}\r\n\r\n".encode()
        if request.start:
            return part(body, request.start)
        return reply(body, "200 OK", "ETag: " + etag)

    return answer
