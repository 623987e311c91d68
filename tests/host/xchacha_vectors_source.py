# SPDX-License-Identifier: MIT
"""Write tests/device/xchacha_vectors.py: `python tests/host/xchacha_vectors_source.py`.

The vectors of draft-irtf-cfrg-xchacha-03 (2.2.1, A.3.1), and lengths around the blocks of ChaCha20
and Poly1305, made by OpenSSL's ChaCha20-Poly1305 under a derived key.
"""

import struct
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from acclimate.pull.encrypted import subkey

TARGET = Path(__file__).resolve().parents[1] / "device" / "xchacha_vectors.py"
# Key, first 16 bytes of the nonce, derived key.
DERIVED = (
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
    "000000090000004a0000000031415927",
    "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc",
)
DRAFT = (
    "draft A.3.1",
    "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
    "404142434445464748494a4b4c4d4e4f5051525354555657",
    "50515253c0c1c2c3c4c5c6c7",
    "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
    "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
    "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
    "21f9664c97637da9768812f615c68b13b52e"
    "c0875924c1c7987947deafd8780acf49",
    b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the "
    b"future, sunscreen would be it.".hex(),
)
LENGTHS = (0, 1, 15, 16, 17, 63, 64, 65, 128, 200, 512)


def made(n):
    """Return a vector of n bytes as texts, by OpenSSL."""
    key, nonce = bytes([n & 255]) * 31 + b"\x80", bytes(range(n & 63, (n & 63) + 24))
    ad, plain = bytes(range(n % 73)), bytes(7 * i & 255 for i in range(n))
    cipher = ChaCha20Poly1305(struct.pack("<8I", *subkey(key, nonce)))
    sent = cipher.encrypt(bytes(4) + nonce[16:], plain, ad)
    return f"{n} bytes", *(part.hex() for part in (key, nonce, ad, sent, plain))


def vectors():
    """Return all as (name, key, nonce, authenticated, encrypted with its tag, plain)."""
    return [DRAFT, *map(made, LENGTHS)]


def text():
    lines = ["# SPDX-License-Identifier: MIT"]
    lines += ['"""Made by tests/host/xchacha_vectors_source.py."""', ""]
    lines += ["# ruff: noqa: E501", "# key|nonce|derived key", f'DERIVED = "{"|".join(DERIVED)}"']
    lines += ["# name|key|nonce|authenticated|encrypted, tag|plain", 'VECTORS = """\\']
    lines += ["|".join(vector) for vector in vectors()]
    return "\n".join([*lines, '"""']) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text())
