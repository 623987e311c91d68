# SPDX-License-Identifier: MIT
"""Trainings that once said "converged" without a word, and were off: each is right or warns."""

import pytest

pytest.importorskip("sklearn")
from acclimate.svm import SVM, collect, train  # noqa: E402
from acclimate.svm.parameters import run  # noqa: E402
from bench import svm_right  # noqa: E402

SQUARE = {"degree": 2, "gamma": None, "coef0": 1.0}
CUBE = {"degree": 3, "gamma": None, "coef0": 0.0}


@pytest.fixture(scope="module")
def run_of():
    """A function that trains on a data set of the bench, and compares with libsvm."""
    problems = svm_right.problems()

    def run(state, name, kernel, options, cost, draw=0):
        data = svm_right.split(*problems[name], draw)
        reference = svm_right.libsvm(kernel, options, cost, data)
        return svm_right.one_run(state, kernel, options, cost, data, reference)

    return run


@pytest.mark.parametrize(
    "state, name, kernel, options, cost",
    [
        ("float", "moons_/1000", "rbf", {"gamma": 0.1}, 0.1),
        ("float", "moons_/1000", "rbf", {"gamma": 0.1}, 10.0),
        ("float", "bme280", "poly", SQUARE, 1000.0),
        ("float", "bme280", "poly", CUBE, 1000.0),
        ("float", "constant_columns", "poly", SQUARE, 1000.0),
        ("float", "constant_columns", "poly", CUBE, 1000.0),
        ("fixed", "constant_columns", "poly", SQUARE, 1.0),
        ("fixed", "constant_columns", "poly", CUBE, 1.0),
        ("fixed", "classification", "rbf", {"gamma": None}, 1000.0),
        ("float", "wine", "linear", {}, 0.1),
        ("float", "iris", "poly", CUBE, 1000.0),
        ("fixed", "breast_cancer_scaled", "poly", CUBE, 0.1),
        ("fixed", "bytes", "poly", SQUARE, 1.0),
    ],
)
def test_what_converged_without_a_word_is_right(state, name, kernel, options, cost, run_of):
    run = run_of(state, name, kernel, options, cost)
    right = not run["differs"] and run["true_gap"] <= svm_right.WIDE
    assert right or run["warning"] or not run["converged"], run


@pytest.mark.parametrize(
    "state, name, kernel, options, cost",
    [
        ("fixed", "iris_1_2", "linear", {}, 1000.0),
        ("float", "iris", "linear", {}, 1000.0),
        ("float", "wine", "poly", SQUARE, 1000.0),
        ("float", "iris", "poly", SQUARE, 1000.0),
        ("fixed", "one_column", "poly", SQUARE, 1.0),
        ("fixed", "iris_1_2", "poly", SQUARE, 1.0),
        ("fixed", "circles", "poly", CUBE, 1.0),
        ("fixed", "blobs", "linear", {}, 1.0),  # errors of twice the limit, and a gap of 0.011
        ("fixed", "wrong_labels", "linear", {}, 10.0),
        ("fixed", "wine", "rbf", {"gamma": None}, 0.1),  # one pair of three knows one answer
        ("float", "wine", "rbf", {"gamma": None}, 0.1),
        ("float", "wine", "rbf", {"gamma": 0.1}, 1.0),  # rows know a little of each other
    ],
)
def test_a_machine_that_is_right_has_no_warning(state, name, kernel, options, cost, run_of):
    assert not run_of(state, name, kernel, options, cost)["warning"]


def test_what_many_steps_round_is_looked_at(run_of):
    # whole numbers, whose kernel is exact: 16,699 steps cut the gradient, and the gap is 0.032
    run = run_of("fixed", "duplicates", "linear", {}, 10.0, draw=5)
    assert run["true_gap"] > svm_right.WIDE and run["warning"]


def test_a_gap_that_no_estimate_tells_is_looked_at(run_of):
    # 120 rows of counts: errors are below the limit, and the gap is 0.021
    run = run_of("fixed", "counts", "rbf", {"gamma": None}, 1000.0, draw=2)
    assert run["true_gap"] > svm_right.WIDE and run["warning"]


@pytest.mark.parametrize(
    "kernel, options", [("linear", {}), ("rbf", {"gamma": 0.1}), ("poly", SQUARE)]
)
def test_the_gap_that_a_machine_looks_at_is_that_of_the_bench(kernel, options, monkeypatch):
    gaps = []

    def looked(job, status):
        gaps.append(run(train.true_gap(job)))
        return (yield from collect.trouble(job, status))

    monkeypatch.setattr(train, "trouble", looked)
    for name, cost in (("blobs", 1.0), ("one_column", 10.0), ("iris", 100.0)):
        gaps.clear()
        x, y = svm_right.problems()[name]
        x, y, *_ = svm_right.split(x, y)
        machine = SVM(kernel, C=cost, state="fixed", budget=len(x), **options)
        machine.fit(x.tolist(), y.tolist())
        assert max(gaps) == pytest.approx(svm_right.true_gap(machine), abs=1e-6)
        assert max(gaps) > 1e-5
