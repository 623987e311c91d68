# SPDX-License-Identifier: MIT
"""What a device reports, byte by byte, how it is sent, and a pull over the serial line."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

from capsule_vectors import BASE, KEY, TARGET
from pull_cases import URL, manifest, part, reply
from store_cases import empty, model, new, raised, verified

from acclimate._digest import Hasher
from acclimate.pull import (
    HttpError,
    SerialPull,
    make_report,
    reports,
    send_report,
    serial,
    sockets,
)
from acclimate.store import CapsuleError

HERE = URL.rsplit("/models", 1)[0]


def number(data, at):
    return data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24


def tag_of(data, key=KEY):
    out = bytearray(32)
    Hasher().hmac(key, bytes(data[:96]), 96, out)
    return out


# ---- reports -----------------------------------------------------------------------------------


def test_what_a_report_holds():
    store = new()
    store.journal.erases = 77
    data = make_report(store, 17, 5, reports.REFUSED, "oversized", 9, 3700)
    assert len(data) == 128 and data[:4] == b"AREP" and data[4] == 2
    assert data[5] == store.journal.state and data[6] == 3
    found = [number(data, at) for at in (8, 12, 16, 20, 24, 28, 32)]
    assert found == [17, 7, 1, 1, 77, store.slots.bytes, 5]
    assert data[36:48] == b"oversized\0\0\0" and data[48:80] == BASE[20:52]
    assert data[80] == 0 and data[81] == 9 and data[92] | data[93] << 8 == 3700
    assert number(data, 88) == store.budget_left() and data[94:96] == b"\0\0"
    assert data[96:] == tag_of(data)


def test_a_report_of_nothing_and_without_a_key():
    store = empty()
    store.wanted.key = None
    data = make_report(store)
    assert [number(data, at) for at in (8, 12, 16, 20, 32)] == [0, 7, 0, 0, 0]
    assert data[48:80] == bytes(32) and data[96:] == bytes(32) and data[6] == 0
    store.wanted.model = 0
    assert number(make_report(store), 12) == 0
    store = new()
    store.wanted.model = 0
    assert number(make_report(store), 12) == 7


def test_the_epoch_and_whether_the_model_is_of_one_before():
    store = new()
    store.journal.keys = 0x12C4 << 16 | 7
    assert make_report(store)[94:96] == b"\xc4\x92"
    store.head.bytes[16], store.head.bytes[17] = 0xC4, 0x12
    assert make_report(store)[94:96] == b"\xc4\x12"
    store = empty()
    store.journal.keys = 0x12C4 << 16
    store.head.bytes[12] = 9  # of something that was looked at
    data = make_report(store)
    assert data[94:96] == b"\xc4\x12" and number(data, 16) == 0


def test_the_key_for_reports_is_that_of_the_device_where_it_has_one():
    store = new()

    class Trust:
        report = b"another key of the device alone."

    store.wanted.key = Trust()
    data = make_report(store)
    assert data[96:] == tag_of(data, Trust.report)


def test_verdict_score_and_boots_of_a_trial():
    for verdict, code in ((1, 1), (-1, 2), (0, 3)):
        store = verified(new())
        store.waiting().keep_verdict(verdict, -1200)
        data = make_report(store)
        assert data[80] == code
        assert ((data[82] | data[83] << 8) - 32768) == -1200
    store.trial()
    store.journal.boots = 3
    assert make_report(store)[81] == 2
    store.journal.boots = 0
    assert make_report(store)[81] == 0
    store.confirm()
    store.journal.boots = 3
    assert make_report(store)[81] == 0
    store.day_pages = 0
    assert number(make_report(store), 88) == 0x3FFFFFFF  # no limit


def test_numbers_that_a_report_cannot_hold_are_refused():
    store, most = new(), 0x3FFFFFFF
    assert number(make_report(store, most, most), 8) == most
    for device in (-1, most + 1):
        assert "2**30 - 1" in str(raised(ValueError, make_report, store, device))
    assert number(make_report(store, 1, most + 2), 32) == 1  # a count goes round
    for resets, battery_mv in ((-1, 0), (256, 0), (0, -1), (0, 65536), (256, 65536)):
        raised(
            ValueError, lambda r=resets, b=battery_mv: make_report(store, resets=r, battery_mv=b)
        )
    data = make_report(store, resets=255, battery_mv=65535)
    assert (data[81], data[92], data[93]) == (255, 255, 255)
    assert make_report(store, reason="a reason of many letters")[36:48] == b"a reason of "


def test_what_a_pull_ended_with():
    assert reports.outcome_of(CapsuleError("oversized", "x")) == (reports.REFUSED, "oversized")
    assert reports.outcome_of(OSError(5)) == (reports.FAILED, "OSError")
    assert reports.outcome_of(HttpError("x")) == (reports.FAILED, "HttpError")
    codes = reports.NONE, reports.CURRENT, reports.TAKEN, reports.REFUSED, reports.FAILED
    assert codes == (0, 1, 2, 3, 4)


# ---- sending -----------------------------------------------------------------------------------


class Line:
    """A connected socket that gives pieces, or raises errors."""

    def __init__(self, pieces):
        self.pieces, self.sent, self.is_open, self.reads = list(pieces), b"", True, 0

    def write(self, data):
        self.sent += data

    def readinto(self, buffer):
        self.reads += 1
        piece = self.pieces.pop(0) if self.pieces else b""
        if isinstance(piece, BaseException):
            raise piece
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self):
        self.is_open = False


def sent(pieces, url=HERE, step_s=0, **options):
    """Return (what send_report gave, the line)."""
    refused = pieces if isinstance(pieces, BaseException) else None
    line, now = Line([] if refused else pieces), [0]
    kept = sockets.connect, sockets.seconds

    def connect(*where):
        assert where == ("host", 81, options.get("timeout_s", 20))
        if refused:
            raise refused
        return line

    def seconds():
        now[0] += step_s
        return now[0]

    sockets.connect, sockets.seconds = connect, seconds
    try:
        return send_report(url, b"the report", **options), line
    finally:
        sockets.connect, sockets.seconds = kept


def test_a_report_is_posted_and_the_status_tells_whether_it_was_taken():
    for status, is_taken in ((200, True), (204, True), (299, True), (300, False), (503, False)):
        done, line = sent([b"HTTP/1.1 %d X\r\n\r\n" % status])
        assert done is is_taken and not line.is_open and line.reads == 1
    head, _, body = line.sent.partition(b"\r\n\r\n")
    assert body == b"the report" and head.split(b"\r\n") == [
        b"POST /reports HTTP/1.1",
        b"Host: host:81",
        b"Connection: close",
        b"Content-Type: application/octet-stream",
        b"Content-Length: 10",
    ]
    assert sent([b"HTTP/1.1 100 C\r\n\r\n", b"HTTP/1.1 200", b" OK\r\n", b"\r\n"], HERE + "/")[0]


def test_what_goes_wrong_is_no_report():
    for pieces in (
        [],
        [b"HTTP/1.1 200 OK\r\n"],
        [OSError(104)],
        [ValueError("certificate")],
        [b"junk\r\n"],
        OSError(111),
    ):
        done, line = sent(pieces)
        assert done is False
        assert not line.is_open or isinstance(pieces, OSError)


def test_an_answer_that_takes_too_long_is_none():
    slow = [b"x"] * 50
    done, line = sent([b"HTTP/1.1 200 OK\r\n"] + slow, step_s=7)
    assert done is False and line.reads == 2
    done, line = sent([b"HTTP/1.1 200 OK\r\n"] + slow, step_s=7, timeout_s=50)
    assert done is False and line.reads == 7


def test_https_needs_to_be_told_whom_to_trust():
    class Context:
        def wrap_socket(self, sock, server_hostname):
            assert server_hostname == "host"
            return sock

    assert "context" in str(raised(ValueError, send_report, "https://host:81", b""))
    assert sent([b"HTTP/1.1 200 OK\r\n\r\n"], "https://host:81", context=Context())[0] is True


# ---- over the serial line ----------------------------------------------------------------------


class Printed:
    """What a SerialPull prints, a line at a time."""

    def __init__(self):
        self.text = ""

    def __call__(self, *words, end="\n"):
        self.text += " ".join(str(word) for word in words) + end

    def __enter__(self):
        serial.print = self
        return self

    def __exit__(self, *_):
        del serial.print

    def line(self):
        text, self.text = self.text, ""
        assert text.endswith("\n") and text.count("\n") == 1, text
        return text[:-1]


def request_of(line):
    word, tls, host, port, data = line.split(" ")
    assert (word, tls, host, port) == ("send", "0", "host", "81")
    text = bytes(int(data[i : i + 2], 16) for i in range(0, len(data), 2)).decode()
    return text.split(" ")[1], "Range" in text


def test_a_pull_is_carried_line_by_line():
    store = new()
    with Printed() as out:
        pull = SerialPull(store, HERE + "/")
        pull.ask()
        assert request_of(out.line()) == ("/models/7/all.man", False)
        data = reply(manifest())
        pull.feed(data[:30])
        assert out.line() == "more"
        pull.feed(data[30:])
        path, has_range = request_of(out.line())
        assert path.startswith("/objects/") and not has_range
        data = reply(TARGET)
        pull.feed(data[:-100])
        assert out.line() == "more"
        pull.lost("the line broke")
        assert request_of(out.line())[1]
        pull.feed(part(TARGET, len(TARGET) - 100))
        assert out.line() == "ready" and store.state == "verified"
        pull.ask()
        assert out.line() == "ready" and repr(pull) == "SerialPull: ready"
    store.confirm()
    assert model(store) == TARGET


def test_a_pull_that_takes_nothing_says_why():
    store = new()
    store.swap_capsule(TARGET)
    with Printed() as out:
        pull = SerialPull(store, HERE, 9, "beta")
        pull.ask()
        assert request_of(out.line())[0] == "/models/9/beta.man"
        pull = SerialPull(store, HERE)
        pull.ask()
        out.line()
        pull.feed(reply(manifest()))
        assert out.line() == "none current" and repr(pull) == "SerialPull: current"


def test_a_server_that_fails_is_asked_again_and_not_for_ever():
    with Printed() as out:
        pull = SerialPull(new(), HERE)
        pull.ask()
        for _ in range(4):
            assert request_of(out.line())[0] == "/models/7/all.man"
            pull.end()  # before anything came
        out.line()
        raised(HttpError, pull.end)
    with Printed() as out:
        pull = SerialPull(new(), HERE)
        pull.ask()
        out.line()
        pull.feed(reply(b"", "503 Busy"))
        assert out.line().startswith("send 0 ")
        assert "404" in str(raised(HttpError, pull.feed, reply(b"", "404 No")))


def test_the_end_of_a_reply_may_be_the_end_of_its_body():
    with Printed() as out:
        pull = SerialPull(new(), HERE)
        pull.ask()
        out.line()
        pull.feed(b"HTTP/1.1 200 OK\r\n\r\n" + manifest())
        assert out.line() == "more"
        pull.end()
        assert request_of(out.line())[0].startswith("/objects/")
