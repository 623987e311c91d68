# SPDX-License-Identifier: MIT
"""The closed loop: predict, learn what was right, collect it, train when it is worth it.

Four roles, one small class each, and `Loop` that ties them together:

``IO``             sensor window -> features -> model -> action
``Feedback``       keeps what was predicted until a later observation tells the truth
``Stitcher``       joins input, output and truth into a sample store of fixed size
``TrainOnDemand``  trains a second model in short steps while the board is idle, tests both on
                   samples that were held back, and keeps the better one

A model is any object with ``predict(row) -> label`` and ``fit_steps(X, y)`` (a generator), such
as ``acclimate.svm.SVM``. All buffers are made at set-up; a sample allocates nothing afterwards.

    >>> from array import array
    >>> from acclimate.svm import SVM
    >>> live, spare = SVM(), SVM()
    >>> X, y = array("b", [-9, -7, 7, 9]), bytearray([0, 0, 1, 1])
    >>> _ = live.fit(X, y)
    >>> store = Stitcher(width=1, classes=2, per_class=4, held=4, hold_every=2)
    >>> loop = Loop(IO(live), Feedback(1), store, TrainOnDemand(live, spare, store, enough=8))
    >>> for value in (40, 50, 41, 51, 42, 52, 43, 53):   # the sensor has drifted
    ...     label = loop.sense(array("b", [value]))
    ...     right = loop.observe(0 if value < 45 else 1)
    >>> loop.run_idle()
    'kept'
    >>> loop.sense(array("b", [44]))
    0
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Callable, Iterator, Sequence

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

from array import array

try:
    from time import ticks_us
except ImportError:
    from time import monotonic_ns

    def ticks_us():
        return monotonic_ns() // 1000


_WRAP = (1 << 30) - 1  # tickets and ticks start again from 0 after it
_LIMITS = {
    "b": (-128, 127),
    "B": (0, 255),
    "h": (-32768, 32767),
    "H": (0, 65535),
    "i": (-2147483648, 2147483647),
    "f": (-3.4028234e38, 3.4028234e38),
}


class IO:
    """Sensor window -> features -> model -> action.

    :param model: the model that predicts; `Loop` replaces it when a better one is kept
    :param features: object with `width` and ``into(window, row)``; None: windows are rows
    :param action: called with the label; None: nothing happens
    """

    def __init__(
        self, model: "Any", features: "Any" = None, action: "Callable[[int], Any] | None" = None
    ) -> None:
        self.model = model
        self._features = features
        self._action = action
        self.row = None if features is None else _zeros("b", features.width)

    def __repr__(self):
        return "IO(%r)" % (self.model,)

    def step(self, window: "Sequence[float] | ReadableBuffer") -> int:
        """Predict one window; the row that was used stays in `row`."""
        self.take(window)
        return self.decide()

    def take(self, window: "Sequence[float] | ReadableBuffer") -> None:
        """Make `row` of a window."""
        if self._features is None:
            self.row = window
        else:
            self._features.into(window, self.row)

    def decide(self) -> int:
        """Predict `row` and act."""
        label = self.model.predict(self.row)
        if self._action is not None:
            self._action(label)
        return label


class Feedback:
    """Predictions, each with a ticket, until the truth about it arrives.

    A truth belongs to the prediction whose ticket it names. Without a ticket truths come in the
    order of the predictions, one for each: that of a prediction which was forgotten meanwhile is
    dropped, never given to another.

    :param int width: numbers in a row, 1..65535
    :param int pending: most predictions that wait at a time, 1..255
    :param int memory: answers that `recent` looks back on, 1..255
    :param str typecode: array type of a row
    """

    def __init__(
        self, width: int, pending: int = 4, memory: int = 32, typecode: str = "b"
    ) -> None:
        _check_size("width", width, 1, 65535)
        _check_size("pending", pending, 1, 255)
        _check_size("memory", memory, 1, 255)
        self.width = width
        self.pending = pending
        self.typecode = typecode
        self._rows = _zeros(typecode, width * pending)
        self._labels = bytearray(pending)
        self._old = bytearray(pending)  # 1: said by a model that was replaced since
        self._tickets = _zeros("i", pending)
        for slot in range(pending):
            self._tickets[slot] = -1
        self._issued = self._due = 0
        self.waiting = 0
        self.dropped = 0
        self.stale = False  # the last answer was of a model that was replaced since
        self.row = _zeros(typecode, width)
        self.output = 0
        self._answers = bytearray(memory)
        self._next = 0
        self.answered = 0
        self._recent_right = 0

    def __repr__(self):
        now = self.width, self.pending, self.waiting, self.answered, self.recent()
        return "Feedback(%d, %d): %d wait, %d answered, lately %d of 1000 right" % now

    def check(self, row: "Sequence[float] | ReadableBuffer") -> None:
        """Raise ValueError unless `row` has the width and only numbers that are kept exactly."""
        _check_row(row, self.width, self.typecode)

    def expect(self, row: "Sequence[float] | ReadableBuffer", label: int) -> int:
        """Remember a prediction; returns its ticket. When `pending` are waiting already, the
        oldest is forgotten.

        :raises ValueError: a number that the rows' type does not hold, or a label outside 0..255
        """
        self.check(row)
        _check_size("label", label, 0, 255)
        slot = self._slot_of(-1)
        if slot < 0:
            slot = self._oldest()
            self.waiting -= 1
        _copy(self._rows, slot * self.width, row, 0, self.width)
        self._labels[slot] = label
        self._old[slot] = 0
        ticket = self._tickets[slot] = self._issued
        self._issued = (ticket + 1) & _WRAP
        self.waiting += 1
        return ticket

    def _slot_of(self, ticket):
        """Place of a ticket (-1: a free place), or -1."""
        for slot in range(self.pending):
            if self._tickets[slot] == ticket:
                return slot
        return -1

    def _oldest(self):
        """Place of the prediction that waits longest."""
        best = age = 0
        for slot in range(self.pending):
            waited = (self._issued - self._tickets[slot]) & _WRAP
            if waited > age:
                best, age = slot, waited
        return best

    def _take(self, ticket):
        """Place of the prediction that a truth belongs to, or -1: it was forgotten."""
        if ticket is None:
            if self._due == self._issued:
                raise ValueError(
                    "truth: expected a waiting prediction, got none: call expect first"
                )
            ticket = self._due
        _check_size("ticket", ticket, -_WRAP, _WRAP)
        if ticket == self._due != self._issued:
            self._due = (ticket + 1) & _WRAP
        slot = self._slot_of(ticket) if ticket >= 0 else -1
        if slot < 0:
            self.dropped += 1
            return -1
        self._tickets[slot] = -1
        self.waiting -= 1
        return slot

    def truth(self, label: int, ticket: int | None = None) -> bool | None:
        """The truth about a prediction: True when it was right, and its input is then in `row`;
        None when the prediction was forgotten meanwhile, or answered before.

        :param ticket: what `expect` returned; None: truths come in the order of the predictions
        :raises ValueError: no ticket, and no prediction without truth
        """
        slot = self._take(ticket)
        if slot < 0:
            return None
        _copy(self.row, 0, self._rows, slot * self.width, self.width)
        self.output = self._labels[slot]
        right = self.output == label
        self.stale = self._old[slot] != 0
        if not self.stale:
            self._note(1 if right else 0)
        return right

    def skip(self, ticket: int | None = None) -> None:
        """The truth about a prediction will never be known; None: the next in order."""
        if ticket is not None or self._due != self._issued:
            self._take(ticket)

    def new_model(self) -> None:
        """Another model answers from now on: `recent` begins anew, and answers of the old one
        that still wait for their truth do not count."""
        self.answered = self._recent_right = self._next = 0
        for slot in range(self.pending):
            self._old[slot] = 1

    def _note(self, right):
        """Move one answer into the memory that `recent` counts."""
        if self.answered >= len(self._answers):
            self._recent_right -= self._answers[self._next]
        self._answers[self._next] = right
        self._recent_right += right
        self._next = (self._next + 1) % len(self._answers)
        self.answered += 1

    def recent(self) -> int:
        """Share of right answers among the last ones, in per mille; 1000 before the first."""
        count = min(self.answered, len(self._answers))
        return self._recent_right * 1000 // count if count else 1000


class Stitcher:
    """Input, output and truth, joined into a sample store of fixed size.

    Each class owns `per_class` places, so that a frequent class cannot crowd out a rare one; a
    new sample replaces the oldest of its class. Of each `hold_every` samples of a class one, drawn
    by chance, is held back for the test and never trained on; it replaces the oldest held back.

    :param int width: numbers in a row, 1..65535
    :param int classes: labels are 0..classes - 1, 1..255
    :param int per_class: places of a class, 1..1000
    :param int held: places of the held-back samples, 1..1000
    :param int hold_every: 2..1000
    :param str typecode: array type of a row
    :param int seed: which are drawn, 1..30000
    """

    def __init__(
        self,
        width: int,
        classes: int,
        per_class: int,
        held: int = 16,
        hold_every: int = 4,
        typecode: str = "b",
        seed: int = 1,
    ) -> None:
        _check_size("width", width, 1, 65535)
        _check_size("hold_every", hold_every, 2, 1000)
        _check_size("seed", seed, 1, 30000)
        _check_size("classes", classes, 1, 255)
        _check_size("per_class", per_class, 1, 1000)
        _check_size("held", held, 1, 1000)
        self.width = width
        self.classes = classes
        self.per_class = per_class
        self.hold_every = hold_every
        self.typecode = typecode
        rows = classes * per_class
        self.X = _zeros(typecode, rows * width)
        self.outputs = bytearray(rows)
        self.held_X = _zeros(typecode, held * width)
        self.held_y = bytearray(held)
        self.held_count = 0
        self._held_next = 0
        self._count = _zeros("H", classes)
        self._next = _zeros("H", classes)
        self._seen = _zeros("H", classes)
        self._drawn = _zeros("H", classes)
        self._one, self._two = seed, 30000 - seed + 1
        self.new = 0

    @staticmethod
    def bytes_needed(
        width: int, classes: int, per_class: int, held: int = 16, item_bytes: int = 1
    ) -> int:
        """Bytes of the buffers that the same arguments will make."""
        rows = classes * per_class
        return rows * (width * item_bytes + 1) + held * (width * item_bytes + 1) + classes * 8

    def __repr__(self):
        now = self.width, self.classes, sum(self._count), self.capacity(), self.held_count
        return "Stitcher(%d, %d): %d of %d rows, %d held back" % now

    def capacity(self) -> int:
        """Most rows that can be trained on."""
        return self.classes * self.per_class

    def fill(self, row: "Sequence[float] | ReadableBuffer", truth: int) -> None:
        """Take a sample that came with the product: trained on, never held back."""
        self._check(row, truth, truth)
        self._store(row, truth, truth)

    def add(self, row: "Sequence[float] | ReadableBuffer", output: int, truth: int) -> bool:
        """Take a sample of the device's own: True when it was held back for the test.

        :param row: what was seen
        :param int output: what the model said
        :param int truth: what was right
        """
        self._check(row, output, truth)
        self.new += 1
        if not self._draw(truth):
            self._store(row, output, truth)
            return False
        slot = self._held_next
        _copy(self.held_X, slot * self.width, row, 0, self.width)
        self.held_y[slot] = truth
        self._held_next = (slot + 1) % len(self.held_y)
        if self.held_count < len(self.held_y):
            self.held_count += 1
        return True

    def _check(self, row, output, truth):
        _check_size("truth", truth, 0, self.classes - 1)
        _check_size("output", output, 0, 255)
        _check_row(row, self.width, self.typecode)

    def _draw(self, truth):
        """True for one sample of each `hold_every` of a class; chance says for which."""
        seen = self._seen[truth]
        if seen == 0:
            self._one = self._one * 171 % 30269  # two short generators: products stay small
            self._two = self._two * 172 % 30307
            self._drawn[truth] = (self._one + self._two) % self.hold_every
        self._seen[truth] = (seen + 1) % self.hold_every
        return seen == self._drawn[truth]

    def _store(self, row, output, truth):
        """Put a row in the next place of its class."""
        place = self._next[truth]
        slot = truth * self.per_class + place
        _copy(self.X, slot * self.width, row, 0, self.width)
        self.outputs[slot] = output
        self._next[truth] = (place + 1) % self.per_class
        if self._count[truth] < self.per_class:
            self._count[truth] += 1

    def forget(self, keep: int = 0) -> None:
        """Forget all samples but about the `keep` newest: they are of a world that is gone."""
        _check_size("keep", keep, 0, _WRAP)
        self.new, places = 0, self.per_class
        for truth in range(self.classes):
            count = min(keep // self.classes, self._count[truth])
            start = truth * places
            oldest = source = start + (self._next[truth] - count) % places
            for to in range(start, start + count):  # turn the ring until they are in front
                self._swap(to, source)
                source += 1
                if source == start + places:
                    source = oldest
                if to + 1 == oldest:
                    oldest = source
            self._count[truth] = count
            self._next[truth] = count % places
            self._seen[truth] = 0
            self.new += count
        self.held_count = self._held_next = 0

    def _swap(self, to, source):
        X, outputs, width = self.X, self.outputs, self.width
        outputs[to], outputs[source] = outputs[source], outputs[to]
        for i in range(width):
            a, b = to * width + i, source * width + i
            X[a], X[b] = X[b], X[a]

    def copy_into(self, X: "WriteableBuffer", y: "WriteableBuffer") -> int:
        """Copy the filled rows and their truths to the front of `X`, `y`; returns how many."""
        rows = 0
        for truth in range(self.classes):
            start = truth * self.per_class
            n = self._count[truth]
            _copy(X, rows * self.width, self.X, start * self.width, n * self.width)
            for i in range(rows, rows + n):
                y[i] = truth
            rows += n
        return rows

    def held(self, i: int, row: "WriteableBuffer") -> int:
        """Copy the `i`-th held-back input to `row`; returns its truth."""
        _check_size("i", i, 0, self.held_count - 1)
        _copy(row, 0, self.held_X, i * self.width, self.width)
        return self.held_y[i]


class TrainOnDemand:
    """Trains a second model in short steps, and keeps the one that tests better.

    The model in use is never touched: the other one trains on a copy of the store, both answer
    the held-back samples, and they change places only when the new one makes fewer mistakes.

    :param live: the model in use
    :param spare: a second model of the same settings, fitted or not
    :param store: the `Stitcher`
    :param int enough: new samples that make a training worth while
    :param int margin: held-back samples by which the new model must be better, 0 or more;
        -1 keeps it on a tie too, which measures best (`make bench NAME=loop`)
    :param int least_held: held-back samples without which no training begins, 1 or more
    :param budget: `acclimate.energy.EnergyBudget`, or any object with ``may_train()``,
        asked before a training begins, and ``spend(us)``, told what each piece of it took;
        None: no limit

    `steps`, `spent_ms` and `longest_us` say what the latest training took: pieces, milliseconds,
    microseconds of the longest piece.
    """

    IDLE, TRAINING, TESTING = 0, 1, 2

    def __init__(
        self,
        live: "Any",
        spare: "Any",
        store: "Stitcher",
        enough: int = 16,
        margin: int = -1,
        least_held: int = 1,
        budget: "Any" = None,
    ) -> None:
        _check_size("enough", enough, 1, _WRAP)
        _check_size("margin", margin, -1, 1000)
        _check_size("least_held", least_held, 1, 1000)
        self.live = live
        self.spare = spare
        self.enough = enough
        self.least_held = least_held
        self.margin = margin
        self.budget = budget
        self._store = store
        self._X = [_zeros(store.typecode, len(store.X)) for _ in range(2)]
        self._y = [bytearray(store.capacity()) for _ in range(2)]
        self._row = _zeros(store.typecode, store.width)
        self._side = 0
        self._steps = None
        self.state = self.IDLE
        self.kept = self.discarded = 0
        self.old_right = self.new_right = self.tested = 0
        self.rows = self.steps = 0
        self.spent_ms = self.longest_us = self._rest_us = 0
        self.reason = None

    def __repr__(self):
        state = ("idle", "training", "testing")[self.state]
        return "TrainOnDemand: %s, %d kept, %d discarded" % (state, self.kept, self.discarded)

    def wanted(self) -> bool:
        """True when enough new samples have come, some are held back to test with, and the
        budget allows a training."""
        if self._store.new < self.enough or self._store.held_count < self.least_held:
            return False
        return self.budget is None or self.budget.may_train()

    def first_steps(self) -> "Iterator[int]":
        """Generator that fits the model in use on the store: how a product begins its life."""
        self.rows = n = self._store.copy_into(self._X[self._side], self._y[self._side])
        X = memoryview(self._X[self._side])[: n * self._store.width]
        yield from self.live.fit_steps(X, memoryview(self._y[self._side])[:n])

    def start(self) -> None:
        """Begin a training on a copy of the store as it is now."""
        side = 1 - self._side
        self.rows = n = self._store.copy_into(self._X[side], self._y[side])
        X = memoryview(self._X[side])[: n * self._store.width]
        self._store.new = 0
        self.steps = self.spent_ms = self.longest_us = self._rest_us = 0
        self.reason = None
        self.state = self.TRAINING
        self._steps = iter(self.spare.fit_steps(X, memoryview(self._y[side])[:n]))

    def idle(self) -> str | None:
        """One short piece of work: None, or "kept" or "discarded" when a training has ended."""
        if self.state == self.IDLE and not self.wanted():
            return None
        begun = ticks_us()
        verdict = self._piece()
        took = (ticks_us() - begun) & _WRAP
        self.longest_us = max(self.longest_us, took)
        self._rest_us += took
        self.spent_ms += self._rest_us // 1000
        self._rest_us %= 1000
        if self.budget is not None:
            self.budget.spend(took)
        return verdict

    def _piece(self):
        try:
            if self.state == self.TRAINING:
                return self._train()
            if self.state == self.TESTING:
                return self._test()
            self.start()
        except (ValueError, MemoryError, OverflowError) as error:
            self.reason = error
            return self._end("discarded")
        except BaseException:
            self.cancel()  # a generator that raised would pass for one that came to its end
            raise
        return None

    def busy(self) -> bool:
        """True while a training or its test goes on."""
        return self.state != self.IDLE

    def cancel(self) -> None:
        """Give up a training; the model in use is as it was."""
        self._steps = None
        self.state = self.IDLE

    def _train(self):
        """One step of the generator."""
        for _ in self._steps:
            self.steps += 1
            return None
        self._steps = None
        self.tested = self.old_right = self.new_right = 0
        self.state = self.TESTING
        return None

    def _test(self):
        """Both models answer one held-back sample."""
        if self.tested < self._store.held_count:
            truth = self._store.held(self.tested, self._row)
            self.old_right += self.live.predict(self._row) == truth
            self.new_right += self.spare.predict(self._row) == truth
            self.tested += 1
            return None
        if self.new_right - self.old_right > self.margin:
            self.live, self.spare = self.spare, self.live
            self._side = 1 - self._side
            return self._end("kept")
        return self._end("discarded")

    def _end(self, verdict):
        """Count the outcome and rest."""
        self._steps = None
        self.state = self.IDLE
        if verdict == "kept":
            self.kept += 1
        else:
            self.discarded += 1
        return verdict


class Loop:
    """The four roles tied together.

    Without `drift` it trains whenever enough new samples came and something was wrong lately.
    With one it trains only once that tells a change: samples from before are forgotten, and it
    trains when `enough` new ones came, again at twice as many, and so on, `rounds` times.

    :param int target: train only while fewer answers than this are right, in per mille
    :param drift: `acclimate.drift.PageHinkley`, `acclimate.drift.Adwin`, or any object whose
        ``add(wrong)`` is true when answers have become worse; None: none. Where it has them,
        ``recent()`` says how many samples are of the new world, and ``reset()`` follows a training
    :param on_drift: called with the loop when a change was told: to ask the host for a capsule,
        or to roll back; when it returns true, nothing is trained. None: train
    :param int rounds: trainings after a change, 1 or more
    """

    def __init__(
        self,
        io: "IO",
        feedback: "Feedback",
        stitcher: "Stitcher",
        trainer: "TrainOnDemand",
        target: int = 1000,
        drift: "Any" = None,
        on_drift: "Callable[[Loop], Any] | None" = None,
        rounds: int = 6,
    ) -> None:
        _check_size("rounds", rounds, 1, _WRAP)
        _check_size("target", target, 0, 1001)
        rows, kept = (feedback.width, feedback.typecode), (stitcher.width, stitcher.typecode)
        if rows != kept:
            raise ValueError("feedback: expected width and typecode %s, got %s" % (kept, rows))
        self.io = io
        self.feedback = feedback
        self.stitcher = stitcher
        self.trainer = trainer
        self.target = target
        self.ticket = -1
        self._drift = drift
        self._on_drift = on_drift
        self._rounds = rounds
        self._left = 0  # trainings that are still due
        self._due = trainer.enough
        self.drifts = 0

    def __repr__(self):
        roles = self.io, self.feedback, self.stitcher, self.trainer
        return "Loop(%r, %r, %r, %r): %d drifts" % (roles + (self.drifts,))

    def sense(self, window: "Sequence[float] | ReadableBuffer") -> int:
        """Predict a window, act, and remember it until the truth is known; its number is in
        `ticket`.

        :raises ValueError: a number that the store does not hold; nothing was predicted
        """
        self.io.take(window)
        self.feedback.check(self.io.row)
        label = self.io.decide()
        self.ticket = self.feedback.expect(self.io.row, label)
        return label

    def observe(self, truth: int, ticket: int | None = None) -> bool | None:
        """The truth about a prediction: True when it was right; None when that was forgotten.

        :param ticket: what `ticket` was after its `sense`; None: in the order of the predictions
        :raises ValueError: a truth that is no class; the prediction goes on waiting
        """
        _check_size("truth", truth, 0, self.stitcher.classes - 1)
        right = self.feedback.truth(truth, ticket)
        if right is None:
            return None
        try:
            if self._drift is not None and not self.feedback.stale and self._drift.add(not right):
                self.changed()
        finally:  # what `on_drift` raises takes no sample away
            self.stitcher.add(self.feedback.row, self.feedback.output, truth)
        return right

    def changed(self, keep: int | None = None) -> None:
        """The world has changed: what the detector calls, and what a program may call that sees
        it in another way, as by a detector on a feature.

        :param int keep: newest samples that are of the new world; None: what the detector says,
            0 where it does not or where there is none
        """
        if keep is None:
            keep = self._drift.recent() if hasattr(self._drift, "recent") else 0
        _check_size("keep", keep, 0, _WRAP)
        self.drifts += 1
        if self._on_drift is not None and self._on_drift(self):
            return
        self.trainer.cancel()
        self.stitcher.forget(keep)
        self._left = self._rounds
        self._due = self.trainer.enough

    def idle(self, limit_us: int = 0) -> str | None:
        """Short pieces of training, when there is any; call it whenever there is time.

        :param int limit_us: do pieces while another one as long as the longest so far would end
            within so many microseconds; 0: one piece
        :returns: "kept" or "discarded" when a training has ended, else None
        """
        _check_size("limit_us", limit_us, 0, _WRAP)
        trainer = self.trainer
        begun = ticks_us()
        verdict = self._piece()
        while verdict is None and trainer.busy():
            if ((ticks_us() - begun) & _WRAP) + trainer.longest_us > limit_us:
                break
            verdict = self._piece()
        return verdict

    def _piece(self):
        trainer = self.trainer
        if not trainer.busy() and not self._wanted():
            return None
        verdict = trainer.idle()
        if verdict is not None and self._drift is not None:
            self._left -= 1
            self._due *= 2
        if verdict == "kept":
            self.io.model = trainer.live
            self.feedback.new_model()
            if hasattr(self._drift, "reset"):
                self._drift.reset()
        return verdict

    def state(self, buffer: "WriteableBuffer | None" = None) -> "WriteableBuffer":
        """The samples, what waits for its truth and what is held back, as bytes to be kept over a
        reset: in the buffer, which has the right size, or in a new one.

        Trainings that a told change has left due are in it. One that goes on is not; it begins
        again from the samples.
        """
        from acclimate import _loop_state

        if buffer is None:
            buffer = bytearray(_loop_state.size(self))
        _loop_state.write(self, buffer)
        return buffer

    def restore(self, data: "ReadableBuffer") -> None:
        """Take back what `state` gave to a loop of the same sizes.

        :raises ValueError: it is of other sizes, or damaged; nothing has changed
        """
        from acclimate import _loop_state

        _loop_state.read(self, data)
        self.trainer.cancel()

    def _wanted(self):
        """True when a training is due."""
        if self._drift is not None and (not self._left or self.stitcher.new < self._due):
            return False
        return self.feedback.recent() < self.target

    def run_idle(self) -> str | None:
        """All the training that waits, to its end: the verdict, or None when there was none."""
        verdict = self._piece()
        while verdict is None and self.trainer.busy():
            verdict = self._piece()
        return verdict


def _fits(value, low, high, whole):
    """True for a number of the range, and where asked for a whole one that is no float."""
    try:
        good = low <= value <= high
        return good and not (whole and (isinstance(value, float) or value != int(value)))
    except TypeError:  # no number
        return False


def _check_size(name, value, least, most):
    """Refuse what is no whole number of the range: arrays of boards cut it, or it comes late."""
    if not _fits(value, least, most, True):
        raise ValueError("%s: expected %d..%d, got %r" % (name, least, most, value))


def _check_row(row, width, typecode):
    """Refuse what an array of `typecode` would cut, on runtimes whose arrays do not."""
    try:
        count = len(row)
    except TypeError:
        raise ValueError("row: expected %d numbers, got %r" % (width, row)) from None
    if count != width:
        raise ValueError("row: expected %d numbers, got %d" % (width, count))
    if getattr(row, "typecode", None) == typecode != "f":
        return
    whole = typecode != "f"
    low, high = _LIMITS[typecode]
    for v in row:
        if not _fits(v, low, high, whole):
            kind = "whole" if whole else "finite"
            raise ValueError("row: expected %s numbers %s..%s, got %s" % (kind, low, high, v))


def _copy(to, at, source, start, count):
    """Copy elements without making a slice."""
    i = 0
    while i < count:
        to[at + i] = source[start + i]
        i += 1


def _zeros(typecode, count):
    """An array of zeros, made without a list that would need four times the memory."""
    if not isinstance(typecode, str) or typecode not in _LIMITS:
        raise ValueError("typecode: expected one of b B h H i f, got %r" % (typecode,))
    if not count > 0:
        raise ValueError("sizes: expected 1 or more of each, got room for %s numbers" % count)
    return array(typecode, bytes(count * len(bytes(array(typecode, [0])))))
