# SPDX-License-Identifier: MIT
"""One-class machine: learns what is usual, and tells what is not (nu, after Schölkopf 2001).

The decision value is the score: above 0 inside what training saw. A row whose score is below
`threshold` is an anomaly; `calibrate` sets that from held-back usual rows.
"""

from array import array

from acclimate.svm import parameters as P
from acclimate.svm.single import CLASSES, SingleJob, changed, count_of, section, value_of, within
from acclimate.svm.train import start_pieces

TAG = 1
_ROUNDING = 2.0**-14  # share of the score that is no difference
_BEARABLE = 0.01  # share of the score at which rows are told apart


class OneClassJob(SingleJob):
    """Every row begins with the coefficient that makes their sum nu * rows, and keeps the sum."""

    others = 1  # a row of the second sign that may not move: the solver asks for both

    def bounds(self, c):
        return [c, 0.0]

    def _rows_of(self, i, j):
        rows = array("h", range(self.n))
        rows.append(~0)
        yield
        return rows

    def _begin(self, i, j):
        yield from SingleJob._begin(self, i, j)
        top = self.par[P.C_POS]
        # Where each row has all that it may have, none of them tells where the border lies.
        whole = min(self.m.nu * self.n, self.n - 2.0**-9)
        for k in range(self.n):
            share = min(1.0, whole - k)
            if share <= 0:
                break
            self._set_word(P.HEAD + k, int(share * top) if self.fixed else share * top)

    def targets(self):
        for _ in range(self.n + 1):
            yield 0.0

    def too_coarse(self, square):
        top = abs(self.bias())
        note = self.imprecise(square, top, _BEARABLE * top)
        return note and note.replace("C: ", "X: ").replace("lower C, ", "")

    def _too_large(self):
        raise ValueError("X: too large for %s numbers: use SVM(scale=True)" % self.m.state)

    def _end(self, status):
        yield from SingleJob._end(self, status)
        # Rows on the border, as all are where all are the same, are not told apart by rounding.
        self.answer.border = -abs(self.bias()) * _ROUNDING

    def trouble(self):
        if self.m.nu * self.n < 1:
            return "nu: expected nu * rows >= 1, got %g * %d: give more rows, or raise nu" % (
                self.m.nu,
                self.n,
            )
        return None


class OneClass:
    """A fitted one-class machine's answers."""

    border = None  # threshold after a training; a file has its own

    def __init__(self):
        self._out = array("f", (0.0,))

    @staticmethod
    def check(m):
        if not within(m.nu, 0) or not 0 < m.nu <= 1:
            raise ValueError("nu: expected a number > 0 and <= 1, got %s" % (m.nu,))
        if m.C != 1:
            raise ValueError("C: expected none for kind='one-class', got %s: use nu" % (m.C,))
        m.threshold = 0.0

    @staticmethod
    def start(m, X, y):
        """Train on `X`; `y` is None, or how many rows a flat buffer has."""
        most = count_of("X", X)
        if y is None:
            y = most
        elif not isinstance(y, int) or y > most:
            raise ValueError("y: expected None or how many rows X has, got %s" % repr(y)[:20])
        if y < 2:
            raise ValueError("X, y: expected at least 2 rows, got %d" % y)
        # A linear function has no constant of its own here: moved rows are another problem.
        centre = m.kernel_name != "linear"
        for job in start_pieces(m, X, bytes(y), OneClassJob, CLASSES, centre):
            if job is not None:
                job.answer = OneClass()
            yield job

    def bind(self, m, _call):
        model = m._model
        if self.border is not None:
            m.threshold, self.border = self.border, None

        def predict(row):
            try:
                value = value_of(m, model, row, self._out)
            except ValueError as error:
                try:
                    beyond = len(row) == model.d and all(v - v == 0 for v in row)
                except TypeError:  # no numbers
                    beyond = False
                if not beyond:
                    raise error
                return -1  # beyond what the store holds: nothing like it was seen
            return 1 if value >= m.threshold else -1

        return predict

    @staticmethod
    def decision(_model, value):
        return changed(value, lambda v: -v)

    @staticmethod
    def calibrate(m, X, _y, share):
        """Set the threshold so that `share` of the rows `X` lie below; in pieces.

        Keeps share * rows scores.
        """
        n = count_of("X", X)
        if not n or isinstance(X[0], (int, float)):
            raise ValueError("X: expected a list of rows, got %d items" % n)
        if not within(share, 0) or not share < 1:
            raise ValueError("share: expected a number >= 0 and < 1, got %s" % (share,))
        low = array("f")
        count = int(share * n) + 1
        for i in range(n):
            score = m.decision(X[i])
            if len(low) == count and score >= low[count - 1]:
                continue
            if len(low) < count:
                low.append(score)
            k = len(low) - 1
            while k and low[k - 1] > score:
                low[k] = low[k - 1]
                k -= 1
            low[k] = score
            yield i
        m.threshold = low[count - 1]

    def sections(self, m):
        return section(TAG, array("f", (m.nu, m.threshold)))

    @staticmethod
    def read(m, numbers):
        """Answers and settings from the numbers of a model file."""
        m.kind, m._kind, m.C = "one-class", OneClass, 1.0
        m.nu, m.threshold = numbers
        if not 0 < m.nu <= 1:
            raise ValueError("model file: expected nu > 0 and <= 1, got %s" % m.nu)
        return OneClass()
