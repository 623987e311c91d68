# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""What must work on the smallest board: train, predict without memory, refuse a short arena."""

from acclimate.svm import SVM


def rows(n, d):
    """Flat rows of whole numbers; the last feature carries most of the class."""
    X = bytearray(n * d)
    seed = 3
    for i in range(n * d):
        seed = (seed * 1103 + 12345) & 0xFFFF
        X[i] = (seed >> 8) & 15
    y = bytearray(n)
    for i in range(n):
        y[i] = i & 1
        if i & 1:
            X[i * d + d - 1] += 12
    return X, y


def native():
    """The native solver that is in use, or None."""
    from acclimate.svm import model as svm_model

    return svm_model.native


def test_small_problem_trains():
    X, y = rows(24, 4)
    m = SVM().fit(X, y)
    assert m.converged
    for i in range(24):
        assert m.predict(X[i * 4 : i * 4 + 4]) == y[i]


def test_arena_short_by_one_byte_names_both_sizes():
    X, y = rows(24, 4)
    need = SVM.bytes_needed(24, 4)
    m = SVM(gram=False, arena=bytearray(need)).fit(X, y)
    assert m.converged
    before = m.decision(X[:4])
    m.arena = bytearray(need - 1)
    try:
        m.fit(X, y)
    except MemoryError as e:
        assert str(need) in str(e) and str(need - 1) in str(e)
    else:
        raise AssertionError("trained in an arena that is too small")
    assert m.decision(X[:4]) == before


def test_predict_and_steps_do_not_allocate():
    try:
        from micropython import heap_lock, heap_unlock
    except ImportError:
        return "no heap lock here"
    X, y = rows(24, 4)
    m = SVM(tol=0.0001)
    steps = m.fit_steps(X, y, 1)
    while next(steps) < 1:
        pass
    if native() is None:
        return "no native module here"
    row = X[4:8]
    heap_lock()
    try:
        next(steps)
        next(steps)
    finally:
        heap_unlock()
    for _ in steps:
        pass
    heap_lock()
    try:
        label = m.predict(row)
    finally:
        heap_unlock()
    assert label == y[1]
