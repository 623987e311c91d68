# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""Whatever an SVM is given instead of an argument, the error says which it was."""

import os
from array import array

from no_arguments import EMPTY, LARGE, MINUS, NONE, REAL, WHOLE, named, no_paths, setting
from refusal import raised

from acclimate.svm import SVM
from acclimate.svm import kinds as _kinds  # noqa: F401  the extras of this file

X = [[i % 7, (i * 5) % 11, i // 7] for i in range(21)]
Y = [i // 7 for i in range(21)]
Y2 = [i // 11 for i in range(21)]


def test_settings_are_named():
    for name, fine in (
        ("kernel", ()),
        ("C", (WHOLE, LARGE, REAL)),
        ("gamma", (NONE, WHOLE, LARGE, REAL)),
        ("degree", (WHOLE,)),
        ("coef0", (WHOLE, MINUS, LARGE, REAL)),
        ("tol", (WHOLE, LARGE, REAL)),
        ("max_iter", (WHOLE, REAL)),
        ("storage", (NONE,)),
        ("budget", (WHOLE,)),
        ("state", (NONE,)),
        ("kind", (NONE,)),
    ):
        setting(SVM, name, fine)
    named("arena", lambda value: SVM(arena=value).fit(X, Y), (NONE,))
    named("class_weight", lambda value: SVM(class_weight=value).fit(X, Y), (NONE, EMPTY))
    setting(SVM, "nu", kind="one-class")
    setting(SVM, "epsilon", (WHOLE, LARGE, REAL), kind="regression")


def test_places_for_answers_are_named():
    for m in (
        SVM("rbf", gamma=0.1, state="float").fit(X, Y),
        SVM("rbf", gamma=0.1, state="fixed").fit(X, Y),
        SVM(scale=True).fit(X, Y2),
        SVM("rbf", gamma=0.1, kind="regression").fit(X, Y),
        SVM("rbf", gamma=0.1, kind="one-class").fit(X),
    ):
        named("out", lambda value, m=m: m.decision(X[0], value), (NONE,))
        named("out", lambda value, m=m: m.predict_many(X[:2], value))
        for out in (bytearray(3), array("b", (0, 0, 0)), array("i", (0, 0, 0)), [0, 0, 0]):
            kept = list(out)
            assert raised(ValueError, m.decision, X[0], out).startswith("out: expected array('f')")
            assert list(out) == kept


def test_rows_of_a_kernel_are_named():
    for m in (SVM("rbf", gamma=0.1), SVM("poly", gamma=0.1), SVM()):
        named("b", lambda value, m=m: m.kernel(value, X[0]))
        named("b", lambda value, m=m: m.kernel(X[0], value))


def test_steps_are_named():
    m = SVM(budget=30).fit(X, Y2)
    named("steps", lambda value: list(m.fit_steps(X, Y2, value)), (NONE, WHOLE))
    named("steps", lambda value: list(m.add_steps(X[0], 1, value)), (NONE, WHOLE))


def test_the_share_of_a_calibration_is_named():
    m = SVM("rbf", gamma=0.1, kind="one-class").fit(X)
    named("share", lambda value: m.calibrate(X, None, value))


def test_sizes_of_an_arena_are_named():
    setting(SVM.bytes_needed, "n", (WHOLE,), d=3)
    setting(SVM.bytes_needed, "d", (WHOLE, LARGE), n=20)
    setting(SVM.bytes_needed, "classes", (WHOLE,), n=20, d=3)
    assert SVM.bytes_needed(32767, 3) and SVM.bytes_needed(5, 3)
    assert "n >= classes" in raised(ValueError, SVM.bytes_needed, 32768, 3)


class Path:
    """As one of `pathlib`."""

    def __fspath__(self):
        return "svm_arguments_test.bin"


def test_paths_are_named_and_may_be_objects():
    m = SVM().fit(X, Y2)
    no_paths(SVM.load, m.save)
    m.save(Path())
    assert [SVM.load(Path()).predict(row) for row in X] == [m.predict(row) for row in X]
    os.remove(Path().__fspath__())
