# SPDX-License-Identifier: MIT
"""The two tasks of the Edge2Train paper, with interleaved classes, and their reference answers."""

from array import array
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import SVC

from acclimate.svm import parameters as p

C = 1.0
EPS = 1e-3
MAX_ITER = 100_000


@dataclass(frozen=True)
class Task:
    """Integer rows (real features times `scale`), signs, and how many rows are for training."""

    name: str
    x: np.ndarray
    y: np.ndarray
    n_train: int
    scale: int

    @property
    def d(self):
        return self.x.shape[1]

    def rows(self):
        """Row numbers for the solver: r for class +1, ~r for class -1."""
        signs = self.y[: self.n_train]
        return array("h", [r if s > 0 else ~r for r, s in enumerate(signs)])

    def par(self, is_float, xtype=p.INT8):
        """Solver parameters; integer rows make C smaller by scale squared."""
        out = array("f" if is_float else "i", [0] * p.PAR_COUNT)
        fill = p.fill_float if is_float else p.fill_fixed
        c = C if xtype == p.FLOAT32 else C / self.scale**2
        fill(out, self.d, xtype, p.LINEAR, c, c, EPS, MAX_ITER)
        return out

    def reference(self):
        """Fitted scikit-learn SVC on the real-valued rows."""
        real = self.x / self.scale
        train = slice(self.n_train)
        return SVC(kernel="linear", C=C, tol=1e-6).fit(real[train], self.y[train])

    def objective(self, signed_alpha):
        """Dual objective of signed alphas (in real-valued units)."""
        real = self.x[: self.n_train] / self.scale
        w = signed_alpha @ real
        return float(np.abs(signed_alpha).sum() - 0.5 * w @ w)

    def reference_objective(self, model):
        full = np.zeros(self.n_train)
        full[model.support_] = model.dual_coef_[0]
        return self.objective(full)


def _interleave(first, second):
    x = np.empty((len(first) + len(second), first.shape[1]), first.dtype)
    x[0::2], x[1::2] = first, second
    y = np.where(np.arange(len(x)) % 2 == 0, 1, -1)
    return x, y


def iris():
    """Setosa against Versicolor, the first 100 rows, 70 for training."""
    data = load_iris().data[:100]
    x, y = _interleave(np.rint(data[:50] * 10), np.rint(data[50:] * 10))
    return Task("iris", x.astype(np.int8), y, 70, 10)


def digits():
    """60 of digit 6 against 60 others, 8 x 8 pixels of 0 to 16, 84 for training."""
    data = load_digits()
    six = data.data[data.target == 6][:60]
    others = data.data[data.target != 6][:60]
    x, y = _interleave(six, others)
    return Task("digits", x.astype(np.int8), y, 84, 1)


TASKS = (iris(), digits())
