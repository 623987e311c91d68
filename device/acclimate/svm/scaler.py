# SPDX-License-Identifier: MIT
"""Choose what is done to rows from the data of a training: a scaler, an offset, a warning."""

from array import array

from acclimate.svm.rows import F32_MAX, rows_at_once
from acclimate.svm.scaled import SHIFT, Scaler

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


def range_warning(lo, hi):
    """Text for feature ranges that differ by more than 100 times, or None."""
    small = big = -1
    for j in range(len(lo)):
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


def far_from_zero(lo, hi, factor):
    """True when the middles of the features lie so far from 0, seen from their spans, that
    products of rows would lose the differences between them."""
    middle = span = 0.0
    for j in range(len(lo)):
        middle += (lo[j] * 0.5 + hi[j] * 0.5) ** 2
        span += (hi[j] * 0.5 - lo[j] * 0.5) ** 2
    return middle > factor * span


def fit_pieces(X, n, d, flat=False, whole=True, floats=True):
    """Scaler for the rows of `X`, in pieces; `whole` says that all values are whole numbers,
    `floats` that a float32 store is welcome."""
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
    if not sum(square) < F32_MAX:
        raise ValueError("X: expected numbers whose squares float32 holds, got larger ones")
    if not whole:
        std = [(s / n) ** 0.5 or 1.0 for s in square]
        return Scaler("f" if floats else "h", array("f", mean), array("f", std))
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
