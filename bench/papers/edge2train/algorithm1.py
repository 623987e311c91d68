# SPDX-License-Identifier: MIT
"""Algorithm 1 of the Edge2Train paper (Sudharsan et al., IoT 2020), its printing errors repaired.

A slow reference that other solvers are measured by: every sample is visited in turn, its partner
is drawn at random, and f(x) is computed anew each time. ``bench/native/svm_ref`` has it in C.

>>> machine = Algorithm1("linear").fit([[20, 0], [22, 1], [60, 9], [70, 9]], [0, 0, 1, 1])
>>> machine.predict([24, 1]), machine.predict([66, 9])
(0, 1)
"""

import math

IDLE = 10  # passes without a change that end a training; the paper waits for 10 000
SMALLEST = 1e-5  # a change of alpha below this does not count


class Algorithm1:
    """A support vector machine of two classes.

    :param str kernel: linear, poly or rbf; gamma, degree and coef0 are its numbers
    :param float C: bound of each alpha. :param float tol: slack of the optimality conditions
    :param int max_iter: most passes over all samples
    """

    def __init__(
        self, kernel="linear", C=1.0, gamma=1.0, degree=3, coef0=0.0, tol=1e-3, max_iter=10000
    ):
        if kernel not in ("linear", "poly", "rbf"):
            raise ValueError(f"kernel: expected linear, poly or rbf, got {kernel!r}")
        self.kernel, self.C, self.tol, self.max_iter = kernel, C, tol, max_iter
        self.gamma, self.degree, self.coef0 = gamma, degree, coef0
        self.n_iter, self.converged, self.bias = 0, False, 0.0

    def fit(self, X, y):
        """Train on rows and their labels; returns itself.

        :raises ValueError: where there are not two classes
        """
        self.classes = sorted(set(y))
        if len(self.classes) != 2:
            raise ValueError(f"y: expected labels of two classes, got {self.classes}")
        self.X, self.y = X, [1 if label == self.classes[1] else -1 for label in y]
        self.alphas, self._seed, idle = [0.0] * len(X), 1, 0
        self.bias, self.n_iter = 0.0, 0
        while idle < IDLE and self.n_iter < self.max_iter:
            changed = [self._visit(i) for i in range(len(X))]
            idle = 0 if any(changed) else idle + 1
            self.n_iter += 1
        self.converged = idle >= IDLE
        return self

    def predict(self, row):
        """The label of a row."""
        return self.classes[self.decision(row) > 0]

    def decision(self, row):
        """f(row): above 0 speaks for the higher label."""
        terms = zip(self.alphas, self.y, self.X, strict=True)
        return self.bias + sum(a * y * self._value(x, row) for a, y, x in terms if a)

    def _value(self, a, b):
        if self.kernel == "rbf":
            return math.exp(-self.gamma * sum((p - q) ** 2 for p, q in zip(a, b, strict=True)))
        product = sum(p * q for p, q in zip(a, b, strict=True))
        if self.kernel == "poly":
            return (self.gamma * product + self.coef0) ** self.degree
        return product

    def _visit(self, i):
        """Move sample `i` and a partner where it breaks a condition; True if that changed any."""
        error = self.decision(self.X[i]) - self.y[i]
        slack, alpha = self.y[i] * error, self.alphas[i]
        if (slack < -self.tol and alpha < self.C) or (slack > self.tol and alpha > 0):
            return self._optimise(i, self._partner(i), error)
        return False

    def _partner(self, i):
        """A sample other than `i`, the same in every run."""
        self._seed = (self._seed * 1103 + 12345) & 0xFFFF
        j = (self._seed >> 4) % (len(self.X) - 1)
        return j + 1 if j >= i else j

    def _optimise(self, i, j, e_i):
        X, (y_i, y_j) = self.X, (self.y[i], self.y[j])
        e_j = self.decision(X[j]) - y_j
        a_i, a_j = self.alphas[i], self.alphas[j]
        if y_i != y_j:
            low, high = max(0, a_j - a_i), min(self.C, self.C + a_j - a_i)
        else:
            low, high = max(0, a_i + a_j - self.C), min(self.C, a_i + a_j)
        k_ij, k_ii, k_jj = (
            self._value(X[i], X[j]),
            self._value(X[i], X[i]),
            self._value(X[j], X[j]),
        )
        eta = 2 * k_ij - k_ii - k_jj
        if low >= high or eta >= 0:
            return False
        new_j = min(max(a_j - y_j * (e_i - e_j) / eta, low), high)
        if abs(new_j - a_j) < SMALLEST:
            return False
        new_i = min(max(a_i + y_i * y_j * (a_j - new_j), 0), self.C)
        d_i, d_j = y_i * (new_i - a_i), y_j * (new_j - a_j)
        b_i = self.bias - e_i - d_i * k_ii - d_j * k_ij
        b_j = self.bias - e_j - d_i * k_ij - d_j * k_jj
        inside_i, inside_j = 0 < new_i < self.C, 0 < new_j < self.C
        self.bias = b_i if inside_i else b_j if inside_j else (b_i + b_j) / 2
        self.alphas[i], self.alphas[j] = new_i, new_j
        return True
