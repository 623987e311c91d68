# SPDX-License-Identifier: MIT
"""Draws of the reservoir against another generator, places, and the ends of bytes."""

from array import array

from acclimate.reservoir import Draws, Reservoir


def test_a_seed_has_32_bits_and_none_is_all_zeros():
    for seed, x, y in (
        (0, 0, 1),
        (1, 1, 0),
        (0x10000, 0, 1),
        (0xFFFF0001, 1, 0xFFFF),
        (0x80000000, 0, 0x8000),
    ):
        draws = Draws(seed)
        assert (draws._x, draws._y) == (x, y), seed
    assert Draws()._x == 1


def test_draws_are_by_xorshift_and_what_is_above_is_drawn_again():
    """The words of another generator of the same rule, and a mask of all bits below."""

    def words(x, y):
        while True:
            t = x ^ (x << 5 & 0xFFFF)
            x, y = y, y ^ y >> 1 ^ t ^ t >> 3
            yield y

    for count in (1, 2, 3, 17, 256, 257, 65535, 65536, 65537, 0x3FFFFFFF):
        mask = 1
        while mask < count - 1:
            mask = mask << 1 | 1
        draws, other = Draws(99), words(99, 0)
        for _ in range(20):
            while True:
                value = next(other)
                if mask > 0xFFFF:
                    value |= (next(other) & 0x3FFF) << 16
                if value & mask < count:
                    break
            assert draws.below(count) == value & mask, count


def test_bytes_needed_are_those_of_the_buffers():
    sample = Reservoir(5, 7)
    made = len(sample.rows) + len(sample.predictions) + len(sample.confidences)
    assert Reservoir.bytes_needed(5, 7) == made == 45


def test_a_place_is_told_and_the_ends_of_a_byte_are_taken():
    sample = Reservoir(2, 2, recent=1)  # each new input displaces one
    assert sample.offer([-128, 255], 255, 255) == 0
    assert list(sample.rows[:2]) == [128, 255]
    assert (sample.predictions[0], sample.confidences[0]) == (255, 255)
    assert sample.offer([127, 128], 0, 7) == 1 and sample.confidences[1] == 7
    assert sample.offer([5, 6], 3, 9) in (0, 1) and sample.seen == 3
    assert 9 in list(sample.confidences) and 3 in list(sample.predictions)
    out = array("b", (0, 0))
    place = sample.draw(out)
    assert list(out) == [v - 256 if v > 127 else v for v in sample.rows[2 * place : 2 * place + 2]]
    plain = bytearray(2)
    sample.row(place, plain)
    assert list(plain) == list(sample.rows[2 * place : 2 * place + 2])
    sample.refresh(lambda row: 0, out)  # the least that an answer is
    assert list(sample.predictions) == list(sample.confidences) == [0, 0]


def test_an_input_that_is_not_taken_has_no_place():
    for recent in (0, 1000):
        sample = Reservoir(1, 1, recent, seed=3)
        places = [sample.offer([i], 0, 0) for i in range(50)]
        assert places[0] == 0 and set(places) <= {-1, 0} and places.count(-1) > 30


def test_answers_that_do_not_come_change_nothing():
    sample = Reservoir(3, 1)
    for k in range(3):
        sample.offer([k], k + 10, k + 20)
    answers = [0x0102, 0x0304, 65536]
    try:
        sample.refresh(lambda row: answers[row[0]], array("b", (0,)))
    except ValueError as error:
        assert "predict" in str(error)
    else:
        raise AssertionError("no error")
    assert list(sample.predictions) == [10, 11, 12] and list(sample.confidences) == [20, 21, 22]
    answers[2] = 0x0506
    sample.refresh(lambda row: answers[row[0]], array("b", (0,)))
    assert list(sample.predictions) == [1, 3, 5] and list(sample.confidences) == [2, 4, 6]
    assert (len(sample.predictions), len(sample.confidences)) == (3, 3)
