# SPDX-License-Identifier: MIT
"""Trainings that once said "converged" without a word, and were off: each is right or warns."""

import pytest

pytest.importorskip("sklearn")
from bench import svm_right  # noqa: E402

SQUARE = {"degree": 2, "gamma": None, "coef0": 1.0}
CUBE = {"degree": 3, "gamma": None, "coef0": 0.0}


@pytest.fixture(scope="module")
def run_of():
    """A function that trains on a data set of the bench, and compares with libsvm."""
    problems = svm_right.problems()

    def run(state, name, kernel, options, cost):
        data = svm_right.split(*problems[name])
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
        ("float", "breast_cancer", "poly", CUBE, 1000.0),
        ("fixed", "one_column", "poly", SQUARE, 1.0),
        ("fixed", "iris_1_2", "poly", SQUARE, 1.0),
        ("fixed", "circles", "poly", CUBE, 1.0),
    ],
)
def test_a_machine_that_is_right_has_no_warning(state, name, kernel, options, cost, run_of):
    assert not run_of(state, name, kernel, options, cost)["warning"]
