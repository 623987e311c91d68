# SPDX-License-Identifier: MIT
"""The smart-watch recordings inside the PyPI package `seglearn`, as small integers.

Ten people did seven shoulder exercises with a watch on the left and on the right wrist: 140
recordings of an accelerometer and a gyroscope at 50 Hz. The package stores them as a pickle; it is
read once, with an unpickler that knows arrays and nothing else, and `seglearn` is never imported.
What is kept are int16 samples, scaled as a usual sensor would give them (+-8 g, +-2000 degrees/s).
"""

import importlib.util
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np

EXERCISES = (
    "pendulum",
    "abduction",
    "forward elevation",
    "internal rotation",
    "external rotation",
    "trapezius extension",
    "upright row",
)
CHANNELS = 6
RATE_HZ = 50
# Least significant bits per g and per rad/s.
SCALE = np.array([4096.0] * 3 + [939.65] * 3)

_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): np.zeros(0).__reduce__()[0],
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): __import__("_codecs").encode,
}


class ArraysOnly(pickle.Unpickler):
    """An unpickler for arrays of numbers: any other object in the file is refused."""

    def find_class(self, module, name):
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"{module}.{name}: expected arrays only; the file is not the one we know"
            ) from None


@dataclass(frozen=True)
class Recording:
    """One exercise of one person, in the order of time."""

    subject: int
    exercise: int
    side: int
    samples: np.ndarray

    def windows(self, length):
        """Windows that do not overlap, each `length` samples; a rest at the end is left out."""
        count = len(self.samples) // length
        return self.samples[: count * length].reshape(count, length, CHANNELS)


def source_path():
    """The data file inside the installed package, or None."""
    spec = importlib.util.find_spec("seglearn")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / "data" / "watch_dataset.npy"
    return path if path.exists() else None


def convert(source, target):
    """Read the pickled file `source` and write its integers to `target` (.npz)."""
    with open(source, "rb") as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"{source}: expected .npy version 1.0; reinstall seglearn 1.2")
        np.lib.format.read_array_header_1_0(file)
        raw = ArraysOnly(file).load()
    raw = raw.item() if isinstance(raw, np.ndarray) else raw
    info = np.stack([raw["subject"], raw["y"], raw["side"]], axis=1).astype(np.int16)
    lengths = np.array([len(x) for x in raw["X"]], dtype=np.int32)
    values = np.vstack(raw["X"]) * SCALE
    if not np.isfinite(values).all() or np.abs(values).max() > 32767:
        raise ValueError(f"{source}: expected values within int16, got {np.abs(values).max():.0f}")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part.npz")
    np.savez(part, info=info, lengths=lengths, samples=np.round(values).astype(np.int16))
    part.replace(target)


def load(cache):
    """All recordings, from `cache` when it is there, otherwise converted into it first.

    :raises FileNotFoundError: neither the cache nor `seglearn` is there
    """
    cache = Path(cache)
    if not cache.exists():
        source = source_path()
        if source is None:
            raise FileNotFoundError("seglearn: not installed; run: pip install seglearn")
        convert(source, cache)
    with np.load(cache) as stored:
        info, lengths, samples = stored["info"], stored["lengths"], stored["samples"]
    parts = np.split(samples, np.cumsum(lengths)[:-1])
    return [
        Recording(int(subject), int(exercise), int(side), part)
        for (subject, exercise, side), part in zip(info, parts, strict=True)
    ]
