# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Other inputs of the kinds that once were answered wrong in silence: right, or a warning."""

from array import array

from acclimate.svm import SVM
from acclimate.svm import kinds as _kinds  # noqa: F401  the extra of this file

GRID = [(i % 4, i // 4) for i in range(16)]
RING = [int(x in (0, 3) or y in (0, 3)) for x, y in GRID]  # a square within another
HALF = [int(x > 1) for x, y in GRID]


def placed(scales, offsets):
    """The grid in other units, elsewhere; numbers that float32 holds."""
    return [[x * scales[0] + offsets[0], y * scales[1] + offsets[1]] for x, y in GRID]


def right(m, X, y):
    return [m.predict(row) for row in X] == y


def test_wherever_rows_lie_their_own_labels_are_right():
    for scales, offsets in (
        ((1, 1), (-3000, -3000)),
        ((1, 1), (70000, 70000)),
        ((1, 1), (100000, 0)),
        ((8, 0.25), (101000, -40)),
        ((2, 2), (-5000, 5000)),
        ((500, 500), (16384, -32768)),
    ):
        for state in ("float", "fixed"):
            X = placed(scales, offsets)
            other = scales[0] != scales[1]
            gamma = None if other else 0.5 / scales[0] ** 2
            m = SVM("rbf", C=100, gamma=gamma, state=state, scale=other).fit(X, RING)
            assert right(m, X, RING), (scales, offsets, state, m, m.warning)
            m = SVM(C=100, state=state, scale=other).fit(X, HALF)
            assert right(m, X, HALF), (scales, offsets, state, m, m.warning)


def test_rows_between_whole_ones_are_answered_as_real_numbers():
    for low, high, options in (
        (0, 10, {"scale": True}),
        (-3, 3, {"scale": True}),
        (0, 10, {"scale": True, "kernel": "rbf", "gamma": 0.5}),
        (0, 10, {"scale": True, "state": "fixed"}),
        (1000, 1010, {"scale": True}),
    ):
        m = SVM(C=100, **options).fit([[low, low], [high, high]], [0, 1])
        middle = (low + high) / 2
        assert m.predict([middle - 0.75] * 2) == 0 and m.predict([middle + 0.75] * 2) == 1
        values = [m.decision([middle + k / 4] * 2) for k in range(-3, 4)]
        assert sorted(values) == values and len(set(values)) > 5, (options, values)


def test_fractions_beside_wide_ranges_are_trained_in_whole_numbers():
    for scales, offsets in (
        ((0.001, 1000), (0.5, 0)),
        ((0.25, 3000), (-0.5, -4000)),
        ((0.5, 0.5), (0.25, 1000.25)),
        ((0.125, 20000), (0, -30000)),
        ((1.5, 0.01), (-100, 0)),
    ):
        X = placed(scales, offsets)
        m = SVM(C=10, state="fixed", scale=True).fit(X, HALF)
        assert right(m, X, HALF), (scales, m, m.warning)
        m = SVM("rbf", C=100, state="fixed", scale=True).fit(X, RING)
        assert right(m, X, RING), (scales, m, m.warning)


def test_what_16_bits_are_too_few_for_warns():
    X = placed((0.25, 0.25), (0.125, 0))
    y = [v ^ (k in (5, 14)) for k, v in enumerate(RING)]  # two wrong labels
    for C in (1, 100, 1000, 10000, 1000000):
        for options in ({"gamma": 0.05}, {"gamma": 1.0}, {"gamma": 8.0}):
            good = SVM("rbf", C=C, state="float", **options).fit(X, y)
            m = SVM("rbf", C=C, state="fixed", **options).fit(X, y)
            if m.warning is None and good.warning is None and m.converged:
                a, b = ([n.decision(row) for row in X] for n in (good, m))
                top = max(max(a), -min(a))
                assert all(abs(a[k] - b[k]) < 0.05 * top for k in range(16)), (C, options)


def test_a_training_that_was_cut_says_so():
    for options in (
        {"max_iter": 2},
        {"kernel": "poly", "gamma": 0.5, "max_iter": 3, "C": 1000},
        {"kernel": "rbf", "gamma": 0.5, "max_iter": 1, "C": 1000},
        {"kernel": "rbf", "gamma": 0.5, "max_iter": 3, "kind": "regression", "C": 100},
        {"kernel": "rbf", "gamma": 0.5, "max_iter": 1, "kind": "one-class", "nu": 0.3},
    ):
        for state in ("float", "fixed"):
            m = SVM(state=state, **options).fit(GRID, None if "nu" in options else RING)
            assert not m.converged and m.warning, (options, state, m)
            assert "max_iter" in m.warning or m.n_iter < m.max_iter, (options, m.warning)


def test_nothing_learned_says_so():
    rare = [0] * 15 + [1]
    for options, y, word in (
        ({"kernel": "rbf", "gamma": 1000.0}, RING, "gamma"),
        ({"kernel": "rbf", "gamma": 10000.0, "C": 100}, HALF, "gamma"),
        ({"kernel": "rbf", "gamma": 0.01, "C": 0.001}, rare, "class"),
        ({"kernel": "linear", "C": 0.0001}, rare, "class"),
        ({"kernel": "poly", "degree": 2, "gamma": 0.001, "C": 0.01}, rare, "class"),
    ):
        for state in ("float", "fixed"):
            m = SVM(state=state, **options).fit(GRID, y)
            assert m.warning and word in m.warning, (options, state, m, m.warning)


def test_numbers_that_a_store_would_cut_are_refused():
    for storage, bad in (
        ("uint8", 256),
        ("uint8", -1),
        ("int8", 128),
        ("int16", 32768),
        ("int16", 0.5),
        ("float32", 1e39),
    ):
        m = SVM(storage=storage).fit(GRID, HALF)
        for row in ([bad, 0], (0, bad)):
            try:
                m.predict(row)
            except ValueError as error:
                assert "row" in str(error), error
                continue
            raise AssertionError((storage, bad))
    m = SVM().fit(bytearray(v for row in GRID for v in row), bytes(HALF))
    assert m.predict(array("h", (3, 0))) == 1 and m.predict([0.0, 3.0]) == 0
