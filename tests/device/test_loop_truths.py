# SPDX-License-Identifier: MIT
"""The closed loop: which prediction a truth belongs to, and what it counts for."""

from array import array

from loop_models import make, rows

from acclimate.loop import Feedback, Stitcher


def test_truth_goes_to_the_prediction_it_belongs_to():
    feedback = Feedback(1, pending=2)
    feedback.expect(rows(1), 0)
    feedback.expect(rows(2), 1)
    assert feedback.truth(0) and list(feedback.row) == [1]
    feedback.expect(rows(3), 1)
    assert not feedback.truth(0) and list(feedback.row) == [2] and feedback.output == 1
    assert feedback.truth(1) and list(feedback.row) == [3]
    assert feedback.recent() == 666


def test_a_truth_without_prediction_is_refused():
    try:
        Feedback(1).truth(0)
        raise AssertionError("no exception")
    except ValueError as error:
        assert "expect" in str(error)


def test_the_truth_of_a_forgotten_prediction_is_dropped_not_given_to_another():
    feedback = Feedback(1, pending=2)
    for value in (1, 2, 3):
        feedback.expect(rows(value), 0)
    assert feedback.truth(0) is None and feedback.dropped == 1  # that of 1
    assert feedback.truth(0) and list(feedback.row) == [2]
    feedback.skip()
    assert feedback.waiting == 0


def test_truths_that_come_later_than_predictions_are_kept_teach_nothing_wrong():
    loop = make(margin=-1)
    late = []
    for k in range(60):
        late.append(k & 1)
        assert loop.sense(rows((-8, 8)[k & 1])) == k & 1
        if len(late) > 2:  # as many as are kept
            assert loop.observe(late.pop(0)) is None
            assert loop.run_idle() is None
    assert loop.feedback.dropped == 58 and loop.trainer.kept == 0


def test_a_ticket_names_its_prediction_in_any_order():
    loop = make()
    loop.sense(rows(-8))
    first = loop.ticket
    loop.sense(rows(8))
    assert loop.observe(1, loop.ticket) and list(loop.feedback.row) == [8]
    assert loop.observe(1, first) is False and list(loop.feedback.row) == [-8]
    assert loop.observe(1, first) is None  # answered before
    assert loop.observe(1, 99) is None and loop.observe(1, -1) is None
    for _ in range(3):
        loop.sense(rows(8))
    assert loop.observe(1, loop.ticket)


def test_an_open_ticket_survives_many_answered_ones():
    feedback = Feedback(1, pending=3)
    old = feedback.expect(rows(5), 1)
    for value in range(20):
        assert feedback.truth(0, feedback.expect(rows(value), 0))
    assert feedback.truth(1, old) and list(feedback.row) == [5]


def test_answers_of_a_replaced_model_do_not_count_against_the_new_one():
    feedback = Feedback(1, pending=4)
    feedback.expect(rows(1), 0)
    feedback.truth(1)
    feedback.expect(rows(1), 0)
    feedback.new_model()
    assert feedback.recent() == 1000
    assert feedback.truth(1) is False  # a sample all the same
    feedback.expect(rows(1), 0)
    assert feedback.truth(0) and feedback.answered == 1 and feedback.recent() == 1000


class Told:
    """Tells a change at each answer."""

    def add(self, wrong):
        return True


def test_what_on_drift_raises_takes_no_sample_away():
    def no_network(loop):
        raise OSError("no network")

    loop = make()
    loop._drift, loop._on_drift = Told(), no_network
    loop.sense(rows(9))
    try:
        loop.observe(1)
    except OSError:
        assert loop.stitcher.new == 1 and loop.feedback.waiting == 0 and loop.drifts == 1
    else:
        raise AssertionError("the fault was hidden")


def test_recent_forgets_old_answers():
    feedback = Feedback(1, memory=2)
    for truth in (1, 0, 0):
        feedback.expect(rows(0), 0)
        feedback.truth(truth)
    assert feedback.recent() == 1000 and feedback.answered == 3


def test_a_truth_out_of_range_is_refused_and_nothing_changes():
    store = Stitcher(width=1, classes=2, per_class=2)
    for truth in (2, -1):
        try:
            store.add(rows(1), 0, truth)
            raise AssertionError("no exception")
        except ValueError as error:
            assert "0..1" in str(error)
    assert store.new == 0 and store.copy_into(array("b", bytes(4)), bytearray(4)) == 0
