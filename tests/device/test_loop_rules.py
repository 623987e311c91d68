# SPDX-License-Identifier: MIT
"""The loop's store of samples against a plain list, and what `IO` answers."""

# RUNTIMES = ("cpython", "desktop")

from acclimate.loop import IO, Stitcher


def sample(i):
    return [i & 127, i >> 7]


def trained_on(store):
    """{truth: [(row, output), ...]}, each class sorted."""
    X, y = bytearray(2 * store.capacity()), bytearray(store.capacity())
    count = store.copy_into(X, y)
    found = {}
    for k in range(count):
        found.setdefault(y[k], []).append((X[2 * k], X[2 * k + 1]))
    return {truth: sorted(rows) for truth, rows in found.items()}


def newest(known, most):
    """The last so many of each class of a list of (number, truth)."""
    found = {}
    for truth in sorted({truth for _, truth in known}):
        rows = [tuple(sample(i)) for i, t in known if t == truth]
        if most and rows:
            found[truth] = sorted(rows[-most:])
    return found


def test_each_class_has_its_newest_samples_also_after_some_were_forgotten():
    for per_class in (1, 3, 4):
        for first in (0, 1, 2, 5, 9):
            for keep in (0, 2, 4, 6, 8, 100):
                store = Stitcher(2, classes=2, per_class=per_class, typecode="B")
                known = [(i, i & 1) for i in range(first)]
                for i, truth in known:
                    store.fill(sample(i), truth)
                assert trained_on(store) == newest(known, per_class)
                store.forget(keep)
                each = min(keep // 2, per_class)
                left = []
                for truth in (0, 1):
                    mine = [one for one in known if one[1] == truth]
                    left += mine[-each:] if each else []
                assert trained_on(store) == newest(left, per_class), (per_class, first, keep)
                assert store.new == len(left) and store.held_count == 0
                kept = len([one for one in left if one[1]])
                for i in range(20, 27):  # and the ring goes on behind them
                    store.fill(sample(i), 1)
                    found = trained_on(store)[1]
                    assert len(found) == min(per_class, kept + i - 19)
                    for new in range(max(20, i + 1 - per_class), i + 1):
                        assert tuple(sample(new)) in found, (first, keep, i)


def test_after_a_forgetting_the_oldest_kept_samples_still_give_way_first():
    for per_class in (1, 2, 3, 5, 6):
        for first in range(2 * per_class + 1):
            for keep in range(per_class + 2):
                store = Stitcher(2, classes=1, per_class=per_class, typecode="B")
                known = [(i, 0) for i in range(first)]
                for i, _ in known:
                    store.fill(sample(i), 0)
                for again in (20, 30):  # the second time the ring stands elsewhere
                    store.forget(keep)
                    known = known[-min(keep, per_class) :] if keep else []
                    for i in range(again, again + per_class):
                        store.fill(sample(i), 0)
                        known.append((i, 0))
                        found = trained_on(store)
                        assert found == newest(known, per_class), (per_class, first, keep, i)
                    store.fill(sample(again + 9), 0)
                    known = known[-per_class:] + [(again + 9, 0)]
                    known = known[-per_class:]


def test_held_samples_come_back_in_a_ring_and_are_forgotten_with_the_rest():
    store = Stitcher(2, classes=1, per_class=2, held=3, hold_every=2, typecode="B", seed=5)
    held, row = [], bytearray(2)
    for i in range(40):
        if store.add(sample(i), 7, 0):
            held.append(tuple(sample(i)))
        found = []
        for k in range(store.held_count):
            assert store.held(k, row) == 0
            found.append(tuple(row))
        assert sorted(found) == sorted(held[-3:])
    assert len(held) == 20  # one of two
    store.forget()
    assert store.held_count == 0 and store._held_next == 0
    while not store.add(sample(99), 7, 0):
        pass
    assert store.held(0, row) == 0 and tuple(row) == tuple(sample(99)) and store.held_count == 1


def test_which_sample_is_held_back_is_drawn_by_two_generators():
    for seed in (1, 77, 30000):
        store = Stitcher(1, classes=1, per_class=2, hold_every=5, typecode="B", seed=seed)
        one, two = seed, 30001 - seed
        for _ in range(300):
            one, two = one * 171 % 30269, two * 172 % 30307
            drawn = [store.add([1], 0, 0) for _ in range(5)]
            assert drawn.index(True) == (one + two) % 5 and drawn.count(True) == 1


def test_the_widest_row_is_taken():
    assert Stitcher(65535, classes=1, per_class=1, held=1).width == 65535


def test_a_step_answers_with_the_label_and_acts():
    class Model:
        def predict(self, row):
            return row[0] + 1

    acted = []
    io = IO(Model(), action=acted.append)
    assert io.step([4]) == 5 and io.step([6]) == 7 and acted == [5, 7]
    assert list(io.row) == [6]
