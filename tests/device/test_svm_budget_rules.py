# SPDX-License-Identifier: MIT
"""Which sample gives way, and what a first sample decides: by hand, on models made by hand."""

# RUNTIMES = ("cpython", "desktop")

from array import array

from refusal import raised

from acclimate.svm import SVM
from acclimate.svm import incremental as inc
from acclimate.svm.parameters import run


class Pair:
    def __init__(self, rows, beta, w=None):
        self.rows = array("h", rows)
        self.beta = array("f", beta)
        self.w = w


class Model:
    """Decisions of a row are the row itself: one value for each pair of classes."""

    def __init__(self, classes, pairs):
        self.classes = bytes(classes)
        self.pairs = pairs

    def values_into(self, values, row):
        for p in range(len(self.pairs)):
            values[p] = row[p]


def samples(rows, labels, wrong=None):
    d = len(rows[0])
    flat = array("f", [v for row in rows for v in row])
    wrong = bytearray(len(labels)) if wrong is None else wrong
    return inc.Samples(flat, bytearray(labels), d, "f", 0, False, wrong)


def least_useful(model, kept):
    return run(inc._least_useful(model, kept, run(inc._coefficients(model))))


# ---- coefficients ------------------------------------------------------------------------------


def test_coefficients_are_known_by_pair_and_row():
    model = Model(
        (1, 4, 9),
        [Pair((0, ~2), (0.5, -0.5)), Pair((~3, 1), (-2, 2)), Pair((), ())],
    )
    assert run(inc._coefficients(model)) == {
        (1, 4): {0: 0.5, 2: -0.5},
        (1, 9): {3: -2.0, 1: 2.0},
        (4, 9): {},
    }


def test_one_pair_is_read_in_a_step():
    model = Model((1, 4, 9), [Pair((), ()) for _ in range(3)])
    assert len(list(inc._coefficients(model))) == 3


# ---- who gives way -----------------------------------------------------------------------------


def test_of_rows_that_support_nothing_the_one_farthest_from_its_margin_gives_way():
    model = Model((0, 1), [Pair((1, ~4), (1, -1))])
    rows = [[-3], [-9], [-5], [2], [8], [4]]
    assert least_useful(model, samples(rows, (0, 0, 0, 1, 1, 1))) == 2
    rows[5] = [6]
    assert least_useful(model, samples(rows, (0, 0, 0, 1, 1, 1))) == 5
    rows[3] = [-7]  # on the wrong side, and as far
    assert least_useful(model, samples(rows, (0, 0, 0, 1, 1, 1))) == 3
    rows[0] = [-8]
    assert least_useful(model, samples(rows, (0, 0, 0, 1, 1, 1))) == 0


def test_only_pairs_of_its_own_label_count_and_the_nearest_of_them():
    pairs = [Pair((), ()), Pair((), ()), Pair((), ())]  # 0 with 1, 0 with 2, 1 with 2
    model = Model((0, 1, 2), pairs)
    kept = samples([[9, 1, 0], [2, 3, 0], [0, 50, 4], [1, 50, 3]], (0, 0, 1, 1))
    values = array("f", bytes(12))
    found = [inc._distance(model, kept, at, kept.labels[at], values) for at in range(4)]
    assert found == [1, 2, 0, 1]
    assert least_useful(model, kept) == 1
    kept = samples([[50, 4, 7], [50, 9, 5]], (2, 2))
    assert [inc._distance(model, kept, at, 2, values) for at in (0, 1)] == [4, 5]


def test_a_label_that_is_rare_gives_nothing_away():
    model = Model((0, 1), [Pair((), ())])
    # of 12 rows and two labels a quarter is a fair share: 3
    rows = [[i] for i in range(9)] + [[90], [91], [92]]
    assert least_useful(model, samples(rows, [0] * 9 + [1] * 3)) == 8
    rows = [[i] for i in range(8)] + [[90], [91], [92], [93]]
    assert least_useful(model, samples(rows, [0] * 8 + [1] * 4)) == 11


def test_rows_that_are_answered_wrong_go_first_where_they_are_more_than_1_in_64():
    support = Pair((2, ~3), (1, -1))
    model = Model((0, 1), [support])
    rows = [[i] for i in range(65)]
    labels = [0, 1] * 32 + [0]
    for many, found in ((0, 64), (1, 64), (2, 3)):  # 1 of 65 is less, 2 are more
        wrong = bytearray(65)
        for at in (2, 3)[:many]:
            wrong[at] = 1
        assert least_useful(model, samples(rows, labels, wrong)) == found, many
    few = bytearray(63)
    few[2] = 1  # 1 of 63 is more as well
    assert least_useful(model, samples(rows[:63], labels[:63], few)) == 2
    # exactly 1 in 64 is not more
    wrong = bytearray(64)
    wrong[2] = 1
    assert least_useful(model, samples(rows[:64], labels[:64], wrong)) == 63
    # of those the model contradicts most: also where they support it
    wrong[0] = 1
    assert least_useful(model, samples(rows[:64], labels[:64], wrong)) == 2


def test_after_a_file_what_is_answered_wrong_is_found_among_the_rows_that_support():
    # 0 with 1 is supported by rows 0, 1 and 4, 0 with 2 by rows 0 and 5, 1 with 2 by none
    pairs = [Pair((0, ~1, 4), (1, -1, 1)), Pair((0, ~5), (1, -1)), Pair((), ())]
    model = Model((0, 1, 2), pairs)
    rows = [[9, -1, 0], [9, 0, 0], [-9, 0, 0], [0, 0, 9], [9, 9, 9], [0, -9, 0]]
    kept = samples(rows, (0, 1, 0, 2, 1, 2))
    kept.wrong = None
    known = run(inc._coefficients(model))
    values = array("f", bytes(12))
    # rows 0 (by its second pair), 1 and 4 are on the wrong side; row 2 is, but supports nothing
    assert list(run(inc._answered_wrong(model, kept, known, values))) == [1, 1, 0, 0, 1, 0]
    least_useful(model, kept)
    while kept.wrong is None:  # until a turn that chance does not take
        least_useful(model, kept)
    assert list(kept.wrong) == [1, 1, 0, 0, 1, 0]


def test_one_time_in_four_chance_draws_whatever_matters():
    model = Model((0, 1), [Pair((), ())])
    kept = samples([[i] for i in range(12)], (0, 1) * 6)  # the last one matters least
    seed, drawn, turns = kept.seed, [], 400
    for _ in range(turns):
        found = least_useful(model, kept)
        seed = (seed * 16333 + 12345) & 0xFFFF
        if seed >= 1 << 14:
            assert found == 11 and kept.seed == seed
            continue
        seed = (seed * 16333 + 12345) & 0xFFFF
        assert found == seed * 12 >> 16 and kept.seed == seed
        drawn.append(found)
    assert turns // 5 < len(drawn) < turns // 3 and sorted(set(drawn)) == list(range(12))
    # a label that is rare gives nothing away to chance either
    kept = samples([[i] for i in range(12)], [0] * 9 + [1] * 3)
    assert all(kept.labels[least_useful(model, kept)] == 0 for _ in range(100))


def test_where_all_support_the_model_chance_draws_and_all_are_drawn():
    n = 8
    model = Model((0, 1), [Pair(range(n), [1] * n)])
    kept = samples([[0]] * n, (0, 1) * 4)
    seed, drawn = kept.seed, []
    for _ in range(200):
        drawn.append(least_useful(model, kept))
        for _ in range(2):  # whether, and which
            seed = (seed * 16333 + 12345) & 0xFFFF
        assert drawn[-1] == seed * n >> 16 and kept.seed == seed
    assert sorted(set(drawn)) == list(range(n))
    assert all(10 <= drawn.count(at) <= 45 for at in range(n))


def test_chance_spares_a_rare_label_and_never_takes_the_last_of_one():
    n = 8
    model = Model((0, 1), [Pair(range(n), [1] * n)])
    kept = samples([[0]] * n, [0, 0] + [1] * 6)
    assert all(least_useful(model, kept) >= 2 for _ in range(100))
    model = Model((0, 1, 2), [Pair(range(4), [1] * 4) for _ in range(3)])
    kept = samples([[0, 0, 0]] * 4, [0, 1, 2, 1])
    assert all(least_useful(model, kept) in (1, 3) for _ in range(20))
    kept = samples([[0, 0, 0]] * 3, [0, 1, 2])
    assert least_useful(model, kept) == -1


def test_a_row_that_gives_way_is_silent_in_all_pairs_but_linear_ones():
    first = Pair((0, ~2, 5), (1, -2, 3))
    second = Pair((~2, 4), (7, 8))
    linear = Pair((2, 1), (5, 6), w=array("f", (1.0,)))
    undo = inc._silence(Model((0, 1, 2), [first, second, linear]), 2)
    assert list(first.beta) == [1, 0, 3] and list(second.beta) == [0, 8]
    assert list(linear.beta) == [5, 6] and len(undo) == 2
    for beta, place, value in undo:
        beta[place] = value
    assert list(first.beta) == [1, -2, 3] and list(second.beta) == [7, 8]


# ---- one more sample ---------------------------------------------------------------------------


def full(**options):
    """A model with all the rows that it may keep."""
    m = SVM(kernel="rbf", gamma=0.05, C=10.0, budget=6, state="float", **options)
    for row, label in (
        ([0, 1], 0),
        ([3, 9], 0),
        ([8, 2], 1),
        ([9, 9], 1),
        ([1, 0], 0),
        ([7, 8], 1),
    ):
        m.add(row, label)
    return m


def with_functions(call, **functions):
    before = {name: getattr(inc, name) for name in functions}
    for name, function in functions.items():
        setattr(inc, name, function)
    try:
        return call()
    finally:
        for name, function in before.items():
            setattr(inc, name, function)


def gives_way(at):
    def chosen(model, samples, known):
        yield
        return at

    return chosen


def test_the_row_that_gives_way_is_replaced_and_its_coefficients_are_forgotten():
    real = inc._train
    for at in range(6):
        m = full()
        before, labels = bytes(m.samples.x), list(m.samples.labels)
        seen = []

        def train(m, samples, known, steps, seen=seen):
            seen.append({row for pair in known.values() for row in pair})
            yield from real(m, samples, known, steps)

        held = {r if r >= 0 else ~r for pair in m._model.pairs for r in pair.rows}
        with_functions(lambda m=m: m.add([5, 5], 1), _least_useful=gives_way(at), _train=train)
        assert seen == [held - {at}]
        for i in range(6):
            if i == at:
                assert list(m.samples.row(i)) == [5, 5] and m.samples.labels[i] == 1
            else:
                assert bytes(m.samples.row(i)) == before[4 * i : 4 * i + 4]
                assert m.samples.labels[i] == labels[i]


def test_an_addition_that_fails_or_is_given_up_leaves_all_as_it_was():
    def failing(m, samples, known, steps):
        yield
        raise MemoryError

    def state(m):
        pairs = [(list(pair.rows), list(pair.beta)) for pair in m._model.pairs]
        return bytes(m.samples.x), bytes(m.samples.labels), pairs, m.decision([4, 4])

    for at in range(6):
        m = full()
        before = state(m)
        try:
            with_functions(
                lambda m=m: m.add([5, 5], 1), _least_useful=gives_way(at), _train=failing
            )
        except MemoryError:
            assert state(m) == before, at
        else:
            raise AssertionError("expected MemoryError")
        steps = with_functions(lambda m=m: m.add_steps([5, 5], 1))
        next(steps)
        steps.close()
        assert state(m) == before, at


def test_rows_of_one_label_are_kept_without_training_and_the_first_gives_way():
    m = SVM(budget=2)
    for row in ([1, 2], [3, 4], [5, 6]):
        m.add(row, 1)
    assert list(m.samples.x) == [5, 6, 3, 4] and m._model is None
    m.add([7, 8], 0)
    assert list(m.samples.labels) == [0, 1] and m._model is not None


def test_rows_that_the_latest_training_answers_wrong_are_known_to_the_next():
    m = SVM(kernel="linear", C=0.01, budget=8, state="float")
    rows = [[0, 0], [0, 1], [1, 0], [50, 50], [9, 9], [9, 8], [8, 9], [-50, -50]]
    for i in range(8):
        m.add(rows[i], i // 4)
    assert m.samples.wrong is not None and len(m.samples.wrong) == 8
    wrong = [i for i in range(8) if m.predict(rows[i]) != i // 4]
    assert [i for i in range(8) if m.samples.wrong[i]] == wrong and wrong


# ---- the first sample --------------------------------------------------------------------------


def first(row, **options):
    m = SVM(budget=4, **options)
    found = inc.first_sample(m, row)
    return found.code, found.scaled, m.scaler


def test_the_first_sample_chooses_the_store():
    for row in ([0, 0], [-32768, 5], [32767, 5], [60, -60]):
        assert first(row)[0] == "h", row
    for row in ([-32769, 5], [32768, 5], [0.5, 1], [1e6, 0]):
        assert first(row, state="float")[0] == "f", row
    for storage, code in (("int8", "b"), ("uint8", "B"), ("int16", "h"), ("float32", "f")):
        assert first([3, 4], storage=storage)[0] == code


def test_a_fixed_state_takes_no_fractions_as_the_first_sample():
    message = raised(ValueError, lambda: first([0.5, 1], state="fixed"))
    assert "storage" in message and "fractions" in message
    assert first([1, 2], state="fixed")[0] == "h"


def test_a_first_sample_far_from_zero_is_the_centre():
    for row, far in (([64, 0], False), ([65, 0], True), ([0, -64], False), ([0, -65], True)):
        code, scaled, scaler = first(row)
        assert (scaled, scaler is not None) == (far, far), row
        if far:
            assert list(scaler.row(row)) == [0, 0] and list(scaler.row([70, -70])) == [
                70 - row[0],
                -70 - row[1],
            ]
    for options in ({"kernel": "poly"}, {"storage": "uint8"}, {"storage": "int8"}):
        assert first([100, 100], **options)[1:] == (False, None), options
    code, scaled, scaler = first([100.25, 0], state="float")
    assert (code, scaled) == ("f", True) and list(scaler.row([101.25, 1])) == [1, 1]


def test_a_first_sample_near_zero_has_no_centre_of_a_model_before():
    m = SVM(budget=3)
    inc.first_sample(m, [100, 0])
    assert m.scaler is not None
    inc.first_sample(m, [1, 0])
    assert m.scaler is None


def test_rows_that_were_not_moved_are_multiplied_as_the_store_is():
    for scaled, wanted in ((False, [8, -4]), (True, [2, -1])):
        kept = inc.Samples(array("h"), bytearray(), 2, "h", 2, scaled)
        kept.put(0, kept.item([2, -1]), 0)
        assert list(kept.x) == wanted, scaled


def test_samples_of_another_shape_or_label_are_refused_and_nothing_is_kept():
    m = SVM(budget=1)
    assert "budget" in raised(ValueError, m.add, [1, 2], 0)
    m = SVM(budget=3)
    m.add([1, 2], 0)
    for row, label, word in (
        ([1], 0, "row"),
        ([1, 2, 3], 0, "row"),
        ([1, 2], 255, "label"),
        ([1, 2], 1.5, "label"),
    ):
        assert word in raised(ValueError, m.add, row, label)
        assert len(m.samples.labels) == 1
    m.add([1, 3], 1)
    m.add([2, 3], 2)  # one of each label: none may go
    assert "budget" in raised(ValueError, m.add, [1, 4], 0)
    assert list(m.samples.labels) == [0, 1, 2]


def test_a_put_is_undone_at_the_end_and_within():
    kept = samples([[1, 2], [3, 4]], (0, 1))
    kept.put(2, kept.item([5, 6]), 7)
    assert list(kept.labels) == [0, 1, 7] and list(kept.row(2)) == [5, 6]
    kept.undo(2, None, None)
    assert list(kept.x) == [1, 2, 3, 4] and list(kept.labels) == [0, 1]
    old = kept.row(0)
    kept.put(0, kept.item([9, 9]), 5)
    assert list(kept.x) == [9, 9, 3, 4] and list(kept.labels) == [5, 1]
    kept.undo(0, old, 0)
    assert list(kept.x) == [1, 2, 3, 4] and list(kept.labels) == [0, 1]
