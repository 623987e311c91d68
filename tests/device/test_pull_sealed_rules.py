# SPDX-License-Identifier: MIT
"""Pulls of encrypted files: what is counted, skipped and closed around the part inside."""

# RUNTIMES = ("cpython", "desktop")

from capsule_vectors import BASE, KEY, TARGET, UPDATE
from pull_cases import PAGE, URL, asked, begun, give, half_pulled, manifest, new, part, reply
from store_cases import model, raised

from acclimate._digest import Hasher
from acclimate.pull import HttpError, encrypted
from acclimate.pull.exchange import Pull
from acclimate.store import CapsuleError
from acclimate.store.capsule import put_number

OBJECT_KEY = bytes(range(32))


def sealed(plain, digest, key=OBJECT_KEY):
    """An encrypted file of one page, as `acclimate capsule publish` writes it."""
    assert len(plain) <= 512
    hasher, mark = Hasher(), bytearray(32)
    hasher.reset()
    hasher.update(b"acclimate object key" + key, 52)
    hasher.into(mark)
    head = bytearray(b"AENC\1\0\0\0") + bytes(4) + mark[:8] + digest + bytes(range(20))
    put_number(head, 8, len(plain))
    nonce = bytes(head[52:]) + bytes(4)
    words = encrypted.subkey(key, nonce) + [0, 0] + encrypted._words(nonce, 16, 2)
    first, text = encrypted._block(words)[:32], bytearray(plain)
    for at in range(0, len(text), 64):
        words[8] += 1
        stream = encrypted._block(words)
        for i in range(min(64, len(text) - at)):
            text[at + i] ^= stream[i]
    return bytes(head) + bytes(text) + encrypted._tag(first, bytes(head), bytes(text))


def test_a_sealed_capsule_and_a_sealed_update_are_pulled():
    for entries, plain in ((None, TARGET), ([(bytes(BASE[20:36]), len(UPDATE))], UPDATE)):
        for pieces in (7, 500):
            store = new()
            pull = Pull(store, URL, object_key=OBJECT_KEY)
            for answer in (manifest(entries=entries, b7=1), sealed(plain, TARGET[20:52])):
                assert asked(pull)[1] == 0
                assert give(pull, reply(answer), pieces)
            assert pull.is_ready and store.state == "verified"
            assert store.checker.vouch is None
            store.confirm()
            assert model(store) == TARGET


def test_a_sealed_capsule_of_another_key_or_changed_is_refused():
    bad = bytearray(sealed(TARGET, TARGET[20:52]))
    bad[-20] ^= 1
    for answer in (bad, sealed(TARGET, TARGET[20:52], KEY + bytes(32 - len(KEY)))):
        store = new()
        pull = Pull(store, URL, object_key=OBJECT_KEY)
        asked(pull)
        assert give(pull, reply(manifest(b7=1)))
        asked(pull)
        assert raised(CapsuleError, give, pull, reply(answer)).reason == "encryption"
        assert model(store) == BASE


def test_a_key_for_objects_needs_the_file_that_reads_them():
    before = encrypted.Seal
    del encrypted.Seal
    try:
        error = raised(ImportError, lambda: Pull(new(), URL, object_key=OBJECT_KEY))
        assert "--with encrypted" in str(error)
    finally:
        encrypted.Seal = before
    Pull(new(), URL, object_key=OBJECT_KEY)


# ---- what counts, with pages that are not encrypted --------------------------------------------


class Plain:
    """Stands for the pages of a file: ten bytes of a header, then what is in it as it is."""

    HEAD = 10

    def __init__(self, part):
        self.size = self.HEAD + part.size
        self.part = part
        self.left = self.HEAD
        self.jumps = []

    def take(self, view, n):
        if self.left:
            n = min(n, self.left)
            self.left -= n
        else:
            self.part.body(view, n)
        return n

    def jump(self, start):
        self.jumps.append(start)
        page = start // 512 * 512
        self.part.skip(start - page)
        return self.HEAD + page


def begun_in(store, capsule=TARGET):
    pull = begun(store, capsule=capsule)
    pull._part = encrypted.Sealed(pull._part, Plain(pull._part))
    return pull


def test_bytes_of_the_file_count_and_not_those_in_it():
    whole = bytes(10) + TARGET
    for at in (3, 10, 60, 200):
        store = new()
        pull = begun_in(store)
        assert asked(pull)[1] == 0
        answer = reply(whole)
        assert not give(pull, answer[: len(answer) - len(whole) + at], 7)
        assert pull.lost(HttpError("gone")) == 1
        assert asked(pull)[1] == at
        assert give(pull, part(whole, at)) and pull.is_ready
        store.confirm()
        assert model(store) == TARGET
    for change, reason in ((-1, "truncated"), (1, "oversized")):
        pull = begun_in(new())
        pull.request()
        answer = reply(whole, length=len(whole) + change)
        assert raised(CapsuleError, give, pull, answer).reason == reason


def test_pages_that_a_reset_left_are_jumped_over_by_whole_pages():
    for written, jumps in ((1024, False), (4096 + 384, True)):
        store, data = half_pulled(written, 6000, 130)
        pull = begun_in(store, data)
        pull.request()
        whole, start = bytes(10) + data, written - PAGE
        if jumps:
            assert give(pull, reply(whole)) and not pull.is_ready
            assert asked(pull)[1] == 10 + start // 512 * 512
            assert give(pull, part(whole, 10 + start // 512 * 512))
        else:
            assert give(pull, reply(whole))
        assert pull._part._pages.jumps == ([start] if jumps else [])
        assert pull.is_ready
        store.confirm()
        assert model(store) == data
