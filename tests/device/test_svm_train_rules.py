# SPDX-License-Identifier: MIT
"""What a training asks of memory and gives to the model, each rule with an input of its own."""

# RUNTIMES = ("cpython", "desktop")

import struct
from array import array

from refusal import raised

from acclimate.svm import SVM
from acclimate.svm import parameters as P
from acclimate.svm import train as t

ROWS = [[0, 1], [3, 9], [8, 2], [9, 9], [1, 0], [7, 8]]
Y = [0, 0, 1, 1, 0, 1]


def job_of(X=ROWS, y=Y, **options):
    """A job that has not begun, as `fit` makes it."""
    job = None
    for job in t.start_pieces(SVM(**options), X, y):  # noqa: B007
        pass
    return job


def ended(steps):
    """(what a generator returns, how often it paused)."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value, pauses
        pauses += 1


# ---- memory ------------------------------------------------------------------------------------


def words(n, fixed, whole):
    return 4 * t.core_for(fixed).work_words(n, not fixed, n if whole else 2)


def test_bytes_needed_are_those_of_the_largest_pair():
    for fixed, state in ((True, "fixed"), (False, "float")):
        assert t.bytes_needed(20, 3, state=state) == words(20, fixed, False)
        assert t.bytes_needed(20, 3, gram=True, state=state) == words(20, fixed, True)
        # of five classes three have a row each at least, so a pair has 17 at most
        assert t.bytes_needed(20, 3, 5, state=state) == words(17, fixed, False)
    for arguments in ((1, 3), (5, 0), (5, 3, 1), (5, 3, 6), (0, 0, 0)):
        text = raised(ValueError, t.bytes_needed, *arguments)
        assert "n >= classes >= 2" in text
        assert text.endswith("got %d, %d, %d" % (arguments + (2,))[:3]), text
    assert t.bytes_needed(2, 1) and t.bytes_needed(5, 3, 5)


def test_the_largest_pair_has_the_two_largest_classes():
    y = [0] * 2 + [1] * 7 + [2] * 3 + [3] * 6
    X = [[i, 20 - i] for i in range(18)]
    for state, fixed in (("fixed", True), ("float", False)):
        need = words(13, fixed, False)
        options = {"state": state, "gram": False}
        assert "expected at least %d bytes, got %d" % (need, need - 4) in raised(
            MemoryError, job_of, X, y, arena=bytearray(need - 4), **options
        )
        for more in range(4):  # whole words of it are used
            job = job_of(X, y, arena=bytearray(need + more), **options)
            assert size_of(job) in (need, need + more)
        need = words(13, fixed, True)
        options["gram"] = True
        raised(MemoryError, job_of, X, y, arena=bytearray(need - 4), **options)
        job_of(X, y, arena=bytearray(need), **options)


def size_of(job):
    """Bytes of the solver state of a job."""
    return len(bytes(job.work))


def test_a_matrix_is_kept_where_there_is_room_unless_it_is_told_otherwise():
    for state, fixed in (("fixed", True), ("float", False)):
        least, full = words(6, fixed, False), words(6, fixed, True)
        assert least < full
        for gram, found in ((None, full), (True, full), (False, least)):
            assert size_of(job_of(gram=gram, state=state)) == found, gram
            arena = bytearray(full + 400)
            if hasattr(memoryview(arena), "cast"):
                assert size_of(job_of(gram=gram, state=state, arena=arena)) == found, gram


def test_without_room_for_the_matrix_training_goes_on_without_it():
    before = t._spare_bytes
    try:
        for state, fixed in (("fixed", True), ("float", False)):
            full = words(6, fixed, True)
            for spare, found in ((full, full), (full - 1, words(6, fixed, False))):
                t._spare_bytes = lambda spare=spare: spare
                assert size_of(job_of(state=state)) == found
    finally:
        t._spare_bytes = before


def test_a_heap_in_pieces_takes_the_least_and_then_says_so():
    class Short(t.Job):
        most = 0

        def _own(self, size):
            if size > self.most:
                raise MemoryError
            return t.Job._own(self, size)

    def made(most):
        Short.most = most
        job = None
        for job in t.start_pieces(SVM(state="float"), ROWS, Y, make=Short):  # noqa: B007
            pass
        return job

    least, full = words(6, False, False), words(6, False, True)
    assert size_of(made(full)) == full and size_of(made(least)) == least
    text = raised(MemoryError, made, least - 4)
    assert str(least) in text


def test_words_of_bytes_are_those_of_an_array():
    for state, values in (
        ("fixed", [7, -9, 1 << 30, 0, 5]),
        ("float", [0.5, -2.0, 3.0, 0.0, 9.0]),
    ):
        job = job_of(state=state)
        job.work, job.raw = memoryview(bytearray(20)), True
        for k in range(5):
            job._set_word(k, values[k])
        assert bytes(job.work) == struct.pack("<5" + job.code, *values)
        plain = job_of(state=state)
        plain.work, plain.raw = array(job.code, (0 for _ in range(5))), False
        for k in range(5):
            plain._set_word(k, values[k])
        for one in (job, plain):
            assert [one.word(k) for k in range(5)] == values
            assert list(one.words(1, 4)) == values[1:4] and list(one.words(2, 2)) == []


# ---- steps -------------------------------------------------------------------------------------


class Scripted:
    """Stands for native code: says what it is told to, and keeps what it was asked."""

    def __init__(self, starts=(), steps=()):
        self.starts, self.steps = list(starts), list(steps)
        self.asked = []

    def start(self, work, x, rows, par):
        self.asked.append(("start", par[P.WARM]))
        return self.starts.pop(0)

    def step(self, work, x, rows, par, count):
        self.asked.append(("step", count))
        return self.steps.pop(0)


def scripted(starts=(), steps=(), **options):
    """A job whose first pair is about to begin, in words of an array."""
    job = job_of(**options)
    job.work = array(job.code, (0 for _ in range(len(bytes(job.work)) // 4)))
    job.raw = False
    job.core = Scripted(starts, steps)
    return job


def begun(*arguments, **options):
    job = scripted((P.RUNNING,) + tuple(arguments[:1]), arguments[1:], **options)
    ended(job._begin(0, 1))
    return job


def test_a_solver_that_does_not_start_is_refused_by_its_reason():
    for state in ("fixed", "float"):
        for status, words in (
            (P.UNSUPPORTED, "kernel"),
            (P.WORK_TOO_SMALL, "status -1"),
            (P.BAD_ARGUMENT, "status -2"),
            (P.UNALIGNED, "status -3"),
            (P.NON_FINITE, "scale=True"),
            (P.CONVERGED, "scale=True"),
        ):
            job = scripted((status,), state=state)
            assert words in raised(ValueError, ended, job._begin(0, 1)), status
            assert not job.open
        assert "fixed point" in raised(ValueError, scripted(state="fixed")._too_large)
        assert "float32" in raised(ValueError, scripted(state="float")._too_large)
        job = scripted((P.RUNNING,), state=state)
        assert ended(job._begin(0, 1))[1] > 0 and job.open and job.core.asked == [("start", 0)]


def test_former_coefficients_are_put_at_their_rows():
    job = scripted((P.RUNNING,), state="float")
    job.warm = {(0, 1): {0: 0.5, 2: 1.5, 5: -2.0}, (1, 2): {1: 9.0}}
    ended(job._begin(0, 1))
    assert job.core.asked == [("start", 1)]
    found = {r if r >= 0 else ~r: job.word(P.HEAD + k) for k, r in enumerate(job.rows)}
    assert found == {0: 0.5, 1: 0, 2: 1.5, 3: 0, 4: 0, 5: -2.0}
    job = scripted((P.RUNNING,), state="float")
    job.warm = {(1, 2): {1: 9.0}}  # of another pair
    ended(job._begin(0, 1))
    assert job.core.asked == [("start", 0)] and not any(job.words(P.HEAD, P.HEAD + 6))


def test_steps_are_taken_until_the_solver_says_so_with_a_pause_after_each():
    for last in (P.CONVERGED, P.NO_PROGRESS, P.NON_FINITE, P.CAPPED, P.BAD_ARGUMENT):
        job = begun(None, P.RUNNING, P.RUNNING, last, state="fixed")
        assert ended(job._train(7)) == (last, 3) and job.ticks == 21
        assert job.core.asked == [("start", 0)] + [("step", 7)] * 3


def test_native_steps_of_a_piece_stay_below_the_limit_of_instructions():
    for kernel, d, rows, steps in (
        ("rbf", 10, 100, 19),  # 900,000 / (100 x (2 x 200 + 60))
        ("linear", 10, 100, 30),  # a product instead of two: 2 x 120 + 60
        ("poly", 10, 100, 30),
        ("rbf", 1, 10, 523),
        ("rbf", 300, 90, 1),
        ("rbf", 3000, 90, 1),  # one at least
    ):
        job = scripted(kernel=kernel, gamma=1.0, state="float")
        job.shape = job.shape[:1] + (d,) + job.shape[2:]
        job.rows = bytes(rows)
        assert job._steps_at_once() == steps, (kernel, d, rows)
        job.core.step_pieces = None
        assert job._steps_at_once() == 8
    job = begun(None, P.CONVERGED, state="fixed", kernel="rbf", gamma=1.0)
    ended(job._train(None))
    assert job.core.asked[1] == ("step", job._steps_at_once())


def with_state(job, steps, largest=1 << 20, costs=(2.0, 2.0), tol=0.25):
    """A pair after so many steps; errors of 0.125 in each with the other numbers as given."""
    job._set_word(P.N_ITER, steps)
    job._set_word(7, largest)
    job.par[P.C_POS], job.par[P.C_NEG], job.par[P.EPS] = costs[0], costs[1], tol
    return job


def test_a_gradient_has_drifted_when_its_errors_add_up_to_the_tolerance():
    job = begun(None, state="float")
    # errors add up as a walk by chance: 4 steps lose twice what one loses
    for steps, drifted in ((0, False), (1, False), (4, False), (5, True), (100, True)):
        assert with_state(job, steps)._drifted(0) is drifted, steps
    for costs in ((2.0, 0.5), (0.5, 2.0)):  # the larger of the two counts
        assert with_state(job, 5, costs=costs)._drifted(0)
        assert not with_state(job, 4, costs=costs)._drifted(0)
    assert with_state(job, 5, costs=(1.0, 1.0), largest=1 << 21)._drifted(0)
    assert not with_state(job, 16, costs=(1.0, 1.0))._drifted(0)
    assert with_state(job, 17, costs=(1.0, 1.0))._drifted(0)
    assert with_state(job, 1, tol=0.01)._drifted(0) and not with_state(job, 0, tol=0.0)._drifted(0)
    # after a new start a single step says nothing, and there are three at most
    for again, steps, drifted in (
        (1, 1, False),
        (1, 2, True),
        (2, 2, True),
        (3, 2, False),
        (3, 999, False),
    ):
        assert with_state(job, steps, tol=0.01)._drifted(again) is drifted, (again, steps)
    fixed = begun(None, state="fixed")
    fixed._set_word(P.N_ITER, 1000)
    fixed._set_word(7, 1 << 30)
    assert fixed._drifted(0) is False  # whole numbers lose nothing


def test_a_drifted_gradient_is_computed_anew_and_training_goes_on():
    job = begun(P.RUNNING, P.RUNNING, P.CONVERGED, P.CONVERGED, state="float")
    with_state(job, 10)
    steps = job._train(5)
    next(steps)
    next(steps)
    next(steps)  # the new start is a piece of its own
    assert job.core.asked == [("start", 0)] + [("step", 5)] * 2 + [("start", P.GO_ON)]
    with_state(job, 1)
    assert ended(steps) == (P.CONVERGED, 1)
    assert job.n_iter == 10 and job.ticks == 15  # the last steps are counted at the end
    # what the new start says may be the end
    job = begun(P.NON_FINITE, P.CONVERGED, state="float")
    with_state(job, 10)
    assert ended(job._train(5)) == (P.NON_FINITE, 2)


def test_steps_of_a_piece_are_whole_numbers_above_0():
    for steps in (0, -1, 1.5, "1", 1 << 30):
        for begin in (t.check_steps, lambda s: ended(SVM().fit_steps(ROWS, Y, s))):
            assert "steps" in raised(ValueError, begin, steps)
    for steps in (None, 1, (1 << 30) - 1):
        t.check_steps(steps)
        ended(job_of().run(steps))


def test_rows_of_a_pair_are_signed_and_read_with_pauses():
    y = [2, 0, 1, 2, 1, 0]
    job = job_of(y=y)
    assert list(ended(job._rows_of(0, 2))[0]) == [~0, 1, ~3, 5]
    assert list(ended(job._rows_of(1, 2))[0]) == [~0, 2, ~3, 4]
    at_once = t.SAMPLES_AT_ONCE
    for n in (at_once - 1, at_once, 2 * at_once, 2 * at_once + 1):
        job = job_of([[i % 7] for i in range(n)], [i % 2 for i in range(n)])
        rows, pauses = ended(job._rows_of(0, 1))
        assert pauses == n // at_once and len(rows) == n


def test_a_pair_that_ended_badly_is_refused_one_without_support_is_told():
    options = {"kernel": "rbf", "gamma": 1.0}
    for state in ("float", "fixed"):
        for status in (P.NON_FINITE, P.WORK_TOO_SMALL):
            job = begun(state=state, **options)
            job._set_word(P.N_SUPPORT, 3)
            assert raised(ValueError, ended, job._end(status)) and job.open and not job.pairs
        for status, is_good in ((P.CONVERGED, True), (P.NO_PROGRESS, False), (P.CAPPED, False)):
            job = begun(state=state, **options)
            for word, value in ((P.N_SUPPORT, 3), (P.N_ITER, 40)):
                job._set_word(word, value)
            job._set_word(P.GAP, 1 << 15 if state == "fixed" else 0.5)
            ended(job._end(status))
            assert (job.good, job.n_iter, job.gap) == (is_good, 40, 0.5)
            assert not job.open and len(job.pairs) == 1
    # a tolerance of 1 or more leaves nothing to learn, and whole numbers say so otherwise
    for state, tol, is_lost in (
        ("float", 0.01, True),
        ("float", 0.99, True),
        ("float", 1.0, False),
        ("fixed", 0.01, False),
    ):
        job = begun(state=state, tol=tol, **options)
        job._set_word(P.N_SUPPORT, 0)
        ended(job._end(P.CONVERGED))
        assert ((4, len(job.rows), 1, 1) in job.found) is is_lost, (state, tol)


def test_the_largest_gap_of_all_pairs_is_told_also_of_an_open_one():
    for state in ("float", "fixed"):
        unit = 65536 if state == "fixed" else 1.0
        job = job_of(state=state, kernel="rbf", gamma=1.0)
        assert job.model().gap == 0 and job.model().n_iter == 0
        job = begun(state=state, kernel="rbf", gamma=1.0)
        for before, now, found in ((0.5, 0.25, 0.5), (0.25, 0.5, 0.5)):
            job.gap, job.n_iter = before, 7
            job._set_word(P.GAP, int(now * unit) if state == "fixed" else now)
            job._set_word(P.N_ITER, 5)
            model = job.model()
            assert (model.gap, model.n_iter, model.converged) == (found, 12, False)


def test_what_is_wrong_with_the_data_is_said_with_the_model():
    assert "spans" in job_of([[0, 5000], [1, 0], [0, 3000], [1, 9]], [0, 1, 0, 1]).notes[0]
    assert job_of().notes == []


def test_a_job_of_another_kind_gets_the_data_and_its_own_labels():
    made = []

    def make(m, data, y):
        made.append((m, data[3:6], y))
        return t.Job(m, data, bytearray(6))

    m, y = SVM(), [0.5, 1.5, -2.0, 300.0, 7.0, 8.0]
    for job in t.start_pieces(m, ROWS, y, make, b"\0\1"):  # noqa: B007
        pass
    assert made == [(m, (6, 2, b"\0\1"), y)] and job.m is m
    # the data are checked, stored, and then the job is made
    assert sum(1 for _ in t.start_pieces(m, ROWS, y, make, b"\0\1")) == 3


# ---- gamma -------------------------------------------------------------------------------------


def gamma_of(X, y, **options):
    job = job_of(X, y, kernel="rbf", gamma=None, **options)
    _, pauses = ended(job._choose_gamma())
    return job.gamma * 4.0 ** job.shape[4], pauses


def test_gamma_is_one_over_features_times_variance():
    X = [[0, 8], [2, 10], [30, 4], [6, 20]]
    values = [v for row in X for v in row]
    mean = sum(values) / 8
    expected = 1 / (2 * (sum(v * v for v in values) / 8 - mean * mean))
    for options in (
        {"state": "fixed"},
        {"state": "float"},
        {"state": "float", "storage": "int16"},
    ):
        found, _ = gamma_of(X, [0, 1, 0, 1], **options)
        assert abs(found / expected - 1) < 1e-4, options
    # rows that are moved to their middle: the rule counts how far features lie apart
    far = [[1000 + a, 3000 + b] for a, b in X]
    values = [v for row in far for v in row]
    mean = sum(values) / 8
    expected = 1 / (2 * (sum(v * v for v in values) / 8 - mean * mean))
    for state in ("fixed", "float"):
        assert abs(gamma_of(far, [0, 1, 0, 1], state=state)[0] / expected - 1) < 1e-2, state
    # nothing differs: no scale
    assert gamma_of([[3, 3], [3, 3]], [0, 1], state="fixed")[0] == 1


def test_a_gamma_that_is_given_is_in_units_of_the_data():
    job = job_of(
        [[0.5, 1], [0.25, 1], [0.75, 0]], [0, 1, 0], kernel="rbf", gamma=2.0, state="fixed"
    )
    assert job.shape[4] != 0 and job.gamma * 4.0 ** job.shape[4] == 2.0
    job = job_of(
        [[0.5, 1], [0.25, 1], [0.75, 0]], [0, 1, 0], C=3.0, state="fixed", kernel="linear"
    )
    assert [c * 4.0 ** job.shape[4] for c in job.costs] == [3.0, 3.0]


# ---- what the model is told --------------------------------------------------------------------


def three_classes():
    """Two classes that lie in each other, a third far away: of three pairs one is hard."""
    X, y = [], []
    for i in range(30):
        X.append([i * 7 % 10, i * 3 % 11])
        y.append(i % 2)
    for i in range(10):
        X.append([90 + i % 3, 90 + i % 2])
        y.append(2)
    return X, y


def test_one_pair_that_did_not_converge_is_not_forgotten_by_the_next():
    # 0 lies in 1, which has a few rows only; 2 is far from both
    X = [[i * 7 % 10, i * 3 % 11] for i in range(24)] + [[90, 90], [90, 91], [91, 90]]
    y = [0] * 20 + [1] * 4 + [2] * 3
    for state in ("float", "fixed"):
        options = {"kernel": "rbf", "gamma": 0.5, "C": 100.0, "max_iter": 25, "state": state}
        m = SVM(**options)
        m.fit(X, y)
        assert m.converged is False and "max_iter" in m.warning
        easy = SVM(**options)
        easy.fit(X[20:], y[20:])
        assert easy.converged, state  # the last pair alone would have said so


def test_steps_and_gaps_of_all_pairs_count():
    X, y = three_classes()
    whole = SVM(kernel="rbf", gamma=0.05, C=10.0, state="float")
    whole.fit(X, y)
    steps, gap = 0, 0
    for a, b in ((0, 1), (0, 2), (1, 2)):
        kept = [i for i in range(len(y)) if y[i] in (a, b)]
        one = SVM(kernel="rbf", gamma=0.05, C=10.0, state="float")
        one.fit([X[i] for i in kept], [y[i] for i in kept])
        steps += one.n_iter
        gap = max(gap, one._model.gap)
    assert whole.n_iter == steps and abs(whole._model.gap - gap) <= 1e-6


def test_a_note_is_said_once_for_however_many_pairs():
    X, y = three_classes()
    y = [i % 4 for i in range(len(y))]
    m = SVM(kernel="rbf", gamma=0.5, C=1000.0, max_iter=3, state="float")
    m.fit(X, y)
    assert m.warning.count("max_iter:") == 1, m.warning


def test_weights_of_classes_multiply_c():
    for weight, costs in (
        (None, [2.0, 2.0]),
        ({1: 3}, [2.0, 6.0]),
        ({0: 0.5, 1: 3}, [1.0, 6.0]),
        ("balanced", [2.0 * 6 / (2 * 4), 2.0 * 6 / (2 * 2)]),
    ):
        job = job_of(y=[0, 0, 0, 1, 0, 1], C=2.0, kernel="rbf", gamma=1.0, class_weight=weight)
        assert [round(c, 6) for c in job.costs] == [round(c, 6) for c in costs], weight
    for weight in ({1: 0}, {0: -1}, {1: float("inf")}, {1: float("nan")}, 3, "even"):
        assert "class_weight" in raised(ValueError, job_of, class_weight=weight)


def test_a_buffer_of_the_caller_is_used_in_place_and_stays_as_it_is():
    flat = bytearray([v for row in ROWS for v in row])
    job = job_of(flat, Y)
    assert job.in_place and job.x is flat
    assert not job_of(ROWS, Y).in_place
    before = bytes(flat)
    m = SVM(kernel="rbf", gamma=0.1, C=10.0, budget=10)
    m.fit(flat, Y)
    m.add([4, 4], 1)
    assert bytes(flat) == before


def test_a_training_that_is_open_gives_a_model_as_far_as_it_came():
    X, y = three_classes()
    m = SVM(kernel="rbf", gamma=0.05, C=10.0, state="float")
    job = job_of(X, y, kernel="rbf", gamma=0.05, C=10.0, state="float")
    steps = job.run(1)
    for _ in range(12):
        next(steps)
    model = job.model()
    assert len(model.pairs) == 3 and not model.converged and model.n_iter > 0
    for _ in steps:
        pass
    m.fit(X, y)
    done = job.model()
    assert done.converged and done.n_iter == m.n_iter and done.n_support == m.n_support


def test_a_model_keeps_the_rows_that_it_needs():
    X, y = three_classes()
    flat = bytearray([v for row in X for v in row])
    options = {"kernel": "rbf", "gamma": 0.05, "C": 10.0}
    m = SVM(**options).fit(X, y)
    assert len(m._model.x) == 2 * m.n_support < len(flat)  # those that support something
    held = SVM(**options).fit(flat, y)
    assert held._model.x is flat and held.n_support == m.n_support  # the caller's buffer
    # with a budget all are kept, in a store that rows can be added to
    held = SVM(budget=50, **options).fit(flat, y)
    assert held._model.x is not flat and bytes(held._model.x) == bytes(flat)
    kept = SVM(budget=50, **options).fit(X, y)
    assert bytes(kept._model.x) == bytes(flat)
    # weights alone are enough for a linear machine
    assert SVM().fit(X, y)._model.x is None
    assert len(SVM(budget=50).fit(X, y)._model.x) == len(flat)


def test_a_linear_training_that_is_open_gives_a_model_too():
    X, y = three_classes()
    for state in ("float", "fixed"):
        job = job_of(X, y, C=10.0, state=state)
        empty = job.model()
        assert len(empty.pairs) == 3 and empty.n_support == 0 and not empty.converged
        steps = job.run(1)
        while not job.pairs:
            next(steps)
        model = job.model()
        assert len(model.pairs) == 3 and not model.converged
        assert job.n_iter <= model.n_iter and model.gap >= job.gap
        for _ in steps:
            pass
        assert job.model().converged and job.n_iter >= model.n_iter


def test_labels_may_be_bytes_or_numbers_and_count_alike():
    for y in (Y, bytes(Y), bytearray(Y), tuple(Y), array("b", Y)):
        job = job_of(y=y)
        assert job.counts == [3, 3]
    job = job_of(y=b"\7\7\1\7\1\0")
    assert job.counts == [1, 2, 3] and job.shape[0] == b"\0\1\7"


def test_rows_are_at_most_32767():
    X = array("b", bytes(32768))
    y = bytearray(32768)
    y[0] = 1
    assert "32767 rows, got 32768" in raised(ValueError, job_of, X, y)
    job = job_of(X[:32767], y[:32767], gram=False)
    assert job.n == 32767


# ---- products of a fixed machine ---------------------------------------------------------------


def refused_products(**options):
    """Whether a fixed machine refuses what float32 does not hold of C, gamma and coef0."""
    try:
        SVM(state="fixed", max_iter=1, **options).fit(ROWS, Y)
    except ValueError as error:
        return "products in float32" in str(error)
    return False


def test_products_of_a_polynomial_machine_fit_float32_each_for_itself():
    poly = dict(kernel="poly", C=1.0, coef0=1.0, degree=2)
    assert not refused_products(gamma=0.1, **poly)
    for change in (
        dict(gamma=1e20),  # its square
        dict(gamma=1e37, degree=9),  # more than any float holds
        dict(gamma=1e-20, coef0=1e30),  # coef0 by gamma
        dict(gamma=1e10, C=1e20),  # C by its square
    ):
        assert refused_products(**dict(poly, **change)), change
    for change in (dict(gamma=1e20, degree=1), dict(gamma=1e-2, coef0=1e30), dict(gamma=1e8)):
        assert not refused_products(**dict(poly, **change)), change


def test_a_machine_whose_rows_are_whole_numbers_may_have_any_c_of_float32():
    assert not refused_products(kernel="rbf", gamma=0.1, C=1e38)
    assert refused_products(kernel="rbf", gamma=1e-38, C=1.0)
