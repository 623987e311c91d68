# SPDX-License-Identifier: MIT
"""Old and new models for the acceptance bench: smart-watch users, scikit-learn MLPs.

For each of ten users the models are trained on other people only (but for the personal kind).
An update changes what the new model learned from: users are added or exchanged, labels are
noisy, a channel is broken, or some windows of the user are added. Two other people are kept out
of all training, as a server would: they give each model its confidence temperature, and the
capsule its prior (how much better the new model does on them).
"""

import warnings
from dataclasses import dataclass

import numpy as np

from acclimate_host.demo import watch
from acclimate_host.paths import built

WINDOW = 100
KINDS = ("more users", "other users", "noisy labels", "broken channel", "personal")


@dataclass(frozen=True)
class Update:
    """Logits (1/256) of both models on the user's windows, and what a server knows."""

    user: int
    kind: str
    truth: np.ndarray
    old: np.ndarray
    new: np.ndarray
    old_temperature: int
    new_temperature: int
    prior: int  # change of accuracy on the server's people in 1/255
    stream: np.ndarray  # the user's windows in the order they came


def windows():
    """Return (features, exercise, subject) of all windows."""
    rows, truth, subject = [], [], []
    for recording in watch.load(built("cache", "watch.npz")):
        for window in recording.windows(WINDOW):
            w = window / watch.SCALE
            step = np.abs(np.diff(w, axis=0)).mean(0)
            rows.append(np.concatenate([w.mean(0), w.std(0), w.min(0), w.max(0), step]))
            truth.append(recording.exercise)
            subject.append(recording.subject)
    return np.array(rows), np.array(truth), np.array(subject)


class _Model:
    def __init__(self, x, y, seed):
        from sklearn.neural_network import MLPClassifier

        self.mean, self.scale = x.mean(0), x.std(0) + 1e-6
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = MLPClassifier((24,), max_iter=60, alpha=1e-3, random_state=seed)
            self.net = net.fit((x - self.mean) / self.scale, y)

    def logits(self, x):
        """Return int16 logits of all seven classes in 1/256; one never seen is far below."""
        net = self.net
        hidden = np.maximum((x - self.mean) / self.scale @ net.coefs_[0] + net.intercepts_[0], 0)
        z = hidden @ net.coefs_[1] + net.intercepts_[1]
        full = np.full((len(x), len(watch.EXERCISES)), -100.0)
        full[:, net.classes_] = z
        return np.clip(np.rint(full * 256), -32768, 32767).astype(int)

    def right(self, x, y):
        return float((self.logits(x).argmax(1) == y).mean())

    def temperature(self, x, y):
        """Return the temperature (1/256) with the least log loss on labelled windows."""
        z = self.logits(x) / 256
        grid = 2.0 ** np.arange(-1, 4.01, 0.25)
        losses = []
        for t in grid:
            s = z / t
            s = s - s.max(1, keepdims=True)
            losses.append((np.log(np.exp(s).sum(1)) - s[np.arange(len(y)), y]).mean())
        return int(grid[int(np.argmin(losses))] * 256)


def _data(x, y, subject, people):
    chosen = np.isin(subject, people)
    return x[chosen], y[chosen]


def _changed(kind, x, y, subject, old_people, others, user, draw):
    """Return the training data of the new model."""
    if kind == "more users":
        count = min(len(others), draw.integers(1, 4))
        people = [*old_people, *draw.choice(others, count, replace=False)]
        return _data(x, y, subject, people)
    if kind == "other users":
        pool = np.concatenate([old_people, others])
        return _data(x, y, subject, draw.choice(pool, draw.integers(2, 6), replace=False))
    xs, ys = _data(x, y, subject, old_people)
    if kind == "noisy labels":
        wrong = draw.random(len(ys)) < draw.uniform(0.1, 0.6)
        ys = np.where(wrong, draw.integers(0, len(watch.EXERCISES), len(ys)), ys)
    elif kind == "broken channel":
        xs = xs.copy()
        for channel in draw.choice(6, draw.integers(1, 4), replace=False):
            xs[:, channel::6] = draw.normal(0, 1, xs[:, channel::6].shape)
    else:
        own = np.flatnonzero(subject == user)
        own = draw.choice(own, draw.integers(7, 22), replace=False)
        xs, ys = np.vstack([xs, *[x[own]] * 5]), np.concatenate([ys, *[y[own]] * 5])
    return xs, ys


def updates_of(user, per_user, data, seed=0):
    """Return a list of Updates of one user."""
    x, y, subject = data
    draw = np.random.default_rng((seed, user))
    people = np.setdiff1d(np.unique(subject), [user])
    mine = subject == user
    xu, yu = x[mine], y[mine]
    made = []
    for number in range(per_user):
        shuffled = draw.permutation(people)
        server, rest = shuffled[:2], shuffled[2:]
        size = draw.integers(2, 6)
        old_people, others = rest[:size], rest[size:]
        kind = KINDS[number % len(KINDS)]
        xs, ys = _data(x, y, subject, server)
        old = _Model(*_data(x, y, subject, old_people), int(draw.integers(1 << 30)))
        new_data = _changed(kind, x, y, subject, old_people, others, user, draw)
        new = _Model(*new_data, int(draw.integers(1 << 30)))
        made.append(Update(
            user, kind, yu, old.logits(xu), new.logits(xu), old.temperature(xs, ys),
            new.temperature(xs, ys), round(255 * (new.right(xs, ys) - old.right(xs, ys))),
            draw.permutation(len(yu)),
        ))  # fmt: skip
    return made
