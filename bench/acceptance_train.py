# SPDX-License-Identifier: MIT
"""Train many small MLPs at once (one hidden layer, ReLU, softmax, Adam) with numpy."""

import numpy as np

_HIDDEN = 24
_BATCH = 64
_STEPS = 600
_RATE = 2e-3
_DECAY = 1e-4


class Models:
    """MLPs trained side by side; ``logits(k, x)`` are those of the k-th in 1/256."""

    def __init__(self, sets, seeds, classes):
        """Train one MLP for each (x, y) of sets, from each seed."""
        draws = [np.random.default_rng(seed) for seed in seeds]
        self.mean = [x.mean(0) for x, _ in sets]
        self.scale = [x.std(0) + 1e-3 for x, _ in sets]
        width = sets[0][0].shape[1]
        self._parameters = [
            _drawn(draws, (width, _HIDDEN), 2 / width),
            np.zeros((len(sets), 1, _HIDDEN), np.float32),
            _drawn(draws, (_HIDDEN, classes), 1 / _HIDDEN),
            np.zeros((len(sets), 1, classes), np.float32),
        ]
        longest = max(len(y) for _, y in sets)
        x = np.zeros((len(sets), longest, width), np.float32)
        y = np.zeros((len(sets), longest), int)
        for k, (rows, truth) in enumerate(sets):
            x[k, : len(truth)] = (rows - self.mean[k]) / self.scale[k]
            y[k, : len(truth)] = truth
        self._fit(x, y, _Batches([len(truth) for _, truth in sets], draws))

    def logits(self, k, x):
        """Return int16 logits of rows of features in 1/256."""
        w1, b1, w2, b2 = (p[k] for p in self._parameters)
        hidden = np.maximum((x - self.mean[k]) / self.scale[k] @ w1 + b1, 0)
        return np.clip(np.rint((hidden @ w2 + b2) * 256), -32768, 32767).astype(int)

    def _fit(self, x, y, batches):
        first = [np.zeros_like(p) for p in self._parameters]
        second = [np.zeros_like(p) for p in self._parameters]
        which = np.arange(len(x))[:, None]
        for step in range(1, _STEPS + 1):
            rows = batches.next()
            gradients = self._gradients(x[which, rows], y[which, rows], which)
            rate = _RATE * (1 - 0.9 * step / _STEPS)
            for p, g, m, v in zip(self._parameters, gradients, first, second, strict=True):
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                p -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)

    def _gradients(self, x, y, which):
        w1, b1, w2, b2 = self._parameters
        hidden = np.maximum(x @ w1 + b1, 0)
        z = hidden @ w2 + b2
        error = np.exp(z - z.max(2, keepdims=True))
        error /= error.sum(2, keepdims=True)
        error[which, np.arange(_BATCH)[None], y] -= 1
        error /= _BATCH
        back = (error @ w2.transpose(0, 2, 1)) * (hidden > 0)
        return (
            x.transpose(0, 2, 1) @ back + _DECAY * w1,
            back.sum(1, keepdims=True),
            hidden.transpose(0, 2, 1) @ error + _DECAY * w2,
            error.sum(1, keepdims=True),
        )


def _drawn(draws, shape, variance):
    return np.stack([d.normal(0, np.sqrt(variance), shape) for d in draws]).astype(np.float32)


class _Batches:
    """Indices of the next batch of each set, shuffled anew after each pass."""

    def __init__(self, counts, draws):
        self._counts, self._draws = counts, draws
        self._order = [d.permutation(n) for d, n in zip(draws, counts, strict=True)]
        self._at = [0] * len(counts)

    def next(self):
        rows = np.empty((len(self._counts), _BATCH), int)
        for k, count in enumerate(self._counts):
            if self._at[k] + _BATCH > count:
                self._order[k] = self._draws[k].permutation(count)
                self._at[k] = 0
            rows[k] = np.resize(self._order[k][self._at[k] : self._at[k] + _BATCH], _BATCH)
            self._at[k] += _BATCH
        return rows
