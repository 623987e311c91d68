# SPDX-License-Identifier: MIT
"""Old and new models for the acceptance bench: small MLPs for people they have not met.

For each user the models are trained on other people only (but for the personal kind).
An update changes what the new model learned from: users are added or exchanged, labels are
noisy, channels are broken, or some windows of the user are added. Two other people are kept out
of all training, as a server would: they give each model its confidence temperature, and the
capsule its prior (how much better the new model does on them).
"""

from dataclasses import dataclass, replace

import numpy as np

from bench.acceptance_train import Models

KINDS = ("more users", "other users", "noisy labels", "broken channel", "personal")


@dataclass(frozen=True)
class Update:
    """Logits (1/256) of both models on the user's rows, and what a server knows."""

    user: int
    kind: str
    rows: np.ndarray  # the user's rows that no model learned from, in the order they came
    truth: np.ndarray
    old: np.ndarray
    new: np.ndarray
    old_temperature: int
    new_temperature: int
    prior: int  # change of accuracy on the server's people in 1/255

    def only(self, exercises):
        """Return the same for a user who does nothing else."""
        met = np.isin(self.truth, exercises)
        return replace(
            self, rows=self.rows[met], truth=self.truth[met], old=self.old[met], new=self.new[met]
        )


def temperature(logits, truth):
    """Return the temperature (1/256) with the least log loss on labelled windows."""
    losses, grid = [], 2.0 ** np.arange(-1, 4.01, 0.25)
    for t in grid:
        s = logits / (256 * t)
        s = s - s.max(1, keepdims=True)
        losses.append((np.log(np.exp(s).sum(1)) - s[np.arange(len(truth)), truth]).mean())
    return int(grid[int(np.argmin(losses))] * 256)


def _changed(kind, data, old_people, others, user, draw):
    """Return the training data of the new model, and the user's own windows in it."""
    if kind == "more users":
        count = min(len(others), draw.integers(2, 5))
        return (*data.of([*old_people, *draw.choice(others, count, replace=False)]), ())
    if kind == "other users":
        pool = np.concatenate([old_people, others])
        return (*data.of(draw.choice(pool, draw.integers(2, 6), replace=False)), ())
    x, y = data.of(old_people)
    if kind == "noisy labels":
        wrong = draw.random(len(y)) < draw.uniform(0.2, 0.8)
        return x, np.where(wrong, draw.integers(0, data.classes, len(y)), y), ()
    if kind == "broken channel":
        x = x.copy()
        broken = draw.integers(1, 2 * data.channels // 3 + 1)
        for channel in draw.choice(data.channels, broken, replace=False):
            columns = x[:, channel :: data.channels]
            x[:, channel :: data.channels] = draw.normal(0, 1, columns.shape)
        return x, y, ()
    own = np.flatnonzero((data.subject == user) & data.apart())
    own = draw.choice(own, draw.integers(*data.own), replace=False)
    x, y = np.vstack([x, *[data.x[own]] * 5]), np.concatenate([y, *[data.y[own]] * 5])
    return x, y, own


def updates_of(user, per_user, data, seed=0):
    """Return a list of Updates of one user."""
    draw = np.random.default_rng((seed, user))
    people = np.setdiff1d(np.unique(data.subject), [user])
    drawn, sets = [], []
    for number in range(per_user):
        shuffled = draw.permutation(people)
        server, rest = shuffled[:2], shuffled[2:]
        size = draw.integers(2, 6)
        kind = KINDS[number % len(KINDS)]
        x, y, own = _changed(kind, data, rest[:size], rest[size:], user, draw)
        sets += [data.of(rest[:size]), (x, y)]
        drawn.append((kind, server, own))
    models = Models(sets, draw.integers(1 << 30, size=len(sets)), data.classes)
    return [_update(user, k, *d, data, models) for k, d in enumerate(drawn)]


def _update(user, k, kind, server, own, data, models):
    mine = np.flatnonzero((data.subject == user) & ~data.touches(own))
    x, y = data.x[mine], data.y[mine]
    sx, sy = data.of(server)
    logits = [models.logits(2 * k + new, sx) for new in (0, 1)]
    right = [(z.argmax(1) == sy).mean() for z in logits]
    return Update(
        user,
        kind,
        mine,
        y,
        models.logits(2 * k, x),
        models.logits(2 * k + 1, x),
        temperature(logits[0], sy),
        temperature(logits[1], sy),
        round(255 * (right[1] - right[0])),
    )
