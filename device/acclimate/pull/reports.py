# SPDX-License-Identifier: MIT
"""Tell the server which model this device uses: one signed record of 128 bytes.

    data = record(store, device=17, count=time.time(), outcome=TAKEN)
    send("http://models.example:8000", data)

``acclimate serve`` keeps the latest report of each device, and ``acclimate fleet`` shows them. A
static web server answers 404 or 405, which does no harm: ``send`` is then False.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any

    from circuitpython_typing import ReadableBuffer
except ImportError:
    pass

import gc

from acclimate.pull import http, sockets
from acclimate.store import CapsuleError
from acclimate.store.capsule import epoch_of, put_number

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_T_FORMAT = const(4)
_T_STATE = const(5)
_T_OUTCOME = const(6)
_T_DEVICE = const(8)
_T_MODEL = const(12)
_T_VERSION = const(16)
_T_FLOOR = const(20)
_T_ERASES = const(24)
_T_SLOT_BYTES = const(28)
_T_COUNT = const(32)
_T_REASON = const(36)
_T_DIGEST = const(48)
_T_VERDICT = const(80)
_T_RESETS = const(81)
_T_SCORE = const(82)
_T_HEAP = const(84)
_T_ERASES_LEFT = const(88)
_T_BATTERY = const(92)
_T_EPOCH = const(94)
_T_TAG = const(96)
_T_BYTES = const(128)
_H_DIGEST = const(20)
_REPORT_FORMAT = const(2)
# layout: end

NONE = 0
CURRENT = 1
TAKEN = 2
REFUSED = 3
FAILED = 4


def outcome_of(error):
    """Return (outcome, reason) for an exception of ``Client.pull``."""
    if isinstance(error, CapsuleError):
        return REFUSED, error.reason
    return FAILED, type(error).__name__


def make_report(
    store: "Any",
    device: int = 0,
    count: int = 0,
    outcome: int = NONE,
    reason: str = "",
    resets: int | None = None,
    battery_mv: int = 0,
) -> bytearray:
    """Return the report of a Store as a bytearray.

    :param device: its number, 0 to 2**30 - 1.
    :param count: rises with each report, so that an old one cannot pass for a new one; a clock
        in seconds will do. :param outcome: of the latest pull, and the reason for it.
    :param resets: that the program counted since the model is in use, to 255; None: the boots of
        a trial. :param battery_mv: to 65535; 0: not known.
    """
    out = bytearray(_T_BYTES)
    out[0:4] = b"AREP"
    out[_T_FORMAT] = _REPORT_FORMAT
    out[_T_STATE] = store.journal.state
    out[_T_OUTCOME] = outcome
    has = store.active is not None
    for at, value in (
        (_T_DEVICE, device),
        (_T_MODEL, store.wanted.model or (store.head.model if has else 0)),
        (_T_VERSION, store.head.version if has else 0),
        (_T_FLOOR, store.journal.floor),
        (_T_ERASES, store.journal.erases),
        (_T_SLOT_BYTES, store.slots.bytes),
        (_T_COUNT, int(count) & 0x3FFFFFFF),
    ):
        if not 0 <= value <= 0x3FFFFFFF:
            raise ValueError("report: %s: 0 to 2**30 - 1" % value)
        put_number(out, at, value)
    word = reason.encode()[: _T_DIGEST - _T_REASON]
    out[_T_REASON : _T_REASON + len(word)] = word
    if has:
        out[_T_DIGEST:_T_VERDICT] = store.head.bytes[_H_DIGEST : _H_DIGEST + 32]
    epoch = store.journal.keys >> 16
    if has and epoch_of(store.head) != epoch:
        epoch |= 0x8000
    out[_T_EPOCH], out[_T_EPOCH + 1] = epoch & 255, epoch >> 8
    _health(out, store, resets, battery_mv)
    key = getattr(store.wanted.key, "report", store.wanted.key)
    if key is not None:
        tag = bytearray(32)
        store.checker.hasher.hmac(key, out, _T_TAG, tag)
        out[_T_TAG:] = tag
    return out


def _health(out, store, resets, battery_mv):
    journal = store.journal
    if resets is None:
        # The first boot of a trial is no reset.
        resets = max(0, journal.boots - 1) if store.state == "trial" else 0
    if not 0 <= resets <= 255 or not 0 <= battery_mv <= 65535:
        raise ValueError("report: %s resets, %s mV: to 255, to 65535" % (resets, battery_mv))
    kept = journal.verdict
    score = (kept & 16383) << 2 if kept >> 14 else 0
    left = store.budget_left()
    out[_T_VERDICT] = kept >> 14
    out[_T_RESETS] = resets
    out[_T_SCORE], out[_T_SCORE + 1] = score & 255, score >> 8
    out[_T_BATTERY], out[_T_BATTERY + 1] = battery_mv & 255, battery_mv >> 8
    put_number(out, _T_HEAP, gc.mem_free() & 0x3FFFFFFF if hasattr(gc, "mem_free") else 0)
    put_number(out, _T_ERASES_LEFT, 0x3FFFFFFF if left is None else left)


class _Status:
    """A sink that keeps the status and drops the body."""

    status = 0

    def begin(self, reply):
        self.status = reply.status

    def body(self, view, n):
        pass


def send_report(
    url: str, data: "ReadableBuffer", timeout_s: float = 20, context: "Any" = None
) -> bool:
    """Post a report to the server of a repository; return whether it was taken.

    :param timeout_s: how long the server may keep silent, and how long its answer may take.
    """
    tls, host, port, path = http.split(url.rstrip("/") + "/reports")
    if tls and context is None:
        raise ValueError("https: give context=, an ssl.SSLContext")
    head = "POST %s HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n" % (path, host, port)
    head += "Content-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n" % len(data)
    sink = _Status()
    reply, buffer = http.Reply(sink), memoryview(bytearray(64))
    sock = None
    try:
        sock = sockets.connect(host, port, timeout_s)
        if tls:
            sock = context.wrap_socket(sock, server_hostname=host)
        sockets.send(sock, head.encode() + data)
        read, start_s = sockets.reader(sock), sockets.seconds()
        while not sink.status and sockets.since(start_s) <= timeout_s:
            n = read(buffer)
            if not n:
                break
            reply.feed(buffer, n)
    except (OSError, ValueError):  # so MicroPython says that a certificate is wrong
        return False
    finally:
        if sock:
            sock.close()
    return 200 <= sink.status < 300
