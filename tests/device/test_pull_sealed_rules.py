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
    """An encrypted file, as `acclimate capsule publish` writes it."""
    hasher, mark = Hasher(), bytearray(32)
    hasher.reset()
    hasher.update(b"acclimate object key" + key, 52)
    hasher.into(mark)
    head = bytearray(b"AENC\1\0\0\0") + bytes(4) + mark[:8] + digest + bytes(range(20))
    put_number(head, 8, len(plain))
    pages = [sealed_page(head, i, plain[at : at + 512], key)
             for i, at in enumerate(range(0, len(plain), 512))]  # fmt: skip
    return bytes(head) + b"".join(pages)


def sealed_page(head, index, plain, key=OBJECT_KEY):
    """A page behind a header, and its tag."""
    nonce = bytes(head[52:]) + bytes((index & 255, index >> 8, 0, 0))
    words = encrypted.subkey(key, nonce) + [0, 0] + encrypted._words(nonce, 16, 2)
    first, text = encrypted._block(words)[:32], bytearray(plain)
    for at in range(0, len(text), 64):
        words[8] += 1
        stream = encrypted._block(words)
        for i in range(min(64, len(text) - at)):
            text[at + i] ^= stream[i]
    return bytes(text) + encrypted._tag(first, bytes(head), bytes(text))


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


# ---- several pages -----------------------------------------------------------------------------

DIGEST = bytes(range(100, 132))


def content(n):
    return bytes([i * 7 + i // 256 & 255 for i in range(n)])


class Inside:
    """Stands for the part in an encrypted file, or for a receiver of blocks: keeps what it gets.

    :ivar reached: of what a receiver has already in its flash
    """

    any_version = False

    def __init__(self, size=0, reached=0):
        self.size, self.reached = size, reached
        self.got, self.skipped, self.store = [], [], new()
        self.manifest = self

    def names(self, head):
        return bytes(head[20:52]) == DIGEST

    def body(self, view, n):
        self.got.append(bytes(view[:n]))

    def skip(self, n):
        self.skipped.append(n)

    def _put(self, at, view, n):
        if at + n > self.reached:
            assert at <= self.reached
            self.got.append(bytes(view[:n])[self.reached - at :])
            self.reached = at + n
        return self.reached


def read(inside, file, piece, at=0, pages=None):
    """Give a file to the pages of an encrypted one in pieces; return its pages."""
    pages = pages or encrypted.Pages(inside, OBJECT_KEY)
    while at < len(file):
        n = min(piece, len(file) - at)
        done = pages.take(memoryview(file)[at : at + n], n)
        assert 0 < done <= n
        at += done
    return pages


def test_pages_come_whole_and_in_any_pieces():
    for size in (1, 511, 512, 513, 1024, 1100):
        file = sealed(content(size), DIGEST)
        for piece in (1, 100, 5000):
            inside = Inside(size)
            pages = read(inside, file, piece)
            assert pages.size == len(file) and b"".join(inside.got) == content(size)
            assert [len(part) for part in inside.got[:-1]] == [512] * ((size - 1) // 512)


def test_a_page_is_one_of_its_file_and_of_its_place():
    size = 1100
    file = sealed(content(size), DIGEST)
    head, pages = file[:72], [file[72:600], file[600:1128], file[1128:]]
    other = bytearray(head)
    other[52] ^= 1  # the nonce of another file
    for wrong, index in (
        ([pages[1], pages[0], pages[2]], 0),
        ([pages[0], pages[0], pages[2]], 1),
        ([pages[0], sealed_page(other, 1, content(512)), pages[2]], 1),
        ([pages[0], pages[1], sealed_page(head, 258, content(76))], 2),
        ([pages[0], pages[1], sealed_page(head, 2, content(76), bytes(32))], 2),
    ):
        inside = Inside(size)
        error = raised(CapsuleError, read, inside, head + b"".join(wrong), 333)
        assert error.reason == "encryption" and "page %d was changed" % index in str(error)
        assert len(inside.got) == index  # what was authentic went on, and no more


def test_each_field_of_a_header_is_looked_at():
    file = sealed(content(600), DIGEST)
    for at, word in (
        [(i, "plain, or does not begin with AENC") for i in range(4)]
        + [(i, "header of format") for i in range(4, 8)]
        + [(i, "the manifest says 600") for i in (8, 9, 10)]
        + [(i, "another key") for i in (12, 19)]
        + [(i, "another capsule") for i in (20, 51)]
        + [(i, "page 0 was changed") for i in (52, 71)]
    ):
        inside, bad = Inside(600), bytearray(file)
        bad[at] ^= 1
        inside.store.checker.hasher.reset()
        inside.store.checker.hasher.update(b"what was there before", 21)
        error = raised(CapsuleError, read, inside, bad, 200)
        assert error.reason == "encryption" and word in str(error), (at, error)
        assert not inside.got


def test_after_a_jump_a_file_goes_on_at_the_page_with_that_byte():
    size = 1700
    file = sealed(content(size), DIGEST)
    for start in (0, 1, 511, 512, 700, 1024, 1699):
        inside = Inside(size)
        pages = read(inside, file[:72], 50)
        at = pages.jump(start)
        page = start // 512
        assert at == 72 + page * 528 and inside.skipped == [start % 512]
        read(inside, file, 300, at, pages)
        assert b"".join(inside.got) == content(size)[page * 512 :]
    inside = Inside(size)  # in the middle of a page, of which nothing goes on
    pages = read(inside, file[:200], 50)
    read(inside, file, 300, pages.jump(1024), pages)
    assert b"".join(inside.got) == content(size)[1024:]


def test_blocks_know_what_is_in_a_file_and_which_sizes_no_encryption_makes():
    for n in (1, 15, 511, 512, 513, 1024, 1025, 1537):
        assert encrypted.Seal(OBJECT_KEY).file(Inside(), len(sealed(content(n), DIGEST))).size == n
    for pages in (0, 1, 2):
        for rest in range(17):
            size = 72 + 528 * pages + rest
            found = encrypted.Seal(OBJECT_KEY).file(Inside(), size).size
            assert found == (512 * pages if pages and not rest else 0), size


def test_blocks_may_come_twice_and_overlap():
    size = 1100
    file = sealed(content(size), DIGEST)
    for step, length in ((100, 100), (64, 200), (528, 600), (1300, 1300)):
        inside = Inside()
        into = encrypted.Seal(OBJECT_KEY).file(inside, len(file))
        for at in range(0, len(file), step):
            end = min(at + length, len(file))
            for _ in range(2):
                assert into._put(at, memoryview(file)[at:end], end - at) == end
        assert b"".join(inside.got) == content(size) and inside.reached == size


def test_blocks_pass_over_the_pages_that_the_flash_has():
    size = 2600
    file = sealed(content(size), DIGEST)
    for reached in (0, 300, 512, 1024, 1500, 2100):
        inside = Inside(reached=reached)
        into = encrypted.Seal(OBJECT_KEY).file(inside, len(file))
        given = at = 0
        while at < len(file):
            end = min(at + 264, len(file))
            given += end - at
            at = into._put(at, memoryview(file)[at:end], end - at)
        assert b"".join(inside.got) == content(size)[reached:]
        # The first page is read to learn where to go on; whole pages behind it are not.
        assert given <= len(file) - max(0, reached // 512 - 1) * 528 + 264, (reached, given)
