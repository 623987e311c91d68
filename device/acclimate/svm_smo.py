# SPDX-License-Identifier: MIT
"""Sequential minimal optimisation of one pair of classes, in Python with float numbers.

Second-order choice of the working set, kept gradient, no kernel matrix: two kernel rows are
computed for each step.
"""

from array import array

from acclimate.svm_model import kernel_value


class Smo:
    """Solver over rows `idx` of the flat store `x` with signs +1/-1 and a C for each sign."""

    def __init__(self, x, d, idx, sign, kern, c_pos, c_neg, tol, max_iter):
        n = len(idx)
        self.x, self.d, self.idx, self.sign, self.kern = memoryview(x), d, idx, sign, kern
        # As float32, like the alphas that must reach them.
        self.c_pos, self.c_neg = array("f", (c_pos, c_neg))
        self.tol = tol
        self.max_iter = max_iter
        self.alpha = array("f", bytes(4 * n))
        self.v = array("f", sign)  # -sign * gradient
        self.row_i = array("f", bytes(4 * n))
        self.row_j = array("f", bytes(4 * n))
        self.diagonal = array("f", bytes(4 * n))
        for t in range(n):
            self.diagonal[t] = self._kernel(t, t)
        self.n_iter = 0
        self.gap = 0.0
        self.b = 0.0
        self.converged = False

    def _kernel(self, s, t):
        at = self.idx[t] * self.d
        row = self.x[at : at + self.d]
        return kernel_value(self.kern, self.x, self.idx[s] * self.d, row, self.d)

    def _fill(self, row, s):
        for t in range(len(row)):
            row[t] = self._kernel(s, t)

    def _room(self, t, up):
        """How far alpha[t] may go so that sign * alpha grows (`up`) or shrinks."""
        if (self.sign[t] > 0) == up:
            return (self.c_pos if self.sign[t] > 0 else self.c_neg) - self.alpha[t]
        return self.alpha[t]

    def _second(self, i, high):
        """Partner of `i` that gains most, and the lowest value of the other side."""
        low = None
        best = 0.0
        j = -1
        for t in range(len(self.idx)):
            v = self.v[t]
            if self._room(t, False) > 0:
                low = v if low is None or v < low else low
                if v >= high:
                    continue
                q = max(self.diagonal[i] + self.diagonal[t] - 2 * self.row_i[t], 1e-12)
                gain = (high - v) * (high - v) / q
                if gain > best:
                    best = gain
                    j = t
        return j, low

    def step(self, count):
        """Do up to `count` steps; True when the pair is done."""
        v = self.v
        n = len(v)
        for _ in range(count):
            i = -1
            for t in range(n):
                if (i < 0 or v[t] > v[i]) and self._room(t, True) > 0:
                    i = t
            self._fill(self.row_i, i)
            j, low = self._second(i, v[i])
            self.gap = v[i] - low
            self.b = (v[i] + low) / 2
            self.converged = self.gap <= self.tol
            if self.converged or j < 0 or self.n_iter >= self.max_iter:
                return True
            self._fill(self.row_j, j)
            q = max(self.diagonal[i] + self.diagonal[j] - 2 * self.row_i[j], 1e-12)
            t = min((v[i] - v[j]) / q, self._room(i, True), self._room(j, False))
            before = self.alpha[i], self.alpha[j]
            self._move(i, t)
            self._move(j, -t)
            if before == (self.alpha[i], self.alpha[j]):
                return True  # below float resolution
            for k in range(n):
                v[k] -= t * (self.row_i[k] - self.row_j[k])
            self.n_iter += 1
        return False

    def _move(self, t, by):
        """Change sign * alpha by `by`, ending exactly on a bound that is reached."""
        c = self.c_pos if self.sign[t] > 0 else self.c_neg
        self.alpha[t] = min(max(self.alpha[t] + self.sign[t] * by, 0.0), c)
