# SPDX-License-Identifier: MIT
"""Bring features to mean 0 and standard deviation 1.

Whole numbers are scaled with integers only: ``q = (v - offset) * 2**power / divisor``, a 16-bit
number that stands for ``q / 128`` standard deviations. What lies outside 16 deviations is cut
there, and counted in `saturated`. The offset is the mean rounded to a whole number: what is
left of it moves all samples alike, which the kernels (but not the polynomial one) do not see.
Fractions are scaled in float32.
"""

from array import array

from acclimate.svm.parameters import rows_at_once

SHIFT = 7  # stored value = standardised value * 2**SHIFT
LIMIT = 2047  # 16 deviations; keeps a dot product of 512 features inside 32 bits
WIDE = 100  # features whose ranges differ more than this get a warning


def ranges(X, n, d, flat=False):
    """Lists of the lowest and the highest value of each feature, in pieces."""
    lo = hi = None
    pause = rows_at_once(d)
    for i in range(n):
        row = X[i * d : i * d + d] if flat else X[i]
        if not (i + 1) % pause:
            yield
        if lo is None:
            lo = list(row)
            hi = list(row)
            continue
        for j in range(d):
            v = row[j]
            if v < lo[j]:
                lo[j] = v
            elif v > hi[j]:
                hi[j] = v
    return lo, hi


def range_warning(X, n, d, flat=False):
    """Text for feature ranges that differ by more than 100 times, or None; in pieces."""
    lo, hi = yield from ranges(X, n, d, flat)
    yield
    small = big = -1
    for j in range(d):
        span = hi[j] - lo[j]
        if span > 0:
            if small < 0 or span < hi[small] - lo[small]:
                small = j
            if big < 0 or span > hi[big] - lo[big]:
                big = j
    if small < 0 or hi[big] - lo[big] <= WIDE * (hi[small] - lo[small]):
        return None
    return "X: feature %d spans %s, feature %d spans %s: use SVM(scale=True)" % (
        big,
        hi[big] - lo[big],
        small,
        hi[small] - lo[small],
    )


class Scaler:
    """Offset and divisor of each feature; `code` is the type of the scaled items."""

    def __init__(self, code, offset, divisor, power=0):
        self.code = code
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
        power = self.power
        for j in range(d):
            v = row[j]
            if self.code == "f":
                out[at] = (v - self.offset[j]) / self.divisor[j]
            else:
                div = self.divisor[j]
                v = int(v) - self.offset[j]
                limit = (div << 11) >> power
                if v > limit or v < -limit:
                    self.saturated += 1
                    q = LIMIT if v > 0 else -LIMIT
                else:
                    q = ((v << power) + (div >> 1)) // div
                    q = LIMIT if q > LIMIT else -LIMIT if q < -LIMIT else q
                out[at] = q
            at += 1
        return out

    def rows_pieces(self, X, n, flat=False):
        """Scale all rows into one new flat array, in pieces."""
        d = self.d
        out = array(self.code, bytes(n * d * (2 if self.code == "h" else 4)))
        pause = rows_at_once(d)
        for i in range(n):
            self.row(X[i * d : i * d + d] if flat else X[i], out, i * d)
            if not (i + 1) % pause:
                yield
        return out

    def sections(self):
        """Kind and power, offsets, divisors: the pieces of a model file."""
        return bytes((ord(self.code), self.power, 0, 0)), self.offset, self.divisor


def fit_pieces(X, n, d, flat=False, whole=True):
    """Scaler for the rows of `X`, in pieces; `whole` says that all values are whole numbers."""
    mean = [0] * d
    square = [0] * d
    count = 0
    pause = rows_at_once(d)
    for i in range(n):
        row = X[i * d : i * d + d] if flat else X[i]
        if not (i + 1) % pause:
            yield
        count += 1
        for j in range(d):
            v = row[j]
            if whole:  # exact sums of integers
                v = int(v)
                mean[j] += v
                square[j] += v * v
            else:  # running mean: stays exact where a float32 sum would not
                delta = v - mean[j]
                mean[j] += delta / count
                square[j] += delta * (v - mean[j])
    yield
    if not whole:
        std = [(s / n) ** 0.5 or 1.0 for s in square]
        return Scaler("f", array("f", mean), array("f", std))
    std = []
    for j in range(d):
        # n^2 * variance is an exact integer; only its root is a float
        spread = n * square[j] - mean[j] * mean[j]
        std.append(spread**0.5 / n if spread else 1.0)
        mean[j] = (2 * mean[j] + n) // (2 * n)
    power = 0
    while power < 24 and max(std) * (2 << power) <= 1 << (18 + SHIFT):
        power += 1
    divisor = [max(1, int(s * (1 << power) / (1 << SHIFT) + 0.5)) for s in std]
    return Scaler("h", array("i", mean), array("i", divisor), power)


def read(reader, d):
    """Scaler from a model file."""
    head = reader.get("B", 4)
    code = chr(head[0])
    if code not in "hf" or head[1] > 24:
        raise ValueError("model file: expected a known scaler, got %s" % bytes(head))
    kind = "i" if code == "h" else "f"
    offset = reader.get(kind, d)
    divisor = reader.get(kind, d)
    for v in divisor:
        if not v > 0:
            raise ValueError("model file: expected divisors > 0, got %s" % v)
    return Scaler(code, offset, divisor, head[1])
