# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "the heap has room for the module alone: tests/host/test_encrypted.py"}
# MIN_HEAP = 60000
"""XChaCha20-Poly1305: the same on every runtime, by the native module and by pure Python."""

from xchacha_vectors import DERIVED, VECTORS

from acclimate.pull.encrypted import Seal, subkey, unlock
from acclimate.store import CapsuleError


def cases():
    for line in VECTORS.strip().split("\n"):
        name, *parts = line.split("|")
        yield [name] + [bytes.fromhex(part) for part in parts]


def raised(kind, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        return error
    raise AssertionError("expected " + kind.__name__)


def test_the_vectors_of_the_draft_and_lengths_around_blocks():
    for name, key, nonce, ad, sent, plain in cases():
        buffer = bytearray(sent)
        assert unlock(buffer, len(plain), key, nonce, ad), name
        assert buffer == plain + sent[len(plain) :], name


def test_the_derived_key_of_the_draft():
    key, nonce, wanted = [bytes.fromhex(part) for part in DERIVED.split("|")]
    made = b"".join([word.to_bytes(4, "little") for word in subkey(key, nonce)])
    assert made == wanted


def test_a_change_anywhere_is_seen_and_nothing_is_decrypted():
    for name, *parts, plain in list(cases())[:4]:
        for which in range(4):
            for at in range(0, len(parts[which]), 5):
                wrong = [bytearray(part) for part in parts]
                wrong[which][at] ^= 1 << at % 8
                key, nonce, ad, buffer = wrong
                before = bytes(buffer)
                assert not unlock(buffer, len(plain), key, nonce, ad), (name, which, at)
                assert buffer == before


def test_wrong_lengths_are_named():
    _, key, nonce, ad, sent, plain = next(cases())
    n, buffer = len(plain), bytearray(sent)
    for bad in (nonce[:12], nonce[:23], nonce + b"x", b""):
        assert "nonce" in str(raised(ValueError, unlock, buffer, n, key, bad, ad))
    for bad in (key[:31], key + b"x"):
        assert "key" in str(raised(ValueError, unlock, buffer, n, bad, nonce, ad))
    for bad in (n + 1, -1):
        assert "buffer" in str(raised(ValueError, unlock, buffer, bad, key, nonce, ad))
    assert buffer == sent


def test_a_key_has_32_bytes():
    Seal(bytes(32))
    for bad in (bytes(31), bytes(33), "no_such.key"):
        error = raised(CapsuleError, Seal, bad)
        assert error.reason == "key" and "by cable" in str(error)
