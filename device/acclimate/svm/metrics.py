# SPDX-License-Identifier: MIT
"""How good a fitted machine is: accuracy, recall of each class, kernel values."""


def _rows(m, X, y):
    """Yield (row, label) pairs after the shape is checked."""
    from acclimate.svm.data import shape_of

    n, d, flat = shape_of(X, y)
    want = m._ready().d
    if d != want:
        raise ValueError("X: expected rows of %d features, got %d" % (want, d))
    for i in range(n):
        yield (X[i * d : i * d + d] if flat else X[i]), y[i]


def evaluate(m, X, y):
    """Share of right predictions, 0..1; of a regression the share of variance explained."""
    if m.kind == "regression":
        return m._kind.evaluate(m, _rows(m, X, y))
    right = 0
    for row, label in _rows(m, X, y):
        right += m.predict(row) == label
    return right / len(y)


def report(m, X, y):
    """One line per label: rows, recall; of a regression its errors."""
    if m.kind == "regression":
        return m._kind.report(m, _rows(m, X, y))
    rows = {}
    right = {}
    for row, label in _rows(m, X, y):
        rows[label] = rows.get(label, 0) + 1
        right[label] = right.get(label, 0) + (m.predict(row) == label)
    lines = ["label  rows  recall"]
    for label in sorted(rows):
        lines.append("%5s %5d  %.3f" % (label, rows[label], right[label] / rows[label]))
    return "\n".join(lines)


def kernel(m, a, b):
    """Kernel value of two rows in the units of the caller."""
    from math import exp

    if len(a) != len(b):
        raise ValueError("b: expected %d features, got %d" % (len(a), len(b)))
    gamma = m.gamma
    if gamma is None and m.kernel_name != "linear":
        raise ValueError("gamma: expected a number for kernel(), got None")
    s = 0
    for k in range(len(a)):
        if m.kernel_name == "rbf":
            s += (a[k] - b[k]) * (a[k] - b[k])
        else:
            s += a[k] * b[k]
    if m.kernel_name == "rbf":
        return exp(-gamma * s)
    return s if m.kernel_name == "linear" else (gamma * s + m.coef0) ** m.degree
