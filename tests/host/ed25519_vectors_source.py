# SPDX-License-Identifier: MIT
"""Write tests/device/ed25519_vectors.py: `python tests/host/ed25519_vectors_source.py`.

Signatures of RFC 8032, 7.1, and edge cases of Wycheproof's kind, made here: numbers and points
that are not canonical, points of small order, and points with a part of small order. Each has the
verdict of the rules of docs/security.md, worked out with the affine curve below, which shares
nothing with the code under test.
"""

import hashlib
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

TARGET = Path(__file__).resolve().parents[1] / "device" / "ed25519_vectors.py"
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
# RFC 8032, 7.1: secret key, message, first bytes of the signature
RFC = (
    ("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "", "e5564300c360ac72"),
    ("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb", "72", "92a009a9f0d4cab8"),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "af82",
        "6291d657deec24024827e69c3abe01a3",
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        hashlib.sha512(b"abc").hexdigest(),
        "dc2a4459e7369633",
    ),
)


def add(p, q):
    """Add two points of the curve -x^2 + y^2 = 1 + d x^2 y^2."""
    (x1, y1), (x2, y2) = p, q
    k = D * x1 * x2 * y1 * y2
    x = (x1 * y2 + x2 * y1) * pow(1 + k, -1, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - k, -1, P)
    return x % P, y % P


def times(n, p):
    result = (0, 1)
    while n:
        if n & 1:
            result = add(result, p)
        p, n = add(p, p), n >> 1
    return result


def encode(p, y=None, sign=None):
    """Encode a point; y and sign may be given otherwise than RFC 8032 says."""
    y = p[1] if y is None else y
    sign = p[0] & 1 if sign is None else sign
    return (y | sign << 255).to_bytes(32, "little")


def recover(y, sign=0):
    """Return the point of a y, or None."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square:
        return None
    return (P - x if x & 1 != sign else x), y


BASE = recover(4 * pow(5, -1, P) % P)


def torsion():
    """Return a point of order 8."""
    y = 2
    while True:
        point = recover(y)
        small = times(L, point) if point else (0, 1)
        if times(4, small) != (0, 1):
            return small
        y += 1


def challenge(r, key, message):
    return int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % L


def edge_cases():
    """Yield (name, key, message, signature, whether it is taken)."""
    secret, nonce, eighth = 0x1234567890ABCDEF << 100, 0xFEDCBA0987654321 << 120, torsion()
    key, r = encode(times(secret, BASE)), encode(times(nonce, BASE))
    message = b"edge of the accept set"

    def signature(r, key, message=message):
        return r + ((nonce + challenge(r, key, message) * secret) % L).to_bytes(32, "little")

    good = signature(r, key)
    yield "good", key, message, good, True
    s = int.from_bytes(good[32:], "little")
    for name, value in (("s + L", s + L), ("s + 2 L", s + 2 * L), ("s + 8 L", s + 8 * L)):
        yield name, key, message, r + value.to_bytes(32, "little"), False
    yield "s with its top bit", key, message, good[:63] + bytes([good[63] | 128]), False
    yield "s = 0", key, message, r + bytes(32), False
    yield "s = L", key, message, r + L.to_bytes(32, "little"), False
    yield "another bit of R", key, message, bytes([good[0] ^ 1]) + good[1:], False
    yield "the sign of R", key, message, good[:31] + bytes([good[31] ^ 128]) + good[32:], False
    yield "the sign of A", key[:31] + bytes([key[31] ^ 128]), message, good, False
    yield "another message", key, message + b"!", good, False
    yield "all zeros", key, message, bytes(64), False
    yield "a key off the curve", encode((0, 2)), message, good, False
    for i in range(8):
        small = times(i, eighth)
        name = f"a key of small order, {i} of 8"
        yield name, encode(small), message, encode((0, 1)) + bytes(32), False
        yield name + ", R the same", encode(small), message, encode(small) + bytes(32), False
    yield "key p + 1 for 1", encode((0, 1), P + 1), message, encode((0, 1)) + bytes(32), False
    yield "key p for 0", encode((0, 0), P), message, encode((0, 1)) + bytes(32), False
    yield "key of y = 1 with a sign", encode((0, 1), sign=1), message, bytes(64), False
    yield from points_with_small_parts(secret, nonce, eighth, message)


def points_with_small_parts(secret, nonce, eighth, message):
    """The equations with and without the cofactor differ here: ours, as OpenSSL's, is without."""
    key = encode(times(secret, BASE))
    r = encode(add(times(nonce, BASE), eighth))
    s = (nonce + challenge(r, key, message) * secret) % L
    yield "R with a small part", key, message, r + s.to_bytes(32, "little"), False
    mixed = encode(add(times(secret, BASE), eighth))
    seen = set()
    for i in range(64):
        text, plain = message + bytes([i]), encode(times(nonce, BASE))
        h = challenge(plain, mixed, text)
        if (h % 8 == 0) in seen:
            continue
        seen.add(h % 8 == 0)
        s = (nonce + h * secret) % L
        name = f"A with a small part, h = {h % 8} mod 8"
        yield name, mixed, text, plain + s.to_bytes(32, "little"), h % 8 == 0
    identity = encode((0, 1))
    s = challenge(identity, key, message) * secret % L
    yield "R the neutral point", key, message, identity + s.to_bytes(32, "little"), True
    wrong = encode((0, 1), P + 1)
    s = challenge(wrong, key, message) * secret % L
    yield "R p + 1 for 1", key, message, wrong + s.to_bytes(32, "little"), False
    wrong = encode((0, 1), sign=1)
    s = challenge(wrong, key, message) * secret % L
    yield "R of y = 1 with a sign", key, message, wrong + s.to_bytes(32, "little"), False


def vectors():
    """Return all as a list of (name, key, message, signature, whether it is taken)."""
    found = []
    for number, (secret, message, start) in enumerate(RFC, 1):
        key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
        made = key.sign(bytes.fromhex(message))
        assert made.hex().startswith(start)
        public = key.public_key().public_bytes_raw()
        found.append((f"RFC 8032, {number}", public, bytes.fromhex(message), made, True))
    for size in (47, 48, 63, 64, 175, 176):  # around the blocks of SHA-512
        key = Ed25519PrivateKey.from_private_bytes(bytes([size]) * 32)
        text = bytes(range(size))
        public = key.public_key().public_bytes_raw()
        found.append((f"{size} bytes", public, text, key.sign(text), True))
    return found + list(edge_cases())


def text():
    lines = ["# SPDX-License-Identifier: MIT"]
    lines.append('"""Made by tests/host/ed25519_vectors_source.py: a text for each signature."""')
    lines += ["", "# name|key|message|signature|1 where it is taken"]
    lines += ["# ruff: noqa: E501", 'VECTORS = """\\']
    for name, key, message, made, taken in vectors():
        lines.append(f"{name}|{key.hex()}|{message.hex()}|{made.hex()}|{int(taken)}")
    return "\n".join([*lines, '"""']) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text())
