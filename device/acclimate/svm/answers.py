# SPDX-License-Identifier: MIT
"""What a machine that only answers does in Python: `decision`, `predict_many`, rows that native
code does not take or that are scaled, errors.
"""

import sys
from array import array

_ENOENT = 2
_slow = None  # the machine that scales in Python what the latest one did not take
_tried = None  # a row of the store: what native code does not answer then is wrong


def refuse(path, fault, file):
    """Raise what is wrong with a file, by the number that native code gives."""
    if fault == 6:
        raise ImportError(
            "%s: expected a machine that predicts alone on this board, got another "
            "(other state, kind, labels): acclimate install" % path
        )
    if fault == 1:
        raise ValueError("%s: expected an SVM model file, got %s" % (path, bytes(file[:4])))
    if fault == 2:
        raise ValueError("%s: expected format 1, got %d" % (path, file[4]))
    if fault == 3:
        size = int.from_bytes(file[12:16], "little")
        raise ValueError("%s: expected %d bytes, got more or fewer" % (path, size))
    if fault == 4:
        raise ValueError("%s: expected its CRC-32, got a damaged file" % path)
    raise ValueError("model file: expected values of a trained machine, got others")


def open_new(path, error):
    """The new file where power was lost between removing the old one and renaming it."""
    if error.args[0] == _ENOENT:
        try:
            return open(path + ".new", "rb")
        except OSError:
            pass
    raise error


class _Words:
    """Parts of a file, one after the other, as `read` takes them."""

    def __init__(self, file, at):
        self.file = file
        self.at = at

    def get(self, code, count):
        at = self.at
        self.at += count * (1 if code == "B" else 4)
        if self.at > len(self.file) - 4:
            left = len(self.file) - 4 - at
            raise ValueError("model file: expected %d more bytes, got %d" % (self.at - at, left))
        return array(code, bytes(self.file[at : self.at]))


def scaled(read, file, at):
    """The machine of a file whose rows are scaled first, or the number of what is wrong."""
    found = _Scaled(read, file, at)
    return found if callable(found.model) else found.model


class _Scaled:
    """A machine whose rows are scaled before native code, its `model`, answers them."""

    def __init__(self, make, file, at):
        from acclimate.svm.scaled import read

        self._file = file
        d, code, shift = _items(file)
        self._row = _copier(d, code, shift)
        if file[18] & 2:
            words = _Words(file, at)
            self._row = read(words, d, code, shift).row
            at = words.at
        self.model = make(file, at, _strange)

    def __call__(self, row, *out):
        return self.model(self._row(row), *out)

    predict = __call__

    def __getattr__(self, name):
        return _attribute(self, name)


def _items(file):
    """Features of a row, code of an item and shift."""
    return file[8] | file[9] << 8, chr(file[6]), file[7] - (file[7] & 128) * 2


def _pairs(m):
    return m._file[16] * (m._file[16] - 1) // 2


def _copier(d, code, shift):
    from acclimate.svm.rows import store_into

    buffer = array(code, bytes(d * (4 if code == "f" else 2 if code == "h" else 1)))

    def row(values):
        if len(values) != d:
            raise ValueError("row: expected %d features, got %d" % (d, len(values)))
        store_into(buffer, 0, values, code, shift)
        return buffer

    return row


def other(m=None, row=None, *name):
    """An attribute of a machine, by its name, or the label of a row that native code refused."""
    if m is None:
        name = ("fit",)  # no machine: a new one was asked for
    return _attribute(m, *name) if name else _answer(m, row)


def _attribute(m, name):
    if name == "decision":
        return lambda row, out=None: decision(m, row, out)
    if name == "predict_many":
        return lambda rows, out: predict_many(m, rows, out)
    if name[0] == "_":
        raise AttributeError(name)
    raise ImportError("SVM.%s: only predicting is installed: acclimate install" % name)


def decision(m, row, out=None):
    """Decision value of one row: a number, or one for each pair of labels, as in scikit-learn.

    :param out: ``array("f")`` that takes the values; without it a new one is made
    """
    count = _pairs(m)
    to = array("f", bytes(4 * count)) if out is None else out
    try:
        if len(to) < count:
            raise TypeError
        to[0] = 0.5  # which only what holds real numbers takes
    except (TypeError, ValueError):
        got = repr(out)[:40]
        raise ValueError("out: expected array('f') of %d, got %s" % (count, got)) from None
    if m(row, to) is None:
        _answer(m, row, to)
    return to[0] if count == 1 and out is None else to


def _answer(m, row, *out):
    """Label or decision values of a row that was not taken as it is.

    :raises ValueError: numbers that the model does not hold
    """
    global _tried, _slow
    if m._file[18] & 2 and not isinstance(m, _Scaled):  # native code scales whole numbers
        if _slow is None or _slow._file is not m._file:
            at = 44 + (m._file[16] + 3 & ~3)
            _slow = _Scaled(sys.modules["_svm_predict"].read, m._file, at)
        return _slow(row, *out)
    if row is not _tried and not isinstance(m, _Scaled):
        _tried = made = _copier(*_items(m._file))(row)
        try:
            found = m(made, *out)
        finally:
            _tried = None
        if found is not None:
            return found
    _strange()


def _strange(*_):
    raise ValueError("row: expected finite numbers, got others or too large")


def predict_many(m, rows, out):
    """Labels of ``len(out)`` rows, a list of rows or a flat buffer, into `out`; return it."""
    if not isinstance(m, _Scaled) and m(rows, out, None) >= 0:
        return out
    d, n = _items(m._file)[0], len(out)
    flat = not isinstance(rows, (list, tuple))
    if flat and (not n or len(rows) % n):
        raise ValueError("X: expected a multiple of %d items, got %d" % (n, len(rows)))
    if not flat and len(rows) != n:
        counts = len(rows), len(rows), n
        raise ValueError("out: expected %d labels for %d rows, got %d" % counts)
    if flat and len(rows) != n * d:
        raise ValueError("rows: expected %d features, got %d" % (d, len(rows) // n))
    for i in range(n):
        out[i] = m.predict(rows[i * d : i * d + d] if flat else rows[i])
    return out
