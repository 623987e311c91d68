# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "the loop and these tests fill 32 KB"}
"""Other inputs of the kinds that once went wrong in silence in the closed loop."""

from array import array

from loop_models import Nearest, feed, refused, rows

from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand

NAN = float("nan")


def loop_of(typecode="b", width=1, pending=4, hold_every=4, seed=1):
    live, spare = Nearest(), Nearest()
    live.means[0], live.means[1] = -8, 8
    store = Stitcher(width, 2, 4, 4, hold_every, typecode, seed)
    trainer = TrainOnDemand(live, spare, store, enough=4)
    return Loop(IO(live), Feedback(width, pending, typecode=typecode), store, trainer)


def test_numbers_that_a_store_would_cut_are_refused_in_every_type():
    for typecode, values in (
        ("b", (128, -129, 600, 0.5)),
        ("B", (-1, 256, 255.5)),
        ("h", (32768, -40000, 1e9)),
        ("H", (-1, 65536, 70000)),
        ("i", (1 << 31, -(1 << 31) - 1, 0.25)),
        ("f", (1e39, -1e39, NAN, float("inf"))),
    ):
        loop = loop_of(typecode)
        for value in values:
            refused(("row",), loop.sense, [value])
            refused(("row",), loop.stitcher.add, [value], 0, 1)
            refused(("row",), loop.stitcher.fill, [value], 1)
        assert loop.feedback.waiting == 0 and loop.stitcher.new == 0
        loop.sense([1])
        assert loop.observe(1) is True and loop.stitcher.new == 1


def test_truths_that_come_late_belong_to_their_own_prediction():
    for pending, late in ((1, 2), (2, 3), (3, 3), (4, 9), (5, 1)):
        loop = loop_of(pending=pending)
        tickets, right, known = [], 0, 0
        for k in range(30):
            value = 9 if k % 3 else -9
            loop.sense(rows(value))
            tickets.append((loop.ticket, int(value > 0)))
            if len(tickets) > late:
                ticket, truth = tickets.pop(0)
                answer = loop.observe(truth, ticket)
                known += answer is not None
                right += answer is True
        assert right == known, (pending, late)
        assert (known > 0) == (late < pending), (pending, late, known)
        assert loop.feedback.recent() == 1000


def test_without_tickets_a_forgotten_prediction_takes_its_truth_with_it():
    for pending, late in ((2, 3), (3, 4), (4, 7)):
        loop = loop_of(pending=pending)
        truths, answers = [], []
        for k in range(24):
            value = 9 if k % 5 else -9
            loop.sense(rows(value))
            truths.append(int(value > 0))
            if k >= late:
                answers.append(loop.observe(truths[k - late]))
        assert False not in answers and loop.feedback.recent() == 1000, (pending, answers)


def test_no_rhythm_of_the_data_is_what_is_held_back():
    for hold_every, cycle in ((2, 2), (3, 12), (4, 8), (5, 10), (2, 6)):
        store = Stitcher(1, 1, 50, 100, hold_every)
        for k in range(300):
            store.add(rows(k % cycle), 0, 0)
        held = set(store.held_X[i] for i in range(store.held_count))
        assert len(held) > cycle // 2, (hold_every, cycle, held)


def test_no_number_that_is_none_gets_among_the_rows_that_are_held_back():
    loop = loop_of("f", width=2, hold_every=2)
    for k in range(20):
        refused(("row", "finite"), loop.stitcher.add, [1.0, NAN], 0, k % 2)
        refused(("row", "finite"), loop.sense, array("f", (NAN, 1.0)))
        loop.sense(array("f", (9.0 if k % 2 else -9.0, 0.5)))
        loop.observe(k % 2)
    held = loop.stitcher.held_X
    assert loop.stitcher.held_count and not any(v != v for v in held)
    feed_back = loop_of()
    feed(feed_back, (40, 50) * 8)
    assert feed_back.stitcher.held_count and feed_back.run_idle() in ("kept", "discarded")
