# SPDX-License-Identifier: MIT
"""A support vector machine that is trained, evaluated and used on the board.

    >>> from acclimate.svm.machine import SVM
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> m = SVM(kernel="rbf", C=100, gamma=1.0)
    >>> m.fit(X, [0, 1, 1, 0])
    SVM(rbf, C=100): 2 classes, 2 features, 4 support vectors, 9 steps, converged
    >>> m.predict([0, 1])
    1

This file holds what a board needs to predict; training, files, scaling and incremental
learning are imported when they are first used.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Iterator, Sequence

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

from acclimate.svm.model import KERNELS, core_for, has_floats, missing, uses_fixed

_MOST = (2 - 2**-23) * 2.0**127  # the last of float32, which not every runtime reads from text


def _number(name, value, least=0.0, most=_MOST):
    """`value` above `least` and not above `most`, where float32 ends; otherwise `ValueError`."""
    try:
        if -most <= value <= most and value > least:
            return value
    except TypeError:
        pass
    raise ValueError("%s: expected a number > %s, <= %s, got %s" % (name, least, most, value))


def _kind(m, kind):
    """What `SVM(kind=...)` does differently; a file of its own."""
    try:
        from acclimate.svm.kinds import kind_of
    except ImportError:
        raise missing("kinds") from None
    return kind_of(m, kind)


class SVM:
    """Binary or one-vs-one multi-class support vector classifier.

    :param str kernel: ``"linear"``, ``"poly"`` or ``"rbf"``
    :param float C: penalty of an error, > 0
    :param float gamma: factor of the kernel, > 0; None: 1 / (features * variance of X), the
        rule that scikit-learn calls ``"scale"``
    :param int degree: power of the polynomial kernel, 1..9
    :param float coef0: constant of the polynomial kernel, finite
    :param float tol: training ends when the optimality gap is below, > 0
    :param int max_iter: cap on solver steps per pair of classes, 1..2**30
    :param str storage: ``"uint8"``, ``"int8"``, ``"int16"``, ``"float32"``; None: by the data
    :param class_weight: dict label -> factor of C, or ``"balanced"``, or None
    :param gram: True/False: keep the kernel matrix; None: when it fits in the arena
    :param arena: ``bytearray`` of at least `bytes_needed` bytes for the solver's state
    :param bool scale: bring features to mean 0 and deviation 1 first
    :param int budget: most samples kept for `add`; 0: samples are not kept
    :param str state: ``"float"`` or ``"fixed"`` solver numbers; None: float32 where the native
        module has it (a board with an FPU) or none is loaded, fixed point otherwise
    :param bool small: linear, two classes, rows of bytes, fixed point: what a board of 32 KB
        trains, with the same numbers and the same file
    :param str kind: None: tells labels apart; ``"one-class"``: tells rows like those of `fit`
        (1) from others (-1); ``"regression"``: answers a number (epsilon-SVR)
    :param float nu: one-class: largest share of the rows of `fit` that is called others, 0..1
    :param float epsilon: regression: errors below it cost nothing, >= 0, in units of the targets
    :raises ValueError: names the argument, what was expected and what came
    :raises ImportError: a kind whose file is not installed
    """

    def __init__(
        self,
        kernel: str = "linear",
        C: float = 1.0,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 10000,
        storage: str | None = None,
        class_weight: dict | str | None = None,
        gram: bool | None = None,
        arena: "WriteableBuffer | None" = None,
        scale: bool = False,
        budget: int = 0,
        state: str | None = None,
        small: bool = False,
        kind: str | None = None,
        nu: float = 0.1,
        epsilon: float = 0.1,
    ) -> None:
        if small:
            from acclimate.svm.refusals import small as checked

            state, storage = checked(kernel, state, storage, scale, budget, kind)
        if kernel not in KERNELS:
            raise ValueError("kernel: expected linear, poly or rbf, got " + repr(kernel))
        if state not in (None, "float", "fixed"):
            raise ValueError("state: expected float, fixed or None, got " + repr(state))
        if gamma is not None:
            _number("gamma", gamma)
        if degree not in range(1, 10):
            raise ValueError("degree: expected 1..9, got %s" % (degree,))
        if not isinstance(budget, int) or not 0 <= budget < 65536:
            raise ValueError("budget: expected 0..65535, got %r" % (budget,))
        if storage is not None:
            from acclimate.svm.data import storage_code

            storage_code(storage)
        self.kernel_name = kernel
        self.C = _number("C", C)
        self.gamma = gamma
        self.degree = int(degree)
        self.coef0 = _number("coef0", coef0, -2 * _MOST)
        self.tol = _number("tol", tol)
        self.max_iter = int(_number("max_iter", max_iter, 0.0, 1 << 30)) or 1
        self.storage = storage
        self.class_weight = class_weight
        self.gram = gram
        self.arena = arena
        self.budget = budget
        self.state = state
        self.kind = self._kind = kind
        self.nu = nu
        self.epsilon = epsilon
        if kind is not None:
            self._kind = _kind(self, kind)
        self.scaler = None
        self.samples = None
        self._scale = scale
        self._model = None
        self._job = None
        self._native = self._call = self._said = self._open = None
        self.warning = None
        self.n_iter = self.n_support = 0
        self.gap = 0.0
        self.converged = False

    def fit(
        self,
        X: "Sequence[Any] | ReadableBuffer",
        y: "Sequence[Any] | ReadableBuffer | int | None" = None,
    ) -> "SVM":
        """Train to the end and return the model.

        :param X: list of rows, or a flat buffer of ``len(y)`` rows (``bytearray``,
            ``array`` of ``"b"``, ``"B"``, ``"h"``, ``"f"``); such a buffer is used in place and
            must then stay as it is while the model lives
        :param y: labels, at least two different ones: whole numbers 0..254, or (extra
            ``labels``) other whole numbers or texts; regression: numbers; one-class: None, or
            how many rows a flat buffer holds
        :raises ValueError: bad data, naming the row; the model is as before
        :raises MemoryError: the arena is too small, naming needed and given bytes
        """
        if self._kind is None and self.state != "fixed" and has_floats():
            from acclimate.svm.plain import train

            if train(self, X, y):
                return self
        for _ in self.fit_steps(X, y):
            pass
        return self

    def fit_steps(
        self,
        X: "Sequence[Any] | ReadableBuffer",
        y: "Sequence[Any] | ReadableBuffer | int | None" = None,
        steps: int | None = None,
    ) -> "Iterator[int]":
        """Generator that trains in short pieces of work and yields how many solver steps it
        has offered so far (a small integer; while a pair of classes trains on native code
        nothing is allocated).

        Data are checked first, in pieces too: bad input raises what `fit` raises before
        anything changes. Stop whenever you like: a model that was fitted before stays as it was
        until the generator is exhausted; one that was not is usable as far as it got.

        :param int steps: solver steps in one piece, 1 or more; None: as many as surely take less
            than 50 ms at the clock of a small board
        """
        from acclimate.svm.collect import collect  # noqa: F401  files in steps of their own

        yield 0
        from acclimate.svm.data import prepare_pieces  # noqa: F401

        yield 0
        from acclimate.svm.train import check_steps, start_pieces

        check_steps(steps)
        yield 0
        core_for(uses_fixed(self.state))  # loads the solver in Python where none is native
        yield 0
        start = start_pieces if self._kind is None else self._kind.start
        for job in start(self, X, y):  # noqa: B007  the last one is the training
            yield 0
        yield from self._alone(self._train(job, steps))

    def _train(self, job, steps):
        self._job = job
        try:
            for _ in job.run(steps):
                yield job.ticks
            for _ in self._publish(job):
                yield job.ticks
        except Exception:
            self._job = None  # what has failed is no model
            raise

    def _alone(self, pieces):
        """Train in pieces. A training that is still open is closed, and learns nothing."""
        old, self._open = self._open, pieces
        try:
            if old is not None:
                old.close()
            yield from pieces  # passes a close() on
            if self._open is not pieces:
                raise ValueError("steps: expected one training at a time, got another")
        finally:
            if self._open is pieces:
                self._open = None

    def _publish(self, job):
        """Make the state of a training job the model, in pieces."""
        model = yield from job.result()
        if self.budget:
            from acclimate.svm.incremental import samples_of

            self.samples = samples_of(model, job.y, job.wrong)
        self._take(model, job.scaler)
        self._tell(job.notes)

    def _tell(self, notes):
        """A training is over: show what the user should know before the model is used."""
        self._job = None
        warning = "; ".join(notes) if notes else None
        if warning and warning.split(":")[0] != self._said:
            self._said = warning.split(":")[0]  # a kind of trouble is printed once
            print("SVM:", warning)
        self.warning = warning

    def _take(self, model, scaler):
        """Use `model` from now on, and show its state."""
        model.settle()
        self._model = model
        self.scaler = scaler
        old = self._call
        call = model.native_call(self._predict, scaler)
        self._native = None
        if model.answer is None:
            self._native = call
        else:
            call = model.answer.bind(self, call or self._predict)
        self._call = call
        if call is not None:
            self.predict = call  # found before the method below: a row is one native call
        elif old is not None:
            del self.predict
        self.n_iter = model.n_iter
        self.gap = model.gap
        self.converged = model.converged
        self.n_support = model.n_support

    def _ready(self):
        """The fitted model; a training that was stopped is taken as far as it got."""
        if self._model is None:
            if self._job is None:
                raise ValueError("SVM: expected a fitted model, got none: call fit first")
            self._take(self._job.model(), self._job.scaler)
        return self._model

    def predict(self, row: "Sequence[float] | ReadableBuffer") -> int:
        """Label of one row of `d` numbers. Does not allocate on the native path.

        One-class: 1 for a row like those of `fit`, -1 for others. Regression: a number.
        """
        self._ready()
        return (self._call or self._predict)(row)

    def _predict(self, row):
        return self._ready().predict(self._scaled(row))

    def _scaled(self, row):
        """`row` in the units of the model."""
        if self.scaler is None:
            return row
        try:
            return self.scaler.row(row)
        except TypeError:
            from acclimate.svm.rows import no_numbers

            raise no_numbers(row) from None

    def predict_many(
        self, rows: "Sequence[Any] | ReadableBuffer", out: "WriteableBuffer"
    ) -> "WriteableBuffer":
        """Labels of ``len(out)`` rows into `out`, and return it.

        :param rows: list of rows, or a flat buffer of them
        :param out: ``bytearray``; a label takes a byte. Others need a list or an array that
            holds them
        :raises ValueError: rows that do not fit `out` or the model, or a label that `out` does
            not hold; it may be half filled
        """
        model = self._ready()
        native = self._native
        if native is not None and model.classes[-1] > 127 and not isinstance(out, bytearray):
            native = None  # of signs it knows nothing
        try:
            if native is not None and model.core.predict_many(native, rows, out) == len(out):
                return out
        except TypeError:  # of a row, which is found and named below
            pass
        from acclimate.svm.data import shape_of

        n, d, flat = shape_of(rows, out, "out")
        if d != model.d:
            raise ValueError("rows: expected %d features, got %d" % (model.d, d))
        for i in range(n):
            label = self.predict(rows[i * d : i * d + d] if flat else rows[i])
            try:
                out[i] = label
            except (TypeError, ValueError, OverflowError):
                pass
            if out[i] != label:  # boards cut what an item does not hold
                raise ValueError("out: expected items that hold %r" % (label,))
        return out

    def decision(
        self, row: "Sequence[float] | ReadableBuffer", out: "WriteableBuffer | None" = None
    ) -> "float | WriteableBuffer":
        """Decision value of one row: a number, or one per pair of classes.

        Two classes: above or equal 0 means the higher label, as in scikit-learn. More: one value
        for each pair (0, 1), (0, 2), ..., (1, 2), ...; above 0 is a vote for the first.
        One-class: above 0 inside what `fit` saw. Regression: the answer of `predict`.

        :param out: ``array("f")`` that takes the values; without it a new one is made
        """
        model = self._ready()
        value = model.decision(self._scaled(row), out)
        return value if self._kind is None else self._kind.decision(model, value)

    def evaluate(
        self, X: "Sequence[Any] | ReadableBuffer", y: "Sequence[Any] | ReadableBuffer"
    ) -> float:
        """Share of the rows of `X` (as in `fit`) whose label is predicted right, 0..1."""
        from acclimate.svm.metrics import evaluate

        return evaluate(self, X, y)

    def report(
        self, X: "Sequence[Any] | ReadableBuffer", y: "Sequence[Any] | ReadableBuffer"
    ) -> str:
        """Text with rows and recall of each class: a dominant class cannot hide there."""
        from acclimate.svm.metrics import report

        return report(self, X, y)

    def calibrate(
        self,
        X: "Sequence[Any] | ReadableBuffer",
        y: "Sequence[Any] | ReadableBuffer | int | None" = None,
        share: float = 0.01,
    ) -> "SVM":
        """Learn from held-back rows what a decision value means, in memory that does not grow.

        Two and more classes: `predict_proba` can be asked then (extra ``probability``).
        One-class: `threshold` is set so that `share` of these rows are called others.

        :param X, y: rows that `fit` has not seen, as for `fit`
        :raises ValueError: a pair of labels of which the rows show one only
        """
        for _ in self.calibrate_steps(X, y, share):
            pass
        return self

    def calibrate_steps(
        self,
        X: "Sequence[Any] | ReadableBuffer",
        y: "Sequence[Any] | ReadableBuffer | int | None" = None,
        share: float = 0.01,
    ) -> "Iterator[int]":
        """The same in short pieces of work; until its end the machine is as before."""
        self._ready()
        if self._kind is not None:
            return self._kind.calibrate(self, X, y, share)
        try:
            from acclimate.svm.probability import calibrate_pieces
        except ImportError:
            raise missing("probability") from None
        return calibrate_pieces(self, X, y)

    def predict_proba(
        self, row: "Sequence[float] | ReadableBuffer", out: "WriteableBuffer | None" = None
    ) -> "WriteableBuffer":
        """Probabilities of the labels, in rising order of labels, after `calibrate`.

        :param out: ``array("f")`` that takes them; without it a new one is made
        :raises ValueError: a machine that was not calibrated since it was fitted
        """
        try:
            from acclimate.svm.probability import probabilities
        except ImportError:
            raise missing("probability") from None
        return probabilities(self, row, out)

    def kernel(
        self, a: "Sequence[float] | ReadableBuffer", b: "Sequence[float] | ReadableBuffer"
    ) -> float:
        """Kernel value of two rows, with the parameters of this model."""
        from acclimate.svm.metrics import kernel

        try:
            return kernel(self, a, b)
        except TypeError:
            from acclimate.svm.refusals import expected

            raise expected("a, b", "rows of numbers", (a, b)) from None

    def add(self, row: "Sequence[float] | ReadableBuffer", label: int) -> "SVM":
        """Learn one more sample within `budget` kept ones; see `acclimate.svm.incremental`.

        May start from nothing: training begins with the second label. The work of one call is
        a few solver steps, because it goes on from the former coefficients.
        """
        for _ in self.add_steps(row, label):
            pass
        return self

    def add_steps(
        self, row: "Sequence[float] | ReadableBuffer", label: "Any", steps: int | None = None
    ) -> "Iterator[int]":
        """Generator that learns one more sample in short pieces of work, as `fit_steps` trains.

        Close it before its end, and the sample and the model are as before. Between the steps a
        model predicts without the sample that gives way. One training at a time: the next `add`
        or `fit` closes this one, which then raises `ValueError` when it is asked to go on. One
        that is left without `close` keeps its buffers until then.

        :param int steps: as in `fit_steps`
        """
        from acclimate.svm.incremental import add_pieces

        yield 0
        yield from add_pieces(self, row, label, steps)

    def save(self, path: str) -> None:
        """Write the fitted model to a file; the old file stays until the new one is whole."""
        from acclimate.svm.file import save

        save(self, path)

    @staticmethod
    def load(path: str) -> "SVM":
        """Read a model from a file or a stream; `ValueError` when damaged, truncated or newer."""
        from acclimate.svm.file import load

        return load(SVM, path)

    @staticmethod
    def bytes_needed(n: int, d: int, classes: int = 2, **options: "Any") -> int:
        """Bytes of `arena` for training `n` rows of `d` features; see `acclimate.svm.train`."""
        from acclimate.svm.train import bytes_needed

        return bytes_needed(n, d, classes, **options)

    def __repr__(self):
        text = "SVM(%s, C=%g)" % (self.kernel_name, self.C)
        if self.kind:
            text = text[:-1] + ", %s)" % self.kind
        m = self._model
        if m is None:
            return text + (": not fitted" if self._job is None else ": training")
        classes = "" if self.kind else "%d classes, " % len(m.classes)
        return text + ": %s%d features, %d support vectors, %d steps, %s" % (
            classes,
            m.d,
            m.n_support,
            m.n_iter,
            "converged" if m.converged else "stopped at gap %.3g" % m.gap,
        )
