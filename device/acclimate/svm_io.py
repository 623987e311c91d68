# SPDX-License-Identifier: MIT
"""Models in files: header, labels, scaler, sample rows, pairs, CRC-32 (see docs/svm.md).

A file is checked to its last byte before anything is made of it, and written beside the old
one, which it replaces only when it is whole.
"""

import os
import struct
from array import array

from acclimate.svm_model import LINEAR, Model

MAGIC = b"ACSV"
VERSION = 1
# magic, version, kernel, storage, shift, features, rows, length, classes, degree, flags,
# reserved, C, gamma, coef0, gap, n_iter, n_support, reserved
HEAD = "<4sBBBbHHIBBBBffffIHH"
HEAD_BYTES = 44
PAIR = "<fHH"  # bias, number of coefficients, reserved
CONVERGED, SCALED = 1, 2
_NIBBLES = None


def crc32(data, value=0):
    """CRC-32 (the one of zip and PNG) of `data`, continued from `value`."""
    try:
        from binascii import crc32 as fast

        return fast(data, value) & 0xFFFFFFFF
    except ImportError:
        pass
    global _NIBBLES
    if _NIBBLES is None:
        _NIBBLES = array("I", bytes(64))
        for i in range(16):
            c = i
            for _ in range(4):
                c = (c >> 1) ^ (0xEDB88320 if c & 1 else 0)
            _NIBBLES[i] = c
    value ^= 0xFFFFFFFF
    for byte in data:
        value ^= byte
        value = (value >> 4) ^ _NIBBLES[value & 15]
        value = (value >> 4) ^ _NIBBLES[value & 15]
    return value ^ 0xFFFFFFFF


def _items(code, count):
    """A zeroed array of `count` items."""
    return array(code, bytes(count * {"B": 1, "b": 1, "h": 2, "H": 2}.get(code, 4)))


def _size(code, count):
    """Bytes of `count` items in the file, padded to words."""
    return (count * {"B": 1, "b": 1, "h": 2, "H": 2}.get(code, 4) + 3) & ~3


class _Writer:
    """Write pieces padded to words, keeping the running checksum."""

    def __init__(self, stream):
        self.stream = stream
        self.crc = 0

    def put(self, data):
        size = len(bytes(data[0:1])) * len(data) if len(data) else 0
        for piece in (data, bytes(-size & 3)):
            if len(piece):
                self.stream.write(piece)
                self.crc = crc32(piece, self.crc)


def _write(m, model, stream):
    n = 0 if model.x is None else len(model.x) // model.d
    total = HEAD_BYTES + _size("B", len(model.classes)) + 4
    total += _size(model.code, n * model.d)
    for idx, coef, _ in model.pairs:
        total += 8 + 4 * len(coef) + (0 if idx is None else _size("H", len(idx)))
    kind, gamma, coef0, degree = model.kern
    flags = CONVERGED if model.converged else 0
    if m.scaler is not None:
        flags |= SCALED
        total += m.scaler.file_bytes()
    out = _Writer(stream)
    out.put(
        struct.pack(
            HEAD, MAGIC, VERSION, kind, ord(model.code), model.shift, model.d, n, total,
            len(model.classes), degree, flags, 0, m.C, gamma, coef0, model.gap,
            model.n_iter, model.n_support, 0,
        )
    )  # fmt: skip
    out.put(model.classes)
    if m.scaler is not None:
        m.scaler.write(out)
    if n:
        out.put(model.x)
    for idx, coef, bias in model.pairs:
        out.put(struct.pack(PAIR, bias, len(coef), 0))
        if idx is not None:
            out.put(idx)
        out.put(coef)
    stream.write(struct.pack("<I", out.crc))


def save(m, path):
    """Write the fitted model `m` to `path`."""
    model = m._ready()
    fresh = path + ".new"
    with open(fresh, "wb") as stream:
        _write(m, model, stream)
    with open(fresh, "rb") as stream:
        check(stream, path)
    try:
        os.rename(fresh, path)
    except OSError:  # FAT does not rename onto an existing file
        os.remove(path)
        os.rename(fresh, path)


def check(stream, path):
    """Header of the file as a tuple, after length and checksum were found right."""
    head = stream.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES or head[:4] != MAGIC:
        raise ValueError("%s: expected an SVM model file, got %s" % (path, head[:4]))
    fields = struct.unpack(HEAD, head)
    if fields[1] != VERSION:
        raise ValueError("%s: expected format version 1, got %d" % (path, fields[1]))
    left = fields[7] - HEAD_BYTES - 4
    crc = crc32(head)
    while left > 0:
        piece = stream.read(min(left, 256))
        if not piece:
            break
        crc = crc32(piece, crc)
        left -= len(piece)
    tail = stream.read(5)
    if left or len(tail) != 4:
        raise ValueError("%s: expected %d bytes, got more or fewer" % (path, fields[7]))
    if struct.unpack("<I", tail)[0] != crc:
        raise ValueError("%s: expected matching CRC-32, got a damaged file" % path)
    return fields


class _Reader:
    """Read padded pieces; `left` bytes may still come before the checksum."""

    def __init__(self, stream, left):
        self.stream = stream
        self.left = left

    def get(self, code, count):
        size = _size(code, count)
        if size > self.left:
            raise ValueError("model file: expected %d more bytes, got %d" % (size, self.left))
        self.left -= size
        data = _items(code, count)
        self.stream.readinto(data)
        self.stream.read(size - count * (len(bytes(data[0:1])) if count else 0))
        return data


def _pair(reader, n, d):
    bias, count, _ = struct.unpack(PAIR, bytes(reader.get("B", 8)))
    idx = None
    if n is None:
        if count != d:
            raise ValueError("model file: expected %d weights, got %d" % (d, count))
    else:
        idx = reader.get("H", count)
        for i in idx:
            if i >= n:
                raise ValueError("model file: expected a row < %d, got %d" % (n, i))
    coef = reader.get("f", count)
    total = bias
    for v in coef:
        total += v - v
    if total - total != 0:
        raise ValueError("model file: expected finite coefficients")
    return idx, coef, bias


def _read(stream, f):
    """(model, scaler) from a checked file with header fields `f`."""
    kind, code, shift, d, n = f[2], chr(f[3]), f[4], f[5], f[6]
    if kind > 2 or code not in "Bbhf" or not d or f[8] < 2 or not 1 <= f[9] <= 9:
        raise ValueError("model file: expected known kernel, storage and shape, got %s" % (f[2:],))
    stream.seek(HEAD_BYTES)
    reader = _Reader(stream, f[7] - HEAD_BYTES - 4)
    classes = bytes(reader.get("B", f[8]))
    scaler = None
    if f[10] & SCALED:
        from acclimate.svm_scaler import read

        scaler = read(reader, d)
    x = reader.get(code, n * d) if kind != LINEAR else None
    model = Model(classes, d, (kind, f[13], f[14], f[9]), x, code, shift, scaler is not None)
    for _ in range(f[8] * (f[8] - 1) // 2):
        model.pairs.append(_pair(reader, None if x is None else n, d))
    if reader.left:
        raise ValueError("model file: expected no more data, got %d bytes" % reader.left)
    model.gap, model.n_iter, model.n_support = f[15], f[16], f[17]
    model.converged = bool(f[10] & CONVERGED)
    return model, scaler


def load(cls, path):
    """A fitted SVM from a file."""
    with open(path, "rb") as stream:
        fields = check(stream, path)
        model, scaler = _read(stream, fields)
    kind, gamma, coef0, degree = model.kern
    m = cls(
        ("linear", "poly", "rbf")[kind], C=fields[12], gamma=gamma * 2.0 ** (2 * model.shift),
        degree=degree, coef0=coef0,
    )  # fmt: skip
    m._take(model)
    m.scaler = scaler
    return m
