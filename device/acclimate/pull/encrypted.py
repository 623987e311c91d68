# SPDX-License-Identifier: MIT
"""Objects that only boards with the key can read: XChaCha20-Poly1305, page by page.

A page is authenticated in full before a byte of it goes on. The native module does that where it
loads, else Python's long integers. docs/security.md says what is protected, and what is not.
"""

from acclimate import _native
from acclimate.pull.part import Part
from acclimate.store import CapsuleError
from acclimate.store.capsule import number

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_X_FORMAT = const(4)
_X_ZERO = const(5)
_X_SIZE = const(8)
_X_MARK = const(12)
_X_DIGEST = const(20)
_X_NONCE = const(52)
_X_BYTES = const(72)
_SEALED_PAGE = const(512)
_MAC_BYTES = const(16)
# layout: end
_LABEL = b"acclimate object key"
_MASK = 0xFFFFFFFF


class Seal:
    """The key of a board's objects.

    :param key: 32 bytes, or the path of a file with them.
    :raises CapsuleError: "key": the file is missing, or has other than 32 bytes.
    """

    def __init__(self, key):
        path = "object_key"
        if isinstance(key, str):
            path, key = key, _read(key)
        if len(key) != 32:
            text = "%s: %d bytes, not 32; bring it by cable: acclimate capsule key --objects"
            raise CapsuleError("key", text % (path, len(key)))
        self._key = bytes(key)

    def around(self, part):
        """Return the `Sealed` file that leads to a part of a pull."""
        return Sealed(part, Pages(part, self._key))

    def file(self, receiver, size):
        """Return the `Blocks` of an encrypted file of so many bytes, for a `Receiver`."""
        return Blocks(receiver, size, self._key)


class Sealed(Part):
    """An encrypted file: what is in it goes to ``part``, page by page."""

    def __init__(self, part, pages):
        super().__init__(part.store, part.manifest, pages.size, part.any_version)
        self.part = part
        self._pages = pages

    def take(self, view, n):
        n = self._pages.take(view, n)
        self.have += n
        return n

    def wants_jump(self):
        """Skip the pages that a reset left in the flash; a page is decrypted whole, though."""
        if not self.part.wants_jump():
            return False
        self.have = self._pages.jump(self.part.have)
        return True

    def close(self):
        self.part.finish()


class Pages:
    """The pages of one encrypted file of ``size`` bytes; each goes on once it is authentic."""

    def __init__(self, part, key):
        count = (part.size + _SEALED_PAGE - 1) // _SEALED_PAGE
        self.size = _X_BYTES + part.size + count * _MAC_BYTES
        self._part = part
        self._key = key
        self._head = bytearray(_X_BYTES)
        self._nonce = bytearray(24)
        self._page = bytearray(_SEALED_PAGE + _MAC_BYTES)
        self._into = self._head
        self._index = self._fill = 0

    def take(self, view, n):
        """Take at most n bytes, and no more than the page has; return how many."""
        into, done, need = self._into, self._fill, _X_BYTES
        if into is self._page:
            need = self._plain() + _MAC_BYTES
        n = min(n, need - done)
        for i in range(n):
            into[done + i] = view[i]
        self._fill += n
        if self._fill == need:
            self._fill = 0
            if into is self._head:
                self._check_head()
                self._into = self._page
            else:
                self._open(need - _MAC_BYTES)
        return n

    def jump(self, start):
        """Go to the page with plain byte start; return where it is in the file."""
        self._index = start // _SEALED_PAGE
        self._fill = 0
        self._part.skip(start - self._index * _SEALED_PAGE)
        return _X_BYTES + self._index * (_SEALED_PAGE + _MAC_BYTES)

    def _plain(self):
        """Return the plain bytes of the page that comes."""
        return min(_SEALED_PAGE, self._part.size - self._index * _SEALED_PAGE)

    def _check_head(self):
        head = self._head
        if bytes(head[:4]) != b"AENC":
            raise CapsuleError("encryption", "the object is plain, or does not begin with AENC")
        if head[_X_FORMAT] != 1 or any(head[_X_ZERO:_X_SIZE]):
            raise CapsuleError("encryption", "header of format %d, not 1" % head[_X_FORMAT])
        if number(head, _X_SIZE) != self._part.size:
            text = "%d bytes, the manifest says %d" % (number(head, _X_SIZE), self._part.size)
            raise CapsuleError("encryption", text)
        if not self._part.manifest.names(head):  # the digest lies where a capsule's does
            raise CapsuleError("encryption", "an object of another capsule than the manifest's")
        mark, hasher = bytearray(32), self._part.store.checker.hasher
        hasher.reset()
        hasher.update(_LABEL + self._key, len(_LABEL) + 32)
        hasher.into(mark)
        if mark[:8] != head[_X_MARK:_X_DIGEST]:
            raise CapsuleError("encryption", "encrypted with another key than this device's")
        self._nonce[:20] = head[_X_NONCE:]

    def _open(self, n):
        """Authenticate the page, then give its n plain bytes on."""
        for i in range(4):
            self._nonce[20 + i] = self._index >> 8 * i & 255
        if not unlock(self._page, n, self._key, self._nonce, self._head):
            raise CapsuleError("encryption", "page %d was changed" % self._index)
        self._index += 1
        self._part.body(memoryview(self._page), n)


class Blocks:
    """An encrypted file that comes in blocks: what is in it goes to a `Receiver`, page by page.

    :ivar size: bytes of what is in it; 0 for a file that no encryption makes
    """

    def __init__(self, receiver, size, key):
        rest = size - _X_BYTES
        page = _SEALED_PAGE + _MAC_BYTES
        self.size = rest - (rest + page - 1) // page * _MAC_BYTES
        self.store = receiver.store
        self.manifest = self
        self._receiver = receiver
        self._pages = Pages(self, key)
        if self._pages.size != size:
            self.size = 0
        self._at = 0  # of the file
        self._from = 0  # of what is in it

    def names(self, head):
        """No manifest says which capsule is to come: its signature and version decide."""
        return True

    def _put(self, at, view, n):
        """Take n bytes of the file from its byte `at` on; return which of its bytes is next."""
        i = max(0, self._at - at)
        while i < n:
            i += self._pages.take(view[i:], n - i)
            self._at = max(self._at, at + i)
            i = self._at - at
        return self._at

    def body(self, view, n):
        """Give on the plain bytes of a page; go to the page that a reset has left."""
        reached = self._receiver._put(self._from, view, n)
        self._from += n
        if reached > self._from:
            self._at = self._pages.jump(reached)
            self._from = reached // _SEALED_PAGE * _SEALED_PAGE

    def skip(self, n):
        """The `Receiver` passes over what the flash holds."""


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


# ---- XChaCha20-Poly1305 --------------------------------------------------------------------


def unlock(buffer, n, key, nonce, ad):
    """Decrypt the first n bytes of a buffer in place; the 16 bytes after them are their tag.

    :param key: 32 bytes; :param nonce: 24; :param ad: bytes that are authenticated with them.
    :return: whether the tag is right; the buffer is as it was where it is not.
    :raises ValueError: a length is wrong.
    """
    for name, part, size in (("key", key, 32), ("nonce", nonce, 24)):
        if len(part) != size:
            raise ValueError("%s: expected %d bytes, got %d" % (name, size, len(part)))
    if n < 0 or len(buffer) < n + _MAC_BYTES:
        raise ValueError("buffer: expected %d + 16 bytes, got %d" % (n, len(buffer)))
    core = _native.load("xchacha")
    if core:
        return core.unlock(buffer, n, key, nonce, ad)
    words = subkey(key, nonce) + [0, 0] + _words(nonce, 16, 2)
    tag, given = _tag(_block(words)[:32], bytes(ad), bytes(buffer[:n])), buffer[n : n + 16]
    wrong = 0
    for i in range(16):
        wrong |= tag[i] ^ given[i]
    if wrong:
        return False
    for at in range(0, n, 64):
        words[8] += 1
        stream = _block(words)
        for i in range(min(64, n - at)):
            buffer[at + i] ^= stream[i]
    return True


def subkey(key, nonce):
    """Return HChaCha20 of a key and the first 16 bytes of a nonce, as eight words."""
    state = _mixed(_words(key, 0, 8) + _words(nonce, 0, 4))
    return state[:4] + state[12:]


def _words(data, at, count):
    return [int.from_bytes(bytes(data[i : i + 4]), "little") for i in range(at, at + 4 * count, 4)]


def _mixed(words):
    """The twenty rounds of ChaCha20 over its constant and twelve words (RFC 8439, 2.3)."""
    x = _words(b"expand 32-byte k", 0, 4) + words
    for _ in range(10):
        for i in range(8):
            # Four columns, then four diagonals.
            a, turn = i & 3, i >> 2
            b, c, d = 4 + (a + turn & 3), 8 + (a + 2 * turn & 3), 12 + (a + 3 * turn & 3)
            for p, q, r, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[p] = x[p] + x[q] & _MASK
                y = x[r] ^ x[p]
                x[r] = (y << bits | y >> 32 - bits) & _MASK
    return x


def _block(words):
    """Return 64 bytes of the stream; words: key, counter, nonce."""
    start, out = _words(b"expand 32-byte k", 0, 4) + words, b""
    for one, other in zip(_mixed(words), start):  # noqa: B905
        out += (one + other & _MASK).to_bytes(4, "little")
    return out


def _tag(key, ad, text):
    """Return Poly1305 of both, filled up, and of their lengths (RFC 8439, 2.8)."""
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    data = ad + bytes(-len(ad) % 16) + text + bytes(-len(text) % 16)
    data += len(ad).to_bytes(8, "little") + len(text).to_bytes(8, "little")
    for at in range(0, len(data), 16):
        total = (total + int.from_bytes(data[at : at + 16], "little") + (1 << 128)) * r
        total %= (1 << 130) - 5
    total += int.from_bytes(key[16:], "little")
    return (total & (1 << 128) - 1).to_bytes(16, "little")
