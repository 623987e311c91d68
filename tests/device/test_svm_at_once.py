# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Trainings of one machine that are open at once: the latest goes on, the others leave nothing."""

from refusal import raised

from acclimate.svm import SVM
from acclimate.svm import labels as _labels  # noqa: F401  the extra of this file

X = [[i % 7, (i * 5) % 11, i // 7] for i in range(21)]
Y = [i // 7 for i in range(21)]


def machine(**options):
    return SVM("rbf", gamma=0.1, **options).fit(X, Y)


def state(m):
    kept = m.samples
    if kept is None:
        return [m.predict(row) for row in X]
    return [bytes(kept.x), bytes(kept.labels), kept.seed] + [m.predict(row) for row in X]


def begun(steps, pieces=9):
    """A training that is open: its first pieces are done."""
    for _ in range(pieces):
        next(steps)
    return steps


def ends(steps):
    for _ in steps:
        pass


def test_of_two_open_additions_the_latest_is_learned():
    for budget in (21, 30):  # a sample gives way, or is appended
        m, other = machine(budget=budget), machine(budget=budget)
        first = begun(m.add_steps([1, 2, 3], 2, 1))
        second = m.add_steps([6, 5, 0], 0, 1)
        begun(second)
        assert "one training at a time" in raised(ValueError, ends, first)
        ends(second)
        assert state(m) == state(other.add([6, 5, 0], 0))
        first.close()
        assert state(m) == state(other)
        assert state(m.add([1, 2, 3], 2)) == state(other.add([1, 2, 3], 2))


def test_a_fit_closes_an_open_addition_and_an_addition_an_open_fit():
    m, other = machine(budget=30), machine(budget=30)
    first = begun(m.add_steps([1, 2, 3], 2, 1))
    m.fit(X[:14], Y[:14])
    assert "one training" in raised(ValueError, ends, first)
    other.fit(X[:14], Y[:14])
    assert state(m) == state(other)
    first = begun(m.fit_steps(X, Y, 4))
    m.add([1, 2, 3], 1)
    assert "one training" in raised(ValueError, ends, first)
    assert state(m) == state(other.add([1, 2, 3], 1))


def test_of_two_open_fits_in_one_arena_the_latest_goes_on():
    arena = bytearray(SVM.bytes_needed(21, 3, 3))
    m = SVM("rbf", gamma=0.1, arena=arena)
    first = begun(m.fit_steps(X, [2 - v for v in Y], 4))
    second = begun(m.fit_steps(X, Y, 4))
    assert "one training" in raised(ValueError, ends, first)
    ends(second)
    assert state(m) == state(machine())


def test_a_first_addition_that_is_not_ended_is_closed_too():
    m = SVM(budget=4)
    m.add([0, 0], 0)
    first = begun(m.add_steps([9, 9], 1, 1), 4)
    m.add([8, 8], 1)
    assert bytes(m.samples.labels) == b"\0\1"
    assert "one training" in raised(ValueError, ends, first)
    assert m.predict([0, 1]) == 0 and m.predict([8, 7]) == 1


def test_after_an_end_or_an_error_nothing_is_held():
    m = machine(budget=30)
    assert m._open is None
    begun(m.add_steps([1, 2, 3], 2, 1)).close()
    assert m._open is None
    raised(ValueError, m.add, [1, 2], 2)
    assert m._open is None


def test_a_refused_addition_leaves_no_label_and_draws_nothing():
    words = ("low", "mid", "high")
    m = SVM("rbf", gamma=0.1, budget=21).fit(X, [words[v] for v in Y])
    before = state(m)
    raised(ValueError, m.add, [1, 2, 1e9], "new")
    assert m.samples.answer.values == sorted(words) and state(m) == before
    begun(m.add_steps([1, 2, 3], "new", 1)).close()
    assert m.samples.answer.values == sorted(words) and state(m) == before
    m.add([1, 2, 3], "new")
    assert m.samples.answer.values == sorted(words) + ["new"]


def test_a_closed_addition_draws_the_same_sample_again():
    m, other = machine(budget=21), machine(budget=21)
    for pieces in (5, 9, 14):
        begun(m.add_steps([pieces, 2, 3], 2, 1), pieces).close()
    for k in range(8):
        m.add([k, 9 - k, k % 3], k % 3)
        other.add([k, 9 - k, k % 3], k % 3)
        assert state(m) == state(other), k


def test_what_is_refused_leaves_an_open_training_as_it_is():
    words = ("low", "mid", "high")
    named = [words[v] for v in Y]
    m, other = (SVM("rbf", gamma=0.1, budget=30).fit(X, named) for _ in range(2))
    other.add([1, 2, 3], "new")
    first = begun(m.add_steps([1, 2, 3], "new", 1))
    for call, arguments in (
        (m.add, ([1, 2], "low")),
        (m.add, (None, "low")),
        (m.add, ([1, 2, 1e39], "low")),
        (m.add, ([1, 2, 40000], "low")),
        (m.add, ([1, 2, 3], 5)),
        (m.add, ([1, 2, 3], None)),
        (ends, (m.add_steps([1, 2, 3], "low", 0),)),
        (m.fit, (X, named[1:])),
        (m.fit, (X[:2], "aa")),
        (m.fit, ([[float("nan")] * 3] * 21, named)),
        (m.fit, (X + X, named + named)),
        (ends, (m.fit_steps(X, named, -1),)),
    ):
        raised(ValueError, call, *arguments)
    ends(first)
    assert state(m) == state(other) and m.predict([1, 2, 3]) == other.predict([1, 2, 3])


def test_settings_that_are_refused_at_a_fit_leave_an_open_one():
    m, other = machine(), machine()
    other.fit(X[7:], Y[7:])
    first = begun(m.fit_steps(X[7:], Y[7:], 1))
    m.class_weight = {1: -1}
    raised(ValueError, m.fit, X, Y)
    m.class_weight, m.arena = None, bytearray(8)
    raised(MemoryError, m.fit, X, Y)
    m.arena = None
    ends(first)
    assert state(m) == state(other)
    first = begun(m.fit_steps(X, Y, 1))
    m.fit(X[7:], Y[7:])
    assert "one training" in raised(ValueError, ends, first)


def test_a_row_that_is_learned_may_change_meanwhile():
    for options in ({"scale": True}, {"storage": "float32"}, {"scale": True, "state": "fixed"}):
        m, other = machine(budget=30, **options), machine(budget=30, **options)
        row = [1, 2, 3]
        steps = begun(m.add_steps(row, 2, 1), 3)
        row[0] = 6
        m.predict([6, 10, 0])
        ends(steps)
        assert state(m) == state(other.add([1, 2, 3], 2)), options
