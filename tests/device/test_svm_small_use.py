# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21-pure": "the solver in Python needs more than 32 KB of RAM"}
"""The small machine allocates nothing in use, and names what is wrong."""

from array import array

from small_rows import fill

from acclimate.svm import small as svm_small

X = bytearray(160)
ARENA = bytearray(500)


def test_predict_and_steps_do_not_allocate():
    try:
        from micropython import heap_lock, heap_unlock
    except ImportError:
        return "no heap lock here"
    if not svm_small.native:
        return "no native module here"
    y = fill(X, 20, 8)
    part = X[:160]
    m = svm_small.SVM(tol=0.0001, arena=ARENA)
    steps = m.fit_steps(part, y[:20], 1)
    next(steps)
    heap_lock()
    next(steps)
    heap_unlock()
    for _ in steps:
        pass
    row = part[8:16]
    heap_lock()
    label = m.predict(row)
    heap_unlock()
    assert label == y[1]


def test_short_arena_and_bad_labels_are_named():
    y = fill(X, 12, 8)[:12]
    m = svm_small.SVM()
    need = m.bytes_needed(12)
    m.arena = bytearray(need - 1)
    for part, labels, kind, words in (
        (X[:96], y, MemoryError, (str(need), str(need - 1))),
        (X[:95], y, ValueError, ("X", "95")),
        (X[:96], bytes(12), ValueError, ("y", "2 classes")),
        (X[:96], bytes(range(12)), ValueError, ("y", "2 classes")),
        (b"", b"", ValueError, ("X", "0")),
    ):
        try:
            m.fit(part, labels)
        except kind as e:
            for word in words:
                assert word in str(e), str(e)
        else:
            raise AssertionError(words)


def test_items_wider_than_a_byte_are_refused_not_read_as_bytes():
    y = fill(X, 6, 8)[:6]
    m = svm_small.SVM(arena=ARENA).fit(X[:48], y)
    for code in "hf":
        for call, rows in (
            (m.predict, X[:8]),
            (m.decision, X[:8]),
            (lambda rows: svm_small.SVM(arena=ARENA).fit(rows, y), X[:48]),
        ):
            try:
                call(array(code, (v for v in rows)))
            except ValueError as e:
                assert "expected bytes" in str(e), str(e)
            else:
                raise AssertionError(code)
    assert m.predict(array("B", list(X[:8]))) == m.predict(X[:8]) == y[0]


def test_bytes_of_the_other_sign_are_refused_not_read_as_others():
    y = fill(X, 6, 8)[:6]
    signed, high = array("b", [-1] * 48), bytearray([200] * 48)
    for storage, rows, came in (("uint8", signed, "-1"), ("int8", high, "200")):
        good = X[:48] if storage == "uint8" else array("b", (v & 127 for v in X[:48]))
        m = svm_small.SVM(arena=ARENA, storage=storage).fit(good, y)
        for call, name, data in (
            (m.predict, "row", rows[:8]),
            (m.decision, "row", rows[:8]),
            (lambda data, m=m: m.fit(data, y), "X", rows),
        ):
            try:
                call(data)
            except ValueError as e:
                assert str(e).startswith(name + ": expected ") and came in str(e), e
            else:
                raise AssertionError((storage, name))
        assert m.predict(good[:8]) == y[0]


def test_what_is_not_small_is_named():  # last: what it loads stays in 32 KB
    for options, words in (
        ({"C": 0}, ("C", "0")),
        ({"tol": -1}, ("tol", "-1")),
        ({"storage": "float32"}, ("storage", "uint8", "float32")),
        ({"small": False}, ("small", "False")),
    ):
        try:
            svm_small.SVM(**options)
        except ValueError as e:
            for word in words:
                assert word in str(e), str(e)
        else:
            raise AssertionError(options)
    m = svm_small.SVM()
    for call in (lambda: m.predict(b"a"), lambda: m.save("x"), lambda: m.report(b"a", b"a")):
        try:
            call()
        except ValueError as e:
            assert "fitted" in str(e)
        else:
            raise AssertionError("not fitted")
    try:
        m.add(b"a", 1)
    except AttributeError:
        pass
    else:
        raise AssertionError("add")
