# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Native code predicts, decides and trains without the heap; NaN is refused on every path."""

from array import array

from acclimate.svm import SVM
from acclimate.svm import model as svm_model

try:
    from micropython import heap_lock, heap_unlock
except ImportError:
    heap_lock = heap_unlock = None

NAN = float("nan")


def problem(code, classes):
    """12 rows of 3 numbers in a flat buffer, and their labels."""
    flat = [((i // 3) * 7 + (i % 3) * 3 + (i // 3 % classes) * 40) % 120 for i in range(36)]
    step = {"b": 1, "h": 200, "f": 0.5}[code]
    return array(code, [v * step for v in flat]), bytes(k % classes for k in range(12))


_made = []


def machines(codes="bhf"):
    """Fitted machines of every kind of decision and state, with a row each."""
    if not _made:
        for classes, kernel in ((2, "linear"), (2, "rbf"), (3, "linear"), (3, "rbf")):
            for code, state in (("b", "float"), ("f", "float"), ("b", "fixed"), ("h", "fixed")):
                X, y = problem(code, classes)
                m = SVM(kernel=kernel, gamma=0.01, state=state, max_iter=40).fit(X, y)
                out = array("f", (0 for _ in m._model.pairs))
                _made.append((code, m, array(code, X[3:6]), out))
    return [made[1:] for made in _made if made[0] in codes]


def test_prediction_and_decision_do_not_allocate():
    if heap_lock is None:
        return "no heap lock here"
    if svm_model.native is None:
        return "no native module here"
    for m, row, out in machines():
        m.decision(row, out)
        want = m.decision(row)
        heap_lock()
        try:
            label = m.predict(row)
            m.decision(row, out)
        finally:
            heap_unlock()
        assert label == m.predict(row)
        for k in range(len(out)):
            one = want if len(out) == 1 else want[k]
            assert abs(out[k] - one) <= 1e-6 * abs(one)


def test_steps_of_a_pair_do_not_allocate():
    if heap_lock is None:
        return "no heap lock here"
    if svm_model.native is None:
        return "no native module here"
    X, y = problem("b", 2)
    steps = SVM(kernel="rbf", gamma=0.01, tol=1e-5).fit_steps(X, y, 1)
    while next(steps) < 1:
        pass
    heap_lock()
    try:
        for _ in range(5):
            count = next(steps)
    finally:
        heap_unlock()
    assert count == 6


def test_decisions_in_integers_are_rounded_once():
    for m, row, out in machines("bh"):
        model = m._model
        if not model.fixed:
            continue
        for near in range(40):
            close = array(model.code, row)
            close[near % 3] += near
            raw = list(model.values(close))
            m.decision(close, out)
            for k in range(len(out)):
                w = model.pairs[k].w
                want = array("f", (raw[k] * 2.0 ** -(16 if w is None else w[0]),))
                assert out[k] == (-want[0] if len(out) == 1 else want[0]), (near, k)


def test_decision_agrees_with_the_prediction():
    for m, row, out in machines():
        label = m.predict(row)
        if len(out) == 1:
            assert (m.decision(row, out)[0] >= 0) == (label == 1)
            assert (m.decision(row) >= 0) == (label == 1)


def test_rows_that_are_not_finite_are_refused():
    for m, row, out in machines("f"):
        for bad in (NAN, float("inf")):
            for k in range(3):
                broken = array("f", row)
                broken[k] = bad
                for call in (m.predict, m.decision, lambda r, m=m, o=out: m.decision(r, o)):
                    try:
                        call(broken)
                    except ValueError as error:
                        assert "finite" in str(error)
                    else:
                        raise AssertionError((m, bad, k))


def test_kernel_values_beyond_float32_are_refused():
    X = array("f", (1e7, 2e7, 3e7, -1e7))
    try:
        SVM(kernel="poly", degree=9, gamma=1, state="float").fit(X, (0, 1, 0, 1))
    except ValueError as error:
        assert "float32" in str(error)
    else:
        raise AssertionError("expected ValueError")


def test_rows_of_another_type_are_converted():
    for m, row, _ in machines():
        want = m.decision(row)
        for other in (list(row), array("f", row), array("h", [int(v) for v in row])):
            if other[0] == row[0] and other[2] == row[2]:  # whole numbers
                got = m.decision(other)
                assert list(got) == list(want) if len(m._model.pairs) > 1 else got == want
