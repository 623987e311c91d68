# SPDX-License-Identifier: MIT
"""A small network for the smart-watch recordings: what it knows, and one user who is new."""

from dataclasses import dataclass, replace

import numpy as np

from acclimate_host.demo.watch import EXERCISES, SCALE
from acclimate_host.model.network import Network
from acclimate_host.model.pretrain import pretrain
from acclimate_host.model.small import inverted_residual

WINDOW, HOP = 128, 64  # samples of 20 ms
GYROSCOPE = 4.0  # a movement's rad/s are about four times its g


@dataclass(frozen=True)
class Task:
    """Samples (count, channels, height, width) and labels of each part."""

    name: str
    graph: object
    base: tuple
    tune: tuple
    validate: tuple
    test: tuple


def user_task(recordings, subject):
    """Return the Task of one user: known are the exercises of all others.

    Of each of the user's recordings the first 35 % are to learn from, the next 15 % to choose
    settings by, and the rest to test. Windows overlap by half, but never across parts.

    :raises ValueError: for a user who is not in the recordings
    """
    subjects = sorted({recording.subject for recording in recordings})
    if subject not in subjects:
        raise ValueError(f"user: expected {subjects[0]}..{subjects[-1]}, got {subject}")
    base = _windows([r for r in recordings if r.subject != subject])
    parts = ([], [], [])
    for recording in (r for r in recordings if r.subject == subject):
        x, labels = _windows([recording])
        cuts = [int(0.35 * len(x)), int(0.5 * len(x))]
        pieces = zip(np.split(x, cuts), np.split(labels, cuts), strict=True)
        for i, (part, piece) in enumerate(zip(parts, pieces, strict=True)):
            first = 1 if i else 0  # it overlaps the part before
            part.append((piece[0][first:], piece[1][first:]))
    tune, validate, test = (
        tuple(np.concatenate(arrays) for arrays in zip(*part, strict=True)) for part in parts
    )
    graph = inverted_residual("watch", base[0].shape[1:], len(EXERCISES), 2)
    return Task(f"user {subject}", graph, base, tune, validate, test)


def turned(task):
    """Return the Task of the same user with the watch the other way round.

    Half a turn about the axis through its face: x and y of both sensors change their signs.
    """
    signs = np.array([-1, -1, 1] * 2).reshape(6, 1, 1)
    parts = {name: getattr(task, name) for name in ("tune", "validate", "test")}
    return replace(task, **{name: (x * signs, labels) for name, (x, labels) in parts.items()})


def _windows(recordings):
    """Return (samples (count, 6, WINDOW, 1) between -1 and 1, labels)."""
    x, labels = [], []
    for recording in recordings:
        for start in range(0, len(recording.samples) - WINDOW + 1, HOP):
            x.append(recording.samples[start : start + WINDOW])
            labels.append(recording.exercise)
    x = np.array(x, float) / SCALE
    x[..., 3:] /= GYROSCOPE
    return np.clip(x / 2, -1, 1).transpose(0, 2, 1)[..., None], np.array(labels)


def factory_network(task, cache=None, epochs=6, show=None):
    """Return the float network that knows the others; kept in the file `cache` (.npz).

    :param show: called with (passes done, of how many)
    """
    if cache is not None and cache.exists():
        with np.load(cache) as stored:
            return Network(task.graph, {name: stored[name] for name in stored.files})

    def passed(epoch, _):
        if show:
            show(epoch + 1, epochs)

    if show:
        show(0, epochs)
    network = pretrain(task.graph, *task.base, epochs=epochs, progress=passed)
    if cache is not None:
        cache.parent.mkdir(parents=True, exist_ok=True)
        part = cache.with_suffix(".part.npz")
        np.savez(part, **network.values)
        part.replace(cache)
    return network
