# SPDX-License-Identifier: MIT
"""The closed loop, with a model that is small enough to see through."""

from array import array

from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand

try:
    from micropython import heap_lock, heap_unlock
except ImportError:

    def heap_lock():
        pass

    heap_unlock = heap_lock


class Nearest:
    """Predicts the class with the nearest mean; stands for any model with the two methods."""

    def __init__(self, fail=False):
        self.means = array("h", [0, 0])
        self.fail = fail

    def predict(self, row):
        first, second = row[0] - self.means[0], row[0] - self.means[1]
        return 0 if first * first <= second * second else 1

    def fit_steps(self, X, y):
        for truth in (0, 1):
            total = count = i = 0
            while i < len(y):
                if y[i] == truth:
                    total += X[i]
                    count += 1
                i += 1
            if self.fail:
                raise ValueError("y: expected luck")
            self.means[truth] = total // count
            yield truth


class Useless(Nearest):
    """Trains, and says 0 to everything."""

    def fit_steps(self, X, y):
        yield 0


def rows(*values):
    return array("b", values)


def make(enough=4, spare=None, **options):
    live, spare = Nearest(), spare or Nearest()
    live.means[0], live.means[1] = -8, 8
    store = Stitcher(width=1, classes=2, per_class=4, held=4, hold_every=2)
    trainer = TrainOnDemand(live, spare, store, enough=enough, **options)
    return Loop(IO(live), Feedback(1, pending=2), store, trainer)


def feed(loop, values):
    """Drifted sensor: values below 45 are class 0."""
    row = rows(0)
    for value in values:
        row[0] = value
        loop.sense(row)
        loop.observe(0 if value < 45 else 1)


DRIFTED = (40, 50, 41, 51, 42, 52, 43, 53)


def test_a_better_model_is_kept_and_used():
    loop = make()
    feed(loop, DRIFTED)
    assert loop.feedback.recent() == 500
    assert loop.run_idle() == "kept"
    assert loop.io.model is loop.trainer.live
    assert loop.trainer.new_right > loop.trainer.old_right
    assert loop.sense(rows(41)) == 0


def test_a_model_that_is_not_better_is_discarded_and_the_old_one_is_intact():
    loop = make(spare=Useless())
    old = loop.io.model
    feed(loop, DRIFTED)
    assert loop.run_idle() == "discarded"
    assert loop.trainer.tested == loop.trainer._store.held_count == 4
    assert loop.trainer.new_right <= loop.trainer.old_right
    assert loop.io.model is old and list(old.means) == [-8, 8]


def test_a_training_that_raises_is_discarded_with_its_reason():
    loop = make(spare=Nearest(fail=True))
    old = loop.io.model
    feed(loop, DRIFTED)
    assert loop.run_idle() == "discarded"
    assert "luck" in str(loop.trainer.reason)
    assert loop.io.model is old and list(old.means) == [-8, 8] and not loop.trainer.busy()


def test_training_works_on_a_copy_so_samples_may_arrive_meanwhile():
    loop = make()
    feed(loop, DRIFTED)
    assert loop.idle() is None and loop.trainer.busy()
    X, y = loop.trainer._X[1], loop.trainer._y[1]
    before = list(X), list(y)
    feed(loop, (10, 90, 11, 91))
    assert (list(X), list(y)) == before
    assert loop.run_idle() in ("kept", "discarded")


def test_nothing_is_trained_before_enough_samples_came():
    loop = make(enough=100)
    feed(loop, DRIFTED)
    assert loop.run_idle() is None and not loop.trainer.busy()


def test_nothing_is_trained_while_answers_are_right():
    loop = make()
    loop.target = 400
    feed(loop, DRIFTED)
    assert loop.run_idle() is None


def test_cancel_leaves_the_model_in_use():
    loop = make()
    feed(loop, DRIFTED)
    loop.idle()
    loop.trainer.cancel()
    assert not loop.trainer.busy() and list(loop.io.model.means) == [-8, 8]


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


def refused(words, call, *arguments):
    try:
        call(*arguments)
    except ValueError as error:
        for word in words:
            assert word in str(error), error
    else:
        raise AssertionError("no error")


def test_numbers_that_the_store_would_cut_are_refused_with_its_limits():
    nan, infinity = float("nan"), float("inf")
    for typecode, low, high in (("b", -128, 127), ("B", 0, 255), ("h", -32768, 32767)):
        feedback = Feedback(2, typecode=typecode)
        store = Stitcher(2, classes=2, per_class=4, typecode=typecode)
        for bad in (low - 1, high + 1, 600000, 0.5, nan, infinity):
            limits = str(low), str(high)
            refused(limits, feedback.expect, [1, bad], 0)
            refused(limits, store.add, [1, bad], 0, 1)
            refused(limits, store.fill, [1, bad], 1)
        assert feedback.waiting == 0 and store.new == 0 and store.held_count == 0
        feedback.expect([low, high], 0)
        assert feedback.truth(0) and list(feedback.row) == [low, high]
    feedback = Feedback(1, typecode="f")
    for bad in (nan, infinity, -infinity):
        refused(("finite",), feedback.expect, [bad], 0)
    refused(("1 numbers",), feedback.expect, [1.0, 2.0], 0)


def test_a_loop_refuses_a_window_before_it_predicts_and_acts():
    acted = []
    loop = make()
    loop.io._action = acted.append
    refused(("127", "600"), loop.sense, array("h", [600]))
    assert not acted and loop.feedback.waiting == 0
    loop.sense(array("h", [60]))
    assert acted == [1]
    for bad in (2, -1, 0.5, float("nan")):
        refused(("truth", "0..1"), loop.observe, bad)
    assert loop.feedback.waiting == 1 and loop.observe(1)


def test_labels_that_a_byte_would_cut_are_refused():
    refused(("label", "255"), Feedback(1).expect, rows(1), 256)
    store = Stitcher(1, classes=2, per_class=2)
    refused(("output", "255"), store.add, rows(1), 300, 1)
    refused(("output",), store.add, rows(1), 0.5, 1)


def test_held_back_samples_are_drawn_by_chance_so_that_no_rhythm_of_the_data_meets_them():
    for hold_every in (2, 3, 4, 6):
        store = Stitcher(1, classes=1, per_class=4, held=8, hold_every=hold_every)
        held = [store.add(rows(0), 0, 0) for _ in range(720)]
        assert held.count(True) == 720 // hold_every
        for phase in range(12):
            assert True in held[phase::12] and False in held[phase::12], (hold_every, phase)


def test_the_seed_decides_which_samples_are_held_back():
    def held(seed):
        store = Stitcher(1, classes=2, per_class=4, hold_every=4, seed=seed)
        return [store.add(rows(0), 0, k & 1) for k in range(80)]

    assert held(1) == held(1) and held(1) != held(2)
    for hold_every, seed in ((4, 0), (4, 30001), (1, 1), (1001, 1)):
        refused(("hold_every, seed",), Stitcher, 1, 2, 4, 16, hold_every, "b", seed)


def test_recent_forgets_old_answers():
    feedback = Feedback(1, memory=2)
    for truth in (1, 0, 0):
        feedback.expect(rows(0), 0)
        feedback.truth(truth)
    assert feedback.recent() == 1000 and feedback.answered == 3


def test_each_class_keeps_its_places():
    store = Stitcher(width=1, classes=2, per_class=2, held=2, hold_every=3)
    store.fill(rows(7), 1)
    for value in range(30):
        store.add(rows(value), 0, 0)
    X, y = array("b", bytes(4)), bytearray(4)
    assert store.copy_into(X, y) == 3
    assert list(y[:3]) == [0, 0, 1] and X[2] == 7
    assert sorted(X[:2]) == [27, 28]  # 29 was held back


def test_held_back_samples_are_never_trained_on():
    store = Stitcher(width=1, classes=2, per_class=8, held=4, hold_every=2)
    held = [value for value in range(12) if store.add(rows(value), 0, value % 2)]
    X, y = array("b", bytes(16)), bytearray(16)
    n = store.copy_into(X, y)
    assert held and not set(X[:n]) & set(held)
    row = rows(0)
    assert store.held(0, row) == store.held_y[0] and row[0] in held


def test_a_truth_out_of_range_is_refused_and_nothing_changes():
    store = Stitcher(width=1, classes=2, per_class=2)
    for truth in (2, -1):
        try:
            store.add(rows(1), 0, truth)
            raise AssertionError("no exception")
        except ValueError as error:
            assert "0..1" in str(error)
    assert store.new == 0 and store.copy_into(array("b", bytes(4)), bytearray(4)) == 0


def test_bytes_needed_counts_every_buffer():
    store = Stitcher(width=3, classes=2, per_class=5, held=4)
    sizes = len(store.X) + len(store.outputs) + len(store.held_X) + len(store.held_y)
    assert Stitcher.bytes_needed(3, 2, 5, 4) == sizes + 16


def test_a_sample_allocates_nothing():
    loop = make(enough=100)
    row = rows(3)
    loop.sense(row)
    loop.observe(0)
    heap_lock()
    try:
        for _ in range(5):
            loop.sense(row)
            loop.observe(0)
            loop.feedback.recent()
            loop.idle()
    finally:
        heap_unlock()


def test_sizes_that_hold_nothing_are_refused():
    for make in (
        lambda: Stitcher(3, classes=-1, per_class=3),
        lambda: Stitcher(3, classes=2, per_class=0),
        lambda: Stitcher(3, classes=2, per_class=3, held=-1),
        lambda: Stitcher(0, 2, 3),
        lambda: Feedback(3, pending=0),
        lambda: Feedback(-1),
    ):
        try:
            make()
        except ValueError as error:
            assert "1 or more" in str(error), error
        else:
            raise AssertionError("no error")


class Told:
    """A detector that tells when it is asked for the n-th time."""

    def __init__(self, at):
        self.at = at
        self.resets = 0

    def add(self, wrong):
        self.at -= 1
        return self.at == 0

    def reset(self):
        self.resets += 1

    def recent(self):
        return 0


def drifting(at, on_drift=None, rounds=2):
    live, spare = Nearest(), Nearest()
    live.means[0], live.means[1] = -8, 8
    store = Stitcher(width=1, classes=2, per_class=8, held=8, hold_every=2)
    trainer = TrainOnDemand(live, spare, store, enough=8, margin=-1)
    return Loop(
        IO(live), Feedback(1), store, trainer, drift=Told(at), on_drift=on_drift, rounds=rounds
    )


def test_with_a_detector_nothing_is_trained_before_it_tells_a_change():
    loop = drifting(at=99)
    feed(loop, DRIFTED * 3)
    assert loop.run_idle() is None and loop.drifts == 0


def test_after_a_change_old_samples_are_forgotten_and_the_new_ones_are_trained_on():
    loop = drifting(at=9)
    feed(loop, (-9, 9) * 4)
    feed(loop, DRIFTED)
    assert loop.drifts == 1 and loop.stitcher.new == 8
    assert loop.run_idle() == "kept" and loop.trainer.rows == 4
    assert loop._drift.resets == 1 and loop.sense(rows(41)) == 0
    loop.observe(0)
    feed(loop, (60, 44) * 7)  # 60 is 1, 44 is 0
    loop.sense(rows(41))
    loop.observe(1)  # something is wrong again, and twice as many samples are there
    assert loop.run_idle() in ("kept", "discarded")
    feed(loop, DRIFTED * 9)
    assert loop.run_idle() is None  # as many trainings as `rounds`


def test_the_newest_samples_of_each_class_survive_a_change():
    for total in (2, 3, 5, 6, 7, 9):  # the ring of four places is full, or has come around
        for keep in (0, 2, 4, 6, 8):
            store = Stitcher(1, classes=2, per_class=4, hold_every=1000)
            for value in range(total):
                store.fill(rows(value), 0)
                store.fill(rows(-value), 1)
            store.forget(keep)
            X, y = array("b", bytes(8)), bytearray(8)
            n = store.copy_into(X, y)
            newest = set(range(max(total - keep // 2, total - 4, 0), total))
            assert n == store.new == 2 * len(newest)
            assert set(X[: n // 2]) == newest and list(y[:n]) == [0] * (n // 2) + [1] * (n // 2)
            store.fill(rows(99), 0)
            assert 99 in list(X[: store.copy_into(X, y)])


def test_a_change_may_be_answered_by_the_program_instead():
    asked = []
    loop = drifting(at=1, on_drift=lambda loop: asked.append(loop) or True)
    feed(loop, DRIFTED * 2)
    assert asked == [loop] and loop.run_idle() is None and loop.stitcher.new == 16


def test_a_program_may_tell_a_change_itself():
    loop = drifting(at=99)
    feed(loop, (-9, 9) * 2)
    loop.changed()
    assert loop.stitcher.new == 0
    feed(loop, DRIFTED)
    assert loop.run_idle() == "kept"
