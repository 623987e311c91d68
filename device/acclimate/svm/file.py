# SPDX-License-Identifier: MIT
"""Models in files: header, labels, scaler, sample rows, pairs, CRC-32 (see docs/svm.md).

A file is checked to its last byte before anything is made of it, and written beside the old
one, which it replaces only when it is whole.
"""

import struct
from array import array

from acclimate import _loader, _replace
from acclimate.svm import parameters as P
from acclimate.svm.model import CODES, Model, Pair, missing

MAGIC = b"ACSV"
VERSION = 1
# The names of the fields are in the table of docs/svm.md, which a test compares with these.
FILE_HEAD = "<4sBBBbHHIBBBBffffIHH"
HEAD_BYTES = 44
PAIR = "<4sHH"  # bias (as the state), number of coefficients, words of linear weights
CONVERGED_FLAG, SCALED, FIXED, SAMPLES = 1, 2, 4, 8
_LEARNS = 6  # tag of the part with what `add` goes on with
# Least and most of what a solver shifts and counts by, in the fixed state (docs/svm_numerics.md).
_LIMITS = (
    (P.SCALE, 150),
    (P.GAMMA_SHIFT, 300),
    (P.K_SHIFT, 62),
    (P.K_STEPS, 1023),
    (P.K_EXP, 1000),
)


def crc32(data, value=0):
    """CRC-32 (the one of zip and PNG) of `data`, continued from `value`."""
    return _loader.crc32()(data, value) & 0xFFFFFFFF


def _byte_count(data):
    """Bytes in a buffer; MicroPython knows no itemsize."""
    return len(bytes(data[0:1])) * len(data) if len(data) else 0


def _padded(data):
    return (_byte_count(data) + 3) & ~3


class _Writer:
    """Write pieces padded to words, keeping the running checksum."""

    def __init__(self, stream):
        self.stream = stream
        self.crc = 0

    def put(self, data):
        for piece in (data, bytes(_padded(data) - _byte_count(data))):
            if len(piece):
                self.stream.write(piece)
                self.crc = crc32(piece, self.crc)


def _sections(m, model, samples):
    """All pieces behind the header, in order."""
    yield model.classes
    if m.scaler is not None:
        yield from m.scaler.sections()
    if model.x is not None:
        yield model.x
    if samples is not None:
        yield samples.labels
    code = "<i" if model.fixed else "<f"
    for pair in model.pairs:
        count = 0 if pair.rows is None else len(pair.rows)
        words = 0 if pair.w is None else len(pair.w)
        yield struct.pack(PAIR, struct.pack(code, pair.bias), count, words)
        if words:
            yield pair.w
        else:
            yield pair.par
        if count:
            yield pair.rows
            yield pair.beta
    if model.answer is not None:
        yield from model.answer.sections(m)
    if model.sigmoids is not None:
        yield from model.sigmoids.sections()
    if samples is not None:
        new = type(m)()  # learns as a machine of which nobody says how
        if m.class_weight or m.tol != new.tol or m.max_iter != new.max_iter:
            from acclimate.svm.train import learning

            data = learning(m)
            yield struct.pack("<HH", _LEARNS, len(data)) + data


def _write(m, model, samples, stream):
    n = 0 if model.x is None else len(model.x) // model.d
    total = HEAD_BYTES + 4
    for piece in _sections(m, model, samples):
        total += _padded(piece)
    flags = CONVERGED_FLAG if model.converged else 0
    flags |= SCALED if m.scaler is not None else 0
    flags |= FIXED if model.fixed else 0
    flags |= SAMPLES if samples is not None else 0
    gamma = m.gamma or 0.0
    out = _Writer(stream)
    out.put(
        struct.pack(
            FILE_HEAD,
            MAGIC,
            VERSION,
            model.kind,
            ord(model.code),
            model.shift,
            model.d,
            n,
            total,
            len(model.classes),
            int(model.pairs[0].par[P.DEGREE])
            if model.kind == P.POLY
            else m.degree,  # as it was trained
            flags,
            0,
            m.C,
            gamma,
            m.coef0,
            model.gap,
            model.n_iter,
            model.n_support,
            m.budget,
        )
    )
    for piece in _sections(m, model, samples):
        out.put(piece)
    stream.write(struct.pack("<I", out.crc))


def save(m, path):
    """Write the fitted model `m` to `path`."""
    model = m._ready()
    samples = None
    if m.budget:
        from acclimate.svm.incremental import samples_in_use

        samples = samples_in_use(m)
    if samples is None:
        from acclimate.svm.collect import compact

        model = compact(model)
    with _replace.write(path, lambda stream: check(stream, path)) as stream:
        _write(m, model, samples, stream)
    with _replace.written(path) as stream:
        check(stream, path)
    _replace.done(path)
    if samples is not None:  # both go on with the same draws, this one and what is loaded
        samples.seed = model.n_iter & 0xFFFF
        samples.wrong = None


def check(stream, path):
    """Header of the file as a tuple, after length and checksum were found right."""
    head = stream.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES or head[:4] != MAGIC:
        raise ValueError("%s: expected an SVM model file, got %s" % (path, head[:4]))
    fields = struct.unpack(FILE_HEAD, head)
    if fields[1] != VERSION:
        raise ValueError("%s: expected format 1, got %d" % (path, fields[1]))
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
        raise ValueError("%s: expected its CRC-32, got a damaged file" % path)
    return fields


class _Reader:
    """Read padded pieces; `left` bytes may still come before the checksum."""

    def __init__(self, stream, left):
        self.stream = stream
        self.left = left

    def get(self, code, count):
        size = count * {"B": 1, "b": 1, "h": 2}.get(code, 4)
        padded = (size + 3) & ~3
        if padded > self.left:
            raise ValueError("model file: expected %d more bytes, got %d" % (padded, self.left))
        self.left -= padded
        data = array(code, bytes(size))
        self.stream.readinto(data)
        self.stream.read(padded - size)
        return data


def _finite(data):
    for v in data:
        if v - v != 0:
            raise ValueError("model file: expected finite numbers, got %s" % v)
    return data


def _pair(reader, f):
    """One pair, whose values are not checked yet; `f` are the header fields."""
    fixed, d = f[10] & FIXED, f[5]
    code = "i" if fixed else "f"
    head = bytes(reader.get("B", 8))
    raw, count, words = struct.unpack(PAIR, head)
    bias = struct.unpack("<" + code, raw)[0]
    want = 0 if f[2] else 2 + ((d + 1) // 2 if fixed else d)
    if words != want:
        raise ValueError("model file: expected %d words, got %d" % (want, words))
    w = par = rows = beta = None
    if words:
        w = reader.get(code, words)
    else:
        par = reader.get(code, P.PAR_COUNT)
    if count or not words:
        rows = reader.get("h", count)
        beta = reader.get(code, count)
    return Pair(rows, beta, bias, par, w)


def _check_pair(pair, f):
    """Raise ValueError for values that no pair of a model with header `f` can have."""
    par, d, n = pair.par, f[5], f[6]
    for data in (pair.w, par, pair.beta, (pair.bias,)):
        _finite(data or ())
    if par is not None:
        if (
            par[P.N_FEATURES] != d
            or par[P.KERNEL] != f[2]
            or CODES.find(chr(f[3])) != par[P.XTYPE]
        ):
            raise ValueError("model file: expected parameters like the header's")
        if par[P.GAMMA] < 0:
            raise ValueError("model file: expected gamma >= 0, got %s" % par[P.GAMMA])
        if f[2] == P.POLY and par[P.DEGREE] != f[9]:
            raise ValueError("model file: expected degree %d, got %s" % (f[9], par[P.DEGREE]))
        if f[10] & FIXED:
            _check_shifts(par)
    if pair.w is not None and f[10] & FIXED and not -200 <= pair.w[0] <= 200:
        raise ValueError("model file: expected a shift of -200..200, got %d" % pair.w[0])
    for r in pair.rows or ():
        if (r if r >= 0 else ~r) >= n:
            raise ValueError("model file: expected a row < %d, got %d" % (n, r))


def _check_shifts(par):
    """A shift or count that no training writes would keep a solver busy for ever."""
    most = 33 if par[P.KERNEL] == P.POLY else 32767
    for k, high in ((P.GAMMA, most),) + _LIMITS:
        low = 0 if k in (P.GAMMA, P.K_SHIFT, P.K_STEPS) else -high
        if not low <= par[k] <= high:
            raise ValueError(
                "model file: expected %d..%d in parameter %d, got %d" % (low, high, k, par[k])
            )


def _read(stream, f):
    """(model, scaler, labels) from a checked file with header fields `f`."""
    kind, code, shift, d, n = f[2], chr(f[3]), f[4], f[5], f[6]
    if kind > 2 or code not in CODES or not d or f[8] < 2 or not 1 <= f[9] <= 9:
        raise ValueError("model file: expected known kernel, storage, shape, got %s" % (f[2:],))
    stream.seek(HEAD_BYTES)
    reader = _Reader(stream, f[7] - HEAD_BYTES - 4)
    classes = bytes(reader.get("B", f[8]))
    scaler = labels = None
    if f[10] & SCALED:
        from acclimate.svm.scaled import read

        scaler = read(reader, d, code, shift)
    model = Model(classes, d, kind, code, shift, scaler is not None, bool(f[10] & FIXED))
    if n or kind:  # a machine that answers the same for every row has none
        model.x = reader.get(code, n * d)
        if code == "f":
            _finite(model.x)
    if f[10] & SAMPLES:
        labels = reader.get("B", n)
    for _ in range(f[8] * (f[8] - 1) // 2):
        model.pairs.append(_pair(reader, f))
    # Checking makes garbage; between the pairs it would cut a small heap into pieces.
    for pair in model.pairs:
        _check_pair(pair, f)
    model.gap, model.n_iter, model.n_support = f[15], f[16], f[17]
    model.converged = bool(f[10] & CONVERGED_FLAG)
    return model, scaler, labels, reader


def _part(m, model, reader):
    """One part behind the pairs: what the model has beside its decision functions."""
    tag, more, low, high = reader.get("B", 4)
    data = reader.get("B", low | high << 8)
    if tag == _LEARNS:
        from acclimate.svm.train import learn

        return learn(m, data)
    if tag < 4:
        if len(data) & 3:
            raise ValueError("model file: expected words of 4 bytes, got %d" % len(data))
        data = _finite(struct.unpack("<%df" % (len(data) // 4), data))
    extra = "probability" if tag == 3 else "labels" if tag in (4, 5) else "kinds"
    try:
        if tag == 3:
            from acclimate.svm.probability import Sigmoids

            model.sigmoids = Sigmoids.read(data, more, len(model.pairs))
        elif tag in (4, 5):
            from acclimate.svm.labels import Labels

            model.answer = Labels.read(tag, data, model.classes)
        else:
            from acclimate.svm.kinds import read

            model.answer = read(m, model, tag, data)
    except ImportError:
        raise missing(extra) from None


def load(cls, path):
    """A fitted SVM from a file, or from a stream such as io.BytesIO over a capsule's section."""
    return _replace.load(path, lambda stream: _load(cls, stream, path))


def _load(cls, stream, path):
    f = check(stream, path)
    model, scaler, labels, reader = _read(stream, f)
    m = cls(
        ("linear", "poly", "rbf")[model.kind],
        C=f[12],
        gamma=f[13] or None,
        degree=f[9],
        coef0=f[14],
        budget=f[18],
        scale=hasattr(scaler, "divisor"),
        state="fixed" if model.fixed else "float",
    )
    while reader.left:
        _part(m, model, reader)
    m._take(model, scaler)
    if labels is not None:
        from acclimate.svm.incremental import samples_of

        m.samples = samples_of(model, labels)
    return m
