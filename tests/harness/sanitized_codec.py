# SPDX-License-Identifier: MIT
"""The C core of updates against Python and hashlib on random input; run by tools/sanitized.sh.

A wrong memory access or undefined arithmetic ends the process with a report.
usage: python sanitized_codec.py LIBRARY SEED [ROUNDS]
"""

import hashlib
import random
import sys
import zlib
from pathlib import Path

from acclimate.store.rangecoder import (
    _COPY as COPY,
)
from acclimate.store.rangecoder import (
    _DATA as DATA,
)
from acclimate.store.rangecoder import (
    _DIFF as DIFF,
)
from acclimate.store.rangecoder import (
    Decoder,
    NativeDecoder,
)
from acclimate_host.capsules.rangecoder import Encoder
from acclimate_host.twin import codec as twin_codec


def hashes(core, draw):
    data = draw.randbytes(draw.randrange(400))
    state, out = bytearray(core.SHA_BYTES), bytearray(32)
    core.sha_start(state)
    at = 0
    while at < len(data):
        piece = data[at : at + draw.randrange(1, 150)]
        core.sha_update(state, piece, len(piece))
        at += len(piece)
    core.sha_finish(state, out)
    assert out == hashlib.sha256(data).digest()
    crc = bytearray(b"\xff" * 4)
    middle = draw.randrange(len(data) + 1)
    core.crc_update(crc, data, 0, middle)
    core.crc_update(crc, data, middle, len(data))
    assert int.from_bytes(crc, "little") ^ 0xFFFFFFFF == zlib.crc32(data)


def buffers(core, draw):
    a, b = bytearray(draw.choices(b"xy", k=40)), bytearray(draw.choices(b"xy", k=40))
    i, j, n = draw.randrange(20), draw.randrange(20), draw.randrange(20)
    same = next((k for k in range(n) if a[i + k] != b[j + k]), n)
    assert core.common_prefix(a, i, b, j, n) == same
    wanted = bytearray(a)
    wanted[i : i + n] = b[j : j + n]
    core.copy(a, i, b, j, n)
    assert a == wanted


def instructions(core, draw):
    """Real instructions, or any bytes: both decoders give the same, whatever comes."""
    n, base = draw.randrange(1, 120), draw.randbytes(200)
    stream = draw.randbytes(draw.randrange(4, 300)) if draw.random() < 0.5 else _stream(draw)
    size = len(stream) + draw.randrange(64, 90)  # what was read ahead, and HEAD_BYTES
    results = []
    for decoder in (Decoder(size), NativeDecoder(core, size)):
        decoder.input[: len(stream)] = stream
        decoder.start()
        found = []
        while decoder.at <= len(stream) and len(found) < 40:
            head = decoder.head()
            kind, length, way = head[:3]
            found.append((kind, length, way, head[3] if way == 1 else 0))
            out = bytearray(n)
            if kind != COPY:
                done = decoder.block(base, out, 0, min(n, length), size, kind)
                found.append((done, bytes(out)))
            found.append(decoder.at)
        results.append(found)
    assert results[0] == results[1]


def _stream(draw):
    encoder = Encoder(made=100, has_lanes=draw.random() < 0.5)
    for _ in range(draw.randrange(1, 9)):
        kind, n = draw.choice((COPY, DATA, DIFF)), draw.randrange(1, 80)
        if kind == COPY:
            encoder.copy(draw.randrange(1000), n)
        elif kind == DATA:
            encoder.data(draw.randbytes(n))
        else:
            spread = draw.choice((0.3, 2, 20, 80))
            values = [max(-128, min(127, round(draw.gauss(0, spread)))) for _ in range(n)]
            encoder.differences(draw.randrange(1000), values)
    return encoder.finish()


def main(library, seed, rounds=300):
    core, draw = twin_codec.load(Path(library)), random.Random(int(seed))
    for _ in range(int(rounds)):
        hashes(core, draw)
        buffers(core, draw)
        instructions(core, draw)
    print("clean")


if __name__ == "__main__":
    main(*sys.argv[1:])
