# SPDX-License-Identifier: MIT
"""SHA-256 in pure Python against the vectors of NIST (FIPS 180-4 and SHAVS)."""

from acclimate._sha256 import sha256

VECTORS = (
    (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
        b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    ),
    (b"\xbd", "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"),
    (b"\xc9\x8c\x8e\x55", "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504"),
)


def test_published_vectors():  # case: K1, K2
    for message, digest in VECTORS:
        assert sha256(message).hexdigest() == digest, message


def test_lengths_around_a_block():  # case: K1
    zeros = {
        55: "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7",
        56: "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb",
        57: "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785",
        64: "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b",
    }
    for size, digest in zeros.items():
        assert sha256(bytes(size)).hexdigest() == digest, size


def test_pieces_give_what_the_whole_gives():
    message = VECTORS[2][0] * 3
    whole = sha256(message).digest()
    for size in (1, 7, 63, 64, 65):
        pieces = sha256()
        view = memoryview(message)
        for start in range(0, len(message), size):
            pieces.update(view[start : start + size])
        assert pieces.digest() == whole, size


def test_digest_may_be_read_and_more_added():
    h = sha256(b"a")
    first = h.digest()
    assert h.digest() == first
    h.update(b"bc")
    assert h.hexdigest() == VECTORS[1][1]


def test_update_allocates_nothing_that_stays():
    import gc

    if not hasattr(gc, "mem_alloc"):
        return "no heap to look at"
    h, block = sha256(), bytes(64)
    more = []
    for _ in range(3):  # a word on the stack may keep what it happens to point to, once
        h.update(block)
        gc.collect()
        before = gc.mem_alloc()
        for _ in range(4):
            h.update(block)
        gc.collect()
        more.append(gc.mem_alloc() - before)
    assert min(more) <= 0, more


def test_native_code_reads_no_byte_that_a_buffer_has_not():
    from acclimate import _native

    core = _native.load("codec")
    if core is None:
        return "no native module here"
    state = bytearray(core.SHA_BYTES)
    core.sha_start(state)
    for call in (
        lambda: core.sha_update(state, bytes(64), -1),
        lambda: core.sha_update(state, bytes(64), 65),
        lambda: core.sha_part(state, bytes(64), 60, 5),
        lambda: core.sha_part(state, bytes(64), -1, 1),
        lambda: core.sha_part(state, bytes(64), 4, -1),
        lambda: core.sha_update(bytearray(8), bytes(64), 64),
    ):
        try:
            call()
        except ValueError:
            continue
        raise AssertionError("read beyond a buffer")
