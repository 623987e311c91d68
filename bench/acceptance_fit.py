# SPDX-License-Identifier: MIT
"""Fit the weights of the evidence, and limits, for each data set on the other sets."""

import numpy as np

LABELS = (5, 10)
_RIDGE = 5.0
_CLIP = 0.3  # a change of accuracy beyond it counts as this much


def fitted_weights(rows, evidence, every=False):
    """Return {data set: four integer weights}, by ridge regression of the change of accuracy.

    :param evidence: function of (row, weights, labels) that is linear in the weights.
    :param every: one set of weights, fitted on all.
    """
    units = np.eye(4, dtype=int)
    parts = [
        [evidence(row, tuple(unit), k) for unit in units] for k in (0, *LABELS) for row in rows
    ]
    x = np.array(parts, float)
    change = np.clip([row["after"] - row["before"] for row in rows], -_CLIP, _CLIP)
    y = np.tile(change, 1 + len(LABELS))
    free = np.arange(len(y)) < len(rows)
    if every:
        return integers(x, y, free)
    sets = np.tile([row["set"] for row in rows], 1 + len(LABELS))
    return {
        str(name): integers(x[sets != name], y[sets != name], free[sets != name])
        for name in np.unique(sets)
    }


def integers(x, y, free):
    """Return weights as integers of which the largest of the first two is 64.

    The first three are fitted without labels, then the label's beside their sum.
    """
    first = np.append(_ridge(x[free, :3], y[free]), 0)
    both = _ridge(np.column_stack([x @ first, x[:, 3]])[~free], y[~free])
    weights = np.append(first[:3], both[1] / both[0])
    return tuple(int(w) for w in np.rint(weights * 64 / max(weights[:2])))


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
