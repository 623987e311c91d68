# SPDX-License-Identifier: MIT
"""The closed loop, with a model that is small enough to see through."""

from loop_models import DRIFTED, Nearest, Useless, feed, make, rows


def test_a_better_model_is_kept_and_used():
    loop = make()
    feed(loop, DRIFTED)
    assert loop.feedback.recent() == 500
    assert loop.run_idle() == "kept"
    assert loop.io.model is loop.trainer.live
    assert loop.trainer.new_right > loop.trainer.old_right
    assert loop.sense(rows(41)) == 0


def test_a_model_that_is_not_better_is_discarded_and_the_old_one_is_intact():
    loop = make(spare=Useless(), margin=0)
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


class Interrupted(Nearest):
    """Ctrl-C comes while it trains."""

    def fit_steps(self, X, y):
        yield 0
        raise KeyboardInterrupt


def test_a_training_that_was_interrupted_is_not_taken_for_one_that_ended():
    loop = make(spare=Interrupted())
    feed(loop, DRIFTED)
    try:
        loop.run_idle()
        raise AssertionError("no Ctrl-C")
    except KeyboardInterrupt:
        pass
    assert not loop.trainer.busy() and loop.run_idle() is None
    assert loop.trainer.kept == loop.trainer.discarded == 0


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
