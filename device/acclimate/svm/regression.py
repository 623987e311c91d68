# SPDX-License-Identifier: MIT
"""Epsilon-SVR: answers a number instead of a label.

Each row takes part twice, once for errors above and once for errors below. Targets are moved by
the middle of their range and divided by a power of two before they are learned, so that the
numbers of the solver tell them apart wherever they lie.
"""

from array import array

from acclimate.svm import parameters as P
from acclimate.svm.rows import PIECE
from acclimate.svm.single import CLASSES, SingleJob, changed, count_of, section, value_of, within
from acclimate.svm.train import start_pieces

TAG = 2
_MOST = 2.0**125  # of a target: their range, and a power of two above it, are float32
_SAME = 0.01  # of the range of the targets
_BEARABLE = 0.0025  # share of half the range of the targets


class RegressionJob(SingleJob):
    """Targets in units of `slope`, from their middle `offset`."""

    def __init__(self, m, data, y, low, high):
        self.others = data[3]
        self.given = y
        slope = 1.0
        span = high * 0.5 - low * 0.5
        while slope < span:
            slope *= 2
        while slope * 0.5 >= span > 0 and slope > 2.0**-100:
            slope *= 0.5
        rounded = array("f", (low * 0.5 + high * 0.5,))
        SingleJob.__init__(self, m, data, bytes(data[3]), None, Regression(slope, rounded[0]))
        self.tol = m.tol / slope

    def bounds(self, c):
        return [c / self.answer.slope] * 2

    def _rows_of(self, i, j):
        yield
        rows = array("h", range(self.n))
        rows.extend(array("h", range(-1, -1 - self.n, -1)))
        return rows

    def targets(self):
        slope, offset = self.answer.slope, self.answer.offset
        wide = min(self.m.epsilon / slope, 4.0)  # beyond 2 no row counts
        for part in (-wide, wide):
            for z in self.given:
                yield (z - offset) / slope + part

    def too_coarse(self, square):
        slope = self.answer.slope
        return self.imprecise(square * slope * slope, slope, _BEARABLE * slope)

    def _gap(self):
        return SingleJob._gap(self) * self.answer.slope

    def trouble(self):
        if not self.word(P.N_SUPPORT):
            return "epsilon: every target lies within it, one number is answered: lower epsilon"
        unit = 65536 if self.fixed else 1.0
        low = high = None
        k = P.HEAD + len(self.rows)
        for target in self.targets():
            if k == P.HEAD + len(self.rows) + self.n:
                break
            f = target - self.word(k) / unit
            low = f if low is None or f < low else low
            high = f if high is None or f > high else high
            k += 1
        if high - low < _SAME and self.m.epsilon < _SAME * self.answer.slope:
            return "C: next to one number is answered: raise C or gamma, or take smaller targets"
        return None


class Regression:
    """A fitted regression's answers: slope * value + offset."""

    def __init__(self, slope, offset):
        self.slope = slope
        self.offset = offset
        self._out = array("f", (0.0,))

    @staticmethod
    def check(m):
        if not within(m.epsilon, 0):
            raise ValueError("epsilon: expected a number >= 0, got %s" % (m.epsilon,))

    @staticmethod
    def start(m, X, y):
        """Train on rows `X` and numbers `y`, one a row."""
        low = high = None
        for i in range(0 if y is None else count_of("y", y)):
            v = y[i]
            try:
                fits = -_MOST <= v <= _MOST
            except TypeError:  # no number
                fits = False
            if not fits:
                raise ValueError("y[%d]: expected a finite number below 4e37, got %s" % (i, v))
            low = v if low is None or v < low else low
            high = v if high is None or v > high else high
            if not (i + 1) % PIECE:
                yield
        if low is None:
            raise ValueError("y: expected a number for each row, got none")

        def make(m, data, y):
            return RegressionJob(m, data, y, low, high)

        yield from start_pieces(m, X, y, make, CLASSES)

    def bind(self, m, _call):
        model = m._model

        def predict(row):
            return self.number(value_of(m, model, row, self._out))

        return predict

    def number(self, value):
        """Answer for a value of the decision function, rounded to float32."""
        self._out[0] = value * self.slope + self.offset
        return self._out[0]

    @staticmethod
    def decision(model, value):
        return changed(value, lambda v: model.answer.number(-v))

    @staticmethod
    def calibrate(_m, _X, _y, _share):
        raise ValueError("calibrate: expected a machine that answers labels, got a regression")

    @staticmethod
    def evaluate(m, rows):
        """Share of the variance of the targets that the answers explain (R2); 1 is best."""
        return _Errors(m, rows).explained()

    @staticmethod
    def report(m, rows):
        """Text with rows and errors, in units of the targets."""
        found = _Errors(m, rows)
        return "rows  mean error  root mean square  largest  R2\n%4d %11.4g %17.4g %8.4g  %.3f" % (
            found.count,
            found.size / found.count,
            (found.square / found.count) ** 0.5,
            found.largest,
            found.explained(),
        )

    def sections(self, m):
        return section(TAG, array("f", (m.epsilon, self.slope, self.offset)))

    @staticmethod
    def read(m, numbers):
        """Answers and settings from the numbers of a model file."""
        m.kind, m._kind = "regression", Regression
        m.epsilon, slope, offset = numbers
        if not (m.epsilon >= 0 and slope > 0):
            raise ValueError("model file: expected epsilon >= 0 and slope > 0, got others")
        return Regression(slope, offset)


class _Errors:
    """Sums over (row, target) pairs of a machine's errors, and the spread of the targets."""

    def __init__(self, m, rows):
        self.count = 0
        self.size = self.square = self.largest = self.spread = mean = 0.0
        for row, target in rows:
            error = abs(m.predict(row) - target)
            self.count += 1
            self.size += error
            self.square += error * error
            self.largest = max(self.largest, error)
            apart = target - mean
            mean += apart / self.count
            self.spread += apart * (target - mean)

    def explained(self):
        return 1.0 - self.square / self.spread if self.spread > 0 else 0.0
