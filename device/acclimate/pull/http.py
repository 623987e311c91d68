# SPDX-License-Identifier: MIT
"""HTTP/1.1 as far as a device needs it: split a URL, make a request, parse a reply.

Nothing here touches a socket. A Reply takes bytes as they come, in pieces of any length, and
hands the body on to a sink (an object with ``begin(reply)`` and ``body(view, n)``) without
keeping it. RFC 9110 and 9112; what is not in them is refused with HttpError.
"""

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


_LINE_MAX = const(256)  # longer header lines are skipped; a longer status or chunk line is refused
_HEAD_MAX = const(8192)
_NUMBER_MAX = const((1 << 30) - 1)
_INTERIM_MAX = const(8)
# What comes next of a reply.
_STATUS = const(0)
_HEADERS = const(1)
_SIZED = const(2)
_TO_END = const(3)
_CHUNK = const(4)
_CHUNK_DATA = const(5)
_CHUNK_END = const(6)
_TRAILER = const(7)
_DONE = const(8)


class HttpError(OSError):
    """A reply that cannot be used, or a connection that was lost."""


def split(url):
    """Return (tls?, host, port, path) of an absolute URL."""
    tls = url.startswith("https://")
    if not tls and not url.startswith("http://"):
        raise ValueError("url: expected http:// or https://, got " + repr(url[:60]))
    place, _, path = url[8 if tls else 7 :].partition("/")
    host, colon, port = place.partition(":")
    if not host or (colon and not (port.isdigit() and 0 < int(port) < 65536)):
        raise ValueError("url: expected host and port, got " + repr(place[:60]))
    for letter in url:
        if not "!" <= letter <= "~":
            raise ValueError("url: expected printable ASCII, got " + repr(url[:60]))
    return tls, host, int(port) if colon else 443 if tls else 80, "/" + path


def join(url, location):
    """Return where a redirect from url leads to."""
    if "://" in location[:9]:
        return location
    head, _, rest = url.partition("://")
    place, _, path = rest.partition("/")
    if location.startswith("//"):  # to another server, by the same scheme
        return head + ":" + location
    if location.startswith("/"):
        return head + "://" + place + location
    return head + "://" + place + "/" + path[: path.rfind("/") + 1] + location


def request(host, port, path, start=0, etag=""):
    """Return the bytes of a GET, from byte start on, or unless it still has the ETag."""
    # As bytes at once: text would have to be copied, and a small board has no room for both.
    form = (
        b"GET %s HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\nAccept-Encoding: identity\r\n"
        b"User-Agent: acclimate\r\n%s%s\r\n"
    )
    part = b"Range: bytes=%d-\r\n" % start if start else b""
    known = b"If-None-Match: %s\r\n" % etag.encode() if etag else b""
    return form % (path.encode(), host.encode(), port, part, known)


def _decimal(text, what):
    """A number of digits only; a sign or a space in it is a reply to distrust."""
    if not text.isdigit() or len(text) > 10 or int(text) > _NUMBER_MAX:
        raise HttpError("reply: %s %r" % (what, text[:20]))
    return int(text)


class Reply:
    """One reply. After ``feed`` has given True it is complete."""

    def __init__(self, sink):
        self._sink = sink
        self._interim = 0
        self._line = bytearray(_LINE_MAX)
        self.restart()

    def restart(self):
        """Be ready for the next reply."""
        self._state = _STATUS
        self._fill = 0
        self._head = 0
        self._left = 0
        self.status = 0
        self.length = -1  # bytes of the body, where the reply says
        self.chunked = False
        self.etag = self.location = ""
        self.wait_s = 0  # that the server asks for before the next request
        self.start = 0  # of a part: its place in the whole, and the length of that
        self.total = -1

    def feed(self, data, n):
        """Take n bytes of a memoryview; return whether the reply is complete."""
        i = 0
        while i < n and self._state != _DONE:
            state = self._state
            if state in (_SIZED, _CHUNK_DATA, _TO_END):
                part = n - i if state == _TO_END else min(n - i, self._left)
                self._sink.body(data[i : i + part], part)
                i += part
                self._left -= part
                if not self._left and state != _TO_END:
                    self._state = _DONE if state == _SIZED else _CHUNK_END
            else:
                self._letter(data[i])
                i += 1
        return self._state == _DONE

    def end(self):
        """The connection was closed: fine where that ends the body."""
        if self._state == _TO_END:
            self._state = _DONE
        if self._state != _DONE:
            raise HttpError("connection lost")

    def _letter(self, byte):
        if self._state < _SIZED or self._state == _TRAILER:
            self._head += 1
            if self._head > _HEAD_MAX:
                raise HttpError("reply: headers of more than %d bytes" % _HEAD_MAX)
        if byte != 10:
            if self._fill < _LINE_MAX:
                self._line[self._fill] = byte
            elif self._state not in (_HEADERS, _TRAILER):
                raise HttpError("reply: a line of more than %d bytes" % _LINE_MAX)
            self._fill += 1
            return
        fill, self._fill = self._fill, 0
        if fill > _LINE_MAX:
            name = bytes(self._line[:9]).lower()
            if self._state == _HEADERS and (name == b"transfer-" or name[:8] == b"content-"):
                raise HttpError("reply: a line of more than %d bytes" % _LINE_MAX)
            return
        if fill and self._line[fill - 1] == 13:
            fill -= 1
        for i in range(fill):
            # Names and numbers are ASCII, a text may be anything: no line that is sent back
            # may hold the end of one.
            if not 32 <= self._line[i] <= 126 and self._line[i] != 9:
                self._line[i] = 63
        self._take(bytes(self._line[:fill]).decode())

    def _take(self, line):
        state = self._state
        if state == _STATUS:
            self._first(line)
        elif state == _HEADERS:
            if line:
                self._header(line)
            else:
                self._body()
        elif state == _CHUNK:
            self._chunk(line)
        elif state == _CHUNK_END:
            if line:
                raise HttpError("reply: a chunk is longer than it says")
            self._state = _CHUNK
        elif not line:
            self._state = _DONE

    def _first(self, line):
        part = line.split(" ", 2)
        if not line.startswith("HTTP/1.") or len(part) < 2 or len(part[1]) != 3:
            raise HttpError("not an HTTP/1.1 server: " + repr(line[:30]))
        self.status = _decimal(part[1], "status")
        self._state = _HEADERS

    def _header(self, line):
        name, colon, value = line.partition(":")
        name, value = name.lower(), value.strip(" \t")
        if not colon or name != name.strip():
            raise HttpError("reply: header " + repr(line[:30]))
        if name == "content-length":
            length = _decimal(value, name)
            if self.length not in (-1, length):
                raise HttpError("reply: two lengths, %d and %d" % (self.length, length))
            self.length = length
        elif name == "transfer-encoding":
            if value.lower() != "chunked":
                raise HttpError("reply: transfer-encoding " + repr(value[:20]))
            self.chunked = True
        elif name == "etag":
            self.etag = value
        elif name == "retry-after" and value.isdigit():
            self.wait_s = int(value[:6])
        elif name == "location":
            self.location = value
        elif name == "content-range":
            self._range(value)
        elif name == "content-encoding" and value.lower() != "identity":
            raise HttpError("reply: content-encoding " + repr(value[:20]))

    def _range(self, value):
        unit, _, rest = value.partition(" ")
        part, _, total = rest.partition("/")
        start, _, last = part.partition("-")
        if unit != "bytes":
            raise HttpError("reply: content-range " + repr(value[:30]))
        self.total = -1 if total == "*" else _decimal(total, "content-range")
        if start == "*":
            return
        self.start = _decimal(start, "content-range")
        if _decimal(last, "content-range") < self.start:
            raise HttpError("reply: content-range " + repr(value[:30]))

    def _body(self):
        if 100 <= self.status < 200:
            self._interim += 1
            if self._interim > _INTERIM_MAX:
                raise HttpError("reply: more than %d interim ones" % _INTERIM_MAX)
            self.restart()
            return
        self._interim = 0
        if self.chunked and self.length >= 0:
            raise HttpError("reply: chunked, and of %d bytes" % self.length)
        self._sink.begin(self)
        self._left = self.length
        if self.status in (204, 304) or self.length == 0:
            self._state = _DONE
        elif self.chunked:
            self._state = _CHUNK
        else:
            self._state = _SIZED if self.length > 0 else _TO_END

    def _chunk(self, line):
        digits = line.partition(";")[0].strip(" \t").lower()
        size = -1
        if 0 < len(digits) <= 7:
            size = 0
            for letter in digits:
                at = "0123456789abcdef".find(letter)
                if at < 0:
                    size = -1
                    break
                size = size << 4 | at
        if size < 0:
            raise HttpError("reply: chunk size " + repr(line[:20]))
        self._left = size
        self._state = _CHUNK_DATA if size else _TRAILER
