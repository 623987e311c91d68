# SPDX-License-Identifier: MIT
"""Learn one sample after the other in fixed memory.

At most `budget` samples are kept. When a new one finds no room, the kept sample that matters
least gives way: first the one farthest from all margins among those that support nothing, else
the one with the smallest coefficients. Training then goes on from the former coefficients,
whose balance the solver repairs.
"""

from array import array

from acclimate import svm_data, svm_train
from acclimate._svm_par import run


class Samples:
    """The kept samples: rows in the units of the store, and their labels."""

    def __init__(self, x, labels, d, code, shift, scaled):
        self.x = x
        self.labels = labels
        self.d = d
        self.code = code
        self.shift = shift
        self.scaled = scaled

    def put(self, at, row, label):
        """Store a row at index `at`, which may be the end."""
        item = array(self.code, (0 for _ in range(self.d)))
        svm_data.store_into(item, 0, row, self.code, 0 if self.scaled else self.shift)
        if at == len(self.labels):
            self.x.extend(item)
            self.labels.append(label)
        else:
            self.x[at * self.d : at * self.d + self.d] = item
            self.labels[at] = label

    def row(self, at):
        """Stored row `at`."""
        return self.x[at * self.d : at * self.d + self.d]

    def undo(self, at, row, label):
        """Take back a `put`: `row` is what was there, or None when it was the end."""
        if row is None:
            self.x = self.x[: at * self.d]
            self.labels = self.labels[:at]
        else:
            self.x[at * self.d : at * self.d + self.d] = row
            self.labels[at] = label


def of(model, labels):
    """Samples that share the store of `model`."""
    return Samples(model.x, bytearray(labels), model.d, model.code, model.shift, model.scaled)


def _coefficients(model):
    """{pair of labels: {stored row: signed coefficient}} of the present model."""
    out = {}
    p = 0
    k = len(model.classes)
    for i in range(k):
        for j in range(i + 1, k):
            pair = model.pairs[p]
            p += 1
            known = {}
            for t in range(len(pair.rows)):
                r = pair.rows[t]
                known[r if r >= 0 else ~r] = pair.beta[t]
            out[(model.classes[i], model.classes[j])] = known
    return out


def least_useful(model, samples, known):
    """Index of the stored sample to give up; never the last one of its label."""
    best = -1
    best_key = None
    for at in range(len(samples.labels)):
        label = samples.labels[at]
        if sum(1 for v in samples.labels if v == label) < 2:
            continue
        weight = 0
        for pair in known.values():
            weight += abs(pair.get(at, 0))
        # Support vectors rank behind all others, and among themselves by their weight.
        key = (1, weight) if weight else (0, -_distance(model, samples, at, label))
        if best_key is None or key < best_key:
            best_key = key
            best = at
    return best


def _distance(model, samples, at, label):
    """Smallest distance of a stored sample to the margins of its own label's pairs."""
    values = model.values_into(array("f", bytes(4 * len(model.pairs))), samples.row(at))
    least = None
    p = 0
    k = len(model.classes)
    for i in range(k):
        for j in range(i + 1, k):
            if label in (model.classes[i], model.classes[j]):
                v = abs(values[p])
                least = v if least is None or v < least else least
            p += 1
    return least


def first(m, row, label):
    """Begin a store from the first sample of a model that was never fitted."""
    code = "f"
    if m.storage is not None:
        code = svm_data.storage_code(m.storage)
    else:
        lo, hi, whole = svm_data.check_row(row, 0, len(row))
        if whole and -32768 <= lo and hi <= 32767:
            code = "h"
        elif svm_train.uses_fixed(m.state):
            raise ValueError("storage: expected a fitted model or whole numbers, got fractions")
    return Samples(array(code), bytearray(), len(row), code, 0, False)


def add(m, row, label):
    """Learn `row` with `label`; see `SVM.add`. Returns the model."""
    if m.budget < 2:
        raise ValueError("budget: expected at least 2 for add(), got %s" % (m.budget,))
    if not 0 <= label < 255 or label != int(label):
        raise ValueError("label: expected 0..254, got %s" % (label,))
    samples = m.samples
    if samples is None:
        samples = first(m, row, label)
    if len(row) != samples.d:
        raise ValueError("row: expected %d features, got %d" % (samples.d, len(row)))
    if m.scaler is not None:
        row = m.scaler.row(row)
    model = m._model
    known = {} if model is None else _coefficients(model)
    at = len(samples.labels)
    old = old_label = None
    if at >= m.budget:
        at = 0 if model is None else least_useful(model, samples, known)
        if at < 0:
            raise ValueError("budget: expected 2 samples of some label, got 1 of each")
        old = samples.row(at)
        old_label = samples.labels[at]
        for pair in known.values():
            pair.pop(at, None)
    samples.put(at, row, int(label))
    if len(set(samples.labels)) > 1:
        try:
            _train(m, samples, known)
        except (ValueError, MemoryError):
            samples.undo(at, old, old_label)
            raise
    m.samples = samples
    return m


def _train(m, samples, known):
    """Train on the kept samples, from the coefficients `known`."""
    classes = bytes(sorted(set(samples.labels)))
    n = len(samples.labels)
    data = (
        samples.x, samples.code, samples.shift, n, samples.d, classes, m.scaler,
    )  # fmt: skip
    job = svm_train.Job(m, data, samples.labels, known)
    for _ in job.run():
        pass
    run(m._publish(job))


def check_budget(m, n):
    """`fit` with a budget keeps all its rows, so they must fit it."""
    if n > m.budget:
        raise ValueError("X: expected at most budget = %d rows, got %d: use add()" % (m.budget, n))
