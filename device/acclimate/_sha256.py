# SPDX-License-Identifier: MIT
"""SHA-256 in pure Python, for firmware without hashlib (SAMD21, for one).

All arithmetic is on 16-bit halves: nothing leaves the small integers of a 32-bit board, so
hashing allocates nothing. An object takes about 250 bytes, however much it hashes.

    try:
        from hashlib import sha256
    except ImportError:
        from acclimate._sha256 import sha256
"""

from array import array

# Fractional parts of the cube roots of the first 64 primes, big-endian words.
_K = (
    b"\x42\x8a\x2f\x98\x71\x37\x44\x91\xb5\xc0\xfb\xcf\xe9\xb5\xdb\xa5\x39\x56\xc2\x5b"
    b"\x59\xf1\x11\xf1\x92\x3f\x82\xa4\xab\x1c\x5e\xd5\xd8\x07\xaa\x98\x12\x83\x5b\x01"
    b"\x24\x31\x85\xbe\x55\x0c\x7d\xc3\x72\xbe\x5d\x74\x80\xde\xb1\xfe\x9b\xdc\x06\xa7"
    b"\xc1\x9b\xf1\x74\xe4\x9b\x69\xc1\xef\xbe\x47\x86\x0f\xc1\x9d\xc6\x24\x0c\xa1\xcc"
    b"\x2d\xe9\x2c\x6f\x4a\x74\x84\xaa\x5c\xb0\xa9\xdc\x76\xf9\x88\xda\x98\x3e\x51\x52"
    b"\xa8\x31\xc6\x6d\xb0\x03\x27\xc8\xbf\x59\x7f\xc7\xc6\xe0\x0b\xf3\xd5\xa7\x91\x47"
    b"\x06\xca\x63\x51\x14\x29\x29\x67\x27\xb7\x0a\x85\x2e\x1b\x21\x38\x4d\x2c\x6d\xfc"
    b"\x53\x38\x0d\x13\x65\x0a\x73\x54\x76\x6a\x0a\xbb\x81\xc2\xc9\x2e\x92\x72\x2c\x85"
    b"\xa2\xbf\xe8\xa1\xa8\x1a\x66\x4b\xc2\x4b\x8b\x70\xc7\x6c\x51\xa3\xd1\x92\xe8\x19"
    b"\xd6\x99\x06\x24\xf4\x0e\x35\x85\x10\x6a\xa0\x70\x19\xa4\xc1\x16\x1e\x37\x6c\x08"
    b"\x27\x48\x77\x4c\x34\xb0\xbc\xb5\x39\x1c\x0c\xb3\x4e\xd8\xaa\x4a\x5b\x9c\xca\x4f"
    b"\x68\x2e\x6f\xf3\x74\x8f\x82\xee\x78\xa5\x63\x6f\x84\xc8\x78\x14\x8c\xc7\x02\x08"
    b"\x90\xbe\xff\xfa\xa4\x50\x6c\xeb\xbe\xf9\xa3\xf7\xc6\x71\x78\xf2"
)
# Fractional parts of the square roots of the first 8 primes, as halves.
_START = (
    0x6A09, 0xE667, 0xBB67, 0xAE85, 0x3C6E, 0xF372, 0xA54F, 0xF53A,
    0x510E, 0x527F, 0x9B05, 0x688C, 0x1F83, 0xD9AB, 0x5BE0, 0xCD19,
)  # fmt: skip


def _expand(w):
    """Replace the 16 words (halves: high, low) by the next 16 of the schedule."""
    for i in range(0, 32, 2):
        j = i + 2 & 31
        hi, lo = w[j], w[j + 1]
        high = (hi >> 7 ^ lo << 9 ^ lo >> 2 ^ hi << 14 ^ hi >> 3) & 0xFFFF
        low = (lo >> 7 ^ hi << 9 ^ hi >> 2 ^ lo << 14 ^ lo >> 3 ^ hi << 13) & 0xFFFF
        j = i + 28 & 31
        hi, lo = w[j], w[j + 1]
        high += (lo >> 1 ^ (hi & 1) << 15 ^ lo >> 3 ^ hi << 13 ^ hi >> 10) & 0xFFFF
        low += (hi >> 1 ^ (lo & 1) << 15 ^ hi >> 3 ^ lo << 13 ^ lo >> 10 ^ hi << 6) & 0xFFFF
        j = i + 18 & 31
        low += w[i + 1] + w[j + 1]
        w[i] = high + w[i] + w[j] + (low >> 16) & 0xFFFF
        w[i + 1] = low & 0xFFFF


def _compress(state, w):
    """Take the 16 words of one block into the state."""
    k = _K
    ah, al, bh, bl, ch, cl, dh, dl = state[0:8]
    eh, el, fh, fl, gh, gl, hh, hl = state[8:16]
    for i in range(64):
        j = i << 1 & 31
        if i and not j:
            _expand(w)
        low = el >> 6 ^ eh << 10 ^ el >> 11 ^ eh << 5 ^ eh >> 9 ^ el << 7
        high = eh >> 6 ^ el << 10 ^ eh >> 11 ^ el << 5 ^ el >> 9 ^ eh << 7
        low = (low & 0xFFFF) + hl + (gl ^ el & (fl ^ gl)) + w[j + 1]
        high = (high & 0xFFFF) + hh + (gh ^ eh & (fh ^ gh)) + w[j]
        j = i << 2
        low += k[j + 2] << 8 | k[j + 3]
        high += k[j] << 8 | k[j + 1]
        hh, hl, gh, gl, fh, fl = gh, gl, fh, fl, eh, el
        el = dl + (low & 0xFFFF)
        eh = dh + high + (low >> 16) + (el >> 16) & 0xFFFF
        el &= 0xFFFF
        dh, dl = ch, cl
        j = (al >> 2 ^ ah << 14 ^ al >> 13 ^ ah << 3 ^ ah >> 6 ^ al << 10) & 0xFFFF
        low += j + (al & bl | cl & (al | bl))
        j = (ah >> 2 ^ al << 14 ^ ah >> 13 ^ al << 3 ^ al >> 6 ^ ah << 10) & 0xFFFF
        high += j + (ah & bh | ch & (ah | bh)) + (low >> 16)
        ch, cl, bh, bl = bh, bl, ah, al
        ah, al = high & 0xFFFF, low & 0xFFFF
    _add(state, 0, ah, al, bh, bl, ch, cl, dh, dl)
    _add(state, 8, eh, el, fh, fl, gh, gl, hh, hl)


def _add(state, at, *halves):
    for i in range(0, 8, 2):
        low = state[at + i + 1] + halves[i + 1]
        state[at + i] = state[at + i] + halves[i] + (low >> 16) & 0xFFFF
        state[at + i + 1] = low & 0xFFFF


class sha256:
    """The hash of what ``update`` is given, as ``hashlib.sha256``.

    >>> sha256(b"abc").hexdigest()[:16]
    'ba7816bf8f01cfea'
    """

    digest_size = 32
    block_size = 64

    def __init__(self, data=b""):
        self._state = array("H", _START)
        self._words = array("H", bytes(64))
        self._size = 0
        self.update(data)

    def update(self, data):
        """Add bytes, a bytearray or a memoryview of bytes; of any length."""
        w, at = self._words, self._size & 63
        self._size += len(data)
        for byte in data:
            i = at >> 1
            w[i] = (w[i] << 8 | byte) & 0xFFFF
            at += 1
            if at == 64:
                _compress(self._state, w)
                at = 0

    def digest(self):
        """Return the 32 bytes; more may be added afterwards."""
        state, words, size = self._state, self._words, self._size
        self._state, self._words = array("H", state), array("H", words)
        self.update(b"\x80")
        while self._size & 63 != 56:
            self.update(b"\0")
        for shift in (53, 45, 37, 29, 21, 13, 5):
            self.update(bytes((size >> shift & 255,)))
        self.update(bytes((size << 3 & 255,)))
        result = bytearray(32)
        for i in range(16):
            result[2 * i] = self._state[i] >> 8
            result[2 * i + 1] = self._state[i] & 255
        self._state, self._words, self._size = state, words, size
        return bytes(result)

    def hexdigest(self):
        """Return the digest as 64 hexadecimal digits."""
        return "".join("%02x" % byte for byte in self.digest())
