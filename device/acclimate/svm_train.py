# SPDX-License-Identifier: MIT
"""Training of all pairs of classes, one after the other, over one shared sample store."""

from array import array

from acclimate import svm_data
from acclimate.svm_model import LINEAR, Model
from acclimate.svm_smo import Smo


def _gamma(m, x, n, d, shift):
    """Kernel factor for stored values; None follows scikit-learn's "scale" rule."""
    gamma = m.gamma
    if m.kernel_name == "linear":
        return 2.0 ** (-2 * shift)
    if gamma is None:
        total = square = 0
        for v in memoryview(x) if isinstance(x, bytes) else x:
            total += v
            square += v * v
        count = n * d
        variance = square / count - (total / count) ** 2
        return 1.0 / (d * variance) if variance > 0 else 1.0
    return gamma * 2.0 ** (-2 * shift)


def _weights(m, y, classes):
    """C of each class, from `class_weight`."""
    w = m.class_weight
    out = []
    for c in classes:
        f = 1.0
        if w == "balanced":
            f = len(y) / (len(classes) * sum(1 for v in y if v == c))
        elif w is not None:
            f = w.get(c, 1.0)
        if not (f > 0 and f - f == 0):
            raise ValueError("class_weight[%d]: expected a number > 0, got %s" % (c, f))
        out.append(m.C * f)
    return out


class Job:
    """One training: pairs done so far and the solver of the present one."""

    def __init__(self, m, x, code, shift, n, d, classes, y, scaler):
        self.m = m
        self.x = x
        self.y = y
        self.n = n
        self.scaler = scaler
        self.n_iter = 0
        self.gap = 0.0
        self.converged = True
        kind = ("linear", "poly", "rbf").index(m.kernel_name)
        kern = (kind, _gamma(m, x, n, d, shift), m.coef0, m.degree)
        self.costs = _weights(m, y, classes)
        store = None if kind == LINEAR else x
        self.out = Model(classes, d, kern, store, code, shift, scaler is not None)
        self.at = (0, 1)
        self.solver = None
        self.used = bytearray(n)

    def _open(self):
        i, j = self.at
        a, b = self.out.classes[i], self.out.classes[j]
        self.idx = array("H", [r for r in range(self.n) if self.y[r] == a or self.y[r] == b])
        sign = array("b", [1 if self.y[r] == a else -1 for r in self.idx])
        self.sign = sign
        m = self.m
        self.solver = Smo(
            self.x, self.out.d, self.idx, sign, self.out.kern,
            self.costs[i], self.costs[j], m.tol, m.max_iter,
        )  # fmt: skip

    def step(self, count):
        """Do up to `count` solver steps; True when every pair is trained."""
        if self.solver is None:
            self._open()
        before = self.solver.n_iter
        done = self.solver.step(count)
        self.n_iter += self.solver.n_iter - before
        if not done:
            return False
        self.out.pairs.append(self._pair())
        self.gap = max(self.gap, self.solver.gap)
        self.converged = self.converged and self.solver.converged
        self.solver = None
        i, j = self.at
        k = len(self.out.classes)
        self.at = (i, j + 1) if j + 1 < k else (i + 1, i + 2)
        return self.at[1] >= k

    def _pair(self):
        s = self.solver
        d = self.out.d
        rows = [t for t in range(len(self.idx)) if s.alpha[t] > 0]
        for t in rows:
            self.used[self.idx[t]] = 1
        if self.out.kern[0] != LINEAR:
            idx = array("H", [self.idx[t] for t in rows])
            return idx, array("f", [s.alpha[t] * self.sign[t] for t in rows]), array("f", [s.b])[0]
        w = array("f", [0] * d)
        for t in rows:
            at = self.idx[t] * d
            for k in range(d):
                w[k] += s.alpha[t] * self.sign[t] * self.x[at + k] * self.out.kern[1]
        return None, w, array("f", [s.b])[0]

    def model(self):
        """The model as far as training has come; training may go on afterwards."""
        out = self.out
        pairs = list(out.pairs)
        if self.solver is not None:
            pairs.append(self._pair())
        now = Model(out.classes, out.d, out.kern, out.x, out.code, out.shift, not out.convert)
        k = len(out.classes)
        now.converged = self.converged and len(out.pairs) == k * (k - 1) // 2
        while len(pairs) < k * (k - 1) // 2:
            pairs.append((array("H"), array("f"), 0.0))
        now.pairs = pairs
        now.n_iter = self.n_iter
        now.gap = max(self.gap, 0.0 if self.solver is None else self.solver.gap)
        now.n_support = sum(self.used)
        return now


def start(m, X, y):
    """Check the data, then return a job that has not yet touched the model."""
    x, code, shift, n, d, classes, scaler, warning = svm_data.prepare(X, y, m.storage, m._scale)
    if warning and not m.warning:
        m.warning = warning
        print("SVM:", warning)
    return Job(m, x, code, shift, n, d, classes, y, scaler)
