# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "the loop and this test fill 32 KB"}
"""The closed loop refuses sizes and rows that it cannot hold before anything changes."""

from array import array

from loop_models import make, refused

from acclimate.loop import IO, Feedback, Loop, Stitcher


class Nothing:
    """Features of no number."""

    width = 0


def test_sizes_that_no_buffer_has_are_refused_by_name():
    nan = float("nan")
    for name, wrong in (
        ("classes", lambda: Stitcher(3, classes=-1, per_class=3)),
        ("classes", lambda: Stitcher(3, classes=256, per_class=3)),  # a board kept 300 as 44
        ("classes", lambda: Stitcher(3, classes=2.5, per_class=3)),
        ("per_class", lambda: Stitcher(3, classes=2, per_class=0)),
        ("per_class", lambda: Stitcher(3, classes=2, per_class=70000)),
        ("held", lambda: Stitcher(3, classes=2, per_class=3, held=-1)),
        ("hold_every", lambda: Stitcher(3, 2, 3, hold_every=2.5)),
        ("seed", lambda: Stitcher(3, 2, 3, seed=nan)),
        ("typecode", lambda: Stitcher(3, 2, 3, typecode="d")),
        ("width", lambda: Stitcher(0, 2, 3)),
        ("width", lambda: Stitcher(2.0, 2, 3)),
        ("width", lambda: Feedback(-1)),
        ("width", lambda: Feedback(1.5)),
        ("sizes", lambda: IO(None, Nothing)),
        ("pending", lambda: Feedback(3, pending=0)),
        ("pending", lambda: Feedback(3, pending=256)),
        ("memory", lambda: Feedback(3, memory=0)),
        ("memory", lambda: Feedback(3, memory=-1)),
        ("typecode", lambda: Feedback(3, typecode="q")),
        ("enough", lambda: make(enough=0)),
        ("enough", lambda: make(enough=nan)),
        ("least_held", lambda: make(enough=1, least_held=0)),
        ("margin", lambda: make(enough=1, margin=-2)),
    ):
        refused((name + ": expected ",), wrong)


def test_feedback_and_store_of_a_loop_hold_the_same_rows():
    loop = make(enough=8)
    for wrong in (Feedback(2), Feedback(1, typecode="h")):
        refused(("feedback",), Loop, loop.io, wrong, loop.stitcher, loop.trainer)
    refused(("rounds",), lambda: Loop(loop.io, Feedback(1), loop.stitcher, loop.trainer, rounds=0))


def test_what_is_refused_changes_nothing():
    store, feedback = Stitcher(2, 2, 3), Feedback(2)
    before = bytes(store._seen), bytes(store.X)
    for row, label in (([1.0, 2.0], 1), (array("f", (1, 2)), 1), ([1, 2], 1.0)):
        refused((), store.add, row, 0, label)
        refused((), store.fill, row, label)
        refused((), feedback.expect, row, label)
        assert store.new == 0 and feedback.waiting == 0
        assert before == (bytes(store._seen), bytes(store.X))
    store.add([1, 2], 0, 1)
    for keep in (-1, 0.5, float("nan")):  # -1 became a count of 65535 on a board
        refused(("keep", "0.."), store.forget, keep)
        assert store.new == 1 and list(store._count) == [0, 1]
    for i in (-1, 0, 99):
        refused(("i: expected",), store.held, i, array("b", (0, 0)))
