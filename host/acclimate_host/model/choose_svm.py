# SPDX-License-Identifier: MIT
"""Choose an SVM for a board: kernel, C, gamma and how many vectors, within bytes and instructions.

Every candidate is trained with the board's own solver on all users (or folds) but one, and tried
on that one: a machine has to work for somebody whom it has not seen. What it takes is counted
from the machine itself: bytes of RAM on the board, and instructions of a prediction as
`python -m bench.svm_cost` measured them on the emulated M4F.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np

from acclimate.svm import SVM
from acclimate.svm.rows import F32_MAX
from acclimate_host.errors import Refused

KERNELS = ("linear", "rbf")
COST_FACTORS = (0.1, 1.0, 10.0, 100.0)
GAMMAS = (0.25, 1.0, 4.0)  # times 1 / (features * variance), the rule called "scale"
VECTORS = (None, 64, 32, 16)  # most of them; None: as many as come
FOLDS = 5
# Instructions of a prediction: base, each pair, each coefficient, each multiplication.
COSTS = {
    "m4f": {
        "float32": {
            "linear": (423, 134, 0, 10.0),
            "rbf": (512, 250, 71, 8.0),
            "poly": (512, 250, 70, 7.0),
        },
        "int8": {
            "linear": (315, 162, 0, 3.8),
            "rbf": (519, 251, 89, 3.8),
            "poly": (519, 251, 89, 3.3),
        },
    }
}
_ITEM_BYTES = {"b": 1, "B": 1, "h": 2, "f": 4}
_PAIR_BYTES = 64


@dataclass(frozen=True)
class Candidate:
    """A machine's settings, what it takes and how right it was on users it had not seen."""

    kernel: str
    C: float
    gamma: float | None
    vectors: int | None
    accuracy: float
    worst: float  # of the user (or fold) that it serves worst
    ram_bytes: int
    instructions: int
    fits: bool = True

    def options(self) -> dict:
        """Arguments of `acclimate.svm.SVM`."""
        return {"kernel": self.kernel, "C": self.C, "gamma": self.gamma}


@dataclass
class Choice:
    """All candidates, those that nothing beats, the best that fits, and its machine."""

    candidates: list
    best: Candidate | None = None
    machine: SVM | None = None
    front: list = field(default_factory=list)


def work(machine):
    """(pairs, coefficients, multiplications) of one prediction."""
    model = machine._model
    if model.x is None or all(pair.w is not None for pair in model.pairs):
        return len(model.pairs), 0, len(model.pairs) * model.d
    count = sum(len(pair.rows) for pair in model.pairs)
    return len(model.pairs), count, count * model.d


def instructions(machine, core="m4f"):
    """Instructions of one prediction of a row in a buffer of the store's type."""
    model = machine._model
    storage = "float32" if model.code == "f" else "int8"
    return round(float(np.dot(COSTS[core][storage][machine.kernel_name], [1, *work(machine)])))


def ram_bytes(machine):
    """Bytes that a machine keeps on a board: rows, coefficients, weights (docs/svm.md, Memory)."""
    model = machine._model
    stored = 0 if model.x is None else len(model.x) * _ITEM_BYTES[model.code]
    for pair in model.pairs:
        stored += _PAIR_BYTES if pair.w is None else 4 * len(pair.w)
        stored += 0 if pair.w is not None else 6 * len(pair.rows)
    return stored


def choose_svm(
    X,
    y,
    users=None,
    most_ram_bytes=None,
    most_instructions=None,
    kernels=KERNELS,
    costs=COST_FACTORS,
    gammas=GAMMAS,
    vectors=VECTORS,
    storage=None,
    progress=None,
):
    """Return a `Choice` for rows `X` and labels `y`.

    :param X: array (rows, features), in the numbers that the board will see
    :param users: who gave each row; None: `FOLDS` parts that keep the shares of the labels
    :param most_ram_bytes, most_instructions: what the machine may take; None: no limit
    :param gammas: factors of the rule "scale"
    :param vectors: most support vectors to try; None among them: as many as come
    :param storage: as of `acclimate.svm.SVM`
    :param progress: called with (done, all) after each candidate
    :raises Refused: fewer than two users or labels, or rows and labels that do not fit
    """
    X, y = np.asarray(X), np.asarray(y)
    parts = _parts(X, y, users)
    scale = float(1 / (X.shape[1] * X.var())) if X.var() > 0 else 1.0
    wanted = [
        (kernel, C, gamma and gamma * scale, most)
        for kernel in kernels
        for C, gamma, most in itertools.product(
            costs,
            (None,) if kernel == "linear" else gammas,
            (None,) if kernel == "linear" else vectors,
        )
    ]
    found = []
    for number, (kernel, C, gamma, most) in enumerate(wanted):
        options = {"kernel": kernel, "C": C, "gamma": gamma, "storage": storage}
        found.append(_tried(X, y, parts, options, most, most_ram_bytes, most_instructions))
        if progress:
            progress(number + 1, len(wanted))
    choice = Choice(found, front=front(found))
    good = [c for c in found if c.fits]
    if good:
        choice.best = max(good, key=lambda c: (c.accuracy, -c.instructions, -c.ram_bytes))
        options = {**choice.best.options(), "storage": storage}
        choice.machine = trained(X, y, options, choice.best.vectors)
    return choice


def front(candidates):
    """Those that no other beats in accuracy, bytes and instructions at once, smallest first."""

    def beats(a, b):
        worse = a.accuracy < b.accuracy or a.ram_bytes > b.ram_bytes
        same = (a.accuracy, a.ram_bytes, a.instructions) == (
            b.accuracy,
            b.ram_bytes,
            b.instructions,
        )
        return not worse and a.instructions <= b.instructions and not same

    kept = [c for c in candidates if not any(beats(other, c) for other in candidates)]
    return sorted(kept, key=lambda c: (c.ram_bytes, c.instructions))


def _parts(X, y, users):
    """[boolean array of the rows held back] for each user or fold."""
    if X.ndim != 2 or y.shape != X.shape[:1] or not X.shape[1]:
        raise Refused(
            f"X, y: expected (rows, features) and a label a row, got {X.shape}, {y.shape}"
        )
    if X.dtype.kind not in "biuf" or not np.all(np.abs(X.astype(float)) <= F32_MAX):
        raise Refused(f"X: expected finite float32 numbers, got others ({X.dtype})")
    if y.dtype.kind == "f" and np.all(y == np.floor(y)) and np.all(np.abs(y) < 2**31):
        y = y.astype(np.int64)
    if y.dtype.kind not in "biuU":
        raise Refused(f"y: expected whole numbers or texts, got {y.dtype}")
    if len(np.unique(y)) < 2:
        raise Refused("y: expected at least 2 labels, got 1")
    if users is None:
        number = np.zeros(len(y), int)
        for label in np.unique(y):
            number[y == label] = np.arange(np.sum(y == label)) % FOLDS
        if not number.any():
            raise Refused("y: expected 2 rows or more of a label, to hold one back, got 1 of each")
        users = number
    users = np.asarray(users)
    names = np.unique(users)
    if len(users) != len(y) or len(names) < 2:
        raise Refused(
            f"users: expected one for each of {len(y)} rows, 2 or more of them, got {len(names)}"
        )
    parts = [users == name for name in names]
    kept = [part for part in parts if len(np.unique(y[~part])) > 1]
    if not kept:
        raise Refused("users: expected rows of 2 labels without each user, got 1")
    return kept


def trained(X, y, options, vectors=None):
    """A machine on rows `X`; where it has more than `vectors`, one on those that weigh most."""
    machine = SVM(state="float", **options)
    _quiet(machine, X, y)
    if vectors is None or machine.n_support <= vectors:
        return machine
    weight = _weights(machine, X, y, options)
    kept = []
    for label in np.unique(y):  # none is left out
        kept.append(int(np.argmax(np.where(y == label, weight, -1))))
    for at in np.argsort(-weight, kind="stable"):
        if len(kept) < vectors and at not in kept:
            kept.append(int(at))
    kept = sorted(kept)
    machine = SVM(state="float", **options)
    _quiet(machine, X[kept], y[kept])
    return machine


def _quiet(machine, X, y):
    """Train without the warnings of candidates; `machine.warning` keeps them."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        machine.fit(X.tolist(), y.tolist())


def _weights(machine, X, y, options):
    """How much each row of `X` weighs in all pairs together."""
    kept = SVM(state="float", budget=len(y), **options)  # whose store keeps all rows in order
    _quiet(kept, X, y)
    weight = np.zeros(len(y))
    for pair in kept._model.pairs:
        for row, beta in zip(pair.rows, pair.beta, strict=True):
            weight[row if row >= 0 else ~row] += abs(beta)
    return weight


def _tried(X, y, parts, options, vectors, most_ram_bytes, most_instructions):
    right, ram, count = [], 0, 0
    for part in parts:
        machine = trained(X[~part], y[~part], options, vectors)
        answers = [machine.predict(row) for row in X[part].tolist()]
        right.append(float(np.mean(np.array(answers) == y[part])))
        ram, count = max(ram, ram_bytes(machine)), max(count, instructions(machine))
    fits = ram <= (most_ram_bytes or ram) and count <= (most_instructions or count)
    settings = options["kernel"], options["C"], options["gamma"], vectors
    return Candidate(*settings, float(np.mean(right)), min(right), ram, count, fits)
