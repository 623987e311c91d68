# SPDX-License-Identifier: MIT
"""One target for each parser: bytes in, nothing out; AcceptedBad when a bad input is taken.

The first byte of an input says how it is dressed: as it is, or with check sums and signatures
made right, as somebody with the key could, so that what lies behind them is reached too. Any
exception but those that the parser documents is a crash.
"""

import hashlib
import hmac
import zlib

from acclimate.pull import HttpError, Receiver
from acclimate.pull.blocks import READY
from acclimate.pull.http import Reply
from acclimate.pull.manifest import Manifest
from acclimate.store import CapsuleError, Store, StoreError, Updater, Wanted
from acclimate_host.capsules.build import build
from acclimate_host.capsules.delta import update
from acclimate_host.testing.nor import NorFlash
from bench import fuzz_oracle as oracle
from bench.powercut_oracle import total_of

KEY = b"a key that only tests have, 32 b"
MODEL, PAGE, SLOT_PAGES, BOOTS = 7, 256, 3, 3
_SIZE = (2 + 2 * SLOT_PAGES) * PAGE
_LIMIT = SLOT_PAGES * PAGE
NUMBERS = {"model": MODEL, "kind": 1, "board": 3, "device": 9, "arch": 2, "abi": 6}
# What only the body can show; everything else is refused before the first erase.
_OF_THE_BODY = ("integrity", "patch", "truncated", "oversized")


class AcceptedBad(AssertionError):
    """The parser took what the oracle calls bad, or gave something else than it."""


def check(condition, text):
    if not condition:
        raise AcceptedBad(text)


def capsule(version, content, **options):
    sections = {"PROGRAM": b"program", "WEIGHTS": content}
    return build(sections, "SVM", MODEL, version, key=KEY, **options)


BASE = capsule(2, bytes(range(200)))
TARGET = capsule(3, bytes((b + (b % 7 == 0)) & 255 for b in range(200)), board=3, device=9)


def _store(data):
    return Store(
        NorFlash(_SIZE, PAGE, data=bytearray(data)),
        Wanted(**NUMBERS, key=KEY),
        max_boots=BOOTS,
        chunk_bytes=64,
    )


def _first_image():
    store = _store(b"\xff" * _SIZE)
    store.swap_capsule(BASE)
    return bytes(store.flash.data)


IMAGE = _first_image()


def in_use(store):
    if store.active is None:
        return None
    start = store.slots.start(store.active)
    return bytes(store.flash.data[start : start + store.head.total])


def good(data, above=0):
    return oracle.capsule_is_good(data, KEY, _LIMIT, above=above, **NUMBERS)


def signed(data):
    """The same bytes with a digest and a tag that are right."""
    data = bytearray(data)
    data[20:52] = hashlib.sha256(data[:20] + data[116:]).digest()
    data[52:84] = bytes(32)
    data[84:116] = hmac.new(KEY, data[:84], "sha256").digest()
    return bytes(data)


def swap(store, call, *args):
    """Try an update; a refusal leaves the base, and most leave the flash untouched."""
    try:
        call(*args)
    except (CapsuleError, StoreError) as error:
        check(in_use(store) == BASE, "the model in use changed with a refused update")
        if getattr(error, "reason", "patch") not in _OF_THE_BODY:
            check(not sum(store.flash.erases), "erased before it was refused")
        return False
    return True


def of_capsule(data):
    form, data = data[:1], data[1:]
    if form > b"\x3f" and len(data) >= 116:
        data = signed(data)
    store = _store(IMAGE)
    if data[:4] == b"AUPD":
        return
    taken = swap(store, store.swap_capsule, data)
    wanted = good(data, above=2)
    check(taken == wanted, "taken" if taken else "a good capsule was refused")
    if taken:
        check(in_use(store) == data, "something else than the capsule is in use")
        check(in_use(_store(store.flash.data)) == data, "it is gone after a reset")


def of_journal(data):
    form = data[0] if data else 0
    data = (data[1:] + b"\xff" * 2 * PAGE)[: 2 * PAGE]
    pages = bytearray(data)
    if form > 63:
        for at in (0, PAGE):
            _dress_page(pages, at)
    image = bytes(pages) + IMAGE[2 * PAGE :]
    if form & 1:  # a second model in the other slot
        at = 2 * PAGE + _LIMIT
        image = image[:at] + TARGET + image[at + len(TARGET) :]
    store = _store(image)
    check(
        store.state in ("empty", "staged", "verified", "trial", "confirmed", "rolled back"),
        "no state",
    )
    slots = [image[2 * PAGE + s * _LIMIT :][:_LIMIT] for s in (0, 1)]
    models = [m[: total_of(m[:144])] for m in slots]
    models = [m if good(m) else None for m in models]
    order = oracle.journal_says(image, PAGE, SLOT_PAGES, BOOTS)
    if order is None:
        order = sorted((0, 1), key=lambda s: -int.from_bytes(slots[s][12:16], "little"))
        order = [s for s in order if models[s]]
    wanted = next((models[s] for s in order if models[s]), None)
    check(in_use(store) == wanted, "another model than the journal names is in use")


def _dress_page(pages, at):
    pages[at : at + 4] = b"AJNL"
    pages[at + 20 : at + 22] = SLOT_PAGES.to_bytes(2, "little")
    pages[at + 36 : at + 40] = zlib.crc32(pages[at : at + 36]).to_bytes(4, "little")
    for index, place in enumerate(range(at + 40, at + PAGE - 11, 12)):
        if pages[place + 2] == 255:
            continue
        pages[place : place + 2] = index.to_bytes(2, "little")
        body = pages[at + 4 : at + 8] + pages[place : place + 8]
        pages[place + 8 : place + 12] = zlib.crc32(body).to_bytes(4, "little")


def of_delta(data):
    form, data = (data[0] if data else 0), bytearray(data[1:])
    if form > 63 and len(data) >= 48:
        data[:5] = b"AUPD\x02"
        head = int.from_bytes(data[6:8], "little")
        body = data[48 + head :]
        data[8:12] = len(body).to_bytes(4, "little")
        data[12:16] = zlib.crc32(body).to_bytes(4, "little")
    store = _store(IMAGE)
    piece = 1 + form % 64

    def feed():
        updater = Updater(store)
        for at in range(0, len(data), piece):
            part = bytes(data[at : at + piece])
            updater.feed(part, len(part))
        updater.finish()
        store.confirm()

    if swap(store, feed):
        check(good(in_use(store), above=2), "the result of an update is not a good capsule")


def of_manifest(data):
    form, data = (data[0] if data else 0), bytes(data[1:])
    if form > 63 and len(data) > 32:
        data = data[:-32] + hmac.new(KEY, data[:-32], "sha256").digest()
    base = BASE[:116] if form & 1 else None
    manifest = Manifest()
    wanted = oracle.manifest_is_good(data, KEY, MODEL)
    try:
        for at in range(0, len(data), 100):
            part = data[at : at + 100]
            manifest.add(part, len(part))
        manifest.check(_store(IMAGE), b"all")
        check(wanted, "a manifest was taken")
    except CapsuleError:
        check(not wanted, "a good manifest was refused")
        return
    try:
        chosen = manifest.choose(base)
    except CapsuleError:
        return
    found = oracle.manifest_file(data, base and base[20:52])
    check(chosen[1:] == (found and found[1:]) or chosen[1] == found[1], "another file")
    check(0 <= chosen[1] < 1 << 30, "a size beyond all limits")


class _Sink:
    def __init__(self):
        self.data = b""

    def begin(self, reply):
        self.data = b""

    def body(self, view, n):
        self.data += bytes(view[:n])


def _reply(data, piece):
    """Return (status, body) of a complete reply, or None for one that was refused."""
    sink = _Sink()
    reply = Reply(sink)
    try:
        for at in range(0, len(data), piece):
            part = memoryview(data[at : at + piece])
            if reply.feed(part, len(part)):
                return reply.status, sink.data
        reply.end()
    except HttpError:
        return None
    return reply.status, sink.data


def of_http(data):
    piece, data = 1 + (data[0] if data else 0) % 40, bytes(data[1:])
    found = _reply(data, piece)
    check(found == _reply(data, max(1, len(data))), "pieces change what a reply means")
    if found is not None:
        check(found == oracle.http_body(data), "a body that the reply does not have")


def of_blocks(data):
    form, data = (data[0] if data else 0), bytes(data[1:])
    store = _store(IMAGE)
    receiver = Receiver(store, window=4, block_bytes=64)
    answers = 0
    while data:
        packet = bytearray(data[1 : 1 + data[0]])
        data = data[1 + data[0] :]
        if form > 63 and len(packet) > 4:
            packet[-4:] = zlib.crc32(packet[:-4]).to_bytes(4, "little")
        before = receiver.session, receiver.state, receiver._next
        answer = receiver.take(packet, len(packet))
        answers += answer is not None
        if len(packet) < 5 or zlib.crc32(packet[:-4]) != int.from_bytes(packet[-4:], "little"):
            check(
                before == (receiver.session, receiver.state, receiver._next) and not answer,
                "a damaged packet was taken",
            )
        if answer:
            whole = zlib.crc32(answer[:-4]) == int.from_bytes(answer[-4:], "little")
            check(whole, "an answer with a wrong sum")
    if receiver.state == READY and store.state == "verified":
        store.confirm()
        check(good(in_use(store), above=2), "blocks made a capsule that is not good")
    else:
        check(in_use(store) == BASE, "the model in use changed with refused blocks")


def transfer(data, size=48, order=None):
    """The packets that bring a file in blocks, each after its length."""
    count = -(-len(data) // size)
    packets = [
        b"\x01\x05\x00"
        + len(data).to_bytes(4, "little")
        + size.to_bytes(2, "little")
        + data[20:24]
    ]
    for index in order or range(count):
        part = data[index * size :][:size]
        packets.append(b"\x02\x05\x00" + index.to_bytes(2, "little") + part)
    packets.append(b"\x04\x05\x00")
    packets = [p + zlib.crc32(p).to_bytes(4, "little") for p in packets]
    return b"".join(bytes([len(p)]) + p for p in packets)


TARGETS = {
    "capsule": of_capsule,
    "journal": of_journal,
    "delta": of_delta,
    "manifest": of_manifest,
    "http": of_http,
    "blocks": of_blocks,
}


def seeds(name):
    """Return inputs to start from: good ones, in each dress."""
    if name == "capsule":
        found = [TARGET, BASE, capsule(3, b"x"), capsule(9, b"", board=4)]
    elif name == "journal":
        found = [IMAGE[: 2 * PAGE], _trial_image()[: 2 * PAGE], b"\xff" * 512]
    elif name == "delta":
        found = [
            update(BASE, TARGET),
            update(BASE, capsule(5, b"new" * 90)),
            update(BASE, capsule(4, bytes(range(1, 201)))),
        ]
    elif name == "blocks":
        found = [
            transfer(TARGET),
            transfer(update(BASE, TARGET)),
            transfer(TARGET, order=(1, 0, 3, 2, 2, 5, 4, 6)),
            transfer(BASE),
        ]
    elif name == "manifest":
        found = [manifest_of(1), manifest_of(3), manifest_of(8)]
    else:
        found = HTTP
    return [bytes([form]) + data for form in (0, 1, 200, 201) for data in found]


def _trial_image():
    store = _store(IMAGE)
    store.stage(TARGET, 144)
    store.write(TARGET, len(TARGET))
    store.finish()
    store.trial()
    return bytes(store.flash.data)


def manifest_of(count):
    entries = b"".join(
        (bytes(16) if not i else BASE[20:36] if i == 1 else bytes([i]) * 16)
        + (len(TARGET) // (1 + i)).to_bytes(4, "little")
        + bytes([i]) * 16
        for i in range(count)
    )
    head = b"AMAN" + bytes((2, count, 100, 0))
    numbers = (MODEL, 3, 0, 5, len(TARGET))
    data = head + b"".join(n.to_bytes(4, "little") for n in numbers)
    data += hashlib.sha256(b"all").digest()[:8] + TARGET[20:52] + entries + bytes(32)
    return data + hmac.new(KEY, data, "sha256").digest()


HTTP = [
    b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "x"\r\n\r\nhello',
    b"HTTP/1.1 206 Part\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5\r\n\r\n12345",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n"
    b"0\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.0 200 OK\n\nuntil the end",
    b"HTTP/1.1 200 OK\r\nContent-Length:" + b" " * 300 + b"5\r\n\r\nhello and more",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    + b"a" * 300
    + b"\r\r\n\r\r\n\r\n",
    b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 304 Not Modified\r\nETag: W/"1"\r\n\r\n',
]
