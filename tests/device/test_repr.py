# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "32 KB have no room for what only prints"}
"""What a prompt shows of an object says what it is and how far it came."""

from array import array

from loop_models import DRIFTED, feed, make, rows

from acclimate.drift import Adwin, PageHinkley
from acclimate.energy import EnergyBudget
from acclimate.features import WindowFeatures
from acclimate.reservoir import Draws, Reservoir


def test_detectors_and_budget():
    detector, window = PageHinkley(), Adwin(4, 3, 4.5, 2)
    for _ in range(7):
        detector.add(0)
        window.add(0)
    assert repr(detector) == "PageHinkley(10, 0.05, 30): 7 values"
    assert repr(window) == "Adwin(4, 3, 4.5, 2): 7 values"
    budget = EnergyBudget(20, 0.5, day=lambda: 1)
    budget.spend(3000000)
    assert repr(budget) == "EnergyBudget(20, 0.5): 1.5 J used"


def test_features_and_reservoir():
    assert repr(WindowFeatures(2, 8, kinds=("mean", "dev"))) == "WindowFeatures(2, 8): 4 features"
    sample = Reservoir(2, 3)
    for _ in range(5):
        sample.offer(array("b", (1, 2, 3)), 0, 9)
    assert repr(sample) == "Reservoir(2, 3): holds 2 rows of 5"
    draws = Draws(7 << 16 | 9)
    assert repr(draws) == "Draws(458761)"
    draws.word()
    words, again = [draws.word() for _ in range(3)], Draws(7 << 16 | 9)
    again.word()
    again = Draws(int(repr(again)[6:-1]))
    assert [again.word() for _ in range(3)] == words


def test_the_roles_of_a_loop():
    loop = make()
    feed(loop, DRIFTED)
    loop.sense(rows(9))
    assert repr(loop.feedback).startswith("Feedback(1, 2): 1 wait, %d answered" % len(DRIFTED))
    assert repr(loop.stitcher).startswith("Stitcher(1, 2): ")
    assert repr(loop.trainer) == "TrainOnDemand: idle, 0 kept, 0 discarded"
    loop.idle()
    assert repr(loop.trainer) == "TrainOnDemand: training, 0 kept, 0 discarded"
    text = repr(loop)
    for part in (loop.io, loop.feedback, loop.stitcher, loop.trainer):
        assert repr(part) in text
    assert text.startswith("Loop(IO(") and text.endswith("): 0 drifts")
