# SPDX-License-Identifier: MIT
"""Pairs of releases, by kind of change, that updates by differences are measured on.

Networks: scikit-learn's digits, an MLP 64-128-64-10 that learned from 900 images and goes on
with 600 others. SVMs: `SVC` on digits and on breast_cancer (scikit-learn's own data), retrained
with more rows. Code: files of this repository before and after a commit, as `mpy-cross` and the
native modules' own Makefiles build them.
"""

import io
import shutil
import subprocess
import tarfile
import tempfile
import warnings
from pathlib import Path

import numpy as np

from acclimate_host.capsules.server import sections_of
from acclimate_host.connect.package import compile_source
from acclimate_host.paths import built, repository

LAYERS = (128, 64)
BYTECODE = [  # file, its commit before and after
    ("device/acclimate/delta.py", "28e8de2~1", "28e8de2"),
    ("device/acclimate/store/journal.py", "71b1554~1", "71b1554"),
    ("device/acclimate/loop.py", "09863b1~1", "09863b1"),
]
NATIVE = [("svm", "f29b5c7~1", "f29b5c7"), ("svm", "40d04a8~1", "40d04a8")]
NATIVE_ARCH = "armv7emsp"
WEIGHTS = ("int8", "float32", "last_layer", "grown", "moved", "svm")
CODE = ("mpy", "native_mpy", "both")


def kinds():
    """Return {kind: {name: (base, target)}} of all kinds."""
    found = {**of_networks(), **of_svms(), "mpy": of_bytecode(), "native_mpy": of_native()}
    old, new = found["int8"]["3 epochs"]
    first, second = next(iter(found["native_mpy"].values()))
    found["both"] = {"digits, 3 epochs, and _svm": (old + first, new + second)}
    return found


def networks(epochs=(1, 3, 10), layers=LAYERS):
    """Return (weight matrices before, {epochs: matrices after}), float64, (in, out) each."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    first, later = order[:900], order[900:1500]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = MLPClassifier(layers, max_iter=40, random_state=1).fit(x[first] / 16, y[first])
    before, after = [w.copy() for w in net.coefs_], {}
    net.set_params(learning_rate_init=2e-4)
    for epoch in range(1, max(epochs) + 1):
        net.partial_fit(x[later] / 16, y[later])
        if epoch in epochs:
            after[epoch] = [w.copy() for w in net.coefs_]
    return before, after


def int8(weights, before):
    """Return weights as int8 rows of the outputs, in the scales of the network before."""
    parts = []
    for w, old in zip(weights, before, strict=True):
        scale = np.abs(old).max(0) / 115  # room for the weights to grow
        parts.append(np.rint(w / scale).clip(-127, 127).T.astype(np.int8))
    return parts


def joined(parts):
    return b"".join(part.tobytes() for part in parts)


def of_networks():
    """Return {kind: {name: (base section, target section)}} of networks' weights."""
    before, after = networks()
    old = int8(before, before)
    new = {epochs: int8(weights, before) for epochs, weights in after.items()}
    floats = [w.T.astype("<f4") for w in before]
    kinds = {
        "int8": {f"{e} epochs": (joined(old), joined(new[e])) for e in new},
        "float32": {
            f"{e} epochs": (joined(floats), joined([w.T.astype("<f4") for w in after[e]]))
            for e in after
        },
        "last_layer": {f"{e} epochs": (joined(old), joined([*old[:2], new[e][2]])) for e in new},
    }
    rng = np.random.default_rng(5)
    wider = [_more_units(new[e], 8, rng) for e in (1, 3)]
    kinds["grown"] = {
        "8 more hidden units, 1 epoch": (joined(old), joined(wider[0])),
        "8 more hidden units, 3 epochs": (joined(old), joined(wider[1])),
        "8 hidden units less, 3 epochs": (joined(wider[0]), joined(new[3])),
        "1 byte less, 3 epochs": (joined(old), joined(new[3])[:-1]),
    }
    order = [2, 0, 1]
    kinds["moved"] = {
        "layers in another order, 1 epoch": (joined(old), joined([new[1][i] for i in order])),
        "16 bytes in front, 3 epochs": (joined(old), bytes(range(16)) + joined(new[3])[:-16]),
        "units in another order, 1 epoch": (joined(old), joined(_turned(new[1], 40))),
    }
    return kinds


def _more_units(parts, count, rng):
    """Return the network with that many more units in its first hidden layer."""
    first, second, last = parts
    rows = rng.integers(-60, 61, (count, first.shape[1])).astype(np.int8)
    columns = rng.integers(-20, 21, (second.shape[0], count)).astype(np.int8)
    return [np.vstack([first, rows]), np.hstack([second, columns]), last]


def _turned(parts, by):
    """Return the same network with its hidden units counted from another one on."""
    first, second, last = parts
    return [np.roll(first, by, 0), np.roll(second, by, 1), last]


def of_svms():
    """Return {kind: {name: (base, target)}}: RBF machines before and after more rows came."""
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.svm import SVC

    pairs, doubled = {}, {}
    for name, load, steps in (
        ("digits 0 to 4", lambda: load_digits(n_class=5, return_X_y=True), (300, 360, 600)),
        ("breast_cancer", lambda: load_breast_cancer(return_X_y=True), (200, 240, 400)),
    ):
        x, y = load()
        x = ((x - x.mean(0)) / (x.std(0) + 1e-9)).astype(np.float32)
        order = np.random.default_rng(1).permutation(len(x))
        made = []
        for count in steps:
            rows = order[:count]
            machine = SVC(C=10, gamma=0.02).fit(x[rows], y[rows])
            made.append(sections_of(machine)[1]["WEIGHTS"])
        pairs[f"{name}, {steps[0]} to {steps[1]} rows"] = made[0], made[1]
        doubled[f"{name}, {steps[0]} to {steps[2]} rows"] = made[0], made[2]
    return {"svm": pairs, "svm_doubled": doubled}


def _show(commit, path):
    """Return a file as it was in a commit.

    :raises RuntimeError: the history is not here, as in a shallow clone.
    """
    command = ["git", "-C", str(repository()), "show", f"{commit}:{path}"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{commit}: {done.stderr.decode().strip()}; needs the whole history")
    return done.stdout


def of_bytecode():
    """Return {name: (base, target)}: bytecode before and after a commit."""
    pairs = {}
    for path, *commits in BYTECODE:
        made = []
        for commit in commits:
            made.append(compile_source(_show(commit, path), Path(path).name))
        pairs[f"{Path(path).name} {commits[1]}"] = tuple(made)
    return pairs


def of_native():
    """Return {name: (base, target)}: native modules before and after a commit."""
    pairs = {}
    for module, *commits in NATIVE:
        pairs[f"_{module} {commits[1]}"] = tuple(_native(module, commit) for commit in commits)
    return pairs


def _native(module, commit):
    with tempfile.TemporaryDirectory() as folder:
        command = ["git", "-C", str(repository()), "archive", commit, "native_modules", "tools"]
        data = subprocess.run(command, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(folder, filter="data")
        out = Path(folder, "out")
        out.mkdir()
        for name in ("venv", "micropython"):
            (out / name).symlink_to(built(name))
        where = f"{folder}/native_modules/{module}"
        subprocess.run(["make", "-s", "-C", where, f"ARCH={NATIVE_ARCH}"], check=True)
        result = (out / "native" / NATIVE_ARCH / f"_{module}.mpy").read_bytes()
        shutil.rmtree(out / "native")
        return result
