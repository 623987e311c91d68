# SPDX-License-Identifier: MIT
"""Ed25519 on the host, on the smallest board, and against OpenSSL."""

import os

import ed25519_vectors_source as source
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from acclimate_host.connect import open_board, why_not
from acclimate_host.paths import built
from acclimate_host.twin import ed25519 as twin


def test_vectors_of_the_device_tests_are_up_to_date():
    assert source.TARGET.read_text() == source.text()


def openssl(key, message, signature):
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@pytest.mark.parametrize("case", source.vectors(), ids=lambda case: case[0])
def test_what_is_taken_openssl_takes_too(case):
    """OpenSSL takes more: other encodings of a key, and keys of small order."""
    name, key, message, signature, taken = case
    assert taken == openssl(key, message, signature) or (not taken and "key" in name)


def test_every_bit_of_a_signature_counts():
    core = twin.load()
    if core is None:
        pytest.skip("twin of _ed25519 is not built; run: make twin")
    _, key, message, signature, _ = source.vectors()[1]
    for bit in range(512):
        wrong = bytearray(message + signature)
        wrong[len(message) + bit // 8] ^= 1 << bit % 8
        assert not core.verify(wrong, len(message), key, 0)


_ON_BOARD = """
import gc, _ed25519
gc.collect()
_d, _k = bytes.fromhex('{data}'), bytes.fromhex('{key}')
print(_ed25519.verify(_d, {n}, _k, 0))
"""


def test_the_native_module_on_the_32_kb_board():
    native = built("native", "armv6m", "_ed25519.mpy")
    reason = why_not("samd21") or (None if native.exists() else "no _ed25519.mpy for armv6m")
    if reason:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with open_board("samd21") as board:
        board.put_bytes(native.read_bytes(), "/_ed25519.mpy")
        board.soft_reset()
        for name, key, message, signature, taken in source.vectors():
            if name.startswith(("RFC", "good", "s + L", "R ", "A ")) and len(message) < 40:
                data = (message + signature).hex()
                code = _ON_BOARD.format(data=data, key=key.hex(), n=len(message))
                assert board.exec(code, 60).strip() == str(taken), name
