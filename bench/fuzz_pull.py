# SPDX-License-Identifier: MIT
"""Target of a whole pull: what any server may answer, one reply after the other.

An input is a first byte that says how it is dressed, then replies, each after its length in two
bytes; a reply that ends early stands for a lost connection.
"""

import hashlib
import hmac

from acclimate.pull import HttpError
from acclimate.pull.exchange import Pull
from acclimate.store import CapsuleError, StoreError
from acclimate_host.capsules.delta import update
from acclimate_host.capsules.manifest import WHOLE, Entry, Manifest, cohort_mark, object_name
from bench.fuzz_targets import BASE, IMAGE, KEY, TARGET, _store, check, good, in_use

_REPLIES_MAX = 12


def of_pull(data):
    form, data = (data[0] if data else 0), bytes(data[1:])
    store = _store(IMAGE)
    pull = Pull(store, "http://h/models/7/all.man", attempts=3)
    try:
        for reply in list(_replies(data))[:_REPLIES_MAX]:
            if pull.request() is None:
                break
            if form > 63:
                reply = _dressed(reply)
            try:
                _answer(pull, memoryview(reply), 1 + form % 64)
            except HttpError as error:
                pull.lost(error)
    except (CapsuleError, StoreError, HttpError):
        check(in_use(store) == BASE, "the model in use changed with a pull that failed")
        return
    if pull.is_ready and store.state == "verified":
        store.confirm()
        check(good(in_use(store), above=2), "a pull brought what is not good")
    else:
        check(in_use(store) == BASE, "the model in use changed")


def _answer(pull, reply, piece):
    for at in range(0, len(reply), piece):
        part = reply[at : at + piece]
        if pull.feed(part, len(part)):
            return
    pull.end()


def _replies(data):
    while len(data) > 2:
        size = int.from_bytes(data[:2], "little")
        yield data[2 : 2 + size]
        data = data[2 + size :]


def _dressed(reply):
    """A manifest gets a tag that is right, so that what lies behind it is reached."""
    at = reply.find(b"AMAN")
    if at < 0 or len(reply) < at + 33:
        return reply
    return reply[:-32] + hmac.new(KEY, reply[at:-32], "sha256").digest()


def _reply(body, status="200 OK", *lines):
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *lines, "", ""])
    return head.encode() + body


def _input(form, *replies):
    return bytes([form]) + b"".join(len(r).to_bytes(2, "little") + r for r in replies)


def seeds():
    """Return inputs to start from."""
    made = update(BASE, TARGET)
    whole, smaller = (
        Entry(base, len(file), object_name(file))
        for base, file in ((WHOLE, TARGET), (BASE[20:36], made))
    )
    digest = TARGET[20:52]
    assert hashlib.sha256(TARGET[:20] + TARGET[116:]).digest() == digest
    alone, both = (
        _reply(Manifest(7, 3, len(TARGET), digest, 100, entries, cohort_mark("all")).pack(KEY))
        for entries in ((whole,), (whole, smaller))
    )
    file, half = _reply(TARGET), len(TARGET) // 2
    start = f"Content-Range: bytes {half}-{len(TARGET) - 1}/{len(TARGET)}"
    rest = _reply(TARGET[half:], "206 Partial Content", start)
    moved = _reply(b"", "302 Found", "Location: /other")
    return [
        _input(form, *replies)
        for form in (0, 7, 63, 100, 200)
        for replies in (
            (alone, file),
            (both, _reply(made)),
            (alone, moved, file),
            (alone, file[: file.index(TARGET[:8]) + half], rest),
            (_reply(b"", "304 Not"),),
            (_reply(b"", "503 Busy"), alone, file),
            (moved, both, _reply(made)),
        )
    ]
