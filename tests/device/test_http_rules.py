# SPDX-License-Identifier: MIT
"""The reply parser alone: what it takes, in pieces of any length, and what it refuses."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

from acclimate.pull import HttpError
from acclimate.pull.http import Reply, join, split


class Sink:
    def __init__(self):
        self.data, self.begun = b"", 0

    def begin(self, reply):
        self.begun += 1

    def body(self, view, n):
        self.data += bytes(view[:n])


def taken(text, piece=1, ends=False):
    """Return (body, Reply) of a whole reply that comes in pieces; ends None: of its beginning."""
    sink, data = Sink(), text.encode()
    reply, done = Reply(sink), False
    for at in range(0, len(data), piece):
        assert not done
        part = data[at : at + piece]
        done = reply.feed(memoryview(part), len(part))
    if ends:
        reply.end()
    elif ends is False:
        assert done
    assert sink.begun == 1
    return sink.data, reply


def refused(text):
    try:
        taken(text)
    except HttpError as error:
        return str(error)
    raise AssertionError(text)


OK = "HTTP/1.1 200 OK\r\n"


def test_bodies_with_a_length_in_chunks_and_to_the_end():
    for piece in (1, 2, 3, 7, 400):
        assert taken(OK + "Content-Length: 4\r\n\r\nbody", piece)[0] == b"body"
        assert taken(OK + "\r\nbody", piece, ends=True)[0] == b"body"
        chunks = "2\r\nbo\r\nA;x=y\r\n0123456789\r\n 1 \r\nd\r\n0\r\nTrailer: x\r\n\r\n"
        data, _ = taken(OK + "Transfer-Encoding: chunked\r\n\r\n" + chunks, piece)
        assert data == b"bo0123456789d"
        assert taken(OK + "Content-Length: 0\r\n\r\n", piece)[0] == b""
        interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX: y\r\n\r\n"
        assert taken(interim + OK + "Content-Length: 1\r\n\r\nx", piece)[0] == b"x"
        assert taken("HTTP/1.0 204 No\r\nX: \xe9\r\n\r\n", piece)[0] == b""


def test_headers_that_count():
    lines = 'ETag: "e"\r\nLOCATION:\t/there \r\nRetry-After: 12\r\n'
    part = "Content-Range: bytes 5-8/20\r\ncontent-length: 4\r\nContent-Length: 4\r\n\r\nbody"
    _, reply = taken("HTTP/1.1 206 Part\r\n" + lines + part)
    assert (reply.status, reply.etag, reply.location) == (206, '"e"', "/there")
    assert (reply.start, reply.total, reply.length, reply.wait_s) == (5, 20, 4, 12)
    lines = "Retry-After: Fri, 31 Dec 1999\r\nContent-Range: bytes 5-8/*\r\n\r\n"
    _, reply = taken(OK + lines, ends=True)
    assert reply.wait_s == 0 and reply.total == -1
    for letter in "\r\0\x0b\x1f\x7f\xe9":  # a tag is sent back as it came, in a line of its own
        _, reply = taken(OK + "ETag: a" + letter + "X: b\r\nContent-Length: 0\r\n\r\n")
        assert reply.etag.replace("?", "") == "aX: b"
    _, reply = taken(OK + "X: " + "y" * 5000 + "\r\nContent-Length: 1\r\n\r\nx")
    assert reply.length == 1


def test_what_no_server_should_say_is_refused():
    for lines in (
        "Content-Length : 4",
        " Content-Length: 4",
        "no colon",
        "Content-Length: -4",
        "Content-Length: +4",
        "Content-Length: 4 5",
        "Content-Length: 0x4",
        "Content-Length: 1073741824",
        "Content-Length: 4\r\nContent-Length: 5",
        "Content-Length: 4\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip",
        "Content-Encoding: gzip",
        "Content-Range: lines 1-2/3",
        "Content-Range: bytes 3-2/9",
        "Content-Range: bytes a-2/9",
        "Content-Length: " + "0" * 300 + "4",
        "Transfer-Encoding: " + " " * 300 + "chunked",
        "X: y\r\n" * 2000,
    ):
        refused(OK + lines + "\r\n\r\nbody")
    for status in ("HTTP/2 200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1", "ICY 200 OK"):
        refused(status + "\r\n\r\n")
    refused("HTTP/1.1 200 " + "x" * 300 + "\r\n\r\n")


def test_chunks_that_lie_are_refused():
    for chunks in ("\r\n", "g\r\n", "-1\r\n", "0x1\r\n", "12345678\r\n", "2\r\nabc\r\n"):
        refused(OK + "Transfer-Encoding: chunked\r\n\r\n" + chunks)


def test_where_a_redirect_leads():
    at = "https://host:81/a/b?c"
    assert join(at, "http://x/y") == "http://x/y"
    assert join(at, "/y") == "https://host:81/y"
    assert join(at, "y") == "https://host:81/a/y"
    assert join(at, "//cdn.example/y") == "https://cdn.example/y"
    assert split(at) == (True, "host", 81, "/a/b?c")
    assert split("http://host") == (False, "host", 80, "/")


def no_address(url):
    try:
        split(url)
    except ValueError as error:
        return "url" in str(error)
    return False


def test_an_address_has_a_host_a_port_and_printable_letters():
    for port in ("1", "80", "65535"):
        assert split("http://h:" + port + "/a") == (False, "h", int(port), "/a")
    for port in ("", "0", "65536", "-1", "+1", "x", "8 0"):
        assert no_address("http://h:" + port + "/a"), port
    for url in ("http:///a", "https://:80/a", "ftp://h/a", "h/a", ""):
        assert no_address(url), url
    assert split("https://h/!~") == (True, "h", 443, "/!~")
    for letter in (" ", "\t", "\x7f", "\xe9"):
        assert no_address("http://h/a" + letter + "b")


def test_numbers_have_30_bits():
    most = 0x3FFFFFFF
    assert taken(OK + "Content-Length: %d\r\n\r\n" % most, ends=None)[1].length == most
    assert "content-length" in refused(OK + "Content-Length: %d\r\n\r\n" % (most + 1))
    assert "content-length" in refused(OK + "Content-Length: 00000000001\r\n\r\n")


def test_a_tilde_stays_and_what_is_no_ascii_does_not():
    _, reply = taken("HTTP/1.1 302 X\r\nLocation: /~a\xe9\r\nContent-Length: 0\r\n\r\n")
    assert reply.location == "/~a??"


def test_lines_have_256_bytes_with_their_end():
    for n, counts in ((255, True), (256, False)):
        line = "Location: /" + "a" * (n - 11)
        _, reply = taken(OK + line + "\r\nContent-Length: 0\r\n\r\n")
        assert bool(reply.location) is counts, n
        long = "HTTP/1.1 200 " + "x" * (n - 13) + "\r\nContent-Length: 0\r\n\r\n"
        if counts:
            taken(long)
        else:
            refused(long)


def test_the_size_of_a_chunk_has_up_to_seven_digits():
    head = OK + "Transfer-Encoding: chunked\r\n\r\n"
    assert taken(head + "0000001\r\nx\r\n0000000\r\n\r\n")[0] == b"x"
    refused(head + "00000001\r\nx\r\n0\r\n\r\n")


def test_interim_replies_are_counted_for_each_reply():
    interim = "HTTP/1.1 199 X\r\n\r\n"
    last = OK + "Content-Length: 0\r\n\r\n"
    most = 0
    while True:
        try:
            taken(interim * (most + 1) + last)
        except HttpError:
            break
        most += 1
    assert 1 <= most <= 16
    reply = Reply(Sink())
    for _ in range(3):  # of one connection after the other
        data = (interim * most + last).encode()
        assert reply.feed(memoryview(data), len(data)) is True
        reply.restart()


def test_a_part_without_a_range_begins_at_0():
    _, reply = taken("HTTP/1.1 206 X\r\nContent-Length: 0\r\n\r\n")
    assert reply.start == 0
