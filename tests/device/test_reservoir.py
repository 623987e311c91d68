# SPDX-License-Identifier: MIT
"""The reservoir: uniform, recency-biased, fixed memory, the same draws on every runtime."""

from array import array

from acclimate.reservoir import Draws, Reservoir


def fill(sample, n):
    row = bytearray(2)
    for i in range(n):
        row[0], row[1] = i & 255, i >> 8
        sample.offer(row, i % 7, i % 256)
    return sample


def held(sample):
    return sorted(sample.rows[2 * i] | sample.rows[2 * i + 1] << 8 for i in range(sample.count))


def test_draws_are_the_same_everywhere_and_bounded():
    draws = Draws(12345)
    assert [draws.word() for _ in range(4)] == [12794, 10503, 13033, 9030]
    assert draws.below(1000) == 213 and draws.below(1 << 29) == 72759881
    draws = Draws(7)
    counts = [0] * 5
    for _ in range(2000):
        counts[draws.below(5)] += 1
    assert min(counts) > 330 and max(counts) < 470


def test_first_rows_are_all_kept_and_answers_belong_to_them():
    sample = fill(Reservoir(10, 2), 10)
    assert held(sample) == list(range(10))
    assert list(sample.predictions) == [i % 7 for i in range(10)]


def test_every_input_is_kept_equally_often():
    early = 0
    for seed in range(1, 61):
        sample = fill(Reservoir(10, 2, seed=seed * 7919), 100)
        assert len(held(sample)) == 10 == len(set(held(sample)))
        early += sum(i < 50 for i in held(sample))
    assert 230 < early < 370, early


def test_recent_inputs_are_favoured():
    late = 0
    for seed in range(1, 31):
        late += sum(i >= 200 for i in held(fill(Reservoir(10, 2, 2, seed * 104729), 300)))
    assert late > 280, late


def test_refresh_answers_every_row_anew_and_drop_forgets():
    sample = fill(Reservoir(4, 2), 4)
    sample.refresh(lambda row: (row[0] + 1) << 8 | 200, array("b", (0, 0)))
    assert list(sample.predictions) == [1, 2, 3, 4] and sample.confidences[3] == 200
    sample.drop()
    assert sample.count == 0 and sample.seen == 0


def test_signed_rows_come_back_signed():
    sample = Reservoir(1, 2)
    sample.offer(array("b", (-128, -1)), 0, 0)
    out = array("b", (0, 0))
    sample.row(0, out)
    assert list(out) == [-128, -1]


def test_a_view_of_a_larger_buffer_takes_a_row_too():
    sample = Reservoir(1, 3)
    sample.offer((1, -2, 250), 0, 0)
    for large, wanted in ((bytearray(5), (1, 254, 250)), (array("b", bytes(5)), (1, -2, -6))):
        sample.row(0, memoryview(large)[1:4])
        assert tuple(large) == (0,) + wanted + (0,)


def test_a_draw_among_none_or_too_many_is_refused():
    draws = Draws(7)
    for count in (0, -5, 1 << 30, 1 << 80):  # the draws of the first had no end
        _is_refused(lambda count=count: draws.below(count), "count")
    assert draws.below(1) == 0 and 0 <= draws.below((1 << 30) - 1) < 1 << 30


def test_wrong_sizes_are_refused():
    for call, name in (
        (lambda: Reservoir(0, 2), "capacity"),
        (lambda: Reservoir(129, 2), "capacity"),
        (lambda: Reservoir(1.5, 2), "capacity"),
        (lambda: Reservoir(2.0, 2), "capacity"),
        (lambda: Reservoir(2, 3.0), "width"),
        (lambda: Reservoir("2", 3), "capacity"),
        (lambda: Reservoir(True, 3), "capacity"),
        (lambda: Reservoir(2, None), "width"),
        (lambda: Reservoir(1, -1), "width"),
        (lambda: Reservoir(1, 0), "width"),
        (lambda: Reservoir(1, 2, -1), "recent"),  # its draw had no end
        (lambda: Reservoir(1, 2, float("nan")), "recent"),
        (lambda: Reservoir(1, 2, 1 << 30), "recent"),
    ):
        _is_refused(call, name)


def _is_refused(call, name):
    try:
        call()
    except ValueError as error:
        assert str(error).startswith(name + ": expected "), error
    else:
        raise AssertionError("no error: " + name)


def test_what_no_byte_holds_is_refused_and_changes_nothing():
    sample = fill(Reservoir(2, 2), 1)
    before = bytes(sample.rows), bytes(sample.predictions), bytes(sample.confidences)
    for args, name in (
        ((b"1", 0, 0), "row"),
        ((b"123", 0, 0), "row"),
        (((1, 256), 0, 0), "row"),
        (((1, -129), 0, 0), "row"),
        (((1, 1.5), 0, 0), "row"),
        (((1, None), 0, 0), "row"),
        (("12", 0, 0), "row"),
        (((1, 1 << 80), 0, 0), "row"),
        ((b"12", "1", 0), "prediction"),
        ((b"12", 0, None), "confidence"),
        ((array("f", (1, float("nan"))), 0, 0), "row"),
        ((b"12", 256, 0), "prediction"),
        ((b"12", -1, 0), "prediction"),
        ((b"12", 0.5, 0), "prediction"),
        ((b"12", 0, 256), "confidence"),
        ((b"12", 0, float("nan")), "confidence"),
    ):
        _is_refused(lambda args=args: sample.offer(*args), name)
        assert (sample.count, sample.seen) == (1, 1)
        assert before == (
            bytes(sample.rows),
            bytes(sample.predictions),
            bytes(sample.confidences),
        )


def test_only_rows_that_are_held_come_out_and_only_answers_of_two_bytes_go_in():
    sample, out = fill(Reservoir(2, 2), 1), bytearray(2)
    for i in (1, 2, -1, 0.5, 0.0, None):
        _is_refused(lambda i=i: sample.row(i, out), "row")
    for wrong in (bytearray(1), bytearray(3)):
        _is_refused(lambda wrong=wrong: sample.row(0, wrong), "row")
        _is_refused(lambda wrong=wrong: sample.draw(wrong), "row")
    for answer in (-1, 65536, 0.5, 5.0, None):
        _is_refused(lambda answer=answer: sample.refresh(lambda row: answer, out), "predict")


def test_offering_allocates_nothing():
    try:
        from micropython import heap_lock, heap_unlock
    except ImportError:
        return "this runtime cannot lock its heap"
    sample, row = Reservoir(5, 2), bytearray(2)
    heap_lock()
    try:
        for i in range(40):
            sample.offer(row, 1, i)
    finally:
        heap_unlock()
    assert sample.seen == 40
