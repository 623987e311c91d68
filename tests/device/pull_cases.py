# SPDX-License-Identifier: MIT
"""Manifests, replies of a server, and pulls without a socket, for the tests of rules."""

from capsule_vectors import BASE, KEY, TARGET
from nor import NorFlash

from acclimate._digest import Hasher
from acclimate.pull.exchange import Pull
from acclimate.store import Store
from acclimate.store.capsule import Wanted, put_number

PAGE = 128
URL = "http://host:81/models/7/all.man"
WHOLE = bytes(16)
COHORT = b"\x5e\xf5\xef\x03\x64\xb6\x93\x9c"  # of "all"


def new(pages=8, base=BASE, **options):
    wanted = Wanted(model=7, kind=1, key=KEY)
    store = Store(NorFlash(pages * PAGE, PAGE), wanted, chunk_bytes=64, **options)
    if base:
        store.swap_capsule(base)
    return store


def name_of(i):
    return bytes(range(16 * i, 16 * i + 16))


def manifest(capsule=TARGET, entries=None, key=KEY, percent=100, **fields):
    """Bytes of a signed manifest; fields by offset: a byte b4=2, two h16=1, four n8=7.

    :param entries: (base, bytes) each.
    :param key: None leaves the tag out.
    """
    entries = [(WHOLE, len(capsule))] if entries is None else entries
    data = bytearray(68 + 36 * len(entries))
    data[:7] = b"AMAN\x02" + bytes((len(entries), percent))
    put_number(data, 8, 7)
    put_number(data, 12, capsule[12])
    put_number(data, 24, len(capsule))
    data[28:36] = COHORT
    data[36:68] = capsule[20:52]
    for i, (base, size) in enumerate(entries):
        at = 68 + 36 * i
        data[at : at + 16] = base
        put_number(data, at + 16, size)
        data[at + 20 : at + 36] = name_of(i)
    for name, value in fields.items():
        if name[0] == "n":
            put_number(data, int(name[1:]), value)
        else:
            for i in range(1 + (name[0] == "h")):
                data[int(name[1:]) + i] = value >> 8 * i & 255
    data += bytes(32)
    tag = bytearray(32)
    if key:
        Hasher().hmac(key, data, len(data), tag)
    return data + tag


def reply(body=b"", status="200 OK", *lines, length=None):
    length = len(body) if length is None else length
    head = "HTTP/1.1 %s\r\nContent-Length: %d\r\n" % (status, length)
    return (head + "".join(line + "\r\n" for line in lines) + "\r\n").encode() + bytes(body)


def part(body, start, total=None, first=None):
    """A 206 of the rest of a body."""
    total = len(body) if total is None else total
    first = start if first is None else first
    rest = body[start:]
    return reply(
        rest,
        "206 Partial Content",
        "Content-Range: bytes %d-%d/%s" % (first, first + len(rest) - 1, total),
    )


def give(pull, data, pieces=50):
    """Feed a reply; return whether it ended there."""
    for at in range(0, len(data), pieces):
        piece = data[at : at + pieces]
        if pull.feed(memoryview(piece), len(piece)):
            return True
    return False


def asked(pull):
    """(method and path, byte from which on) of the next request."""
    tls, host, port, data = pull.request()
    assert (tls, host, port) == (False, "host", 81)
    lines = bytes(data).decode().split("\r\n")
    start = [line for line in lines if line.startswith("Range")]
    return lines[0].split(" ")[1], int(start[0].split("=")[1][:-1]) if start else 0


def begun(store, entries=None, capsule=TARGET, fields=None, **options):
    """A pull whose manifest has come."""
    pull = Pull(store, URL, **options)
    assert asked(pull) == ("/models/7/all.man", 0)
    assert give(pull, reply(manifest(capsule, entries, **(fields or {})), "200 OK", 'ETag: "e"'))
    return pull


def large(size):
    """A capsule of this many bytes, signed."""
    data = bytearray(size)
    data[:120] = BASE[:120]
    data[6] = 1
    data[12] = 9
    put_number(data, 116, 2 | (size - 120) << 8)
    for i in range(120, size):
        data[i] = i * 7 & 255 or 1
    hasher, out = Hasher(), bytearray(32)
    hasher.reset()
    hasher.update(data, 20)
    hasher.update(bytes(data[116:]), size - 116)
    hasher.into(out)
    data[20:52] = out
    hasher.hmac(KEY, data, 84, out)
    data[84:116] = out
    return bytes(data)


def half_pulled(written, size, pages):
    """A device that lost its power after so many bytes were written."""
    store = new(pages)
    data = large(size)
    store.stage(data, 144)
    store.write(data, written)
    return Store(store.flash, Wanted(model=7, kind=1, key=KEY), chunk_bytes=64), data
