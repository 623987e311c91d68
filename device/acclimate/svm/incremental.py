# SPDX-License-Identifier: MIT
"""Learn one sample after the other in fixed memory.

At most `budget` samples are kept. When a new one finds no room, a kept sample gives way. One
time in four chance draws it, so that none stays for ever. Else it is the one that matters
least: the one farthest from all margins among those that support nothing, and where there is none
chance draws as well. Where the model answers more than 1 in 64 kept rows wrong, their labels are
suspected: the one that it contradicts most gives way first.
Training then goes on from the former coefficients, whose balance the solver repairs.
"""

from array import array

from acclimate.svm.data import check_row, plain_labels, storage_code
from acclimate.svm.model import missing, uses_fixed
from acclimate.svm.rows import no_numbers, store_into

_FAR = 64
_WRONG_SHARE = 64  # more than 1 in 64 of the kept rows answered wrong: such rows go first


class Samples:
    """The kept samples: rows in the units of the store, and their labels."""

    def __init__(self, x, labels, d, code, shift, scaled, wrong=None):
        self.x = x
        self.labels = labels
        self.d = d
        self.code = code
        self.shift = shift
        self.scaled = scaled
        self.seed = 1
        self.answer = None  # what numbers labels that are given otherwise
        self.wrong = wrong  # 1 for rows that the last training answers wrong; None: not known

    def item(self, row):
        """A row in the units of the scaler as it is stored: the caller's buffers may change."""
        item = array(self.code, (0 for _ in range(self.d)))
        store_into(item, 0, row, self.code, 0 if self.scaled else self.shift)
        return item

    def put(self, at, item, label):
        """Store what `item` made of a row at index `at`, which may be the end."""
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


def samples_of(model, labels, wrong=None):
    """Samples that share the store of `model`."""
    made = Samples(
        model.x, bytearray(labels), model.d, model.code, model.shift, model.scaled, wrong
    )
    made.answer = model.answer
    made.seed = model.n_iter & 0xFFFF
    return made


def samples_in_use(m):
    """The samples that the model of `m` was trained on, or None where it keeps none."""
    samples = m.samples
    if samples is None or m._model is None or samples.x is m._model.x:
        return samples
    return None  # of a model before this one


def _labels_of(model):
    """(first label, second label) of each pair, in the order of the model's pairs."""
    for i, first in enumerate(model.classes):
        for second in model.classes[i + 1 :]:
            yield first, second


def _coefficients(model):
    """{pair of labels: {stored row: signed coefficient}} of the present model, in pieces."""
    out = {}
    p = 0
    for labels in _labels_of(model):
        pair = model.pairs[p]
        p += 1
        known = out[labels] = {}
        for t in range(len(pair.rows)):
            r = pair.rows[t]
            known[r if r >= 0 else ~r] = pair.beta[t]
        yield
    return out


def _least_useful(model, samples, known):
    """Index of the stored sample to give up, in pieces; never the last one of its label."""
    counts = {}
    for label in samples.labels:
        counts[label] = counts.get(label, 0) + 1
    many = len(samples.labels)
    fair = max(1, many // (2 * len(counts)))  # a label that is rare here gives nothing away
    if not _chance(samples) >> 14:
        at = _drawn(samples, counts, fair)
        if at >= 0:
            return at
    values = array("f", bytes(4 * len(model.pairs)))
    if samples.wrong is None:  # a file does not hold it
        samples.wrong = yield from _answered_wrong(model, samples, known, values)
    wrong = samples.wrong
    suspected = sum(wrong) * _WRONG_SHARE > many
    best = -1
    best_key = None
    for at in range(many):
        label = samples.labels[at]
        if counts[label] <= fair:
            continue
        contradicted = suspected and wrong[at]
        if contradicted or not any(at in pair for pair in known.values()):
            key = (contradicted, _distance(model, samples, at, label, values))
            if best_key is None or key > best_key:
                best_key = key
                best = at
            yield
    if best < 0:
        best = _drawn(samples, counts, fair)
    if best < 0:
        for at in range(many):
            if counts[samples.labels[at]] > 1:
                return at
    return best


def _chance(samples):
    """The next of a row of numbers of 16 bits, the same on every runtime."""
    samples.seed = (samples.seed * 16333 + 12345) & 0xFFFF
    return samples.seed


def _drawn(samples, counts, fair):
    """Index of a sample drawn by chance, whose label is not rare, or -1."""
    many = len(samples.labels)
    for _ in range(many):
        at = _chance(samples) * many >> 16
        if counts[samples.labels[at]] > fair:
            return at
    return -1


def _distance(model, samples, at, label, values):
    """Smallest distance of a stored sample to the margins of its own label's pairs."""
    model.values_into(values, samples.row(at))
    least = None
    p = 0
    for labels in _labels_of(model):
        if label in labels:
            v = abs(values[p])
            least = v if least is None or v < least else least
        p += 1
    return least


def _answered_wrong(model, samples, known, values):
    """1 for each kept row that supports the model and is answered wrong by it, in pieces."""
    wrong = bytearray(len(samples.labels))
    for at in range(len(wrong)):
        model.values_into(values, samples.row(at))
        p = 0
        for labels in _labels_of(model):
            if at in known[labels] and (values[p] > 0) != (samples.labels[at] == labels[0]):
                wrong[at] = 1
            p += 1
        yield
    return wrong


def _silence(model, at):
    """Take stored row `at` out of all decisions; [(coefficients, place, value)] to undo it."""
    out = []
    for pair in model.pairs:
        if pair.w is None:  # a linear pair decides by its weights, not by rows
            for t in range(len(pair.rows)):
                if pair.rows[t] in (at, ~at):
                    out.append((pair.beta, t, pair.beta[t]))
                    pair.beta[t] *= 0
    return out


def first_sample(m, row):
    """Begin a store from the first sample of a model that was never fitted.

    Where that lies far from 0, rows are stored as differences from it.
    """
    code = "f"
    lo, hi, whole = check_row(row, 0, len(row))
    if m.storage is not None:
        code = storage_code(m.storage)
    elif whole and -32768 <= lo and hi <= 32767:
        code = "h"
    elif uses_fixed(m.state):
        raise ValueError("storage: expected a fitted model or whole numbers, got fractions")
    whole = whole and max(-lo, hi) < 2.1e9  # else no array holds the offsets
    far = (code == "f" or code == "h" and whole) and m.kernel_name != "poly"
    far = far and max(-lo, hi) > _FAR
    m.scaler = None
    if far:
        from acclimate.svm.scaled import Centre

        offset = array("f", row) if code == "f" else array("i", [int(v) for v in row])
        m.scaler = Centre(code, offset)
    return Samples(array(code), bytearray(), len(row), code, 0, far)


def _checked(m, row, label):
    """(samples, row as it is stored, label) of a sample to be learned."""
    try:
        d = len(row)
    except TypeError:
        raise no_numbers(row) from None
    if not 2 <= m.budget < 65536:
        raise ValueError("budget: expected 2..65535 for add(), got %s" % (m.budget,))
    samples = samples_in_use(m)
    if samples is None:
        if m._model is not None:
            raise ValueError("budget: expected a model that kept samples: fit it with a budget")
        samples = first_sample(m, row)
        if not plain_labels((label,)):
            try:
                from acclimate.svm.labels import Labels
            except ImportError:
                raise missing("labels") from None
            samples.answer = Labels([label])
    if d != samples.d:
        raise ValueError("row: expected %d features, got %d" % (samples.d, d))
    if samples.answer is not None:
        label = samples.answer.check(label)  # numbered when it is learned
    elif not plain_labels((label,)) or label != int(label):
        raise ValueError("label: expected 0..254, got %s" % (label,))
    else:
        label = int(label)
    return samples, samples.item(m._scaled(row)), label


def add_pieces(m, row, label, steps=None):
    """Learn `row` with `label` in pieces; see `SVM.add_steps`."""
    if steps is not None:
        from acclimate.svm.train import check_steps

        check_steps(steps)
    # Only now a training that is open is closed: what is refused changes nothing.
    yield from m._alone(_add(m, _checked(m, row, label), steps))


def _add(m, sample, steps):
    samples, item, label = sample
    model = m._model
    values = getattr(samples.answer, "values", ())
    labels, seed = len(values), samples.seed
    if values:
        label = samples.answer.number(label)
    learned = False
    known = {}
    at = len(samples.labels)
    old = old_label = None
    silenced = put = ()
    try:
        if model is not None:
            known = yield from _coefficients(model)
        if at >= m.budget:
            at = 0
            if model is not None:
                at = yield from _least_useful(model, samples, known)
            if at < 0:
                raise ValueError("budget: expected 2 samples of some label, got 1 of each")
            old = samples.row(at)
            old_label = samples.labels[at]
            for pair in known.values():
                pair.pop(at, None)
            if model is not None:
                silenced = _silence(model, at)
        put = True
        samples.put(at, item, label)
        if len(set(samples.labels)) > 1:
            yield from _train(m, samples, known, steps)
            samples.wrong = m.samples.wrong
        m.samples = samples
        learned = True
    finally:  # a generator that is closed passes here too
        if not learned:
            samples.seed = seed
            if len(values) > labels:
                values.pop()
            if put:
                samples.undo(at, old, old_label)
                if model is not None:
                    model.x = samples.x  # one store for both, as before
            for beta, t, value in silenced:
                beta[t] = value


def _train(m, samples, known, steps):
    """Train on the kept samples from the coefficients `known`, in pieces."""
    from acclimate.svm.train import Job

    classes = bytes(sorted(set(samples.labels)))
    n = len(samples.labels)
    data = (
        samples.x,
        samples.code,
        samples.shift,
        n,
        samples.d,
        classes,
        m.scaler,
    )
    job = Job(m, data, samples.labels, known, samples.answer)
    yield
    yield from job.run(steps)
    yield from m._publish(job)
