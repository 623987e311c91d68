# SPDX-License-Identifier: MIT
"""The closed loop with a detector of drift: what is asked of one, and how much is trained."""

from drift_models import drifting
from loop_models import DRIFTED, feed, make, refused


class Least:
    """A detector with ``add`` alone."""

    def __init__(self, at):
        self.at = at

    def add(self, wrong):
        self.at -= 1
        return self.at == 0


def test_a_detector_needs_no_more_than_add():
    loop = drifting(at=1)
    loop._drift = Least(9)
    feed(loop, (-9, 9) * 4)
    feed(loop, DRIFTED)
    assert loop.drifts == 1 and loop.stitcher.new == 8 and loop.run_idle() == "kept"


def test_a_change_may_be_told_where_there_is_no_detector():
    loop = make()
    feed(loop, DRIFTED)
    loop.changed()
    assert loop.drifts == 1 and loop.stitcher.new == 0
    feed(loop, DRIFTED)
    assert loop.run_idle() == "kept"


def test_a_number_of_samples_that_is_none_changes_nothing():
    loop = drifting(at=99)
    feed(loop, (-9, 9) * 4)
    for keep in (2.5, -1):
        refused(("keep", str(keep)), loop.changed, keep)
    assert loop.drifts == 0 and loop.stitcher.new == 8


def test_no_more_is_trained_after_a_change_than_its_rounds():
    for rounds in (1, 3):
        loop = drifting(at=1, rounds=rounds)
        loop.target = 1001  # however right the answers are
        trained = 0
        for _ in range(40):
            feed(loop, DRIFTED)
            trained += loop.run_idle() is not None
        assert loop.drifts == 1 and trained == rounds
