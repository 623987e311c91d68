# SPDX-License-Identifier: MIT
"""Files of the small machine, those of `acclimate.svm.file`: a linear two-class machine in fixed
point is a header, two labels and its weights.
"""

import struct
from array import array

from acclimate import _crc as crc

_HEAD = "<4sBBBbHHIBBBBffffIHH"  # as in acclimate.svm.file
_PAIR = "<iHH"
_START = 44 + 4 + 8  # header, labels, pair


def save(m, path):
    """Write a fitted machine; the old file stays until the new one is whole."""
    if m.w is None:
        raise ValueError("SVM: expected a fitted model, got none: call fit first")
    code = "bB"[m.xtype]
    total = _START + 4 * len(m.w) + 4
    data = bytearray(_START)
    struct.pack_into(
        _HEAD, data, 0, b"ACSV", 1, 0, ord(code), 0, m.d, 0, total, 2, 3,
        4 + m.converged, 0, m.C, 0.0, 0.0, m.gap, m.n_iter, m.n_support, 0,
    )  # fmt: skip
    data[44:46] = m.labels
    struct.pack_into(_PAIR, data, 48, m.bias, 0, len(m.w))
    found = bytearray(4)
    crc.start(found)
    from acclimate import _replace

    with _replace.write(path, lambda stream: _read(type(m), stream, path)) as stream:
        for piece in (data, bytes(m.w)):
            stream.write(piece)
            crc._update(found, piece, 0, len(piece))
        crc.finish(found)
        stream.write(found)
    _replace.done(path)


def load(make, path):
    """A machine from a file that `save` or the large machine's ``SVM(small=True)`` wrote."""
    if hasattr(path, "readinto"):  # of a capsule: a small heap has no room for more
        return _read(make, path, path)
    from acclimate import _replace

    return _replace.load(path, lambda stream: _read(make, stream, path))


def _read(make, stream, path):
    data = stream.read(_START)
    if len(data) < _START or data[:4] != b"ACSV":
        raise ValueError("%s: expected an SVM model file, got %s" % (path, data[:4]))
    f = struct.unpack(_HEAD, data[:44])
    bias, count, words = struct.unpack(_PAIR, data[48:])
    want = 2 + (f[5] + 1) // 2
    total = _START + 4 * want + 4
    kind = (f[1], f[2], f[4], f[6], f[8], f[10] & ~1, f[11], count, words, f[7])
    if kind != (1, 0, 0, 0, 2, 4, 0, 0, want, total) or chr(f[3]) not in "bB":
        raise ValueError("%s: expected a machine that is small, got another" % path)
    w = array("i", bytes(4 * want))
    stream.readinto(w)
    found = bytearray(4)
    crc.start(found)
    crc._update(found, data, 0, len(data))
    crc._update(found, bytes(w), 0, 4 * want)
    crc.finish(found)
    if stream.read(5) != found:
        raise ValueError("%s: expected its CRC-32, got a damaged file" % path)
    if not -200 <= w[0] <= 200 or not data[44] < data[45] < 255:
        raise ValueError("%s: expected rising labels and a shift of 200, got others" % path)
    m = make(C=f[12], storage="uint8" if f[3] == ord("B") else "int8")
    m.w, m.d, m.labels, m.bias = w, f[5], bytes(data[44:46]), bias
    m.gap, m.n_iter, m.n_support, m.converged = f[15], f[16], f[17], bool(f[10] & 1)
    return m
