# SPDX-License-Identifier: MIT
"""How good the small machine is: accuracy, and recall of each label."""


def _answers(m, X, y):
    """Yield (label, right?) for each row of a flat buffer."""
    try:
        n = len(y)
        good = m.w is not None and n and m.d * n == len(X)
    except TypeError:
        good = False
    if not good:
        raise ValueError("X, y: expected a fitted machine, rows of its width, and their labels")
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
