# SPDX-License-Identifier: MIT
"""Probabilities from decision values: a sigmoid for each pair of labels (Platt, 1999), fitted on
held-back rows in memory that does not grow with them.

The rows are looked through twice: for the range of each pair's values, and to count labels in
bins of it. A bin stands for its rows with the mean of their values. More than two labels are
joined so that the pairs are contradicted least (Wu, Lin and Weng, 2004, their second method).
"""

from array import array
from math import exp, log

TAG = 3
_BIN_BYTES = 8
_MEMORY = 4096  # most that the bins of all pairs take
_LEAST, _MOST = 8, 64  # bins of a pair
_SURE = 1e-7


class Sigmoids:
    """P(first) = 1 / (1 + exp(a value + b)) of each pair: `numbers` are a, b, a, b, ...

    With two labels it is the second that has the probability, as its values are above 0.

    :param bool joint: values are differences of one function for each label (logistic
        regression): the probability of a label is its share of the sum of their exponentials
    """

    def __init__(self, numbers, joint=False):
        self.numbers = numbers
        self.joint = joint

    def sections(self):
        data = bytes(self.numbers)
        return bytes((TAG, self.joint, len(data) & 255, len(data) >> 8)), data

    @staticmethod
    def read(numbers, joint, pairs):
        """From the part of a model file."""
        if len(numbers) != 2 * pairs or joint > 1:
            raise ValueError("model file: expected %d numbers of sigmoids" % (2 * pairs))
        return Sigmoids(array("f", numbers), bool(joint))

    def pair(self, p, value):
        """Probability that pair `p` gives its first label (of two labels: the second)."""
        z = self.numbers[2 * p] * value + self.numbers[2 * p + 1]
        if z >= 0:
            e = exp(-z)
            return e / (1 + e)
        return 1 / (1 + exp(z))


def probabilities(m, row, out):
    """Probabilities of all labels of a fitted and calibrated machine for one row."""
    model = m._ready()
    sigmoids = model.sigmoids
    if sigmoids is None:
        raise ValueError("predict_proba: expected a calibrated machine, got none: call calibrate")
    k = len(model.classes)
    if out is None:
        out = array("f", bytes(4 * k))
    try:
        count = len(out)
        if count >= k:
            out[0] = 0.5  # else what comes is refused in the middle
    except TypeError:
        raise ValueError("out: expected %d real numbers, got %s" % (k, repr(out)[:40])) from None
    if count < k:
        raise ValueError("out: expected %d numbers, got %d" % (k, count))
    values = m.decision(row)
    if k == 2:
        out[1] = sigmoids.pair(0, values)
        out[0] = 1 - out[1]
    elif sigmoids.joint:
        _shares(values, k, out)
    else:
        _couple(sigmoids, values, k, out)
    return out


def _shares(values, k, out):
    """Softmax of functions whose differences from the first are known."""
    top = 0.0
    for j in range(1, k):
        top = max(top, -values[j - 1])
    total = 0.0
    for j in range(k):
        out[j] = exp((0.0 if j == 0 else -values[j - 1]) - top)
        total += out[j]
    for j in range(k):
        out[j] /= total


def _couple(sigmoids, values, k, out):
    """The shares of labels that contradict the pairs least, by turns."""
    r = array("f", bytes(4 * k * k))
    p = 0
    for i in range(k):
        for j in range(i + 1, k):
            r[i * k + j] = min(1 - _SURE, max(_SURE, sigmoids.pair(p, values[p])))
            r[j * k + i] = 1 - r[i * k + j]
            p += 1
        out[i] = 1.0 / k
    for _ in range(100):
        largest = 0.0
        for t in range(k):
            own = cross = both = 0.0
            for i in range(k):
                part = 0.0
                for j in range(k):
                    if j != i:
                        part += r[j * k + i] * (r[j * k + i] * out[i] - r[i * k + j] * out[j])
                both += out[i] * part
                if i == t:
                    cross = part
                else:
                    own += r[i * k + t] * r[i * k + t]
            step = (both - cross) / own
            largest = max(largest, abs(both - cross))
            out[t] += step
            for i in range(k):
                out[i] /= 1 + step
        if largest < 0.001 / k:
            break


def calibrate_pieces(m, X, y):
    """Fit the sigmoids of a fitted machine to rows and labels that it has not learned."""
    from acclimate.svm.data import shape_of

    model = m._ready()
    n, d, flat = shape_of(X, y)
    if d != model.d:
        raise ValueError("X: expected rows of %d features, got %d" % (model.d, d))
    bins = _Bins(m, model)
    for look in (bins.widen, bins.count):
        for i in range(n):
            look(X[i * d : i * d + d] if flat else X[i], y[i])
            yield i
    numbers = array("f", bytes(8 * len(bins.pairs)))
    for p in range(len(bins.pairs)):
        numbers[2 * p], numbers[2 * p + 1] = yield from _fit_pieces(bins.of(p))
    model.sigmoids = Sigmoids(numbers)


class _Bins:
    """For each pair of labels: how many rows of both lie in each part of the pair's range."""

    def __init__(self, m, model):
        self.m = m
        classes = model.classes
        given = [c if model.answer is None else model.answer.values[c] for c in classes]
        self.number = {}
        for k in range(len(given)):
            self.number[given[k]] = k
        self.given = given
        k = len(given)
        self.pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
        count = len(self.pairs)
        self.bins = max(_LEAST, min(_MOST, _MEMORY // (_BIN_BYTES * count)))
        self.low = array("f", (3e38 for _ in range(count)))
        self.high = array("f", (-3e38 for _ in range(count)))
        self.sums = array("f", bytes(4 * count * self.bins))
        self.rows = array("H", bytes(4 * count * self.bins))
        self.values = array("f", bytes(4 * count))

    def _look(self, row, label):
        if label not in self.number:
            raise ValueError("y: expected labels of the machine, got %s" % (label,))
        self.m.decision(row, self.values)
        return self.number[label]

    def widen(self, row, label):
        own = self._look(row, label)
        for p in range(len(self.pairs)):
            if own in self.pairs[p]:
                self.low[p] = min(self.low[p], self.values[p])
                self.high[p] = max(self.high[p], self.values[p])

    def count(self, row, label):
        own = self._look(row, label)
        for p in range(len(self.pairs)):
            i, j = self.pairs[p]
            if own != i and own != j:
                continue
            value = self.values[p]
            span = self.high[p] - self.low[p]
            at = int((value - self.low[p]) / span * (self.bins - 1)) if span > 0 else 0
            at = p * self.bins + max(0, min(self.bins - 1, at))
            self.sums[at] += value
            # of two labels the second has values above 0, of a pair among more the first
            self.rows[2 * at + (own == (j if len(self.given) == 2 else i))] += 1

    def of(self, p):
        """[(mean value, rows below, rows above)] of a pair.

        :raises ValueError: rows of one of its labels are missing
        """
        found = []
        others = rows = 0
        for at in range(p * self.bins, p * self.bins + self.bins):
            a, b = self.rows[2 * at], self.rows[2 * at + 1]
            if a + b:
                found.append((self.sums[at] / (a + b), a, b))
                others += a
                rows += b
        if not others or not rows:
            i, j = self.pairs[p]
            raise ValueError(
                "y: expected held-back rows of labels %s and %s, got those of one"
                % (self.given[i], self.given[j])
            )
        return found


def _loss(points, high, low, a, b):
    """What the sigmoid misses, as minus the logarithm of the likelihood."""
    total = 0.0
    for value, below, above in points:
        z = a * value + b
        size = abs(z)
        rest = log(1 + exp(-size))
        total += (above * high + below * low) * z + (above + below) * (rest + (size - z) * 0.5)
    return total


def _fit_pieces(points):
    """(a, b) of the sigmoid that fits `points` best, by Newton's method, in pieces.

    Rows count as a little less sure than their label, as Platt says.
    """
    below = sum([p[1] for p in points])
    above = sum([p[2] for p in points])
    high, low = (above + 1) / (above + 2), 1 / (below + 2)
    a, b = 0.0, log((below + 1) / (above + 1))
    best = _loss(points, high, low, a, b)
    for _ in range(100):
        ga = gb = hab = 0.0
        haa = hbb = 1e-6
        for value, n0, n1 in points:
            z = a * value + b
            e = exp(-abs(z))
            p = e / (1 + e) if z >= 0 else 1 / (1 + e)
            miss = n1 * high + n0 * low - (n0 + n1) * p
            bend = (n0 + n1) * e / ((1 + e) * (1 + e))
            ga += value * miss
            gb += miss
            haa += value * value * bend
            hab += value * bend
            hbb += bend
        yield
        if abs(ga) < 1e-4 and abs(gb) < 1e-4:
            break
        det = haa * hbb - hab * hab
        if not det > 0:
            break
        da = (hab * gb - hbb * ga) / det
        db = (hab * ga - haa * gb) / det
        size = 1.0
        while size > 1e-6:
            now = _loss(points, high, low, a + size * da, b + size * db)
            if now < best:
                a, b, best = a + size * da, b + size * db, now
                break
            size *= 0.5
        else:
            break
    return a, b
