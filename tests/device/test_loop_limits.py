# SPDX-License-Identifier: MIT
"""The closed loop: what it refuses, holds back and allocates."""

from array import array

from loop_models import make, refused, rows

from acclimate.loop import Feedback, Stitcher

try:
    from micropython import heap_lock, heap_unlock
except ImportError:

    def heap_lock():
        pass

    heap_unlock = heap_lock


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
        row, times = rows(0), bytearray(12)  # of each phase of a rhythm of 12
        for k in range(720):
            times[k % 12] += store.add(row, 0, 0)
        assert sum(times) == 720 // hold_every
        for phase in range(12):
            assert 0 < times[phase] < 60, (hold_every, phase)


def test_the_seed_decides_which_samples_are_held_back():
    def held(seed):
        store = Stitcher(1, classes=2, per_class=4, hold_every=4, seed=seed)
        row, found = rows(0), bytearray(80)
        for k in range(80):
            found[k] = store.add(row, 0, k & 1)
        return found

    assert held(1) == held(1) and held(1) != held(2)
    for hold_every, seed in ((4, 0), (4, 30001), (1, 1), (1001, 1)):
        name = "seed" if hold_every == 4 else "hold_every"
        refused((name + ": expected",), Stitcher, 1, 2, 4, 16, hold_every, "b", seed)


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
