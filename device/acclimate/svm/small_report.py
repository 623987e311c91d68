# SPDX-License-Identifier: MIT
"""How good the small machine is: accuracy, and recall of each label."""


def _answers(m, X, y):
    """Yield (label, right?) for each row of a flat buffer."""
    n = len(y)
    if m.w is None or m.d * n != len(X):
        raise ValueError("X: expected a fitted machine and rows of its width, got %d" % len(X))
    for i in range(n):
        yield y[i], m.predict(X[i * m.d : i * m.d + m.d]) == y[i]


def evaluate(m, X, y):
    """Share of right predictions, 0..1."""
    return sum([right for _, right in _answers(m, X, y)]) / len(y)


def report(m, X, y):
    """One line per label: rows, recall."""
    rows, right = {}, {}
    for label, good in _answers(m, X, y):
        rows[label] = rows.get(label, 0) + 1
        right[label] = right.get(label, 0) + good
    lines = ["label  rows  recall"]
    for label in sorted(rows):
        lines.append("%5s %5d  %.3f" % (label, rows[label], right[label] / rows[label]))
    return "\n".join(lines)
