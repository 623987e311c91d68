# SPDX-License-Identifier: MIT
"""What a machine that only answers does in Python: rows that are scaled, other numbers, errors."""

from array import array

from acclimate.svm.rows import store_into
from acclimate.svm.scaled import read

_ENOENT = 2
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


def missing(name):
    """Raise what tells that a part of the whole `SVM` is not there."""
    if name[0] == "_":
        raise AttributeError(name)
    raise ImportError("SVM.%s: only predicting is installed: acclimate install" % name)


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


def scaled(file, at):
    """(what makes a row of the store of a row, where the rows of the file begin)."""
    d = _width(file)
    code, shift = chr(file[6]), file[7] - (file[7] & 128) * 2
    if file[18] & 2:
        words = _Words(file, at)
        return read(words, d, code, shift).row, words.at
    return _copier(d, code, shift), at


def _width(file):
    return file[8] | file[9] << 8


def _copier(d, code, shift):
    buffer = array(code, bytes(d * (4 if code == "f" else 2 if code == "h" else 1)))

    def row(values):
        if len(values) != d:
            raise ValueError("row: expected %d features, got %d" % (d, len(values)))
        store_into(buffer, 0, values, code, shift)
        return buffer

    return row


def answer(m, row, *out):
    """Label or decision values of a row that was not taken as it is.

    :raises ValueError: numbers that the model does not hold
    """
    global _tried
    count = m._file[16] * (m._file[16] - 1) // 2
    if out and len(out[0]) < count:
        raise ValueError("out: expected %d numbers, got %d" % (count, len(out[0])))
    if row is not _tried:
        made = (m._row or _copier(_width(m._file), chr(m._file[6]), 0))(row)
        _tried = made
        try:
            found = m._answer(made, *out)
        finally:
            _tried = None
        if found is not None:
            return found
    raise ValueError("row: expected finite numbers, got others or too large")


def answer_many(m, rows, out):
    """Labels of a list of rows, or of a flat buffer, one after the other."""
    d, n = _width(m._file), len(out)
    flat = not isinstance(rows, (list, tuple))
    if flat and (not n or len(rows) % n):
        raise ValueError("X: expected a multiple of %d items, got %d" % (n, len(rows)))
    if not flat and len(rows) != n:
        raise ValueError("y: expected %d labels for %d rows, got %d" % (len(rows), len(rows), n))
    if flat and len(rows) != n * d:
        raise ValueError("rows: expected %d features, got %d" % (d, len(rows) // n))
    for i in range(n):
        out[i] = m.predict(rows[i * d : i * d + d] if flat else rows[i])
