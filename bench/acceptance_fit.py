# SPDX-License-Identifier: MIT
"""Fit the weights of the evidence, and limits, for each data set on the other sets."""

import numpy as np

LABELS = (5, 10)
_RIDGE = 5.0
_MOST, _FEW, _ANY = [0, 1, 2, 4], [0, 2], [0, 1, 2]  # columns; 3 is the label's
_CLIP = 0.3  # a change of accuracy beyond it counts as this much


def fitted_weights(rows, evidence, is_most, every=False):
    """Return {data set: (weights for users of most labels, of few)}, fitted on the other sets.

    By ridge regression of the change of accuracy, integers of which the label's is 256.

    :param evidence: function of (row, weights, labels) that is linear in the weights.
    :param is_most: tells of a row whether the answers use most labels.
    :param every: one pair of weights, fitted on all, and those of no such choice.
    """
    units = np.eye(5, dtype=int)
    parts = [
        [evidence(row, tuple(unit), k) for unit in units] for k in (0, *LABELS) for row in rows
    ]
    x = np.array(parts, float)
    change = np.clip([row["after"] - row["before"] for row in rows], -_CLIP, _CLIP)
    y = np.tile(change, 1 + len(LABELS))
    free = np.arange(len(y)) < len(rows)
    most = np.tile([is_most(row) for row in rows], 1 + len(LABELS))

    def integers(chosen, columns):
        return _integers(x[chosen], y[chosen], free[chosen], columns)

    if every:
        return integers(most, _MOST), integers(~most, _FEW), integers(most | ~most, _ANY)
    sets = np.tile([row["set"] for row in rows], 1 + len(LABELS))
    return {
        str(name): (
            integers((sets != name) & most, _MOST),
            integers((sets != name) & ~most, _FEW),
        )
        for name in np.unique(sets)
    }


def _integers(x, y, free, columns):
    """Return five weights; those that are not of a label are fitted without labels."""
    first = np.zeros(5)
    first[columns] = _ridge(x[free][:, columns], y[free])
    both = _ridge(np.column_stack([x @ first, x[:, 3]])[~free], y[~free])
    first[3] = both[1] / both[0]
    return tuple(int(w) for w in np.rint(first * 256 / first[3]))


def _ridge(x, y):
    scale = x.std(0) + 1e-9
    z = x / scale
    return np.linalg.solve(z.T @ z + _RIDGE * np.eye(x.shape[1]), z.T @ y) / scale


def fitted_limits(rows, is_right):
    """Return, per data set, the nDCG above which accepting is right most often in the others."""
    limits = [int(share * 32768) for share in np.arange(-1, 1, 0.02)]
    right = np.array([[is_right(row, row["ndcg"] > limit) for limit in limits] for row in rows])
    sets = np.array([row["set"] for row in rows])
    return {
        str(name): limits[int(np.argmax(right[sets != name].mean(0)))] for name in np.unique(sets)
    }
