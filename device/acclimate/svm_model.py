# SPDX-License-Identifier: MIT
"""A trained machine: votes of one decision function per pair of classes.

The pairs share one store of samples. A linear pair is one weight vector, any other pair a list
of row numbers with their coefficients.
"""

from array import array
from math import exp

LINEAR, POLY, RBF = 0, 1, 2


def kernel_value(kern, x, at, row, d):
    """Kernel of `x[at:at + d]` and `row`; `kern` = (kind, gamma, coef0, degree)."""
    kind, gamma, coef0, degree = kern
    s = 0
    if kind == RBF:
        for v in row:
            t = x[at] - v
            s += t * t
            at += 1
        return exp(-gamma * s)
    for v in row:
        s += x[at] * v
        at += 1
    return gamma * s if kind == LINEAR else (gamma * s + coef0) ** degree


class Model:
    """Decision functions of all pairs (i, j), i < j, over `classes` (sorted labels)."""

    def __init__(self, classes, d, kern, x=None, code="f", shift=0, scaled=False):
        self.classes = classes
        self.d = d
        # As float32, so that a model read back from its file decides the same bits.
        self.kern = (kern[0],) + tuple(array("f", kern[1:3])) + (kern[3],)
        self.x = x
        self.code = code
        self.shift = shift
        self.pairs = []  # (row numbers or None, coefficients or weights, bias)
        self.n_iter = 0
        self.gap = 0.0
        self.converged = False
        self.n_support = 0
        k = len(classes)
        self.convert = bool(shift) and not scaled  # rows come in the caller's units
        self._row = array(code, [0] * d) if self.convert else None
        self._out = array("f", [0] * (k * (k - 1) // 2))
        self._votes = bytearray(k)

    def value(self, row, pair):
        """Decision value of one pair; above 0 is a vote for its first class."""
        idx, coef, bias = pair
        s = 0.0
        d = self.d
        if idx is None:
            for k in range(d):
                s += coef[k] * row[k]
        else:
            for k in range(len(idx)):
                s += coef[k] * kernel_value(self.kern, self.x, idx[k] * d, row, d)
        return s + bias

    def values(self, row, out):
        """Write the decision value of each pair to `out` and return it."""
        if len(row) != self.d:
            raise ValueError("row: expected %d features, got %d" % (self.d, len(row)))
        if self._row is not None:
            from acclimate.svm_data import store_into

            store_into(self._row, 0, row, self.code, self.shift)
            row = self._row
        p = 0
        for pair in self.pairs:
            v = self.value(row, pair)
            if v - v != 0:
                raise ValueError("row: expected finite numbers, got decision %s" % v)
            out[p] = v
            p += 1
        return out

    def decision(self, row, out=None):
        """Values with the signs of scikit-learn; see `SVM.decision`."""
        if len(self.pairs) > 1:
            return self.values(row, array("f", self._out) if out is None else out)
        self.values(row, self._out)
        if out is None:
            return -self._out[0]
        out[0] = -self._out[0]
        return out

    def predict(self, row):
        """Label with most votes; the lower label wins a tie (the rule of libsvm)."""
        out = self.values(row, self._out)
        if len(self.pairs) == 1:
            return self.classes[0 if out[0] > 0 else 1]
        votes = self._votes
        k = len(votes)
        for i in range(k):
            votes[i] = 0
        p = 0
        for i in range(k):
            for j in range(i + 1, k):
                votes[i if out[p] > 0 else j] += 1
                p += 1
        best = 0
        for i in range(1, k):
            if votes[i] > votes[best]:
                best = i
        return self.classes[best]
