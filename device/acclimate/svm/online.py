# SPDX-License-Identifier: MIT
"""A linear machine that learns each row once, in memory that does not grow: passive-aggressive
(Crammer and others, 2006, PA-I), for boards with 20 KB of RAM.

    >>> from acclimate.svm.online import PassiveAggressive
    >>> m = PassiveAggressive(2, classes=2)
    >>> for k in range(20):
    ...     _ = m.add([20 + k % 5, 0.5], 0).add([60 + k % 7, 8.5], 1)
    >>> m.predict([24, 1]), m.predict([66, 9])
    (0, 1)

A row that is answered right with a margin changes nothing; another moves the functions of its
label and of the strongest other just so far that it would be, at most by `C`. Features are
brought to mean 0 and deviation 1 by what was seen so far. Files and errors are as those of `SVM`.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Sequence

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

import struct
from array import array

from acclimate import _crc as crc_of
from acclimate import _replace

_HEAD = "<4sBBHIff"  # magic, version, classes, features, rows seen, C, share that a row counts
_MAGIC = b"ACPA"
_VERSION = 1
_FREE = 255  # a class that has no label yet
_LARGE = 1e18  # squares of it are float32


def _check_rows(X, y):
    try:
        rows, labels = len(X), len(y)
    except TypeError:
        raise ValueError("X, y: expected rows and labels, got others") from None
    if not labels or rows != labels:
        raise ValueError("X, y: expected a label for each of %d rows, got %d" % (rows, labels))


def _check_sizes(features, classes):
    for name, value, low, high in (
        ("features", features, 1, 4096),
        ("classes", classes, 2, 64),
    ):
        if not isinstance(value, int) or not low <= value <= high:
            raise ValueError("%s: expected %d..%d, got %s" % (name, low, high, value))


def _check_number(name, value, text, least, limit):
    try:
        good = least < value < limit
    except TypeError:  # no number
        good = False
    if not good:
        raise ValueError("%s: expected a number %s, got %s" % (name, text, value))


class PassiveAggressive:
    """Linear classifier of a fixed size.

    :param int features: numbers in a row, 1..4096
    :param int classes: most different labels, 2..64
    :param float C: most that a row counts, > 0: smaller where labels are often wrong
    :param float forget: share of means and deviations that each row replaces once it is larger
        than a row's part; 0: all rows count alike
    :raises ValueError: names the argument, what was expected and what came
    :raises MemoryError: the heap has no room for `bytes_needed`
    """

    def __init__(
        self, features: int, classes: int = 2, C: float = 0.01, forget: float = 0.0
    ) -> None:
        _check_sizes(features, classes)
        _check_number("C", C, "> 0", 0, _LARGE)
        if forget != 0:
            _check_number("forget", forget, ">= 0 and < 1", 0, 1)
        self.d = features
        self.C = C
        self.forget = forget
        self.seen = 0
        self.labels = bytearray(_FREE for _ in range(classes))
        self._w = array("f", bytes(4 * classes * (features + 1)))
        self._mean = array("f", bytes(4 * features))
        self._spread = array("f", bytes(4 * features))
        self._row = array("f", bytes(4 * features))
        self._values = array("f", bytes(4 * classes))

    @staticmethod
    def bytes_needed(features: int, classes: int = 2) -> int:
        """Bytes that a machine keeps, whatever it learns."""
        _check_sizes(features, classes)
        return 4 * (classes * (features + 2) + 3 * features) + classes

    def _enter(self, row):
        """Check a row; it is standardised into a buffer that the next call reuses."""
        try:
            return self._standardise(row)
        except TypeError:
            raise ValueError("row: expected numbers, got " + repr(row)[:40]) from None

    def _standardise(self, row):
        if len(row) != self.d:
            raise ValueError("row: expected %d features, got %d" % (self.d, len(row)))
        for j in range(self.d):
            v = row[j]
            if not -_LARGE < v < _LARGE:
                raise ValueError("row: expected finite numbers below 1e18, got %s" % (v,))
            spread = self._spread[j]
            self._row[j] = (v - self._mean[j]) / spread**0.5 if spread > 0 else 0.0
        return self._row

    def _weigh(self, x):
        """Value of each class's function for a standardised row."""
        d = self.d
        w = self._w
        at = 0
        for c in range(len(self.labels)):
            total = w[at + d]
            for j in range(d):
                total += w[at + j] * x[j]
            self._values[c] = total
            at += d + 1
        return self._values

    def _class_of(self, label):
        """Class of a label; one that is new takes a free class."""
        try:
            fits = 0 <= label < _FREE and label == int(label)
        except TypeError:  # no number
            fits = False
        if not fits:
            raise ValueError("label: expected 0..254, got %s" % (label,))
        free = -1
        for c in range(len(self.labels)):
            if self.labels[c] == label:
                return c
            if self.labels[c] == _FREE and free < 0:
                free = c
        if free < 0:
            raise ValueError(
                "label: expected one of %s, got %s: classes=%d is full"
                % (list(self.labels), label, len(self.labels))
            )
        self.labels[free] = int(label)
        return free

    def _best(self, but=-1):
        """The known class with the largest value but one, or -1; the lowest label wins a tie."""
        best = -1
        values, labels = self._values, self.labels
        for c in range(len(labels)):
            if c == but or labels[c] == _FREE:
                continue
            if best < 0 or values[c] > values[best]:
                best = c
            elif values[c] == values[best] and labels[c] < labels[best]:
                best = c
        return best

    def add(self, row: "Sequence[float] | ReadableBuffer", label: int) -> "PassiveAggressive":
        """Learn one row with its label; return the machine."""
        self._enter(row)  # refuse before anything changes
        own = self._class_of(label)
        self._watch(row)
        x = self._enter(row)
        values = self._weigh(x)
        other = self._best(own)
        if other < 0:
            return self
        loss = 1.0 - values[own] + values[other]
        if loss > 0:
            size = 1.0
            for v in x:
                size += v * v
            step = 0.5 * min(self.C, loss / size)  # for each of the two functions
            a, b = own * (self.d + 1), other * (self.d + 1)
            for j in range(self.d):
                change = step * x[j]
                self._w[a + j] += change
                self._w[b + j] -= change
            self._w[a + self.d] += step
            self._w[b + self.d] -= step
        return self

    def _watch(self, row):
        """Let a row count in means and deviations."""
        self.seen = min(self.seen + 1, 0x7FFFFFF)
        share = max(1.0 / self.seen, self.forget)
        for j in range(self.d):
            apart = row[j] - self._mean[j]
            self._mean[j] += share * apart
            self._spread[j] += share * ((1 - share) * apart * apart - self._spread[j])

    def predict(self, row: "Sequence[float] | ReadableBuffer") -> int:
        """Label of a row.

        :raises ValueError: nothing was learned yet, or a row of another width
        """
        self._weigh(self._enter(row))
        best = self._best()
        if best < 0:
            raise ValueError("predict: expected a machine that has learned, got none: call add")
        return self.labels[best]

    def decision(
        self, row: "Sequence[float] | ReadableBuffer", out: "WriteableBuffer | None" = None
    ) -> "list[float] | WriteableBuffer":
        """Values of the known labels' functions, in the order in which labels came."""
        values = self._weigh(self._enter(row))
        count = sum([1 for c in self.labels if c != _FREE])
        if out is None:
            out = array("f", bytes(4 * count))
        try:
            if len(out) < count:
                raise IndexError
            for c in range(count):
                out[c] = values[c]
        except (TypeError, ValueError, IndexError):
            raise ValueError(
                "out: expected %d real numbers, got %s" % (count, repr(out)[:40])
            ) from None
        return out

    def evaluate(
        self, X: "Sequence[Any] | ReadableBuffer", y: "Sequence[float] | ReadableBuffer"
    ) -> float:
        """Share of rows whose label is predicted right, 0..1."""
        _check_rows(X, y)
        right = 0
        for i in range(len(y)):
            right += self.predict(X[i]) == y[i]
        return right / len(y)

    def report(
        self, X: "Sequence[Any] | ReadableBuffer", y: "Sequence[float] | ReadableBuffer"
    ) -> str:
        """Text with rows and recall of each label."""
        _check_rows(X, y)
        lines = ["label  rows  recall"]
        for label in sorted(set(y)):
            own = [i for i in range(len(y)) if y[i] == label]
            right = sum([self.predict(X[i]) == label for i in own])
            lines.append("%5s %5d  %.3f" % (label, len(own), right / len(own)))
        return "\n".join(lines)

    def save(self, path: str) -> None:
        """Write the machine to a file; the old one stays until the new one is whole."""
        k = len(self.labels)
        head = struct.pack(_HEAD, _MAGIC, _VERSION, k, self.d, self.seen, self.C, self.forget)
        crc = bytearray(4)
        crc_of.start(crc)
        with _replace.write(path, lambda stream: self._read(stream, path)) as stream:
            for piece in (head, self.labels, self._w, self._mean, self._spread):
                piece = bytes(piece)
                stream.write(piece)
                crc_of._update(crc, piece, 0, len(piece))
            crc_of.finish(crc)
            stream.write(crc)
        _replace.done(path)

    @staticmethod
    def load(path: "Any") -> "PassiveAggressive":
        """A machine from a file, or from a stream such as io.BytesIO.

        :raises ValueError: the file is damaged, cut, of another kind or newer
        """
        return _replace.load(path, lambda stream: PassiveAggressive._read(stream, path))

    @staticmethod
    def _read(stream, path):
        crc = bytearray(4)
        crc_of.start(crc)
        head = stream.read(struct.calcsize(_HEAD))
        if len(head) < struct.calcsize(_HEAD) or head[:4] != _MAGIC:
            raise ValueError("%s: expected an online machine's file, got %r" % (path, head[:4]))
        crc_of._update(crc, head, 0, len(head))
        _, version, k, d, seen, c, forget = struct.unpack(_HEAD, head)
        if version != _VERSION:
            raise ValueError("%s: expected format 1, got %d" % (path, version))
        m = PassiveAggressive(d, k, c, forget)
        for piece in (m.labels, m._w, m._mean, m._spread):
            if stream.readinto(piece) != len(bytes(piece)):
                raise ValueError("%s: expected a whole file, got a cut one" % path)
            crc_of._update(crc, bytes(piece), 0, len(bytes(piece)))
        crc_of.finish(crc)
        if stream.read(5) != crc:
            raise ValueError("%s: expected its CRC-32, got a damaged file" % path)
        m.seen = seen
        m._check()
        return m

    def _check(self):
        for part in (self._w, self._mean, self._spread):
            for v in part:
                if v - v != 0:
                    raise ValueError("model file: expected finite numbers, got %s" % v)

    def __repr__(self):
        known = [c for c in self.labels if c != _FREE]
        return "PassiveAggressive(%d, classes=%d, C=%g): %d rows seen, labels %s" % (
            self.d,
            len(self.labels),
            self.C,
            self.seen,
            known,
        )
