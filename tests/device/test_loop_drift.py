# SPDX-License-Identifier: MIT
"""The closed loop with a detector of drift."""

from array import array

from drift_models import drifting
from loop_models import DRIFTED, feed, rows

from acclimate.loop import Stitcher


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
