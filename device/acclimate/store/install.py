# SPDX-License-Identifier: MIT
"""Bring a capsule or an update container into a Store; save trained weights."""

from acclimate import _buffers
from acclimate.store.capsule import WEIGHTS, CapsuleError

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_H_FLAGS = const(7)
_FLAG_LOCAL = const(1)
_HEAD_MAX = const(144)
# layout: end


class _Bytes:
    """readinto() over a buffer."""

    def __init__(self, data):
        self._data = memoryview(data)
        self._at = 0

    def readinto(self, buffer):
        n = min(len(buffer), len(self._data) - self._at)
        buffer[:n] = self._data[self._at : self._at + n]
        self._at += n
        return n


def _fill(source, view):
    """Read until the view is full or the source has ended; return how many bytes came."""
    done = 0
    while done < len(view):
        n = source.readinto(view[done:])
        if not n:
            break
        done += n
    return done


def feed(store, source, any_version=False):
    """Stage, write and verify what a source gives: a capsule or an update container."""
    if not hasattr(source, "readinto"):
        source = _Bytes(source)
    buffer = bytearray(max(_HEAD_MAX, len(store.checker.chunk)))
    view = memoryview(buffer)
    n = _fill(source, view)
    if n >= 4 and bytes(view[:4]) == b"AUPD":
        from acclimate.store.delta import Updater

        updater = Updater(store, any_version)
        while n:
            updater.feed(buffer, n)
            n = _fill(source, view)
        updater.finish()
        return
    skip = store.stage(buffer, n, any_version)
    while n:
        # A resumed capsule's first bytes are in the flash already.
        known = min(skip, n)
        skip -= known
        store.write(buffer if known == 0 else view[known:], n - known)
        n = _fill(source, view)
    store.finish()


def save(store, weights):
    """See Store.save."""
    store.check_writable()
    index = store.head.find(WEIGHTS) if store.active is not None else -1
    if index < 0:
        raise CapsuleError("table", "there is no model with weights to save to")
    size = store.head.section_size(index)
    weights = _buffers.as_bytes(weights, size)
    head, old, checker = store.incoming, store.head, store.checker
    base = store.slots.start(store.active)
    at = old.section_at(index)
    if _is_same(store, base + at, weights):
        return False
    for i in range(len(head.bytes)):
        head.bytes[i] = old.bytes[i]
    # The count of saves orders capsules of one version, should the journal be lost.
    head.bytes[_H_FLAGS] = old.bytes[_H_FLAGS] + 2 & 254 | _FLAG_LOCAL
    head.parse(len(head.bytes))
    checker.begin(head)
    for start, end in ((head.size, at), (at + size, head.total)):
        while start < end:
            start += checker.take(base + start, end - start)
        if end == at:
            checker.hasher.update(weights, size)
    checker.sign(head, store.wanted, old)
    store.make_room(False)
    store.write(head.bytes, head.size)
    _copy(store, base, head.size, at)
    store.write(weights, size)
    _copy(store, base, at + size, head.total)
    store.finish()
    store.confirm()
    return True


def _copy(store, base, start, end):
    """Write the bytes start to end of the capsule at base."""
    word = bytearray(4)
    while start < end:
        store.flash.readinto(base + start, word)
        n = min(4, end - start)
        store.write(word, n)
        start += n


def _is_same(store, at, weights):
    word = bytearray(1)
    for byte in weights:
        store.flash.readinto(at, word)
        if word[0] != byte:
            return False
        at += 1
    return True
