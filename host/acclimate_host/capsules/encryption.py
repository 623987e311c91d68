# SPDX-License-Identifier: MIT
"""Encrypts the objects of a repository, so that only boards with the key can read them.

What is signed is the plain capsule; this comes after it, and after the update was made. See
docs/security.md. The cipher is that of `cryptography`; the boards have Monocypher's.
"""

import hashlib
import hmac
import os
import secrets
import struct

from acclimate.pull.encrypted import subkey
from acclimate_host.capsules.layout import ENCRYPTED, MAC_BYTES, SEALED_PAGE, UPDATE
from acclimate_host.errors import Missing, Refused
from acclimate_host.paths import KEY_FILE_BYTES, read_at_most

KEY_BYTES = 32
MAGIC = b"AENC"
_HEAD = struct.Struct("<4sB3sI8s32s20s")
assert _HEAD.size == ENCRYPTED.bytes


def read_object_key(path: str | os.PathLike[str]) -> bytes:
    """Return the key of a file that `acclimate capsule key FILE` made.

    :raises Refused: it has other than 32 bytes. AcclimateError: it cannot be read.
    """
    key = read_at_most(path, KEY_FILE_BYTES)
    _check(key, path)
    return key


def seal(data: bytes, key: bytes) -> bytes:
    """Return a capsule or an update, encrypted under a nonce that no other object has.

    :param key: 32 bytes.
    """
    _check(key)
    fresh = secrets.token_bytes(32)
    nonce = hmac.new(key, b"acclimate nonce " + fresh + data, "sha256").digest()[:20]
    at = UPDATE.bytes if data[:4] == b"AUPD" else 0
    digest = data[at + 20 : at + 52]
    head = _HEAD.pack(MAGIC, 1, bytes(3), len(data), mark(key), digest, nonce)
    pages = range(0, len(data), SEALED_PAGE)
    cipher = _Pages(key, nonce, head)
    return head + b"".join(
        cipher.encrypt(data[at : at + SEALED_PAGE], i) for i, at in enumerate(pages)
    )


def unseal(data: bytes, key: bytes | None) -> bytes:
    """Return the plain bytes of an object; one that is not encrypted as it is.

    :raises Refused: no key, another one, or the object is damaged.
    """
    if data[:4] != MAGIC:
        return data
    if key is None:
        raise Refused("encrypted: give the object key")
    _check(key)
    if len(data) < ENCRYPTED.bytes:
        raise Refused(f"encrypted object of {len(data)} bytes: {ENCRYPTED.bytes} or more")
    head, body = data[: ENCRYPTED.bytes], data[ENCRYPTED.bytes :]
    _, form, zero, size, found, _, nonce = _HEAD.unpack(head)
    if form != 1 or any(zero):
        raise Refused(f"encrypted object of format {form}: expected 1")
    if not hmac.compare_digest(found, mark(key)):
        raise Refused("encrypted with another key than this object key")
    step = SEALED_PAGE + MAC_BYTES
    cipher = _Pages(key, nonce, head)
    plain = b"".join(
        cipher.decrypt(body[at : at + step], i) for i, at in enumerate(range(0, len(body), step))
    )
    if len(plain) != size:
        raise Refused(f"encrypted object of {len(plain)} plain bytes: its header says {size}")
    return plain


def mark(key: bytes) -> bytes:
    """Return what tells one object key from another, 8 bytes."""
    return hashlib.sha256(b"acclimate object key" + key).digest()[:8]


class _Pages:
    """XChaCha20-Poly1305: ChaCha20-Poly1305 under a key that 16 bytes of the nonce derive."""

    def __init__(self, key: bytes, nonce: bytes, head: bytes) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
        except ImportError:
            raise Missing("encryption needs cryptography: pip install 'acclimate[sign]'") from None
        self._cipher = ChaCha20Poly1305(struct.pack("<8I", *subkey(key, nonce)))
        self._rest = bytes(4) + nonce[16:]
        self._head = head

    def encrypt(self, page: bytes, index: int) -> bytes:
        return self._cipher.encrypt(self._rest + index.to_bytes(4, "little"), page, self._head)

    def decrypt(self, page: bytes, index: int) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            nonce = self._rest + index.to_bytes(4, "little")
            return self._cipher.decrypt(nonce, page, self._head)
        except InvalidTag:
            raise Refused(f"encrypted object: page {index} was changed") from None


def _check(key: bytes, whose: object = "object key") -> None:
    if len(key) != KEY_BYTES:
        raise Refused(f"{whose}: {len(key)} bytes: expected an object key of {KEY_BYTES}")
