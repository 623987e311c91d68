# SPDX-License-Identifier: MIT
"""What a training asks of memory and gives to the model, each rule with an input of its own."""

# RUNTIMES = ("cpython", "desktop")

from acclimate.svm import SVM
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


def raised(kind, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except kind as error:
        return str(error)
    raise AssertionError("expected " + kind.__name__)


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
        job_of(X, y, arena=bytearray(need), **options)
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


# ---- steps -------------------------------------------------------------------------------------


def test_steps_of_a_piece_are_whole_numbers_above_0():
    for steps in (0, -1, 1.5, "1", 1 << 30):
        assert "steps" in raised(ValueError, lambda s=steps: next(job_of().run(s)))
    ended(job_of().run(1))
    ended(job_of().run((1 << 30) - 1))


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
