# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "the heap has room for the module alone: tests/host/test_ed25519.py"}
# MIN_HEAP = 60000
"""Ed25519: one accept set on every runtime, of the native module and of pure Python."""

from ed25519_vectors import VECTORS

from acclimate import _signature


def cases():
    for line in VECTORS.strip().split("\n"):
        name, key, message, made, taken = line.split("|")
        data = bytes.fromhex(message) + bytes.fromhex(made)
        yield name, bytes.fromhex(key), data, taken == "1"


def test_signatures_of_the_rfc_and_edge_cases():
    for name, key, data, taken in cases():
        assert _signature.verify(data, len(data) - 64, key, 0) is taken, name


def test_keys_of_small_order_and_other_encodings_are_no_keys():
    for name, key, _, _ in cases():
        bad = "key" in name or name == "the sign of A"
        if name != "the sign of A":
            assert _signature.is_key(key, 0) is not bad, name


def test_a_key_may_lie_anywhere_in_a_buffer():
    name, key, data, _ = next(cases())
    keys = b"\xff" * 5 + key
    assert _signature.verify(data, len(data) - 64, keys, 5), name
    assert not _signature.verify(data, len(data) - 64, keys + bytes(5), 6)


def test_short_buffers_are_refused():
    _, key, data, _ = next(cases())
    for n, at in ((1, 0), (0, 1), (0, -1), (-1, 0)):
        try:
            _signature.verify(data, n, key, at)
        except ValueError as error:
            assert "short" in str(error)
        else:
            raise AssertionError((n, at))
