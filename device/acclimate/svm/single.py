# SPDX-License-Identifier: MIT
"""What machines with one decision function over all rows share: one-class and regression.

    >>> from acclimate.svm import SVM
    >>> fine = [[20 + i % 3, 40 + i % 5] for i in range(30)]
    >>> SVM("rbf", gamma=0.1, kind="one-class").fit(fine).predict([35, 80])
    -1

The solver is that of two classes. It starts from other targets: `SingleJob` writes them into its
state, so that every native module trains these machines as it is.
"""

from acclimate.svm import parameters as P
from acclimate.svm.collect import SAMPLES_AT_ONCE, collect, error_of
from acclimate.svm.notes import text
from acclimate.svm.train import Job

CLASSES = b"\0\1"  # of a model with one pair: the first where the function is above 0
_MAG = 6  # word of the fixed state: bits that the gradient has used so far


class SingleJob(Job):
    """Training of one decision function.

    A subclass has `others`, how many rows there are of the second sign, `bounds()`, largest
    coefficients of both, `targets()`, with which the gradient of each row begins, and `trouble()`
    and `too_coarse()`, texts or None about settings and numbers.
    """

    def _reserve(self, classes):
        self.counts = [self.n, self.others]
        self.costs = self.bounds(self.costs[0])
        Job._reserve(self, classes)

    def _begin(self, i, j):
        yield from Job._begin(self, i, j)
        yield from self._start_again()

    def _start_again(self):
        """Write the targets; coefficients that are there are subtracted again by the solver."""
        n = len(self.rows)
        k = most = 0
        for value in self.targets():
            if self.fixed:
                value = int(value * 65536 + 0.5) if value >= 0 else -int(0.5 - value * 65536)
                most = max(most, value, -value)
            self._set_word(P.HEAD + n + k, value)
            k += 1
            if not k % SAMPLES_AT_ONCE:
                yield
        mag = 131071
        while self.fixed and mag < most:
            mag += mag + 1
        self._set_word(_MAG, mag)
        for word in (P.STATUS, P.N_ITER, P.PHASE):
            self._set_word(word, 0)
        return P.RUNNING

    def _end(self, status):
        if status == P.NON_FINITE or status < 0:
            self._too_large()
        self._take((yield from collect(self)), status)
        if status == P.CAPPED:
            self.notes.append(
                "max_iter: stopped after %d steps: scale features, or raise max_iter"
                % self.m.max_iter
            )
        square = 0.0
        for at in range(0, len(self.rows), SAMPLES_AT_ONCE):
            for b in self.words(P.HEAD + at, P.HEAD + min(at + SAMPLES_AT_ONCE, len(self.rows))):
                square += (b * 2.0**-30) ** 2 if self.fixed else b * b
            yield
        for note in (self.trouble(), self.too_coarse(square)):
            if note:
                self.notes.append(note)

    def imprecise(self, square, top, bearable):
        """Text when errors of kernel values decide as much as the rows.

        :param square: sum of the squared coefficients
        :param top: largest answer
        :param bearable: error of an answer that needs no word
        """
        error = error_of(self, square)
        if error <= bearable:
            return None
        return text(4, self.m, len(self.rows), error, top, self.fixed)

    def bias(self):
        """Constant of the decision function, as a number."""
        return self.word(P.BIAS) / 65536 if self.fixed else self.word(P.BIAS)


def count_of(name, items):
    """How many items were given.

    :raises ValueError: they cannot be counted, as those of a generator
    """
    try:
        return len(items)
    except TypeError:
        raise ValueError("%s: expected a list or a buffer, got %r" % (name, items)) from None


def within(value, least):
    """True for a finite number, `least` or more."""
    try:
        return value >= least and value - value == 0
    except TypeError:
        return False


def value_of(m, model, row, out):
    """Value of the decision function for a row; `out` is ``array("f")`` of 1."""
    row = row if m.scaler is None else m.scaler.row(row)
    return -model.decision(row, out)[0]


def changed(value, function):
    """`function` of a number, or of the first of a buffer."""
    if isinstance(value, float):
        return function(value)
    value[0] = function(value[0])
    return value


def section(tag, data):
    """Head and data of a part that a model file has behind its pairs; `data` are numbers."""
    data = bytes(data)
    return bytes((tag, 0, len(data) & 255, len(data) >> 8)), data
