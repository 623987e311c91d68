# SPDX-License-Identifier: MIT
"""Algorithm 1 of Edge2Train decides as the machine that replaced it, and ends when it should."""

import doctest

import pytest

from acclimate.svm import SVM
from bench.papers.edge2train import algorithm1
from bench.papers.edge2train.algorithm1 import Algorithm1

X = [[i % 5, i // 5, (i * 3) % 7] for i in range(24)]
Y = [1 if row[0] + row[1] > 4 else 0 for row in X]


@pytest.mark.parametrize(
    "options",
    [
        dict(kernel="linear", C=1.0),
        dict(kernel="rbf", gamma=0.1, C=1.0),
        dict(kernel="poly", gamma=0.1, coef0=1.0, degree=2, C=1.0),
    ],
)
def test_algorithm_1_finds_the_same_classes(options):
    paper, ours = Algorithm1(max_iter=300, **options).fit(X, Y), SVM(**options).fit(X, Y)
    same = sum(paper.predict(row) == ours.predict(row) for row in X)
    assert same >= 22, same
    assert paper.n_iter >= algorithm1.IDLE
    assert all(0 <= alpha <= 1 for alpha in paper.alphas)
    assert abs(sum(a * y for a, y in zip(paper.alphas, paper.y, strict=True))) < 1e-9


def test_algorithm_1_ends_at_its_cap_and_is_not_converged():
    stopped = Algorithm1(max_iter=2).fit(X, Y)
    assert stopped.n_iter == 2 and not stopped.converged


def test_other_kernels_and_one_class_are_refused():
    with pytest.raises(ValueError, match="kernel"):
        Algorithm1("cosine")
    with pytest.raises(ValueError, match="y"):
        Algorithm1().fit(X, [0] * len(X))


def test_the_example_runs():
    assert doctest.testmod(algorithm1).failed == 0
