# SPDX-License-Identifier: MIT
"""Sign and verify what boards take: HMAC-SHA-256 with a shared key, or Ed25519 with a pair.

Verification is the device's own, so host and boards take and refuse the same.
"""

import hmac
import os
from collections.abc import Iterable
from typing import Union

from acclimate import _signature
from acclimate_host.capsules.layout import SIGNATURE_BYTES
from acclimate_host.errors import Missing, Refused
from acclimate_host.paths import KEY_FILE_BYTES, read_at_most

UNSIGNED = bytes(SIGNATURE_BYTES)


class SigningKey:
    """A private Ed25519 key; ``public`` are its 32 public bytes.

    :param secret: 32 bytes, the seed of RFC 8032.
    """

    def __init__(self, secret: bytes) -> None:
        try:
            from cryptography.hazmat.primitives.asymmetric import ed25519
        except ImportError:
            raise Missing("Ed25519 needs cryptography: pip install 'acclimate[sign]'") from None
        self._key = ed25519.Ed25519PrivateKey.from_private_bytes(secret)
        self.public = self._key.public_key().public_bytes_raw()

    def __repr__(self) -> str:
        return f"SigningKey(public {self.public.hex()})"

    def sign(self, message: bytes) -> bytes:
        """Return the signature, 64 bytes."""
        return self._key.sign(message)

    def pem(self) -> bytes:
        """Return the text of a key file (PKCS 8)."""
        from cryptography.hazmat.primitives import serialization as form

        return self._key.private_bytes(
            form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
        )


Key = Union[bytes, SigningKey]


def sign(message: bytes, key: Key | None) -> bytes:
    """Return the 64 bytes behind a signed text: a signature, or 32 zeros and an HMAC tag.

    :param key: HMAC key of 16 to 64 bytes; or a private key; None gives zeros.
    """
    if key is None:
        return UNSIGNED
    if isinstance(key, SigningKey):
        return key.sign(message)
    return bytes(32) + tag(message, key)


def tag(message: bytes, key: bytes) -> bytes:
    """Return the detached HMAC tag of a signed text, 32 bytes."""
    return hmac.new(key, message + bytes(32), "sha256").digest()


def is_signed(message: bytes, signature: bytes, key: Key | Iterable[bytes]) -> bool:
    """Tell whether a signature belongs to a message.

    :param key: HMAC key; private key; or several public keys, of which one has to fit.
    """
    if isinstance(key, bytes):
        return hmac.compare_digest(bytes(32) + tag(message, key), signature)
    publics = (key.public,) if isinstance(key, SigningKey) else key
    return any(_signature.verify(message + signature, len(message), k, 0) for k in publics)


def read_private(path: str | os.PathLike[str]) -> SigningKey:
    """Return the private Ed25519 key of a file (PEM).

    :raises Refused: it holds something else. AcclimateError: it cannot be read.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise Missing("Ed25519 needs cryptography: pip install 'acclimate[sign]'") from None
    try:
        found = load_pem_private_key(_bytes(path), None)
    except (ValueError, TypeError) as error:
        raise Refused(f"{path}: no private key: {error}") from None
    if not isinstance(found, ed25519.Ed25519PrivateKey):
        raise Refused(f"{path}: expected an Ed25519 key, got {type(found).__name__}")
    return SigningKey(found.private_bytes_raw())


def read_public(path: str | os.PathLike[str]) -> bytes:
    """Return the public key (32 bytes) of a file: 64 hexadecimal digits, or a private key.

    :raises Refused: no key, or one that boards refuse.
    """
    data = _bytes(path)
    if data[:5] == b"-----":
        return read_private(path).public
    try:
        public = bytes.fromhex(data.decode("ascii"))
    except ValueError:
        public = b""
    if len(public) != 32:
        raise Refused(f"{path}: expected a public key of 64 hexadecimal digits")
    if not _signature.is_key(public, 0):
        raise Refused(f"{path}: no Ed25519 key that boards take")
    return public


def _bytes(path: str | os.PathLike[str]) -> bytes:
    return read_at_most(path, KEY_FILE_BYTES)
