# SPDX-License-Identifier: MIT
"""What is done to a row before it is stored: bring features to mean 0 and standard deviation 1
(`Scaler`, asked for), or only subtract an offset (`Centre`, where the data lie far from 0).

Whole numbers are scaled with integers only: ``q = (v - offset) * 2**power / divisor``, a 16-bit
number that stands for ``q / 128`` standard deviations. What lies outside 16 deviations is cut
there, and counted in `saturated`. The offset is the mean rounded to a whole number: what is
left of it moves all samples alike, which the kernels (but not the polynomial one) do not see.
Fractions are scaled in float32, and rounded to the same 16-bit numbers for the fixed state.
"""

from array import array
from math import floor

from acclimate.svm.rows import F32_MAX, rows_at_once

SHIFT = 7  # stored value = standardised value * 2**SHIFT
LIMIT = 2047  # 16 deviations; keeps a dot product of 512 features inside 32 bits


def _rows_pieces(scaler, X, n, flat=False):
    """Bring all rows into one new flat array, in pieces."""
    d = scaler.d
    out = array(scaler.code, bytes(n * d * (2 if scaler.code == "h" else 4)))
    pause = rows_at_once(d)
    for i in range(n):
        scaler.row(X[i * d : i * d + d] if flat else X[i], out, i * d)
        if not (i + 1) % pause:
            yield
    return out


class Centre:
    """Offset of each feature, subtracted before a row is stored.

    :param str code: type of the stored items, ``"h"`` or ``"f"``
    :param offset: ``array("i")``: the items are whole numbers; ``array("f")``: they are real
    :param int shift: power of two that a real number is multiplied with to be stored as int16
    """

    def __init__(self, code, offset, shift=0):
        self.code = code
        self.shift = shift
        self.d = len(offset)
        self.offset = offset
        self._whole = isinstance(offset[0], int)
        self._row = array(code, bytes(self.d * (2 if code == "h" else 4)))

    def row(self, row, out=None, at=0):
        """Store one row in `out[at:]`, or in a row buffer that the next call reuses.

        :raises ValueError: a number that the store does not hold; nothing is cut
        """
        if len(row) != self.d:
            raise ValueError("row: expected %d features, got %d" % (self.d, len(row)))
        if out is None:
            out = self._row
        high = F32_MAX if self.code == "f" else 32767 * 2.0**-self.shift
        for j in range(self.d):
            v = row[j]
            q = v - self.offset[j]
            if not -high <= q <= high or (self._whole and v != int(v)):
                self._refuse(v, j, high)
            if self.code == "h":
                q *= 2.0**self.shift
                q = int(q + 0.5) if q >= 0 else -int(0.5 - q)
            out[at] = q
            at += 1
        return out

    def _refuse(self, v, j, high):
        if v - v != 0:
            raise ValueError("row: expected finite numbers, got %s" % v)
        kind = "whole numbers " if self._whole else ""
        low, high = self.offset[j] - high, self.offset[j] + high
        raise ValueError("row: expected %s%s..%s as feature %d, got %s" % (kind, low, high, j, v))

    rows_pieces = _rows_pieces

    def apart(self):
        """How far each offset lies from their mean, in units of the store."""
        mean = sum(self.offset) / self.d
        return [(v - mean) * 2.0**self.shift for v in self.offset]

    def sections(self):
        """Kind and offsets: the pieces of a model file."""
        return bytes((ord("i" if self._whole else "c"), 0, 0, 0)), self.offset


class Scaler:
    """Offset and divisor of each feature; `code` is the type of the scaled items.

    Int16 items come from whole numbers (`offset` and `divisor` are ``array("i")``), or from real
    ones (both are ``array("f")``).
    """

    def __init__(self, code, offset, divisor, power=0):
        self.code = code
        self._whole = isinstance(offset[0], int)
        self.shift = SHIFT if code == "h" else 0
        self.d = len(offset)
        self.offset = offset
        self.divisor = divisor
        self.power = power
        self.saturated = 0
        self._row = array(code, bytes(self.d * (2 if code == "h" else 4)))

    def row(self, row, out=None, at=0):
        """Scale one row into `out[at:]`, or into a row buffer that the next call reuses."""
        d = self.d
        if len(row) != d:
            raise ValueError("row: expected %d features, got %d" % (d, len(row)))
        if out is None:
            out = self._row
        for j in range(d):
            v = row[j]
            if v - v != 0:
                raise ValueError("row: expected finite numbers, got %s" % v)
            if self.code == "f":
                out[at] = (v - self.offset[j]) / self.divisor[j]
            else:
                out[at] = self._int16(v, j)
            at += 1
        return out

    def _int16(self, v, j):
        """Stored value of `v` as feature `j`; a fraction is not cut to a whole number first."""
        div = self.divisor[j]
        if self._whole and v == int(v):
            q = int(v) - self.offset[j]
            limit = (div << 11) >> self.power
            if -limit <= q <= limit:
                q = ((q << self.power) + (div >> 1)) // div
                return LIMIT if q > LIMIT else -LIMIT if q < -LIMIT else q
        else:
            q = (v - self.offset[j]) / div * (1 << (self.power if self._whole else SHIFT))
            if -LIMIT <= q <= LIMIT:
                return floor(q + 0.5)
        self.saturated += 1
        return LIMIT if q > 0 else -LIMIT

    rows_pieces = _rows_pieces

    def sections(self):
        """Kind and power, offsets, divisors: the pieces of a model file."""
        kind = self.code if self._whole or self.code == "f" else "q"
        return bytes((ord(kind), self.power, 0, 0)), self.offset, self.divisor


def read(reader, d, code, shift):
    """Scaler or centre from a model file whose header says `d`, `code` and `shift`."""
    head = reader.get("B", 4)
    kind = chr(head[0])
    stored = {"f": "f", "h": "h", "q": "h", "i": "h", "c": code}.get(kind)
    if stored != code or code not in "hf" or head[1] > 24:
        raise ValueError("model file: expected a known scaler, got %s" % bytes(head))
    real = kind in "fqc"
    offset = reader.get("f" if real else "i", d)
    for v in offset:
        if v - v != 0:
            raise ValueError("model file: expected finite numbers, got %s" % v)
    if kind in "ic":
        return Centre(code, offset, shift)
    divisor = reader.get("f" if real else "i", d)
    for v in divisor:
        if not v > 0:
            raise ValueError("model file: expected divisors > 0, got %s" % v)
    return Scaler(code, offset, divisor, head[1])
