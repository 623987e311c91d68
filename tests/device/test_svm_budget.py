# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Learning goes on forever in fixed memory."""

from acclimate.svm import SVM


def stream(n, seed=1):
    """Rows of two clouds with labels, the same on every runtime."""
    for i in range(n):
        seed = (seed * 1103 + 12345) & 0xFFFF
        a = seed >> 8
        seed = (seed * 1103 + 12345) & 0xFFFF
        b = seed >> 8
        label = i & 1
        yield [a % 40 + 30 * label, b % 40 + 30 * label], label


def test_learns_from_nothing_and_never_keeps_more_than_its_budget():
    for options in (dict(kernel="linear", C=0.1), dict(kernel="rbf", gamma=0.002, C=1.0)):
        for state in ("float", "fixed"):
            m = SVM(budget=12, state=state, **options)
            for row, label in stream(60):
                m.add(row, label)
                assert len(m.samples.labels) <= 12
            right = n = 0
            for row, label in stream(60, 7):
                right += m.predict(row) == label
                n += 1
            assert right >= n * 0.8, (options, state, right)
            assert m.converged


def test_signed_coefficients_stay_balanced():
    m = SVM(kernel="rbf", gamma=0.002, C=1.0, budget=10, state="float")
    for row, label in stream(40):
        m.add(row, label)
        if m.n_iter:
            assert abs(sum(m._model.pairs[0].beta)) < 1e-4


def test_a_new_label_makes_new_pairs():
    m = SVM(kernel="rbf", gamma=0.01, C=10.0, budget=8)
    for row, label in stream(8):
        m.add(row, label)
    m.add([5, 90], 7)
    m.add([6, 91], 7)
    m.add([7, 92], 7)
    assert len(m._model.pairs) == 3
    assert m.predict([6, 90]) == 7


def test_learning_goes_on_after_a_file():
    import os

    m = SVM(kernel="linear", C=0.1, budget=10)
    rows = list(stream(30))
    for row, label in rows[:20]:
        m.add(row, label)
    m.save("svm_budget_test.bin")
    other = SVM.load("svm_budget_test.bin")
    for row, label in rows[20:]:
        m.add(row, label)
        other.add(row, label)
        assert m.samples.seed == other.samples.seed  # chance draws the same ones, too
    for row, _ in rows:
        assert abs(m.decision(row) - other.decision(row)) < 0.01
    os.remove("svm_budget_test.bin")


def test_fit_with_a_budget_goes_on_with_add():
    rows = list(stream(12))
    m = SVM(kernel="linear", C=0.1, budget=12)
    m.fit([r for r, _ in rows], [label for _, label in rows])
    before = m.n_support
    m.add([35, 35], 1)
    assert len(m.samples.labels) == 12 and before > 0
    bad = SVM(kernel="linear", budget=4)
    try:
        bad.fit([r for r, _ in rows], [label for _, label in rows])
    except ValueError as e:
        assert "budget" in str(e) and "12" in str(e)
    else:
        raise AssertionError("more rows than the budget")


def test_bad_samples_change_nothing():
    m = SVM(kernel="linear", C=0.1, budget=10)
    for row, label in stream(12):
        m.add(row, label)
    rows = [row for row, _ in stream(12)]
    before = [m.decision(row) for row in rows]
    for row, label in (([1], 0), ([1, 2], 255), ([1, 1e9], 0), ([1, float("nan")], 1)):
        try:
            m.add(row, label)
        except ValueError:
            assert [m.decision(r) for r in rows] == before
        else:
            raise AssertionError("a bad sample was taken")


def test_steps_that_are_stopped_anywhere_change_nothing():
    for kernel in ("rbf", "linear"):
        m = SVM(kernel=kernel, gamma=0.002, C=1.0, budget=8)
        for row, label in stream(14):
            m.add(row, label)
        rows = [row for row, _ in stream(20)]
        before = [m.decision(row) for row in rows]
        kept = bytes(m.samples.x), bytes(m.samples.labels)
        stop = 1
        while True:
            steps = m.add_steps([44, 44], 1, 1)
            count = 0
            for _ in steps:
                assert m.predict(rows[0]) in (0, 1)
                count += 1
                if count == stop:
                    break
            if count < stop:
                break
            steps.close()
            assert [m.decision(row) for row in rows] == before
            assert (bytes(m.samples.x), bytes(m.samples.labels)) == kept
            stop += 3
        assert stop > 4


def test_a_save_between_the_steps_takes_nothing_from_the_model():
    import os

    m = SVM("rbf", budget=6, gamma=0.25)
    m.fit([[1.0], [2.0], [7.0], [8.0]], [0, 0, 1, 1])
    steps = m.add_steps([3.0], 0, 1)
    while len(m.samples.labels) == 4:
        next(steps)
    m.save("svm_budget_test.bin")
    os.remove("svm_budget_test.bin")
    steps.close()
    assert bytes(m.samples.labels) == b"\0\0\1\1"
    m.add([3.0], 0)
    assert bytes(m.samples.labels) == b"\0\0\1\1\0" and m.predict([3.0]) == 0


def test_a_save_that_fails_changes_no_draws():
    import os

    m = SVM(kernel="linear", C=0.1, budget=10)
    for row, label in stream(20):
        m.add(row, label)
    m.samples.seed = 77
    os.mkdir("svm_budget_test.dir")
    open("svm_budget_test.dir/full", "w").close()  # no file takes the place of such a folder
    try:
        m.save("svm_budget_test.dir")
        saved = True
    except OSError:
        saved = False
    os.remove("svm_budget_test.dir/full")
    os.rmdir("svm_budget_test.dir")
    os.remove("svm_budget_test.dir.new")
    assert not saved and m.samples.seed == 77


def test_steps_learn_what_add_learns():
    one, other = (SVM(kernel="rbf", gamma=0.002, C=1.0, budget=10) for _ in range(2))
    for row, label in stream(30):
        one.add(row, label)
        for _ in other.add_steps(row, label):
            pass
    for row, _ in stream(30, 5):
        assert one.decision(row) == other.decision(row)
